"""``gradviz run`` is Python, as far as a program can see."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.run.as_python import ALL, QUICK, AsPython

ROOT = Path(__file__).parents[2]
PROGRAMS = [
    pytest.param(one, marks=[] if one.name in QUICK else [pytest.mark.exhaustive]) for one in ALL
]


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GRADVIZ")}
    return {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "PYTHONDONTWRITEBYTECODE": "1"}


def ran(
    folder: Path, *words: str, stdin: str = "", python: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, *python, *words]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        input=stdin.encode(),
        capture_output=True,
        check=False,
        timeout=100,
    )


def written(program: AsPython, folder: Path) -> Path:
    for name, text in program.files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    for name, target in program.links.items():
        (folder / name).symlink_to(target)
    return folder


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_program_cannot_tell(program: AsPython, tmp_path: Path) -> None:
    folder = written(program, tmp_path)
    plain = ran(folder, *program.words, stdin=program.stdin, python=program.python)
    words = ("-m", "gradviz_run", *program.words)
    ours = ran(folder, *words, stdin=program.stdin, python=program.python)
    assert plain.returncode == program.status, plain.stderr.decode()
    assert ours.stdout == plain.stdout
    assert ours.stderr == plain.stderr
    assert ours.returncode == plain.returncode


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", [one for one in ALL if not one.hides_a_module], ids=str)
def test_a_recorded_program_prints_and_ends_as_without(program: AsPython, tmp_path: Path) -> None:
    folder = written(program, tmp_path)
    plain = ran(folder, *program.words, stdin=program.stdin, python=program.python)
    words = ("-m", "gradviz_run", "--record", *program.words)
    ours = ran(folder, *words, stdin=program.stdin, python=program.python)
    assert ours.stdout == plain.stdout
    assert ours.stderr == plain.stderr
    assert ours.returncode == plain.returncode


def test_programs_that_run_each_time_are_there() -> None:
    assert {one.name for one in ALL} >= QUICK


def test_the_command_ends_with_1_where_a_script_does_not_compile(tmp_path: Path) -> None:
    """Through the command itself: only then does nothing else hold the first ``__main__``."""
    command = Path(sys.executable).with_name("gradviz")
    if not command.is_file():
        pytest.skip("gradviz is not installed as a command")
    (tmp_path / "indented.py").write_text("x = 1\n  y = 2\n", "utf-8")
    done = ran(tmp_path, str(command), "run", "indented.py")
    assert b"IndentationError" in done.stderr
    assert done.returncode == 1
