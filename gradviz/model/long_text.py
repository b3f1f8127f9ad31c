"""Text of many parts in little more memory than it takes itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_LEAST: Final = 1 << 16


def joined(parts: Iterable[str]) -> str:
    """The same as ``"".join(parts)``, which needs the memory of the text twice.

    Parts are joined until they are an eighth of what is there, so that appending copies the whole
    only a few dozen times, on systems where it does copy.

    Examples:
        >>> joined(str(number) for number in range(5))
        '01234'
    """
    text = ""
    waiting: list[str] = []
    length = 0
    for part in parts:
        waiting.append(part)
        length += len(part)
        if length > _LEAST and length > len(text) >> 3:
            text += "".join(waiting)  # in place where nothing else refers to it
            waiting.clear()
            length = 0
    text += "".join(waiting)
    return text
