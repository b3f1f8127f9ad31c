"""Programs of several files that write in place: what is named, and that every fix is right."""

from __future__ import annotations

from typing import Final

import pytest

from tests.analysis.explain.write_programs import PROGRAMS, WriteProgram
from tests.ledger.judging import judged
from tests.ledger.running import are_equal, run, values_of

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=str)
WITHOUT_FIX: Final = frozenset({"shadow weights are the weights themselves"})
"""Programs of which no change is known to be right."""


@every_program
def test_the_fault_is_there_and_the_fixed_versions_agree(program: WriteProgram) -> None:
    ran = run(program.pieces)
    assert ran.raised == program.raised
    assert program.message in str(ran.error)
    results = []
    for way in program.fixes:
        fixed = run(program.fixed(way))
        assert fixed.error is None
        results.append(values_of(fixed.space, program.result))
    assert all(are_equal(one, results[0]) for one in results)


@every_program
def test_the_line_and_the_variable_are_named(program: WriteProgram) -> None:
    found = judged(program, "into")
    assert (found.raises, found.variable, found.first) == (True, True, True)


@every_program
def test_every_fix_is_right(program: WriteProgram) -> None:
    offered = judged(program, "into").offered
    assert {one.code: one.verdict for one in offered if not one.is_right} == {}
    assert bool(offered) == (program.name not in WITHOUT_FIX)
