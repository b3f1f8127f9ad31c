"""``%gradviz`` in a real shell, with the real recorder."""

from __future__ import annotations

import re
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from gradviz.capture.recorder.earlier import EARLIER
from gradviz.magic.tracebacks import HINT

FORWARD = "w = torch.ones(2, requires_grad=True)\nh = w.exp()\ny = h * 2"
WRITE = "h.add_(1)\nloss = y.sum()"


class Shell:
    def __init__(self, folder: Path) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        new: Any = InteractiveShell
        self.ip = new(config=config, ipython_dir=str(folder))

    def run(self, *cells: str) -> Any:
        for cell in cells:
            result = self.ip.run_cell(cell, store_history=True)
        return result

    def explained(self) -> Any:
        return self.run("%gradviz explain").result


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    forget()
    made = Shell(tmp_path)
    monkeypatch.setattr(InteractiveShell, "_instance", made.ip)
    made.run("import torch", "%load_ext gradviz")
    yield made
    made.ip.extension_manager.unload_extension("gradviz")
    forget()


def forget() -> None:
    """No error was raised, and nothing was recorded."""
    for name in ("last_exc", "last_value", "last_type", "last_traceback"):
        vars(sys).pop(name, None)
    EARLIER.forget()


def shown(capsys: Any) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out)


def test_alone_it_says_what_is_on_and_what_can_be_typed(shell: Shell, capsys: Any) -> None:
    shell.run("%gradviz")
    text = shown(capsys)
    assert text.startswith("gradviz records cells that begin with %%gradviz; of the last 20 ")
    for command in ("on", "off", "explain", "hint on", "hint off"):
        assert f"\n%gradviz {command} " in text
    shell.run("%gradviz on", "x = 1")
    assert shown(capsys).startswith("gradviz records every cell; ")
    shell.run("%gradviz")
    assert "recordings, 1 are kept" in shown(capsys)


def test_what_does_not_exist_is_refused_with_what_does(shell: Shell, capsys: Any) -> None:
    shell.run("%gradviz explain")
    assert "UsageError: %gradviz explain: there is nothing to explain" in capsys.readouterr().err
    shell.run("%gradviz onn")
    words = "UsageError: %gradviz: there is no 'onn'; type %gradviz with one of on, off, explain"
    assert words in capsys.readouterr().err


def test_an_error_of_cells_that_were_not_recorded_is_explained(shell: Shell) -> None:
    shell.run(FORWARD, WRITE, "loss.backward()")
    found = shell.explained()
    assert (found.kind, found.line) == ("saved tensor written", None)
    assert found.unknown == (
        "which line wrote it; type %gradviz on and run the cells again, from the one that makes "
        "the graph: then %gradviz explain shows it",
    )


def test_after_on_the_line_that_wrote_is_known_from_another_cell(shell: Shell, capsys: Any) -> None:
    result = shell.run("%gradviz on", FORWARD, WRITE, "loss.backward()")
    assert isinstance(result.error_in_exec, RuntimeError)
    assert "the player" not in shown(capsys)
    found = shell.explained()
    lines = [(cause.at.line, cause.at.text, cause.at.code) for cause in found.causes]
    assert lines == [
        (1, "h.add_(1)", "earlier cell"),
        (2, "h = w.exp()", "earlier cell 2"),
    ]
    assert (found.noticed.text, found.noticed.code) == ("loss.backward()", "cell")
    assert found.variables == ("h",)


@pytest.mark.parametrize("how", ["%gradviz on", "1"])
def test_an_error_in_the_text_of_a_cell_is_noticed_in_its_line(shell: Shell, how: str) -> None:
    shell.run(how, "y = 1\nx = (2 +)\n")
    found = shell.explained()
    assert (found.kind, found.what) == ("other", "SyntaxError was raised")
    assert (found.noticed.line, found.noticed.text, found.noticed.code) == (2, "x = (2 +)", "cell")


@pytest.mark.parametrize("cell", ["x = 1", "1 / 0"])
def test_of_a_cell_without_a_graph_no_memory_is_told(shell: Shell, cell: str) -> None:
    shell.run("%gradviz on", cell)
    found = shell.explained()
    assert (found.reports, "memory" in str(found)) == ((), False)


WRITES_THAT_SPEAK_OF_LESS = {
    "a result": ("a = w * w", "b = a * a", "a.add_(1)", "a"),
    "data": ("a = torch.ones(2)", "b = (w * a).exp()", "a.mul_(3)", "a"),
    "a view": ("a = w * w", "b = a * a", "a[0] = 1.0", "a"),
    "an optimizer": (
        "optimizer = torch.optim.SGD([w], lr=0.1)\na = w * 2",
        "b = a * w",
        "w.grad = torch.ones(2)\noptimizer.step()",
        "w",
    ),
}


@pytest.mark.parametrize("name", WRITES_THAT_SPEAK_OF_LESS)
def test_the_line_that_wrote_is_known_though_its_cell_does_not_speak_of_the_graph(
    shell: Shell, name: str
) -> None:
    *cells, variable = WRITES_THAT_SPEAK_OF_LESS[name]
    shell.run("%gradviz on", "w = torch.ones(2, requires_grad=True)", *cells, "c = 1")
    shell.run("b.sum().backward()")
    found = shell.explained()
    assert (found.kind, found.variables) == ("saved tensor written", (variable,))
    assert found.cause.at.text == cells[-1].splitlines()[-1]
    assert found.cause.at.code == "earlier cell"


def test_a_write_after_one_that_was_not_recorded_is_not_accused(shell: Shell) -> None:
    shell.run("%gradviz on", "w = torch.ones(2, requires_grad=True)\na = w * w", "b = a * a")
    shell.run("%gradviz off", "a.add_(1)", "%gradviz on", "a.add_(2)", "b.sum().backward()")
    found = shell.explained()
    assert (found.kind, found.line, found.variables) == ("saved tensor written", None, ("a",))


@pytest.mark.parametrize("how", ["%gradviz on", "1"])
def test_the_failed_cell_again_does_not_explain_the_second_fault_in_place_of_the_first(
    shell: Shell, how: str
) -> None:
    shell.run(how, FORWARD, WRITE, "loss.backward()", "%%gradviz\nloss.backward()")
    found = shell.explained()
    assert found.kind == "graph freed"
    assert found.what.endswith("but an earlier backward has freed it before this recording")
    if how == "1":
        assert found.unknown == (
            "which backward freed it: it ran before this recording. "
            "Begin gradviz.record() before it; in a notebook, type %gradviz on and run the earlier "
            "cells again",
            "which line made loss: run it again together with this backward, both recorded",
        )
        return
    assert (found.cause.at.text, found.cause.at.code) == ("loss.backward()", "earlier cell")
    (fix,) = found.fixes
    assert (fix.code, fix.how) == ("h = w.exp()", "elsewhere")
    assert "from line 2 of earlier cell" in fix.does


def test_a_cell_that_raises_nothing_is_looked_through(shell: Shell) -> None:
    shell.run("1 / 0", "%gradviz on", FORWARD + "\nh.data.mul_(2)\ny.sum().backward()")
    assert shell.explained().kind == "hidden write"
    shell.run(FORWARD + "\nz = h.sum() + y.sum()\nwith torch.no_grad(): h *= 2\nz.backward()")
    assert shell.explained().kind == "saved tensor written"


def test_recordings_that_are_asked_for_come_before_the_quiet_one(shell: Shell) -> None:
    result = shell.run(
        "%gradviz on",
        "import gradviz\nh = torch.ones(2, requires_grad=True).exp()\n"
        "with gradviz.record() as recording:\n    s = h.sum()\n"
        "with gradviz.expect_error() as error:\n    h.backward()\n"
        "after = h * 3\nlen(recording), error.kind",
    )
    assert result.result == (1, "not a scalar")
    last = EARLIER.last
    assert last is not None
    assert [step.line for step in last if step.kind == "line"] == [7, 8]
    shell.run("h.add_(1)", "s.backward()")
    assert shell.explained().cause.at.text == "h.add_(1)"


def test_a_cell_that_is_only_a_text_gives_that_text(shell: Shell) -> None:
    assert shell.run("'%%gradviz'").result == "%%gradviz"
    assert shell.run("%gradviz on", "'%%gradviz'").result == "%%gradviz"


def test_off_and_reload_end_it_and_twice_is_once(shell: Shell) -> None:
    shell.run("%gradviz on", "%gradviz on", "x = 1")
    assert len(EARLIER) == 1
    shell.run("%gradviz off", "%gradviz off", "x = 2")
    assert len(EARLIER) == 1
    shell.run("%gradviz on", "%reload_ext gradviz", "x = 3")
    kept = len(EARLIER)
    shell.run("x = 4")
    assert len(EARLIER) == kept
    shell.run("%gradviz on", "x = 5")
    assert len(EARLIER) == kept + 1
    formatter = shell.ip.InteractiveTB
    shell.ip.extension_manager.unload_extension("gradviz")
    assert "structured_traceback" not in vars(formatter)
    assert "gradviz" not in shell.ip.magics_manager.magics["line"]
    shell.ip.extension_manager.load_extension("gradviz")


def test_a_cell_that_python_cannot_read_leaves_nothing_behind(shell: Shell) -> None:
    shell.run("%gradviz on", "x = = 1")
    assert len(EARLIER) == 0
    assert shell.run("%timeit -n1 -r1 pass").success
    assert len(EARLIER) == 1


def test_values_versions_and_lifetimes_are_those_without(shell: Shell) -> None:
    cell = (
        "import weakref, warnings\nt = torch.ones(3, requires_grad=True)\nu = t.exp()\n"
        "ref = weakref.ref(u)\nv = (u * u).sum()\ndel u\nfirst = ref() is None\nv.backward()\n"
        "facts = t.grad.tolist(), t._version, v._version, first, ref() is None\nfacts"
    )
    without = shell.run(cell).result
    quiet = shell.run("%gradviz on", cell).result
    assert quiet == without
    tensor = shell.ip.user_ns["v"]
    ref = weakref.ref(tensor)
    del tensor
    shell.run("%reset_selective -f v")
    shell.ip.user_ns.pop("v", None)
    assert ref() is None


# --------------------------------------------------------------------- tracebacks


def traceback_of(shell: Shell, capsys: Any, cell: str) -> str:
    capsys.readouterr()
    shell.run(cell)
    return re.sub(r"In\[\d+\]", "In[]", shown(capsys))


def test_the_traceback_of_an_error_of_autograd_ends_with_the_hint(
    shell: Shell, capsys: Any
) -> None:
    shell.run("w = torch.ones(2, requires_grad=True)")
    with_hint = traceback_of(shell, capsys, "w.backward()")
    shell.run("%gradviz hint off")
    without = traceback_of(shell, capsys, "w.backward()")
    assert with_hint == without.rstrip("\n") + f"\n{HINT}\n" + with_hint[len(with_hint) :]
    shell.run("%gradviz hint on")
    assert traceback_of(shell, capsys, "w.backward()") == with_hint
    for mode in ("Plain", "Verbose", "Minimal"):
        shell.run(f"%xmode {mode}")
        text = traceback_of(
            shell,
            capsys,
            "try:\n    w.backward()\nexcept RuntimeError as e:\n    raise ValueError from e",
        )
        assert text.count(HINT) == 1
        assert text.rstrip().endswith(HINT)


@pytest.mark.parametrize(
    "cell", ["1 / 0", "torch.ones(2).view(7)", "None.zero_()", "x = = 1", "raise SystemExit(3)"]
)
def test_other_errors_have_no_hint(shell: Shell, capsys: Any, cell: str) -> None:
    assert HINT not in traceback_of(shell, capsys, cell)


def test_a_handler_of_the_users_own_is_left_alone(shell: Shell, capsys: Any) -> None:
    shell.run("w = torch.ones(2, requires_grad=True)")

    def handler(shell: Any, kind: Any, error: Any, trace: Any, tb_offset: Any = None) -> None:
        sys.stdout.write(f"own: {kind.__name__}")

    shell.ip.set_custom_exc((RuntimeError,), handler)
    text = traceback_of(shell, capsys, "w.backward()")
    assert text == "own: RuntimeError"


def test_a_recorded_cell_has_a_player_in_place_of_the_hint(shell: Shell, capsys: Any) -> None:
    shell.run("w = torch.ones(2, requires_grad=True)")
    assert HINT not in traceback_of(shell, capsys, "%%gradviz\nw.backward()")


QUESTION = """
import gradviz
@gradviz.predict("What is `a.grad`?", typed="a.grad", wrong={"1": "That is out."})
def gradient():
    a = torch.tensor(2.0, requires_grad=True)
    (a * 3).backward()
    return a.grad
"""


def test_questions_show_their_answers_in_the_edition_that_says_so(
    shell: Shell, capsys: Any
) -> None:
    shell.run(QUESTION)
    asked = shown(capsys)
    assert "a.grad = ____" in asked
    assert "torch's answer" not in asked
    shell.run("%gradviz answers", QUESTION)
    answered = shown(capsys)
    assert answered.startswith("Questions are shown with their answers.\n")
    assert "torch's answer:\n  a.grad = 3\n" in answered
    shell.run("%gradviz answers off", QUESTION)
    assert shown(capsys) == f"Questions are shown without their answers.\n{asked}"


def test_a_question_is_asked_while_every_cell_is_recorded_and_not_in_a_cell_with_a_player(
    shell: Shell, capsys: Any
) -> None:
    shell.run("%gradviz on", QUESTION)
    assert "answer: sha256-" in shown(capsys)
    shell.run("%gradviz off", "%%gradviz" + QUESTION)
    assert "leave %%gradviz or gradviz.record() around the question out" in shown(capsys)
