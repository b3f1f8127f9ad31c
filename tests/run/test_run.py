"""``gradviz run``: what it adds to Python."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import gradviz_run
from gradviz import Recording
from gradviz_run import ranks
from gradviz_run.arguments import HELP
from gradviz_run.watched import watch
from tests.each import each
from tests.run.test_as_python import ran

TERMINATED = """
import os, signal
from gradviz_run.watched import _Unterminated
with _Unterminated():
    os.kill(os.getpid(), signal.SIGTERM)
    print("explained", flush=True)
print("not reached")
"""
LOADED = """
import sys
before = {name for name in sys.modules if name != "__main__"}
print(*sorted(before))
print(sys.gettrace(), sys.getprofile(), sys.excepthook is sys.__excepthook__)
if hasattr(sys, "monitoring"):
    print([sys.monitoring.get_tool(number) for number in range(6)])
print(sorted(name for name in sys.modules if name.startswith("gradviz")))
"""
WRITTEN = """
import sys, torch
def step(w):
    h = w.exp()
    h.add_(1)  # culprit
    h.sum().backward()
def main():
    step(torch.ones(2, requires_grad=True))
"""
AT_ONCE = f"{WRITTEN}main()\n"
GOES_AWAY = f"{WRITTEN}import os; os.mkdir('elsewhere'); os.chdir('elsewhere')\nmain()\n"
CAUGHT = f"""{WRITTEN}
try:
    main()
except RuntimeError as error:
    print("stopped", file=sys.stderr)
    sys.exit(1)
"""
OWN = """
import torch, gradviz
w = torch.ones(2, requires_grad=True)
with gradviz.record() as recording:
    h = w.exp()
print(len(recording), recording.label)
h.add_(1)
h.sum().backward()
"""
SILENT = """
import torch
model = torch.nn.Linear(2, 1)
loss = ((model(torch.ones(4, 2)) - torch.ones(4)) ** 2).mean()
loss.backward()
print("done")
"""


def run(folder: Path, text: str, *words: str) -> tuple[int, str, str]:
    (folder / "train.py").write_text(text)
    done = ran(folder, "-m", "gradviz_run", *words, "train.py")
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is no script\nusage: gradviz run"),
        (["-m"], "there is no module after -m"),
        (["--htlm", "x.html", "train.py"], "there is no option --htlm. Options of the script"),
        (["--record=yes", "train.py"], "there is no option --record"),
        (["--html"], "--html needs the name of a file: --html player.html"),
        (["--html", "player.svg", "train.py"], "has to end with .html"),
        (["--json", "player.html", "train.py"], "has to end with .json"),
        (["--html", "no/such/p.html", "train.py"], "there is no folder no/such"),
        (["--html", "folder.html", "train.py"], "this file cannot be written"),
        (["nothing.py"], "there is no file nothing.py"),
        (["lecture.ipynb"], "lecture.ipynb is a notebook: %load_ext gradviz"),
        (["-"], "a script is read from a file"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_runs(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "train.py").write_text("raise SystemExit('it ran')")
    (tmp_path / "folder.html").mkdir()
    monkeypatch.chdir(tmp_path)
    assert gradviz_run.run(words) == 2
    told = capsys.readouterr()
    assert told.err.startswith("gradviz run: ")
    assert said in told.err
    assert told.out == ""


def test_help_is_that_of_the_command_only_before_the_script(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert gradviz_run.run(["--help"]) == 0
    assert capsys.readouterr().out == HELP


def test_files_carry_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert (ranks.labelled("x"), ranks.with_rank("a.b/player.html")) == ("x", "a.b/player.html")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert ranks.rank() is None
    monkeypatch.setenv("WORLD_SIZE", "12")
    assert ranks.labelled("x") == "x, rank 1 of 12"
    assert ranks.with_rank("a.b/player.html") == "a.b/player.rank1.html"


def test_a_plain_run_loads_nothing_and_observes_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOADED)
    command = "import sys; from gradviz_run import main; sys.exit(main())"
    plain = ran(tmp_path, "train.py").stdout.decode().splitlines()
    done = ran(tmp_path, "-c", command, "run", "train.py")
    ours = done.stdout.decode().splitlines()
    more = set(ours[0].split()) - set(plain[0].split())
    own = {name for name in more if name.startswith("gradviz_run")}
    assert more - own <= {
        *("__future__", "warnings", "importlib", "importlib.machinery"),
        *("importlib._bootstrap", "importlib._bootstrap_external"),
    }
    assert ours[1:-1] == plain[1:-1]
    assert ours[-1] == str(sorted(own))


def test_a_rank_says_why_it_has_failed_before_it_is_terminated(tmp_path: Path) -> None:
    done = ran(tmp_path, "-c", TERMINATED)
    assert (done.returncode, done.stdout) == (-15, b"explained\n")


def test_an_exit_is_explained_only_if_it_says_that_the_script_has_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def exits(code: int | None) -> None:
        try:
            torch.ones(2, requires_grad=True).add_(1)
        except RuntimeError:
            sys.exit(code)

    for code in (None, 0, 1):
        program: Any = SimpleNamespace(prepare=lambda: None, start=partial(exits, code))
        asked: Any = SimpleNamespace(records=False)
        with pytest.raises(SystemExit):
            watch(program, asked)
        assert ("gradviz" in capsys.readouterr().err) == (code == 1)


@each("before", ["", "import sys\nsys.excepthook = lambda *_: 1 / 0"])
def test_the_explanation_follows_the_traceback(tmp_path: Path, before: str) -> None:
    status, printed, said = run(tmp_path, before + AT_ONCE)
    assert (status, printed) == (1, "")
    traceback, mark, text = said.partition("\n\ngradviz:\n")
    assert mark
    assert traceback.splitlines()[-1].startswith("RuntimeError: one of the variables")
    assert "gradviz_run" not in traceback
    assert text.startswith("what: ExpBackward0 saved h at version 0")
    assert "not known: which line wrote it; gradviz run --record shows it\n" in text


def test_with_a_recording_the_line_and_fixes_are_known_and_files_are_saved_where_it_was_typed(
    tmp_path: Path,
) -> None:
    files = ("--html", "player.html", "--json=steps.json")
    status, _, said = run(tmp_path, GOES_AWAY, *files)
    assert status == 1
    assert "culprit: line 5: h.add_(1)  # culprit\n" in said
    assert "fix 1: " in said
    recording = Recording.from_json((tmp_path / "steps.json").read_text("utf-8"))
    assert recording.label == "train.py"
    assert recording.explanation is not None
    assert recording.explanation.line == 5
    assert "<html" in (tmp_path / "player.html").read_text("utf-8")


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", [(), ("--record",)])
def test_an_error_that_the_script_catches_and_exits_with_is_explained(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    status, _, said = run(tmp_path, CAUGHT, *words)
    assert status == 1
    assert said.startswith("stopped\n\ngradviz:\nwhat: ExpBackward0 saved ")
    assert ("line 5: h.add_(1)" in said) == bool(words)


@pytest.mark.exhaustive
def test_a_script_that_records_itself_is_recorded_around_that(tmp_path: Path) -> None:
    status, printed, said = run(tmp_path, OWN, "--record")
    assert (status, printed) == (1, "1 \n")
    assert "culprit: line 7: h.add_(1)" in said


@pytest.mark.exhaustive
def test_faults_without_an_error_are_told_by_a_recording(tmp_path: Path) -> None:
    assert run(tmp_path, SILENT)[2] == ""
    status, printed, said = run(tmp_path, SILENT, "--record")
    assert (status, printed) == (0, "done\n")
    assert "kind: broadcast\nraised: nothing\n" in said


@pytest.mark.exhaustive
def test_errors_that_are_not_autograds_get_nothing(tmp_path: Path) -> None:
    text = "import torch\ntorch.ones(2) @ torch.ones(3)\n"
    (tmp_path / "train.py").write_text(text)
    plain = ran(tmp_path, "train.py")
    for words in ((), ("--record",)):
        assert run(tmp_path, text, *words) == (1, "", plain.stderr.decode())


@pytest.mark.exhaustive
def test_another_gradviz_beside_the_script_hides_no_error(tmp_path: Path) -> None:
    (tmp_path / "gradviz.py").write_text("")
    status, _, said = run(tmp_path, AT_ONCE)
    assert status == 1
    assert "RuntimeError: one of the variables" in said
    assert "\ngradviz:\nnothing is explained: No module named 'gradviz.programs'" in said


@pytest.mark.exhaustive
def test_python_m_gradviz_is_the_same_command(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys; print(sys.argv, __name__)")
    done = ran(tmp_path, "-m", "gradviz", "run", "train.py", "--help")
    assert (done.stdout, done.stderr) == (b"['train.py', '--help'] __main__\n", b"")


IN_THREAD = f"""{WRITTEN}
import _thread, threading
thread = threading.Thread(target=main)
thread.start()
thread.join()
begun = _thread.allocate_lock()
begun.acquire()
_thread.start_new_thread(lambda: [begun.release(), main()], ())
begun.acquire()
while _thread._count():
    pass
print("goes on")
"""
IN_GROUP = f"""{WRITTEN}
import asyncio
async def written():
    main()
async def not_scalar():
    (torch.ones(2, requires_grad=True) * 2).backward()
async def both():
    async with asyncio.TaskGroup() as group:
        group.create_task(written())
        group.create_task(not_scalar())
try:
    asyncio.run(both())
except ExceptionGroup as group:
    raise BaseExceptionGroup("all", [KeyboardInterrupt(), *group.exceptions])
"""


@pytest.mark.parametrize("words", [(), ("--record",)])
def test_an_error_that_ends_a_thread_is_explained_after_pythons_traceback(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    status, out, err = run(tmp_path, IN_THREAD, *words)
    assert (status, out) == (0, "goes on\n")
    traceback, *explained = err.split("\ngradviz:\n")
    assert traceback.startswith("Exception in thread ")
    assert "gradviz" not in traceback
    assert len(explained) == 2
    for one in explained:
        assert "kind: saved tensor written" in one
        assert "--record" not in one  # it would not have the lines of a thread


def test_every_error_of_a_group_is_explained(tmp_path: Path) -> None:
    status, _out, err = run(tmp_path, IN_GROUP)
    assert status == 1
    traceback, explained = err.split("\ngradviz:\n")
    assert "ExceptionGroup" in traceback
    kinds = [line for line in explained.splitlines() if line.startswith("kind: ")]
    assert kinds == ["kind: saved tensor written", "kind: not a scalar"]
