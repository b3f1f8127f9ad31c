"""``%%gradviz``: the cell runs as it always does, is recorded, and its player stands below it.

NOTE [How a cell is recorded]
A cell magic that ran the cell itself would stand between the cell and IPython: errors would be
swallowed or shown twice, ``await`` would fail, lines would be counted anew. So the magic runs
nothing. Before IPython reads the cell, its first line becomes a text, ``'%%gradviz'``, which
does nothing and keeps the numbers of the lines (:class:`FirstLine`). Once the cell is parsed,
that text becomes the call that begins the recording (:class:`FirstStatement`). IPython runs the
cell, shows its output or its error, tells that it has ended, and the player is shown
(:class:`CellMagic`).
"""

from __future__ import annotations

import argparse
import ast
import linecache
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from keyword import iskeyword
from textwrap import dedent
from types import FrameType, ModuleType
from typing import Any, Final, NoReturn

from IPython.core.error import UsageError
from IPython.display import display

from gradviz.model import GradvizError
from gradviz.view.graph.card_parts import PARTS

NAME: Final = "gradviz"
MARK: Final = f"%%{NAME}"
LONG: Final = 300
"""Steps from which on a recording says how far it has come."""

_loaded: dict[int, CellMagic] = {}
"""The magic of each shell that has loaded the extension, by a number."""


@dataclass(frozen=True, slots=True)
class MagicOptions:
    """What stands behind ``%%gradviz`` on its line."""

    into: tuple[str, ...] = ()
    values: bool = True
    anomaly: bool = False
    look: dict[str, Any] = field(default_factory=dict)
    """Options of the player, those that were given."""
    name: str | None = None
    help: bool = False


def read_options(line: str) -> MagicOptions:
    """The options of a line.

    Raises:
        UsageError: If it cannot be understood.

    Examples:
        >>> read_options("--into model --step 3").look
        {'step': 3}
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        _parser().error(str(error))
    found = _parser().parse_args(words)
    look = {key: getattr(found, key) for key in ("step", "stops", "hide", "height")}
    return MagicOptions(
        tuple(found.into),
        not found.no_values,
        found.anomaly,
        {key: value for key, value in look.items() if value is not None},
        found.name,
        found.help,
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        names = (action.option_strings[0] for action in self._actions)
        raise UsageError(
            f"{MARK}: {message}. The cell was not run. Options are {', '.join(names)}; "
            f"{MARK} --help says what they do."
        )


@lru_cache(maxsize=1)
def _parser() -> _Parser:
    parser = _Parser(
        MARK,
        description="Record this cell while it runs and show the player below its output.",
        epilog="The cell runs exactly as it does without this line.",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--into",
        action="append",
        default=[],
        metavar="NAME",
        help="also step through the lines of this function or module, for example model or "
        "train.step; can be given several times",
    )
    parser.add_argument("--no-values", action="store_true", help="read no numbers of tensors")
    parser.add_argument(
        "--anomaly", action="store_true", help="run the cell in torch's anomaly mode"
    )
    parser.add_argument("--step", type=int, metavar="N", help="step that is shown first")
    parser.add_argument(
        "--stops", type=_numbers, metavar="N,N", help="steps to stop at, for example 3,5"
    )
    parser.add_argument(
        "--hide",
        action="append",
        metavar="PART",
        choices=PARTS,
        help="part of the picture to leave out, for example values; can be given several times",
    )
    parser.add_argument("--height", type=_pixels, metavar="PX", help="height of the player")
    parser.add_argument(
        "--name", type=_name, metavar="VARIABLE", help="variable that gets the recording"
    )
    parser.add_argument("--help", action="store_true", help="show this help; the cell is not run")
    return parser


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be numbers of steps: 3,5") from None


def _pixels(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of pixels: 400")
    return int(text)


def _name(text: str) -> str:
    if not text.isidentifier() or iskeyword(text):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be the name of a variable")
    return text


class FirstLine:
    """Turns the line ``%%gradviz …`` into a text that means nothing to Python.

    A line that cannot be understood stays as it is: then IPython calls the magic, which says
    what is wrong, and does not run the cell.
    """

    has_side_effects = True
    """It has none. But what is so called is passed over when IPython asks whether the cell is
    complete, and the rules for cell magics are then the right ones."""

    def __call__(self, lines: list[str]) -> list[str]:
        """The lines of a cell, as IPython is to read them."""
        magic, _, line = lines[0].strip().partition(" ") if lines else ("", "", "")
        if magic != MARK:
            return lines
        body = dedent("".join(lines[1:])).splitlines(keepends=True)
        try:
            options = read_options(line)
        except UsageError:
            return lines
        if options.help:
            # With a body, though it is empty: IPython asks for one before it calls a cell magic.
            return _as_call([lines[0], "\n"])
        if not "".join(body).strip():
            return lines
        # Another magic may come next: it has to find itself on a first line.
        blank = next(place for place, text in enumerate(body) if text.strip())
        return [f"{lines[0].strip()!r}\n", *body[:blank], *_as_call(body[blank:])]


def _as_call(lines: list[str]) -> list[str]:
    """The lines, as IPython would call the cell magic that stands in the first of them, if any."""
    magic, _, line = lines[0].rstrip().partition(" ")
    if not magic.startswith("%%") or magic.endswith("?"):
        return lines
    body = "".join(lines[1:])
    return [f"get_ipython().run_cell_magic({magic[2:]!r}, {line!r}, {body!r})\n"]


class FirstStatement(ast.NodeTransformer):
    """Turns the text that :class:`FirstLine` left into the call that begins the recording."""

    def __init__(self, number: int) -> None:
        self._number = number

    def visit(self, tree: Any) -> Any:
        """A cell as IPython parsed it."""
        first = tree.body[0] if isinstance(tree, ast.Module) and tree.body else None
        if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
            return tree
        text = first.value.value
        if not isinstance(text, str) or text.partition(" ")[0] != MARK:
            return tree
        line = text.partition(" ")[2]
        call = f"__import__({__name__!r}, fromlist=['begin']).begin({self._number}, {line!r})"
        statement = ast.parse(call).body[0]
        for item in ast.walk(statement):
            ast.copy_location(item, first)
        place = 1  # nothing but texts may come before `from __future__ import`
        while place < len(tree.body) and _is_of_future(tree.body[place]):
            place += 1
        tree.body[:place] = [*tree.body[1:place], statement]
        return tree


def _is_of_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def begin(number: int, line: str) -> None:
    """Begin to record; this is the first thing a recorded cell does."""
    _loaded[number].begin(read_options(line), sys._getframe(1))


@dataclass(frozen=True, slots=True)
class _Running:
    """A recording that goes on."""

    recorder: Any
    options: MagicOptions
    cell: Any
    progress: ProgressLine


class ProgressLine:
    """Says how far a long recording has come; what stays is the number of its steps."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, steps: int) -> None:
        """So many steps have been recorded."""
        if steps < LONG:
            return
        text = _plain(f"recording … {steps:,} steps")
        if self._handle is None:
            in_output: Any = display
            self._handle = in_output(text, raw=True, display_id=True)
        else:
            self._handle.update(text, raw=True)

    def end(self, steps: int) -> None:
        """The recording has ended."""
        if self._handle is not None:
            self._handle.update(_plain(f"recorded {steps:,} steps"), raw=True)


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": text}


class CellMagic:
    """``%%gradviz`` in one shell.

    Args:
        shell: The ``InteractiveShell`` it is loaded into.
        number: Its place among all that are loaded.
    """

    def __init__(self, shell: Any, number: int) -> None:
        self.shell = shell
        self._first = FirstLine(), FirstStatement(number)
        self._cells: list[Any] = []
        """Cells that run now; a cell that runs another stands before it."""
        self._running: _Running | None = None

    def load(self) -> None:
        """Register with the shell."""
        line, statement = self._first
        self.shell.input_transformers_cleanup.append(line)
        self.shell.ast_transformers.append(statement)
        self.shell.events.register("pre_run_cell", self._cell_begins)
        self.shell.events.register("post_run_cell", self._cell_ends)
        self.shell.register_magic_function(self._as_function(), "cell", NAME)

    def unload(self) -> None:
        """Take back what :meth:`load` did."""
        line, statement = self._first
        self.shell.input_transformers_cleanup.remove(line)
        self.shell.ast_transformers.remove(statement)
        self.shell.events.unregister("pre_run_cell", self._cell_begins)
        self.shell.events.unregister("post_run_cell", self._cell_ends)
        self.shell.magics_manager.magics["cell"].pop(NAME, None)

    def begin(self, options: MagicOptions, frame: FrameType) -> None:
        """Begin to record the cell whose code runs in ``frame``.

        Raises:
            UsageError: If there is nothing called as ``--into`` says.
            RecordingError: If a recording cannot be started here.
        """
        if not self._cells:  # run silently: there is no output to show a player in
            return
        cell = self._cells[-1]
        into = [self._find(name) for name in options.into]
        # Without its number: nbval runs cells that are not counted, and compares what they show.
        progress = ProgressLine()
        recorder = new_recorder(into, options.values, options.anomaly, "cell", progress)
        file = frame.f_code.co_filename
        recorder.start(file=file, text=text_of(cell.raw_cell, linecache.getlines(file)))
        self._running = _Running(recorder, options, cell, progress)

    def _find(self, name: str) -> object:
        first, *rest = name.split(".")
        try:
            found: object = self.shell.user_ns[first]
            for attribute in rest:
                found = getattr(found, attribute)
        except (KeyError, AttributeError):
            raise UsageError(
                f"{MARK}: there is no {name!r} to step into. A function or module must be there "
                "before the cell begins: define it in a cell above. The cell was not run."
            ) from None
        if not callable(found) and not isinstance(found, ModuleType):
            raise UsageError(
                f"{MARK}: --into {name} is a {type(found).__name__}, which has no lines to step "
                "through; name a function or a module. The cell was not run."
            )
        return found

    def _cell_begins(self, info: Any) -> None:
        self._cells.append(info)

    def _cell_ends(self, result: Any) -> None:
        ended = self._ended(result)
        running = self._running
        if running is None or ended is not running.cell:
            return
        self._running = None
        try:
            recording = running.recorder.stop(None if result is None else _error_of(result))
        except GradvizError as problem:
            _complain(problem)
            return
        running.progress.end(len(recording))
        if running.options.name is not None:
            self.shell.user_ns[running.options.name] = recording
        _show(recording, running.options.look)

    def _ended(self, result: Any) -> Any:
        """The cell that has ended; not every cell that ends was seen to begin."""
        for place in reversed(range(len(self._cells))):
            if result is None or result.info.raw_cell == self._cells[place].raw_cell:
                return self._cells.pop(place)
        return None

    def _as_function(self) -> Callable[[str, str], None]:
        def gradviz(line: str, cell: str) -> None:
            options = read_options(line)
            if options.help:
                sys.stdout.write(_parser().format_help())
                return
            if not cell.strip():
                raise UsageError(f"{MARK} is a cell magic, but the cell body is empty.")
            # Called by name, or by another magic: this cell inside the one that runs now.
            self.shell.run_cell(f"{MARK} {line}\n{cell}").raise_error()

        gradviz.__doc__ = _parser().format_help()
        return gradviz


def text_of(raw: str, run: list[str]) -> str:
    """A cell from its magic on, as the user wrote it, with the lines that Python runs.

    Args:
        raw: What the user wrote.
        run: What IPython made of it; empty if that is not known.
    """
    wrote = dedent(raw).split("\n")
    first = next((i for i, line in enumerate(wrote) if line.split(" ")[0] == MARK), 0)
    wrote = wrote[first:]
    text = [line.rstrip("\n") for line in run] or wrote
    text[0] = wrote[0]
    if len(text) == len(wrote):
        # What IPython alone understands stands there as it was written.
        text = [w if w.lstrip()[:1] in ("%", "!", "?") else t for w, t in zip(wrote, text)]
    return "\n".join(text)


def _error_of(result: Any) -> BaseException | None:
    inside: BaseException | None = result.error_in_exec
    before: BaseException | None = result.error_before_exec
    return before if inside is None else inside


def new_recorder(
    into: list[object], values: bool, anomaly: bool, label: str, progress: Callable[[int], None]
) -> Any:
    """What records; torch is not loaded before it is needed."""
    from gradviz.capture.recorder import Recorder

    return Recorder(into=into, values=values, anomaly=anomaly, label=label, progress=progress)


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


def load(shell: Any) -> None:
    """Load the extension into a shell; doing so again changes nothing."""
    if any(magic.shell is shell for magic in _loaded.values()):
        return
    number = max(_loaded, default=-1) + 1
    _loaded[number] = CellMagic(shell, number)
    _loaded[number].load()


def unload(shell: Any) -> None:
    """Take the extension out of a shell."""
    for number, magic in list(_loaded.items()):
        if magic.shell is shell:
            magic.unload()
            del _loaded[number]
