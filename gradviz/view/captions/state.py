"""The terms of captions: nodes, tensors and lines, as of one step of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gradviz.model.events import BackwardStarted, Raised
from gradviz.model.freed import freed_by
from gradviz.model.history import History
from gradviz.model.recording import Step
from gradviz.model.records import Node, SavedTensor, TensorInfo, ValueSummary
from gradviz.model.sentence import Sentence, Term, listed, say
from gradviz.model.writes import writes_since_save
from gradviz.view import formatting
from gradviz.view.text import clean

MOST: Final = 4
"""Names in one list; a count stands for more."""
FEW: Final = 3
"""The same for nodes, whose names are long."""
ROOM: Final = 44
"""Cells of the shape and norm of a gradient inside a sentence."""
CHECKPOINT: Final = "_checkpoint_hook."
"""How the names of the unpack hooks of torch.utils.checkpoint begin."""


@dataclass(frozen=True, slots=True)
class CaptionState:
    """A step of a recording in words; it may name nodes and tensors that no longer exist.

    Its sentences are clean text, ready to be shown.
    """

    history: History
    step: Step

    @property
    def fresh(self) -> list[str]:
        """Ids of nodes and tensors that are new at the step, or have been made inside it and are
        still there."""
        begun, at = self.history.begun, self.step.index
        inside = range(self.history.recording.numbers.starts[at], at)
        made = [key for place in inside for key in begun(place) if self.is_alive(key)]
        return list(dict.fromkeys((*made, *begun(at))))

    def is_made(self, key: str) -> bool:
        """Whether the step, or a step inside it, is known to have made a node or tensor that is
        fresh; others were there before, and are read first when they are used."""
        first = self.history.recording.numbers.starts[self.step.index]
        return self.history.is_made(key, range(first, self.step.index + 1))

    @property
    def unseen(self) -> set[str]:
        """Ids of what was made inside the step and no longer exists after it."""
        begun, at = self.history.begun, self.step.index
        inside = range(self.history.recording.numbers.starts[at], at)
        return {key for place in inside for key in begun(place) if not self.is_alive(key)}

    def node_row(self, key: str | None) -> Node | None:
        """A node as it was last seen."""
        return self.history.node(key, self.step.index)

    def row(self, key: str | None) -> TensorInfo | None:
        """A tensor as it was last seen."""
        return self.history.tensor(key, self.step.index)

    @property
    def before(self) -> int:
        """The last step before the line began."""
        return self.history.recording.numbers.starts[self.step.index] - 1

    @property
    def changed(self) -> list[str]:
        """Ids of tensors and nodes that the step, or a step inside it, has changed."""
        steps = range(self.before + 1, self.step.index + 1)
        return list(dict.fromkeys(key for at in steps for key in self.history.changed(at)))

    def row_before(self, key: str) -> TensorInfo | None:
        """A tensor as it was before the line began, and the backwards that the line called;
        ``None`` if it did not exist."""
        records, before = self.history.recording.records, self.before
        while before > 0 and self.step.record.backward is None is not records[before].backward:
            before -= 1
        return self.history.tensor_at(key, before)

    def row_now(self, key: str) -> TensorInfo | None:
        """A tensor as it is after the step, ``None`` if it no longer exists."""
        return self.history.tensor_at(key, self.step.index)

    def is_alive(self, key: str) -> bool:
        """Whether a node or tensor exists after the step."""
        return self.history.is_alive(key, self.step.index)

    def freed_by(self, node: str, raised: Raised) -> Sentence:
        """Which backward, before the one that raised, freed the saved tensors of a node, if that
        is known."""
        until = self.step.index
        for step, event in self.history.events(BackwardStarted, until):
            if event.number == raised.backward:
                until = step - 1
        earlier = freed_by(node, self.history, until)
        if earlier is None:
            return Sentence()
        return say("backward {} in {}", earlier.number, self._line(earlier.since))

    def writer(self, slot: SavedTensor, node: Node) -> Sentence:
        """The first write to a tensor since a node saved it, if it is known."""
        writes = writes_since_save(slot, node, self.history, self.step.index)
        if not writes:
            return Sentence()
        return say("{} in {}", clean(writes[0].by), self._line(writes[0].step))

    def _line(self, step: int) -> Sentence:
        return line(self.history.recording.all_steps[step])

    def tensor(self, key: str | None, otherwise: str = "a tensor") -> Sentence:
        """A tensor by its name, else by what is known of it."""
        if key is None or self.row(key) is None:
            return Sentence(clean(otherwise))
        return Sentence(Term(key, clean(self.history.called(key, self.step.index))))

    def node(self, key: str) -> Sentence:
        """A node by torch's name, with its line where other nodes have that name too; a leaf by
        its own name."""
        node = self.node_row(key)
        if node is None:
            return Sentence(key)
        if self.row(node.variable) is not None:
            return self.tensor(node.variable)
        found = self.history.node_name(key)
        if found is None:
            return Sentence(Term(key, clean(node.name)))
        first = self.history.recording.numbers.starts[self.step.index]
        is_own = self.step.level == 0 and first <= (self.history.born(key) or 0) <= self.step.index
        return Sentence(Term(key, clean(found.words_in_its_line if is_own else found.words)))

    def slots(self, slots: Sequence[SavedTensor]) -> Sentence:
        """Saved tensors in one list; that all are packed by the same is said once."""
        packers = {(slot.state == "packed", is_of_checkpoint(slot)) for slot in slots}
        if len(slots) > 1 and len(packers) == 1 and slots[0].state == "packed":
            by = "checkpoint" if is_of_checkpoint(slots[0]) else "hooks"
            names = listed([clean(slot.name) for slot in slots], FEW, "saved tensor")
            return say("{} (packed by {})", names, by)
        return listed([self.slot(slot) for slot in slots], FEW, "saved tensor")

    def slot(self, slot: SavedTensor) -> Sentence:
        """``self = b @v0``, ``other = 2 @v0``."""
        version = (
            "" if slot.saved_version is None else f" {formatting.at_version(slot.saved_version)}"
        )
        if slot.state == "packed":
            by = "checkpoint" if is_of_checkpoint(slot) else "a hook"
            return Sentence(clean(slot.name), f" (packed by {by})")
        known = slot.tensor or slot.view_of
        if self.row(known) is None:
            value = slot.values if slot.shape == () else None  # the 2 of ``2 * w``
            words = f" = {formatting.nested(value, ())}" if value else ""
            return Sentence(clean(slot.name), words, version)
        view = "view of " if slot.view_of else ""
        return say("{} = {}{}{}", clean(slot.name), view, self.tensor(known), version)


def is_of_checkpoint(slot: SavedTensor) -> bool:
    """Whether a checkpoint packed a saved tensor, which it computes again when it is needed."""
    return (slot.packed_by or "").startswith(CHECKPOINT)


def gradient(found: ValueSummary | None) -> str:
    """A gradient in a sentence: all its values where they are known, else its shape and norm."""
    if found is not None and found.values is not None:
        return formatting.nested(found.values, found.shape)
    return formatting.gradient_words(found, ROOM)


def line(step: Step) -> Sentence:
    """``line 4``, with the name of the code unless it is the recorded code itself."""
    if step.line is None:
        return Sentence("the code")
    place = step.record.code
    where = f" of {clean(step.code.name)}" if place and step.code is not None else ""
    return Sentence(Term(f"line:{place}:{step.line}", f"line {step.line}"), where)


def source_of(step: Step) -> str:
    """The text of the line of a step, empty if it is not known."""
    code, number = step.code, step.line
    return "" if code is None or number is None else clean(code.line(number))
