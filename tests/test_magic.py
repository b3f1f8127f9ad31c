from __future__ import annotations

import linecache
import os
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import gradviz
from gradviz.capture.recorder import recorder
from gradviz.capture.recorder.earlier import MOST
from gradviz.magic import cell_magic, options
from gradviz.magic.tracebacks import HINT

ROOT = Path(__file__).parents[1]


class Player:
    def __init__(self, recording: Any, look: dict[str, Any]) -> None:
        self.recording, self.look = recording, look

    def __repr__(self) -> str:
        return "the player"


class StandIn:
    """Takes the place of the recorder, and says what it was asked."""

    made: list[StandIn]

    def __init__(self, into: Any, only: Any, options: Any, label: str) -> None:
        self.into, self.only = into, only
        self.label, self.budget = label, options.budget
        self.values, self.anomaly = options.values, options.anomaly
        self.made.append(self)

    def __len__(self) -> int:
        return 1

    def start(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.is_on = True

    def stop(self, error: BaseException | None = None) -> StandIn:
        self.is_on = False
        self.error = error
        return self


def run_to_its_end(coroutine: Any) -> Any:
    """Run a coroutine that waits for nothing."""
    while True:
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value


class Shell:
    """A shell with the extension, what its cells show, and the stand-ins for recorders."""

    def __init__(self, recorders: list[StandIn], folder: Path) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        new: Any = InteractiveShell
        self.ip = new(config=config, ipython_dir=str(folder))
        # Not asyncio's: other tests may have left a loop running in this thread.
        self.ip.loop_runner = run_to_its_end
        self.recorders = recorders

    def run(self, cell: str) -> Any:
        return self.ip.run_cell(cell, store_history=True)

    @property
    def recorder(self) -> StandIn:
        (one,) = self.recorders
        return one


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    monkeypatch.setattr(StandIn, "made", [], raising=False)
    monkeypatch.setattr(cell_magic, "new_recorder", StandIn)
    monkeypatch.setattr("gradviz.api.show", lambda recording, **look: Player(recording, look))
    made = Shell(StandIn.made, tmp_path)
    monkeypatch.setattr(InteractiveShell, "_instance", made.ip)
    made.ip.extension_manager.load_extension("gradviz")
    yield made
    made.ip.extension_manager.unload_extension("gradviz")


def shown(capsys: Any) -> list[str]:
    return re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out).split("\n")


def test_the_player_comes_after_the_output_of_the_cell(shell: Shell, capsys: Any) -> None:
    result = shell.run("%%gradviz\nprint('printed')\n1 + 1")
    assert shown(capsys) == ["printed", "Out[1]: 2", "the player", ""]
    assert result.result == 2
    assert not shell.recorder.is_on
    assert shell.recorder.error is None
    assert shell.recorder.label == "cell"


def test_the_recorder_is_told_the_file_of_the_cell(shell: Shell) -> None:
    shell.run("%%gradviz\nimport sys\nfile = sys._getframe().f_code.co_filename")
    assert shell.recorder.file == shell.ip.user_ns["file"]


def test_an_error_is_that_of_the_cell_and_the_player_follows(shell: Shell, capsys: Any) -> None:
    result = shell.run("%%gradviz\nx = 1\nx / 0\nx = 2")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert shell.recorder.error is result.error_in_exec
    assert shell.ip.user_ns["x"] == 1
    text = shown(capsys)
    assert "----> 3 x / 0" in text
    assert "      1 '%%gradviz'" in text
    assert text[-2] == "the player"
    assert not any("gradviz/magic" in line for line in text)


@pytest.mark.parametrize(
    "line",
    [
        "--step ''",
        "--stops 3,",
        "--colour red",
        "loss",
        "--height -3",
        "--name 3x",
        "--name class",
        "--into",
        "--hide 'saved",
        "--hide everything",
    ],
)
def test_a_wrong_option_is_an_error_and_the_cell_is_not_run(shell: Shell, line: str) -> None:
    result = shell.run(f"%%gradviz {line}\nx = 1")
    assert isinstance(result.error_in_exec, UsageError)
    assert str(result.error_in_exec).startswith("%%gradviz: ")
    assert "The cell was not run. Options are --into, --only, --only-cell, --no-values," in str(
        result.error_in_exec
    )
    assert "x" not in shell.ip.user_ns
    assert shell.recorders == []


def test_options_reach_recorder_and_player(shell: Shell, monkeypatch: Any) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(cell_magic, "display", seen.append)
    shell.run("def f(): pass\nclass m: step = f")
    shell.run(
        "%%gradviz --into f --into m.step --only m --no-values --anomaly --step 2 --stops 1,4"
        " --hide values --hide saved --height 300 --name recording --budget 5_000\nx = 1"
    )
    recorder = shell.recorder
    function = shell.ip.user_ns["f"]
    assert (recorder.into, recorder.values, recorder.anomaly) == ([function] * 2, False, True)
    assert recorder.only == [shell.ip.user_ns["m"]]
    assert recorder.budget == 5_000
    assert seen[0].look == {
        "step": 2,
        "stops": [1, 4],
        "hide": ["values", "saved"],
        "height": 300,
    }
    assert shell.ip.user_ns["recording"] is recorder


def test_a_cell_is_followed_into_your_own_code_into_what_is_named_or_into_nothing(
    shell: Shell,
) -> None:
    shell.run("def f(): pass")
    for line in ("", "--only f", "--only-cell"):
        shell.run(f"%%gradviz {line}\nx = 1")
    assert [one.only for one in shell.recorders] == [None, [shell.ip.user_ns["f"]], ()]


def test_the_magic_and_the_recorder_have_one_smallest_budget() -> None:
    assert options.LEAST_BUDGET == recorder.LEAST_BUDGET


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere", "there is no 'nowhere' for --into"),
        ("n", "--into n is an int"),
        ("n.f", "there is no"),
    ],
)
def test_what_cannot_be_stepped_into_is_said_before_the_cell_runs(
    shell: Shell, name: str, why: str
) -> None:
    shell.run("n = 3")
    result = shell.run(f"%%gradviz --into {name}\nx = 1")
    assert isinstance(result.error_in_exec, UsageError)
    assert why in str(result.error_in_exec)
    assert "x" not in shell.ip.user_ns
    assert shell.recorders == []


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("%%gradviz --step 3\nx = 1", "%%gradviz --step 3\nx = 1"),
        ("%%gradviz\n!true\n# note", "%%gradviz\n!true\n# note"),
        ("\n\n    %%gradviz\n    %time x = 1", "%%gradviz\n%time x = 1"),
        ("%%gradviz\n%matplotlib \\\n  --list\nx = 1", None),
        ("%%gradviz\n%%capture\nx = 1", None),
        ("%%time\n%%gradviz\nx = 1", "%%gradviz\nx = 1"),
    ],
)
def test_the_recorder_gets_the_text_line_by_line(shell: Shell, cell: str, text: str | None) -> None:
    shell.run(cell)
    got = shell.recorder.text.rstrip("\n")
    assert got.startswith("%%gradviz")
    run = "".join(linecache.getlines(shell.recorder.file))
    if run:
        assert got.count("\n") == run.rstrip("\n").count("\n")
    if text is not None:
        assert got == text


def test_no_variable_is_left_behind(shell: Shell) -> None:
    shell.run("x = 0")
    before = set(shell.ip.user_ns)
    shell.run("%%gradviz\ny = 1")
    assert set(shell.ip.user_ns) - before == {"y", "_i2"}
    assert "%%" not in str(shell.ip.user_ns["__doc__"])


def test_help_is_shown_and_the_cell_not_run(shell: Shell, capsys: Any) -> None:
    for cell in ("%%gradviz --help", "%%gradviz --help\nx = 1"):
        shell.run(cell)
        text = capsys.readouterr().out
        assert text.startswith("usage: %%gradviz [--into NAME]")
        assert "The cell runs exactly as it does without this line." in text
    assert "x" not in shell.ip.user_ns
    assert "--no-values" in (shell.ip.find_cell_magic("gradviz").__doc__ or "")


def test_an_empty_cell_is_an_error_as_for_every_cell_magic(shell: Shell) -> None:
    for cell in ("%%gradviz", "%%gradviz\n\n  \n"):
        error = shell.run(cell).error_in_exec
        assert isinstance(error, UsageError)
        assert "the cell body is empty" in str(error)
    assert shell.recorders == []


def test_nothing_is_recorded_of_a_cell_that_python_cannot_read(shell: Shell, capsys: Any) -> None:
    result = shell.run("%%gradviz\nx = 1\nx = = 2")
    assert isinstance(result.error_before_exec, SyntaxError)
    assert result.error_before_exec.lineno == 3
    assert "x" not in shell.ip.user_ns
    assert shell.recorders == []
    assert "the player" not in shown(capsys)
    assert shell.run("%%gradviz\ny = 1").success


def test_an_interrupted_cell_is_recorded_up_to_there(shell: Shell, capsys: Any) -> None:
    result = shell.run("%%gradviz\nx = 1\nraise KeyboardInterrupt")
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert isinstance(shell.recorder.error, KeyboardInterrupt)
    assert shown(capsys)[-2] == "the player"


@pytest.mark.parametrize(
    "body",
    [
        "from __future__ import annotations\ndef f(x: missing): pass\ndone = 1",
        "import asyncio\nawait asyncio.sleep(0)\ndone = 1",
        "%time done = 1",
        "!true\ndone = 1",
        "str.upper?\ndone = 1",
        "\n\n%%time\ndone = 1",
        "%%capture caught\ndone = 1",
        "'a text'\ndone = 1",
        "    # indented\n    done = 1",
        "get_ipython().run_cell('done = 1')\nget_ipython().run_cell('')",
    ],
)
def test_what_ipython_adds_to_python_works_on(shell: Shell, body: str, capsys: Any) -> None:
    assert shell.run(f"%%gradviz\n{body}").success
    assert shell.ip.user_ns["done"] == 1
    assert shown(capsys)[-2] == "the player"
    assert not shell.recorder.is_on


@pytest.mark.parametrize("outer", ["%%time", "%%capture caught", "%%timeit -n1 -r1 -q"])
def test_a_cell_inside_another_magic_is_recorded(shell: Shell, outer: str, capsys: Any) -> None:
    assert shell.run(f"{outer}\n%%gradviz\ndone = 1").success
    assert not shell.recorder.is_on
    out = shown(capsys)
    if "capture" in outer:
        assert [o.data["text/plain"] for o in shell.ip.user_ns["caught"].outputs] == ["the player"]
        assert "the player" not in out
    else:
        assert out[-2] == "the player"


def test_future_imports_still_come_first_where_the_cell_is_compiled_whole(shell: Shell) -> None:
    result = shell.run(
        "%%time\n%%gradviz\nfrom __future__ import annotations\ndef f(x: missing): pass\ndone = f"
    )
    assert result.success
    assert shell.ip.user_ns["f"].__annotations__ == {"x": "missing"}
    assert not shell.recorder.is_on


def test_called_by_name_it_records_the_cell_it_is_given(shell: Shell, capsys: Any) -> None:
    shell.run("get_ipython().run_cell_magic('gradviz', '--no-values', 'x = 1\\nx')")
    assert shown(capsys)[-3:] == ["Out[1]: 1", "the player", ""]
    assert not shell.recorder.values
    result = shell.run("get_ipython().run_cell_magic('gradviz', '', '1/0')")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert not shell.recorders[1].is_on


def test_a_silent_cell_is_not_recorded(shell: Shell) -> None:
    shell.ip.run_cell("%%gradviz\nx = 1", silent=True)
    assert shell.ip.user_ns["x"] == 1
    assert shell.recorders == []


def test_asking_whether_a_cell_is_complete_is_as_for_every_cell_magic(shell: Shell) -> None:
    ask = shell.ip.input_transformer_manager.check_complete
    for magic_name in ("time", "gradviz"):
        assert ask(f"%%{magic_name}")[0] == "incomplete"
        assert ask(f"%%{magic_name}\nx = 1")[0] == "incomplete"
        assert ask(f"%%{magic_name}\nx = 1\n\n")[0] == "complete"
    assert shell.recorders == []


def test_loading_twice_is_loading_once_and_unloading_leaves_nothing(shell: Shell) -> None:
    ip = shell.ip

    def state() -> Any:
        return (
            len(ip.input_transformers_cleanup),
            len(ip.ast_transformers),
            {name: len(calls) for name, calls in ip.events.callbacks.items()},
            "gradviz" in ip.magics_manager.magics["cell"],
        )

    loaded = state()
    gradviz.load_ipython_extension(ip)
    assert state() == loaded
    gradviz.unload_ipython_extension(ip)
    lines, statements, calls, is_there = state()
    assert (lines, statements, is_there) == (loaded[0] - 1, loaded[1] - 1, False)
    assert calls["post_run_cell"] == loaded[2]["post_run_cell"] - 1
    assert calls["pre_run_cell"] == loaded[2]["pre_run_cell"] - 1
    gradviz.load_ipython_extension(ip)
    assert state() == loaded


def test_a_recording_that_fails_at_its_end_is_said_and_the_cell_is_not_lost(
    shell: Shell, capsys: Any, monkeypatch: Any
) -> None:
    def stop(self: StandIn, error: Any = None) -> Any:
        raise gradviz.RecordingError("two threads ran at once")

    monkeypatch.setattr(StandIn, "stop", stop)
    result = shell.run("%%gradviz\nx = 1\nx")
    assert result.success
    captured = capsys.readouterr()
    assert captured.err == "%%gradviz: two threads ran at once\n"
    assert "the player" not in captured.out


def test_a_look_that_does_not_fit_the_recording_is_said_and_the_player_shown_without(
    shell: Shell, capsys: Any, monkeypatch: Any
) -> None:
    def show(recording: Any, **look: Any) -> Any:
        if look:
            raise gradviz.OptionError("there is no step 99")
        return Player(recording, look)

    monkeypatch.setattr("gradviz.api.show", show)
    shell.run("%%gradviz --step 99\nx = 1")
    captured = capsys.readouterr()
    assert captured.err == "%%gradviz: there is no step 99\n"
    assert captured.out == "the player\n"


CELLS = {
    "prints and shows": "print('one')\nprint('two')\na * 3",
    "silenced": "a * 3;",
    "backward": "out = (a * a).exp()\nout.backward()\nprint(a.grad, a._version, out._version)",
    "error": "b = a * 2\nprint('before')\nb.backward()\nb.backward()\nprint('never')",
    "error in a function": "def f(t):\n    u = t * 2\n    return u.nowhere\n\nf(a)",
    "error in the first line": "nowhere",
    "error chained": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n"
    "    raise ValueError('x') from e",
    "not Python": "x = 1\nx = = 2",
    "not Python once compiled": "x = 1\nreturn x",
    "indented wrongly": "if True:\nx = 1",
    "await": "import asyncio\nawait asyncio.sleep(0)\nc = a + 1\nc",
    "await and error": "await asyncio.sleep(0)\na.nowhere",
    "interrupted": "import signal\nsignal.raise_signal(signal.SIGINT)",
    "exit": "import sys\nsys.exit(3)",
    "time": "%time d = a + 2",
    "whole cell timed": "%%time\nd = a + 3\nd",
    "help": "len?",
    "shell": "!echo said\nd = !echo more\nd",
    "future": "'''A text'''\nfrom __future__ import annotations\ndef g(x: missing): pass\ng",
    "display": "from IPython.display import display\ndisplay('first')\n'second'",
    "last": "_",
    "stderr": "import sys\nprint('bad', file=sys.stderr)",
    "assertion": "assert a.requires_grad is False, 'it does'",
    "class": "class Twice(torch.autograd.Function):\n"
    "    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return g * 2\n"
    "e = Twice.apply(a)\ne.backward()\na.grad",
}
LAST = """\
import sys
names = sorted(n for n, v in globals().items() if n != "__builtins__")
print(names, len(In), sorted(Out), sys.gettrace(), get_ipython().execution_count)"""
QUIET = "%load_ext gradviz\nget_ipython().run_line_magic('gradviz', 'on') or None"
STATE = "\nfrom gradviz.capture.recorder.earlier import EARLIER\nprint(len(EARLIER))"
OTHER = "%%gradviz_"
"""A text that means nothing, not even to the magic."""


@pytest.fixture(scope="module")
def runs() -> dict[str, Any]:
    """The cells as a kernel ran them without the magic, with it, and after ``%gradviz on``."""
    return {name: run_in_kernel(name) for name in ("plain", "recorded", "quiet")}


def run_in_kernel(how: str) -> list[Any]:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    new = nbformat.v4
    first = "import torch, gradviz\na = torch.tensor(2.0, requires_grad=True)\n"
    first += {"plain": "", "recorded": "%load_ext gradviz", "quiet": QUIET}[how]
    last = LAST + (STATE if how == "quiet" else "")
    cells = [first, *(with_first_line(body, how) for body in CELLS.values()), last]
    notebook = new.new_notebook(cells=[new.new_code_cell(cell) for cell in cells])
    replies: list[Any] = []
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(ROOT)}},
        on_cell_executed=lambda cell, cell_index, execute_reply: replies.append(execute_reply),
    )
    client.execute()
    return [(cell, reply["content"]) for cell, reply in zip(notebook.cells, replies, strict=True)]


def with_first_line(body: str, how: str) -> str:
    if how == "recorded":
        return f"%%gradviz\n{body}"
    if how == "quiet":
        return body if body.startswith("%%") else f"'{OTHER}'\n{body}"
    # A text that means nothing, so that lines have the same numbers; no magic could follow it.
    return body if body.startswith("%%") else f"'%%gradviz'\n{body}"


def without_player(outputs: list[Any]) -> list[Any]:
    """The other outputs; printing that arrived in several messages is one of them."""
    kept: list[Any] = []
    for output in outputs:
        before = kept[-1] if kept else {}
        if output.output_type == "stream" and output.name == before.get("name"):
            kept[-1] = {**before, "text": before["text"] + output.text}
        elif not is_player(output):
            kept.append(dict(output))
    return kept


def is_player(output: Any) -> bool:
    is_first = output.get("data", {}).get("text/plain", "").startswith("recording of cell")
    return bool(output.output_type == "display_data" and is_first)


def timeless(thing: Any) -> str:
    """Without what a clock says, and without the file's name that IPython gives a cell."""
    return re.sub(r"[\d.]+ (ns|\wms|[µμ]s|us|ms|s)\b|\d+\.py", "…", str(thing))


NEVER_BEGUN = ("not Python", "indented wrongly")


@pytest.mark.slow
def test_every_cell_is_recorded_once_and_behaves_as_it_does_without(
    runs: dict[str, Any], subtests: pytest.Subtests
) -> None:
    cells = [cell for cell, _ in runs["recorded"]][1:-1]
    players = [sum(map(is_player, cell.outputs)) for cell in cells]
    assert players == [int(name not in NEVER_BEGUN) for name in CELLS]
    assert all(is_player(cell.outputs[-1]) for cell, is_there in zip(cells, players) if is_there)
    assert not any(is_player(o) for cell, _ in runs["plain"] for o in cell.outputs)
    for name, *both in zip(["first", *CELLS, "last"], runs["plain"], runs["recorded"], strict=True):
        (plain, plain_reply), (recorded, reply) = both
        with subtests.test(name):
            frames = users_frames(plain_reply.get("traceback"))
            expected = [
                {**output, "traceback": frames} if "traceback" in output else output
                for output in without_player(plain.outputs)
            ]
            assert timeless(without_player(recorded.outputs)) == timeless(expected)
            assert recorded.execution_count == plain.execution_count
            for key in ("status", "execution_count", "ename", "evalue", "payload"):
                assert timeless(reply.get(key)) == timeless(plain_reply.get(key)), key
            assert timeless(reply.get("traceback")) == timeless(frames)


def users_frames(shown_frames: list[str] | None) -> list[str] | None:
    """A traceback whose frames in torch are counted: of the errors here only those of autograd have
    any."""
    if shown_frames is None:
        return None
    is_torchs = [f"{os.sep}torch{os.sep}" in part.split("\n")[0] for part in shown_frames]
    if not any(is_torchs):
        return shown_frames
    first = is_torchs.index(True)
    count = sum(is_torchs)
    assert all(is_torchs[first : first + count])
    line = f"    … {count} frames of libraries: %%gradviz --traceback shows all\n"
    return [*shown_frames[:first], line, *shown_frames[first + count :]]


def test_a_traceback_is_shortened_in_a_recorded_cell_unless_all_of_it_is_asked_for(
    shell: Shell, capsys: Any
) -> None:
    for line, is_short in [("%%gradviz", True), ("%%gradviz --traceback", False), ("x = 1", False)]:
        result = shell.run(f"{line}\nimport json\njson.loads('no')")
        text = "\n".join(shown(capsys))
        assert ("… 3 frames of libraries" in text) is is_short
        assert ("decoder.py" in text) is not is_short
        assert "json.loads('no')" in text
        assert type(result.error_in_exec).__name__ == "JSONDecodeError"
        files = {frame.filename for frame in traceback.extract_tb(sys.last_traceback)}
        assert any(file.endswith("decoder.py") for file in files)  # %debug has all of it


@pytest.mark.slow
def test_quietly_every_cell_is_recorded_and_behaves_as_it_does_without(
    runs: dict[str, Any], subtests: pytest.Subtests
) -> None:
    (*plain_cells, (plain_last, _)), (*quiet_cells, (last, _)) = runs["plain"], runs["quiet"]
    for name, plain, quiet in zip(CELLS, plain_cells[1:], quiet_cells[1:], strict=True):
        with subtests.test(name):
            assert_quietly_the_same(name, plain, quiet)
    *same, count = printed(last).strip().split("\n")
    assert same == [printed(plain_last).strip()]
    assert int(count) == min(MOST, len(CELLS) - len(NEVER_BEGUN))


def assert_quietly_the_same(name: str, plain: tuple[Any, Any], quiet: tuple[Any, Any]) -> None:
    """But for the hint after an error of autograd."""
    (plain_cell, plain_reply), (cell, reply) = plain, quiet
    shown = timeless(without_player(cell.outputs)).replace(OTHER, "%%gradviz")
    for words in (f", {HINT!r}", f"\\n{HINT}"):
        shown = shown.replace(words, "")
    assert shown == timeless(without_player(plain_cell.outputs))
    assert cell.execution_count == plain_cell.execution_count
    for key in ("status", "execution_count", "ename", "evalue", "payload"):
        assert timeless(reply.get(key)) == timeless(plain_reply.get(key)), key
    traceback = reply.get("traceback") or []
    is_hinted = name == "error"
    assert [line for line in traceback if HINT in line] == ([HINT] if is_hinted else [])
    assert traceback[-1:] == [HINT] or not is_hinted
    kept = [line.replace(OTHER, "%%gradviz") for line in traceback if line != HINT]
    assert timeless(kept) == timeless(plain_reply.get("traceback") or [])


def printed(cell: Any) -> str:
    """What a cell has printed, in however many messages it came."""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")
