"""Words for pictures and texts, in which the text of the user's program is cleaned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from gradviz.model.facts import hook_fact
from gradviz.model.formatting import not_finite as not_finite
from gradviz.model.formatting import number as number
from gradviz.model.formatting import numbers as numbers
from gradviz.model.formatting import plural as plural
from gradviz.model.formatting import shape as shape
from gradviz.model.formatting import size as size
from gradviz.model.records import Hook, Number, TensorInfo, ValueSummary
from gradviz.view.text import cells, clean, shorten

SPACE: Final = "\N{NO-BREAK SPACE}"


def join(parts: Iterable[str], between: str = " · ") -> str:
    """The parts that are not empty."""
    return between.join(part for part in parts if part)


def matrix_rows(values: Sequence[Number], sizes: Sequence[int]) -> list[str]:
    r"""The rows of a matrix, columns aligned by spaces that do not break; none for other tensors.

    Rows after the first begin below its second bracket.

    Examples:
        >>> [row.replace("\xa0", "_") for row in matrix_rows((1.0, 20.0, 3.0, 4.0), (2, 2))]
        ['[[1.0,_20.0],', '[3.0,__4.0]]']
    """
    if len(sizes) != 2 or min(sizes) < 2 or len(values) != sizes[0] * sizes[1]:
        return []
    words = [number(value) for value in values]
    wide = sizes[1]
    widths = [max(map(len, words[column::wide])) for column in range(wide)]
    rows = []
    for first in range(0, len(words), wide):
        row = words[first : first + wide]
        rows.append(f",{SPACE}".join(w.rjust(n, SPACE) for w, n in zip(row, widths, strict=True)))
    rows = [f"[{row}]," for row in rows]
    return [f"[{rows[0]}", *rows[1:-1], f"{rows[-1][:-1]}]"]


def nested(values: Sequence[Number], sizes: Sequence[int], digits: int = 4) -> str:
    """All values in brackets, a pair for each dimension; zero without a sign.

    Examples:
        >>> nested((1.0, 2.0, 3.0, 4.0), (2, 2)), nested((-0.0,), ()), nested((), (0,))
        ('[[1.0, 2.0], [3.0, 4.0]]', '0.0', '[]')
    """
    words = [number(value + 0 if isinstance(value, float) else value, digits) for value in values]
    for wide in reversed(sizes):
        rows = range(0, len(words), wide or 1)
        words = [f"[{', '.join(words[at : at + wide])}]" for at in rows] or ["[]"]
    return words[0] if words else "[]"


def tensor_name(info: TensorInfo) -> str:
    """The name of a tensor, else its id."""
    return clean(info.name) if info.name else info.id


def at_version(version: int | None) -> str:
    """``@v0``."""
    return f"@v{version}"


def hook(found: Hook, room: int = 1000) -> str:
    """A hook by kind and name, the name shortened to what the kind leaves of ``room``."""
    fact = hook_fact(found, clean)
    return fitted(fact.label, fact.words, room)


def fitted(kind: str, name: str, room: int) -> str:
    """Kind and name, the name shortened to what the kind leaves of ``room``."""
    return f"{kind} {shorten(name, max(8, room - len(kind) - 1))}"


def gradient_words(gradient: ValueSummary | None, room: int) -> str:
    """A gradient in few cells: its values, else these with three digits, else its shape and norm,
    else its norm, else its shape, never cut.

    Examples:
        >>> gradient_words(ValueSummary((2,), "float32", (1.0, 0.5)), 20)
        '[1.0, 0.5]'
        >>> gradient_words(ValueSummary((3, 4), "float32", norm=2.0), 20)
        '(3, 4) norm 2.0'
        >>> gradient_words(ValueSummary((16, 8), "float32", norm=2.0), 5)
        '(16, 8)'
        >>> gradient_words(ValueSummary((), "float32", (-0.27634,)), 6)
        '-0.276'
    """
    if gradient is None:
        return "None"
    said = [shape(gradient.shape)]
    if gradient.norm is not None:
        norm = f"norm {number(gradient.norm)}"
        said = [f"{said[0]} {norm}", norm, *said]
    if gradient.values is not None:
        values, sizes = gradient.values, gradient.shape
        said[:0] = (numbers(values, sizes, room, digits) for digits in (4, 3))
    return next((words for words in said if cells(words) <= room), shape(gradient.shape))
