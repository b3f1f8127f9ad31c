"""Everything that is known about one node or tensor, ready to be shown: the inspector's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from gradviz.model.facts import Node, SavedTensor, TensorInfo
from gradviz.view import phrases
from gradviz.view.context import Context
from gradviz.view.text import clean

Row: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Section:
    """Facts under one heading, as pairs of label and value."""

    heading: str
    rows: tuple[Row, ...]


def node_sections(node: Node, context: Context, tags: bool = True) -> tuple[Section, ...]:
    """What is known about a node: for an ``AccumulateGrad`` its leaf comes first.

    Args:
        node: The node.
        context: Its graph.
        tags: Whether the live tensors it made are described too.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> graph = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])
        >>> for section in node_sections(graph["n0"], Context(graph)):
        ...     print(section.heading, section.rows[0])
        SinBackward0 ('id', 'n0')
        next_functions ('0', 'None: no gradient needed')
    """
    sections = [Section(clean(node.name), tuple(_node_rows(node, context)))]
    following = tuple(_next_rows(node, context))
    if following:
        sections.append(Section("next_functions", following))
    if node.formula:
        sections.append(Section("derivative", tuple(formula_rows(node.formula))))
    if node.saved:
        rows = tuple((clean(s.name), saved_words(s, context)) for s in node.saved)
        sections.append(Section("saved tensors", rows))
    if node.attributes:
        rows = tuple((clean(name), phrases.attribute(v)) for name, v in node.attributes)
        sections.append(Section("saved numbers", rows))
    variable = context.tensors.get(node.variable or "")
    if variable is not None:
        sections.insert(0, tensor_section(variable, context))
    if tags:
        sections += [tensor_section(tag, context) for tag in context.tags.get(node.id, ())]
    return tuple(sections)


def tensor_section(info: TensorInfo, context: Context) -> Section:
    """What is known about one tensor."""
    return Section(f"tensor {phrases.tensor_name(info)}", tuple(_tensor_rows(info, context)))


def as_text(sections: tuple[Section, ...]) -> str:
    r"""Sections as lines of text, for a tooltip.

    Examples:
        >>> as_text((Section("saved tensors", (("self", "b, v0"),)),))
        'saved tensors\n  self: b, v0'
    """
    return "\n".join(
        "\n".join((section.heading, *(f"  {label}: {value}" for label, value in section.rows)))
        for section in sections
    )


def formula_rows(formula: str) -> list[Row]:
    """``self: grad * other`` as pairs of argument and expression."""
    rows = []
    for line in formula.split("\n"):
        argument, colon, expression = line.partition(": ")
        rows.append((clean(argument), clean(expression)) if colon else ("", clean(line)))
    return rows


def saved_words(slot: SavedTensor, context: Context) -> str:
    """All facts of one slot in one line."""
    if slot.state == "none":
        return "not needed by this graph"
    known = phrases.saved_tensor(slot, context.names)
    has_memory = slot.nbytes is not None or slot.storage is not None
    return phrases.join(
        (
            known,
            slot.state,
            phrases.saved_state(slot) if slot.state != "freed" else "",
            f"shape {phrases.shape(slot.shape)}" if slot.shape is not None else "",
            clean(slot.dtype or ""),
            context.place(slot.device),
            phrases.size(slot.nbytes) if slot.nbytes is not None else "",
            _storage(slot.storage, slot.storage_nbytes) if has_memory else "",
        ),
        ", ",
    )


def _storage(storage: str | None, nbytes: int | None) -> str:
    if storage is None:
        return ""
    return f"storage {storage}" + (f" of {phrases.size(nbytes)}" if nbytes is not None else "")


def _node_rows(node: Node, context: Context) -> list[Row]:
    rows = [("id", node.id)]
    if roots := context.roots.get(node.id):
        rows.append(("root", "output " + ", ".join(map(str, roots))))
    rows.append(("state", node.state))
    if node.source:
        rows.append(("made by", clean(node.source)))
    if node.module:
        rows.append(("module", clean(node.module)))
    if node.output_shapes and node.variable is None:
        rows.append(("output shapes", ", ".join(map(phrases.shape, node.output_shapes))))
    hooks = [phrases.hook(hook) for hook in node.hooks]
    if node.hooks_unknown:
        hooks.append("others unknown" if hooks else "unknown")
    rows.append(("hooks", ", ".join(hooks) or "none"))
    return rows


def _next_rows(node: Node, context: Context) -> list[Row]:
    rows = []
    for slot, entry in enumerate(node.next_functions):
        argument = node.arguments[slot] if slot < len(node.arguments) else None
        label = f"{slot} {clean(argument)}" if argument else str(slot)
        rows.append((label, context.entry(entry)))
    return rows


def _tensor_rows(info: TensorInfo, context: Context) -> list[Row]:
    made = (
        f"{info.node} {context.node_name(info.node)}, output {info.output_nr}" if info.node else ""
    )
    hooks = ", ".join(map(phrases.hook, info.hooks))
    grad = phrases.summary(info.grad)
    if info.grad is not None:
        more = (phrases.shape(info.grad.shape), phrases.dtype(info.grad.dtype))
        norm = "" if info.grad.norm is None else f"norm {phrases.number(info.grad.norm)}"
        grad = phrases.join((grad, *more, norm), ", ")
    rows = [
        ("id", info.id),
        ("shape", phrases.shape(info.shape)),
        ("dtype", clean(info.dtype)),
        ("device", context.place(info.device)),
        ("flags", ", ".join(phrases.flags(info))),
        ("version", "none, inference tensor" if info.version is None else str(info.version)),
        ("values", "" if info.values is None else phrases.numbers(info.values, info.shape)),
        (".grad", grad),
        ("hooks", hooks or "none"),
        ("made by", made or "no node of this graph"),
        ("storage", _storage(info.storage, None)),
        ("shares memory with", ", ".join(context.sharing.get(info.id, ()))),
    ]
    return [(label, value) for label, value in rows if value]
