"""The text of a cell that begins with ``%%gradviz``: NOTE [How a cell is recorded]."""

from __future__ import annotations

import ast
from collections.abc import Callable
from textwrap import dedent
from typing import Any, Final

from IPython.core.error import UsageError

from gradviz.magic.options import MARK, read_options

PACKAGE: Final = "gradviz.magic"


class FirstLine:
    """Replaces the line ``%%gradviz …`` by a string literal, which has no effect in Python.

    A line with wrong options is kept: IPython then calls the magic, which raises the error, and
    does not run the cell.
    """

    has_side_effects = True
    """It has none. But IPython skips such transformers when it checks whether the cell is complete,
    so that its rules for cell magics apply."""
    made = ""
    """The text of the literal, if the last cell has got one."""

    def __call__(self, lines: list[str]) -> list[str]:
        """The lines of a cell as IPython should parse them."""
        self.made = ""
        magic, _, line = lines[0].strip().partition(" ") if lines else ("", "", "")
        if magic != MARK:
            return lines
        body = dedent("".join(lines[1:])).splitlines(keepends=True)
        try:
            options = read_options(line)
        except UsageError:
            return lines
        if options.help:
            # With an empty body: IPython requires one before it calls a cell magic.
            return _as_call([lines[0], "\n"])
        if not "".join(body).strip():
            return lines
        # Another magic may follow: it must be on the first line.
        blank = next(place for place, text in enumerate(body) if text.strip())
        self.made = lines[0].strip()
        return [f"{self.made!r}\n", *body[:blank], *_as_call(body[blank:])]


def _as_call(lines: list[str]) -> list[str]:
    """The lines; if the first is a cell magic, as the call that IPython makes of it."""
    magic, _, line = lines[0].rstrip().partition(" ")
    if not magic.startswith("%%") or magic.endswith("?"):
        return lines
    body = "".join(lines[1:])
    return [f"get_ipython().run_cell_magic({magic[2:]!r}, {line!r}, {body!r})\n"]


class FirstStatement(ast.NodeTransformer):
    """Makes a call that starts a recording the first statement of a cell.

    It takes the place of the string literal of :class:`FirstLine`; in other cells it is added
    where ``%gradviz on`` asks for that.

    Args:
        number: Number of the shell.
        line: Has made the literal; one that the user has typed is a value like others.
        is_wanted: Whether a cell without the literal is to be recorded; asked once per tree.
    """

    def __init__(self, number: int, line: FirstLine, is_wanted: Callable[[], bool]) -> None:
        self._number = number
        self._line = line
        self._is_wanted = is_wanted

    def visit(self, tree: Any) -> Any:
        """A cell as IPython parsed it."""
        if not (isinstance(tree, ast.Module) and tree.body):
            return tree
        is_wanted, first, made = self._is_wanted(), tree.body[0], self._line.made
        if made and isinstance(first, ast.Expr) and ast.unparse(first) == repr(made):
            line = made.partition(" ")[2]
            self._put(tree, first, f"begin({self._number}, {line!r})", tree.body[1:])
        elif is_wanted:
            self._put(tree, first, f"begin_quietly({self._number})", tree.body)
        return tree

    def _put(self, tree: ast.Module, first: ast.stmt, call: str, rest: list[ast.stmt]) -> None:
        name = call.partition("(")[0]
        (statement,) = ast.parse(f"__import__({PACKAGE!r}, fromlist=[{name!r}]).{call}").body
        for item in ast.walk(statement):
            ast.copy_location(item, first)
        of_future = [place for place, one in enumerate(rest, 1) if _is_of_future(one)]
        place = max(of_future, default=0)  # they have to come first
        tree.body[:] = [*rest[:place], statement, *rest[place:]]


def _is_of_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


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
        # Syntax of IPython is kept as it was written.
        text = [w if w.lstrip()[:1] in ("%", "!", "?") else t for w, t in zip(wrote, text)]
    return "\n".join(text)
