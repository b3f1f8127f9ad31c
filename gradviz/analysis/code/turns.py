"""Which steps of a recording are one turn of a loop: from the lines that ran and the syntax."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias

from gradviz.analysis.code.statements import Statement, statements_of
from gradviz.model.events import LoopVariable, Note
from gradviz.model.recording import Code, Recording, StepRecord
from gradviz.model.step_numbers import PART
from gradviz.model.turns import Head, Turn

_LOOPS: Final = (ast.For, ast.AsyncFor, ast.While)
_WITHS: Final = (ast.With, ast.AsyncWith)


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop in a source text."""

    line: int
    body: range
    """Lines of its body."""
    once: frozenset[int]
    """Lines of its body that run at most once in a turn."""
    has_head: bool
    """Whether the interpreter reports its head at every turn; it does not for ``while True``."""


Lines: TypeAlias = "dict[tuple[int, int, int | None], int]"
"""How often lines ran, by depth, code and number."""


@dataclass(slots=True)
class _Run:
    """A loop that runs."""

    key: tuple[int, Loop]
    depth: int
    """Depth of the call it runs in."""
    level: int
    head: tuple[int, int] | None = None
    """First step inside the head that has run last, and its own step, if no line of the body has
    run since."""
    turns: list[_Span] = field(default_factory=list)
    heads: dict[int, _Span] = field(default_factory=dict)
    """The turns that began at a head, by its step."""
    counted: Lines | None = None
    """The counted lines in which its last turns began, if they are counted."""
    is_between: bool = False
    """Whether its head ran once more than turns began there."""
    is_elsewhere: bool = False
    """Whether it is in another turn than that of the line before."""
    is_several: bool = False
    """Whether it may have been left and begun again where steps are counted, or turns of it where
    no lines were told: how many turns were of which run is not known."""

    @property
    def count(self) -> int | None:
        """How many turns there were."""
        if self.is_several:
            return None
        return sum(one.times for one in self.turns)

    def begin(self, first: int, last: int, times: int = 1) -> _Span:
        """A turn begins, or many that are one."""
        count = self.count
        self.turns.append(_Span(first, last, None if count is None else count + 1, times))
        return self.turns[-1]

    def has(self, code: int, line: int | None) -> bool:
        """Whether a line is its head or in its body."""
        return code == self.key[0] and (line == self.key[1].line or line in self.key[1].body)


@dataclass(slots=True)
class _Span:
    """The steps of a turn, or of many of which the recording has the steps only together."""

    first: int
    last: int
    number: int | None
    """Which turn it is, of many the first; ``None`` if that is not known."""
    times: int


def turns_of(recording: Recording) -> tuple[Turn, ...]:
    """All turns of all loops of a recording, in the order in which they began.

    A turn begins where the head of its loop runs and ends with the last line of its body. A loop
    whose body is on the line of its head has no turns: a recording has one step for all of them.

    Examples:
        >>> turns_of(Recording.empty())
        ()
    """
    found = [turn for run in _walked(recording).ended for turn in _turns(run)]
    return tuple(sorted(found, key=lambda turn: (turn.first, turn.level)))


def heads_of(recording: Recording) -> tuple[Head, ...]:
    """What each run of a head of a loop or a ``with`` block meant, in the order of the steps.

    Examples:
        >>> heads_of(Recording.empty())
        ()
    """
    walk = _walked(recording)
    found = [*walk.blocks, *(head for run in walk.ended for head in _heads(run))]
    return tuple(sorted(found, key=lambda head: head.step))


def _heads(run: _Run) -> Iterator[Head]:
    has_ended = run.head is not None
    count = run.count if has_ended or run.is_several else 0
    for step, turn in run.heads.items():
        yield Head(step, "turn", turn.number, count, turn.times)
    if run.head is not None:
        yield Head(run.head[1], "loop ended", count, count)


def _turns(run: _Run) -> Iterator[Turn]:
    code, loop = run.key
    for one in run.turns:
        span = one.first, one.last, one.times
        yield Turn(code, loop.line, one.number, run.count, run.level, *span)


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
            body = range(first + shift, last + shift + 1)
            often = {at + shift for inner in node.body for at in _repeated(inner)}
            once = frozenset(body).difference(often)
            found.append(Loop(statement.line, body, once, has_head))
    return tuple(found)


def _repeated(node: ast.AST) -> Iterator[int]:
    """Lines inside a statement that may run several times when it runs once: loops, and heads of
    ``with`` blocks."""
    for inner in ast.walk(node):
        if isinstance(inner, _LOOPS):
            yield from range(inner.lineno, (inner.body[-1].end_lineno or inner.lineno) + 1)
        elif isinstance(inner, _WITHS):
            yield inner.lineno


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
        self._records = recording.records
        self._containers = recording.numbers.containers
        self._running: list[_Run] = []
        self._counted: Lines | None = None
        """The counted lines that a step is one of, if it is one."""
        self._after: StepRecord | None = None
        """The step after them."""
        self._before: dict[int, StepRecord] = {}
        """By depth the last line that has ended there."""
        self.ended: list[_Run] = []
        self.blocks: list[Head] = []

    def step(self, place: int, facts: StepRecord, first: int) -> None:
        """Go on by a step that is no part of a node.

        Args:
            place: Its place.
            facts: The step.
            first: Place of the first step inside it.
        """
        if facts.kind == "counted":  # of which lines these were, those that follow say
            return
        left_out = _left_out(facts)
        for run in self._running:
            run.is_several |= run.depth in left_out
            run.is_elsewhere = run.depth in left_out and self._is_silent(run)
        if first and self._records[first - 1].kind == "counted":
            first -= 1
        if facts.times is None:
            self._counted = None
        elif self._counted is None:
            self._counted = self._lines_from(place)
        loops = self._loops_at(facts)
        if facts.kind == "error":  # it has the depth that it was raised to, not that of its line
            deeper = {run.key for run in self._running if run.depth > facts.depth}
            loops = [key for key in loops if key not in deeper]
        self._block(place, facts)
        if self._counted is None:  # in which order counted lines ran is not known
            self._end(lambda run: run.depth > facts.depth)
            self._end(lambda run: run.depth == facts.depth and run.key not in loops)
            self._end(lambda run: self._is_elsewhere(run, place))
        known = {run.key for run in self._running if run.depth == facts.depth}
        for key in loops:
            if key not in known:
                level = sum(self._is_in_body(run, place) for run in self._running)
                self._running.append(_Run(key, facts.depth, level))
                self._running[-1].is_several = facts.depth in left_out
        for run in self._running:
            if self._is_in_body(run, place):
                self._body(run, place, facts, first)
            elif facts.kind == "line" and facts.depth == run.depth and run.has(*_place(facts)):
                run.head = first, place
        for depth in [depth for depth in self._before if depth > facts.depth]:
            del self._before[depth]
        if facts.kind == "line" and not _goes_on(facts):
            self._before[facts.depth] = facts

    def _caller(self, run: _Run, place: int) -> StepRecord:
        """The step itself, or that of the line of the loop's function which it is inside of."""
        at: int | None = place
        while at is not None and self._records[at].depth > run.depth:
            place, at = at, self._containers[at]
        return self._records[place if at is None else at]

    def _is_in_body(self, run: _Run, place: int) -> bool:
        caller = self._caller(run, place)
        if caller is not self._records[place] and caller.kind != "line":
            return True  # an error has left the line, which has no step of its own
        return caller.code == run.key[0] and caller.line in run.key[1].body

    def _is_elsewhere(self, run: _Run, place: int) -> bool:
        """Whether a line calls a function that is neither in the body nor the head of a loop."""
        caller = self._caller(run, place)
        if caller is self._records[place] or caller.kind != "line":
            return False
        code, loop = run.key
        return caller.code != code or (caller.line not in loop.body and caller.line != loop.line)

    def _block(self, place: int, facts: StepRecord) -> None:
        """Note whether a ``with`` block begins at a step, or is left."""
        if facts.kind != "line" or facts.line is None or _goes_on(facts):
            return
        if not 0 <= facts.code < len(self._codes):
            return
        before = self._before.get(facts.depth)
        for head, body in _with_blocks(self._codes[facts.code]):
            if facts.line == head and body:
                is_left = before is not None and before.code == facts.code and before.line in body
                self.blocks.append(Head(place, "block ended" if is_left else "block begins"))

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
        if self._counted is not None:
            self._counted_body(run, place, first, self._counted)
            return
        is_first = self._caller(run, place).line == run.key[1].body[0]
        is_new = run.counted is None or (run.is_between and is_first)
        run.counted = None
        if run.head is not None and (is_new or self._records[run.head[1]].times is None):
            since, head = run.head
            run.heads[head] = run.begin(since, place)
        elif (
            not run.turns
            or run.is_elsewhere
            or (run.depth == facts.depth and self._begins_again(run, facts))
        ):
            run.begin(first, place)
        else:
            run.turns[-1].last = place
        run.head = None

    def _counted_body(self, run: _Run, place: int, first: int, lines: Lines) -> None:
        """A line of the body whose runs are counted; the first one begins all turns that began."""
        if run.counted is not lines:
            run.counted = lines
            if run.level or run.depth:
                run.is_several |= any(
                    depth < run.depth or (depth == run.depth and not run.has(code, line))
                    for depth, code, line in lines
                )
            times = self._begun(run, lines)
            run.is_between = self._heads(run, lines) > times
            if times or not run.turns:
                since, head = run.head or (first, None)
                turns = run.begin(since, place, max(times, 1))
                if head is not None:
                    run.heads[head] = turns
                    if not run.is_between:
                        run.head = None
        run.turns[-1].last = place

    def _begun(self, run: _Run, lines: Lines) -> int:
        """How many turns of a loop began where steps are counted."""
        code, loop = run.key
        entered = lines.get((run.depth, code, loop.body[0]), 0)
        if not loop.has_head:
            return entered
        heads = self._heads(run, lines)
        if loop.body[0] in loop.once:
            return min(entered, heads)
        then = self._after
        if then is not None and (then.depth > run.depth or run.has(then.code, then.line)):
            return min(entered, heads)
        # The loop has ended there, perhaps by its head.
        at = [lines.get((run.depth, code, line), 0) for line in loop.once]
        is_amid = bool(run.turns) and run.head is None
        return min(entered, heads, max(max(at, default=0) - is_amid, heads - 1))

    def _heads(self, run: _Run, lines: Lines) -> int:
        """How often its head ran there, or just before."""
        code, loop = run.key
        is_kept = run.head is not None and self._records[run.head[1]].times is None
        return lines.get((run.depth, code, loop.line), 0) + is_kept

    def _lines_from(self, place: int) -> Lines:
        """The lines that ran in a row of counted steps, and how often each did."""
        found: Lines = {}
        self._after = None
        for facts in self._records[place:]:
            if facts.times is None:
                self._after = facts
                break
            if facts.kind == "line" and not _goes_on(facts):
                key = facts.depth, *_place(facts)
                found[key] = found.get(key, 0) + facts.times
        return found

    def _is_silent(self, run: _Run) -> bool:
        """Whether nothing has happened in the last turn of a loop: where lines were not told, the
        loop has gone on like that."""
        last = run.turns[-1] if run.turns else None
        steps = [] if last is None else self._records[last.first : last.last + 1]
        return all(isinstance(e, (LoopVariable, Note)) for step in steps for e in step.events)

    def _begins_again(self, run: _Run, facts: StepRecord) -> bool:
        """Whether a loop without a head goes back to the beginning of its body."""
        code, loop = run.key
        before = self._before.get(facts.depth)
        if before is None or before.line is None or facts.line is None:
            return False
        if loop.has_head and run.depth not in _left_out(facts):
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


def _place(facts: StepRecord) -> tuple[int, int | None]:
    """Code and line of a step."""
    return facts.code, facts.line


def _goes_on(facts: StepRecord) -> bool:
    """Whether a step is what a line has done before it calls a function."""
    return any(isinstance(event, Note) and event.about == "calls a function"
               for event in facts.events)  # fmt: skip


def _left_out(facts: StepRecord) -> tuple[Any, ...]:
    """Depths of the calls in which lines before a step were not told, perhaps heads of loops."""
    found = [e.values for e in facts.events if isinstance(e, Note)
             if e.about == "lines without torch"]  # fmt: skip
    return sum(found, ())


def _walked(recording: Recording) -> _Walk:
    walk = _Walk(recording)
    starts = recording.numbers.starts
    for place, facts in enumerate(recording.records):
        if facts.level < PART:
            walk.step(place, facts, starts[place])
    walk.end()
    return walk
