"""Which line runs: turns the interpreter's line events into completed statements.

NOTE [Cold code]
Most lines of an ordinary program call nothing of torch: to be told of them costs a hundred times
what they cost themselves. So code is *cold* after some lines in a row in which nothing happened,
few if nothing has happened in the call at all: its lines, and its calls, are told no more. A call
of torch warms the functions that run at that time, from the recorded block down to the one that
calls; it gets cold sooner then. Where lines were left out like that, a note says so in the next
step, and turns of loops that may have been among them have no numbers.

Nothing has happened in a line that makes no event and changes no row, but that a loop has bound a
tensor, and while memory is compared that others can write. What dies, or gets another name, in
cold code is part of the next step. Functions that an observer watches, as hooks are, are never
cold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import CodeType, FrameType, TracebackType
from typing import Any, Final

from gradviz.capture import autograd
from gradviz.capture.raising import before_backward
from gradviz.capture.recorder import source_text
from gradviz.capture.recorder.followed_code import FollowedCode
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.source_text import Source, Spans
from gradviz.capture.stacks import stack_of, traceback_entries
from gradviz.model.events import Position
from gradviz.model.source_line import SourceLine

_QUIET: Final = 20
"""Lines of calls of a function in which nothing happens, after which it is cold."""
_QUIET_AMONG_OTHERS: Final = 200
"""The same in calls in which something has happened, and in the recorded block or cell."""
_LEAST: Final = 5
"""Both are halved whenever code gets cold again, down to this."""


class _Level:
    """One frame whose lines are followed."""

    __slots__ = ("begun", "calls", "error", "frame", "happened", "line", "place")

    def __init__(self, frame: FrameType, place: int, happened: int) -> None:
        self.frame: FrameType | None = frame
        self.place = place
        self.line: int | None = None
        self.error: Any = None
        """What the line has raised, until it is handled."""
        self.calls: Counter[Position] = Counter()
        """How many calls each expression of the line has made."""
        self.begun = self.happened = happened
        """How much had happened when the call, and the line, began."""


class LineEvents:
    """Follows the lines of the recorded code.

    Args:
        first: Source of the cell or block.
        file: File name of the cell; ``""`` for a block.
        followed: Whose lines are followed, besides those of the cell or block.
        observer: Called when a statement has run, while :attr:`line` is still its line, and
            when a followed function begins while a line of another runs.
    """

    def __init__(
        self, first: Source, file: str, followed: FollowedCode, observer: Observer
    ) -> None:
        self.sources: list[Source] = [first]
        self._file = file
        self._followed = followed
        self._observer = observer
        self._pauses = 0
        self._levels: list[_Level] = []
        self._places: dict[CodeType, int] = {}
        self._spans = Spans()
        self._cell: tuple[CodeType | None, int | None, int] = (None, None, 0)
        """Code, line and source of a cell that an exception has left."""
        self._made_elsewhere: list[tuple[range, tuple[int, int]]] = []
        """Numbers of nodes that other threads have made, and the line that had them made."""
        self._block_file = ""
        self._read = 0
        self._words: frozenset[str] | None = None
        self.happened: Callable[[], int] = int
        """How often something has happened in a line so far."""
        self.has_events: Callable[[], bool] = bool
        """Whether anything has been noted for the next step, or may be when the line ends."""
        self.cold: dict[int, CodeType] = {}
        """NOTE [Cold code], by ``id()``: a code object's own hash goes through its constants."""
        self._quiet: dict[int, int] = {}
        """By ``id()``: in how many lines of code nothing has happened since something has. The
        tracer keeps the code."""
        self._times_cold: Counter[int] = Counter()
        """By ``id()``: how often code has got cold."""

    # ------------------------------------------------------- where the code is

    @property
    def line(self) -> int | None:
        """Line that runs now."""
        return self._levels[-1].line if self._levels else None

    @property
    def code(self) -> int:
        """Place of its source among :attr:`sources`."""
        return self._levels[-1].place if self._levels else 0

    @property
    def ended(self) -> tuple[int | None, int]:
        """Line and source that a step is about: of a line whose call has raised, the line in it.

        An exception that the function handles, or that passes through its ``with`` block, has left
        the lines of the call without a step.
        """
        error = self._levels[-1].error if self._levels else None
        return (self.line, self.code) if error is None else self._left_by(error)

    def _left_by(self, error: Any) -> tuple[int | None, int]:
        """Line and source of the innermost line that an exception has left, by its traceback."""
        cell, line, place = self._cell
        if self._levels:
            cell, line, place = None, self.line, self.code
        here, innermost = self.frame, None
        trace = error.__traceback__ if isinstance(error, BaseException) else None
        for entry in before_backward(list(traceback_entries(trace))):
            if entry.tb_frame is here or self.has(entry.tb_frame.f_code):
                innermost = entry
        if innermost is None:
            return line, place
        if innermost.tb_frame is not here and innermost.tb_frame.f_code is not cell:
            return self.place_of(innermost)
        return line or self.sources[place].statement(innermost.tb_lineno), place

    @property
    def depth(self) -> int:
        """How many calls of followed functions it is inside of."""
        return max(0, len(self._levels) - 1)

    @property
    def has_cold(self) -> bool:
        """Whether there is cold code, and a call of torch in it is a step of its own."""
        return bool(self.cold) and not self._pauses

    @property
    def is_block_cold(self) -> bool:
        """Whether no lines of the recorded block itself are told: NOTE [Cold code]."""
        frame = self._levels[0].frame if self._levels else None
        return frame is not None and id(frame.f_code) in self.cold

    @property
    def base(self) -> FrameType | None:
        """Frame of the recorded block or cell."""
        return self._levels[0].frame if self._levels else None

    @property
    def frame(self) -> FrameType | None:
        """Frame that runs it."""
        return self._levels[-1].frame if self._levels else None

    @property
    def frames(self) -> list[FrameType]:
        """Frames whose lines are followed, the outermost first."""
        return [level.frame for level in self._levels if level.frame is not None]

    @property
    def loop_variables(self) -> tuple[str, ...]:
        """Variables that the line binds if it is the head of a ``for`` loop."""
        if not self._levels or self.line is None:
            return ()
        return self.sources[self._levels[-1].place].loop_variables(self.line)

    @property
    def returns(self) -> bool:
        """Whether the line is a ``return``."""
        level = self._levels[-1] if self._levels else None
        return bool(level and level.line and self.sources[level.place].returns(level.line))

    @property
    def words(self) -> frozenset[str] | None:
        """Names that the recorded code may speak of; ``None`` if its text is not known."""
        if len(self.sources) != self._read:
            self._read = len(self.sources)
            words = [piece.words for piece in self.sources]
            self._words = None if None in words else frozenset().union(*filter(None, words))
        return self._words

    @property
    def rebound(self) -> frozenset[str]:
        """Variables that the recorded code may bind again, as loops and calls do."""
        return frozenset().union(*(piece.rebound for piece in self.sources))

    def made_elsewhere(self, numbers: range) -> None:
        """Another thread has made nodes for the line that runs: its numbers are not this one's."""
        if self.line is None or not numbers:
            return
        line = self.code, self.line
        if self._made_elsewhere:
            last, its_line = self._made_elsewhere[-1]
            if last.stop == numbers.start and its_line == line:
                self._made_elsewhere[-1] = range(last.start, numbers.stop), line
                return
        self._made_elsewhere.append((numbers, line))

    def is_made_elsewhere(self, number: int) -> bool:
        """Whether another thread has made a node with this sequence number for the recording."""
        return any(number in numbers for numbers, _ in self._made_elsewhere)

    def text_at(self, number: int) -> SourceLine | None:
        """``"line 3: y = x * 2"`` for the line that made the node with this sequence number.

        To be asked when the node is first seen. ``None`` if the line is not known, as where this
        thread and another have made a node with this number.
        """
        lines: set[object] = {line for numbers, line in self._made_elsewhere if number in numbers}
        if not lines or number >= self._spans.last_start:
            lines.add(self._spans.at(number))
        found = lines.pop() if len(lines) == 1 else None
        if not isinstance(found, tuple):
            return None
        place, line = found
        piece = self.sources[place]
        file, code = "" if place == 0 else piece.code.name.partition(":")[0], piece.text(line)
        where = f"{file} " if file else ""
        return SourceLine(f"{where}line {line}: {code}".rstrip(": "), line, code, file)

    def next_call(self, file: str, position: Position) -> Position | None:
        """The next call of an expression; ``None`` if that is no part of the line that runs.

        Args:
            file: File name of the code that has the expression.
            position: The expression.
        """
        level = self._levels[-1] if self._levels else None
        if level is None or level.line is None or level.frame is None:
            return None
        piece = self.sources[level.place]
        is_here = file == level.frame.f_code.co_filename
        if not (is_here and piece.is_in_statement(level.line, position)):
            return None
        ordinal = level.calls[position]
        return replace(position, ordinal=ordinal) if ordinal else position

    def shows(self, code: CodeType) -> bool:
        """Whether a lambda or comprehension is in the same text as the line that runs."""
        level = self._levels[-1] if self._levels else None
        if level is None or level.frame is None:
            return False
        is_same = code.co_filename == level.frame.f_code.co_filename
        return is_same and self.sources[level.place].covers(code.co_firstlineno)

    def has_called(self, position: Position | None) -> None:
        """A call of the line that runs has been written down."""
        if self._levels and position is not None:
            self._levels[-1].calls[replace(position, ordinal=0)] += 1

    def has(self, code: CodeType) -> bool:
        """Whether a code object has lines that are followed; a comprehension is part of one."""
        is_function = code.co_name == "<module>" or not code.co_name.startswith("<")
        return is_function and self.is_recorded(code)

    def is_recorded(self, code: CodeType) -> bool:
        """Whether a function, a lambda or a comprehension is in the recorded code."""
        is_of_cell = bool(self._file) and code.co_filename == self._file
        return is_of_cell or self._is_inside(code) or self._followed.has(code)

    def _is_inside(self, code: CodeType) -> bool:
        """Whether a function was defined in the recorded block itself."""
        first = self.sources[0]
        return (
            bool(self._block_file)
            and bool(first.code.text)
            and code.co_filename == self._block_file
            and first.covers(code.co_firstlineno)
        )

    # ---------------------------------------------------------------- listening

    def begin(self, frame: FrameType) -> None:
        """The block of a frame begins, perhaps in the middle of a line.

        Of a body on the line of its ``with`` no event says that it begins, and what ends the block
        is on that line too: the line is one statement.
        """
        self._block_file = frame.f_code.co_filename
        level, head = self._enter(frame, 0), self.sources[0].head
        if head:
            level.line = head.start
            self._mark()

    def pause(self) -> None:
        """Follow no lines until :meth:`resume`: what runs is part of the line that called it."""
        self._pauses += 1

    def resume(self) -> None:
        """Follow lines again."""
        self._pauses -= 1

    def line_event(self, frame: FrameType, line: int) -> None:
        """A line of a followed frame is about to run."""
        is_cold = id(frame.f_code) in self.cold
        if is_cold or self._pauses or self._is_around(frame) or autograd.is_exporting():
            return
        level = self._level(frame)
        piece = self.sources[level.place]
        if level is self._levels[0] and level.line is not None and line in piece.head:
            return
        if not piece.covers(line):
            if level.error is None:
                self._end(level)
            return
        statement = piece.statement(line)
        if statement == level.line and (line != statement or piece.may_come_again(statement)):
            if self.depth and not self.has_events():
                self._count(level)
            return
        self._end(level)
        level.line, level.happened = statement, self.happened()
        self._mark()

    def is_quiet(self, frame: FrameType) -> bool:
        """Whether nothing has happened for so long in the code of a frame that it may be cold."""
        quiet = self._quiet.get(id(frame.f_code), 0)
        if quiet < _LEAST:
            return False
        level = self._levels[-1] if self._levels else None
        limit = _QUIET
        if level is not None and level.frame is frame:
            is_alone = self.depth > 0 and level.begun == self.happened()
            limit = _QUIET if is_alone else _QUIET_AMONG_OTHERS
        return quiet >= max(limit >> self._times_cold[id(frame.f_code)], _LEAST)

    def cool(self, frame: FrameType) -> None:
        """The lines of the code of a frame that is quiet are told no more: NOTE [Cold code]."""
        self.cold[id(frame.f_code)] = frame.f_code
        self._times_cold[id(frame.f_code)] += 1
        level, depth = self._levels[-1] if self._levels else None, self.depth
        if level is None or level.frame is not frame:
            return
        if not depth:
            level.line = None
        else:
            self._pop(False)
            if level.begun != self.happened():  # it has steps, which perhaps go on
                self._observer.lines_left_out([depth])
        self._mark()

    def warm(self, frames: Sequence[FrameType]) -> None:
        """Code of these frames was cold, and something happens: they run a line each.

        Args:
            frames: All that run and whose lines are followed, the outermost first.
        """
        left_out = []
        for depth, frame in enumerate(frames):
            if self.cold.pop(id(frame.f_code), None) is not None:
                left_out.append(depth)
            self._quiet[id(frame.f_code)] = 0
        for depth, frame in enumerate(frames):
            level = self._levels[depth] if depth < len(self._levels) else None
            if level is None or level.frame is not frame or depth in left_out:
                while len(self._levels) > max(depth, 1):
                    self._pop(False)
                self.line_event(frame, frame.f_lineno)
        self._observer.lines_left_out(left_out)

    def _is_around(self, frame: FrameType) -> bool:
        """Whether a frame is not called by the cell: its function has the cell run."""
        return bool(self._file) and not self._levels and frame.f_code.co_filename != self._file

    def raised(self, frame: FrameType, error: Any, line: int | None = None) -> None:
        """A line of a followed frame has raised: the one that runs, or ``line``.

        What an ``except`` or a ``finally`` raises again belongs to the line that raised first.
        """
        level = self._levels[-1] if self._levels else None
        if level is None or level.frame is not frame:
            return
        if line is None or self.sources[level.place].statement(line) == level.line:
            level.error = error

    def called_from(self, frame: FrameType) -> None:
        """A followed frame calls torch: its line begins now if no event has told of it."""
        if self._pauses:
            return
        stack = list(stack_of(frame))
        while self._levels and self._levels[-1].frame not in stack:
            self.left(self._levels[-1].frame, False, None)
        level = self._levels[-1] if self._levels else None
        if (
            level is None
            or level.frame is not frame
            or level.line != self.sources[level.place].statement(frame.f_lineno)
        ):
            self.line_event(frame, frame.f_lineno)

    def left(self, frame: FrameType | None, failed: bool, value: Any) -> None:
        """A followed frame is left, by an exception or with a value."""
        if frame is None or not self._levels:
            return
        if self._levels[-1].frame is not frame:  # as a generator that goes on in the same line
            self._quiet[id(frame.f_code)] = self._quiet.get(id(frame.f_code), 0) + 1
            return
        if not failed:
            self._end(self._levels[-1], value)
        elif not self.depth:
            self._cell = frame.f_code, self.line, self.code
        self._pop(failed)
        self._mark()

    def stop(self, error: BaseException | None) -> tuple[int | None, int]:
        """The recording ends; returns line and source of what ran last, or has failed."""
        last = self._left_by(error)
        while self._levels:
            if error is None:
                self._end(self._levels[-1])
            self._pop(error is not None)
        return last

    def _level(self, frame: FrameType) -> _Level:
        # A frame that was left by an exception or a generator may lie above.
        for depth in range(len(self._levels) - 1, -1, -1):
            if self._levels[depth].frame is frame:
                while len(self._levels) > depth + 1:
                    self._pop(True)
                return self._levels[depth]
        place = self._place_of(frame)
        if self.line is not None:
            self._observer.function_begins(frame)
        return self._enter(frame, place)

    def _enter(self, frame: FrameType, place: int) -> _Level:
        self._levels.append(_Level(frame, place, self.happened()))
        self._observer.call_begins()
        return self._levels[-1]

    def _pop(self, failed: bool) -> None:
        self._levels.pop().frame = None
        self._observer.call_ended(failed)

    def _place_of(self, frame: FrameType) -> int:
        code = frame.f_code
        if self._file and not self._levels and code.co_name == "<module>":
            return 0
        if not self._levels and not self._file:
            self._block_file = code.co_filename
            return 0
        if code.co_filename == (self._file or self._block_file) and self.sources[0].covers(
            code.co_firstlineno
        ):
            return 0
        if code not in self._places:
            self._places[code] = len(self.sources)
            self.sources.append(source_text.of_code(code))
        return self._places[code]

    def place_of(self, entry: TracebackType) -> tuple[int | None, int]:
        """Line and source of an entry of a traceback, whether or not its lines are followed."""
        place = self._place_of(entry.tb_frame)
        return self.sources[place].statement(entry.tb_lineno), place

    def show(self, code: CodeType | None) -> None:
        """Show the text of a function whose lines are not followed, and where an error began."""
        if code is None or code in self._places:
            return
        is_first = code.co_filename == (self._file or self._block_file)
        if not (is_first and self.sources[0].covers(code.co_firstlineno)):
            self._places[code] = len(self.sources)
            self.sources.append(source_text.of_method(code))

    def _end(self, level: _Level, value: Any = None) -> None:
        if level.line is None or level is not self._levels[-1]:
            return
        self._observer.line_ended(level.error, value)
        level.line = level.error = None
        level.calls.clear()
        self._count(level)

    def _count(self, level: _Level) -> None:
        """A line has run, or goes on: has something happened in it?"""
        if level.frame is not None:
            code = id(level.frame.f_code)
            is_quiet = self.happened() == level.happened
            self._quiet[code] = self._quiet.get(code, 0) + 1 if is_quiet else 0

    def _mark(self) -> None:
        level = self._levels[-1] if self._levels else None
        value = None if level is None or level.line is None else (level.place, level.line)
        self._spans.begin(autograd.sequence_number(), value)
