"""Both graphs in one, so that one picture shows all differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from gradviz.analysis.diff.graphs import argument
from gradviz.analysis.diff.pairing import NodePairs
from gradviz.model.diff import Difference
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight, HighlightKind
from gradviz.model.ids import number_of
from gradviz.model.reachability import in_order
from gradviz.model.records import ModuleInfo, Node, SavedTensor, TensorInfo


@dataclass(frozen=True, slots=True)
class Merged:
    """The graph after, with the parts that are gone from the graph before."""

    graph: Graph
    places: Mapping[str, str]
    """Id in ``graph`` for the id before of what is gone: nodes, edges, saved tensors, tensors."""


def merge(pairs: NodePairs, differences: Iterable[Difference]) -> Merged:
    """Add the parts that are gone to the graph after.

    Nodes and tensors that are gone get ids that follow. An entry of ``next_functions`` or a saved
    tensor that is gone from a node of both graphs stands after those that are there. Entries that
    would close a circle are left out: no graph of autograd has one.
    """
    merging = _Merging(pairs, tuple(differences))
    graph = merging.graph(with_entries=True)
    if graph.columns is not pairs.new.graph.columns and _has_circle(graph.nodes):
        graph = merging.graph(with_entries=False)
    return Merged(graph, merging.places)


class _Merging:
    def __init__(self, pairs: NodePairs, differences: tuple[Difference, ...]) -> None:
        self._pairs = pairs
        self._gone = [
            d for d in differences if d.before_id and d.subject in ("edge", "saved tensor")
        ]
        self.places: dict[str, str] = {}
        number = 1 + max((number_of(key) for key in pairs.new.nodes), default=-1)
        ghosts = [key for key in pairs.old.nodes if key not in pairs.after]
        self._nodes = {key: f"n{number + i}" for i, key in enumerate(ghosts)}
        self._leaves, self._tensors = self._ghost_tensors()

    def _ghost_tensors(self) -> tuple[dict[str, str], dict[str, str]]:
        """Ids for leaves of nodes that are gone, and for other tensors that are gone."""
        pairs = self._pairs
        number = 1 + max((number_of(key) for key in pairs.new.tensors), default=-1)
        leaves = [v for key in self._nodes if (v := pairs.old.nodes[key].variable)]
        others = [
            info.id
            for info in pairs.old.tensors.values()
            if info.id not in pairs.after and info.id not in leaves
        ]
        ids = {key: f"t{number + i}" for i, key in enumerate((*leaves, *others))}
        return {key: ids[key] for key in leaves}, {key: ids[key] for key in others}

    def graph(self, with_entries: bool) -> Graph:
        """The graph, with or without entries that are gone from nodes of both graphs."""
        self.places = {**self._nodes, **self._tensors, **self._leaves}
        after = self._pairs.new.graph
        changed: dict[str, Node] = {}
        for difference in self._gone:
            self._put_back(difference, changed, with_entries)
        if not changed and not self.places:  # all of it is there
            return after.with_modules(tuple(self._modules()))
        nodes = chain(
            (changed.get(key) or after[key] for key in self._pairs.new.nodes),
            map(self._ghost, self._nodes),
        )
        roots = [(self._nodes[k], nr) for k, nr in self._pairs.old.graph.roots if k in self._nodes]
        tensors = [*self._pairs.new.tensors.values(), *self._ghost_infos()]
        return Graph.of(nodes, [*after.roots, *roots], tensors, tuple(self._modules()))

    def _modules(self) -> Iterator[ModuleInfo]:
        """The modules after, with tensors that are gone; then those that are gone."""
        before = {one.path: one for one in self._pairs.old.graph.modules}
        for one in self._pairs.new.graph.modules:
            old = before.pop(one.path, ModuleInfo(one.path, one.type))
            tensors = dict.fromkeys((*one.tensors, *self._kept(old.tensors)))
            buffers = dict.fromkeys((*one.buffers, *self._kept(old.buffers)))
            yield replace(one, tensors=tuple(tensors), buffers=tuple(buffers))
        for gone in before.values():
            kept = self._kept(gone.tensors), self._kept(gone.buffers)
            yield replace(gone, tensors=kept[0], buffers=kept[1])

    def _kept(self, old_ids: Iterable[str]) -> tuple[str, ...]:
        """Tensors before, by their ids in the merged graph."""
        ids = self._leaves | self._tensors
        found = (self._pairs.after.get(key) or ids.get(key) for key in old_ids)
        return tuple(key for key in found if key)

    def _put_back(self, gone: Difference, changed: dict[str, Node], with_entries: bool) -> None:
        old_id, _, part = gone.before_id.partition(".")
        new_id = self._pairs.after[old_id]
        node = changed.get(new_id) or self._pairs.new.nodes[new_id]
        old = self._pairs.old.nodes[old_id]
        if gone.subject == "saved tensor":
            if gone.kind == "gone":
                slot = self._slot(old.saved[int(part.rpartition(".")[2])])
                changed[node.id] = replace(node, saved=(*node.saved, slot))
                self.places[gone.before_id] = f"{node.id}.saved.{len(node.saved)}"
            return
        entry = old.next_functions[int(part)]
        if entry is None or not with_entries:
            return
        count = len(node.next_functions)
        names = (*node.arguments, *[None] * (count - len(node.arguments)))
        changed[node.id] = replace(
            node,
            next_functions=(*node.next_functions, self._entry(entry)),
            arguments=(*names, f"{argument(old, int(part))} before"),
        )
        self.places[gone.before_id] = f"{node.id}.{count}"

    def _node(self, old_id: str) -> str:
        return self._nodes.get(old_id) or self._pairs.after[old_id]

    def _entry(self, entry: tuple[str, int]) -> tuple[str, int]:
        return self._node(entry[0]), entry[1]

    def _tensor(self, old_id: str | None) -> str | None:
        return self._pairs.after.get(old_id or "") or self._tensors.get(old_id or "")

    def _slot(self, slot: SavedTensor) -> SavedTensor:
        """A slot that is gone keeps no memory."""
        return replace(
            slot,
            tensor=self._tensor(slot.tensor),
            view_of=self._tensor(slot.view_of),
            storage=None,
            storage_nbytes=None,
        )

    def _ghost(self, old_id: str) -> Node:
        old = self._pairs.old.nodes[old_id]
        return replace(
            old,
            id=self._nodes[old_id],
            next_functions=tuple(e and self._entry(e) for e in old.next_functions),
            saved=tuple(map(self._slot, old.saved)),
            variable=self._leaves.get(old.variable or ""),
        )

    def _ghost_infos(self) -> Iterator[TensorInfo]:
        for old_id, new_id in (self._leaves | self._tensors).items():
            info = self._pairs.old.tensors[old_id]
            node = None if info.node is None else self._node(info.node)
            yield replace(info, id=new_id, node=node, storage=None)


def _has_circle(nodes: Sequence[Node]) -> bool:
    return sum(1 for _ in in_order(nodes)) < len(nodes)


def marks_of(
    differences: Iterable[Difference], pairs: NodePairs, places: Mapping[str, str] | None = None
) -> tuple[Highlight, ...]:
    """What to mark in a picture.

    Args:
        differences: What differs.
        pairs: The two graphs.
        places: As in :class:`Merged`; without, what is gone is not in the picture.
    """
    found: dict[Highlight, None] = {}
    for difference in differences:
        found.update(dict.fromkeys(_marks(difference, pairs, places or {})))
    return tuple(found)


def _marks(found: Difference, pairs: NodePairs, places: Mapping[str, str]) -> Iterator[Highlight]:
    gone = places.get(found.before_id)
    owner = found.after_id.partition(".")[0]
    if found.subject in ("edge", "saved tensor"):
        node = owner or pairs.after[found.before_id.partition(".")[0]]
        yield Highlight(node, "changed")
        is_edge = found.subject == "edge"
        if found.after_id and not (is_edge and found.after == "None"):
            kind: HighlightKind = "new" if is_edge or found.kind == "new" else "changed"
            yield Highlight(found.after_id, kind, found.change)
        if gone is not None:
            yield Highlight(gone, "gone", found.change)
    elif found.kind == "changed" and found.after_id:
        yield Highlight(found.after_id, "changed", f"{found.fact} {found.change}")
    elif found.kind == "new" and found.after_id:
        yield from _whole(found.after_id, "new", pairs.new.nodes.get(found.after_id))
    elif gone is not None:
        yield from _whole(gone, "gone", pairs.old.nodes.get(found.before_id))


def _whole(key: str, kind: HighlightKind, node: Node | None) -> Iterator[Highlight]:
    """A node with the entries it has, or a tensor."""
    yield Highlight(key, kind)
    for slot, entry in enumerate(node.next_functions if node else ()):
        if entry is not None:
            yield Highlight(f"{key}.{slot}", kind)
