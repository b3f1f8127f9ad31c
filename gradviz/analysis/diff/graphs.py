"""What differs between two graphs, fact by fact."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.analysis.diff.facts import LabelledFacts, facts_of_node, facts_of_tensor
from gradviz.analysis.diff.pairing import NodePairs
from gradviz.analysis.diff.saved import slot_differences, value_differences
from gradviz.analysis.diff.sharing import SlotStorages
from gradviz.analysis.diff.unmatched import IN_GRAPH, one_sided
from gradviz.analysis.diff.values import both, same
from gradviz.model.diff import Difference, DifferenceSubject
from gradviz.model.facts import argument_of
from gradviz.model.graph import Graph
from gradviz.model.progress import counted
from gradviz.model.records import Node


def differences_between(before: Graph, after: Graph) -> tuple[Difference, ...]:
    """Every difference between two graphs.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> before = Graph.of([Node("n0", "SinBackward0", (None,), state="holds")], [("n0", 0)])
        >>> after = Graph.of([Node("n0", "SinBackward0", (None,), state="freed")], [("n0", 0)])
        >>> [(d.name, d.fact, d.change) for d in differences_between(before, after)]
        [('SinBackward0', 'state', 'holds → freed')]
    """
    return differences_of(NodePairs(before, after))


def differences_of(pairs: NodePairs) -> tuple[Difference, ...]:
    """Nodes that are new, nodes that are gone, what changed at each node, the order of the roots,
    tensors, and values of saved tensors, which mostly follow from all that."""
    storages = SlotStorages(pairs)
    return (
        *_new_and_gone_nodes(pairs),
        *(
            found
            for node in counted(pairs.nodes, "nodes compared", len(pairs.nodes))
            for found in _at_node(node, pairs, storages)
        ),
        *_order_of_roots(pairs),
        *_tensors(pairs, storages),
        *value_differences(pairs, storages),
    )


def renamed(pairs: NodePairs) -> tuple[tuple[str, str], ...]:
    """Variables with two names; of parameters only the variable that holds the module."""
    found: dict[tuple[str, str], None] = {}
    for new_id, old_id in pairs.tensors.items():
        old, new = pairs.old.tensors[old_id].name, pairs.new.tensors[new_id].name
        if old and new and old != new:
            old_root, new_root = _variable(old), _variable(new)
            is_rest_same = old[len(old_root) :] == new[len(new_root) :]
            found[(old_root, new_root) if is_rest_same else (old, new)] = None
    return tuple(found)


def _variable(name: str) -> str:
    """``model`` of ``model.fc.weight``."""
    return name.partition(".")[0].partition("[")[0]


def _new_and_gone_nodes(pairs: NodePairs) -> Iterator[Difference]:
    for node_id in pairs.new.nodes:
        if node_id not in pairs.nodes:
            name = pairs.new.node_name(node_id)
            yield Difference("new", "node", name, IN_GRAPH, "no", "yes", "", node_id)
    for node_id in pairs.old.nodes:
        if node_id not in pairs.after:
            name = pairs.old.node_name(node_id)
            yield Difference("gone", "node", name, IN_GRAPH, "yes", "no", node_id, "")


def _at_node(new_id: str, pairs: NodePairs, storages: SlotStorages) -> Iterator[Difference]:
    old, new = pairs.old.nodes[pairs.nodes[new_id]], pairs.new.nodes[new_id]
    yield from _entries(old, new, pairs)
    facts = facts_of_node(old, new, pairs)
    yield from _changed("node", pairs.new.node_name(new_id), (old.id, new.id), facts)
    yield from slot_differences(old, new, pairs, storages)


def _entries(old: Node, new: Node, pairs: NodePairs) -> Iterator[Difference]:
    """Entries of ``next_functions`` that lead somewhere else."""
    count = max(len(old.next_functions), len(new.next_functions))
    for slot in range(count):
        has = slot < len(old.next_functions), slot < len(new.next_functions)
        then = old.next_functions[slot] if has[0] else None
        now = new.next_functions[slot] if has[1] else None
        if has == (True, True) and (then and (pairs.after.get(then[0]), then[1])) == now:
            continue
        was = pairs.old.end(then) if has[0] else "no such input"
        is_now = pairs.new.end(now) if has[1] else "no such input"
        yield Difference(
            "new" if then is None and now else "gone" if now is None and then else "changed",
            "edge",
            pairs.new.node_name(new.id),
            f"{argument(new if has[1] else old, slot)} leads to",
            was,
            f"another {is_now}" if was == is_now else is_now,
            f"{old.id}.{slot}" if has[0] else "",
            f"{new.id}.{slot}" if has[1] else "",
        )


def argument(node: Node, slot: int) -> str:
    """Name of the argument behind an entry, else ``input 0``."""
    return argument_of(node, slot) or f"input {slot}"


def _order_of_roots(pairs: NodePairs) -> Iterator[Difference]:
    """Whether backward would start at the common roots in another order."""
    old_roots = [(pairs.after.get(node_id), nr) for node_id, nr in pairs.old.graph.roots]
    new_roots = list(pairs.new.graph.roots)
    then = [root for root in old_roots if root in new_roots]
    now = [root for root in new_roots if root in old_roots]
    if then != now:
        words = [", ".join(pairs.new.end((node or "", nr)) for node, nr in o) for o in (then, now)]
        yield Difference("changed", "graph", "roots", "order", *words)


def _tensors(pairs: NodePairs, storages: SlotStorages) -> Iterator[Difference]:
    """Tensors with a name that are new or gone, if no leaf says so; then what changed."""
    for info, how in one_sided(pairs, is_new=True):
        yield Difference("new", "tensor", info.name or "", how, "no", "yes", "", info.id)
    for info, how in one_sided(pairs, is_new=False):
        yield Difference("gone", "tensor", info.name or "", how, "yes", "no", info.id, "")
    for new_id, old_id in pairs.tensors.items():
        facts = facts_of_tensor(pairs.old.tensors[old_id], pairs.new.tensors[new_id], pairs)
        for side, shared in zip(facts, storages.of_tensor(new_id)):
            side["shares storage with"] = shared
        yield from _changed("tensor", pairs.new.name(new_id), (old_id, new_id), facts)


def _changed(
    subject: DifferenceSubject,
    name: str,
    ids: tuple[str, str],
    facts: tuple[LabelledFacts, LabelledFacts],
) -> Iterator[Difference]:
    """Facts that are not the same; what one side lacks is ``"none"``."""
    before, after = facts
    for fact in dict.fromkeys((*before, *after)):
        then, now = before.get(fact, "none"), after.get(fact, "none")
        if not same(then, now):
            yield Difference("changed", subject, name, fact, *both(then, now), *ids)
