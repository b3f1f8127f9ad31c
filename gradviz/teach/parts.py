"""One value that a person can set: a number, a switch, one of several options, a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, log10
from typing import Any, ClassVar, Final, Generic, TypeVar

from gradviz.model import OptionError
from gradviz.view.text import clean

Value = TypeVar("Value")
_STEPS: Final = 50
"""Steps of a slider from zero to one of its ends."""
LARGEST: Final = 2**53
"""The largest whole number that a browser keeps exactly."""
_FLOATS: Final = (1e-300, 1e300)
"""Sizes between which the ends of a slider are round numbers."""


class Part(Generic[Value]):
    """A value of a control; setting another one runs the function again.

    Args:
        label: Its name, which a screen reader says.
        value: What it begins with.
        tip: What it does, as a tooltip.
        text: What is written beside it, where that is less than its name.

    Raises:
        OptionError: If a value is set that it cannot have.
    """

    kind: ClassVar[str]
    """What a person sets it with: ``"number"``, ``"switch"``, ``"choice"`` or ``"text"``."""

    def __init__(self, label: str, value: Value, tip: str = "", text: str = "") -> None:
        self.label = label
        self.tip = tip
        self._text = text or label
        self._changed: Callable[[], None] | None = None
        self.first = self._value = self._checked(value)

    @property
    def value(self) -> Value:
        """The value."""
        return self._value

    @value.setter
    def value(self, value: Value) -> None:
        now = self._checked(value)
        if now is self._value or self._sent(now) == self._sent(self._value):
            return
        self._value = now
        if self._changed is not None:
            self._changed()

    def watch(self, call: Callable[[], None]) -> None:
        """Call something whenever the value changes."""
        self._changed = call

    def receive(self, sent: Any) -> None:
        """Set the value that a browser sent."""
        self.value = sent

    def data(self) -> dict[str, Any]:
        """What the browser gets; ``widgets/src/documents/exploration.ts`` describes the fields."""
        return {
            "kind": self.kind,
            "label": clean(self.label),
            "text": clean(self._text),
            "tip": self.tip,
            "value": self._sent(self._value),
            "first": self._sent(self.first),
        }

    def _checked(self, value: Any) -> Value:
        """The value as it is kept."""
        raise NotImplementedError

    def _sent(self, value: Value) -> Any:
        """A value as it is sent to a browser."""
        return value

    def _wrong(self, value: object, wanted: str) -> OptionError:
        return OptionError(f"{clean(self.label)} = {clean(repr(value)):.80} must be {wanted}")


class Switch(Part[bool]):
    """A bool."""

    kind = "switch"

    def _checked(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self._wrong(value, "True or False")
        return value


class Text(Part[str]):
    """A str."""

    kind = "text"

    def _checked(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self._wrong(value, "text")
        return value


class Choice(Part[Any]):
    """One of several options, which a browser knows by their place.

    Args:
        label: Its name.
        options: The options.
        value: The option it begins with.
    """

    kind = "choice"

    def __init__(self, label: str, options: Sequence[Any], value: Any) -> None:
        self.options = tuple(options)
        self._labels = [clean(str(option)) for option in options]
        super().__init__(label, value)

    def receive(self, sent: Any) -> None:
        """Set the option at a place."""
        if type(sent) is not int or not 0 <= sent < len(self.options):
            raise self._wrong(sent, "the number of an option")
        self.value = self.options[sent]

    def data(self) -> dict[str, Any]:
        """With the options in words."""
        return {**super().data(), "options": self._labels}

    def _checked(self, value: Any) -> Any:
        if self._sent(value) is None:
            raise self._wrong(value, f"one of {', '.join(self._labels)}")
        return value

    def _sent(self, value: Any) -> int | None:
        same = (i for i, option in enumerate(self.options) if option is value)
        # Options may be tensors, which have no equality as a whole: they are compared as text.
        equal = (
            i
            for i, option in enumerate(self.options)
            if type(option) is type(value) and self._labels[i] == clean(str(value))
        )
        return next(same, next(equal, None))


class Number(Part[float]):
    """An int or a float.

    Args:
        label: Its name.
        value: What it begins with; an int stays an int.
        has_slider: Whether a slider is beside the field.
    """

    kind = "number"

    def __init__(self, label: str, value: float, *, has_slider: bool = False) -> None:
        self.is_whole = isinstance(value, int)
        self.has_slider = has_slider
        self._span: float = _span(value)
        self.step: float = 1 if self.is_whole else self._span / _STEPS
        """How far one step of the slider or of the field goes."""
        super().__init__(label, value)

    @property
    def min(self) -> float:
        """The left end of the slider."""
        return -self._span

    @property
    def max(self) -> float:
        """The right end of the slider; a number beyond the ends extends it on both sides."""
        return self._span

    def data(self) -> dict[str, Any]:
        """With the range of the slider."""
        slider = {"min": self.min, "max": self.max} if self.has_slider else None
        return {**super().data(), "whole": self.is_whole, "step": self.step, "slider": slider}

    def _checked(self, value: Any) -> float:
        if not can_be_set(value) or (self.is_whole and value != int(value)):
            raise self._wrong(value, "a whole number" if self.is_whole else "a number")
        kept = int(value) if self.is_whole else float(value)
        if abs(kept) > self._span:
            self._span = _span(kept)
        return kept


def can_be_set(value: Any) -> bool:
    """Whether a field for a number can hold a value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= LARGEST if isinstance(value, int) else isfinite(value)


def _span(value: float) -> Any:
    """A round number at least two and a half times as large, 5 for zero, 10 for small integers."""
    if abs(value) > _FLOATS[1]:
        return abs(value)
    wanted = 2.5 * abs(value) if abs(value) > _FLOATS[0] else 5.0
    if isinstance(value, int):
        wanted = max(wanted, 10.0)
    power: float = 10.0 ** int(log10(wanted) // 1)
    span = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= wanted * 0.999)
    return int(span) if isinstance(value, int) else float(f"{span:.10g}")
