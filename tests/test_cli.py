from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gradviz import cli


def notebook(path: Path, source: str, printed: str | None, tags: tuple[str, ...] = ()) -> Path:
    outputs = [{"name": "stdout", "output_type": "stream", "text": printed}] if printed else []
    cell = {
        "cell_type": "code",
        "execution_count": None if printed is None else 1,
        "id": "only",
        "metadata": {"tags": list(tags)},
        "outputs": outputs,
        "source": source,
    }
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": [cell],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


class Calls(list[tuple[list[str], Path]]):
    status = 0

    def __call__(self, command: list[str], folder: Path) -> int:
        self.append((list(command), folder))
        return self.status


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    recorder = Calls()
    monkeypatch.setattr(cli, "_run", recorder)
    return recorder


def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    package = tmp_path / "site-packages" / "gradviz"
    lessons = package / "_lessons"
    lessons.mkdir(parents=True)
    for name in (cli.START, "01-lesson.ipynb", "lesson_tools.py", "build.py"):
        (lessons / name).write_text(f"original {name}", encoding="utf-8")
    monkeypatch.setattr(cli, "PACKAGE", package)
    return lessons


def test_lab_in_a_checkout_opens_the_lessons_where_they_are(calls: Calls) -> None:
    assert cli.main(["lab"]) == 0
    ((command, folder),) = calls
    assert folder == cli.PACKAGE.parent / "notebooks"
    assert command == [sys.executable, "-m", "jupyterlab", "00-start.ipynb"]


def test_lab_of_an_installed_package_copies_the_lessons(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lab"]) == 0
    assert calls[0][1] == tmp_path / "gradviz-lessons"
    copied = sorted(path.name for path in (tmp_path / "gradviz-lessons").iterdir())
    assert copied == ["00-start.ipynb", "01-lesson.ipynb", "lesson_tools.py"]


def test_lab_keeps_what_the_learner_wrote(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, tmp_path)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "01-lesson.ipynb").write_text("my answers", encoding="utf-8")
    assert cli.main(["lab", "--dir", str(mine)]) == 0
    assert (mine / "01-lesson.ipynb").read_text(encoding="utf-8") == "my answers"
    assert (mine / "00-start.ipynb").exists()


def test_lab_hands_options_after_two_dashes_to_jupyterlab(calls: Calls) -> None:
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
    monkeypatch.setattr(cli, "PACKAGE", tmp_path / "gradviz")
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


def test_check_uses_the_rules_in_the_package(calls: Calls, tmp_path: Path) -> None:
    path = notebook(tmp_path / "a.ipynb", "print(1)", "1\n")
    assert cli.main(["check", str(path), "--", "-x"]) == 0
    command = calls[0][0]
    assert command[1:4] == ["-m", "pytest", "--nbval"]
    assert command[command.index("--nbval-sanitize-with") + 1] == str(cli.SANITIZE)
    assert cli.SANITIZE.is_file()
    assert "-x" in command
    assert command[-1] == str(path)


def test_check_lax_is_passed_through(calls: Calls, tmp_path: Path) -> None:
    path = notebook(tmp_path / "a.ipynb", "print(1)", None)
    assert cli.main(["check", "--lax", str(path)]) == 0
    assert "--nbval-lax" in calls[0][0]


@pytest.mark.parametrize(("status", "expected"), [(0, 0), (1, 1), (4, 2), (5, 2), (-9, 2)])
def test_check_returns_0_1_or_2(calls: Calls, tmp_path: Path, status: int, expected: int) -> None:
    calls.status = status
    path = notebook(tmp_path / "a.ipynb", "print(1)", "1\n")
    assert cli.main(["check", str(path)]) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        ("", "is not a Jupyter notebook"),
        ("[]", "is not a Jupyter notebook"),
        ('{"worksheets": []}', "is not a Jupyter notebook"),
    ],
)
def test_check_refuses_what_is_no_notebook(
    calls: Calls,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: str | None,
    message: str,
) -> None:
    path = tmp_path / "a.ipynb"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert cli.main(["check", str(path)]) == 2
    assert message in capsys.readouterr().err
    assert not calls


def test_check_refuses_a_notebook_that_was_never_run(
    calls: Calls, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = notebook(tmp_path / "a.ipynb", "print(1)", None)
    assert cli.main(["check", str(path)]) == 2
    assert f"1 of 1 code cells of {path} have never been run" in capsys.readouterr().err


def test_check_without_nbval_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    path = notebook(tmp_path / "a.ipynb", "print(1)", "1\n")
    assert cli.main(["check", str(path)]) == 2
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


def run(*arguments: Any, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradviz", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(cli.PACKAGE.parent)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_check_really_compares(tmp_path: Path) -> None:
    # A project's own settings and fixtures must not matter.
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text("raise RuntimeError\n", encoding="utf-8")
    path = notebook(tmp_path / "a.ipynb", "print(hex(id(object())))", "0x7f0000000000\n")
    document = json.loads(path.read_text(encoding="utf-8"))
    other = notebook(tmp_path / "b.ipynb", "print(1)", "2\n").read_text(encoding="utf-8")
    document["cells"] += [{**json.loads(other)["cells"][0], "id": "other"}]
    path.write_text(json.dumps(document), encoding="utf-8")
    done = run("check", path, folder=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
