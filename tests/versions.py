"""``make test-versions``: what gradviz says it works with, each in an environment of its own.

Every Python that ``pyproject.toml`` names has the newest torch that is admitted; the oldest and the
newest Python also have the oldest. Other packages have the versions of ``constraints.txt``; in one
environment more, with the oldest Python and the oldest torch, they have the oldest that
``pyproject.toml`` admits. Environments are below ``build/versions`` and are kept there.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.pythons import ROOT, python

FOLDER: Final = ROOT / "build" / "versions"
TESTS: Final = ("tests/model", "tests/capture", "tests/truth", "tests/test_api.py")
MORE_TESTS: Final = ("tests/view", "tests/teach", "tests/publish", "tests/notebook_check")
"""What else uses other packages than torch."""
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PINS: Final = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
NEWEST: Final = "torch"


@dataclass(frozen=True)
class Versions:
    """What an environment has."""

    python: str
    torch: str
    """As pip takes it."""
    is_lowest: bool = False
    """Whether the other packages are the oldest that are admitted."""

    def __str__(self) -> str:
        also = ", lowest versions of the others" if self.is_lowest else ""
        return f"Python {self.python}, {self.torch}{also}"

    @property
    def constraints(self) -> list[str]:
        """Versions of the other packages, as pip takes them."""
        pins = [pin for pin in PINS if not pin.startswith("torch==")]
        if not self.is_lowest:
            return pins
        lowest = dict(lower_bounds())
        others = [pin for pin in pins if _name(pin) not in lowest and not _is_beneath(pin)]
        return [*others, *(f"{name}=={version}" for name, version in lowest.items())]


def admitted() -> list[Versions]:
    """All environments."""
    named = [re.search(r"Python :: (3\.\d+)$", text) for text in PROJECT["classifiers"]]
    pythons = [found[1] for found in named if found]
    (asked,) = [text for text in PROJECT["dependencies"] if text.startswith("torch>=")]
    oldest = asked.replace(">=", "==") + ".*"
    return [
        Versions(pythons[0], oldest, is_lowest=True),
        *(Versions(version, oldest) for version in (pythons[0], pythons[-1])),
        *(Versions(version, NEWEST) for version in pythons),
    ]


def lower_bounds() -> Iterator[tuple[str, str]]:
    """Name and oldest version of what a user needs beside torch.

    Not of pytest: the tests themselves ask for a newer one.
    """
    extras = PROJECT["optional-dependencies"]
    for text in (*PROJECT["dependencies"], *extras["lab"], *extras["gif"]):
        name, version = re.match(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", text).groups()  # type: ignore[union-attr]
        if name not in ("torch", "pytest"):
            yield name, version


def _name(pin: str) -> str:
    return pin.partition("==")[0].lower()


def _is_beneath(pin: str) -> bool:
    """Whether what is pinned is a part of an asked package, which chooses its version itself."""
    return _name(pin).startswith(("ipython", "jupyter", "jupyterlab", "traitlets", "wasmtime"))


def main(arguments: list[str]) -> int:
    """Run the tests everywhere; returns 1 if they failed or could not run somewhere."""
    chosen = [each for each in admitted() if not arguments or each.python in arguments]
    outcomes = [(each, *outcome(each)) for each in chosen]
    print("\nVersions:")
    for each, is_good, told in outcomes:
        print(f"  {each}: {'' if is_good else 'FAILED: '}{told}")
    return int(not all(is_good for _, is_good, _ in outcomes))


def outcome(versions: Versions) -> tuple[bool, str]:
    """Make the environment and run the tests: whether they passed, and the last line they print."""
    interpreter = python(versions.python)
    if interpreter is None:
        return False, f"not run, there is no Python {versions.python} on this machine"
    folder = FOLDER / re.sub(r"[^\w.]+", "-", str(versions))
    folder.mkdir(parents=True, exist_ok=True)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(versions.constraints) + "\n", "utf-8")
    inside = str(folder / "bin" / "python")
    install = [inside, "-m", "pip", "install", "--quiet", "-c", str(constraints)]
    try:
        if not Path(inside).exists():
            subprocess.run([interpreter, "-m", "venv", str(folder)], check=True)
        subprocess.run([*install, "--upgrade", versions.torch], check=True)
        subprocess.run([*install, versions.torch, "-e", f"{ROOT}[tests]"], check=True)
    except subprocess.CalledProcessError as error:
        return False, f"not run, its environment could not be made: {error}"
    return tested(inside, (*TESTS, *(MORE_TESTS if versions.is_lowest else ())))


def tested(interpreter: str, tests: tuple[str, ...]) -> tuple[bool, str]:
    """Whether the tests passed, and the last line of pytest, after the torch that really ran."""
    command = [interpreter, "-c", "import torch; print(torch.__version__)"]
    release = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    pytest = [interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    last = ""
    with subprocess.Popen(pytest, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return running.returncode == 0, f"torch {release}, {last}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
