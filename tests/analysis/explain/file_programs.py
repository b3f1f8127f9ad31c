"""Programs of several files and cells with a fault, and what is asked of each."""

from __future__ import annotations

from tests.ledger.bug import Bug, Piece
from tests.ledger.judging import judged
from tests.ledger.running import are_equal, run, values_of


class FileProgram(Bug):
    """A program; what its canonical fix computes is right."""

    @property
    def right(self) -> tuple[Piece, ...]:
        """The program with the canonical fix."""
        return self.fixed(self.fixes[0])


def assert_fault_and_fixed_versions(program: FileProgram) -> None:
    """It raises what it says, and all its fixed versions compute the same."""
    ran = run(program.pieces)
    assert ran.raised == program.raised
    assert program.message in str(ran.error)
    results = []
    for way in program.fixes:
        fixed = run(program.fixed(way))
        assert fixed.error is None
        results.append(values_of(fixed.space, program.result))
    assert all(are_equal(one, results[0]) for one in results)


def assert_line_and_variable(program: FileProgram) -> None:
    """The line that raises, the variable and the culprit are named, the culprit first."""
    found = judged(program, "as it comes")
    assert (found.raises, found.variable, found.first) == (True, True, True)


def assert_fixes_are_right(program: FileProgram, is_fixed: bool) -> None:
    """Every fix makes it right, and there is one unless none is known to be right."""
    offered = judged(program, "as it comes").offered
    assert {one.code: one.verdict for one in offered if not one.is_right} == {}
    assert bool(offered) == is_fixed
