"""A part of the tests can be run, and an interrupted run says what has not run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.size import ROOT

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
PROGRAM = """
from pathlib import Path
import pytest

def test_first():
    pass

@pytest.mark.parametrize("place", range(5))
def test_more(place):
    if place == 2:
        Path("begun").write_text("begun")
        Path("begun").read_text()  # waits until it is interrupted
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "test_some.py").write_text(PROGRAM)
    os.mkfifo(tmp_path / "begun")
    return tmp_path


def test_each_test_is_in_one_part(folder: Path) -> None:
    parts = []
    for part in range(2):
        command = [*PYTEST, "--collect-only", f"--part={part}/2"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        parts.append([line for line in run.stdout.split("\n") if "::" in line])
    names = [name for part in parts for name in part]
    assert len(names) == len(set(names)) == 6
    assert all(parts)


def test_an_interrupted_run_names_what_has_not_run(folder: Path) -> None:
    with subprocess.Popen(PYTEST, cwd=folder, stdout=subprocess.PIPE, text=True) as running:
        with (folder / "begun").open():  # as soon as the third of them writes
            running.send_signal(signal.SIGINT)
        assert running.stdout is not None
        printed = running.stdout.read()
    assert "not run: 3 tests" in printed
    assert "NOT RUN     3 of test_some.py" in printed
    waiting = (folder / "build" / "not_run.txt").read_text().split()
    assert waiting == [f"test_some.py::test_more[{place}]" for place in (2, 3, 4)]
