"""What the user hands to ``snapshot``: checked, flattened, and each with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch

from gradviz.capture import autograd
from gradviz.capture.naming import is_tensor
from gradviz.model import NoGraphError, NotATensorError, progress
from gradviz.model.formatting import a_kind


@dataclass(frozen=True, slots=True)
class Root:
    """An output with the node backward would start from."""

    tensor: torch.Tensor
    node: Any
    output_nr: int


_DEEPEST: Final = 20
"""How deep lists, tuples and dicts of outputs may be nested."""


def split(outputs: Iterable[Any]) -> tuple[list[tuple[str, torch.Tensor]], list[torch.nn.Module]]:
    """Tensors (with the text that names their place in the call) and modules among the outputs.

    Raises:
        NotATensorError: If something is neither, nor a list, tuple or dict of such.
    """
    tensors: list[tuple[str, torch.Tensor]] = []
    modules: list[torch.nn.Module] = []
    for i, output in enumerate(outputs):
        for place, value in _flat(f"outputs[{i}]", output):
            if is_tensor(value):
                tensors.append((place, value))
            elif issubclass(type(value), torch.nn.Module):
                modules.append(value)
            else:
                raise _not_a_tensor(place, value)
    if not tensors:
        raise NoGraphError(
            "there is no output to start from. The autograd graph hangs on the tensors that were "
            "computed, not on the module: gradviz.snapshot(loss) or gradviz.show(loss, model)"
        )
    return tensors, modules


def _flat(place: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    kind = type(value)
    if issubclass(kind, (list, tuple)) and depth < _DEEPEST:
        for i, item in enumerate(value):
            yield from _flat(f"{place}[{i}]", item, depth + 1)
    elif issubclass(kind, dict) and depth < _DEEPEST:
        for key, item in value.items():
            yield from _flat(f"{place}[{key!r}]", item, depth + 1)
    else:
        yield place, value


def _not_a_tensor(place: str, value: object) -> NotATensorError:
    call = f"gradviz.{progress.asked_for('snapshot')}(loss)"
    hint = f"{call}, where loss is the tensor your code computed"
    return NotATensorError(f"{place} is {what_instead(value)}. Type: {hint}")


def what_instead(value: object) -> str:
    """What a value is that should be a tensor, and why it has no graph."""
    if value is None:
        return "None; the function that should have returned a tensor returned nothing"
    if isinstance(value, (bool, int, float, complex)):
        return (
            f"the number {autograd.as_text(value)}; .item() and float() leave torch, and with it "
            "the graph. Pass the tensor from before that call"
        )
    if callable(getattr(value, "next_functions", None)) or hasattr(value, "next_functions"):
        return f"the node {type(value).__name__}; pass the tensor whose grad_fn it is"
    return f"{a_kind(value)}; only tensors hang on an autograd graph"


def place(text: str, tensor: torch.Tensor) -> Root:
    """Where a tensor hangs on the graph.

    Raises:
        NoGraphError: If there is no graph behind it; the message says why and what to type.
    """
    if autograd.is_dead(tensor):
        raise NoGraphError(
            f"{text} has been freed: its memory was given back or the torch.func transform it "
            "belongs to has ended, so there is nothing left to read. Take the snapshot while the "
            "tensor is alive, for example inside the function that torch.func transforms"
        )
    if not tensor.requires_grad:
        raise NoGraphError(f"{text} {_why_no_graph(tensor)}")
    try:
        node = tensor.grad_fn
    except RuntimeError as error:
        raise NoGraphError(
            f"{text} is a view whose base was written in place in a way that autograd cannot "
            f"follow, so it has no place in a graph any more. torch says: {error}. Make the view "
            "again after the write, or write out of place"
        ) from None
    if node is None:
        try:
            return Root(tensor, autograd.accumulator_of(tensor), 0)
        except RuntimeError:
            raise NoGraphError(
                f"{text} is a leaf that no operation can use where it was passed, inside a "
                "torch.func transform or made in inference mode, so autograd has no "
                "AccumulateGrad for it. Pass a tensor that was computed from it"
            ) from None
    return Root(tensor, node, autograd.output_nr(tensor))


def _why_no_graph(tensor: torch.Tensor) -> str:
    if autograd.is_hidden_by_vmap(tensor):
        return (
            "is one of many that torch.vmap computes together. Autograd records the operations, "
            "but inside vmap torch shows neither that nor the nodes. Take the snapshot of what "
            "vmap returns: gradviz.snapshot(torch.vmap(f)(x))"
        )
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return (
            f"is a tensor of {autograd.dtype_of(tensor)}. Gradients exist for floating point and "
            "complex tensors only, so autograd recorded no graph behind it. Pass the tensor it "
            "was computed from, or make it with dtype=torch.float32"
        )
    if tensor.is_inference():
        return (
            "was made in inference mode, where autograd records nothing. Compute it outside "
            "torch.inference_mode(), or use torch.enable_grad() for the part you want to see"
        )
    return (
        "does not require a gradient, so autograd recorded no graph behind it: none of its inputs "
        "requires grad, or it was computed under torch.no_grad(), or it was cut off by detach(). "
        "Set requires_grad=True on an input before computing it: "
        "x = torch.ones(3, requires_grad=True)"
    )
