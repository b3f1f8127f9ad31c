"""A value that is set later, once, and never changes afterwards."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """A preliminary value until the final one is put.

    Args:
        before: The value until then.

    Examples:
        >>> once = Once("nothing yet")
        >>> once.put("the value")
        >>> once.value, once.is_put
        ('the value', True)
    """

    __slots__ = ("_is_put", "_value")

    def __init__(self, before: T) -> None:
        self._value = before
        self._is_put = False

    @property
    def value(self) -> T:
        """What it reads now."""
        return self._value

    @property
    def is_put(self) -> bool:
        """Whether the value has come."""
        return self._is_put

    def put(self, value: T) -> None:
        """Put the value.

        Raises:
            RuntimeError: If it has been put before.
        """
        if self._is_put:
            raise RuntimeError("this is complete already, and what is complete stays as it is")
        self._value = value
        self._is_put = True
