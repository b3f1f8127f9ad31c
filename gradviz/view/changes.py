"""What differs between two graphs that the same code left: as marks, and as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from gradviz.model.facts import Node, SavedTensor, TensorInfo
from gradviz.model.graph import Graph
from gradviz.view import phrases
from gradviz.view.context import Context
from gradviz.view.matching import match_nodes
from gradviz.view.text import clean

ChangeMark: TypeAlias = Literal["new", "changed"]
Fact: TypeAlias = tuple[str, str]
"""What a fact is called, and its value in words."""


@dataclass(slots=True)
class Changes:
    """What differs between two graphs; ids are those of the later one.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> out = a * a
        >>> before = gradviz.snapshot(out)
        >>> out.backward()
        >>> changes_between(before, gradviz.snapshot(out)).sentences[1:]
        ['a: .grad None → 4.0']
    """

    marks: dict[str, ChangeMark] = field(default_factory=dict)
    """Per id of a node (``"n0"``), an edge (``"n0.1"``), a saved tensor (``"n0.saved.0"``) or a
    tensor (``"t0"``): whether it is new, or was there and is different."""
    details: dict[str, list[Fact]] = field(default_factory=dict)
    """Per id of a node or tensor that changed: what, and ``before → after``."""
    sentences: list[str] = field(default_factory=list)
    """Everything as text, also what is gone."""

    def __bool__(self) -> bool:
        return bool(self.sentences)


def changes_between(before: Graph, after: Graph) -> Changes:
    """Compare two graphs, node by node and tensor by tensor.

    Args:
        before: The earlier graph.
        after: The later graph; what is marked is in this one.
    """
    return _Comparison(before, after).found


class _Comparison:
    def __init__(self, before: Graph, after: Graph) -> None:
        self._old, self._new = Context(before), Context(after)
        self._pairs = match_nodes(before, after)
        self._backwards = {old_id: new_id for new_id, old_id in self._pairs.items()}
        self.found = Changes()
        self._nodes()
        self._tensors()

    def _nodes(self) -> None:
        say = self.found.sentences.append
        for node in self._new.graph.nodes:
            if node.id not in self._pairs:
                self.found.marks[node.id] = "new"
                say(f"new: {_called(node, self._new)}")
        for node in self._old.graph.nodes:
            if node.id not in self._backwards:
                say(f"gone: {_called(node, self._old).partition(' ')[2]}")
        for node in self._new.graph.nodes:
            if node.id in self._pairs:
                self._edges(node, self._old.graph[self._pairs[node.id]])
                self._node(node, self._old.graph[self._pairs[node.id]])
            else:
                slots = (i for i, entry in enumerate(node.next_functions) if entry is not None)
                self.found.marks.update((f"{node.id}.{slot}", "new") for slot in slots)

    def _edges(self, node: Node, old: Node) -> None:
        was = list(old.next_functions)
        was += [None] * (len(node.next_functions) - len(was))
        for slot, entry in enumerate(node.next_functions):
            then = was[slot]
            if entry == (then and (self._backwards.get(then[0]), then[1])):
                continue
            if entry is not None:
                self.found.marks[f"{node.id}.{slot}"] = "new"
            name = f"{_argument(node, slot)} leads to"
            was_there, is_there = _end(then, self._old), _end(entry, self._new)
            if was_there == is_there:
                is_there = f"another {is_there}"
            self._changed(node.id, name, was_there, is_there)

    def _node(self, node: Node, old: Node) -> None:
        before, after = _slots(old), _slots(node)
        self._facts(node.id, dict(_node_facts(old, self._old)), dict(_node_facts(node, self._new)))
        for name in dict.fromkeys((*before, *after)):
            then = _saved_words(before.get(name), self._old)
            now = _saved_words(after.get(name), self._new)
            if then != now:
                self._changed(node.id, f"saved {clean(name)}", then, now)
                if name in after:
                    place = f"{node.id}.saved.{node.saved.index(after[name])}"
                    self.found.marks[place] = "changed" if name in before else "new"
        self._say(node.id, _called(node, self._new))

    def _tensors(self) -> None:
        kept: set[str] = set()
        for info, old in self._tensor_pairs():
            leaf = _leaf_of(info, self._new)
            if old is None:
                if info.name or leaf:
                    self.found.marks[info.id] = "new"
                if info.name and not leaf:
                    self.found.sentences.append(f"new: tensor {phrases.tensor_name(info)}")
                continue
            kept.add(old.id)
            then, now = _tensor_facts(old, self._old), _tensor_facts(info, self._new)
            self._facts(info.id, dict(then), dict(now))
            if leaf and info.id in self.found.details:
                self.found.marks.setdefault(leaf, "changed")
            self._say(info.id, phrases.tensor_name(info))
        for old in self._old.graph.tensors:
            if old.id not in kept and old.name and not _leaf_of(old, self._old):
                self.found.sentences.append(f"gone: tensor {phrases.tensor_name(old)}")

    def _tensor_pairs(self) -> Iterator[tuple[TensorInfo, TensorInfo | None]]:
        """Tensors with the same name, without one those at the same place."""
        named = {info.name: info for info in self._old.graph.tensors if info.name}
        placed = {
            (info.node, info.output_nr): info for info in self._old.graph.tensors if not info.name
        }
        for info in self._new.graph.tensors:
            old_node = self._pairs.get(info.node or "")
            there = placed.get((old_node, info.output_nr)) if old_node else None
            yield info, named.get(info.name) if info.name else there

    def _facts(self, place: str, before: dict[str, str], after: dict[str, str]) -> None:
        for name in dict.fromkeys((*before, *after)):
            then, now = before.get(name, "none"), after.get(name, "none")
            if then != now:
                self._changed(place, name, then, now)

    def _changed(self, place: str, name: str, then: str, now: str) -> None:
        self.found.marks.setdefault(place, "changed")
        self.found.details.setdefault(place, []).append((name, f"{then} → {now}"))

    def _say(self, place: str, name: str) -> None:
        if place in self.found.details:
            facts = "; ".join(f"{fact} {change}" for fact, change in self.found.details[place])
            self.found.sentences.append(f"{name}: {facts}")


def _leaf_of(info: TensorInfo, context: Context) -> str:
    """The AccumulateGrad that stands for a leaf in the picture, if there is one."""
    is_there = info.node is not None and context.graph[info.node].variable == info.id
    return info.node or "" if is_there else ""


def _called(node: Node, context: Context) -> str:
    return f"{node.id} {context.node_name(node.id)}"


def _end(entry: tuple[str, int] | None, context: Context) -> str:
    if entry is None:
        return "None"
    return context.node_name(entry[0]) + (f" output {entry[1]}" if entry[1] else "")


def _argument(node: Node, slot: int) -> str:
    argument = node.arguments[slot] if slot < len(node.arguments) else None
    return clean(argument) if argument else f"input {slot}"


def _slots(node: Node) -> dict[str, SavedTensor]:
    return {slot.name: slot for slot in node.saved if slot.state != "none"}


def _saved_words(slot: SavedTensor | None, context: Context) -> str:
    if slot is None:
        return "nothing"
    state = phrases.saved_state(slot)
    if slot.state in ("held", "modified"):
        state = phrases.join((slot.state, state, phrases.saved_tensor(slot, context.names)), " ")
    return state


def _node_facts(node: Node, context: Context) -> Iterator[Fact]:
    yield "state", node.state
    if node.id in context.roots:
        yield "root", "output " + ", ".join(map(str, context.roots[node.id]))
    if any(node.output_shapes):
        yield "shape", ", ".join(map(phrases.shape, node.output_shapes))
    yield from ((clean(name), phrases.attribute(value)) for name, value in node.attributes)
    on_tensors = [
        hook for info in context.graph.tensors if info.node == node.id for hook in info.hooks
    ]
    hooks = [phrases.hook(hook) for hook in node.hooks if hook not in on_tensors]
    if hooks:
        yield "hooks", ", ".join(hooks)


def _tensor_facts(info: TensorInfo, context: Context) -> Iterator[Fact]:
    yield "requires_grad", str(info.requires_grad)
    yield "is_leaf", "unknown" if info.is_leaf is None else str(info.is_leaf)
    yield "retains_grad", str(info.retains_grad)
    yield "place", "outside the graph" if info.node is None else "in the graph"
    yield "version", "none" if info.version is None else str(info.version)
    yield "shape", phrases.shape(info.shape)
    yield "dtype", clean(info.dtype)
    yield "device", clean(info.device)
    if info.values is not None:
        yield "value", phrases.numbers(info.values, info.shape)
    yield ".grad", phrases.summary(info.grad)
    if info.hooks:
        yield "hooks", ", ".join(map(phrases.hook, info.hooks))
    if info.is_view:
        yield "view", "of another tensor"
    if others := context.sharing.get(info.id):
        yield "shares memory with", ", ".join(others)
