from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gradviz
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
    assert piece.may_come_again(1)
    assert not piece.may_come_again(7)


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


class _Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(by)
        return x * by

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (by,) = ctx.saved_tensors
        return grad * by, None


@pytest.mark.parametrize("needed", [True, False])
def test_the_backward_that_gives_none_for_what_requires_grad_is_shown(needed: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    by = torch.tensor(3.0, requires_grad=needed)
    with gradviz.record(only=()) as recording:
        _Scale.apply(x, by).sum().backward()  # type: ignore[no-untyped-call]
    shown = [code for code in recording.codes if code.name.endswith("_Scale.backward")]
    assert len(shown) == needed
    assert all("return grad * by, None" in code.text for code in shown)
