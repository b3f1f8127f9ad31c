"""Marks that findings lay over the elements of a picture, without moving anything.

As every mark they exist three times: as a glyph, as a heavy line, as a word. The reason of a mark
is in its tooltip, in the text for screen readers and in the details panel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gradviz.model.explanation import Explanation
from gradviz.model.fold import FoldTree
from gradviz.model.folding import Folding
from gradviz.model.formatting import plural
from gradviz.model.highlights import Highlight, HighlightKind
from gradviz.view.element import Element, all_of
from gradviz.view.graph import highlight_badges, highlight_style
from gradviz.view.graph.highlight_style import OVERLAYS
from gradviz.view.graph.scene import ALL
from gradviz.view.graph_index import GraphIndex
from gradviz.view.text import clean


def places_of(elements: Iterable[Element]) -> dict[str, Element]:
    """Groups by id: ``"n0"``, ``"n0.1"``, ``"n0.saved.0"``, ``"t0"``.

    An entry of ``next_functions`` that is ``None`` is its stub, a leaf's tensor the card of its
    node, and each node in a box the card of the box.
    """
    found: dict[str, Element] = {}
    standing_for: dict[str, Element] = {}
    cuts: dict[str, Element] = {}
    for element in all_of(elements):
        classes = element.classes
        if element.tag != "g" or not classes or "gv-absent" in classes:
            continue
        if key := element.text("data-id") or element.text("id").removeprefix("gv-"):
            # The row of a cut has the id of the tensor whose card it is on.
            (cuts if "gv-cut" in classes else found).setdefault(key, element)
        if "gv-stub" in classes and "data-slot" in element.attributes:
            slot = f"{element.text('data-source')}.{element.text('data-slot')}"
            found.setdefault(slot, element)
        if "gv-node" in classes:
            names = f"{element.text('data-tensor')} {element.text('data-others')}"
            for name in names.split():
                standing_for.setdefault(name, element)
    return cuts | standing_for | found


def highlighted(elements: Iterable[Element], marks: Iterable[Highlight]) -> list[Element]:
    """The elements of a picture with marks: the same without the style sheet.

    An element that nothing is marked on, nor on anything inside of it, is the same object.
    """
    elements = list(elements)
    places = places_of(elements)
    marks_on: dict[int, list[Highlight]] = {}
    for mark in marks:
        place = places.get(mark.id) or places.get(mark.id.partition(".")[0])
        if place is not None:
            marks_on.setdefault(id(place), []).append(mark)
    return [_overlaid(element, marks_on) for element in elements] if marks_on else elements


def highlight_legend(
    marks: Iterable[Highlight], legends: Mapping[HighlightKind, str] | None = None
) -> list[dict[str, str]]:
    """Entries of the legend for the kinds of marks there are.

    Args:
        marks: The marks.
        legends: Sentences of this picture that replace those of the table.
    """
    own = legends or {}
    return [
        {"class": OVERLAYS[kind].css, "label": own.get(kind, OVERLAYS[kind].legend)}
        for kind in _kinds(marks)
    ]


def mark_rules(marks: Iterable[Highlight], *, variables: bool = True) -> str:
    """The style sheet of marks, empty if there are none.

    Args:
        marks: The marks.
        variables: Whether colours are CSS variables.
    """
    kinds = _kinds(marks)
    return highlight_style.rules(kinds, variables=variables) if kinds else ""


def highlighted_item(item: Mapping[str, Any], marks: Iterable[Highlight]) -> dict[str, Any]:
    """The item of a node or tensor, with its marks and those of its parts.

    Args:
        item: As ``gradviz.view.documents.graph`` wrote it.
        marks: Marks of the whole picture; those of a leaf tensor with the id of its node.
    """
    own = [mark for mark in marks if mark.id.partition(".")[0] == item["id"]]
    shown = [mark for mark in own if mark.id == item["id"] or mark.words]
    sections: dict[str, list[list[str]]] = {}
    for mark in shown:
        lines = sections.setdefault(OVERLAYS[mark.kind].word, [])
        if mark.words and [_part(mark, item), clean(mark.words)] not in lines:
            lines.append([_part(mark, item), clean(mark.words)])
    on_it = _distinct([mark for mark in shown if mark.id == item["id"]])
    words = "".join(f", {text}" for text in dict.fromkeys(map(_said, on_it)))
    kinds = "".join(f" {kind}" for kind in _kinds(on_it))
    headed = [{"heading": h, "rows": lines} for h, lines in sections.items() if lines]
    return {
        **item,
        "aria": f"{item['aria']}{words}",
        "find": f"{item['find']}{kinds}",
        "details": [*headed, *item["details"]],
    }


def _distinct(marks: Sequence[Highlight]) -> list[Highlight]:
    """Marks of one element without "changed" where it is new or gone: a leaf and its tensor."""
    is_one_sided = any(mark.kind in ("new", "gone") for mark in marks)
    return [mark for mark in marks if not (is_one_sided and mark.kind == "changed")]


def _kinds(marks: Iterable[Highlight]) -> list[HighlightKind]:
    used = {mark.kind for mark in marks}
    return [kind for kind in OVERLAYS if kind in used]


def _overlaid(element: Element, marks_on: Mapping[int, list[Highlight]]) -> Element:
    inside = tuple(e if isinstance(e, str) else _overlaid(e, marks_on) for e in element.children)
    if (marks := marks_on.get(id(element))) is not None:
        return _marked(element, inside, _distinct(marks))
    is_same = all(now is before for now, before in zip(inside, element.children, strict=True))
    return element if is_same else element.holding(inside)


def _marked(
    element: Element, inside: tuple[Element | str, ...], marks: Sequence[Highlight]
) -> Element:
    """A group with a class, words and badges."""
    kinds = _kinds(marks)
    classes = [str(element.attributes["class"]), *(OVERLAYS[kind].css for kind in kinds)]
    said = list(dict.fromkeys(map(_said, marks)))
    attributes = {**element.attributes, "class": " ".join(classes)}
    if "aria-label" in attributes:
        attributes["aria-label"] = ", ".join((element.text("aria-label"), *said))
    why = list(dict.fromkeys(_said(mark) for mark in marks if mark.words))
    if why:
        inside = _with_title(inside, "\n".join(why))
    badges = highlight_badges.badges(element, kinds)
    return Element(element.tag, attributes, (*inside, *badges))


def _with_title(inside: tuple[Element | str, ...], words: str) -> tuple[Element | str, ...]:
    """A tooltip that begins with these words."""
    first = inside[0] if inside else ""
    if isinstance(first, Element) and first.tag == "title":
        return (Element("title", {}, (f"{words}\n", *first.children)), *inside[1:])
    return (Element("title", {}, (words,)), *inside)


def _said(mark: Highlight) -> str:
    return f"{mark.kind}: {mark.words}" if mark.words else mark.kind


def _part(mark: Highlight, item: Mapping[str, Any]) -> str:
    """What the mark is on, in the words of the item's own details."""
    if mark.id == item["id"]:
        return "what" if mark.kind in ("new", "changed", "gone") else "why"
    part, number = mark.id.rsplit(".", 1)
    heading = "saved tensors" if part.endswith(".saved") else "next_functions"
    found = (s["rows"] for s in item["details"] if s["heading"] == heading)
    rows: list[list[str]] = next(found, [])
    label = rows[int(number)][0] if number.isdecimal() and int(number) < len(rows) else number
    return f"{'saved' if part.endswith('.saved') else 'input'} {label}"


def marks_in(
    drawn: Mapping[str, Element], explanations: Iterable[Explanation]
) -> tuple[Highlight, ...]:
    """The marks of explanations, each once.

    Args:
        drawn: The existing elements by id. A node with the sign of the error gets no other
            mark.
        explanations: The explanations at the step.
    """
    raised = {key for key, element in drawn.items() if "gv-raised" in element.classes}
    found = dict.fromkeys(mark for one in explanations for mark in one.marks)
    return tuple(m for m in found if m.kind != "refused" or f"gv-{m.id}" not in raised)


def marked(drawn: Mapping[str, Element], marks: Iterable[Highlight]) -> dict[str, Element]:
    """The elements of a step that marks change."""
    after = highlighted(drawn.values(), marks)
    pairs = zip(drawn.items(), after, strict=True)
    return {key: now for (key, before), now in pairs if now is not before}


OPENED: Final = 24
"""Boxes up to which what is around marks is open at first."""


class GraphMarks:
    """Where the marks on one graph are.

    Args:
        tree: Its folds; ``None`` if nothing is folded.
        graph_index: The graph.
        marks: The marks, the most important first.
        outside: The fold in which each tensor outside the graph is drawn.
    """

    def __init__(
        self,
        tree: FoldTree | None,
        graph_index: GraphIndex,
        marks: Iterable[Highlight],
        outside: Mapping[str, str],
    ) -> None:
        self._tree, self._index, self._outside = tree, graph_index, outside
        self._graph = graph_index.graph
        self.marks = tuple(marks)
        self._leaves = {
            key: node for node, key in enumerate(self._graph.variables) if key and self.marks
        }
        self._on_cards: dict[str, list[Highlight]] = {}
        """Of each fold the marks on cards in it."""
        self._in_boxes: dict[str, dict[Highlight, int]] = {}
        """Of each fold the marks on closed boxes in it, with how many they stand for."""
        self._on_items: dict[str, list[Highlight]] = {}
        for mark in self.marks:
            self._take(mark)

    @property
    def gone(self) -> str:
        """What is said of nodes that are no longer there, after their number."""
        gone = (mark.id for mark in self.marks if mark.kind == "gone")
        nodes = {key for key in gone if key[0] == "n" and key[1:].isdecimal()}
        verb = "is" if len(nodes) == 1 else "are"
        return f"; {plural(len(nodes), 'node')} of these {verb} gone" if nodes else ""

    def around(self, key: str) -> tuple[str, ...]:
        """Ids of the folds around what a mark is on, the whole graph first."""
        card = self.card_of(key)
        if self._tree is None:
            return ()
        if card in self._outside:
            fold = self._outside[card]
            return (*(one.id for one in self._tree.around(fold)), fold)
        if self._graph.place_of(card) is None:
            return ()
        return tuple(one.id for one in self._tree.around(card))

    def card_of(self, key: str) -> str:
        """The node, or the tensor outside the graph, whose card shows what a mark is on."""
        key = key.partition(".")[0]
        if (place := self._leaves.get(key)) is not None:
            return self._graph.nodes[place].id
        info = self._index.tensors.get(key)
        return info.node or key if info else key

    def _take(self, mark: Highlight) -> None:
        around = self.around(mark.id)
        if self._tree is not None and not around:
            return
        own = replace(mark, id=self.card_of(mark.id)) if mark.id in self._leaves else mark
        self._on_items.setdefault(own.id.partition(".")[0], []).append(own)
        self._on_cards.setdefault(around[-1] if around else ALL, []).append(own)
        for fold, inner in zip((ALL, *around), around, strict=False):
            found = self._in_boxes.setdefault(fold, {})
            closed = Highlight(inner, mark.kind)
            found[closed] = found.get(closed, 0) + 1

    def within(self, fold_id: str) -> list[Highlight]:
        """The marks on cards in a fold, and on closed boxes in it."""
        boxes = self._in_boxes.get(fold_id, {}).items()
        return [
            *self._on_cards.get(fold_id, ()),
            *(replace(mark, words=f"{count:,} inside") for mark, count in boxes),
        ]

    def item(self, item: dict[str, Any]) -> dict[str, Any]:
        """What can be selected, with its marks."""
        own = self._on_items.get(item["id"])
        return highlighted_item(item, own) if own else item

    def opened(self, folding: Folding, boxes: int) -> Folding:
        """The folds around marks open, too, as long as the picture has few boxes.

        Args:
            folding: The folds.
            boxes: How many boxes the picture has.
        """
        for mark in (one for one in self.marks if one.kind != "most"):
            around = [key for key in self.around(mark.id) if key not in folding.opening.ids]
            more = sum(folding.tree.cards(folding.tree[key]) - 1 for key in around)
            if around and boxes + more <= OPENED:
                folding = folding.opened_with(around)
                boxes += more
        return folding
