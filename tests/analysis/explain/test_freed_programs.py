"""What is named where a graph was freed, and that every fix is right."""

from __future__ import annotations

from typing import Final

import pytest

from tests.analysis.explain.freed_programs import PROGRAMS, FreedProgram
from tests.ledger.judging import judged
from tests.ledger.running import are_equal, run, values_of

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=str)
WITHOUT_FIX: Final[frozenset[str]] = frozenset(
    {
        "average of losses is a term of the loss",
        "critic learns from stored values only",
        "features of this turn are compared with those of all turns",
        "features with dropout before the loop",
        "mixture of hidden states",
        "number of a total is kept",
        "prototypes of classes in a list of pairs",
        "values stored by a method that is given them",
    }
)
"""Programs of which no change is known to be right."""


@every_program
def test_the_fault_is_there_and_the_fixed_versions_agree(program: FreedProgram) -> None:
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
def test_the_line_and_the_variable_are_named(program: FreedProgram) -> None:
    found = judged(program, "as it comes")
    assert (found.raises, found.variable, found.first) == (True, True, True)


@every_program
def test_every_fix_is_right(program: FreedProgram) -> None:
    offered = judged(program, "as it comes").offered
    assert {one.code: one.verdict for one in offered if not one.is_right} == {}
    assert bool(offered) == (program.name not in WITHOUT_FIX)
