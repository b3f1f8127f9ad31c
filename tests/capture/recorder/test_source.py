from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradviz.capture.recorder.source_text import Spans, of_cell


def test_the_magic_line_is_shown_as_typed_and_is_no_step() -> None:
    piece = of_cell("'%%gradviz --step 2'\nx = 1\n", "cell")
    assert piece.code.text == "%%gradviz --step 2\nx = 1"
    assert not piece.covers(1)
    assert piece.covers(2)
    assert not piece.covers(3)


def test_lines_of_one_statement_lead_to_its_first() -> None:
    piece = of_cell("y = f(\n  1,\n)\nfor i in (\n  1, 2\n):\n    z = i\n", "cell")
    assert [piece.statement(n) for n in range(1, 8)] == [1, 1, 1, 4, 4, 4, 7]
    assert piece.spans_lines(1)
    assert not piece.spans_lines(7)


def test_magics_and_broken_code_leave_every_line_alone() -> None:
    assert of_cell("%time x = 1\ny = (\n 2)", "cell").statement(3) == 2
    assert of_cell("y = (", "cell").statement(1) == 1


@given(st.lists(st.integers(0, 50), min_size=1).map(sorted), st.integers(-5, 60))
def test_spans_tell_what_began_last(starts: list[int], number: int) -> None:
    spans = Spans()
    for i, start in enumerate(starts):
        spans.begin(start, i)
    begun = [i for i, start in enumerate(starts) if start <= number]
    assert spans.at(number) == (begun[-1] if begun else None)
