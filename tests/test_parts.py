"""A part of the tests can be run, an interrupted run says what has not run, and a worker that ends
in the middle of a test takes no other test with it."""

from __future__ import annotations

import os
import re
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


def shared(folder: Path, workers: int) -> subprocess.CompletedProcess[str]:
    words = f"-v -p no:cacheprovider -n {workers} --dist loadfile".split()
    command = [*PYTEST[:3], *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_worker_that_ends_takes_one_test_with_it(folder: Path) -> None:
    # A file with one test before, and files for the other worker and for the next.
    for file in ("b", "d", "e"):
        (folder / f"test_{file}.py").write_text("def test_that_ends():\n    pass\n")
    (folder / "test_c.py").write_text(
        "import os\nimport pytest\n"
        "@pytest.mark.parametrize('place', range(5))\n"
        "def test_more(place):\n    place != 2 or os._exit(1)\n"
    )
    (folder / "test_some.py").unlink()
    run = shared(folder, 1)
    ended = sorted(re.findall(r"(PASSED|FAILED) (test_\S+)", run.stdout))
    assert [test for outcome, test in ended if outcome == "FAILED"] == [
        "test_c.py::test_more[2]"
    ] * 2
    assert [test for outcome, test in ended if outcome == "PASSED"] == [
        "test_b.py::test_that_ends",
        *(f"test_c.py::test_more[{place}]" for place in (0, 1, 3, 4)),
        "test_d.py::test_that_ends",
        "test_e.py::test_that_ends",
    ]


def test_workers_that_end_at_once_take_no_other_test_with_them(folder: Path) -> None:
    (folder / "test_some.py").unlink()
    for file in ("a", "b"):
        (folder / f"test_{file}.py").write_text(
            "import os\nimport pytest\n"
            "@pytest.mark.parametrize('place', range(4))\n"
            "def test_more(place):\n    place in (0, 3) or os._exit(1)\n"
        )
    run = shared(folder, 2)
    assert "4 failed, 4 passed" in run.stdout, run.stdout
