"""The facts of a tensor."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from gradviz.model.devices import is_shared_out
from gradviz.model.facts.common import (
    device_fact,
    dtype_fact,
    hook_facts,
    listed_facts,
    shape_fact,
    storage_fact,
)
from gradviz.model.facts.fact import Fact, Facts, Maker, Surroundings, Values
from gradviz.model.formatting import UNREAD, number, numbers, shape, summary
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import listed

TensorKey: TypeAlias = Literal[
    "id",
    "name",
    "aliases",
    "shape",
    "dtype",
    "device",
    "output",
    "is_leaf",
    "requires_grad",
    "retains_grad",
    "view",
    "inference",
    "version",
    "values",
    "grad",
    "grad summary",
    "hooks",
    "node",
    "place",
    "storage",
    "sharing",
]

_SHARED_OUT: Final = "values not read: each process has a part, to_local() gives that of this one"
"""Of a DTensor."""
MOST_ALIASES: Final = 4
"""Other names of a tensor that are listed; a count stands for more."""
FLAGS: Final[tuple[TensorKey, ...]] = (
    "is_leaf",
    "requires_grad",
    "retains_grad",
    "view",
    "inference",
)
"""Facts that are true or false."""


TensorFacts: TypeAlias = Facts[TensorKey, TensorInfo]


def tensor_facts(
    info: TensorInfo, around: Surroundings, before: TensorFacts | None = None
) -> TensorFacts:
    """The facts of a tensor.

    Args:
        info: The tensor.
        around: Its graph.
        before: Its facts in a graph before.

    Examples:
        >>> from gradviz.model import Graph, Node, TensorInfo
        >>> from gradviz.view.graph_index import GraphIndex
        >>> info = TensorInfo("t0", "w", (2,), "float32", "cpu", True, True, False, 1, None, (),
        ...                   None, 0, None, False, False)
        >>> found = tensor_facts(info, GraphIndex.of(Graph.of([], [], [info])))
        >>> found["version"].words, found.short("shape", "version"), found.long(*FLAGS)
        ('1', ['(2,)', 'v1'], ['leaf', 'requires grad'])
    """
    return Facts(info, around, _TENSOR, before)


def _tensor_name(info: TensorInfo, around: Surroundings) -> Fact:
    return Fact("name", info.name, around.tidy(info.name) if info.name else info.id)


def _aliases(info: TensorInfo, around: Surroundings) -> Fact:
    """Its other names: the first few, and how many more there are."""
    if not info.aliases:
        return Fact("other names")
    shown = [around.tidy(name) for name in info.aliases[: MOST_ALIASES + 1]]
    words = str(listed([*shown, *info.aliases[len(shown) :]], MOST_ALIASES))
    return Fact("other names", info.aliases, words, f"also {words}", f"also {words}")


def _output(info: TensorInfo, around: Surroundings) -> Fact:
    """Which output of its node it is; empty for the first."""
    if info.node is None:
        return Fact("output")
    words = str(info.output_nr)
    return Fact("output", info.output_nr, words, f"output {words}" if info.output_nr else "")


def _is_leaf(info: TensorInfo, around: Surroundings) -> Fact:
    said = {True: "leaf", False: "not a leaf", None: "leaf not known"}[info.is_leaf]
    value = "not known" if info.is_leaf is None else info.is_leaf
    return Fact("is_leaf", value, str(value), said, said)


def _requires_grad(info: TensorInfo, around: Surroundings) -> Fact:
    said = "requires grad" if info.requires_grad else "does not require grad"
    return Fact("requires_grad", info.requires_grad, str(info.requires_grad), said, said)


def _retains_grad(info: TensorInfo, around: Surroundings) -> Fact:
    said = "retain_grad" if info.retains_grad else ""
    return Fact("retains_grad", info.retains_grad, str(info.retains_grad), said, said)


def _view(info: TensorInfo, around: Surroundings) -> Fact:
    if not info.is_view:
        return Fact("view")
    return Fact("view", "of another tensor", "of another tensor", "view", "view")


def _inference(info: TensorInfo, around: Surroundings) -> Fact:
    label = "inference tensor"
    return Fact(label, "yes", "yes", "inference", label) if info.is_inference else Fact(label)


def _version(info: TensorInfo, around: Surroundings) -> Fact:
    if info.version is None:  # an inference tensor
        return Fact("version", None, "none", "no version", "no version")
    words = str(info.version)
    return Fact("version", info.version, words, f"v{words}", f"version {words}")


def _values(info: TensorInfo, around: Surroundings) -> Fact:
    if info.is_unread:
        return Fact("values", None, UNREAD, UNREAD, f"values {UNREAD}")
    if info.values is None and is_shared_out(info.device):
        return Fact("values", None, _SHARED_OUT, "values not read", _SHARED_OUT)
    if info.values is None:
        return Fact("values")
    words = numbers(info.values, info.shape)
    value = Values(info.values, info.shape)
    return Fact("values", value, words, f"= {words}", f"values {words}")


def _grad(info: TensorInfo, around: Surroundings) -> Fact:
    """``.grad``; empty where backward sets none and there is none."""
    words = summary(info.grad)
    has_fact = info.requires_grad and (info.is_leaf or info.retains_grad)
    if info.grad is None and not has_fact:
        return Fact(".grad", None, words)
    return Fact(".grad", info.grad, words, f".grad {words}", f"grad {words}")


def _grad_summary(info: TensorInfo, around: Surroundings) -> Fact:
    """Shape, dtype and norm of ``.grad``."""
    grad = info.grad
    if grad is None:
        return Fact(".grad")
    norm = "" if grad.norm is None else f"norm {number(grad.norm)}"
    dtype = dtype_fact(grad.dtype, around).short
    words = ", ".join(filter(None, (shape(grad.shape), dtype, norm)))
    return Fact(".grad", grad, words, words, words)


def _tensor_hooks(info: TensorInfo, around: Surroundings) -> Fact:
    hooks = hook_facts(info.hooks, around)
    words = listed_facts(hooks)
    return Fact("hooks", words or None, words or "none", parts=hooks)


def _place(info: TensorInfo, around: Surroundings) -> Fact:
    """The node that it is an output of."""
    if info.node is None:
        outside = "outside the graph"
        return Fact("place", None, outside, outside, outside)
    name, of = around.node_name(info.node), f"output {info.output_nr} of"
    value = (info.node, info.output_nr)
    return Fact("place", value, f"{of} {info.node} {name}", f"{of} {info.node}", f"{of} {name}")


def _sharing(info: TensorInfo, around: Surroundings) -> Fact:
    words = ", ".join(around.sharing.get(info.id, ()))
    label = "shares storage with"
    return (
        Fact(label, words, words, f"{label} {words}", f"{label} {words}") if words else Fact(label)
    )


_TENSOR: Final[dict[TensorKey, Maker[TensorInfo]]] = {
    "id": lambda info, around: Fact("id", info.id, info.id),
    "name": _tensor_name,
    "aliases": _aliases,
    "shape": lambda info, around: shape_fact(info.shape),
    "dtype": lambda info, around: dtype_fact(info.dtype, around),
    "device": lambda info, around: device_fact(info.device, around),
    "output": _output,
    "is_leaf": _is_leaf,
    "requires_grad": _requires_grad,
    "retains_grad": _retains_grad,
    "view": _view,
    "inference": _inference,
    "version": _version,
    "values": _values,
    "grad": _grad,
    "grad summary": _grad_summary,
    "hooks": _tensor_hooks,
    "node": lambda info, around: Fact("node", info.node, info.node or "None"),
    "place": _place,
    "storage": lambda info, around: storage_fact(info.storage, None),
    "sharing": _sharing,
}
"""Every fact of a tensor, in order."""
