"""From a graph to its cards: the content of each, and how it is shortened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Final

from gradviz.model.facts import (
    Fact,
    NodeFacts,
    SlotFacts,
    TensorFacts,
    TensorKey,
    Values,
    argument_of,
)
from gradviz.model.records import Node, Number, TensorInfo, ValueSummary
from gradviz.view import aria, formatting, inspector
from gradviz.view.graph.card_parts import MORE, Block, Card, CardContent, Line, Port, times
from gradviz.view.graph_index import GraphIndex
from gradviz.view.style import NODE_CSS, POCKET_CSS, SIZES
from gradviz.view.text import cells, clean, shorten

ROOM: Final = 38
"""Characters of a line before it is shortened."""
NARROW: Final = 22
"""Characters of a gradient on a compact card."""
DULL: Final = ("sizes", "strides", "options", "scalar_type", "layout", "numel", "geometry")
"""How names of saved numbers end that stay off the card."""
DEFAULTS: Final[dict[str, object]] = {
    "accumulate": False,
    "alpha": 1,
    "approximate": "none",
    "beta": 1,
    "descending": False,
    "diagonal": 0,
    "dilation": 1,
    "groups": 1,
    "hermitian": False,
    "ignore_index": -100,
    "keepdim": False,
    "largest": True,
    "log_target": False,
    "offset": 0,
    "padding": 0,
    "reduction": 1,
    "scale": 1,
    "sorted": True,
    "start": 0,
    "step": 1,
}
"""Saved numbers that only the full card has: what torch takes where an argument is not given."""
FEW: Final = 6
"""Saved tensors, tags, hooks and lines of a formula that a card lists before it counts them."""

TENSOR_KEYS: Final[tuple[TensorKey, ...]] = (
    "shape",
    "dtype",
    "device",
    "output",
    "view",
    "inference",
    "version",
)
"""Facts in the first line of a tensor."""
PART_OF: Final[dict[TensorKey, str]] = {"shape": "shapes", "values": "values", "grad": "grad"}
"""The part of the picture that such a fact belongs to, if one can hide it."""


def node_card(node: Node, graph_index: GraphIndex, content: CardContent) -> Card:
    """The card of a node; of an ``AccumulateGrad`` together with its leaf."""
    variable = graph_index.tensors.get(node.variable or "")
    tags = graph_index.tags.get(node.id, ()) if "tags" in content else ()
    if variable is not None:
        own = graph_index.of_node(node)["own hooks"].parts
        state = "Σ AccumulateGrad" if content.density == "full" else ""
        blocks = [*_leaf_blocks(variable, own, graph_index, content, state)]
        css = "gv-node gv-leaf"
    else:
        blocks, css = [*_node_blocks(node, graph_index, content)], "gv-node"
    rows = [_tag(tag, graph_index, content) for tag in tags[:FEW]]
    if content.density == "compact" and len(rows) == 1 and len(rows[0].lines) == 1:
        rows = [replace(rows[0], beside=True)]
    blocks += rows
    blocks += _more(len(tags) - FEW, "tensor")
    chip = "leaf" if variable is not None else ""
    is_marked = node.state in ("freed", "packed", "opaque") and content.allows("saved")
    chip = node.state if is_marked else chip
    return Card(
        id=node.id,
        css=f"{css} {NODE_CSS[node.state]}",
        blocks=tuple(blocks),
        title=_title(node, graph_index),
        aria=aria.of_node(node, graph_index),
        inputs=inputs_of(node, graph_index.is_drawn, content),
        outputs=outputs_of(node.id, node.output_shapes, graph_index),
        chip=chip,
        tensor=node.variable or "",
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
            Block("text", (_muted(", ".join(state)), *_facts(facts, content))),
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
        chip="leaf" if variable.is_leaf else "",
        tensor=variable.id,
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


def _title(node: Node, graph_index: GraphIndex) -> str:
    """The texts that the card shortens, whole."""
    name, room = graph_index.node_name(node.id), 30 if node.variable else 44
    others = [node.source or "", f"in {node.module or ''}"]
    lines = [clean(line) for line in others if cells(line) > ROOM]
    return "\n".join((name, *lines)) if lines or cells(name) > room else ""


def _node_blocks(node: Node, graph_index: GraphIndex, content: CardContent) -> Iterator[Block]:
    facts = graph_index.of_node(node)
    has_tags = "tags" in content and node.id in graph_index.tags
    hooks = facts["own hooks" if has_tags else "hooks"].parts
    yield _title_block(shorten(facts["name"].words, 44), _is_pinned(hooks, content))
    lines = []
    if "source" in content:
        lines += [Line(shorten(text, ROOM), "gv-source") for text in facts.short("source")]
        lines += [_muted(text) for text in facts.short("module")]
    if "formula" in content:
        lines += _formula(facts)
    if "values" in content:
        pairs = ", ".join(part.short for part in _numbers(facts, content))
        lines += [_muted(pairs)] if pairs else []
    if "shapes" in content and not has_tags:
        lines += [_muted(text) for text in facts.short("shapes")]
    lines += _hooks(hooks, content)
    if lines:
        yield Block("text", tuple(lines))
    there = [
        (i, s) for i, s in enumerate(facts.saved) if _has_pocket(node, s, i, graph_index, content)
    ]
    for place, slot in there[:FEW]:
        yield _pocket(f"{node.id}.saved.{place}", slot, content)
    yield from _more(len(there) - FEW, "saved tensor")


def _numbers(facts: NodeFacts, content: CardContent) -> Iterator[Fact]:
    """Saved numbers; sizes and options from the forward are left to outline and details."""
    for part in facts["saved numbers"].parts:
        is_default = content.density != "full" and _is_default(part.label, part.value)
        if not part.label.endswith(DULL) and not is_default:
            yield part


def _is_default(name: str, value: object) -> bool:
    """Whether a call without this argument would do the same."""
    if isinstance(value, tuple):
        return bool(value) and all(_is_default(name, one) for one in value)
    return value is None or (name in DEFAULTS and value == DEFAULTS[name])


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


def _muted(text: str) -> Line:
    return Line(shorten(text, ROOM), "gv-muted")


def _formula(facts: NodeFacts) -> list[Line]:
    """How gradients are computed, whole; a count stands for those beyond the first lines."""
    lines: list[Line] = []
    parts = facts["gradient"].parts
    for number, part in enumerate(parts):
        rows = wrap(part.short, ROOM + 4)
        if lines and len(lines) + len(rows) > FEW:
            more = formatting.plural(len(parts) - number, "more gradient")
            return [*lines, Line(f"… {more}", "gv-muted")]
        lines += [Line(shorten(row, ROOM + 4, end=True), "gv-formula") for row in rows]
    return lines


def _pocket(data_id: str, slot: SlotFacts, content: CardContent) -> Block:
    name, state = slot["name"].short, slot["state"]
    facts = []
    if state.value in ("held", "modified"):
        is_said = content.density != "full" and slot["tensor"].words
        facts += [slot["shape"].words] if "shapes" in content and not is_said else []
        facts += slot.short("dtype", "device")
    if state.value == "held" and content.has_version(slot["versions"].value):
        facts.append(state.short)
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
    yield _title_block(shorten(facts["name"].words, 30), _is_pinned(hooks, content))
    lines = [*_facts(facts, content), *_grad(facts, content), *_retains_grad(facts)]
    lines += _hooks(hooks, content)
    if state:
        lines.append(Line(state, "gv-muted"))
    if lines:
        yield Block("text", tuple(lines))


def _tag(info: TensorInfo, graph_index: GraphIndex, content: CardContent) -> Block:
    facts = graph_index.of_tensor(info)
    first, *lines = _facts(facts, content, lead=shorten(facts["name"].words, 24))
    if content.density == "compact" and (
        _is_pinned(facts["hooks"].parts, content) or info.retains_grad
    ):
        first = replace(first, icon="pin")
    else:
        lines += _retains_grad(facts)
    if info.retains_grad or info.grad is not None:
        lines += _grad(facts, content)
    lines += _hooks(facts["hooks"].parts, content)
    return Block(
        "tag",
        (first, *lines),
        css="gv-tag",
        data_id=info.id,
        title=aria.of_tensor(info, graph_index),
    )


def _facts(facts: TensorFacts, content: CardContent, lead: str = "") -> Iterator[Line]:
    """Shape, what is unusual, version and values: in one line if they fit.

    A version or values that changed have a line of their own, with what they were.
    """
    keys = [key for key in TENSOR_KEYS if _has_fact(facts, key, content)]
    changed = [line for key in ("version", "values") if (line := _changed(facts, key, content))]
    if "version" in keys and facts.changed("version"):
        keys.remove("version")
    words, values = " ".join(facts.short(*keys)), facts["values"]
    text = values.short if "values" in content and not facts.changed("values") else ""
    rows = []
    if text and isinstance(values.value, Values):
        rows = _matrix("=", values.value.values, values.value.shape)
    room = ROOM - cells(lead)
    together = formatting.join((words, text), " ")
    if not rows and cells(together) <= room:
        words, text = together, ""
    if words or lead:
        yield Line(shorten(words, room), "gv-muted", lead=lead)
    if text and isinstance(values.value, Values):
        fitting = formatting.numbers(values.value.values, values.value.shape, ROOM - 2)
        yield from map(_muted, rows or [f"= {fitting}"])
    yield from changed
    for others in facts.short("sharing") if content.density != "compact" else ():
        yield Line(shorten(others, ROOM), "gv-muted", icon="bar")


def _matrix(lead: str, values: Sequence[Number], sizes: Sequence[int]) -> list[str]:
    """The rows of a small matrix, below each other after a word; none where it does not fit."""
    rows = formatting.matrix_rows(values, sizes)
    before = [lead, *[formatting.SPACE * cells(lead)] * (len(rows) - 1)]
    rows = [f"{word}{formatting.SPACE}{row}" for word, row in zip(before, rows)]
    return rows if all(cells(row) <= ROOM for row in rows) else []


def _has_fact(facts: TensorFacts, key: TensorKey, content: CardContent) -> bool:
    """Whether cards say a fact; compact ones say few."""
    if key == "version":
        return content.has_version(facts[key].value)
    if key in PART_OF:
        return PART_OF[key] in content
    return content.density != "compact"


def _retains_grad(facts: TensorFacts) -> list[Line]:
    return [Line(text, icon="pin") for text in facts.short("retains_grad")]


def _grad(facts: TensorFacts, content: CardContent) -> Iterator[Line]:
    if "grad" in content:
        change = _changed(facts, "grad", content)
        yield from [change] if change else map(Line, _grad_rows(facts["grad"], content))


def _changed(facts: TensorFacts, key: TensorKey, content: CardContent) -> Line | None:
    """The line of a fact that was another before: ``.grad None → 1.0``."""
    was, now = facts.changed(key), facts[key]
    if was is None or not now.words or not _has_fact(facts, key, content):
        return None
    label = {"version": "version", "values": "="}.get(key, now.label)
    room = ROOM - cells(label) - 1
    both = (was.words or "none", now.words)
    fits = cells(" → ".join(both)) <= room
    return Line(label, change=both if fits else ("", shorten(now.words, room)))


def _grad_rows(fact: Fact, content: CardContent) -> list[str]:
    """``.grad`` in a line, a small matrix in several; compact in few words."""
    grad, label = fact.value, fact.label
    if not isinstance(grad, ValueSummary):
        return [f"{label} {fact.words}"]
    bad = formatting.not_finite(grad)
    if content.density == "compact":
        return [f"{label} {formatting.gradient_words(grad, NARROW)}{bad}"]
    if grad.values is None:
        return [shorten(f"{label} {fact.words}", ROOM)]
    fitting = formatting.numbers(grad.values, grad.shape, ROOM - cells(label + bad) - 1)
    rows = _matrix(label, grad.values, grad.shape) or [f"{label} {fitting}"]
    return [*rows[:-1], f"{rows[-1]}{bad}"]


def _is_pinned(hooks: tuple[Fact, ...], content: CardContent) -> bool:
    """Whether a pin stands for hooks that are not listed."""
    return bool(hooks) and content.density == "compact" and content.allows("hooks")


def _hooks(hooks: tuple[Fact, ...], content: CardContent) -> list[Line]:
    if "hooks" not in content:
        return []
    lines = [Line(formatting.fitted(h.label, h.words, ROOM), icon="pin") for h in hooks[:FEW]]
    if len(hooks) > FEW:
        lines.append(Line(f"… {len(hooks) - FEW} more hooks", "gv-muted"))
    return lines


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
