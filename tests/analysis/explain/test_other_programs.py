"""Programs with other errors of autograd: what is named, and that every fix is right."""

from __future__ import annotations

from typing import Final

import pytest

from tests.analysis.explain.file_programs import (
    FileProgram,
    assert_fault_and_fixed_versions,
    assert_fixes_are_right,
)
from tests.analysis.explain.other_programs import KINDS, PROGRAMS
from tests.ledger.judging import judged

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
def test_the_fault_is_there_and_the_fixed_versions_agree(program: FileProgram) -> None:
    assert_fault_and_fixed_versions(program)


@every_program
def test_the_kind_the_line_and_the_variable_are_named(program: FileProgram) -> None:
    found = judged(program, "as it comes")
    assert found.explanation is not None
    assert found.explanation.kind == KINDS[program.name]
    assert found.first
    assert found.variable or not program.variables


@every_program
def test_every_fix_is_right(program: FileProgram) -> None:
    assert_fixes_are_right(program, program.name not in WITHOUT_FIX)
