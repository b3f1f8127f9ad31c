"""Programs of several files that write in place: what is named, and that every fix is right."""

from __future__ import annotations

from typing import Final

import pytest

from tests.analysis.explain.file_programs import (
    FileProgram,
    assert_fault_and_fixed_versions,
    assert_fixes_are_right,
    assert_line_and_variable,
)
from tests.analysis.explain.write_programs import PROGRAMS

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=str)
WITHOUT_FIX: Final = frozenset(
    {
        "shadow weights are the weights themselves",
        "vector of a power iteration is written with a graph",
    }
)
"""Programs of which no change is known to be right."""


@every_program
def test_the_fault_is_there_and_the_fixed_versions_agree(program: FileProgram) -> None:
    assert_fault_and_fixed_versions(program)


@every_program
def test_the_line_and_the_variable_are_named(program: FileProgram) -> None:
    assert_line_and_variable(program)


@every_program
def test_every_fix_is_right(program: FileProgram) -> None:
    assert_fixes_are_right(program, program.name not in WITHOUT_FIX)
