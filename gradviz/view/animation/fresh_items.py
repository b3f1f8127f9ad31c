"""What a step has made: its cards, tags and edges carry a mark at this step, and at no other."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Protocol

from gradviz.model.recording import Recording
from gradviz.view.graph.card_parts import Block, Card, LinkLook


class Existing(Protocol):
    """Something that exists at some steps."""

    def existed(self, step: int) -> bool:
        """Whether it did at a step."""


class FreshItems:
    """Goes from step to step and marks what each has made, what was made inside it too.

    Args:
        recording: Whose steps they are.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._step = 0
        self._start = 0
        """First step inside the current one."""
        self._made: set[str] = set()
        """Nodes and tensors that were made since then."""
        self._marked: dict[int, set[str]] = {0: set()}
        """Cards that have a mark, by step."""

    def begin(self, step: int) -> set[str]:
        """Go on to a step; returns the cards whose mark may change."""
        recording = self._recording
        self._step, self._start = step, recording.numbers.starts[step]
        steps = range(max(1, self._start), step + 1)
        history = recording.history
        begun = {key for at in steps for key in history.begun(at)}
        self._made = {key for key in begun if history.is_made(key, steps)}
        self._marked[step] = set()
        before = range(min(self._start, step - 1), step)
        return {key for at in before for key in self._marked.get(at, ())}

    @property
    def made(self) -> frozenset[str]:
        """Nodes and tensors that the step has made; nothing at the first step."""
        return frozenset(self._made) if self._step else frozenset()

    def marked(self, card: Card | None, before: Existing) -> Card | None:
        """A card at this step with its mark, or with those of its tags.

        Args:
            card: The card.
            before: The card at earlier steps.
        """
        if card is None or not self._step:
            return card
        if not before.existed(self._start - 1) and self._is_made(card):
            self._marked[self._step].add(card.id)
            if card.status:
                return card
            css, said = f"{card.css} gv-made", f"{card.aria}, new"
            return replace(card, css=css, status="new", aria=said)
        tags = {b.data_id for b in card.blocks if b.kind == "tag"} & self._made
        if not tags:
            return card
        self._marked[self._step].add(card.id)
        return replace(card, blocks=tuple(_tag(b) if b.data_id in tags else b for b in card.blocks))

    def _is_made(self, card: Card) -> bool:
        """Whether the step made what the card is of: of a leaf's, the leaf."""
        return not self._made.isdisjoint((card.tensor or card.id, *card.tensors))

    def marked_link(
        self, look: LinkLook | None, before: Existing, ends: Set[str]
    ) -> LinkLook | None:
        """A link at this step with its mark.

        Args:
            look: The link.
            before: The link at earlier steps.
            ends: What it joins: of a new link the step has made some of it.
        """
        is_old = look is None or not self._step or before.existed(self._start - 1)
        return (
            look
            if look is None or is_old or self._made.isdisjoint(ends)
            else replace(look, is_new=True)
        )


def _tag(block: Block) -> Block:
    first, *rest = block.lines
    line = replace(first, text=f"{first.text} + new".strip())
    return replace(block, css=f"{block.css} gv-made", lines=(line, *rest))
