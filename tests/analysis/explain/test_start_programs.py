"""Programs in which a gradient is asked for: what is named, and that every fix is right."""

from __future__ import annotations

import pytest

from tests.analysis.explain.file_programs import (
    FileProgram,
    assert_fault_and_fixed_versions,
    assert_fixes_are_right,
    assert_line_and_variable,
)
from tests.analysis.explain.start_programs import PROGRAMS

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=str)


@every_program
def test_the_fault_is_there_and_the_fixed_versions_agree(program: FileProgram) -> None:
    assert_fault_and_fixed_versions(program)


@every_program
def test_the_line_and_the_variable_are_named(program: FileProgram) -> None:
    assert_line_and_variable(program)


@every_program
def test_every_fix_is_right(program: FileProgram) -> None:
    assert_fixes_are_right(program, is_fixed=True)
