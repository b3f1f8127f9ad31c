"""From a graph to its cards: the content of each, and how it is shortened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final

from gradviz.model.facts import Fact, SlotFacts, Values, argument_of
from gradviz.model.records import Node, TensorInfo
from gradviz.view import aria, formatting, inspector
from gradviz.view.graph.card_lines import (
    FEW,
    ROOM,
    formula_lines,
    grad_lines,
    hook_lines,
    is_pinned,
    muted,
    retains_grad_lines,
    saved_numbers,
    tensor_lines,
)
from gradviz.view.graph.card_parts import MORE, Block, Card, CardContent, Line, Port, times
from gradviz.view.graph_index import GraphIndex
from gradviz.view.node_titles import title_of
from gradviz.view.style import NODE_CSS, POCKET_CSS, SIZES
from gradviz.view.text import cells, clean, shorten

COMPACT: Final = 220
"""Pixels of a name and a tag up to which they are beside each other on a compact card."""
POCKETS: Final = 8
"""Saved tensors that a card lists before it counts them."""


def node_card(
    node: Node,
    graph_index: GraphIndex,
    content: CardContent,
    hidden: Collection[str] = (),
) -> Card:
    """The card of a node; of an ``AccumulateGrad`` together with its leaf.

    Args:
        node: The node.
        graph_index: Its graph.
        content: What cards show.
        hidden: Nodes that have no link of their own for each entry that points to them.
    """

    def is_drawn(key: str) -> bool:
        return key not in hidden and graph_index.is_drawn(key)

    variable = graph_index.tensors.get(node.variable or "")
    tags = graph_index.tags.get(node.id, ()) if "tags" in content else ()
    if variable is not None:
        own = graph_index.of_node(node)["own hooks"].parts
        state = "Σ AccumulateGrad" if content.density == "full" else ""
        blocks = [*_leaf_blocks(variable, own, graph_index, content, state)]
        css = "gv-node gv-leaf"
    else:
        blocks, css = [*_node_blocks(node, graph_index, content)], "gv-node"
    rows = tag_blocks(node.id, graph_index, content)
    if content.density == "compact" and len(rows) == 1 and len(rows[0].lines) == 1:
        fits = blocks[0].width + rows[0].width <= COMPACT
        rows = [replace(rows[0], beside=fits)]
    blocks += rows
    blocks += _more(len(tags) - FEW, "tensor")
    chip = "leaf" if variable is not None and not content.is_brief else ""
    is_marked = node.state in ("freed", "packed", "opaque") and content.allows("saved")
    chip = node.state if is_marked else chip
    return Card(
        id=node.id,
        css=f"{css} {NODE_CSS[node.state]}",
        blocks=tuple(blocks),
        title=_title(node, graph_index, content),
        aria=aria.of_node(node, graph_index),
        inputs=inputs_of(node, is_drawn, content),
        outputs=outputs_of(node.id, node.output_shapes, graph_index),
        chip=chip,
        tensor=node.variable or "",
        is_brief=content.is_brief,
    )


def tensor_card(info: TensorInfo, graph_index: GraphIndex, content: CardContent) -> Card:
    """The card of a tensor that has no place in the graph."""
    facts = graph_index.of_tensor(info)
    state = facts.short("requires_grad", *(("place",) if info.requires_grad else ()))
    return Card(
        id=info.id,
        css="gv-tensor",
        blocks=(
            _title_block(shorten(facts["name"].words, 30)),
            Block("text", (muted(", ".join(state)), *tensor_lines(facts, content))),
        ),
        title=aria.of_tensor(info, graph_index),
        aria=aria.of_tensor(info, graph_index),
    )


def waiting_leaf_card(
    node_id: str, variable: TensorInfo, graph_index: GraphIndex, content: CardContent
) -> Card:
    """The card of a leaf at a step where no ``AccumulateGrad`` of it exists."""
    requires = graph_index.of_tensor(variable)["requires_grad"]
    state = "in no graph now" if requires.value else requires.short
    blocks = _leaf_blocks(
        variable, (), graph_index, content, "" if content.density == "compact" else state
    )
    return Card(
        id=node_id,
        css="gv-node gv-leaf gv-waiting",
        blocks=tuple(blocks),
        title=aria.of_tensor(variable, graph_index),
        aria=f"{aria.of_tensor(variable, graph_index)}, {state}",
        outputs=outputs_of(node_id, (), graph_index),
        chip="leaf" if variable.is_leaf and not content.is_brief else "",
        tensor=variable.id,
        is_brief=content.is_brief,
    )


def more_card(count: int, uses: Iterable[int] = ()) -> Card:
    """The stub for nodes that are not drawn.

    Args:
        count: How many nodes.
        uses: For each output of a drawn node, how many of their entries point to it.
    """
    inputs = tuple(Port(times(number)) for number in uses)
    text = f"… {formatting.plural(count, 'more node')} not drawn"
    block = Block("text", (Line(text, "gv-muted"),))
    return Card(id=MORE, css="gv-more", blocks=(block,), title=text, aria=text, inputs=inputs)


def _name_room(content: CardContent, is_leaf: bool) -> int:
    """Characters of a name before it is shortened."""
    if content.density == "compact":
        return 26
    return 30 if is_leaf else 44


def _title(node: Node, graph_index: GraphIndex, content: CardContent) -> str:
    """The texts that the card shortens, whole."""
    name, room = graph_index.node_name(node.id), _name_room(content, node.variable is not None)
    others = [node.source or "", f"in {node.module or ''}"]
    lines = [clean(line) for line in others if cells(line) > ROOM]
    return "\n".join((name, *lines)) if lines or cells(name) > room else ""


def _node_blocks(node: Node, graph_index: GraphIndex, content: CardContent) -> Iterator[Block]:
    facts = graph_index.of_node(node)
    has_tags = "tags" in content and node.id in graph_index.tags
    hooks = facts["own hooks" if has_tags else "hooks"].parts
    name, room = facts["name"].words, _name_room(content, is_leaf=False)
    title = name if content.density == "full" else clean(title_of(node, graph_index.titles))
    yield _title_block(shorten(title, room), is_pinned(hooks, content))
    lines = [Line(shorten(name, room), "gv-muted")] if title != name else []
    if "source" in content:
        lines += [Line(shorten(text, ROOM), "gv-source") for text in facts.short("source")]
        lines += [muted(text) for text in facts.short("module")]
    if "formula" in content:
        lines += formula_lines(facts)
    if "values" in content:
        pairs = ", ".join(part.short for part in saved_numbers(facts, content))
        lines += [muted(pairs)] if pairs else []
    if "shapes" in content and not has_tags:
        lines += [muted(text) for text in facts.short("shapes")]
    lines += hook_lines(hooks, content)
    if lines:
        yield Block("text", tuple(lines))
    there = [
        (i, s) for i, s in enumerate(facts.saved) if _has_pocket(node, s, i, graph_index, content)
    ]
    for place, slot in there[:POCKETS]:
        yield _pocket(f"{node.id}.saved.{place}", slot, content)
    yield from _more(len(there) - POCKETS, "saved tensor")


def _has_pocket(
    node: Node, slot: SlotFacts, place: int, graph_index: GraphIndex, content: CardContent
) -> bool:
    """Whether a saved tensor is drawn; one that was modified is, unless all of them are hidden."""
    state = slot["state"].value
    if state == "modified":
        return content.allows("saved")
    if state == "none" or "saved" not in content:
        return False
    return "constants" not in content.hidden or not _is_constant(node, place, graph_index)


def _is_constant(node: Node, place: int, graph_index: GraphIndex) -> bool:
    """Whether a saved tensor needs no gradient: it is outside the graph, or an argument of the
    call whose entry in ``next_functions`` is None."""
    slot = node.saved[place]
    info = graph_index.tensors.get(slot.tensor or slot.view_of or "")
    if info is not None:
        return info.node is None and not info.requires_grad
    entries = dict(zip(node.arguments, node.next_functions))
    return slot.name in entries and entries[slot.name] is None


def _title_block(name: str, pinned: bool = False) -> Block:
    line = Line(name, "gv-title", SIZES["title"], "pin" if pinned else "")
    return Block("title", (line,))


def _pocket(data_id: str, slot: SlotFacts, content: CardContent) -> Block:
    name, state = slot["name"].short, slot["state"]
    facts, values = [], _values(slot, content)
    if state.value in ("held", "modified"):
        is_whole = content.density == "full"
        is_said = slot["tensor"].words or (values and len(values.shape) < 2)
        facts += [slot["shape"].words] if "shapes" in content and (is_whole or not is_said) else []
        # The dtype of a number goes without saying: torch makes a tensor of the 2 in ``2 * w``.
        facts += slot.short("dtype", "device") if is_whole or not values or values.shape else []
    if state.value == "held" and content.has_version(slot["versions"].value):
        facts.append(state.short)
    if values:
        room = ROOM - 5 - cells(name) - cells(formatting.join(facts, " "))
        name = f"{name} = {formatting.numbers(values.values, values.shape, max(12, room))}"
    lines = [Line(_side_by_side(name, formatting.join(facts, " ")))]
    if state.value == "modified":
        lines.append(Line(shorten(state.short, ROOM), "gv-warn"))
    elif state.value != "held":
        lines = [Line(_side_by_side(name, state.short))]
    return Block(
        "pocket",
        tuple(lines),
        css=f"gv-pocket {POCKET_CSS[str(state.value)]}",
        data_id=data_id,
        title=f"saved tensor {slot['name'].words}: {inspector.saved_words(slot)}",
    )


def _values(slot: SlotFacts, content: CardContent) -> Values | None:
    """The values that a pocket shows: no tensor with a name has them."""
    values = slot["values"].value
    is_shown = slot["values"].short and "values" not in content.hidden
    return values if is_shown and isinstance(values, Values) else None


def _side_by_side(name: str, facts: str) -> str:
    facts = shorten(facts, ROOM - 12)
    return f"{shorten(name, max(12, ROOM - 2 - len(facts)))}  {facts}".rstrip()


def _leaf_blocks(
    variable: TensorInfo,
    own: tuple[Fact, ...],
    graph_index: GraphIndex,
    content: CardContent,
    state: str,
) -> Iterator[Block]:
    """Blocks of a leaf, with the hooks of its node that are not its own, and its state."""
    facts = graph_index.of_tensor(variable)
    hooks = (*facts["hooks"].parts, *own)
    yield _title_block(
        shorten(facts["name"].words, _name_room(content, is_leaf=True)), is_pinned(hooks, content)
    )
    lines = [*tensor_lines(facts, content), *grad_lines(facts, content), *retains_grad_lines(facts)]
    lines += hook_lines(hooks, content)
    if state:
        lines.append(Line(state, "gv-muted"))
    if lines:
        is_beside = content.density == "compact" and len(lines) == 1
        yield Block("text", tuple(lines), beside=is_beside)


def tag_blocks(node_id: str, graph_index: GraphIndex, content: CardContent) -> list[Block]:
    """The existing tensors that a node made, the first of many."""
    tags = graph_index.tags.get(node_id, ()) if "tags" in content else ()
    return [_tag(tag, graph_index, content) for tag in tags[:FEW]]


def _tag(info: TensorInfo, graph_index: GraphIndex, content: CardContent) -> Block:
    facts = graph_index.of_tensor(info)
    first, *lines = tensor_lines(facts, content, lead=shorten(facts["name"].words, 24))
    if content.density == "compact" and (
        is_pinned(facts["hooks"].parts, content) or info.retains_grad
    ):
        first = replace(first, icon="pin")
    else:
        lines += retains_grad_lines(facts)
    if info.retains_grad or info.grad is not None:
        lines += grad_lines(facts, content)
    lines += hook_lines(facts["hooks"].parts, content)
    return Block(
        "tag",
        (first, *lines),
        css="gv-tag",
        data_id=info.id,
        title=aria.of_tensor(info, graph_index),
    )


def _more(count: int, thing: str) -> list[Block]:
    if count <= 0:
        return []
    return [Block("text", (Line(f"… {formatting.plural(count, f'more {thing}')}", "gv-muted"),))]


def inputs_of(
    node: Node, is_drawn: Callable[[str], bool], content: CardContent
) -> tuple[Port, ...]:
    """A port per entry of ``next_functions``, and one for all whose nodes are not drawn."""
    hidden = [
        slot for slot, e in enumerate(node.next_functions) if e is not None and not is_drawn(e[0])
    ]
    others = frozenset(hidden[1:])
    crowded = len(node.next_functions) > FEW
    named = any(node.arguments) and not crowded
    ports = []
    for slot, entry in enumerate(node.next_functions):
        if slot in others or (entry is None and "constants" in content.hidden):
            continue
        count = len(hidden) if slot in hidden[:1] else 1
        label = shorten(argument_of(node, slot) or str(slot), 14) if named and count == 1 else ""
        if entry is None:
            label = f"{label}: no grad" if label else ("∅" if crowded else "no grad")
        ports.append(Port(label, "gv-port" if entry else "gv-stub", slot, count))
    return tuple(ports)


def outputs_of(
    node_id: str, shapes: tuple[tuple[int, ...] | None, ...], graph_index: GraphIndex
) -> tuple[Port, ...]:
    """A port per output that is used."""
    used = graph_index.used_outputs.get(node_id, ())
    several = len(shapes) > 1 or used[-1:] > (0,)
    ports = []
    for output_nr in used:
        label = f"output {output_nr}" if several and len(used) <= FEW else ""
        if output_nr in graph_index.roots.get(node_id, ()):
            ports.append(Port(f"root · {label}" if label else "root", "gv-root", output_nr))
        else:
            ports.append(Port(label, "gv-port", output_nr))
    return tuple(ports)
