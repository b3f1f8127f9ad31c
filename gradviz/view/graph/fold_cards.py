"""The cards of closed folds: one box for many nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from gradviz.model.fold import Fold, Value
from gradviz.model.folding import Folding
from gradviz.view import formatting
from gradviz.view.boxes import TIGHT
from gradviz.view.fold_facts import FoldFacts
from gradviz.view.graph.card_lines import is_pinned, muted
from gradviz.view.graph.card_parts import Block, Card, CardContent, Line, Port
from gradviz.view.graph.cards import node_card, tag_blocks
from gradviz.view.graph_index import GraphIndex
from gradviz.view.style import SIZES
from gradviz.view.text import cells, clean, shorten

TITLE: Final = 52
"""Characters of a title before it is shortened."""
NARROW: Final = 18
"""Characters of what is beside the title of a compact card."""
ROWS: Final = 3
"""Parameters that have a row of their own before they are counted."""
BESIDE: Final = 320
"""Pixels of a title and a tensor up to which they are beside each other on a compact card."""
ROOTS: Final = 2
"""Tensors at the roots inside that a card shows."""


class FoldCards:
    """Makes the cards of the folds of one graph.

    Args:
        folding: The folds.
        graph_index: Their graph.
        content: What cards show.
        words: What they say; if not given that of :class:`FoldFacts`.
    """

    def __init__(
        self,
        folding: Folding,
        graph_index: GraphIndex,
        content: CardContent,
        words: FoldFacts | None = None,
    ) -> None:
        self.words = words or FoldFacts(folding, graph_index)
        self._folding = folding
        self._index = graph_index
        self._content = content

    def card(self, fold: Fold, inputs: int, outputs: int, roots: Sequence[Value]) -> Card:
        """The card of a closed fold.

        Args:
            fold: The fold.
            inputs: At how many places values come in.
            outputs: At how many they go out.
            roots: The roots of the graph inside.
        """
        into, out = (Port(),) * inputs, (Port(),) * outputs
        out += (Port("root", "gv-root"),) if roots else ()
        label = self.words.label(fold)
        said = ", ".join(("folded: " + label, self.words.counts(fold), *self._facts(fold)))
        if fold.head is not None:
            node = self._index.graph.nodes[fold.head]
            card = node_card(node, self._index, self._content, boxes=TIGHT)
            return replace(self.views_card(fold, card, inputs, outputs), outputs=out, aria=said)
        title = Line(shorten(label, TITLE), "gv-title", SIZES["title"], "folded")
        blocks = (Block("title", (title,)), Block("text", tuple(self._lines(fold))))
        return Card(
            id=fold.id,
            css="gv-node gv-fold" + (" gv-leaves" if fold.kind == "leaves" else ""),
            blocks=(*blocks, *self._problems(fold), *self._tags(roots, title.width)),
            title=label if cells(label) > TITLE else "",
            aria=said,
            inputs=into,
            outputs=out,
            is_stack=fold.times > 1,
            is_brief=self._content.is_brief,
        )

    def views_card(self, fold: Fold, card: Card, inputs: int, outputs: int) -> Card:
        """The card of a node with the views that are folded into it.

        Args:
            fold: The views.
            card: The card of the node.
            inputs: At how many places values come in.
            outputs: At how many they go out.
        """
        is_compact = self._content.density == "compact"
        room = NARROW if is_compact else TITLE
        line = Line(shorten(self.words.with_head(fold), room), "gv-muted", icon="folded")
        blocks = (*card.blocks, Block("text", (line,), beside=is_compact))
        css, into, out = f"{card.css} gv-fold gv-views", (Port(),) * inputs, (Port(),) * outputs
        return replace(card, id=fold.id, css=css, blocks=blocks, inputs=into, outputs=out)

    def _lines(self, fold: Fold) -> Iterator[Line]:
        """Counts, elements and gradients; but for compact cards a row for each of few leaves."""
        totals = self._folding.totals[fold.id]
        counts, elements = self.words.counts(fold), self.words.elements(fold)
        gradients = self.words.gradients(fold) if "grad" in self._content else ""
        if self._content.density == "compact":
            yield Line(formatting.join((counts, elements)), "gv-muted")
            if gradients:
                yield muted(gradients)
            return
        yield muted(counts)
        leaves = [place for place in fold.places if self._index.graph.variables[place]]
        if fold.kind != "leaves":
            yield from (self._row(place, fold) for place in leaves[:ROWS])
        has_rows = len(leaves) == totals.leaves <= ROWS
        if line := formatting.join(("" if has_rows else elements, gradients)):
            yield muted(line)
        if totals.hooks and "hooks" in self._content:
            yield Line(formatting.plural(totals.hooks, "hook"), icon="pin")

    def _row(self, place: int, fold: Fold) -> Line:
        """A leaf in one line: ``weight (64, 192) .grad None``."""
        info = self._index.tensors[self._index.graph.variables[place] or ""]
        facts = self._index.of_tensor(info)
        name = self._index.names[info.id].removeprefix(f"{clean(fold.path)}.")
        words = [formatting.shape(info.shape)]
        if "grad" in self._content:
            words.append(f".grad {formatting.gradient_words(info.grad, 14)}")
        pinned = is_pinned(facts["hooks"].parts, self._content)
        return Line(
            " ".join(words), "gv-muted", icon="pin" if pinned else "", lead=shorten(name, 20)
        )

    def _problems(self, fold: Fold) -> Iterator[Block]:
        lines = tuple(Line(text, "gv-warn") for text in self.words.problems(fold))
        if lines:
            yield Block("text", lines)

    def _tags(self, roots: Sequence[Value], width: float) -> list[Block]:
        """The tensors at the roots inside, on a compact card a single one beside the title."""
        nodes = [self._index.graph.nodes[place].id for place, _ in roots[:ROOTS]]
        tags = [tag for node in nodes for tag in tag_blocks(node, self._index, self._content)]
        if self._content.density != "compact" or len(tags) != 1:
            return tags
        is_beside = len(tags[0].lines) == 1 and width + tags[0].width <= BESIDE
        return [replace(tags[0], beside=is_beside)]

    def _facts(self, fold: Fold) -> Iterator[str]:
        words = self.words
        for text in (words.elements(fold), words.gradients(fold), *words.problems(fold)):
            if text:
                yield text
