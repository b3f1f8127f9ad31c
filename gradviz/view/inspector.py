"""The inspector: everything that is known about one node or tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from gradviz.model.facts import FLAGS, NodeFacts, NodeKey, SlotFacts, TensorKey
from gradviz.model.records import Node, TensorInfo
from gradviz.view import formatting
from gradviz.view.graph_index import GraphIndex

DetailRow: TypeAlias = tuple[str, str]

NODE_KEYS: Final[tuple[NodeKey, ...]] = ("id", "root", "state", "source", "module")
TENSOR_KEYS: Final[tuple[tuple[TensorKey, ...], ...]] = (
    ("id", "aliases", "shape", "dtype", "device"),
    ("version", "values"),
    ("hooks", "place", "storage", "sharing"),
)
"""Facts before the flags, before ``.grad`` and after it."""

FORMULA: Final = "torch's formula"
"""Heading of the derivatives as torch's own table has them."""


@dataclass(frozen=True, slots=True)
class Section:
    """Facts under one heading, as pairs of label and value."""

    heading: str
    rows: tuple[DetailRow, ...]


def node_sections(node: Node, graph_index: GraphIndex, tags: bool = True) -> tuple[Section, ...]:
    """What is known about a node: for an ``AccumulateGrad`` its leaf comes first.

    Args:
        node: The node.
        graph_index: Its graph.
        tags: Whether the existing tensors it made are described too.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> graph = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])
        >>> for section in node_sections(graph["n0"], GraphIndex.of(graph)):
        ...     print(section.heading, section.rows[0])
        SinBackward0 ('id', 'n0')
        next_functions ('0', 'None: no gradient needed')
    """
    facts = graph_index.of_node(node)
    parts = (
        ("next_functions", tuple(_next_rows(facts))),
        ("gradient", tuple((p.label, p.words) for p in facts["gradient"].parts)),
        (FORMULA, tuple((p.label, p.words) for p in facts["derivative"].parts)),
        ("saved tensors", tuple((s["name"].words, saved_words(s)) for s in facts.saved)),
        ("saved numbers", tuple((p.label, p.words) for p in facts["saved numbers"].parts)),
    )
    sections = [Section(facts["name"].words, tuple(_node_rows(node, facts)))]
    sections += [Section(heading, rows) for heading, rows in parts if rows]
    variable = graph_index.tensors.get(node.variable or "")
    if variable is not None:
        sections.insert(0, tensor_section(variable, graph_index))
    if tags:
        sections += [tensor_section(tag, graph_index) for tag in graph_index.tags.get(node.id, ())]
    return tuple(sections)


def tensor_section(info: TensorInfo, graph_index: GraphIndex) -> Section:
    """What is known about one tensor."""
    facts = graph_index.of_tensor(info)
    before, middle, after = TENSOR_KEYS
    rows = [
        *facts.rows(*before),
        ("flags", ", ".join(facts.long(*FLAGS))),
        *facts.rows(*middle),
        (".grad", formatting.join((facts["grad"].words, facts["grad summary"].words), ", ")),
        *facts.rows(*after),
    ]
    return Section(f"tensor {facts['name'].words}", tuple(rows))


def saved_words(slot: SlotFacts) -> str:
    """All facts of a saved tensor in one line."""
    state = slot["state"]
    if state.value == "none":
        return "not needed by this graph"
    words = [slot["tensor"].words, *slot.long("values"), *slot.short("condition")]
    words += slot.short("versions") if state.value != "freed" else []
    words += slot.long("shape", "dtype", "device", "nbytes", "storage")
    return formatting.join(words, ", ")


def _node_rows(node: Node, facts: NodeFacts) -> list[DetailRow]:
    keys: tuple[NodeKey, ...] = () if node.variable else ("shapes",)
    return facts.rows(*NODE_KEYS, *keys, "hooks")


def _next_rows(facts: NodeFacts) -> list[DetailRow]:
    """Entries by their place and, where it is known, the argument."""
    return [
        (part.label if part.label == str(slot) else f"{slot} {part.label}", part.words)
        for slot, part in enumerate(facts["next_functions"].parts)
    ]
