"""Similarities of a prediction and its target, both of which get a gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.silent.target_gradient import is_leaf, leaves_of, target_finding
from gradviz.model.events import NodeRan, Operation
from gradviz.model.history import EventPlace, History
from gradviz.model.reachability import entries, reachable
from gradviz.model.records import Node

_PRODUCTS: Final = frozenset({"mul", "__mul__", "multiply"})
_QUOTIENTS: Final = frozenset({"div", "__truediv__", "true_divide", "divide"})
_NORMS: Final = frozenset({"norm", "vector_norm", "linalg_vector_norm", "linalg_norm"})
_LENGTHS: Final = _NORMS | {"clamp_min", "clamp", "expand_as", "unsqueeze", "expand", "add"}
_LINEAR: Final = frozenset(
    {"MeanBackward0", "MeanBackward1", "SumBackward0", "SumBackward1", "NegBackward0"}
    | {"AddBackward0", "SubBackward0", "RsubBackward1", "MulBackward0", "DivBackward0"}
    | {"ViewBackward0", "SqueezeBackward0", "SqueezeBackward1", "UnsqueezeBackward0"}
    | {"StackBackward0", "CatBackward0"}
)
"""Nodes of a sum of terms; of a product, only if one factor has no gradient."""


def similarities(history: History) -> Iterator[Finding]:
    """Losses that do nothing but make a prediction similar to what it is computed from the same
    parameters as, without those of the predictor.

    Where a loss has another term, or similarities of which some shall become smaller, as in a
    contrastive loss, both sides have a gradient for a reason.
    """
    sides: dict[str, tuple[EventPlace, Operation, int]] = {}
    for place, event in history.told(Operation):
        side = _target(event, history)
        if event.node is None or side is None or event.recomputed:
            continue
        if not is_leaf(event.reads[side], place[0], history):
            sides[event.node] = place, event, side
    if not sides:
        return
    told: set[object] = set()
    runs = {(run.backward, run.node): run for _, run in history.runs}
    for number, (_, started) in history.started.items():
        terms = _terms([node for node, _ in started.roots], sides, history)
        ran = [runs.get((number, node)) for node in terms]
        if not terms or not all(node in sides for node in terms) or not all(map(_grows, ran)):
            continue
        for node in sorted(terms, key=lambda one: sides[one][0]):
            place, event, side = sides[node]
            line = history.line(place)
            at = line and (line.code, line.line)
            if at not in told:
                told.add(at)
                yield target_finding(place, event, side, history, "similarity")


def _target(event: Operation, history: History) -> int | None:
    """Which side of a similarity is computed from a part of the leaves of the other."""
    two = event.reads[:2]
    if len(two) < 2 or len(event.reads) != 2 or not {*two} <= {*event.required}:
        return None
    if event.name in _PRODUCTS:
        if not all(_is_normalised(key, history) for key in two):
            return None
    elif event.name != "cosine_similarity":
        return None
    one, other = (leaves_of(key, history) for key in two)
    if one and one < other:
        return 0
    return 1 if other and other < one else None


def _is_normalised(key: str, history: History) -> bool:
    """Whether a tensor is divided by its own norm."""
    made = history.makers.get(key)
    if made is None:
        return False
    if made[1].name == "normalize":
        return True
    if made[1].name not in _QUOTIENTS or len(made[1].reads) != 2:
        return False
    whole, length = made[1].reads
    while (by := history.makers.get(length)) is not None and by[1].name in _LENGTHS:
        if by[1].name in _NORMS:
            return whole in by[1].reads
        length = next(iter(by[1].reads), "")
    return False


def _terms(
    roots: list[str], ends: dict[str, tuple[EventPlace, Operation, int]], history: History
) -> list[str]:
    """The nodes whose results a loss is the sum of."""
    last = len(history.recording.records) - 1

    def summands(key: str) -> Iterator[str]:
        node = history.node(key, last)
        return iter(()) if key in ends or not _is_linear(node) else entries(node)

    found = reachable(roots, summands)
    return [key for key in found if key in ends or not _is_linear(history.node(key, last))]


def _is_linear(node: Node | None) -> bool:
    if node is None or node.name not in _LINEAR:
        return False
    is_product = node.name in ("MulBackward0", "DivBackward0")
    return not is_product or len([*entries(node)]) == 1


def _grows(run: NodeRan | None) -> bool:
    """Whether a step against the gradient makes all these similarities greater."""
    gradient = None if run is None or len(run.grad_outputs) != 1 else run.grad_outputs[0]
    most = None if gradient is None else gradient.max
    return isinstance(most, float) and most <= 0
