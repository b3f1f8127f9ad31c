"""Documents that were damaged after they had been written."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

Place = tuple[Any, ...]
Change = Callable[[Any, random.Random], Any]
GONE: Final = object()
"""The value of a key or item that is deleted."""


def _other_type(value: Any, chance: random.Random) -> Any:
    others = [None, True, 7, 2.5, "word", [], {}, [value], {"value": value}]
    return chance.choice([other for other in others if type(other) is not type(value)])


def _other_number(value: Any, chance: random.Random) -> Any:
    if type(value) is int:
        others = [-1, -7, value + 1, value + 1000, 1 << 70, 10**400, 1.5, True]
        return chance.choice([*others, float("nan"), float("inf")])
    return GONE


def _other_text(value: Any, chance: random.Random) -> Any:
    if type(value) is not str:
        return GONE
    others = ["", value + value, value[:-1], value.swapcase(), "n99", "t99", "n0", "t0", "s99"]
    return chance.choice([*others, "n", "n-1", "x1", "n01", "\ud800", f"line {'9' * 5000}: x"])


def _nested(value: Any, chance: random.Random) -> Any:
    for _ in range(chance.choice([1, 60, 400])):
        value = [value]
    return value


CHANGES: Final[tuple[Change, ...]] = (
    lambda value, chance: GONE,
    _other_type,
    _other_number,
    _other_text,
    _nested,
    lambda value, chance: None,
    lambda value, chance: value[::-1] if isinstance(value, list) else GONE,
    lambda value, chance: value + value if isinstance(value, list) else GONE,
    lambda value, chance: {**value, "more": 1} if isinstance(value, dict) else GONE,
)
"""What can happen to a value; ``GONE`` where it cannot happen to this one: then it is deleted."""


def places(document: Any, place: Place = ()) -> Iterator[Place]:
    """Every value of a document."""
    if place:
        yield place
    if isinstance(document, (dict, list)):
        items = document.items() if isinstance(document, dict) else enumerate(document)
        for key, value in items:
            yield from places(value, (*place, key))


def damaged(text: str, place: Place, change: Change, chance: random.Random) -> str:
    """The document with one value changed or deleted."""
    document = json.loads(text)
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    value = change(holder[place[-1]], chance)
    if value is GONE:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return json.dumps(document)


def swapped(text: str, chance: random.Random) -> str:
    """The document with a value of one place at another one."""
    document = json.loads(text)
    everywhere = list(places(document))
    (*path, key), (*other_path, other_key) = chance.sample(everywhere, 2)
    holder, other = document, document
    for part in path:
        holder = holder[part]
    for part in other_path:
        other = other[part]
    holder[key] = json.loads(json.dumps(other[other_key]))
    return json.dumps(document)


def cut_off(text: str, chance: random.Random) -> str:
    """The document without its end."""
    return text[: chance.randrange(len(text))]
