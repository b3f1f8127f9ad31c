"""A number, a list of numbers, or ``None``, typed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from gradviz.model.errors import OptionError
from gradviz.model.forms.form import Form, Verdict
from gradviz.model.forms.numbers import (
    HINT,
    NotANumberError,
    Value,
    plain_number,
    read,
    same,
    words,
)

DIGITS: Final = 4
"""Significant digits of a key in its digest: devices differ in the last ones."""


@dataclass(frozen=True, slots=True)
class Typed(Form):
    """A value that is typed; numbers are compared as ``torch.testing`` does.

    Examples:
        >>> form = Typed.of("a.grad", {"3": "That is b."})
        >>> form.judge(form.key_of(6.0), "3.0")
        Verdict(is_right=False, wrong=('3',))
        >>> form.judge(form.key_of(6.0), "6").is_right
        True
    """

    kind: ClassVar[str] = "typed"

    label: str = ""

    @classmethod
    def of(cls, given: Any, wrong: Mapping[str, str]) -> Typed:
        """What is typed, in words, and sentences by what was typed."""
        if not isinstance(given, str) or not given.strip():
            raise OptionError(
                f'typed={given!r}: it says what is typed, before the field: typed="a.grad"'
            )
        for name in wrong:
            try:
                read(name)
            except NotANumberError:
                raise OptionError(
                    f"wrong= has {name!r}, which cannot be typed: it must be {HINT}, as text: "
                    'wrong={"3": "That is b."}'
                ) from None
        return cls(dict(wrong), given)

    def key_of(self, value: Any) -> Value:
        """The value, of tensors their numbers."""
        key = _plain(value)
        if found := [name for name in self.sentences if same(key, read(name))]:
            raise OptionError(
                f"the function returned {words(key)}, and wrong= has a sentence that says "
                f"{found[0]!r} is wrong: take it out"
            )
        return key

    def is_answered(self, answer: Any) -> bool:
        """Whether it can be read."""
        try:
            _given(answer)
        except (NotANumberError, OptionError):
            return False
        return True

    def judge(self, key: Any, answer: Any) -> Verdict:
        """Equal within the tolerances; a wrong value is named as its sentence names it."""
        typed = _given(answer)
        if same(key, typed):
            return Verdict(True)
        return Verdict(False, tuple(n for n in self.sentences if same(read(n), typed))[:1])

    def data(self) -> dict[str, Any]:
        """The words before the field."""
        return {"kind": self.kind, "label": self.label, "hint": HINT}

    def lines(self) -> list[str]:
        """An empty field."""
        return [f"{self.label} = ____ ({HINT})"]

    def key_text(self, key: Any) -> str:
        """Rounded, so that it is the same on every device."""
        return words(key, DIGITS)

    def key_lines(self, key: Any) -> list[str]:
        """The value."""
        return [f"{self.label} = {words(key)}"]

    def secrets(self, key: Any) -> tuple[str, ...]:
        """The value on its own, and after its name."""
        return (words(key), f"{self.label} = {words(key)}")


def _given(answer: Any) -> Value:
    return read(answer) if isinstance(answer, str) else _plain(answer)


def _plain(value: Any) -> Value:
    if value is None or value in ("nan", "inf", "-inf"):
        return value  # type: ignore[no-any-return]
    if isinstance(value, (list, tuple)):
        return list(map(_plain, value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return plain_number(float(value))
    raise OptionError(
        f"the function returned {value!r}; for typed= it must return {HINT}, or a tensor. Ask for "
        "anything else with choose="
    )
