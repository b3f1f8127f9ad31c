"""Text that is wrapped to a room in which nothing is cut."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from gradviz.view.text import EM, clean

SIZE: Final = 12.0
"""Pixels of code and captions."""
LINE: Final = 18.0
CHARACTER: Final = SIZE * EM
"""Width of a character of code and captions."""


def wrapped(words: str, room: float, character: float = CHARACTER) -> list[str]:
    """A sentence in lines of so many pixels.

    Args:
        words: The sentence.
        room: Pixels of a line.
        character: Those of a character.
    """
    return wrap(clean(words), max(8, int(room / character)), break_on_hyphens=False) or [""]


def wrapped_code(line: str, room: int) -> Iterator[str]:
    """A line of code in lines of so many characters, the later ones indented further.

    Examples:
        >>> list(wrapped_code("    loss = criterion(model(x), y)", 20))
        ['    loss = criterion', '      (model(x), y)']
    """
    indent = line[: min(len(line) - len(line.lstrip()), room // 2)]
    found = wrap(
        line.strip(),
        room,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,
    )
    yield from found or [""]
