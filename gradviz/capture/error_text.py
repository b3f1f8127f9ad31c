"""The text of an exception, read without running code of the user's."""

from __future__ import annotations

import builtins
import re
from types import MemberDescriptorType, NoneType
from typing import Any, Final

MOST: Final = 20_000
"""Characters of a text that are kept."""
_MOST_BITS: Final = 2_000
"""Of a whole number: Python refuses to write longer ones, if it is told to."""
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]+")


def error_text(error: object) -> str:
    """The text of an exception, addresses left out and cut to a length.

    Returns:
        ``""`` if it cannot be known without the user's code: the exception's type writes it
        itself, or an argument is not a plain text or number. So for all but exceptions.

    Example:
        >>> error_text(KeyError("w")), error_text(KeyError(["w"]))
        ("'w'", '')
    """
    if not isinstance(error, BaseException):
        return ""
    writer: Any = next(one for one in type(error).__mro__ if "__str__" in vars(one))
    arguments = vars(BaseException)["args"].__get__(error)
    is_built_in = vars(builtins).get(writer.__name__) is writer
    if not (is_built_in and all(map(is_plain, arguments))):
        return ""
    same = writer(*map(_cut, arguments))  # without what else a type of the user's may keep
    for member in vars(writer).values():
        if isinstance(member, MemberDescriptorType):
            value = member.__get__(error)
            if value is not None and is_plain(value):
                member.__set__(same, _cut(value))
    return str(_cut(_ADDRESS.sub("0x…", str(same))))


def is_plain(value: Any) -> bool:
    """Whether a value is a text or number, or a few of them."""
    if type(value) is tuple:  # as in a SyntaxError
        return len(value) < 10 and all(map(is_plain, value))
    if type(value) is int:
        return value.bit_length() <= _MOST_BITS
    return type(value) in (str, float, bool, complex, NoneType)


def _cut(value: Any) -> Any:
    return f"{value[:MOST]}…" if type(value) is str and len(value) > MOST else value
