"""One run of a notebook with a cell of each kind, and what is found of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradviz.notebook_check.check import Settings, check_notebook
from gradviz.notebook_check.results import CellResult, NotebookResult
from tests.notebook_check.notebooks import cell, error, printed, shown, write

RED = '<svg xmlns="http://www.w3.org/2000/svg"><text>red</text></svg>'
SHOW = "from IPython.display import display\n"
CELLS = (
    cell("from helper import ANSWER\nprint(ANSWER)", printed("42\n"), key="same", count=3),
    cell("print('loss 2\\nend')", printed("loss 1\nend\n"), key="text-differs", count=5),
    cell("print(object())", printed("<object object at 0x7f0000000000>\n"), key="address"),
    cell(f"{SHOW}display({{'image/svg+xml': {RED!r}}}, raw=True)",
         shown(image__svg=RED.replace("red", "blue")), key="picture-differs", count=7),
    cell("raise SystemError", key="skipped-by-tag", tags=["nbval-skip"]),
    cell("# NBVAL_SKIP\nraise SystemError", key="skipped-by-comment"),
    cell("import time\nprint(time.time())", printed("1\n"), tags=["nbval-ignore-output"],
         key="ignored"),
    cell("1 / 0", error("ZeroDivisionError", "division by zero"), tags=["raises-exception"],
         key="meant"),
    cell("int('x')", error("ValueError", "else"), tags=["raises-exception"], key="other-error"),
    cell("def f(x):\n    import json\n    return json.loads(x)\n\nf('{')",
         error("JSONDecodeError", "x"), key="raises"),
    cell("input('name? ')", key="asks"),
    cell("print('never')", count=None, key="never-run"),
    cell("silent = 1", count=None, key="never-run-silent"),
    cell("print('partial')", printed("partial\n"), count=None, key="count-lost"),
    cell(" \n", count=None, key="empty"),
    cell(f"{SHOW}display({{'image/png': 'eA=='}}, raw=True)", shown(image__png="eQ=="), key="png"),
    cell(f"{SHOW}from IPython.display import clear_output\nprint(1)\nclear_output()\n"
         "h = display('a', display_id=True)\nh.update('b')", shown(text__plain="'b'"),
         key="updated"),
    cell("# first\n\nprint('out'); import sys; print('err', file=sys.stderr)",
         printed("out\n"), printed("err\n", "stderr"), key="streams"),
    cell("print('gone')", printed("gone\n"), shown(text__plain="more"), key="only-stored"),
)  # fmt: skip


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> NotebookResult:
    folder = tmp_path_factory.mktemp("a folder")
    (folder / "helper.py").write_text("ANSWER = 42\n")
    path = write(folder / "with space.ipynb", *CELLS)
    before = path.read_bytes()
    found = check_notebook(path)
    assert path.read_bytes() == before
    return found


def found(result: NotebookResult, key: str) -> CellResult:
    return next(one for one in result.cells if one.name.id == key)


@pytest.mark.parametrize("key", ["same", "address", "meant", "count-lost", "updated", "streams"])
def test_a_cell_that_shows_what_is_stored_is_equal(result: NotebookResult, key: str) -> None:
    assert found(result, key).verdict == "equal"


def test_every_code_cell_is_found_in_order_with_jupyters_number(result: NotebookResult) -> None:
    assert [one.name.id for one in result.cells] == [one["id"] for one in CELLS]
    assert [found(result, key).name.number for key in ("same", "text-differs", "never-run")] == [
        "[3]",
        "[5]",
        "[ ]",
    ]
    assert found(result, "streams").name.first_line.startswith("print('out')")


def test_text_that_differs_is_there_stored_and_fresh(result: NotebookResult) -> None:
    (difference,) = found(result, "text-differs").differences
    assert (difference.kind, difference.stored, difference.fresh) == (
        "stdout",
        "loss 1\nend\n",
        "loss 2\nend\n",
    )


def test_a_picture_that_differs_is_there_stored_and_fresh(result: NotebookResult) -> None:
    (difference,) = found(result, "picture-differs").differences
    assert difference.kind == "image/svg+xml"
    assert (difference.stored, difference.fresh) == (RED.replace("red", "blue"), RED)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("skipped-by-tag", "tag nbval-skip: not run"),
        ("skipped-by-comment", "comment # NBVAL_SKIP: not run"),
        ("ignored", "tag nbval-ignore-output: run, and not compared"),
        ("never-run-silent", "it was not run when the notebook was saved, and shows nothing now"),
        ("empty", "no code"),
        ("png", "image/png: differs from run to run, or between machines"),
    ],
)
def test_a_cell_that_is_not_compared_has_its_reason(
    result: NotebookResult, key: str, reason: str
) -> None:
    one = found(result, key)
    assert (one.verdict, one.reason) == ("not compared", reason)


def test_an_error_that_is_meant_is_compared(result: NotebookResult) -> None:
    one = found(result, "other-error")
    assert one.verdict == "different"
    assert [difference.kind for difference in one.differences] == ["evalue"]


def test_an_error_has_the_lines_of_the_user_alone(result: NotebookResult) -> None:
    one = found(result, "raises")
    assert one.verdict == "error"
    assert one.raised is not None
    assert one.raised.title.startswith("JSONDecodeError: Expecting property name")
    assert one.raised.lines == (
        "cell, line 5",
        "    f('{')",
        "cell, line 3, in f",
        "    return json.loads(x)",
    )
    assert "tag raises-exception" in one.reason
    assert one.raised.explanation == ""


def test_a_cell_that_asks_for_input_says_what_to_do(result: NotebookResult) -> None:
    raised = found(result, "asks").raised
    assert raised is not None
    assert "asks for input" in raised.title
    assert "NBVAL_SKIP" in raised.title


def test_a_cell_without_stored_outputs_that_shows_something_differs(result: NotebookResult) -> None:
    one = found(result, "never-run")
    assert one.verdict == "different"
    assert [(d.stored, d.fresh) for d in one.differences] == [(None, "never\n")]


def test_an_output_that_is_only_stored_differs(result: NotebookResult) -> None:
    (difference,) = found(result, "only-stored").differences
    assert (difference.kind, difference.stored, difference.fresh) == ("text/plain", "more", None)


def test_the_status_says_that_something_differs(result: NotebookResult) -> None:
    assert result.problem == ""
    assert result.status == 1


def test_after_a_cell_that_does_not_end_no_cell_runs(tmp_path: Path) -> None:
    cells = (
        cell("print(2)", printed("1\n")),
        cell("import threading; threading.Event().wait()", count=4),
        cell("print(1)", printed("1\n")),
    )
    result = check_notebook(write(tmp_path / "a.ipynb", *cells), Settings(lax=True, timeout=2))
    unmarked, slow, after = result.cells
    assert (unmarked.verdict, unmarked.reason) == ("not compared", "run, and not compared: --lax")
    assert slow.verdict == "error"
    assert slow.raised is not None
    assert "longer than 2 seconds" in slow.raised.title
    assert (after.verdict, after.reason) == ("not compared", "not run: [4] did not end")
    assert result.status == 1


@pytest.mark.exhaustive
def test_a_kernel_that_ends_is_said(tmp_path: Path) -> None:
    cells = (cell("import os; os._exit(1)"), cell("print(1)", printed("1\n")))
    first, second = check_notebook(write(tmp_path / "a.ipynb", *cells)).cells
    assert first.raised is not None
    assert first.raised.title == "the kernel ended while it ran"
    assert second.reason == "not run: [1] did not end"


@pytest.mark.exhaustive
def test_lax_compares_only_what_is_marked(tmp_path: Path) -> None:
    cells = (
        cell("print(2)", printed("1\n")),
        cell("# NBVAL_CHECK_OUTPUT\nprint(2)", printed("1\n")),
        cell("print(2)", count=None),
    )
    result = check_notebook(write(tmp_path / "a.ipynb", *cells), Settings(lax=True))
    verdicts = [one.verdict for one in result.cells]
    assert verdicts == ["not compared", "different", "not compared"]
    assert result.cells[0].reason == "run, and not compared: --lax"


@pytest.mark.exhaustive
def test_an_error_of_autograd_is_explained(tmp_path: Path) -> None:
    program = (
        "import torch\nw = torch.ones(2, requires_grad=True)\nh = w.exp()\nh.add_(1)\n"
        "h.sum().backward()"
    )
    (one,) = check_notebook(write(tmp_path / "a.ipynb", cell(program))).cells
    assert one.raised is not None
    assert "ExpBackward0 saved h at version 0" in one.raised.explanation
    assert one.raised.lines == ("cell, line 5", "    h.sum().backward()")


@pytest.mark.exhaustive
def test_a_notebook_without_stored_outputs_at_all_could_not_be_checked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ipynb", cell("x = 1", count=None))
    result = check_notebook(path)
    assert result.status == 2
    assert "no cell has been run" in result.problem
    assert check_notebook(path, Settings(lax=True)).status == 0
