"""No line is accused that did nothing: random programs, with and without a write in place.

``python -m tests.analysis.explain.test_no_false_culprit`` prints the table.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings

from gradviz.model.explanation import Fix
from tests.analysis.explain.running import fixed
from tests.analysis.explain.silent_random import RandomProgram, programs, truth_of, truth_when_fixed
from tests.analysis.explain.silent_running import FIRST, run_recorded

COUNT: Final = 60
MANY: Final = 500
Matrix = Counter[tuple[str, str]]


def told_of(program: RandomProgram) -> str:
    """What the explanations of a recording say of the line that was planted."""
    found = run_recorded(program.text).explanations
    if not found:
        return "nothing"
    lines = {one.line for one in found}
    if lines == {None}:
        return "no line"
    if lines != {program.line} or program.line is None:
        return "another line"
    is_silent = all(one.is_silent for one in found)
    fixes = [fix for one in found for fix in one.fixes if fix.how != "elsewhere"]
    if program.leaf is None and is_silent and not all(works(fix, program) for fix in fixes):
        return "no fix"
    return "the planted line"


def works(fix: Fix, program: RandomProgram) -> bool:
    """Whether a program is right after a fix."""
    return truth_when_fixed(fixed(program.text, fix, FIRST), program) == "right"


def row_of(program: RandomProgram) -> str:
    """What is true of a program."""
    truth = truth_of(program)
    planted = f"{program.way} write" if program.way else "nothing planted"
    return f"{planted}: {truth if truth == 'raised' else f'gradient {truth}'}"


def matrix_of(count: int, wrong: list[str] | None = None) -> Matrix:
    """How often which truth was told as what.

    Args:
        count: Number of programs.
        wrong: Gets the texts of programs that were told wrongly.
    """
    matrix: Matrix = Counter()

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def look(program: RandomProgram) -> None:
        row, told = row_of(program), told_of(program)
        matrix[row, told] += 1
        if wrong is not None and told not in allowed(row):
            wrong.append(f"{row}; told: {told}; planted: {program.line}\n{program.text}\n")

    look()
    return matrix


def allowed(row: str) -> tuple[str, ...]:
    """What may be told where something is true."""
    if row.endswith(("gradient wrong", "raised")):
        return ("the planted line",)
    if row.endswith("only"):  # a fault of the program that these values hide
        return ("nothing", "the planted line")
    return ("nothing",)


def table(matrix: Matrix) -> str:
    """The matrix as text."""
    rows = sorted({row for row, _ in matrix})
    columns = ("nothing", "the planted line", "no line", "another line", "no fix")
    lines = [f"{'':54}" + "".join(f"{column:>18}" for column in columns)]
    for row in rows:
        lines.append(f"{row:54}" + "".join(f"{matrix[row, column]:18}" for column in columns))
    return "\n".join(lines)


@pytest.mark.parametrize("count", [COUNT, pytest.param(MANY, marks=pytest.mark.exhaustive)])
def test_the_culprit_is_the_line_that_was_planted_and_no_other(count: int) -> None:
    wrong: list[str] = []
    matrix, tried = matrix_of(count, wrong), count
    # What is drawn depends on which modules other tests have imported; rarely it is one-sided.
    while tried < 4 * count and not has_enough(matrix, count):
        tried *= 2
        matrix = matrix_of(tried, wrong)
    print("\n" + table(matrix))
    assert not wrong, "\n".join((table(matrix), *wrong[:3]))
    assert sum(matrix.values()) >= count
    assert has_enough(matrix, count)


def has_enough(matrix: Matrix, count: int) -> bool:
    """Whether a tenth of so many programs had a wrong gradient, and a twentieth raised."""
    wrong = sum(n for (row, _), n in matrix.items() if "wrong" in row)
    raised = sum(n for (row, _), n in matrix.items() if "raised" in row)
    return wrong > count // 10 and raised > count // 20


if __name__ == "__main__":
    faults: list[str] = []
    print(table(matrix_of(MANY, faults)))
    print("\n".join(faults))
