"""Programs with other errors of autograd: what is named, and that every fix is right."""

from __future__ import annotations

from typing import Final

import pytest

from tests.analysis.explain.other_programs import KINDS, PROGRAMS
from tests.analysis.explain.write_programs import WriteProgram
from tests.ledger.judging import judged
from tests.ledger.running import are_equal, run, values_of

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=str)
WITHOUT_FIX: Final[frozenset[str]] = frozenset(
    {
        "checkpointed block alternates its branches",
        "cached mask is made in the first call of a checkpointed function only",
        "hook keeps some of the gradients",
        "zeta of a learned argument",
    }
)
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
def test_the_kind_the_line_and_the_variable_are_named(program: WriteProgram) -> None:
    found = judged(program, "as it comes")
    assert found.explanation is not None
    assert found.explanation.kind == KINDS[program.name]
    assert found.first
    assert found.variable or not program.variables


@every_program
def test_every_fix_is_right(program: WriteProgram) -> None:
    offered = judged(program, "as it comes").offered
    assert {one.code: one.verdict for one in offered if not one.is_right} == {}
    assert bool(offered) == (program.name not in WITHOUT_FIX)
