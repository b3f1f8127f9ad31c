"""Words of captions that point at things: what a recording has told up to a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from gradviz.model.events import Freed, Write
from gradviz.model.facts import Node, SavedTensor, TensorInfo
from gradviz.model.recording import Recording, Step
from gradviz.view import phrases
from gradviz.view.text import clean


@dataclass(frozen=True, slots=True)
class Term:
    """A word that names a node, a tensor or a line: it lights up the same thing everywhere."""

    id: str
    """``"n0"``, ``"t3"`` or ``"line:0:4"``, the number of the code before that of the line."""
    text: str
    step: int | None = None
    """Step after which a line had run, where one of several is meant."""


Row = TypeVar("Row")
Words: TypeAlias = tuple["str | Term", ...]
"""A part of a caption."""


def said(words: Words) -> str:
    """Words as a plain sentence.

    Examples:
        >>> said((Term("t0", "a"), ".grad was None"))
        'a.grad was None'
    """
    return "".join(word if isinstance(word, str) else word.text for word in words)


def listed(items: Sequence[Words], most: int = 4, thing: str = "other") -> Words:
    """``a, b and c``; what is too many is counted."""
    shown = list(items[:most])
    if len(items) > most:
        shown.append((phrases.plural(len(items) - most, thing),))
    found: list[str | Term] = []
    for place, item in enumerate(shown):
        if place:
            found.append(" and " if place == len(shown) - 1 else ", ")
        found += item
    return tuple(found)


class Story:
    """Nodes and tensors as they were last seen, those that died among them.

    Args:
        recording: What is told.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.nodes: dict[str, Node] = {}
        self.tensors: dict[str, TensorInfo] = {}
        self.alive: set[str] = set()
        self.fresh: list[str] = []
        """Ids that began to exist at the last step."""
        self.earlier: dict[str, TensorInfo] = {}
        """Tensors that the last step changed, as they were before."""
        self.changed: list[str] = []
        """Nodes that the last step changed."""
        self.freed: dict[str, Words] = {}
        """What freed the saved tensors of a node."""
        self.written: dict[str, list[tuple[int, Words]]] = {}
        """What wrote a tensor, with the version that it made."""

    def writer(self, slot: SavedTensor) -> Words:
        """What was the first to write a tensor since it was saved, if that is known."""
        made = self.written.get(slot.tensor or slot.view_of or "", [])
        saved = slot.saved_version
        return next((by for after, by in made if saved is not None and after > saved), ())

    def go_on(self, step: Step) -> None:
        """Take in what a step changed."""
        changes = step.facts.changes
        self.fresh = []
        self.changed = [k for k, node in changes.nodes if node is not None and k in self.alive]
        self.earlier = {
            key: self.tensors[key]
            for key, info in changes.tensors
            if info is not None and key in self.alive
        }
        self._take(changes.nodes, self.nodes)
        self._take(changes.tensors, self.tensors)
        for event in step.events:
            if isinstance(event, Freed):
                number = step.facts.backward or 1
                self.freed[event.node] = (f"backward {number} in ", *self.line(step))
            elif isinstance(event, Write):
                by: Words = (f"{clean(event.by)} in ", *self.line(step))
                for key in event.tensors:
                    self.written.setdefault(key, []).append((event.after or 0, by))

    def _take(self, rows: Sequence[tuple[str, Row | None]], known: dict[str, Row]) -> None:
        for key, row in rows:
            if row is None:
                self.alive.discard(key)
                continue
            if key not in self.alive:
                self.fresh.append(key)
            known[key] = row
            self.alive.add(key)

    def tensor(self, key: str | None, otherwise: str = "a tensor") -> Words:
        """A tensor by its name, else by its id."""
        info = self.tensors.get(key or "")
        if info is None:
            return (clean(otherwise),)
        return (Term(info.id, phrases.tensor_name(info)),)

    def node(self, key: str) -> Words:
        """A node by torch's name; a leaf by its own name."""
        node = self.nodes.get(key)
        if node is None:
            return (key,)
        if node.variable in self.tensors:
            return self.tensor(node.variable)
        return (Term(key, clean(node.name)),)

    def line(self, step: Step) -> Words:
        """``line 4``, with the name of the code unless it is the recorded code itself."""
        if step.line is None:
            return ("the code",)
        place = step.facts.code
        where = f" of {clean(step.code.name)}" if place and step.code is not None else ""
        return (Term(f"line:{place}:{step.line}", f"line {step.line}"), where)

    def slot(self, slot: SavedTensor) -> Words:
        """``self = b @v0``."""
        version = "" if slot.saved_version is None else f" @v{slot.saved_version}"
        known = slot.tensor or slot.view_of
        if known not in self.tensors:
            return (f"{clean(slot.name)}{version}",)
        view = "view of " if slot.view_of else ""
        return (f"{clean(slot.name)} = {view}", *self.tensor(known), version)


def source_of(step: Step) -> str:
    """The text of the line of a step, empty if it is not known."""
    code, line = step.code, step.line
    if code is None or line is None or not code.text:
        return ""
    lines = code.text.split("\n")
    place = line - code.first_line
    return clean(lines[place].strip()) if 0 <= place < len(lines) else ""
