"""The cell magic in one shell: starts and ends a recording, and shows the player."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

from IPython.core.error import UsageError
from IPython.display import display

from gradviz.magic.cell_text import FirstLine, FirstStatement, text_of
from gradviz.magic.line_magic import LineMagic
from gradviz.magic.options import MARK, NAME, MagicOptions, parser, read_options
from gradviz.magic.quiet_recording import QuietRecording
from gradviz.magic.tracebacks import Tracebacks
from gradviz.model import GradvizError, Recording
from gradviz.model.formatting import a_kind


@dataclass(frozen=True, slots=True)
class _Running:
    """A recording that is running."""

    recorder: Any
    options: MagicOptions
    cell: Any


class CellMagic:
    """``%%gradviz`` in one shell.

    Args:
        shell: The ``InteractiveShell`` it is loaded into.
        number: Its number among the shells that have loaded the extension.
    """

    def __init__(self, shell: Any, number: int) -> None:
        self.shell = shell
        self.quiet = QuietRecording(self)
        self._line_magic = LineMagic(self)
        line = FirstLine()
        self._first = line, FirstStatement(number, line, self.quiet.is_wanted)
        self._cells: list[Any] = []
        """Cells that are running; a cell that runs another one comes before it."""
        self._running: _Running | None = None
        self.last: Recording | None = None
        """The recording of the last cell, if that cell was recorded and raised nothing."""
        self.tracebacks = Tracebacks(shell, lambda: self._running is None, self._is_short)

    def _is_short(self) -> bool:
        """Whether tracebacks have the user's own frames alone."""
        return self._running is not None and not self._running.options.traceback

    @property
    def cell(self) -> Any:
        """What IPython says of the cell that runs now; ``None`` if it runs none."""
        return self._cells[-1] if self._cells else None

    def load(self) -> None:
        """Register with the shell."""
        line, statement = self._first
        self.shell.input_transformers_cleanup.append(line)
        self.shell.ast_transformers.append(statement)
        self.shell.events.register("pre_run_cell", self._cell_begins)
        self.shell.events.register("post_run_cell", self._cell_ends)
        self.shell.register_magic_function(self._as_function(), "cell", NAME)
        self.shell.register_magic_function(self._line_magic.as_function(), "line", NAME)
        self.tracebacks.load()

    def unload(self) -> None:
        """Undo :meth:`load`."""
        line, statement = self._first
        self.shell.input_transformers_cleanup.remove(line)
        self.shell.ast_transformers.remove(statement)
        self.shell.events.unregister("pre_run_cell", self._cell_begins)
        self.shell.events.unregister("post_run_cell", self._cell_ends)
        self.shell.magics_manager.magics["cell"].pop(NAME, None)
        self.shell.magics_manager.magics["line"].pop(NAME, None)
        self.quiet.unload()
        self.tracebacks.unload()

    def begin(self, options: MagicOptions, frame: FrameType) -> None:
        """Start recording the cell whose code runs in ``frame``.

        Raises:
            UsageError: If a name of ``--into`` or ``--only`` does not exist, or has no lines.
            RecordingError: If a recording cannot be started here.
        """
        if not self._cells:  # run silently: there is no output to show a player in
            return
        cell = self._cells[-1]
        into = [self._find(name, "--into") for name in options.into]
        named = [self._find(name, "--only") for name in options.only]
        only = () if options.only_cell else named or None
        # Without its number: nbval runs cells that are not counted, and compares what they show.
        recorder = new_recorder(into, only, options, "cell")
        file = frame.f_code.co_filename
        recorder.start(file=file, text=text_of(cell.raw_cell, linecache.getlines(file)))
        self._running = _Running(recorder, options, cell)

    def _find(self, name: str, option: str) -> object:
        first, *rest = name.split(".")
        try:
            found: object = self.shell.user_ns[first]
            for attribute in rest:
                found = getattr(found, attribute)
        except (KeyError, AttributeError):
            raise UsageError(
                f"{MARK}: there is no {name!r} for {option}. Define the function or module "
                "in a cell above. The cell was not run."
            ) from None
        if not callable(found) and not isinstance(found, ModuleType):
            raise UsageError(
                f"{MARK}: {option} {name} is {a_kind(found)}, which has no lines to "
                "record; use a function or a module. The cell was not run."
            )
        return found

    def _cell_begins(self, info: Any) -> None:
        self._cells.append(info)
        self.quiet.cell_begins(info)

    def _cell_ends(self, result: Any) -> None:
        ended = self._ended(result)
        error = None if result is None else _error_of(result)
        quiet = self.quiet.cell_ends(ended, error)
        if ended is not None and not self._cells and not LineMagic.is_command(ended.raw_cell):
            self.last = quiet if error is None else None
        running = self._running
        if running is None or ended is not running.cell:
            return
        self._running = None
        try:
            recording = running.recorder.stop(error)
        except GradvizError as problem:
            _complain(problem)
            return
        if error is None and not self._cells:
            self.last = recording
        if running.options.name is not None:
            self.shell.user_ns[running.options.name] = recording
        _show(recording, running.options.look)

    def _ended(self, result: Any) -> Any:
        """The cell that has ended, ``None`` if its start was not reported."""
        for place in reversed(range(len(self._cells))):
            if result is None or result.info.raw_cell == self._cells[place].raw_cell:
                return self._cells.pop(place)
        return None

    def _as_function(self) -> Callable[[str, str], None]:
        def gradviz(line: str, cell: str) -> None:
            options = read_options(line)
            if options.help:
                sys.stdout.write(parser().format_help())
                return
            if not cell.strip():
                raise UsageError(f"{MARK} is a cell magic, but the cell body is empty.")
            # Called by name, or by another magic: this cell inside the one that runs now.
            self.shell.run_cell(f"{MARK} {line}\n{cell}").raise_error()

        gradviz.__doc__ = parser().format_help()
        return gradviz


def _error_of(result: Any) -> BaseException | None:
    inside: BaseException | None = result.error_in_exec
    before: BaseException | None = result.error_before_exec
    return before if inside is None else inside


def new_recorder(
    into: list[object],
    only: Sequence[object] | None,
    options: MagicOptions,
    label: str,
) -> Any:
    """A recorder; imported late, so that loading the extension does not import torch."""
    from gradviz.capture.recorder import Recorder

    budget = {} if options.budget is None else {"budget": options.budget}
    return Recorder(
        into=into,
        only=only,
        values=options.values,
        anomaly=options.anomaly,
        label=label,
        **budget,
    )


def _show(recording: Any, look: dict[str, Any]) -> None:
    from gradviz.api import show

    try:
        player = show(recording, **look)
    except GradvizError as problem:
        _complain(problem)
        player = show(recording)
    in_output: Any = display
    in_output(player)


def _complain(problem: GradvizError) -> None:
    sys.stderr.write(f"{MARK}: {problem}\n")
