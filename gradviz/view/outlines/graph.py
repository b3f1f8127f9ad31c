"""A graph as text: the facts of the picture in a fixed order, for terminals and diffs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from gradviz.model.facts import FLAGS, NodeFacts, SlotFacts, TensorKey
from gradviz.model.graph import Graph
from gradviz.model.long_text import joined
from gradviz.model.progress import counted, working
from gradviz.model.records import Node, TensorInfo
from gradviz.view import aria, formatting
from gradviz.view.graph_index import GraphIndex
from gradviz.view.text import clean

LIMIT: Final = 2000
"""Nodes in the text that a notebook stores; a last line counts the rest. ``print`` has all."""

TENSOR_KEYS: Final[tuple[TensorKey, ...]] = ("shape", "dtype", "device", "version", "values")
COLUMNS: Final = ("id", "name", "state", "shape", "leads to", "saved", "facts")


def outline(graph: Graph) -> str:
    """The graph as text, the same for the same graph; the device is in the first line only.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> print(outline(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])))
        autograd graph of SinBackward0: 1 node, 0 edges, 0 leaves
        n0 SinBackward0 · root · saves nothing
           0 -> None: no gradient needed
    """
    with working("outline"):
        return outline_of(GraphIndex.of(graph, 0), len(graph))


def outline_of(graph_index: GraphIndex, most: int) -> str:
    """The same for a graph that is indexed already, with at most so many nodes."""
    return joined(_lines(graph_index, most))


def _lines(graph_index: GraphIndex, most: int) -> Iterator[str]:
    """The lines, each but the first after a line break."""
    where = f"; on {graph_index.devices}" if graph_index.devices else ""
    yield aria.of_graph(graph_index) + where
    nodes = graph_index.graph.nodes
    shown = min(most, len(nodes))
    for place in counted(range(shown), "nodes listed", shown):
        yield from (f"\n{line}" for line in _node_lines(nodes[place], graph_index))
    if len(nodes) > most:
        hidden = formatting.plural(len(nodes) - most, "more node")
        yield f"\n… {hidden} not listed; print(gradviz.snapshot(…)) lists all"
    if graph_index.outside:
        yield "\noutside the graph"
        for info in graph_index.outside:
            yield f"\n{info.id} {_tensor_line(info, graph_index)}"
            places = ", ".join(f"{n} {clean(s)}" for n, s in graph_index.saved_by.get(info.id, ()))
            if places:
                yield f"\n   saved by {places}"


def listed(graph_index: GraphIndex, nodes: Iterable[Node]) -> Iterator[Node | TensorInfo]:
    """Nodes, each before the tensors it made, then the tensors outside the graph."""
    for node in nodes:
        yield node
        yield from graph_index.tags.get(node.id, ())
    yield from graph_index.outside


def cells_of(one: Node | TensorInfo, graph_index: GraphIndex) -> tuple[str, ...]:
    """The row of a node or tensor."""
    if isinstance(one, Node):
        return node_cells(one, graph_index)
    return tensor_cells(one, graph_index)


def _node_lines(node: Node, graph_index: GraphIndex) -> Iterator[str]:
    facts, variable = graph_index.of_node(node), graph_index.tensors.get(node.variable or "")
    words = [f"{node.id} {facts['name'].words}", *facts.short("root")]
    if variable is None or node.state != "saves nothing":
        words += facts.short("state")
    yield " · ".join((*words, *facts.short("module")))
    yield from (f"   {text}" for text in facts.long("source"))
    if variable is not None:
        yield f"   leaf {_tensor_line(variable, graph_index)}"
    yield from (f"   {part.label} -> {part.words}" for part in facts["next_functions"].parts)
    yield from (f"   {text}" for text in _memory(facts))
    if len(node.output_shapes) > 1 or (
        node.id not in graph_index.tags and variable is None and any(node.output_shapes)
    ):
        yield from (f"   {text}" for text in facts.long("shapes"))
    for tag in graph_index.tags.get(node.id, ()):
        nr = "".join(f"{text} " for text in graph_index.of_tensor(tag).short("output"))
        yield f"   {nr}is {tag.id} {_tensor_line(tag, graph_index)}"


def _memory(facts: NodeFacts, saved: bool = True) -> Iterator[str]:
    """What a node keeps, and its hooks."""
    yield from (part.long for part in facts["gradient"].parts)
    if saved:
        yield from (f"saved {_slot(slot)}" for slot in facts.saved)
    yield from facts.long("saved numbers")
    yield from (hook.long for hook in facts["own hooks"].parts)
    yield from facts.long("hooks known")


def _slot(slot: SlotFacts) -> str:
    state = slot["state"]
    if state.value == "none":
        return f"{slot['name'].words}: none, not needed by this graph"
    words = slot.short("condition", "shape", "dtype", "device")
    words += slot.short("versions") if state.value != "freed" else []
    words += slot.short("nbytes", "storage")
    return f"{' '.join(slot.short('name', 'values'))}: {formatting.join(words, ' ')}"


def _tensor_line(info: TensorInfo, graph_index: GraphIndex) -> str:
    facts = graph_index.of_tensor(info)
    words = [" ".join((facts["name"].words, *facts.short(*TENSOR_KEYS)))]
    words += facts.short("aliases")
    words += facts.long(*FLAGS)
    words += facts.short("grad")
    words += [hook.long for hook in facts["hooks"].parts]
    words += facts.short("sharing")
    return " · ".join(words)


def node_cells(node: Node, graph_index: GraphIndex) -> tuple[str, ...]:
    """The row of a node."""
    facts, variable = graph_index.of_node(node), graph_index.tensors.get(node.variable or "")
    words = [*facts.short("root"), *facts.long("source", "module")]
    if variable is not None:
        words.append(_tensor_line(variable, graph_index))
    words += _memory(facts, saved=False)
    sizes = facts["shapes"].words
    if variable is not None:
        sizes = sizes or graph_index.of_tensor(variable)["shape"].words
    return (
        node.id,
        graph_index.node_name(node.id),
        facts["state"].words,
        sizes,
        ", ".join(f"{part.label}: {part.words}" for part in facts["next_functions"].parts),
        "; ".join(_slot(slot) for slot in facts.saved if slot["state"].value != "none"),
        "; ".join(words),
    )


def tensor_cells(info: TensorInfo, graph_index: GraphIndex) -> tuple[str, ...]:
    """The row of a tensor that is not a leaf of the graph."""
    facts = graph_index.of_tensor(info)
    places = "; ".join(f"{n} {clean(s)}" for n, s in graph_index.saved_by.get(info.id, ()))
    return (
        info.id,
        facts["name"].words,
        "tensor",
        facts["shape"].words,
        facts["place"].short,
        f"saved by {places}" if places else "",
        _tensor_line(info, graph_index),
    )
