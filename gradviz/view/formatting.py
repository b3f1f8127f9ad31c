"""Words for pictures and texts, in which the text of the user's program is cleaned."""

from __future__ import annotations

from collections.abc import Iterable

from gradviz.model.facts import hook_fact
from gradviz.model.formatting import number as number
from gradviz.model.formatting import numbers as numbers
from gradviz.model.formatting import plural as plural
from gradviz.model.formatting import shape as shape
from gradviz.model.formatting import size as size
from gradviz.model.records import Hook, TensorInfo, ValueSummary
from gradviz.view.text import cells, clean, shorten


def join(parts: Iterable[str], between: str = " · ") -> str:
    """The parts that are not empty."""
    return between.join(part for part in parts if part)


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
    """A gradient in few cells: its values, else its shape and norm, else its shape, never cut.

    Examples:
        >>> gradient_words(ValueSummary((2,), "float32", (1.0, 0.5)), 20)
        '[1.0, 0.5]'
        >>> gradient_words(ValueSummary((3, 4), "float32", norm=2.0), 20)
        '(3, 4) norm 2.0'
        >>> gradient_words(ValueSummary((16, 8), "float32", norm=2.0), 5)
        '(16, 8)'
    """
    if gradient is None:
        return "None"
    said = [shape(gradient.shape)]
    if gradient.norm is not None:
        said.insert(0, f"{said[0]} norm {number(gradient.norm)}")
    if gradient.values is not None:
        said.insert(0, numbers(gradient.values, gradient.shape, room))
    return next((words for words in said if cells(words) <= room), shape(gradient.shape))
