from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz import cli
from gradviz.course import copies
from gradviz.course.copies import START
from tests.notebook_check.notebooks import cell, printed, write
from tests.run.test_as_python import environment, ran


class Calls(list[tuple[list[str], Path]]):
    status = 0
    settings: dict[str, Any]

    def __call__(
        self, command: list[str], folder: Path, environment: dict[str, str] | None = None
    ) -> int:
        self.append((list(command), folder))
        if environment is not None:
            self.settings = read_settings(environment)
        return self.status


def read_settings(environment: dict[str, str]) -> dict[str, Any]:
    """What Jupyter would read first, by file name."""
    place = Path(environment["JUPYTER_CONFIG_PATH"].split(os.pathsep)[0])
    return {path.stem: json.loads(path.read_text("utf-8")) for path in place.rglob("*.json")}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    recorder = Calls()
    monkeypatch.setattr(cli, "_run", recorder)
    return recorder


def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    package = tmp_path / "site-packages" / "gradviz"
    lessons = package / "_lessons"
    lessons.mkdir(parents=True)
    for name in (START, "01-lesson.ipynb"):
        write(lessons / name, cell("x = 1", count=None))
    (lessons / "build.py").touch()
    monkeypatch.setattr(copies, "PACKAGE", package)
    return lessons


def lessons_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


@pytest.mark.parametrize("is_checkout", [True, False])
def test_lab_copies_the_lessons_into_a_folder_of_the_learner(
    is_checkout: bool, calls: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    notebooks = copies.PACKAGE.parent / "notebooks"
    expected = sorted([*(path.name for path in notebooks.glob("*.ipynb")), copies.PAGES])
    if not is_checkout:
        installed(monkeypatch, tmp_path)
        expected = ["00-start.ipynb", "01-lesson.ipynb"]
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lab"]) == 0
    ((command, folder),) = calls
    assert folder == tmp_path / "gradviz-lessons"
    assert lessons_in(folder) == expected
    assert command == [sys.executable, "-m", "jupyterlab"]


def test_lab_makes_jupyterlab_land_on_the_start_page_and_ask_nothing(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, tmp_path)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/course/settings")
    assert cli.main(["lab", "--dir", str(tmp_path / "mine")]) == 0
    server = calls.settings["jupyter_server_config"]["ServerApp"]
    lab = calls.settings["jupyter_lab_config"]["LabApp"]
    assert server["root_dir"] == str(tmp_path / "mine")
    assert server["default_url"] == lab["default_url"] == f"/lab/tree/{START}"
    asked = calls.settings["default_setting_overrides"]
    asked = asked["@jupyterlab/apputils-extension:notification"]
    assert asked == {"fetchNews": "false", "checkForUpdates": False}
    # Tabs of an earlier session are not looked for, and nothing is left behind.
    assert not Path(lab["workspaces_dir"]).parent.exists()
    assert os.environ["JUPYTER_CONFIG_PATH"] == "/course/settings"


def test_lab_in_a_folder_with_lessons_opens_these(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, tmp_path)
    assert cli.main(["lab", "--dir", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    assert cli.main(["lab"]) == 0
    assert calls[1][1] == tmp_path / "mine"
    assert lessons_in(tmp_path / "mine") == ["00-start.ipynb", "01-lesson.ipynb"]


def test_lab_opens_the_lessons_of_a_checkout_where_they_are_for_whoever_writes_them(
    calls: Calls,
) -> None:
    lessons = copies.PACKAGE.parent / "notebooks"
    before = sorted(lessons.iterdir())
    assert cli.main(["lab", "--dir", str(lessons)]) == 0
    assert calls[0][1] == lessons
    assert sorted(lessons.iterdir()) == before


def test_lab_says_what_it_replaced_and_what_it_put_beside(
    calls: Calls,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lessons = installed(monkeypatch, tmp_path)
    mine = tmp_path / "mine"
    assert cli.main(["lab", "--dir", str(mine)]) == 0
    assert capsys.readouterr().out == (
        f"The lessons are in {mine}. Stop with Ctrl+C, pressed twice.\n"
    )
    change = mine / "01-lesson.ipynb"
    change.write_text(change.read_text("utf-8").replace("x = 1", "x = 2"), "utf-8")
    for name in (START, "01-lesson.ipynb"):
        write(lessons / name, cell("x = 3", count=None))
    assert cli.main(["lab", "--dir", str(mine)]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "Replaced by newer ones, as they are not edited: 00-start.ipynb.",
        "01-lesson.ipynb is edited and stays.",
        "The new lesson is 01 (new) lesson.ipynb",
    ]


def test_lab_hands_options_after_two_dashes_to_jupyterlab(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lab", "--no-browser", "--", "--port=9999"]) == 0
    assert calls[0][0][-2:] == ["--no-browser", "--port=9999"]


def test_lab_without_jupyterlab_says_what_to_install(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert cli.main(["lab"]) == 2
    assert (
        "JupyterLab is not installed. Type: pip install 'gradviz-kit[lab]'"
        in capsys.readouterr().err
    )
    assert not calls


def test_lab_without_lessons_says_so(
    calls: Calls,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(copies, "PACKAGE", tmp_path / "gradviz")
    assert cli.main(["lab"]) == 2
    assert "contains no lessons" in capsys.readouterr().err


def test_lab_in_a_folder_that_cannot_be_made_says_so(
    calls: Calls,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    installed(monkeypatch, tmp_path)
    (tmp_path / "file").touch()
    assert cli.main(["lab", "--dir", str(tmp_path / "file")]) == 2
    assert "Choose another folder" in capsys.readouterr().err


def test_check_without_nbval_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert cli.main(["check", "a.ipynb"]) == 2
    assert "pip install 'gradviz-kit[lab]'" in capsys.readouterr().err


def test_unknown_option_points_to_the_two_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["lab", "--port=9999"])
    assert stop.value.code == 2
    assert "after --" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["lab", "--help"], ["check", "--help"]])
def test_help_shows_examples(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 0
    assert "examples:\n  gradviz " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--help"], "examples:"),
        (["--version"], f"gradviz-kit {gradviz.__version__}"),
        (["check", "--help"], "--timeout SECONDS"),
        (["check", "--timeout", "x", "a.ipynb"], "'x' is no number of seconds: --timeout 120"),
    ],
)
def test_what_only_reads_the_words_does_not_wait_for_torch(words: list[str], said: str) -> None:
    code = "import atexit, sys; atexit.register(lambda: print('torch' in sys.modules))"
    code += "; import runpy; runpy.run_module('gradviz', run_name='__main__')"
    done = ran(cli.PACKAGE.parent, "-c", code, *words)
    assert said in (done.stdout + done.stderr).decode()
    assert done.stdout.endswith(b"False\n")


def test_check_really_compares(tmp_path: Path) -> None:
    # A project's own settings and fixtures must not matter.
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text("raise RuntimeError\n", encoding="utf-8")
    path = write(
        tmp_path / "a.ipynb",
        cell("print(hex(id(object())))", printed("0x7f0000000000\n")),
        cell("print(1)", printed("2\n"), count=2, key="other"),
    )
    done = ran(tmp_path, "-m", "gradviz", "check", str(path))
    assert (done.returncode, done.stderr) == (1, b""), done.stdout
    assert "2 cells: 1 equal, 1 different" in done.stdout.decode()
    assert "[2] other · print(1)" in done.stdout.decode()


ENDS_ON_SIGTERM = """
import signal, sys
def end(number, frame):
    print("ended in its own way", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
signal.pause()
"""
RUNS_IT = "import sys; from pathlib import Path; from gradviz import cli; "


def test_whoever_ends_the_command_ends_what_it_runs(tmp_path: Path) -> None:
    code = RUNS_IT + f"sys.exit(cli._run([sys.executable, '-c', {ENDS_ON_SIGTERM!r}], Path('.')))"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.stdout.read() == "ended in its own way\n"
    assert process.returncode == 7


@pytest.mark.exhaustive
@pytest.mark.parametrize("seconds", [0.5, 4.0])
def test_ctrl_c_ends_the_check_and_its_kernel_without_a_traceback(
    tmp_path: Path, seconds: float
) -> None:
    waiting = "import os, threading, pathlib\npathlib.Path('pid').write_text(str(os.getpid()))\n"
    waiting += "threading.Event().wait()"
    path = write(tmp_path / "a.ipynb", cell("print(1)", printed("1\n")), cell(waiting))
    command = [sys.executable, "-m", "gradviz", "check", str(path), str(path)]
    pipe = subprocess.PIPE
    started = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=pipe, stderr=pipe, text=True
    )
    if seconds > 1:  # while a cell runs; else while Python imports or the kernel starts
        while not (tmp_path / "pid").exists():
            with pytest.raises(subprocess.TimeoutExpired):
                started.wait(0.1)
    else:
        with pytest.raises(subprocess.TimeoutExpired):
            started.wait(seconds)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    if seconds > 1:
        assert started.returncode == 2, out + err
        assert "interrupted after 1 cells" in out
        assert "1 not checked" in out
        assert err == ""
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)
    else:
        assert started.returncode not in (0, 1), out + err
