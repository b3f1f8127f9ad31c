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
    """Looks up expressions; the table of a code object is made once."""

    def __init__(self) -> None:
        self._tables: dict[int, tuple[CodeType, list[Position | None]]] = {}
        """By ``id()`` of the code object, which is valid while it exists."""

    def at(self, code: CodeType, last: int) -> Position | None:
        """The expression whose instruction ran last.

        Args:
            code: The code of a frame.
            last: ``f_lasti`` of the frame, or ``tb_lasti`` of its entry in a traceback.

        Returns:
            Lines as the file numbers them, columns in bytes of UTF-8; ``None`` if it is not known.
        """
        found = self._tables.get(id(code))
        if found is None:
            found = self._tables[id(code)] = code, _table(code)
        place = last // 2  # an instruction, and each entry of its cache, has two bytes
        return found[1][place] if 0 <= place < len(found[1]) else None


def _table(code: CodeType) -> list[Position | None]:
    """The expression of each instruction of a code object."""
    found: list[Position | None] = []
    before = ""
    for operation, (line, end_line, column, end) in zip(code.co_code[::2], code.co_positions()):
        name = dis.opname[operation]
        enters = name == "CALL" and before == "LOAD_SPECIAL"  # what `with` calls, from 3.14
        before = name
        is_known = not enters and not name.startswith(_ASCRIBED_DIFFERENTLY)
        if is_known and line and end_line and column is not None and end is not None:
            found.append(Position(line, column, end_line, end))
        else:
            found.append(None)
    return found
