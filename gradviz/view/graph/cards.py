"""From a graph to its cards: the content of each, and how it is shortened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from gradviz.model.facts import Fact, SlotFacts, TensorFacts, Values, argument_of
from gradviz.model.node_titles import title_of
from gradviz.model.records import Node, TensorInfo
from gradviz.view import aria, formatting, inspector
from gradviz.view.boxes import NO_BOXES, Boxes
from gradviz.view.graph.card_lines import (
    FEW,
    ROOM,
    brief_line,
    brief_values,
    few_numbers,
    formula_lines,
    grad_lines,
    hook_lines,
    is_pinned,
    muted,
    retains_grad_lines,
    saved_numbers,
    tensor_lines,
)
from gradviz.view.graph.card_parts import MORE, Block, Card, CardContent, Line, Port, Tab, times
from gradviz.view.graph_index import GraphIndex
from gradviz.view.style import NODE_CSS, POCKET_CSS, SIZES
from gradviz.view.text import cells, clean, shorten, width_of

COMPACT: Final = 220
"""Pixels of a name and a tag up to which they are beside each other on a compact card."""
BRIEF: Final = 22
"""Characters of a name that has what is said of a tensor beside it."""
TABS: Final = 8
"""Saved tensors that are a square each on a compact card."""
NAMES: Final = 4
"""Leaves whose names are on the card of several."""
LONGEST: Final = len("-0.1234")
"""Characters of a number that has room."""
PATH: Final = 16
"""Characters of the path of a module beside a title."""
POCKETS: Final = 8
"""Saved tensors that a card lists before it counts them."""


def node_card(
    node: Node,
    graph_index: GraphIndex,
    content: CardContent,
    hidden: Collection[str] = (),
    boxes: Boxes = NO_BOXES,
) -> Card:
    """The card of a node; of an ``AccumulateGrad`` together with its leaf.

    Args:
        node: The node.
        graph_index: Its graph.
        content: What cards show; a brief one is of all nodes in the box of the node.
        hidden: Nodes that have no link of their own for each entry that points to them.
        boxes: The boxes of several nodes.
    """
    others = boxes.members.get(node.id, ()) if content.is_brief else ()
    if others and node.variable and (several := leaves_card(node.id, graph_index, content, boxes)):
        return several
    made = map(graph_index.drawn_node, others)
    nodes = [node, *(row for row in made if row is not None)]
    end = graph_index.drawn_node(boxes.ends[node.id]) if others else node

    def is_drawn(key: str) -> bool:
        return key not in hidden and graph_index.is_drawn(key)

    variable = graph_index.tensors.get(node.variable or "")
    tags = [tag for one in nodes for tag in graph_index.tags.get(one.id, ())]
    if variable is not None:
        own = graph_index.of_node(node)["own hooks"].parts
        state = "Σ AccumulateGrad" if content.density == "full" else ""
        blocks = [*_leaf_blocks(variable, own, graph_index, content, state, boxes)]
        css = "gv-node gv-leaf gv-brief" if content.is_brief else "gv-node gv-leaf"
    else:
        title = boxes.titles.get(node.id, "") if others else ""
        is_tight = boxes.is_tight and content.density == "compact"
        blocks = [*_node_blocks(nodes, end or node, graph_index, content, title, is_tight)]
        made_words = _output(end or node, graph_index, content)
        if made_words:
            line = Line(made_words, "gv-name")
            blocks.insert(1, Block("text", (line,), beside=True, is_at_end=True))
        css = "gv-node"
    rows = [row for one in nodes for row in tag_blocks(one.id, graph_index, content)][:FEW]
    if content.density == "compact" and len(rows) == 1 and len(rows[0].lines) == 1:
        fits = blocks[0].width + rows[0].width <= COMPACT
        rows = [replace(rows[0], beside=fits)]
    blocks += rows
    blocks += _more(len(tags) - FEW if "tags" in content else 0, "tensor")
    chip = "leaf" if variable is not None and not content.is_brief else ""
    tabs = (*_tabs(nodes, graph_index, content),) if content.density == "compact" else ()
    state = next((one.state for one in nodes if one.state != "saves nothing"), node.state)
    is_marked = state in ("freed", "packed", "opaque") and content.allows("saved")
    inputs = inputs_of(node, is_drawn, content)
    if len(nodes) > 1:
        inputs = tuple(_inputs_of_box(node, nodes, end or node, is_drawn, content))
    return Card(
        id=node.id,
        css=f"{css} {NODE_CSS[state]}",
        blocks=tuple(_with_room(blocks, graph_index)),
        title=_title(nodes, graph_index, content, boxes.is_tight),
        aria="; with ".join(aria.of_node(one, graph_index) for one in nodes),
        inputs=inputs,
        outputs=() if end is None else outputs_of(end.id, end.output_shapes, graph_index),
        chip=state if is_marked else chip,
        tabs=tabs[:TABS],
        more_tabs=max(0, len(tabs) - TABS),
        tensor=node.variable or "",
        others=others,
        is_brief=content.is_brief,
    )


def _output(node: Node, graph_index: GraphIndex, content: CardContent) -> str:
    """The few numbers that a node made; a tensor on its card says them itself."""
    made = graph_index.outputs.get((node.id, 0))
    is_said = "tags" in content and any(
        info.output_nr == 0 for info in graph_index.tags.get(node.id, ())
    )
    if made is None or made.values is None or is_said or not content.allows("values"):
        return ""
    return few_numbers(made.values, made.shape)


def _with_room(blocks: Iterable[Block], graph_index: GraphIndex) -> Iterator[Block]:
    """The blocks, where another run may follow with room for a longer number at the end of each
    line: so nothing moves while a slider is dragged."""
    for block in blocks:
        if graph_index.keeps_room and block.kind != "title":
            room = max(line.width + _missing(line) for line in block.lines)
            yield replace(block, room=room)
        else:
            yield block


def _missing(line: Line) -> float:
    """Width that the number at the end of a line could have beyond its own."""
    last = line.whole.rpartition(" ")[2]
    try:
        float(last.replace("None", "nan"))
    except ValueError:
        return 0.0
    return width_of("0" * max(0, LONGEST - cells(last)), line.size)


def tensor_card(
    info: TensorInfo, graph_index: GraphIndex, content: CardContent, boxes: Boxes = NO_BOXES
) -> Card:
    """The card of a tensor that has no place in the graph.

    Args:
        info: The tensor.
        graph_index: The graph.
        content: What cards show.
        boxes: Where its module is said.
    """
    facts = graph_index.of_tensor(info)
    state = facts.short("requires_grad", *(("place",) if info.requires_grad else ()))
    name, others = facts["name"].words, (*tensor_lines(facts, content),)
    is_plain = content.density == "compact" and not info.requires_grad and not others
    said = muted("no gradient" if is_plain else ", ".join(state))
    blocks = (
        _tensor_title(boxes.name(info.id, name), BRIEF if is_plain else 30, content),
        *_brief_block(facts, content),
        Block("text", (said, *others), beside=is_plain),
    )
    return Card(
        id=info.id,
        css="gv-tensor",
        blocks=tuple(_with_room(blocks, graph_index)),
        title=aria.of_tensor(info, graph_index),
        aria=aria.of_tensor(info, graph_index),
    )


def waiting_leaf_card(
    node_id: str,
    variable: TensorInfo,
    graph_index: GraphIndex,
    content: CardContent,
    boxes: Boxes = NO_BOXES,
) -> Card:
    """The card of a leaf at a step where no ``AccumulateGrad`` of it exists."""
    requires = graph_index.of_tensor(variable)["requires_grad"]
    state = "in no graph now" if requires.value else requires.short
    blocks = _leaf_blocks(
        variable, (), graph_index, content, "" if content.density == "compact" else state, boxes
    )
    return Card(
        id=node_id,
        css=f"gv-node gv-leaf {'gv-brief ' if content.is_brief else ''}gv-waiting",
        blocks=tuple(blocks),
        title=aria.of_tensor(variable, graph_index),
        aria=f"{aria.of_tensor(variable, graph_index)}, {state}",
        outputs=outputs_of(node_id, (), graph_index),
        chip="leaf" if variable.is_leaf and not content.is_brief else "",
        tensor=variable.id,
        is_brief=content.is_brief,
    )


def leaves_card(
    key: str, graph_index: GraphIndex, content: CardContent, boxes: Boxes
) -> Card | None:
    """The card of several leaves, which counts those that have a gradient; ``None`` while none of
    them exists.

    Args:
        key: The node of the first one.
        graph_index: The graph.
        content: What cards show.
        boxes: What is one card.
    """
    rows, waiting = dict[str, Node](), dict[str, TensorInfo]()
    for one in (key, *boxes.members[key]):
        if (row := graph_index.rows.get(one)) is not None:
            rows[one] = row
        elif (info := graph_index.waiting(one)) is not None:
            waiting[one] = info
    own = (graph_index.tensors.get(row.variable or "") for row in rows.values())
    leaves = [*filter(None, own), *waiting.values()]
    if not leaves:
        return None
    facts = [graph_index.of_tensor(info) for info in leaves]
    names = ", ".join(boxes.name(info.id, one["name"].words) for info, one in zip(leaves, facts))
    is_short = len(leaves) <= NAMES and cells(names) <= BRIEF
    hooks = any(is_pinned(one["hooks"].parts, content) for one in facts)
    title = names if is_short else formatting.plural(len(leaves), "param")
    blocks = [_tensor_title(title, BRIEF, content, hooks)]
    if "grad" in content:
        blocks.append(Block("text", (_gradients(leaves),), beside=True))
    said = [aria.of_tensor(info, graph_index) for info in leaves]
    state = next((NODE_CSS[row.state] for row in rows.values()), "gv-waiting")
    return Card(
        id=key,
        css=f"gv-node gv-leaf gv-brief {state}",
        blocks=(*blocks, *(row for one in rows for row in tag_blocks(one, graph_index, content))),
        title="\n".join(said),
        aria="; with ".join(said),
        outputs=outputs_of(key, (), graph_index),
        tensor=leaves[0].id,
        others=boxes.members[key],
        tensors=tuple(info.id for info in leaves[1:]),
        is_brief=True,
    )


def _gradients(leaves: Sequence[TensorInfo]) -> Line:
    """Of how many leaves ``.grad`` is not None, and whether there are nan or inf in one."""
    there = [info.grad for info in leaves if info.grad is not None]
    if not there:
        return Line(".grad None")
    bad = dict.fromkeys(filter(None, map(formatting.not_finite, there)))
    return Line(f".grad {len(there)} of {len(leaves)}{''.join(bad)}")


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


def _title(
    nodes: Sequence[Node], graph_index: GraphIndex, content: CardContent, is_tight: bool
) -> str:
    """The texts that the card shortens or leaves out, whole."""
    node, room = nodes[0], _name_room(content, nodes[0].variable is not None)
    names = [graph_index.node_name(one.id) for one in nodes]
    others = [node.source or "", f"in {node.module or ''}"]
    lines = [clean(line) for line in others if cells(line) > ROOM]
    is_whole = len(nodes) == 1 and not is_tight and cells(names[0]) <= room
    return "" if is_whole and not lines else "\n".join((" + ".join(names), *lines))


def _node_blocks(
    nodes: Sequence[Node],
    end: Node,
    graph_index: GraphIndex,
    content: CardContent,
    title: str,
    is_tight: bool,
) -> Iterator[Block]:
    """Title, lines and saved tensors of the first node, the shapes of the last one, and the saved
    tensors of all others."""
    node, others = nodes[0], len(nodes) - 1
    facts = graph_index.of_node(node)
    has_tags = "tags" in content and node.id in graph_index.tags
    hooks = facts["own hooks" if has_tags else "hooks"].parts
    name, room = facts["name"].words, _name_room(content, is_leaf=False)
    title = title or clean(title_of(node, graph_index.titles))
    title = name if content.density == "full" else title
    yield _title_block(shorten(title, room), is_pinned(hooks, content))
    path = node.module if content.density == "compact" and node.id in graph_index.titles else ""
    if path:
        yield Block("text", (Line(shorten(clean(path), PATH), "gv-muted"),), beside=True)
    beneath = [shorten(name, room)] if title != name else []
    beneath += [f"+{others}"] if others else []
    lines = [Line(" ".join(beneath), "gv-muted")] if beneath and not is_tight else []
    if "source" in content:
        lines += [Line(shorten(text, ROOM), "gv-source") for text in facts.short("source")]
        lines += [muted(text) for text in facts.short("module")]
    if "formula" in content:
        lines += formula_lines(facts)
    if "values" in content:
        pairs = ", ".join(part.short for part in saved_numbers(facts, content))
        lines += [muted(pairs)] if pairs else []
    if "shapes" in content and not has_tags:
        lines += [muted(text) for text in graph_index.of_node(end).short("shapes")]
    lines += hook_lines(hooks, content)
    if lines:
        yield Block("text", tuple(lines))
    there = [
        (f"{one.id}.saved.{i}", s)
        for one in nodes
        for i, s in enumerate(graph_index.of_node(one).saved)
        if _has_pocket(one, s, i, graph_index, content)
    ]
    for own_id, slot in there[:POCKETS]:
        yield _pocket(own_id, slot, content)
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


def _brief_block(facts: TensorFacts, content: CardContent) -> Iterator[Block]:
    """Values or shape of a tensor on a compact card, beside its name."""
    line = brief_line(facts, content) if content.density == "compact" else None
    if line is not None:
        yield Block("text", (line,), beside=True)


def _tensor_title(name: str, room: int, content: CardContent, pinned: bool = False) -> Block:
    """The name of a tensor: on brief cards no larger than what is beside it."""
    block = _title_block(shorten(name, room), pinned)
    if not content.is_brief:
        return block
    return replace(block, lines=(replace(block.lines[0], css="gv-name", size=SIZES["text"]),))


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


def _tabs(nodes: Sequence[Node], graph_index: GraphIndex, content: CardContent) -> Iterator[Tab]:
    """The saved tensors that have no block."""
    for node in nodes:
        for place, slot in enumerate(graph_index.of_node(node).saved):
            state = slot["state"].value
            is_there = state != "none" and content.allows("saved")
            if not is_there or _has_pocket(node, slot, place, graph_index, content):
                continue
            if "constants" not in content.hidden or not _is_constant(node, place, graph_index):
                own_id = f"{node.id}.saved.{place}"
                said = f"saved tensor {slot['name'].words}: {state}"
                yield Tab(own_id, f"gv-tab {POCKET_CSS[str(state)]}", said)


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
    boxes: Boxes,
) -> Iterator[Block]:
    """Blocks of a leaf, with the hooks of its node that are not its own, and its state."""
    facts = graph_index.of_tensor(variable)
    hooks = (*facts["hooks"].parts, *own)
    name = facts["name"].words
    name = boxes.name(variable.id, name) if content.is_brief else name
    room = _name_room(content, is_leaf=True)
    yield _tensor_title(name, room, content, is_pinned(hooks, content))
    yield from _brief_block(facts, content)
    lines = [*tensor_lines(facts, content), *grad_lines(facts, content), *retains_grad_lines(facts)]
    lines += hook_lines(hooks, content)
    if state:
        lines.append(Line(state, "gv-muted"))
    if lines:
        is_beside = content.density == "compact" and len(lines) == 1
        is_at_end = is_beside and graph_index.keeps_room
        yield Block("text", tuple(lines), beside=is_beside, is_at_end=is_at_end)


def tag_blocks(node_id: str, graph_index: GraphIndex, content: CardContent) -> list[Block]:
    """The existing tensors that a node made, the first of many."""
    tags = graph_index.tags.get(node_id, ()) if "tags" in content else ()
    return [_tag(tag, graph_index, content) for tag in tags[:FEW]]


def _tag(info: TensorInfo, graph_index: GraphIndex, content: CardContent) -> Block:
    facts = graph_index.of_tensor(info)
    first, *lines = tensor_lines(facts, content, lead=shorten(facts["name"].words, 24))
    if content.density == "compact" and (values := brief_values(facts, content)):
        first = replace(first, text=formatting.join((values, first.text), " "))
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
        is_light=content.density == "compact",
    )


def _more(count: int, thing: str) -> list[Block]:
    if count <= 0:
        return []
    return [Block("text", (Line(f"… {formatting.plural(count, f'more {thing}')}", "gv-muted"),))]


def _inputs_of_box(
    head: Node,
    nodes: Sequence[Node],
    end: Node,
    is_drawn: Callable[[str], bool],
    content: CardContent,
) -> Iterator[Port]:
    """The ports of a box in the order in which its nodes use them: where the node that it is called
    by uses another one of them, the name of the argument is that of its own.

    Args:
        head: The node that the box is called by.
        nodes: All nodes in it.
        end: The one whose outputs are used outside.
        is_drawn: Whether a node is drawn.
        content: What cards show.
    """
    rows = {node.id: node for node in nodes}

    def ports(node: Node, label: str | None) -> Iterator[Port]:
        for port in inputs_of(rows.pop(node.id), is_drawn, content):
            own = port.label if label is None else label
            entry = node.next_functions[port.slot]
            inner = rows.get(entry[0]) if entry else None
            if inner is not None:
                yield from ports(inner, own if label is not None or node is head else None)
            elif entry is None or entry[0] not in within:
                yield replace(port, label=own)

    within = frozenset(rows)
    yield from ports(end, None)


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
        ports.append(Port(label, "gv-port" if entry else "gv-stub", slot, count, node.id))
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
