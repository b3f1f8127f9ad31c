"""What is said of views whose base was written, against what torch says when asked afterwards."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

import gradviz
from tests.each import each


def base() -> Tensor:
    return torch.ones(4, requires_grad=True) * 2


def written() -> Tensor:
    y = base()
    view = y[:2]
    y.mul_(3)
    return view


def written_before() -> Tensor:
    y = base()
    y.mul_(3)
    return y[:2]


def written_itself() -> Tensor:
    view = base()[:2]
    view.mul_(3)
    return view


def leaf_before_its_base_got_a_graph() -> Tensor:
    y = torch.ones(4)
    view = y[:2].requires_grad_()
    y[2:].mul_(torch.ones(2, requires_grad=True))
    return view


def leaf_that_stays_one() -> Tensor:
    y = torch.ones(4)
    y.add_(1)
    view = y[:2].requires_grad_()
    y.requires_grad_()
    return view


def made_without_grad() -> Tensor:
    y = base()
    y.mul_(3)
    with torch.no_grad():
        return y[:2].requires_grad_()


def one_of_several() -> Tensor:
    y = base()
    y.mul_(3)
    return y.unbind()[0]


CERTAIN = [written, written_before, written_itself, leaf_before_its_base_got_a_graph]
UNKNOWN = [leaf_that_stays_one, made_without_grad, one_of_several]


@each("make", [*CERTAIN, *UNKNOWN])
def test_what_is_said_of_a_written_view_is_what_torch_says(make: Callable[[], Tensor]) -> None:
    view = make()
    before = torch._C._autograd._get_sequence_nr()
    info = gradviz.snapshot(base().sum(), names={"view": view}).tensor("view")
    made = torch._C._autograd._get_sequence_nr() - before
    assert made == 2  # by the other graph: looking at the view made no node
    assert info.is_leaf is (False if make in CERTAIN else None)
    assert info.is_leaf in (view.is_leaf, None)
