"""What arguments of public functions must be."""

from __future__ import annotations

from typing import Final, TypeVar

from gradviz.model.errors import OptionError

Value = TypeVar("Value")
LISTS: Final = (str, list, tuple, set, frozenset)
"""Types of what lists names; of one name the name itself does."""


def checked(name: str, value: Value, kind: type | tuple[type, ...], wanted: str) -> Value:
    """The value of an argument; ``True`` is no number.

    Args:
        name: What the argument is called.
        value: What was given.
        kind: What it must be.
        wanted: The same in words, with an example.

    Raises:
        OptionError: If it is of another kind.

    Examples:
        >>> checked("label", "training", str, "text: label='training'")
        'training'
        >>> checked("columns", True, int, "a number: columns=3")
        Traceback (most recent call last):
            ...
        gradviz.model.errors.OptionError: columns=True must be a number: columns=3
    """
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise OptionError(f"{name}={value!r} must be {wanted}")


def flag(name: str, value: bool) -> bool:
    """The value of an argument that is ``True`` or ``False``.

    Raises:
        OptionError: If it is neither.
    """
    return checked(name, value, bool, f"True or False: {name}=True")
