"""Which steps of a recording are one turn of a loop: from the lines that ran and the syntax."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from gradviz.analysis.code.statements import Statement, statements_of
from gradviz.model.events import Note
from gradviz.model.recording import Code, Recording, StepRecord
from gradviz.model.step_numbers import PART
from gradviz.model.turns import Turn

_LOOPS: Final = (ast.For, ast.AsyncFor, ast.While)
_WITHS: Final = (ast.With, ast.AsyncWith)


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop in a source text."""

    line: int
    body: range
    """Lines of its body."""
    has_head: bool
    """Whether the interpreter reports its head at every turn; it does not for ``while True``."""


@dataclass(slots=True)
class _Run:
    """A loop that runs."""

    key: tuple[int, Loop]
    depth: int
    """Depth of the call it runs in."""
    level: int
    head: int | None = None
    """First step of the head that has run last, if no line of the body has run since."""
    turns: list[tuple[int, int]] = field(default_factory=list)
    """First and last step of each turn."""


def turns_of(recording: Recording) -> tuple[Turn, ...]:
    """All turns of all loops of a recording, in the order in which they began.

    A turn begins where the head of its loop runs and ends with the last line of its body. A loop
    whose body is on the line of its head has no turns: a recording has one step for all of them.

    Examples:
        >>> turns_of(Recording.empty())
        ()
    """
    found = [turn for run in _runs(recording) for turn in _turns(run)]
    return tuple(sorted(found, key=lambda turn: (turn.first, turn.level)))


def _turns(run: _Run) -> Iterator[Turn]:
    code, loop = run.key
    for number, (first, last) in enumerate(run.turns, 1):
        yield Turn(code, loop.line, number, len(run.turns), run.level, first, last)


@lru_cache(maxsize=64)
def loops_of(code: Code) -> tuple[Loop, ...]:
    """The loops of a source text whose body has lines of its own, outer ones first."""
    found = []
    for statement in statements_of(code):
        node = statement.node
        if not isinstance(node, _LOOPS):
            continue
        shift = statement.line - node.lineno
        first, last = node.body[0].lineno, node.body[-1].end_lineno or node.lineno
        if first > node.lineno:
            has_head = not (isinstance(node, ast.While) and isinstance(node.test, ast.Constant))
            found.append(Loop(statement.line, range(first + shift, last + shift + 1), has_head))
    return tuple(found)


@lru_cache(maxsize=64)
def _with_blocks(code: Code) -> tuple[tuple[int, range], ...]:
    """Heads of ``with`` statements and their lines: the interpreter comes back to a head."""
    found: list[Statement] = [s for s in statements_of(code) if isinstance(s.node, _WITHS)]
    return tuple(
        (s.line, range(s.line + 1, s.line + (s.node.end_lineno or 0) - s.node.lineno + 1))
        for s in found
    )


class _Walk:
    """Goes through the steps and knows which loops run."""

    def __init__(self, recording: Recording) -> None:
        self._codes = recording.codes
        self._running: list[_Run] = []
        self._before: dict[int, StepRecord] = {}
        """By depth the last line that has ended there."""
        self.ended: list[_Run] = []

    def step(self, place: int, facts: StepRecord, first: int) -> None:
        """Go on by a step that is no part of a node.

        Args:
            place: Its place.
            facts: The step.
            first: Place of the first step inside it.
        """
        loops = self._loops_at(facts)
        self._end(lambda run: run.depth > facts.depth)
        self._end(lambda run: run.depth == facts.depth and run.key not in loops)
        known = {run.key for run in self._running if run.depth == facts.depth}
        for key in loops:
            if key not in known:
                self._running.append(_Run(key, facts.depth, len(self._running)))
        for run in self._running:
            if run.depth < facts.depth or facts.line in run.key[1].body:
                self._body(run, place, facts, first)
            elif facts.kind == "line":
                run.head = first
        for depth in [depth for depth in self._before if depth > facts.depth]:
            del self._before[depth]
        if facts.kind == "line" and not _goes_on(facts):
            self._before[facts.depth] = facts

    def end(self) -> None:
        """No step follows."""
        self._end(lambda _: True)

    def _loops_at(self, facts: StepRecord) -> list[tuple[int, Loop]]:
        """Loops around a line in its own source text, one that begins there the last."""
        if facts.line is None or not 0 <= facts.code < len(self._codes):
            return []
        loops = loops_of(self._codes[facts.code])
        return [(facts.code, x) for x in loops if facts.line in x.body or facts.line == x.line]

    def _body(self, run: _Run, place: int, facts: StepRecord, first: int) -> None:
        if run.head is not None:
            run.turns.append((run.head, place))
            run.head = None
        elif not run.turns or (run.depth == facts.depth and self._begins_again(run, facts)):
            run.turns.append((first, place))
        else:
            run.turns[-1] = run.turns[-1][0], place

    def _begins_again(self, run: _Run, facts: StepRecord) -> bool:
        """Whether a loop without a head goes back to the beginning of its body."""
        code, loop = run.key
        before = self._before.get(facts.depth)
        if loop.has_head or before is None or before.line is None or facts.line is None:
            return False
        if before.code != code or before.line not in loop.body or facts.line > before.line:
            return False
        inner = self._running[self._running.index(run) + 1 :]
        if any(one.depth == facts.depth and before.line in one.key[1].body for one in inner):
            return False
        blocks = _with_blocks(self._codes[code])
        return not any(facts.line == head and before.line in body for head, body in blocks)

    def _end(self, is_over: Callable[[_Run], bool]) -> None:
        self.ended += [run for run in self._running if is_over(run)]
        self._running = [run for run in self._running if not is_over(run)]


def _goes_on(facts: StepRecord) -> bool:
    """Whether a step is what a line has done before it calls a function."""
    return any(isinstance(event, Note) and event.about == "calls a function"
               for event in facts.events)  # fmt: skip


def _runs(recording: Recording) -> list[_Run]:
    walk = _Walk(recording)
    starts = recording.numbers.starts
    for place, facts in enumerate(recording.records):
        if facts.level < PART:
            walk.step(place, facts, starts[place])
    walk.end()
    return walk.ended
