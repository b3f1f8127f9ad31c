"""Source text of what is recorded: its lines, and which of them belong to one statement."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from types import CodeType, FrameType
from typing import TypeGuard

from gradviz.model.events import Position
from gradviz.model.recording import Code

_IPYTHONS = re.compile(r"\s*[%!?]")
"""Lines that are no Python: magics, shell commands, questions."""
_CELL = re.compile(r"^<ipython-input-|[/\\]ipykernel_\d+[/\\]|^<")
_OF_IPYTHON = re.compile(r"^<ipython-input-|[/\\]ipykernel_\d+[/\\]")


class Source:
    """One piece of source text that steps point into.

    Args:
        code: What is shown.
        ignored: Lines that are no steps.
        head: Lines of the recorded ``with``, if its body begins on the last of them.
    """

    def __init__(
        self, code: Code, ignored: frozenset[int] = frozenset(), head: range = range(0)
    ) -> None:
        self.code = code
        self.ignored = ignored
        self.head = head
        self._first_of: dict[int, int] = _statements(code)
        self._loop_variables = _loop_variables(code)
        self._returns = _returns(code)
        self._loops = _loops_of_one_line(code)
        self._lines = code.text.split("\n")

    @property
    def words(self) -> frozenset[str] | None:
        """All words of the text, names of variables among them; ``None`` without a text."""
        return frozenset(re.findall(r"\w+", self.code.text)) if self.code.text else None

    @property
    def used(self) -> dict[str, int]:
        """Variables that the text reads before it binds them, with their places in it."""
        tree = _parsed(self.code.text)
        if tree is None:
            return dict.fromkeys(self.words or (), 0)
        uses = _Uses()
        uses.visit(tree)
        return {name: place for place, name in enumerate(uses.used)}

    @cached_property
    def rebound(self) -> frozenset[str]:
        """Variables that the text binds more than once, or that a loop or a call binds."""
        tree = _parsed(self.code.text)
        return frozenset() if tree is None else frozenset(_rebound(tree))

    def statement(self, line: int) -> int:
        """First line of the statement that a line belongs to."""
        return self._first_of.get(line, line)

    def loop_variables(self, line: int) -> tuple[str, ...]:
        """Variables of the ``for`` loop whose body follows the statement of this line."""
        return self._loop_variables.get(line, ())

    def returns(self, line: int) -> bool:
        """Whether the statement of this line is a ``return``."""
        return line in self._returns

    def is_in_statement(self, statement: int, position: Position) -> bool:
        """Whether an expression is part of the statement that begins at this line.

        Lines that IPython has rewritten are shown as the user wrote them, where no column fits.
        """
        return not _IPYTHONS.match(self.text(statement)) and all(
            self.covers(line) and self.statement(line) == statement
            for line in {position.line, position.end_line}
        )

    def may_come_again(self, line: int) -> bool:
        """Whether one run of the statement that begins at this line may come to it several times:
        it continues on further lines, or is a loop with its body on the line of its head."""
        return self._first_of.get(line + 1) == line or line in self._loops

    def covers(self, line: int) -> bool:
        """Whether a line is part of the text; without a text every line is."""
        first = self.code.first_line
        return line not in self.ignored and (
            not self.code.text or first <= line < first + len(self._lines)
        )

    def text(self, line: int) -> str:
        """One line of the text."""
        at = line - self.code.first_line
        return self._lines[at].strip() if 0 <= at < len(self._lines) else ""


def of_cell(text: str, name: str) -> Source:
    """A whole cell; its first line may be the magic's."""
    lines = text.split("\n")
    # The magic's line is a string in it, which changes no line numbers.
    lines = [_unquoted(line) for line in lines]
    magic = {i + 1 for i, line in enumerate(lines) if line.startswith("%%gradviz")}
    return Source(Code(name, 1, "\n".join(lines).rstrip("\n")), frozenset(magic))


def _unquoted(line: str) -> str:
    if line[1:10] == "%%gradviz" and line[0] in "'\"":
        try:
            return str(ast.literal_eval(line))
        except (SyntaxError, ValueError):
            return line
    return line


def of_block(frame: FrameType) -> Source:
    """The ``with`` block that a frame is about to run."""
    code = frame.f_code
    lines = linecache.getlines(code.co_filename, frame.f_globals)
    name = name_of(code)
    found = _block_at(lines, code, frame.f_lineno)
    if found is None:
        head = range(frame.f_lineno, frame.f_lineno + 1)
        if {line for _, _, line in code.co_lines() if line} == {*head}:
            return Source(Code(name, frame.f_lineno, ""), head=head)
        return Source(Code(name, frame.f_lineno, ""), frozenset(head))
    head, first, last = found
    text = "".join(lines[first - 1 : last])
    return Source(Code(name, first, text.rstrip("\n")), head=head)


def of_body(code: CodeType) -> Source:
    """The body of a function, without its docstring and without a ``return`` that ends it."""
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        lines, first = [], code.co_firstlineno
    text = "".join(lines)
    tree = _parsed(text)
    functions = [one for one in (tree.body if tree else ()) if hasattr(one, "args")]
    if len(functions) != 1:
        return Source(Code(name_of(code), first or 1, ""))
    start, end = _body(functions[0], lines)
    body = "".join(lines[start - 1 : end]).rstrip("\n")
    return Source(Code(name_of(code), first + start - 1, body))


def _body(function: ast.stmt, lines: list[str]) -> tuple[int, int]:
    """First and last line of what a function does before it returns."""
    body: list[ast.stmt] = getattr(function, "body", [])
    if len(body) > 1 and ast.get_docstring(function) is not None:  # type: ignore[arg-type]
        body = body[1:]
    start = _first_line(body[0])
    while start > 2 and lines[start - 2].strip().startswith("#"):
        start -= 1
    if len(body) > 1 and isinstance(body[-1], ast.Return):
        body = body[:-1]
    return start, body[-1].end_lineno or start


def of_code(code: CodeType) -> Source:
    """A function, or the whole of a module or cell."""
    if code.co_name == "<module>":
        text = "".join(linecache.getlines(code.co_filename))
        return of_cell(text, name_of(code))
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return Source(Code(name_of(code), code.co_firstlineno, ""))
    text = "".join(lines).rstrip("\n")
    return Source(Code(name_of(code), first or 1, text, _imports_of(code)))


def _imports_of(code: CodeType) -> tuple[str, ...]:
    """Names that imports at the top of a function's file bind; of a cell they are not asked for."""
    if _CELL.search(code.co_filename):
        return ()
    return _imports("".join(linecache.getlines(code.co_filename)))


@lru_cache(maxsize=64)
def _imports(text: str) -> tuple[str, ...]:
    tree = _parsed(text)
    body = [] if tree is None else tree.body
    aliases = (
        a for one in body if isinstance(one, (ast.Import, ast.ImportFrom)) for a in one.names
    )
    return tuple(sorted({(a.asname or a.name).partition(".")[0] for a in aliases} - {"*"}))


def of_method(code: CodeType) -> Source:
    """A function with the name of its class: ``"quantize.py: Round.backward"``."""
    found = of_code(code)
    own = code.co_qualname.rpartition("<locals>.")[2]
    name = found.code.name.removesuffix(code.co_name) + own
    return Source(replace(found.code, name=name), found.ignored)


def is_cell(code: CodeType) -> bool:
    """Whether code is part of a cell of IPython."""
    return is_cell_file(code.co_filename)


def is_cell_file(file: str) -> bool:
    """Whether a file name is that of a cell of IPython."""
    return _OF_IPYTHON.search(file) is not None


def name_of(code: CodeType) -> str:
    """``"cell"`` or ``"model.py: forward"``."""
    where = "" if _CELL.search(code.co_filename) else os.path.basename(code.co_filename)
    function = "" if code.co_name == "<module>" else code.co_name
    return ": ".join(filter(None, (where or "cell", function)))


def _block_at(lines: list[str], code: CodeType, line: int) -> tuple[range, int, int] | None:
    """As :func:`_with_block`, for a line of a file; of a function, only that is parsed."""
    before = code.co_firstlineno - 1
    if code.co_name != "<module>":
        try:
            text = "".join(inspect.getblock(lines[before:]))
        except (SyntaxError, tokenize.TokenError, RecursionError):
            text = ""
        found = _with_block(text, line - before)
        if found is not None:
            head, first, last = found
            head = range(head.start + before, head.stop + before)
            return head, first + before, last + before
    return _with_block("".join(lines), line)


@lru_cache(maxsize=8)
def _with_block(text: str, line: int) -> tuple[range, int, int] | None:
    """Lines of the head of a ``with`` that its body shares, and first and last line of both.

    Of a body on lines of its own it is these lines.
    """
    tree = _parsed(text)
    if tree is None:
        return None
    best: ast.With | ast.AsyncWith | None = None
    for node in ast.walk(tree):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            is_head = node.lineno <= line < max(_first_line(node.body[0]), node.lineno + 1)
            if is_head and (best is None or node.lineno > best.lineno):
                best = node
    if best is None:
        return None
    inside, last = best.body[0], best.body[-1].end_lineno or best.lineno
    body = _first_line(inside)
    before = _plain(text).split("\n")[inside.lineno - 1].encode()[: inside.col_offset]
    head = range(best.lineno, body + 1) if before.strip() else range(0)
    return head, head.start or body, last


def _first_line(node: ast.stmt) -> int:
    """First line of a statement, its decorators among it."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _statements(code: Code) -> dict[int, int]:
    """First line of the statement of each line that is not a first line itself."""
    tree = _parsed(code.text)
    if tree is None:
        return {}
    found: dict[int, int] = {}
    offset = code.first_line - 1
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        last = node.end_lineno or node.lineno
        first_inside = _first_line_inside(node)
        if first_inside is not None:  # only its head is one statement
            last = max(node.lineno, first_inside - 1)
        for line in range(node.lineno + 1, last + 1):
            found[line + offset] = node.lineno + offset
    return found


def _loop_variables(code: Code) -> dict[int, tuple[str, ...]]:
    """Names that the head of each ``for`` loop binds, by its line; a loop in one line has none,
    as all its turns are one step."""
    tree = _parsed(code.text)
    found: dict[int, tuple[str, ...]] = {}
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, (ast.For, ast.AsyncFor)) and node.body[0].lineno > node.lineno:
            names = (one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)
                     and isinstance(one.ctx, ast.Store))  # fmt: skip
            found[node.lineno + code.first_line - 1] = tuple(names)
    return found


def _loops_of_one_line(code: Code) -> frozenset[int]:
    tree = _parsed(code.text)
    nodes = () if tree is None else ast.walk(tree)
    loops = (node for node in nodes if isinstance(node, (ast.For, ast.AsyncFor, ast.While)))
    lines = (node.lineno for node in loops if node.body[0].lineno == node.lineno)
    return frozenset(line + code.first_line - 1 for line in lines)


def _rebound(tree: ast.Module) -> Iterator[str]:
    seen: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While, ast.comprehension)):
            yield from (one.id for one in ast.walk(node) if _binds(one))
        elif _binds(node):
            if node.id in seen:
                yield node.id
            seen.add(node.id)


def _binds(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _returns(code: Code) -> frozenset[int]:
    tree = _parsed(code.text)
    nodes = () if tree is None else ast.walk(tree)
    lines = (node.lineno for node in nodes if isinstance(node, ast.Return))
    return frozenset(line + code.first_line - 1 for line in lines)


def _first_line_inside(node: ast.stmt) -> int | None:
    """Line on which the body of a compound statement begins."""
    body = getattr(node, "body", None)
    if body:
        return int(body[0].lineno)
    cases = getattr(node, "cases", None)
    return int(cases[0].pattern.lineno) if cases else None


class _Uses(ast.NodeVisitor):
    """Names that are read before they are bound, in the order in which code runs."""

    def __init__(self) -> None:
        self.used: dict[str, None] = {}
        self._bound: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bound.add(node.id)
        elif node.id not in self._bound:
            self.used[node.id] = None

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and node.target.id not in self._bound:
            self.used[node.target.id] = None
        self.visit(node.value)
        self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        for part in (node.iter, node.target, *node.body, *node.orelse):
            self.visit(part)


def _parsed(text: str) -> ast.Module | None:
    plain = _plain(text)
    for _ in range(2):
        try:
            return ast.parse(plain)
        except SystemError:  # Python 3.11 may fail so when a destructor runs meanwhile
            continue
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            break
    return None


def _plain(text: str) -> str:
    """Text as it is parsed: without IPython's lines, for which blank ones keep the numbers."""
    lines = text.split("\n")
    return _undented("\n".join("" if _IPYTHONS.match(line) else line for line in lines))


def _undented(text: str) -> str:
    """Text whose first statement is not indented; a block keeps its line numbers."""
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = len(first) - len(first.lstrip())
    return "\n".join(line[indent:] if line[:indent].isspace() else line for line in lines)


class Spans:
    """What was current while numbers rose: a step function over sequence numbers."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._values: list[object] = []

    def begin(self, start: int, value: object) -> None:
        """From ``start`` on, ``value`` is current."""
        if self._starts and self._starts[-1] == start:
            self._values[-1] = value
        else:
            self._starts.append(start)
            self._values.append(value)

    @property
    def last_start(self) -> int:
        """Where the last value begins to be current; 0 if there is none."""
        return self._starts[-1] if self._starts else 0

    def at(self, number: int) -> object:
        """What was current at a number; ``None`` before the first."""
        place = bisect_right(self._starts, number) - 1
        return self._values[place] if place >= 0 else None
