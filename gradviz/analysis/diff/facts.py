"""Facts of a node and of a tensor, by the labels that differences use."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final, TypeAlias

from gradviz.analysis.diff.pairing import GraphLookup, NodePairs
from gradviz.model.facts import (
    Facts,
    FactValue,
    Key,
    NodeFacts,
    NodeKey,
    TensorKey,
    node_facts,
    tensor_facts,
)
from gradviz.model.records import Node, TensorInfo

LabelledFacts: TypeAlias = dict[str, FactValue]
NODE_KEYS: Final[tuple[NodeKey, ...]] = ("state", "root", "own hooks")
NODE_KEYS_OF_BOTH: Final[tuple[NodeKey, ...]] = ("shapes", "module", "arguments")
"""Facts that are compared only if both graphs have them."""
TENSOR_KEYS: Final[tuple[TensorKey, ...]] = (
    "requires_grad",
    "is_leaf",
    "retains_grad",
    "version",
    "shape",
    "dtype",
    "device",
    "hooks",
    "view",
    "inference",
)


def facts_of_node(old: Node, new: Node, pairs: NodePairs) -> tuple[LabelledFacts, LabelledFacts]:
    """Facts of a node before and after, without those that only one of the two has."""
    then, now = _facts(old, pairs.old, pairs.after), _facts(new, pairs.new, pairs.tensors)
    before, after = _of_node(then), _of_node(now)
    shapes, *others = NODE_KEYS_OF_BOTH
    for label, was, is_now in (
        *_of_both(then, now, shapes),
        *_derivatives(then, now),
        *_of_both(then, now, *others),
    ):
        before[label], after[label] = was, is_now
    return before, after


def _facts(node: Node, reading: GraphLookup, compared: Collection[str]) -> NodeFacts:
    known = [info for info in reading.on_node.get(node.id, ()) if info.id in compared]
    return node_facts(node, reading, known)


def _of_node(facts: NodeFacts) -> LabelledFacts:
    own = {facts[key].label for key in (*NODE_KEYS, *NODE_KEYS_OF_BOTH)}
    told = _told(facts, "state", "root")
    for part in facts["saved numbers"].parts:
        told[f"saved {part.label}" if part.label in own else part.label] = part.value
    return told | _told(facts, "own hooks")


def _told(facts: Facts[Key, Any], *keys: Key) -> LabelledFacts:
    """The values of these facts, without those that are ``None``."""
    chosen = (facts[key] for key in keys)
    return {fact.label: fact.value for fact in chosen if fact.value is not None}


def _of_both(
    then: Facts[Key, Any], now: Facts[Key, Any], *keys: Key
) -> Iterator[tuple[str, FactValue, FactValue]]:
    for key in keys:
        was, is_now = then[key].value, now[key].value
        if was is not None and is_now is not None:
            yield now[key].label, was, is_now


def _derivatives(then: NodeFacts, now: NodeFacts) -> Iterator[tuple[str, FactValue, FactValue]]:
    """Formulas of arguments that need a gradient in both graphs."""
    label = now["derivative"].label
    was, is_now = ({p.label: p.value for p in f["derivative"].parts} for f in (then, now))
    yield from ((f"{label} {n}".strip(), was[n], is_now[n]) for n in was if n in is_now)


def facts_of_tensor(
    old: TensorInfo, new: TensorInfo, pairs: NodePairs
) -> tuple[LabelledFacts, LabelledFacts]:
    """Facts of a tensor before and after, without those that only one of the two has."""
    then, now = tensor_facts(old, pairs.old), tensor_facts(new, pairs.new)
    before, after = _told(then, *TENSOR_KEYS), _told(now, *TENSOR_KEYS)
    is_leaf = old.id in pairs.old.leaf_node or new.id in pairs.new.leaf_node
    if not is_leaf and _is_moved(old, new, pairs):  # leaves are compared as nodes
        for told, facts in ((before, then), (after, now)):  # ids differ, so names are compared
            told[facts["place"].label] = facts["place"].long
    for label, was, is_now in _of_both(then, now, "values"):
        before[label], after[label] = was, is_now
    before[then["grad"].label], after[now["grad"].label] = old.grad, new.grad
    return before, after


def _is_moved(old: TensorInfo, new: TensorInfo, pairs: NodePairs) -> bool:
    if old.node is None or new.node is None:
        return old.node is not new.node
    return (pairs.after.get(old.node), old.output_nr) != (new.node, new.output_nr)
