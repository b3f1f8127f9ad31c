"""The programs of the ledger fail as they say, and their fixed versions are right."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import pytest
import torch

from gradviz.model.explanation import CodeLine, Fix
from gradviz.model.sentence import Sentence
from tests.ledger.bug import Bug, Place, first_line
from tests.ledger.judging import MODES, judged, verdict_on
from tests.ledger.programs import ALL
from tests.ledger.running import Mode, are_equal, run, values_of
from tests.ledger.tables import AIMS, Aim, report, rows_of

every_bug = pytest.mark.parametrize("bug", ALL, ids=str)
every_way = pytest.mark.parametrize(
    ("bug", "mode"),
    [
        pytest.param(
            bug,
            mode,
            id=f"{bug}, {mode}",
            # one of four also without following calls, and every one where time is no matter
            marks=[pytest.mark.exhaustive] if mode == "cell alone" and number % 4 else [],
        )
        for number, bug in enumerate(ALL)
        for mode in MODES
    ],
)


def place_that_raised(traceback: TracebackType | None, bug: Bug) -> Place | None:
    """The innermost line of a program that was running when an error was raised."""
    pieces = bug.pieces
    cells = [at for at, piece in enumerate(pieces) if not piece.name]
    files = {piece.name: at for at, piece in enumerate(pieces) if piece.name}
    found = None
    while traceback is not None:
        file, number = Path(traceback.tb_frame.f_code.co_filename), traceback.tb_lineno
        is_cell = file.parent.name.startswith("ipykernel_")
        at = cells[int(file.stem) - 1] if is_cell else files.get(file.name)
        if at is not None:
            found = number, pieces[at].lines[number - first_line(pieces, at)].strip()
        traceback = traceback.tb_next
    return found


def test_there_are_enough_programs_and_each_has_a_form() -> None:
    assert len(ALL) >= 120
    assert sum(not bug.is_silent for bug in ALL) >= 70
    assert sum(bug.is_silent for bug in ALL) >= 50
    assert len({bug.name for bug in ALL}) == len(ALL)


@every_bug
def test_a_program_is_realistic_and_marked(bug: Bug) -> None:
    lines = [line for piece in bug.pieces for line in piece.lines if line.strip()]
    assert 10 <= len(lines) <= 44
    assert len(bug.pieces) >= 2, "a file or an earlier cell, and the cell that is recorded"
    assert "def " in bug.text
    assert bug.places("culprit")
    assert bool(bug.places("raises")) != bug.is_silent
    assert bug.fixes
    assert bool(bug.variables) != bug.is_silent


@every_bug
def test_the_fault_is_there(bug: Bug) -> None:
    ran = run(bug.pieces)
    assert ran.raised == bug.raised, ran.error
    assert bug.message in str(ran.error or "")
    if ran.error is not None:
        assert place_that_raised(ran.error.__traceback__, bug) in bug.places("raises")
        return
    right = values_of(run(bug.right).space, bug.result)
    assert are_equal(values_of(ran.space, bug.result), right) == bool(bug.shown)
    assert not bug.shown or eval(bug.shown, ran.space)


@every_bug
def test_fixed_versions_compute_what_the_reference_does(bug: Bug) -> None:
    reference = run(bug.right)
    assert reference.error is None
    right = values_of(reference.space, bug.result)
    for way in bug.fixes:
        ran = run(bug.fixed(way))
        assert ran.error is None
        assert are_equal(values_of(ran.space, bug.result), right)
        assert not (bug.shown and eval(bug.shown, ran.space))
    for way in bug.also_right:
        assert run(bug.fixed(way)).error is None


@every_way
def test_fixed_versions_are_not_accused(bug: Bug, mode: Mode) -> None:
    assert judged(bug, mode).accused == ()


@pytest.mark.parametrize("aim", AIMS, ids=str)
def test_what_is_named_and_told_of_all_programs_is_enough(aim: Aim) -> None:
    rows = rows_of("as it comes")
    value = aim.value(rows)
    if aim.kept is None:
        assert aim.is_reached(rows), f"{aim}: {value}, wanted {aim.bound}"
    else:  # the table of `python -m tests.ledger` says "not reached"
        assert aim.kept <= value < aim.bound, f"{aim}: {value}; if reached, `kept` is to go"


@every_way
def test_a_fix_that_is_offered_makes_the_program_right(bug: Bug, mode: Mode) -> None:
    assert judged(bug, mode).harmful == ()


@pytest.mark.parametrize("bug", [bug for bug in ALL if not bug.is_silent], ids=str)
def test_recording_does_not_change_the_error(bug: Bug) -> None:
    plain, recorded = run(bug.pieces), run(bug.pieces, "as it comes")
    assert (recorded.raised, str(recorded.error)) == (plain.raised, str(plain.error))


def named(name: str) -> Bug:
    return next(bug for bug in ALL if bug.name == name)


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("x = x + residual", "right"),
        ("x = x + 2 * residual", "another result"),
        ("x = x.clone()", "another result"),
        ("x *= residual", "raises RuntimeError"),
        ("x = x +", "raises SyntaxError"),
        ("x = x + rest", "raises NameError"),
    ],
)
def test_a_fix_is_applied_to_the_file_of_its_line_and_run(code: str, verdict: str) -> None:
    bug = named("residual added in place")
    ((line, text),) = bug.places("culprit")
    fix = Fix(Sentence(), code, "instead", CodeLine(line, text, "blocks.py: forward"))
    assert verdict_on(bug, fix).startswith(verdict)


def test_a_fix_of_a_line_that_is_not_in_its_file_is_not_applied() -> None:
    bug = named("residual added in place")
    ((line, text),) = bug.places("culprit")
    for at in (CodeLine(line, text, "cell"), CodeLine(line, "x = 1", "blocks.py: forward"), None):
        fix = Fix(Sentence(), "x = x + residual", "instead", at)
        assert verdict_on(bug, fix).endswith("is in no file that is named")


def test_a_fix_in_the_cell_counts_lines_from_the_magic() -> None:
    at = CodeLine(8, "loss.backward()", "cell")
    fix = Fix(Sentence(), "h = h.detach()", "after", at)
    assert verdict_on(named("hidden state carried to the next batch"), fix) == "right"


def test_a_fix_in_words_is_right_if_it_is_listed() -> None:
    bug = named("custom Function returns too few gradients")
    for code, verdict in (("return grad_output,  None", "right"), ("return None", "not accepted")):
        fix = Fix(Sentence(), code, "elsewhere", CodeLine(14))
        assert verdict_on(bug, fix) == verdict


def test_references_need_no_graph() -> None:
    space = run(named("gate computed in place").right).space
    assert all(p.grad is not None and p.grad.is_leaf for p in space["model"].parameters())
    assert torch.get_default_dtype() is torch.float32


def test_the_tables_are_the_same_twice() -> None:
    printed = []
    for _ in range(2):
        judged.cache_clear()
        printed.append(report("as it comes", each=True, why=True, only="leaf written"))
    assert printed[0] == printed[1]
    assert "gradient descent by hand" in printed[0]
