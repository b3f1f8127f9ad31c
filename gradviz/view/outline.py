"""The picture as text: the same facts in a fixed order, for terminals, diffs and screen readers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.model.facts import Node, SavedTensor, TensorInfo
from gradviz.model.graph import Graph, set_outline
from gradviz.view import details, phrases, sentences
from gradviz.view.context import Context
from gradviz.view.text import clean

LIMIT: Final = 2000
"""How many nodes are listed; a line says how many are not."""

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
    context = Context(graph, LIMIT)
    where = f"; on {context.devices}" if context.devices else ""
    lines = [sentences.of_graph(context) + where]
    for node in context.nodes:
        lines += _node_lines(node, context)
    if len(graph) > LIMIT:
        lines.append(f"… {phrases.plural(len(graph) - LIMIT, 'more node')} not listed")
    if context.outside:
        lines.append("outside the graph")
        for info in context.outside:
            lines += _tensor_lines(info, context, f"{info.id} ")
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
    context = Context(graph, limit)
    rows: list[Row] = []
    for node in context.nodes:
        rows.append(Row(node.id, node_cells(node, context)))
        rows += [Row(tag.id, tensor_cells(tag, context)) for tag in context.tags.get(node.id, ())]
    rows += [Row(info.id, tensor_cells(info, context)) for info in context.outside]
    return Table(COLUMNS, tuple(rows))


def _node_lines(node: Node, context: Context) -> Iterator[str]:
    variable = context.tensors.get(node.variable or "")
    words = [f"{node.id} {clean(node.name)}"]
    words += [f"root{_outputs(node, context)}"] if node.id in context.roots else []
    if variable is None or node.state != "saves nothing":
        words.append(node.state)
    words += [clean(node.module)] if node.module else []
    yield " · ".join(words)
    if node.source:
        yield f"   made by {clean(node.source)}"
    if variable is not None:
        yield from _tensor_lines(variable, context, "   leaf ")
    for slot, entry in enumerate(node.next_functions):
        argument = node.arguments[slot] if slot < len(node.arguments) else None
        yield f"   {clean(argument) if argument else slot} -> {context.entry(entry)}"
    yield from _memory_lines(node, context)
    if len(node.output_shapes) > 1 or (
        node.id not in context.tags and variable is None and any(node.output_shapes)
    ):
        yield "   output " + ", ".join(map(phrases.shape, node.output_shapes))
    for tag in context.tags.get(node.id, ()):
        nr = f"output {tag.output_nr} " if tag.output_nr else ""
        yield from _tensor_lines(tag, context, f"   {nr}is {tag.id} ")


def _memory_lines(node: Node, context: Context) -> Iterator[str]:
    if node.formula:
        for name, text in details.formula_rows(node.formula):
            yield f"   derivative {name}: {text}" if name else f"   derivative {text}"
    for slot in node.saved:
        yield f"   saved {_slot(slot, context)}"
    if node.attributes:
        pairs = (f"{clean(n)}={phrases.attribute(v)}" for n, v in node.attributes)
        yield f"   with {', '.join(pairs)}"
    for hook in node.hooks:
        if not any(hook in tag.hooks for tag in _tensors_of(node, context)):
            yield f"   {phrases.hook(hook)}"
    if not node.hooks_unknown:
        yield "   all hooks known"


def _tensors_of(node: Node, context: Context) -> list[TensorInfo]:
    variable = context.tensors.get(node.variable or "")
    return [*context.tags.get(node.id, ()), *([variable] if variable else [])]


def _slot(slot: SavedTensor, context: Context) -> str:
    if slot.state == "none":
        return f"{clean(slot.name)}: none, not needed by this graph"
    return f"{phrases.saved_name(slot, context.names)}: " + phrases.join(
        (
            slot.state,
            phrases.shape(slot.shape) if slot.shape is not None else "",
            phrases.dtype(slot.dtype),
            context.place(slot.device),
            phrases.saved_state(slot) if slot.state != "freed" else "",
            phrases.size(slot.nbytes) if slot.nbytes is not None else "",
            f"in {slot.storage}" if slot.storage else "",
        ),
        " ",
    )


def _tensor_lines(info: TensorInfo, context: Context, start: str) -> Iterator[str]:
    version = "no version" if info.version is None else f"v{info.version}"
    values = "" if info.values is None else "= " + phrases.numbers(info.values, info.shape)
    facts = (phrases.shape(info.shape), phrases.dtype(info.dtype), context.place(info.device))
    words = [phrases.join((phrases.tensor_name(info), *facts, version, values), " ")]
    words += phrases.flags(info)
    if (info.requires_grad and (info.is_leaf or info.retains_grad)) or info.grad is not None:
        words.append(f".grad {phrases.summary(info.grad)}")
    words += [phrases.hook(hook) for hook in info.hooks]
    if others := context.sharing.get(info.id):
        words.append(f"shares memory with {', '.join(others)}")
    yield start + " · ".join(words)


def _outputs(node: Node, context: Context) -> str:
    roots = context.roots[node.id]
    return "" if roots == [0] else " output " + ", ".join(map(str, roots))


def node_cells(node: Node, context: Context) -> tuple[str, ...]:
    """The row of a node."""
    variable = context.tensors.get(node.variable or "")
    facts = [f"root{_outputs(node, context)}"] if node.id in context.roots else []
    if node.source:
        facts.append(f"made by {clean(node.source)}")
    if node.module:
        facts.append(f"module {clean(node.module)}")
    if variable is not None:
        facts.append(next(_tensor_lines(variable, context, "")))
    facts += (line.strip() for line in _memory_lines(node, context) if "   saved " not in line)
    return (
        node.id,
        context.node_name(node.id),
        node.state,
        ", ".join(map(phrases.shape, node.output_shapes))
        or (phrases.shape(variable.shape) if variable else ""),
        ", ".join(_leads_to(node, context)),
        "; ".join(_slot(slot, context) for slot in node.saved if slot.state != "none"),
        "; ".join(facts),
    )


def _leads_to(node: Node, context: Context) -> Iterator[str]:
    for slot, entry in enumerate(node.next_functions):
        argument = node.arguments[slot] if slot < len(node.arguments) else None
        yield f"{clean(argument) if argument else slot}: {context.entry(entry)}"


def tensor_cells(info: TensorInfo, context: Context) -> tuple[str, ...]:
    """The row of a tensor that is not a leaf of the graph."""
    made = f"output {info.output_nr} of {info.node}" if info.node else "outside the graph"
    places = "; ".join(f"{n} {clean(s)}" for n, s in context.saved_by.get(info.id, ()))
    return (
        info.id,
        phrases.tensor_name(info),
        "tensor",
        phrases.shape(info.shape),
        made,
        f"saved by {places}" if places else "",
        next(_tensor_lines(info, context, "")),
    )


set_outline(outline)
