"""``make test-versions``: facts, capture and recorder on other Pythons and on other torches.

Each Python that ``pyproject.toml`` names and that is on this machine gets an environment below
``build/versions``: the oldest Python with the oldest torch that is admitted, every other with the
newest. Everything else has the versions of ``constraints.txt``.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

from tests.pythons import ROOT, python

FOLDER: Final = ROOT / "build" / "versions"
TESTS: Final = ("tests/model", "tests/capture", "tests/truth", "tests/test_api.py")
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def versions() -> dict[str, str]:
    """Each Python that is claimed, with the torch it is tested with, as pip takes it."""
    named = [re.search(r"Python :: (3\.\d+)$", text) for text in PROJECT["classifiers"]]
    pythons = [found[1] for found in named if found]
    (admitted,) = [text for text in PROJECT["dependencies"] if text.startswith("torch>=")]
    oldest = admitted.replace(">=", "==") + ".*"
    return {version: "torch" if number else oldest for number, version in enumerate(pythons)}


def main(arguments: list[str]) -> int:
    """Run the tests everywhere; returns 1 if they failed or could not run somewhere."""
    constraints = FOLDER / "constraints.txt"
    FOLDER.mkdir(parents=True, exist_ok=True)
    pins = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    constraints.write_text("\n".join(pin for pin in pins if not pin.startswith("torch==")) + "\n")
    chosen = {v: torch for v, torch in versions().items() if not arguments or v in arguments}
    outcomes = {version: outcome(version, torch) for version, torch in chosen.items()}
    print("\nVersions:")
    for version, (is_good, told) in outcomes.items():
        print(f"  Python {version}: {'' if is_good else 'FAILED: '}{told}")
    return int(not all(is_good for is_good, _ in outcomes.values()))


def outcome(version: str, torch: str) -> tuple[bool, str]:
    """Make the environment and run the tests: whether they passed, and the last line they print."""
    interpreter = python(version)
    if interpreter is None:
        return False, f"not run, there is no Python {version} on this machine"
    folder = FOLDER / f"python{version}"
    inside = str(folder / "bin" / "python")
    install = [inside, "-m", "pip", "install", "--quiet", "-c", str(FOLDER / "constraints.txt")]
    try:
        if not Path(inside).exists():
            subprocess.run([interpreter, "-m", "venv", str(folder)], check=True)
        subprocess.run([*install, "--upgrade", torch], check=True)
        subprocess.run([*install, torch, "-e", f"{ROOT}[tests]"], check=True)
    except subprocess.CalledProcessError as error:
        return False, f"not run, its environment could not be made: {error}"
    return tested(inside)


def tested(interpreter: str) -> tuple[bool, str]:
    """Whether the tests passed, and the last line of pytest, after the torch that really ran."""
    command = [interpreter, "-c", "import torch; print(torch.__version__)"]
    release = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    pytest = [interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    last = ""
    with subprocess.Popen(pytest, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return running.returncode == 0, f"torch {release}, {last}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
