"""Which expression an instruction was compiled from, by the interpreter's own positions.

NOTE [Positions of calls]
While a function runs, ``f_lasti`` of the frame that called it is the instruction of the
call, and ``code.co_positions()`` says from which expression that instruction was compiled. The
expression of an explicit call, an operator, a subscript or an attribute is the same in Python
3.11 to 3.14. What a loop, a ``with``, a truth test or an f-string calls by itself is ascribed to
the whole statement by one of them and to an expression in it by another, so there the position
is not known.
"""

from __future__ import annotations

import dis
from itertools import islice
from types import CodeType
from typing import Final

from gradviz.model.events import Position

_ASCRIBED_DIFFERENTLY: Final = (
    "BEFORE_",
    "FORMAT_",
    "FOR_ITER",
    "GET_ITER",
    "JUMP_IF_",
    "POP_JUMP_",
    "TO_BOOL",
)
"""Beginnings of names of instructions: NOTE [Positions of calls]."""


class Expressions:
    """Looks up expressions, that of an instruction once."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], tuple[CodeType, Position | None]] = {}
        """By ``id()`` of the code object, which is valid while it exists, and by instruction."""

    def at(self, code: CodeType, last: int) -> Position | None:
        """The expression whose instruction ran last.

        Args:
            code: The code of a frame.
            last: ``f_lasti`` of the frame, or ``tb_lasti`` of its entry in a traceback.

        Returns:
            Lines as the file numbers them, columns in bytes of UTF-8; ``None`` if it is not known.
        """
        found = self._found.get((id(code), last))
        if found is None:
            found = self._found[id(code), last] = code, _expression(code, last)
        return found[1]


def _expression(code: CodeType, last: int) -> Position | None:
    """The expression of an instruction of a code object."""
    instructions, place = code.co_code, last // 2  # each has two bytes, its caches too
    if not 0 <= 2 * place < len(instructions):
        return None
    name = dis.opname[instructions[2 * place]]
    before = dis.opname[instructions[2 * place - 2]] if place else ""
    enters = name == "CALL" and before == "LOAD_SPECIAL"  # what `with` calls, from 3.14
    if enters or name.startswith(_ASCRIBED_DIFFERENTLY):
        return None
    line, end_line, column, end = next(islice(code.co_positions(), place, None))
    if line and end_line and column is not None and end is not None:
        return Position(line, column, end_line, end)
    return None
