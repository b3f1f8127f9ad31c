"""Ids of nodes, tensors and storages: a letter and a number, ``"n0"``, ``"t3"``, ``"s1"``."""

from __future__ import annotations

from collections.abc import Iterable


def number_of(key: str) -> int:
    """The number in an id.

    Examples:
        >>> number_of("n12")
        12
    """
    return int(key[1:])


def by_number(keys: Iterable[str]) -> tuple[str, ...]:
    """Ids of one kind in the order of their numbers, which is the order in which they were found.

    Examples:
        >>> by_number({"n10", "n9"})
        ('n9', 'n10')
    """
    return tuple(sorted(keys, key=number_of))
