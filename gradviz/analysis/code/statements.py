"""Lines of the user's code as syntax: what they call, what they bind, how they can be changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from gradviz.model.explanation import CodeLine
from gradviz.model.history import EventPlace, History
from gradviz.model.recording import Code, Recording

TextPlace: TypeAlias = "tuple[int, int]"
"""Line and column, as syntax trees count."""
TextChange: TypeAlias = "tuple[ast.AST | TextPlace, str]"
"""A part of a text, or a place in it, and what is put there."""


class Statement:
    """The statement that begins at a line; of a compound one its head.

    Args:
        code: Source text it is part of.
        node: The statement itself.
        around: Statements around it, the outermost first.
    """

    def __init__(self, code: Code, node: ast.stmt, around: tuple[ast.stmt, ...]) -> None:
        self.code = code
        self.node = node
        self.around = around
        self.line: int = node.lineno + code.first_line - 1
        """Number of its first line."""

    @property
    def at(self) -> CodeLine:
        """Its first line, with the file."""
        return CodeLine(self.line, self.code.line(self.line), self.code.name)

    @property
    def last_line(self) -> int:
        """Number of its last line; of a compound one that of its head."""
        return self.line + _last_line(self.node) - self.node.lineno

    @property
    def place(self) -> TextPlace:
        """Where it begins, by which statements of one text are compared: several share a line."""
        return start_of(self.node)

    @property
    def parts(self) -> list[ast.AST]:
        """Everything in it, but for the body of a compound statement, in the order of the text."""
        body = set()
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            body |= {id(one) for one in _list(getattr(self.node, name, ()))}
        found: list[ast.AST] = []
        todo: list[ast.AST] = [self.node]
        while todo:
            node = todo.pop()
            found.append(node)
            todo += [n for n in reversed(list(ast.iter_child_nodes(node))) if id(n) not in body]
        return found

    @property
    def function(self) -> ast.FunctionDef | None:
        """The innermost function that it is in."""
        return next((s for s in reversed(self.around) if isinstance(s, ast.FunctionDef)), None)

    @property
    def is_compound(self) -> bool:
        """Whether other statements are inside it."""
        return hasattr(self.node, "body")

    @property
    def text(self) -> str:
        """Its text without indentation; of a compound one its head."""
        return self.edited(())

    @property
    def is_first(self) -> bool:
        """Whether its line begins with it, and with nothing else: no ``if``, no ``elif``."""
        line = plain(self.code.text).split("\n")[self.node.lineno - 1].encode()
        column = self.node.col_offset
        return not line[:column].strip() and line[column : column + 4] != b"elif"

    @property
    def is_alone(self) -> bool:
        """Whether no other statement has a part of its lines."""
        return self.is_first and not self.shares_lines

    @property
    def shares_lines(self) -> bool:
        """Whether another statement has a part of its lines, or the head of one around it."""
        line = plain(self.code.text).split("\n")[self.node.lineno - 1].encode()
        if line[: self.node.col_offset].strip():
            return True
        first, last = self.node.lineno, _last_line(self.node)
        around = {id(one) for one in self.around}
        return any(
            other.node.lineno <= last and first <= _last_line(other.node)
            for other in statements_of(self.code)
            if other.node is not self.node and id(other.node) not in around
        )

    def segment(self, node: ast.AST, changes: Sequence[TextChange] = ()) -> str:
        """Text of a part of it, with parts of that part replaced by other text."""
        if not hasattr(node, "end_col_offset"):
            return ast.unparse(node)
        return _changed(plain(self.code.text), start_of(node), end_of(node), changes)

    def edited(self, changes: Sequence[TextChange]) -> str:
        """The text of its lines with parts replaced by other text.

        Args:
            changes: Parts, or places at which something is put in, and the texts; of several
                texts for one place the first comes first.
        """
        text = plain(self.code.text)
        last = _last_line(self.node)
        end = len(text.split("\n")[last - 1].encode())
        lines = _changed(text, (self.node.lineno, 0), (last, end), changes).split("\n")
        indent = len(lines[0]) - len(lines[0].lstrip())
        lines = [line[indent:] if line[:indent].isspace() else line for line in lines]
        return "\n".join(lines).rstrip()


class Span(ast.AST):
    """A place in a text that is no part of the tree.

    Args:
        start: Line and column at which it begins.
        end: Line and column behind it.
    """

    def __init__(self, start: TextPlace, end: TextPlace) -> None:
        self.lineno, self.col_offset = start
        self.end_lineno, self.end_col_offset = end


def statement_of(history: History, when: CodeLine | EventPlace | int | None) -> Statement | None:
    """The one statement that begins at a line, or at that of a step.

    Returns:
        ``None`` if several begin there, or the text is not known.
    """
    found = statements_at(history, when)
    return found[0] if len(found) == 1 else None


def statements_at(history: History, when: CodeLine | EventPlace | int | None) -> list[Statement]:
    """All statements that begin at a line, or at that of a step, in the order of the text."""
    line = when if isinstance(when, CodeLine) else history.line(when)
    code = code_of(history.recording, line)
    if code is None or line is None or line.line is None:
        return []
    return [s for s in statements_of(code) if s.line == line.line]


def code_of(recording: Recording, line: CodeLine | None) -> Code | None:
    """Source text that a line belongs to."""
    if line is None or line.line is None:
        return None
    if line.step is not None:
        place = recording.records[line.step].code
        if 0 <= place < len(recording.codes) and recording.codes[place].name == line.code:
            return recording.codes[place]
    return next((c for c in recording.codes if c.name == line.code and c.has(line.line)), None)


@lru_cache(maxsize=64)
def statements_of(code: Code) -> tuple[Statement, ...]:
    """All statements of a source text in the order of its lines."""
    try:
        tree = ast.parse(plain(code.text))
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return ()
    found: list[Statement] = []
    todo: list[tuple[ast.AST, tuple[ast.stmt, ...]]] = [(tree, ())]
    while todo:
        node, around = todo.pop()
        if isinstance(node, ast.stmt):
            found.append(Statement(code, node, around))
            around = (*around, node)
        todo += [(child, around) for child in ast.iter_child_nodes(node)]
    return tuple(sorted(found, key=lambda s: (s.node.lineno, s.node.col_offset)))


def calls_in(statement: Statement, *names: str) -> list[ast.Call]:
    """Calls of functions or methods with these last names."""
    return [
        node
        for node in statement.parts
        if isinstance(node, ast.Call) and last_name(node.func) in names
    ]


def last_name(node: ast.AST) -> str:
    """``"grad"`` of ``torch.autograd.grad``; empty if it is no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def names_read(node: ast.AST) -> list[str]:
    """Variables that are read, each once."""
    found = [
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    ]
    return list(dict.fromkeys(found))


def names_bound(statement: Statement) -> list[str]:
    """Variables that are bound, each once."""
    found = [
        n.id for n in statement.parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    return list(dict.fromkeys(found))


def is_named(node: ast.AST | None, name: str) -> bool:
    """Whether an expression is just a variable, or the path that a name is."""
    is_path = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
    return is_path and ast.unparse(node) == _normal(name)  # type: ignore[arg-type]


def times_read(node: ast.AST, name: str) -> int:
    """How often an expression has a variable, or the path that a name is."""
    return sum(is_named(part, name) for part in ast.walk(node))


@lru_cache(maxsize=1024)
def _normal(name: str) -> str:
    try:
        return ast.unparse(ast.parse(name, mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return name


def is_expression(name: str) -> bool:
    """Whether the name of a tensor can be typed: ``h``, ``self.state``, ``params["w"]``."""
    try:
        node: ast.AST = ast.parse(name, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def expression_of(path: str) -> str:
    """How to type the path of a module: ``model.1.act`` is ``model[1].act``.

    Examples:
        >>> expression_of("model.1.act")
        'model[1].act'
    """
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", path)


def is_read_later(name: str, statement: Statement) -> bool:
    """Whether a variable is read after a statement, or in a loop around it."""
    base = re.split(r"[.\[]", name, maxsplit=1)[0]
    if any(base in names_read(one) for one in loops_around(statement)):
        return True
    later = [s for s in statements_of(statement.code) if s.place > statement.place]
    return any(base in names_read(one.node) for one in later)


def same_block(one: Statement, other: Statement) -> bool:
    """Whether two statements are in the same block."""
    return one.code == other.code and [id(s) for s in one.around] == [id(s) for s in other.around]


def loops_around(statement: Statement) -> Iterator[ast.For | ast.While]:
    """Loops around a statement."""
    return (s for s in statement.around if isinstance(s, (ast.For, ast.While)))


def _list(value: object) -> list[ast.AST]:
    return [v for v in value if isinstance(v, ast.AST)] if isinstance(value, (list, tuple)) else []


def _last_line(node: ast.stmt) -> int:
    body = _list(getattr(node, "body", ()))
    if body and isinstance(body[0], ast.stmt):
        return max(node.lineno, min(body[0].lineno - 1, node.end_lineno or node.lineno))
    return node.end_lineno or node.lineno


def _changed(text: str, start: TextPlace, end: TextPlace, changes: Sequence[TextChange]) -> str:
    """A piece of a text with parts of it replaced."""
    data = text.encode()
    rows = [0]
    for line in data.split(b"\n"):
        rows.append(rows[-1] + len(line) + 1)

    def offset(place: TextPlace) -> int:
        return rows[place[0] - 1] + place[1]

    first, last = offset(start), offset(end)
    piece = data[first:last]
    spans = [(span_of(at), place, new.encode()) for place, (at, new) in enumerate(changes)]
    for (begin, until), _, new in sorted(spans, reverse=True):
        piece = piece[: offset(begin) - first] + new + piece[offset(until) - first :]
    return piece.decode()


def span_of(at: ast.AST | TextPlace) -> tuple[TextPlace, TextPlace]:
    """Where a part begins, and the place behind it."""
    return (at, at) if isinstance(at, tuple) else (start_of(at), end_of(at))


def start_of(at: ast.AST | TextPlace) -> TextPlace:
    """Line and column at which a part begins."""
    return at if isinstance(at, tuple) else (at.lineno, at.col_offset)  # type: ignore[attr-defined]


def end_of(node: ast.AST) -> TextPlace:
    """Line and column behind a part."""
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def behind(value: ast.expr, whole: ast.AST, statement: Statement) -> TextPlace:
    """The place behind a value and the parentheses around it, in an attribute or call of it."""
    inner = whole.func if isinstance(whole, ast.Call) else whole
    rest = statement.segment(Span(end_of(value), end_of(inner)))
    closed = rest[: rest.rfind(")") + 1]
    row, column = end_of(value)
    lines = closed.split("\n")
    if len(lines) > 1:
        return row + len(lines) - 1, len(lines[-1].encode())
    return row, column + len(closed.encode())


def place_in(code: Code, line: int, column: int) -> TextPlace:
    """Where in the syntax tree of a text an interpreter's line and column are."""
    row = line - code.first_line + 1
    lines = code.text.split("\n")
    is_shifted = 0 < row <= len(lines) and lines[row - 1][: _indent(code.text)].isspace()
    return row, column - (_indent(code.text) if is_shifted else 0)


@lru_cache(maxsize=64)
def plain(text: str) -> str:
    """Text that begins at the margin, without magics; lines keep their numbers."""
    indent = _indent(text)
    return "\n".join(
        line[indent:] if line[:indent].isspace() else line for line in _without_magics(text)
    )


@lru_cache(maxsize=64)
def _indent(text: str) -> int:
    """How far a text is indented, in characters."""
    first = next((line for line in _without_magics(text) if line.strip()), "")
    return len(first) - len(first.lstrip())


def _without_magics(text: str) -> list[str]:
    return ["" if re.match(r"\s*[%!?]", line) else line for line in text.split("\n")]
