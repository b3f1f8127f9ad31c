from __future__ import annotations

from typing import Any

import pytest
import torch

import gradviz

x = torch.ones(3, requires_grad=True)


@pytest.mark.parametrize(
    ("output", "error", "message"),
    [
        (3.0, gradviz.NotATensorError, r"outputs\[0\] is the number 3.0; .item\(\)"),
        pytest.param(
            10**5000, gradviz.NotATensorError, "the number 'int of 16610 bits'", id="huge number"
        ),
        (None, gradviz.NotATensorError, "returned nothing"),
        ("loss", gradviz.NotATensorError, "is a str; only tensors"),
        ((x * 2).grad_fn, gradviz.NotATensorError, "is the node MulBackward0; pass the tensor"),
        ([x * 2, [1]], gradviz.NotATensorError, r"outputs\[0\]\[1\]\[0\] is the number 1"),
        ({"a": "b"}, gradviz.NotATensorError, r"outputs\[0\]\['a'\] is a str"),
        ([], gradviz.NoGraphError, "no output to start from"),
        (torch.nn.Linear(1, 1), gradviz.NoGraphError, "hangs on the tensors"),
        (torch.ones(1), gradviz.NoGraphError, "does not require a gradient"),
        (x.detach(), gradviz.NoGraphError, "cut off by detach"),
        (x.argmax(), gradviz.NoGraphError, "int64. Gradients exist for floating point"),
        (x > 0, gradviz.NoGraphError, "tensor of bool"),
    ],
)
def test_bad_outputs_are_refused_with_a_reason_and_a_fix(
    output: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        gradviz.snapshot(output)
    assert isinstance(caught.value, gradviz.GradvizError)


def test_an_inference_tensor_is_refused() -> None:
    with torch.inference_mode():
        y = x * 2
    with pytest.raises(gradviz.NoGraphError, match="inference mode"):
        gradviz.snapshot(y)


def test_a_freed_tensor_is_refused() -> None:
    y = x * 2
    y.untyped_storage().resize_(0)
    with pytest.raises(gradviz.NoGraphError, match="has been freed"):
        gradviz.snapshot(y)


def test_a_tensor_of_an_ended_transform_is_refused() -> None:
    escaped: list[torch.Tensor] = []

    def keep(t: torch.Tensor) -> torch.Tensor:
        escaped.append(t * 2)
        return escaped[0].sum()

    torch.func.grad(keep)(torch.ones(2))
    with pytest.raises(gradviz.NoGraphError, match="has been freed"):
        gradviz.snapshot(escaped[0])


def test_a_view_that_autograd_cannot_follow_is_refused() -> None:
    base = torch.ones(2, requires_grad=True) * 1
    first, _ = base.unbind()
    with torch.no_grad():
        base.mul_(2)
    base.mul_(2)
    with pytest.raises(gradviz.NoGraphError, match="a view whose base was written in place"):
        gradviz.snapshot(first)


def test_errors_are_also_the_built_ins_a_caller_expects() -> None:
    with pytest.raises(TypeError, match="the number 3"):
        gradviz.snapshot(3)
    with pytest.raises(ValueError, match="does not require"):
        gradviz.snapshot(torch.ones(1))


def test_a_leaf_as_root_takes_no_sequence_number() -> None:
    leaf = torch.ones(2, requires_grad=True)
    before = (leaf * 1).grad_fn
    graph = gradviz.snapshot(leaf)
    after = (leaf * 1).grad_fn
    assert after._sequence_nr() - before._sequence_nr() == 1  # type: ignore[union-attr]
    assert graph.roots == (("n0", 0),)
    assert graph["n0"].name == "AccumulateGrad"
    assert graph.tensor("leaf").node == "n0"


@pytest.mark.parametrize("layout", ["sparse_coo", "jagged"])
def test_a_leaf_of_any_layout_can_be_a_root(layout: str) -> None:
    if layout == "jagged":
        parts = [torch.ones(2), torch.ones(3)]
        leaf = torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)
    else:
        leaf = torch.eye(2).to_sparse(layout=getattr(torch, layout)).requires_grad_()
    assert gradviz.snapshot(leaf)["n0"].name == "AccumulateGrad"


def test_a_leaf_that_no_operation_can_use_is_refused() -> None:
    errors: list[str] = []

    def look(t: torch.Tensor) -> torch.Tensor:
        with pytest.raises(gradviz.NoGraphError, match="inside a torch") as caught:
            gradviz.snapshot(t)
        errors.append(str(caught.value))
        return t.sum()

    torch.func.grad(look)(torch.ones(3))
    assert len(errors) == 1


def test_lists_that_contain_themselves_are_refused() -> None:
    loop: list[Any] = [x * 2]
    loop.append(loop)
    with pytest.raises(gradviz.NotATensorError, match="is a list"):
        gradviz.snapshot(loop)
