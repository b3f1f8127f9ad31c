"""Facts of a node: name, number, shapes, where it comes from."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from operator import attrgetter, methodcaller
from types import CodeType
from typing import Any, Final

import torch

from gradviz.capture.autograd.guards import unseen
from gradviz.capture.autograd.own_thread import in_own_thread

_TORCH: Final = os.path.dirname(torch.__file__) + os.sep


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a class of nodes keeps one saved tensor (or a list of them)."""

    name: str
    raw: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be read from nodes of one class; made once per class (F3.02, F9.01)."""

    name: str | None
    slots: tuple[Slot, ...]
    raw_saved: Callable[[Any], Any]
    saved: Callable[[Any], Any]
    scalars: tuple[tuple[str, str], ...]
    has_attributes: bool
    is_opaque: bool
    is_function: bool
    is_accumulator: bool
    saves_nothing: bool
    """Whether no node of the class has a slot."""


class _Plans(dict[type, Plan]):
    """Plans by class, each made at first use."""

    def __missing__(self, kind: type) -> Plan:
        plan = _make_plan(kind)
        # Classes of the user's own Functions come and go; they are not kept alive for a plan.
        if not plan.is_function:
            self[kind] = plan
        return plan


plan_of: Callable[[type], Plan] = _Plans().__getitem__
"""The reading plan for a class of nodes."""


_OPAQUE: Final = ("CppFunction", "CopySlices")


def _make_plan(kind: type) -> Plan:
    is_function = issubclass(kind, torch._C._FunctionBase)
    names = dir(kind)
    slots = tuple(
        Slot(n[len("_raw_saved_") :], n, None if is_function else n[len("_raw") :])
        for n in names
        if n.startswith("_raw_saved_")
    )
    raw = {slot.value for slot in slots}
    is_quick = bool(slots) and not is_function
    scalars = tuple(
        (n[len("_saved_") :], n) for n in names if n.startswith("_saved_") and n not in raw
    )
    return Plan(
        # F1.26: nodes without a Python class are all CppFunction and have names of their own.
        name=None if kind.__name__ == "CppFunction" else kind.__name__,
        slots=slots,
        raw_saved=_getter([slot.raw for slot in slots] if is_quick else []),
        saved=_getter([slot.value for slot in slots if slot.value] if is_quick else []),
        scalars=() if is_function else scalars,
        has_attributes=is_function or bool(scalars),
        is_opaque=kind.__name__ in _OPAQUE,
        is_function=is_function,
        is_accumulator=kind.__name__ == "AccumulateGrad",
        saves_nothing=not slots and not is_function and kind.__name__ not in _OPAQUE,
    )


def _getter(names: list[str]) -> Callable[[Any], Any]:
    """Read attributes of a node in one call; always a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    if names:
        read = attrgetter(names[0])
        return lambda node: (read(node),)
    return lambda node: ()


def name_of(node: Any) -> str:
    """torch's name for the node without its C++ namespace (F1.07)."""
    head, angle, rest = str(node.name()).partition("<")
    return head.rpartition("::")[2] + angle + rest


def given_when_compiled(node: Any) -> tuple[bool, ...] | None:
    """To which entries of ``next_functions`` the backward of a compiled function gives a gradient,
    which its traced code shows until it is compiled itself; ``None`` if that is not known (F1.17).
    """
    lazy = getattr(getattr(type(node), "_forward_cls", None), "_lazy_backward_info", None)
    graph = getattr(getattr(lazy, "bw_module", None), "graph", None)
    if graph is None:
        return None
    returned = [one.args[0] for one in graph.nodes if one.op == "output" and one.args]
    if len(returned) != 1 or not isinstance(returned[0], (tuple, list)):
        return None
    found = tuple(one is not None for one in returned[0])
    return found if len(found) == len(node.next_functions) else None


def code_of_backward(node: Any) -> CodeType | None:
    """The backward of a custom Function that is not torch's own (F1.16); else ``None``."""
    code = _code_of_backward(node)
    is_own = code is None or code.co_filename.startswith(_TORCH)
    return None if is_own or code is _nothing.__code__ else code


def is_differentiable_once(node: Any) -> bool:
    """Whether a custom Function's backward is wrapped, as ``once_differentiable`` does (F1.16)."""
    function = getattr(type(node), "_forward_cls", None)
    return hasattr(getattr(function, "backward", None), "__wrapped__")


def arguments_that_need(node: Any) -> tuple[bool, ...]:
    """Which arguments of a custom Function's forward need a gradient (F1.16); else empty."""
    is_custom = hasattr(type(node), "_forward_cls")
    return tuple(map(bool, node.needs_input_grad)) if is_custom else ()


def _code_of_backward(node: Any) -> CodeType | None:
    return getattr(inspect.unwrap(backward_of(node)), "__code__", None)


def backward_of(node: Any) -> Any:
    """The function that a custom Function's backward is."""
    return getattr(getattr(type(node), "_forward_cls", None), "backward", _nothing)


def _nothing() -> None:
    pass


sequence_nr: Callable[[Any], int] = methodcaller("_sequence_nr")
"""Creation number within the thread that made the node (F1.08)."""


def variable_of(node: Any) -> torch.Tensor | None:
    """The leaf tensor of an AccumulateGrad (F1.12)."""
    variable: torch.Tensor | None = node.variable
    return variable


_Shapes = tuple[tuple[int, ...] | None, ...]
_shapes: dict[tuple[int, ...], _Shapes] = {}


def output_shapes(node: Any) -> _Shapes:
    """Shape of each differentiable forward output (F1.09)."""
    metadata = node._input_metadata
    if len(metadata) == 1:
        try:
            return _shapes[tuple(metadata[0].shape)]
        except (KeyError, RuntimeError, TypeError):
            pass
    found = tuple([_output_shape(entry) for entry in metadata])
    if len(found) == 1 and found[0] is not None and -1 not in found[0]:
        _shapes[found[0]] = found
    return found


def _output_shape(entry: Any) -> tuple[int, ...] | None:
    try:
        shape = tuple(entry.shape)
    except RuntimeError:  # nested tensors of the strided layout have no shape
        return None
    return tuple(n if type(n) is int else -1 for n in shape)


def device_of_node(node: Any) -> torch.device | None:
    """Device whose thread of the engine runs the node (F5.08); ``None`` if it has no outputs."""
    metadata = node._input_metadata
    return metadata[0].device if len(metadata) else None


def forward_traceback(node: Any) -> list[str] | None:
    """Formatted frames of the forward, if anomaly mode was on then (F6.01)."""
    frames = node.metadata.get("traceback_")
    return frames if isinstance(frames, list) else None


_metadata = attrgetter("metadata")


def forward_tracebacks(nodes: Sequence[Any]) -> list[list[str] | None]:
    """The same of many nodes."""
    # Nearly all of these dictionaries are empty, so no function is called for each of them.
    found = [metadata.get("traceback_") if metadata else None for metadata in map(_metadata, nodes)]
    return (
        [frames if isinstance(frames, list) else None for frames in found]
        if any(found)
        else [None] * len(nodes)
    )


def anomaly_mode_is_on() -> bool:
    """Whether nodes made now get a traceback."""
    return bool(torch.is_anomaly_enabled())


def keep_with_node(node: Any, key: str, kind: Any, value: Any) -> None:
    """Put ``kind(value)`` into the node's own dictionary, to die with it (F1.04).

    Changes ``node.metadata``, torch's place for such things; nothing else. A key that is
    already there is left alone.
    """
    metadata = node.metadata
    if key not in metadata:
        metadata[key] = kind(value)


def accumulator_of(leaf: torch.Tensor) -> Any:
    """The AccumulateGrad of a leaf; made if no graph uses the leaf now.

    torch makes it when an operation uses the leaf. That operation is run in a thread of its
    own, so that it takes no sequence number of the caller's (F1.08) and no mode of the caller's
    sees it. The node is freed with the last reference, as it would after any operation.

    Raises:
        RuntimeError: If torch lets no operation use the leaf there, as inside a transform.
    """

    def use() -> Any:
        # A subclass that wraps other tensors cannot be used without its own dispatch.
        is_plain = type(leaf) in (torch.Tensor, torch.nn.Parameter)
        with torch.enable_grad(), unseen() if is_plain else nullcontext():
            # Sparse and nested tensors have no views of this kind.
            is_strided = leaf.layout is torch.strided and not leaf.is_nested
            node = (leaf.view_as(leaf) if is_strided else leaf.clone()).grad_fn
            return None if node is None else node.next_functions[0][0]

    try:
        node = in_own_thread(use)
    except Exception as error:
        raise RuntimeError("no operation can use this leaf") from error
    if node is None:
        raise RuntimeError("no operation can use this leaf")
    return node
