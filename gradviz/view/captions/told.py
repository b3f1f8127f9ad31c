"""Where a step happened, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

from gradviz.model.events import BackwardStarted, Raised
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, Term, say
from gradviz.view.captions.counted import turns_of
from gradviz.view.captions.names import CaptionNames, names_of
from gradviz.view.captions.rows import Row, value_words
from gradviz.view.captions.state import CaptionState, line
from gradviz.view.text import clean

Said: TypeAlias = "tuple[Sentence, list[Row]]"
"""What happened, and its numbers."""


class Told:
    """A step with the names of what it tells of.

    Args:
        state: The step.
    """

    def __init__(self, state: CaptionState) -> None:
        self.state, self.step = state, state.step
        self.names: CaptionNames = names_of(state.history)

    @cached_property
    def path(self) -> str:
        """The module that the card of the step's node says."""
        return self._path(self.step.node)

    def _path(self, node: str | None) -> str:
        """The module that the card of a node says."""
        row = self.state.node_row(node)
        if row is None:
            return ""
        return self.names.boxes.owners.get(row.variable or "") or self.names.path(row.id)

    def place(self) -> Sentence:
        """Where it happened."""
        step, node = self.step, self.step.node
        if step.kind == "start":
            return Sentence()
        if step.kind == "counted" and (turns := turns_of(self.state)):
            return Sentence(turns)
        if step.kind == "error":
            raised = (event.node for event in step.events if isinstance(event, Raised))
            node = next(filter(None, raised), None)
        elif not step.level:
            node = None
        if node is None or (row := self.state.node_row(node)) is None:
            return line(step) if step.line is not None else Sentence(clean(step.kind))
        if row.variable is not None:
            return self.tensor(row.variable, whole=True)
        title = Sentence(Term(node, self.names.title(node)))
        path = self.path if node == step.node else self._path(node)
        return say("{} {}", title, path) if path else title

    def tensor(self, key: str, whole: bool = False) -> Sentence:
        """A tensor by the name on its card, or by its whole name."""
        return self.names.tensor(key, self.step.index, "" if whole else self.path)


def output_rows(started: BackwardStarted, state: CaptionState) -> Iterator[Row]:
    """The tensors at which a backward starts, with their values."""
    infos = (output(root, state) for root in started.roots[:2])
    for info in filter(None, infos):
        yield Row("", (state.tensor(info.id), Sentence(value_words(info))))


def output(root: tuple[str, int], state: CaptionState) -> TensorInfo | None:
    """The tensor at which a backward starts, if it is known."""
    rows = map(state.row, state.history.outputs_of(root[0], state.step.index, root[1]))
    return next((row for row in rows if row and (row.node, row.output_nr) == root), None)
