"""What docs/scripts_tests_ranks.md shows is what its commands print.

A block of Python is a file whose name is in its first line. A block of text begins with commands;
the rest is what the last of them prints. With ``--update-golden`` it is written anew.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "scripts_tests_ranks.md"
BLOCK: Final = re.compile(r"^```(python|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND: Final = """#!{python}
import sys
from gradviz_run import main
sys.exit(main())
"""
TRACEBACK: Final = re.compile(
    r"Traceback \(most recent call last\):\n(?:  .*\n)*(?P<end>\w+Error: )"
)


def environment(folder: Path) -> dict[str, str]:
    """The commands that an installation has, in front of the path."""
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    gradviz = commands / "gradviz"
    gradviz.write_text(COMMAND.format(python=sys.executable))
    gradviz.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV"))}
    return {
        **kept,
        "PATH": os.pathsep.join((str(commands), str(Path(sys.executable).parent), kept["PATH"])),
        "PYTHONPATH": str(ROOT),
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "80",
    }


def ran(folder: Path, words: str) -> str:
    done = subprocess.run(
        shlex.split(words),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout


def as_shown(command: str, printed: str) -> str:
    """Of a traceback the end, of a test run the explanation, of a job what its last rank says."""
    if command.startswith("pytest"):
        section = re.search(r"^-+ gradviz -+\n.*?(?=^=+ short)", printed, re.DOTALL | re.MULTILINE)
        assert section is not None, printed
        return section[0]
    if command.startswith("torchrun"):
        ranks = re.findall(
            r"^gradviz, rank (\d) of 2:\n(.*?^raised: \w+\n)", printed, re.DOTALL | re.MULTILINE
        )
        assert sorted(number for number, _ in ranks) == ["0", "1"], printed
        assert ranks[0][1] == ranks[1][1]
        return f"[…]\ngradviz, rank 1 of 2:\n{ranks[0][1]}"
    return TRACEBACK.sub(r"[…]\n\g<end>", printed)


@pytest.mark.exhaustive
def test_the_page_shows_what_is_printed(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    fresh, shown = page, 0
    for kind, text in BLOCK.findall(page):
        if kind == "python":
            (tmp_path / text.split("\n")[0].removeprefix("# ")).write_text(text)
            continue
        commands = [line for line in text.splitlines() if line.startswith("$ ")]
        printed = [ran(tmp_path, line.removeprefix("$ ")) for line in commands][-1]
        lines = [*commands, as_shown(commands[-1].removeprefix("$ "), printed)]
        fresh = fresh.replace(text, "\n".join(lines))
        shown += 1
    assert shown == 5
    if request.config.getoption("--update-golden"):
        PAGE.write_text(fresh, "utf-8")
    assert PAGE.read_text("utf-8") == fresh
