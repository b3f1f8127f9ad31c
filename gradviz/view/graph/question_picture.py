"""The picture of a question: what can be picked in it, and where gradients are typed.

Everything that a person reads or hears in it is made of a graph without the facts that the question
hides, so that no mark, title or label gives an answer away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from gradviz.model.blanking import blanked
from gradviz.model.graph import Graph
from gradviz.model.records import Node, TensorInfo
from gradviz.view import formatting
from gradviz.view.element import Element, style, svg
from gradviz.view.graph.card_lines import FEW
from gradviz.view.graph.card_parts import Card, Density
from gradviz.view.graph.drawn_scenes import DrawnScenes
from gradviz.view.graph.geometry import CardFrame
from gradviz.view.graph.layout import Direction, LayoutBox, Link, Point, lay_out
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.placing import DrawnInside, as_laid_out
from gradviz.view.graph.scene import LIMIT, Scene, WholeScenes, saving_of
from gradviz.view.graph.step_pictures import StepPictures
from gradviz.view.graph_index import GraphIndex
from gradviz.view.style import coloured, css
from gradviz.view.text import shorten

ROOM: Final = (560.0, 340.0)
"""Pixels that a picture has in a question, beside the program."""
LEAST: Final = 0.85
"""How small a picture may be shown."""
FIELD: Final = (92.0, 30.0)
"""Width and height of the place of a field."""
GAPS: Final[dict[Direction, float]] = {"TB": 24.0, "LR": 30.0}
"""Pixels between cards and fields."""
_FORMS: Final[tuple[tuple[str, Direction], ...]] = (
    ("normal", "TB"),
    ("compact", "TB"),
    ("normal", "LR"),
    ("compact", "LR"),
)
"""In which density and direction a picture may be drawn, the preferred ones first."""
_RULES: Final = """
.gv-blank>rect{fill:$card;stroke:$now;stroke-width:1.4;stroke-dasharray:4 3}
.gv-blank>text{font-size:11px;font-weight:600;fill:$now}
"""

Kind: TypeAlias = Literal["node", "leaf", "tag", "tensor"]
"""What can be picked: a node, a leaf, a tensor on the node that made it, one outside the graph."""
Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, width and height in pixels."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Something in the picture that can be picked."""

    id: str
    """That of its card or tag: of a leaf in the graph its ``AccumulateGrad``."""
    kind: Kind
    label: str
    """What it is called, as no other choice is."""
    said: str
    """What a screen reader says."""
    tensor: str = ""
    """Id of the tensor; ``""`` for a node."""
    boxes: tuple[Box, ...] = ()
    """Where it is; references to it come last."""
    next: tuple[str, ...] = ()
    """Choices towards the leaves."""
    prev: tuple[str, ...] = ()
    """Choices towards the root."""


@dataclass(frozen=True, slots=True)
class Blank:
    """An edge on which a gradient is typed."""

    id: str
    """That of the edge: ``"n0.1"``, node and place in ``next_functions``."""
    label: str
    box: Box = (0.0, 0.0, 0.0, 0.0)

    @property
    def ends(self) -> tuple[str, int]:
        """The node that hands the gradient on, and the place in its ``next_functions``."""
        node, _, slot = self.id.partition(".")
        return node, int(slot)


@dataclass(frozen=True, slots=True)
class QuestionPicture:
    """A picture with its choices and blanks."""

    element: Element
    size: Point
    choices: tuple[Choice, ...]
    blanks: tuple[Blank, ...]


def question_picture(
    graph: Graph,
    names: Mapping[str, str],
    hidden: Collection[str] = (),
    edges: Sequence[str] = (),
) -> QuestionPicture:
    """Draw a graph for a question, in the form that can be read best in the room there is.

    Args:
        graph: The graph at the moment before what is asked happens.
        names: What nodes are called.
        hidden: Parts of the picture that are left out.
        edges: Ids of the edges on which gradients are typed, in the order of their numbers.
    """
    graph = blanked(graph, hidden)
    # How gradients are computed is said by what is saved.
    hidden = {*hidden, *(["formula"] if "saved" in hidden else [])}
    best, best_zoom = None, 0.0
    for density, direction in _FORMS:
        options = DrawOptions.of(direction, hide=hidden, density=density)
        asked = frozenset({"values"}) - options.hidden
        picture = _drawn(graph, names, replace(options, asked=asked), edges)
        zoom = min(ROOM[0] / picture.size[0], ROOM[1] / picture.size[1], 1.0)
        if best is None or zoom > best_zoom:
            best, best_zoom = picture, zoom
        if zoom >= LEAST:
            break
    assert best is not None
    return best


def choices_of(graph: Graph, names: Mapping[str, str]) -> tuple[Choice, ...]:
    """What can be picked in the picture of a graph, not yet placed."""
    return _choices(_Asked(graph, DrawOptions(), ()), names)


def blanks_of(graph: Graph, names: Mapping[str, str], edges: Sequence[str]) -> tuple[Blank, ...]:
    """Edges with what they are called: ``"MulBackward0 -> a"``; the place in ``next_functions``
    where several lead there."""
    labels = {choice.id: choice.label for choice in choices_of(graph, names)}
    found = []
    for key in edges:
        node_id, slot = Blank(key, "").ends
        entries = graph[node_id].next_functions
        target = (entries[slot] or ("", 0))[0]
        several = sum(entry is not None and entry[0] == target for entry in entries) > 1
        place = f"[{slot}]" if several else ""
        found.append(Blank(key, f"{labels[node_id]}{place} -> {labels[target]}"))
    return tuple(found)


def _drawn(
    graph: Graph, names: Mapping[str, str], options: DrawOptions, edges: Sequence[str]
) -> QuestionPicture:
    density = options.density_of(0)
    choices = _choices(_Asked(graph, options, ()), names)
    blanks = blanks_of(graph, names, edges)
    pictures = _QuestionPictures(_Asked(graph, options, choices), density)
    pictures.fields = {blank.id: (0.0, 0.0) for blank in blanks}
    cards = pictures.there(0)
    found: dict[str, list[Box]] = {}
    for placed in pictures.composed(()).cards:
        frame, card = placed.frames[0], placed.card
        corner = placed.x + frame.left, placed.y + frame.top
        found.setdefault(card.refers or card.id, []).append((*corner, frame.width, frame.height))
        for tag, (x, y, width, height) in _tags(cards[f"gv-{card.id}"]):
            found.setdefault(tag, []).append((corner[0] + x, corner[1] + y, width, height))
    blanks = tuple(replace(one, box=_tenths((*pictures.fields[one.id], *FIELD))) for one in blanks)
    sheet = css() + coloured(_RULES)[0] if edges else css()
    said = f"autograd graph: {formatting.plural(len(graph), 'node')}"
    pills = map(_pill, blanks, range(1, len(edges) + 1))
    return QuestionPicture(
        svg(pictures.size, said, False, (style(sheet), *cards.values(), *pills)),
        pictures.size,
        tuple(replace(c, boxes=tuple(map(_tenths, found[c.id]))) for c in choices),
        blanks,
    )


class _Asked(DrawnScenes):
    """The scene of a graph whose cards say no more than its choices.

    Args:
        graph: The graph.
        options: How it is drawn.
        choices: What can be picked.
    """

    def __init__(self, graph: Graph, options: DrawOptions, choices: Sequence[Choice]) -> None:
        index = GraphIndex.of(graph, LIMIT, options.focus)
        index.titles = {node.id: node.name for node in index.nodes}  # as answers name them
        saving = saving_of(index, options)
        super().__init__(WholeScenes(index, options, saving, is_gathered=False))
        self._choices = choices

    def banner(self, width: float) -> tuple[Element, ...]:
        """Nothing."""
        return ()

    def scene(self, fold_id: str, density: Density) -> Scene:
        """All of it."""
        scene = super().scene(fold_id, density)
        return replace(scene, cards=tuple(_untitled(card, self._choices) for card in scene.cards))


class _QuestionPictures(StepPictures):
    """A picture with fields on some of its links: a field is a box that its link goes through, so
    that no other link does."""

    fields: Mapping[str, Point] = MappingProxyType({})
    """Where the field on each of these edges is."""

    def _place(
        self, scene: Scene, frames: Mapping[str, tuple[CardFrame, ...]], gap: float, room: float
    ) -> DrawnInside:
        if not self.fields:
            return super()._place(scene, frames, gap, room)
        wires = []
        for wire in scene.wires:
            link = wire.link
            through = [
                Link(link.tail, link.tail_port, wire.key, 0),
                Link(wire.key, 0, link.head, link.head_port),
            ]
            on_it = through if wire.key in self.fields else [link]
            wires.append(on_it)
        boxes = [*(one[0].box for one in frames.values())]
        boxes += [LayoutBox(key, *FIELD) for key in self.fields]
        links = [link for on_it in wires for link in on_it]
        layout = lay_out(boxes, links, self.direction, gap=GAPS[self.direction])
        paths = iter(layout.paths)
        joined = [_through(*(next(paths) for _ in on_it)) for on_it in wires]
        self.fields = {key: layout.places[key] for key in self.fields}
        return as_laid_out(scene, frames, replace(layout, paths=tuple(joined)), self.direction)


def _untitled(card: Card, choices: Sequence[Choice]) -> Card:
    """A card whose words for a screen reader are those of its choice."""
    said = {choice.id: choice.said for choice in choices}
    blocks = tuple(replace(b, title=said.get(b.data_id, "")) for b in card.blocks)
    own = said.get(card.refers or card.id, card.id)
    tabs = tuple(replace(tab, title=said.get(tab.data_id, "")) for tab in card.tabs)
    return replace(card, title="", aria=own, blocks=blocks, tabs=tabs)


def _tags(card: Element) -> Iterator[tuple[str, Box]]:
    """Tensors on a card, with their boxes in it."""
    for group in card.inside:
        if "gv-tag" in group.classes:
            box = next(e for e in group.inside if e.tag == "rect")
            x, y = box.length("x"), box.length("y")
            yield group.text("data-id"), (x, y, box.length("width"), box.length("height"))


def _tenths(box: Box) -> Box:
    x, y, width, height = (round(value, 1) + 0.0 for value in box)
    return x, y, width, height


def _through(first: tuple[Point, ...], *others: tuple[Point, ...]) -> tuple[Point, ...]:
    """Two links as one, straight through the box between them."""
    return (*first, *(point for one in others for point in (first[-1], one[0], *one)))


def _pill(blank: Blank, number: int) -> Element:
    """The empty place of a gradient, with its number."""
    x, y, width, height = blank.box
    rect = {"x": x, "y": y, "width": width, "height": height, "rx": 6.0}
    text = Element("text", {"x": x + 8, "y": y + height / 2 + 4}, (str(number),))
    return Element("g", {"class": "gv-blank"}, (Element("rect", rect), text))


# ---------------------------------------------------------------------- what can be picked


def _choices(scenes: _Asked, names: Mapping[str, str]) -> tuple[Choice, ...]:
    """All choices of a graph, cards before the tags on them, in the order of the nodes."""
    graph_index = scenes.graph_index
    found: list[Choice] = []
    for node in graph_index.nodes:
        variable = graph_index.tensors.get(node.variable or "")
        found.append(
            _of_node(node, names, graph_index)
            if variable is None
            else _of_tensor(node.id, "leaf", variable, graph_index)
        )
        tags = graph_index.tags.get(node.id, ())[:FEW]
        found += [_of_tensor(info.id, "tag", info, graph_index) for info in tags]
    outside = (info for info in graph_index.outside if info.id in scenes.source.outside)
    found += [_of_tensor(info.id, "tensor", info, graph_index) for info in outside]
    return _told_apart(found)


def _told_apart(found: Sequence[Choice]) -> tuple[Choice, ...]:
    """The same, with ids where several have one label."""
    labels = [choice.label for choice in found]
    return tuple(
        replace(choice, label=f"{choice.label} ({choice.id})")
        if labels.count(choice.label) > 1
        else choice
        for choice in found
    )


def _of_node(node: Node, names: Mapping[str, str], graph_index: GraphIndex) -> Choice:
    facts = graph_index.of_node(node)
    label = shorten(names.get(node.id, node.name), 60)
    targets = tuple(dict.fromkeys(entry[0] for entry in node.next_functions if entry))
    lead = [names.get(t) or graph_index.node_name(t) for t in targets]
    saved = [
        formatting.join((*slot.short("name", "values"), slot["state"].long), " ")
        for slot in facts.saved
    ]
    words = [label, *facts.long("root", "source")]
    words += [f"saves {' and '.join(saved)}"] if saved else []
    words += [f"leads to {', '.join(lead)}"] if lead else []
    uses = tuple(graph_index.consumers.get(node.id, ()))
    return Choice(node.id, "node", label, shorten(", ".join(words), 300), "", (), targets, uses)


_SAID: Final[dict[Kind, str]] = {
    "leaf": "leaf",
    "tag": "tensor",
    "tensor": "tensor outside the graph",
}


def _of_tensor(own_id: str, kind: Kind, info: TensorInfo, graph_index: GraphIndex) -> Choice:
    facts = graph_index.of_tensor(info)
    label = shorten(facts["name"].words, 60)
    words = [label, _SAID[kind], *facts.short("shape", "values")]
    if kind == "tag":
        words.append(f"made by {graph_index.node_name(info.node)}")
    savers = tuple(dict.fromkeys(node for node, _ in graph_index.saved_by.get(info.id, ())))
    following = (info.node,) if kind == "tag" and info.node else ()
    before = {
        "leaf": tuple(graph_index.consumers.get(own_id, ())),
        "tensor": savers,
    }
    said = shorten(", ".join(filter(None, words)), 300)
    return Choice(own_id, kind, label, said, info.id, (), following, before.get(kind, ()))
