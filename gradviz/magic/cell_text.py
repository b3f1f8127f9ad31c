"""The text of a cell that begins with ``%%gradviz``: NOTE [How a cell is recorded]."""

from __future__ import annotations

import ast
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

    def __call__(self, lines: list[str]) -> list[str]:
        """The lines of a cell as IPython should parse them."""
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
        return [f"{lines[0].strip()!r}\n", *body[:blank], *_as_call(body[blank:])]


def _as_call(lines: list[str]) -> list[str]:
    """The lines; if the first is a cell magic, as the call that IPython makes of it."""
    magic, _, line = lines[0].rstrip().partition(" ")
    if not magic.startswith("%%") or magic.endswith("?"):
        return lines
    body = "".join(lines[1:])
    return [f"get_ipython().run_cell_magic({magic[2:]!r}, {line!r}, {body!r})\n"]


class FirstStatement(ast.NodeTransformer):
    """Replaces the string literal of :class:`FirstLine` by the call that starts the recording."""

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
        call = f"__import__({PACKAGE!r}, fromlist=['begin']).begin({self._number}, {line!r})"
        statement = ast.parse(call).body[0]
        for item in ast.walk(statement):
            ast.copy_location(item, first)
        place = 1  # only string literals may come before `from __future__ import`
        while place < len(tree.body) and _is_of_future(tree.body[place]):
            place += 1
        tree.body[:place] = [*tree.body[1:place], statement]
        return tree


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
