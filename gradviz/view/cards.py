"""From a graph to its cards: what stands on each, and how it is shortened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gradviz.model.facts import Hook, Node, SavedTensor, TensorInfo
from gradviz.view import details, phrases, sentences
from gradviz.view.blocks import Block, Card, Line, Port
from gradviz.view.context import Context
from gradviz.view.style import NODE_CSS, POCKET_CSS, SIZES
from gradviz.view.text import cells, clean, shorten

ROOM: Final = 38
"""Characters of a line before it is shortened."""
DULL: Final = ("sizes", "strides", "options", "scalar_type", "layout", "numel", "geometry")
"""How names of saved numbers end that stay off the card."""
FEW: Final = 6
"""Saved tensors, tags, hooks and lines of a formula that a card lists before it counts them."""


def node_card(node: Node, context: Context, parts: frozenset[str]) -> Card:
    """The card of a node; of an ``AccumulateGrad`` together with its leaf."""
    variable = context.tensors.get(node.variable or "")
    tags = context.tags.get(node.id, ()) if "tags" in parts else ()
    if variable is not None:
        blocks, css = [*_leaf_blocks(variable, node.hooks, context, parts)], "gv-node gv-leaf"
    else:
        blocks, css = [*_node_blocks(node, context, parts)], "gv-node"
    blocks += [_tag(tag, context, parts) for tag in tags[:FEW]]
    blocks += _more(len(tags) - FEW, "tensor")
    chip = "leaf" if variable is not None else ""
    chip = node.state if node.state in ("freed", "packed", "opaque") and "saved" in parts else chip
    return Card(
        id=node.id,
        css=f"{css} {NODE_CSS[node.state]}",
        blocks=tuple(blocks),
        title=_title(node, context),
        aria=sentences.of_node(node, context),
        inputs=inputs_of(node),
        outputs=outputs_of(node.id, node.output_shapes, context),
        chip=chip,
        tensor=node.variable or "",
    )


def tensor_card(info: TensorInfo, context: Context, parts: frozenset[str]) -> Card:
    """The card of a tensor that has no place in the graph."""
    state = "requires grad, not in this graph" if info.requires_grad else "does not require grad"
    return Card(
        id=info.id,
        css="gv-tensor",
        blocks=(
            Block(
                "title", (Line(shorten(phrases.tensor_name(info), 30), "gv-title", SIZES["title"]),)
            ),
            Block("text", (Line(state, "gv-muted"), *_facts(info, context, parts))),
        ),
        title=sentences.of_tensor(info, context),
        aria=sentences.of_tensor(info, context),
    )


def waiting_leaf_card(
    node_id: str, variable: TensorInfo, context: Context, parts: frozenset[str]
) -> Card:
    """The card of a leaf at a step where no ``AccumulateGrad`` of it exists."""
    title, text = _leaf_blocks(variable, (), context, parts)
    state = "in no graph now" if variable.requires_grad else "does not require grad"
    lines = (*text.lines[:-1], Line(state, "gv-muted"))
    return Card(
        id=node_id,
        css="gv-node gv-leaf gv-waiting",
        blocks=(title, replace(text, lines=lines)),
        title=sentences.of_tensor(variable, context),
        aria=f"{sentences.of_tensor(variable, context)}, {state}",
        outputs=outputs_of(node_id, (), context),
        chip="leaf" if variable.is_leaf else "",
        tensor=variable.id,
    )


def more_card(count: int) -> Card:
    """The stub that stands for nodes that are not drawn."""
    text = f"… {phrases.plural(count, 'more node')} not drawn"
    block = Block("text", (Line(text, "gv-muted"),))
    return Card(id="more", css="gv-more", blocks=(block,), title=text, aria=text)


def _title(node: Node, context: Context) -> str:
    """The texts that the card shortens, whole."""
    name, room = context.node_name(node.id), 30 if node.variable else 44
    others = [node.source or "", f"in {node.module or ''}", *(node.formula or "").split("\n")]
    lines = [clean(line) for line in others if cells(line) > ROOM]
    return "\n".join((name, *lines)) if lines or cells(name) > room else ""


def _node_blocks(node: Node, context: Context, parts: frozenset[str]) -> Iterator[Block]:
    yield Block("title", (Line(shorten(node.name, 44), "gv-title", SIZES["title"]),))
    lines = []
    if node.source and "source" in parts:
        lines.append(Line(shorten(node.source, ROOM), "gv-source"))
    if node.module and "source" in parts:
        lines.append(Line(shorten(f"in {node.module}", ROOM), "gv-muted"))
    if node.formula and "formula" in parts:
        lines += _formula(node.formula)
    if node.attributes and "values" in parts:
        # Sizes and options kept from the forward say little; outline and details have them.
        told = [(n, v) for n, v in node.attributes if not n.endswith(DULL)]
        pairs = ", ".join(f"{clean(n)}={phrases.attribute(v)}" for n, v in told)
        lines += [Line(shorten(pairs, ROOM), "gv-muted")] if pairs else []
    if "shapes" in parts and not (context.tags.get(node.id) and "tags" in parts):
        known = [phrases.shape(s) for s in node.output_shapes]
        if known:
            lines.append(Line(shorten(f"→ {', '.join(known)}", ROOM), "gv-muted"))
    on_tags = [h for t in context.tags.get(node.id, ()) if "tags" in parts for h in t.hooks]
    lines += _hooks(tuple(hook for hook in node.hooks if hook not in on_tags), parts)
    if lines:
        yield Block("text", tuple(lines))
    if "saved" in parts:
        there = [(i, slot) for i, slot in enumerate(node.saved) if slot.state != "none"]
        for place, slot in there[:FEW]:
            yield _pocket(node, place, slot, context, parts)
        yield from _more(len(there) - FEW, "saved tensor")


def _formula(formula: str) -> list[Line]:
    rows = [f"∂{name}: {text}" if name else text for name, text in details.formula_rows(formula)]
    lines = [Line(shorten(row, ROOM + 4, end=True), "gv-formula") for row in rows]
    if len(lines) > 3:
        lines[2:] = [Line(f"… {len(lines) - 2} more lines", "gv-muted")]
    return lines


def _pocket(
    node: Node, place: int, slot: SavedTensor, context: Context, parts: frozenset[str]
) -> Block:
    name = phrases.saved_name(slot, context.names)
    facts = []
    if slot.state in ("held", "modified"):
        facts += [phrases.shape(slot.shape) if "shapes" in parts else "", phrases.dtype(slot.dtype)]
        facts.append(context.place(slot.device))
    said = phrases.saved_state(slot)
    if slot.state == "held" and "versions" in parts:
        facts.append(said)
    lines = [Line(_side_by_side(name, phrases.join(facts, " ")))]
    if slot.state == "modified":
        lines.append(Line(shorten(said, ROOM), "gv-warn"))
    elif slot.state != "held":
        lines = [Line(_side_by_side(name, said))]
    return Block(
        "pocket",
        tuple(lines),
        css=f"gv-pocket {POCKET_CSS[slot.state]}",
        data_id=f"{node.id}.saved.{place}",
        title=f"saved tensor {clean(slot.name)}: {details.saved_words(slot, context)}",
    )


def _side_by_side(name: str, facts: str) -> str:
    facts = shorten(facts, ROOM - 12)
    return f"{shorten(name, max(12, ROOM - 2 - len(facts)))}  {facts}".rstrip()


def _leaf_blocks(
    variable: TensorInfo, hooks: tuple[Hook, ...], context: Context, parts: frozenset[str]
) -> Iterator[Block]:
    name = shorten(phrases.tensor_name(variable), 30)
    yield Block("title", (Line(name, "gv-title", SIZES["title"]),))
    lines = [*_facts(variable, context, parts), *_grad(variable, parts)]
    if variable.retains_grad:
        lines.append(Line("retain_grad", icon="pin"))
    lines += _hooks((*variable.hooks, *(h for h in hooks if h not in variable.hooks)), parts)
    lines.append(Line("Σ AccumulateGrad", "gv-muted"))
    yield Block("text", tuple(lines))


def _tag(info: TensorInfo, context: Context, parts: frozenset[str]) -> Block:
    first, *lines = _facts(info, context, parts, lead=shorten(phrases.tensor_name(info), 24))
    if info.retains_grad:
        lines.append(Line("retain_grad", icon="pin"))
    if info.retains_grad or info.grad is not None:
        lines += _grad(info, parts)
    lines += _hooks(info.hooks, parts)
    return Block(
        "tag",
        (first, *lines),
        css="gv-tag",
        data_id=info.id,
        title=sentences.of_tensor(info, context),
    )


def _facts(
    info: TensorInfo, context: Context, parts: frozenset[str], lead: str = ""
) -> Iterator[Line]:
    """Shape, what is unusual, version and values: in one line if there is room."""
    version = "no version" if info.version is None else f"v{info.version}"
    facts = phrases.join(
        (
            phrases.shape(info.shape) if "shapes" in parts else "",
            phrases.dtype(info.dtype),
            context.place(info.device),
            f"output {info.output_nr}" if info.node and info.output_nr else "",
            "view" if info.is_view else "",
            "inference" if info.is_inference else "",
            version if "versions" in parts else "",
        ),
        " ",
    )
    values = ""
    if info.values is not None and "values" in parts:
        values = "= " + phrases.numbers(info.values, info.shape)
    room = ROOM - cells(lead)
    together = phrases.join((facts, values), " ")
    if cells(together) <= room:
        facts, values = together, ""
    if facts or lead:
        yield Line(shorten(facts, room), "gv-muted", lead=lead)
    if values:
        values = "= " + phrases.numbers(info.values or (), info.shape, ROOM - 2)
        yield Line(shorten(values, ROOM), "gv-muted")
    if others := context.sharing.get(info.id):
        yield Line(shorten(f"shares memory with {', '.join(others)}", ROOM), "gv-muted", icon="bar")


def _grad(info: TensorInfo, parts: frozenset[str]) -> Iterator[Line]:
    if "grad" in parts:
        yield Line(shorten(f".grad {phrases.summary(info.grad)}", ROOM))


def _hooks(hooks: tuple[Hook, ...], parts: frozenset[str]) -> list[Line]:
    if "hooks" not in parts:
        return []
    lines = [Line(phrases.hook(hook, ROOM), icon="pin") for hook in hooks[:FEW]]
    if len(hooks) > FEW:
        lines.append(Line(f"… {len(hooks) - FEW} more hooks", "gv-muted"))
    return lines


def _more(count: int, thing: str) -> list[Block]:
    if count <= 0:
        return []
    return [Block("text", (Line(f"… {phrases.plural(count, f'more {thing}')}", "gv-muted"),))]


def inputs_of(node: Node) -> tuple[Port, ...]:
    """A port per entry of ``next_functions``."""
    crowded = len(node.next_functions) > FEW
    named = any(node.arguments) and not crowded
    ports = []
    for slot, entry in enumerate(node.next_functions):
        argument = node.arguments[slot] if slot < len(node.arguments) else None
        label = shorten(argument or str(slot), 14) if named else ""
        if entry is None:
            label = f"{label}: no grad" if label else ("∅" if crowded else "no grad")
        ports.append(Port(label, "gv-port" if entry else "gv-stub", slot))
    return tuple(ports)


def outputs_of(
    node_id: str, shapes: tuple[tuple[int, ...] | None, ...], context: Context
) -> tuple[Port, ...]:
    """A port per output that is used."""
    used = context.used_outputs.get(node_id, ())
    several = len(shapes) > 1 or used[-1:] > (0,)
    ports = []
    for output_nr in used:
        label = f"output {output_nr}" if several and len(used) <= FEW else ""
        if output_nr in context.roots.get(node_id, ()):
            ports.append(Port(f"root · {label}" if label else "root", "gv-root", output_nr))
        else:
            ports.append(Port(label, "gv-port", output_nr))
    return tuple(ports)
