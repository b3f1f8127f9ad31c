"""The cards of closed folds: one box for many nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from gradviz.model.fold import Fold, Value
from gradviz.model.folding import Folding
from gradviz.view import formatting
from gradviz.view.fold_facts import FoldFacts
from gradviz.view.graph.card_lines import is_pinned, muted
from gradviz.view.graph.card_parts import Block, Card, CardContent, Line, Port
from gradviz.view.graph.cards import node_card, tag_blocks
from gradviz.view.graph_index import GraphIndex
from gradviz.view.style import SIZES
from gradviz.view.text import cells, clean, shorten

TITLE: Final = 40
"""Characters of a title before it is shortened."""
ROWS: Final = 3
"""Parameters that have a row of their own before they are counted."""
ROOTS: Final = 2
"""Tensors at the roots inside that a card shows."""


class FoldCards:
    """Makes the cards of the folds of one graph.

    Args:
        folding: The folds.
        graph_index: Their graph.
        content: What cards show.
    """

    def __init__(self, folding: Folding, graph_index: GraphIndex, content: CardContent) -> None:
        self.words = FoldFacts(folding, graph_index)
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
            card = node_card(self._index.graph.nodes[fold.head], self._index, self._content)
            line = Line(shorten(self.words.with_head(fold), TITLE), "gv-muted", icon="folded")
            blocks = (*card.blocks, Block("text", (line,)))
            css = f"{card.css} gv-fold gv-views"
            return replace(
                card, id=fold.id, css=css, blocks=blocks, inputs=into, outputs=out, aria=said
            )
        title = Line(shorten(label, TITLE), "gv-title", SIZES["title"], "folded")
        blocks = (Block("title", (title,)), Block("text", tuple(self._lines(fold))))
        return Card(
            id=fold.id,
            css="gv-node gv-fold" + (" gv-leaves" if fold.kind == "leaves" else ""),
            blocks=(*blocks, *self._problems(fold), *self._tags(roots)),
            title=label if cells(label) > TITLE else "",
            aria=said,
            inputs=into,
            outputs=out,
            is_stack=fold.times > 1,
        )

    def _lines(self, fold: Fold) -> Iterator[Line]:
        """Counts, parameters and gradients: a row for each of few leaves."""
        yield muted(self.words.counts(fold))
        leaves = [place for place in fold.places if self._index.graph.variables[place]]
        if fold.kind != "leaves" and self._content.density != "compact":
            yield from (self._row(place, fold) for place in leaves[:ROWS])
        totals = self._folding.totals[fold.id]
        has_rows = self._content.density != "compact" and len(leaves) == totals.leaves <= ROWS
        facts = [] if has_rows else [self.words.parameters(fold)]
        if "grad" in self._content:
            facts.append(self.words.gradients(fold))
        if line := formatting.join(facts):
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

    def _tags(self, roots: Sequence[Value]) -> Iterator[Block]:
        """The tensors at the roots inside."""
        if "tags" not in self._content:
            return
        graph = self._index.graph
        for place, _ in roots[:ROOTS]:
            yield from tag_blocks(graph.nodes[place].id, self._index, self._content)

    def _facts(self, fold: Fold) -> Iterator[str]:
        words = self.words
        for text in (words.parameters(fold), words.gradients(fold), *words.problems(fold)):
            if text:
                yield text
