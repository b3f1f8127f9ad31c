"""The picture as text: the same facts in a fixed order, for terminals, diffs and screen readers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.model.fact_list import FLAGS, NodeFacts, SlotFacts, TensorKey
from gradviz.model.facts import Node, TensorInfo
from gradviz.model.graph import Graph
from gradviz.view import phrases, sentences
from gradviz.view.context import Context
from gradviz.view.text import clean

LIMIT: Final = 2000
"""How many nodes are listed; a line says how many are not."""

TENSOR_KEYS: Final[tuple[TensorKey, ...]] = ("shape", "dtype", "device", "version", "values")
COLUMNS: Final = ("id", "name", "state", "shape", "leads to", "saved", "facts")


@dataclass(frozen=True, slots=True)
class Row:
    """One node or tensor of the table."""

    id: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The outline as a table."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def outline(graph: Graph) -> str:
    """The graph as text, the same for the same graph; the device is in the first line only.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> print(outline(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])))
        autograd graph of SinBackward0: 1 node, 0 edges, 0 leaves
        n0 SinBackward0 · root · saves nothing
           0 -> None: no gradient needed
    """
    return outline_of(Context.of(graph, LIMIT))


def outline_of(context: Context) -> str:
    """The same of a graph whose look-ups are made already."""
    where = f"; on {context.devices}" if context.devices else ""
    lines = [sentences.of_graph(context) + where]
    for node in context.nodes:
        lines += _node_lines(node, context)
    if hidden := len(context.graph) - len(context.nodes):
        lines.append(f"… {phrases.plural(hidden, 'more node')} not listed")
    if context.outside:
        lines.append("outside the graph")
        for info in context.outside:
            lines.append(f"{info.id} {_tensor_line(info, context)}")
            places = ", ".join(f"{n} {clean(s)}" for n, s in context.saved_by.get(info.id, ()))
            if places:
                lines.append(f"   saved by {places}")
    return "\n".join(lines)


def table(graph: Graph, limit: int = 400) -> Table:
    """The same facts as rows of a table, one per node and per tensor outside the graph.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> table(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])).rows[0].id
        'n0'
    """
    return table_of(Context.of(graph, limit))


def table_of(context: Context) -> Table:
    """The same of a graph whose look-ups are made already."""
    rows: list[Row] = []
    for node in context.nodes:
        rows.append(Row(node.id, node_cells(node, context)))
        rows += [Row(tag.id, tensor_cells(tag, context)) for tag in context.tags.get(node.id, ())]
    rows += [Row(info.id, tensor_cells(info, context)) for info in context.outside]
    return Table(COLUMNS, tuple(rows))


def _node_lines(node: Node, context: Context) -> Iterator[str]:
    facts, variable = context.of_node(node), context.tensors.get(node.variable or "")
    words = [f"{node.id} {facts['name'].words}", *facts.short("root")]
    if variable is None or node.state != "saves nothing":
        words += facts.short("state")
    yield " · ".join((*words, *facts.short("module")))
    yield from (f"   {text}" for text in facts.long("source"))
    if variable is not None:
        yield f"   leaf {_tensor_line(variable, context)}"
    yield from (f"   {part.label} -> {part.words}" for part in facts["next_functions"].parts)
    yield from (f"   {text}" for text in _memory(facts))
    if len(node.output_shapes) > 1 or (
        node.id not in context.tags and variable is None and any(node.output_shapes)
    ):
        yield from (f"   {text}" for text in facts.long("shapes"))
    for tag in context.tags.get(node.id, ()):
        nr = "".join(f"{text} " for text in context.of_tensor(tag).short("output"))
        yield f"   {nr}is {tag.id} {_tensor_line(tag, context)}"


def _memory(facts: NodeFacts, saved: bool = True) -> Iterator[str]:
    """What a node keeps, and what is called when it runs."""
    yield from (part.long for part in facts["derivative"].parts)
    if saved:
        yield from (f"saved {_slot(slot)}" for slot in facts.saved)
    yield from facts.long("saved numbers")
    yield from (hook.long for hook in facts["own hooks"].parts)
    yield from facts.long("hooks known")


def _slot(slot: SlotFacts) -> str:
    state = slot["state"]
    if state.value == "none":
        return f"{slot['name'].words}: none, not needed by this graph"
    words = [str(state.value), *slot.short("shape", "dtype", "device")]
    words += [state.short] if state.value != "freed" else []
    words += slot.short("nbytes", "storage")
    return f"{slot['name'].short}: {phrases.join(words, ' ')}"


def _tensor_line(info: TensorInfo, context: Context) -> str:
    facts = context.of_tensor(info)
    words = [" ".join((facts["name"].words, *facts.short(*TENSOR_KEYS)))]
    words += facts.long(*FLAGS)
    words += facts.short("grad")
    words += [hook.long for hook in facts["hooks"].parts]
    words += facts.short("sharing")
    return " · ".join(words)


def node_cells(node: Node, context: Context) -> tuple[str, ...]:
    """The row of a node."""
    facts, variable = context.of_node(node), context.tensors.get(node.variable or "")
    words = [*facts.short("root"), *facts.long("source", "module")]
    if variable is not None:
        words.append(_tensor_line(variable, context))
    words += _memory(facts, saved=False)
    sizes = facts["shapes"].words
    if variable is not None:
        sizes = sizes or context.of_tensor(variable)["shape"].words
    return (
        node.id,
        context.node_name(node.id),
        facts["state"].words,
        sizes,
        ", ".join(f"{part.label}: {part.words}" for part in facts["next_functions"].parts),
        "; ".join(_slot(slot) for slot in facts.saved if slot["state"].value != "none"),
        "; ".join(words),
    )


def tensor_cells(info: TensorInfo, context: Context) -> tuple[str, ...]:
    """The row of a tensor that is not a leaf of the graph."""
    facts = context.of_tensor(info)
    places = "; ".join(f"{n} {clean(s)}" for n, s in context.saved_by.get(info.id, ()))
    return (
        info.id,
        facts["name"].words,
        "tensor",
        facts["shape"].words,
        facts["place"].short,
        f"saved by {places}" if places else "",
        _tensor_line(info, context),
    )
