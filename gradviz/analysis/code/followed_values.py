"""Values of Python while lines are followed: which calls took what is in them out of torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from gradviz.model.calls import RecordedCall
from gradviz.model.history import EventPlace


@dataclass(frozen=True, slots=True)
class LeftValue:
    """A number or an array that a call has taken out of torch, where it came in again."""

    call: RecordedCall
    """The call that took it out of torch."""
    through: tuple[int, ...] = ()
    """Steps of the lines that passed it on, the last one first."""
    is_sure: bool = True
    """Whether it passed no function whose lines are not known."""
    is_state: bool = False
    """Whether it was added to what an attribute has from earlier: a running mean."""


@dataclass(eq=False, slots=True)
class Value:
    """What a variable refers to, as far as values that left torch are in it.

    Two variables may refer to the same one, as in Python: what is appended to a list through one of
    them is seen through the other.
    """

    own: dict[EventPlace, LeftValue] = field(default_factory=dict)
    """What is in it, by the place of the call that took it out of torch."""
    parts: dict[str, Value] = field(default_factory=dict)
    """Attributes, items with a constant key and elements of a tuple or list."""
    count: int | None = None
    """How many elements it has, of a list of which each is known."""
    is_mixed: bool = False
    """Whether it may have elements besides ``own`` that have nothing in them."""

    def part(self, key: str) -> Value | None:
        """An attribute or item, if it is known apart."""
        return self.parts.get(key)

    def whole(self, depth: int = 4) -> dict[EventPlace, LeftValue]:
        """Everything in it and in its items; an object is no number, whatever its attributes
        are."""
        found = dict(self.own)
        for key, part in self.parts.items() if depth else ():
            if not key.startswith("."):
                found |= part.whole(depth - 1)
        return found

    def add(self, other: Value) -> None:
        """Note that it has got what is in another one, at a place that is not known."""
        self.forget_places()
        self.is_mixed = True
        self.own |= other.whole()

    def append(self, other: Value) -> None:
        """Note that it has got another element."""
        if self.count is None:
            self.add(other)
        else:
            self.parts[str(self.count)] = other
            self.count += 1

    def forget_places(self) -> None:
        """Note that the places of its elements are not known any more."""
        if self.count is not None:
            self.own |= self.whole()
            self.is_mixed = not all(one.whole() for one in self.parts.values())
            self.parts, self.count = {}, None

    def item(self, key: str | None) -> Value:
        """The item with a key; of a list of which some elements have nothing in them, and that with
        another key, nothing is known."""
        if self.count is not None:
            place = key if key is None or not key.startswith("-") else str(self.count + int(key))
            known = list(self.parts.values())
            if place is None:
                return together(known) if all(one.whole() for one in known) else Value()
            return self.parts.get(place) or Value()
        found = None if key is None else self.parts.get(key)
        if found is None and key is not None and not self.own and not self.parts:
            found = self.parts[key] = Value()
        if found is not None:
            return found
        return Value(dict(self.own)).changed(is_sure=not self.is_mixed)

    def passed(self, step: int) -> Value:
        """The same after a line has passed it on."""
        if not self.own or self.parts:
            for key, part in self.parts.items() if self.count is None else ():
                if not key.startswith("."):
                    self.parts[key] = part.passed(step)
            return self
        return Value({place: _through(left, step) for place, left in self.own.items()})

    def changed(self, *, is_sure: bool = True, is_state: bool = False) -> Value:
        """All that is in it, with what is known of it since."""
        return Value(
            {
                place: replace(
                    left, is_sure=left.is_sure and is_sure, is_state=left.is_state or is_state
                )
                for place, left in self.whole().items()
            }
        )


def together(values: Iterable[Value]) -> Value:
    """What is computed from several values."""
    found: dict[EventPlace, LeftValue] = {}
    for value in values:
        found |= value.whole()
    return Value(found) if found else Value()


def elements(value: Value, count: int) -> Iterator[Value]:
    """What each of the names is bound to that a value is unpacked into."""
    known = [value.part(str(place)) for place in range(count)]
    for part in known:
        yield part if part is not None else together([value])


def _through(left: LeftValue, step: int) -> LeftValue:
    return left if step in left.through else replace(left, through=(step, *left.through))
