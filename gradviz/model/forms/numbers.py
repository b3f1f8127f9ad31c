"""Numbers that a person types: ``6``, ``1/3``, ``[1, 2]``, ``tensor([1., 2.])``, ``None``.

``widgets/src/question/forms/numbers.ts`` reads the same.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, TypeAlias

Value: TypeAlias = "float | str | None | list[Any]"
"""A number, ``"nan"``, ``"inf"`` or ``"-inf"``, ``None``, or a list of them."""

RTOL: Final = 1.3e-6
ATOL: Final = 1e-5
"""Tolerances of ``torch.testing`` for 32 bit."""
HINT: Final = "a number, a list such as [1, 2], or None"
"""What can be typed."""
_NUMBER: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?"
_TOKEN: Final = re.compile(rf"{_NUMBER}(?:/{_NUMBER})?|[+-]?(?:nan|inf)|none|[\[\](),]", re.I)
_TENSOR: Final = re.compile(r"^(?:torch\.)?tensor\((.*?)(?:,\s*[a-z_]+=[^\[\]]*)?\)$", re.I | re.S)
_CLOSING: Final = {"[": "]", "(": ")"}


class NotANumberError(ValueError):
    """A text that is no number, no list of numbers and not ``None``."""


def read(text: str) -> Value:
    """What was typed.

    Raises:
        NotANumberError: If it cannot be read.

    Examples:
        >>> read("tensor([1., 2.])"), read("1/4"), read("1, 2"), read("None")
        ([1.0, 2.0], 0.25, [1.0, 2.0], None)
    """
    text = text.strip()
    inside = _TENSOR.match(text)
    tokens = _tokens(inside[1] if inside else text)
    values, rest = _values(tokens, 0, "")
    if rest != len(tokens) or not values:
        raise NotANumberError(text)
    is_list = len(values) > 1 or (tokens[-1] == ",")
    return values if is_list else values[0]


def _tokens(text: str) -> list[str]:
    tokens, place = [], 0
    text = text.strip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise NotANumberError(text)
        tokens.append(found[0])
        place = found.end()
        while place < len(text) and text[place] in " \t\n\r":
            place += 1
    return tokens


def _values(tokens: list[str], place: int, closing: str) -> tuple[list[Any], int]:
    """Values with commas between them, up to the bracket that closes them or the end."""
    values: list[Any] = []
    while place < len(tokens) and tokens[place] != closing:
        token = tokens[place]
        if token in _CLOSING:
            inner, place = _values(tokens, place + 1, _CLOSING[token])
            if place >= len(tokens):
                raise NotANumberError(token)
            values.append(inner)
        else:
            values.append(_value(token))
        place += 1
        if place < len(tokens) and tokens[place] != closing:
            if tokens[place] != ",":
                raise NotANumberError(tokens[place])
            place += 1
    return values, place


def _value(token: str) -> Value:
    if token.lower() == "none":
        return None
    if token in ("]", ")", ","):
        raise NotANumberError(token)
    if token.lower().lstrip("+-") in ("nan", "inf"):
        return plain_number(float(token))
    number, _, divisor = token.partition("/")
    if divisor and float(divisor) == 0:
        raise NotANumberError(token)
    return plain_number(float(number) / float(divisor or "1"))


def plain_number(number: float) -> float | str:
    """A number as JSON can have it."""
    if math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def same(key: Value, typed: Value) -> bool:
    """Whether two values are equal within the tolerances, and of one shape.

    Examples:
        >>> same(0.30000001, 0.3), same([1.0], 1.0), same(None, None), same("nan", "nan")
        (True, False, True, True)
    """
    if isinstance(key, list) or isinstance(typed, list):
        is_both = isinstance(key, list) and isinstance(typed, list) and len(key) == len(typed)
        return is_both and all(map(same, key, typed))  # type: ignore[arg-type]
    if isinstance(key, (str, type(None))) or isinstance(typed, (str, type(None))):
        return key == typed
    return abs(typed - key) <= ATOL + RTOL * abs(key)


def words(value: Value, digits: int = 6) -> str:
    """A value as text, with so many significant digits.

    Examples:
        >>> words([6.0, None]), words(1 / 3, 4)
        ('[6, None]', '0.3333')
    """
    if isinstance(value, list):
        return f"[{', '.join(words(one, digits) for one in value)}]"
    if isinstance(value, (int, float)):
        return f"{value + 0.0:.{digits}g}" if value else "0"
    return str(value)
