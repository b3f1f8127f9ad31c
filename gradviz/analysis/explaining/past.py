"""What a recording knew when: rows of nodes and tensors, and events, over its steps."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, Generic, TypeVar

from gradviz.model.events import Event, Note
from gradviz.model.explanation import CodeLine
from gradviz.model.facts import Node, TensorInfo
from gradviz.model.recording import Recording

Row = TypeVar("Row")
Kind = TypeVar("Kind", bound=Event)
_SOURCE: Final = re.compile(
    r"(?:(?P<file>[^:]*?)(?: line |:))?(?:line )?(?P<line>\d+)(?:: (?P<text>.*))?$"
)


class _History(Generic[Row]):
    """The rows one thing has had; ``None`` when it had ceased to exist."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.rows: list[Row | None] = []

    def add(self, step: int, row: Row | None) -> None:
        self.steps.append(step)
        self.rows.append(row)

    def upto(self, step: int) -> Sequence[Row]:
        """The rows it had up to a step, the last one first."""
        return [r for r in reversed(self.rows[: bisect_right(self.steps, step)]) if r is not None]

    def is_alive(self, step: int) -> bool:
        place = bisect_right(self.steps, step) - 1
        return place >= 0 and self.rows[place] is not None


class Past:
    """A recording, to be asked about any of its steps.

    Args:
        recording: What is looked into.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._nodes: dict[str, _History[Node]] = {}
        self._tensors: dict[str, _History[TensorInfo]] = {}
        self._events: list[tuple[int, Event]] = []
        for index, step in enumerate(recording.facts):
            for key, node in step.changes.nodes:
                self._nodes.setdefault(key, _History()).add(index, node)
            for key, info in step.changes.tensors:
                self._tensors.setdefault(key, _History()).add(index, info)
            self._events += [(index, event) for event in step.events]

    # ------------------------------------------------------------------- rows

    def node(self, key: str | None, step: int) -> Node | None:
        """A node as it was last seen up to a step."""
        return next(iter(self.node_rows(key, step)), None)

    def node_rows(self, key: str | None, step: int) -> Sequence[Node]:
        """A node as it was seen up to a step, the last time first."""
        history = self._nodes.get(key or "")
        return () if history is None else history.upto(step)

    def tensor(self, key: str | None, step: int) -> TensorInfo | None:
        """A tensor as it was last seen up to a step."""
        return next(iter(self.tensor_rows(key, step)), None)

    def tensor_rows(self, key: str | None, step: int) -> Sequence[TensorInfo]:
        """A tensor as it was seen up to a step, the last time first."""
        history = self._tensors.get(key or "")
        return () if history is None else history.upto(step)

    def nodes(self, step: int) -> Iterator[Node]:
        """All nodes known up to a step, those that died among them."""
        for key in sorted(self._nodes, key=_number):
            row = self.node(key, step)
            if row is not None:
                yield row

    def tensors(self, step: int) -> Iterator[TensorInfo]:
        """All tensors known up to a step, those that died among them."""
        for key in sorted(self._tensors, key=_number):
            row = self.tensor(key, step)
            if row is not None:
                yield row

    def is_alive(self, key: str, step: int) -> bool:
        """Whether a node or tensor existed after a step."""
        history = self._nodes.get(key) or self._tensors.get(key)
        return history is not None and history.is_alive(step)

    def born(self, key: str) -> int | None:
        """Step at which a node or tensor was first seen."""
        history = self._nodes.get(key) or self._tensors.get(key)
        return None if history is None else history.steps[0]

    def name(self, key: str | None, step: int) -> str | None:
        """Name of a tensor; of one that has lost it, the last one it had."""
        return next((row.name for row in self.tensor_rows(key, step) if row.name), None)

    def is_renamed(self, key: str, step: int) -> bool:
        """Whether another tensor has the name by now."""
        name = self.name(key, step)
        now = next(iter(self.tensor_rows(key, step)), None)
        return (
            name is not None
            and (now is None or now.name != name or not self.is_alive(key, step))
            and any(row.name == name and row.id != key for row in self.tensors(step))
        )

    def on_storage(self, storage: str | None, step: int) -> list[TensorInfo]:
        """Tensors on a storage, by number."""
        if storage is None:
            return []
        return [info for info in self.tensors(step) if info.storage == storage]

    def output_of(self, node: str | None, step: int, output_nr: int = 0) -> str | None:
        """Id of a tensor that is, or was, this output of a node."""
        for key in sorted(self._tensors, key=_number):
            for row in self.tensor_rows(key, step):
                if node is not None and (row.node, row.output_nr) == (node, output_nr):
                    return key
        return None

    # ----------------------------------------------------------------- events

    def events(self, kind: type[Kind], until: int, since: int = 0) -> Iterator[tuple[int, Kind]]:
        """Events of a kind with their steps, ``until`` included."""
        for step, event in self._events:
            if since <= step <= until and isinstance(event, kind):
                yield step, event

    def is_summed_up(self, step: int) -> bool:
        """Whether a step stands for others that were left out: its line did not do all of it."""
        return any(note.about == "steps left out" for _, note in self.events(Note, step, step))

    def is_partial(self, step: int) -> bool:
        """Whether not all calls of a step were noted."""
        more = any(note.about == "operations left out" for _, note in self.events(Note, step, step))
        return more or self.is_summed_up(step)

    # ------------------------------------------------------------------ lines

    def line(self, step: int | None) -> CodeLine | None:
        """The line that ran, or runs, at a step."""
        if step is None:
            return None
        facts, codes = self.recording.facts[step], self.recording.codes
        if facts.line is None:
            return None
        known = 0 <= facts.code < len(codes)
        name, text = (
            (codes[facts.code].name, self._text(facts.code, facts.line)) if known else ("", "")
        )
        return CodeLine(facts.line, text, name, step)

    def _text(self, place: int, line: int) -> str:
        code = self.recording.codes[place]
        lines = code.text.split("\n")
        at = line - code.first_line
        return lines[at].strip() if 0 <= at < len(lines) else ""

    def made_at(self, node: Node) -> CodeLine | None:
        """The line that made a node."""
        step = self.born(node.id)
        line = self.line(step) if step else None
        found = None if node.source is None else _SOURCE.match(node.source)
        if found is None:
            return line
        number, text = int(found["line"]), found["text"] or ""
        if line is not None and line.line == number:
            return line
        file = found["file"] or "cell"
        for code in self.recording.codes:
            is_inside = code.first_line <= number <= code.first_line + code.text.count("\n")
            if code.name.partition(":")[0] == file and is_inside:
                return CodeLine(number, text, code.name)
        if found["file"] is None:
            places = range(len(self.recording.codes))
            same = {self.recording.codes[i].name for i in places if self._text(i, number) == text}
            if text and len(same) == 1:
                return CodeLine(number, text, same.pop())
        return CodeLine(number, text, found["file"] or "")


def _number(key: str) -> int:
    return int(key[1:])
