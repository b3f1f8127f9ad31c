"""What a fact is: a key, a value, and the value in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from gradviz.model.records import (
    Attribute,
    Number,
    ValueSummary,
)

Key = TypeVar("Key", bound=str)
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Values:
    """All values of a small tensor."""

    values: tuple[Number, ...]
    shape: tuple[int, ...]


FactValue: TypeAlias = "Values | ValueSummary | Attribute"


class Fact(NamedTuple):
    """One thing that is so, ready to be said."""

    label: str
    """What stands before :attr:`words` in a list of facts: ``"version"``."""
    value: FactValue = None
    """The fact as data: where it is equal, nothing differs. ``None`` if there is none."""
    words: str = ""
    """The value beside its label: ``"1"``. Empty where there is nothing to say."""
    short: str = ""
    """The whole fact where room is scarce: ``"v1"``. Empty where it goes without saying."""
    long: str = ""
    """The whole fact among others: ``"version 1"``. Empty where it goes without saying."""
    parts: tuple[Fact, ...] = ()
    """What it consists of: hooks, entries of ``next_functions``, saved numbers, derivatives."""


class Surroundings(Protocol):
    """What the facts of one thing take from the rest of the graph."""

    @property
    def names(self) -> Mapping[str, str]:
        """Name of each known tensor, fit to be shown."""

    @property
    def roots(self) -> Mapping[str, Sequence[int]]:
        """Output numbers of each node that is a root."""

    @property
    def sharing(self) -> Mapping[str, Sequence[str]]:
        """Names of the other tensors on the same storage."""

    @property
    def has_one_device(self) -> bool:
        """Whether all tensors are on one device, which then goes without saying."""

    def node_name(self, node_id: str) -> str:
        """Name of a node, for a leaf with its variable, fit to be shown."""

    def tidy(self, text: str, /) -> str:
        """Text of the user's program, fit to be shown."""


Maker: TypeAlias = Callable[[Row, Surroundings], Fact]


class Facts(Generic[Key, Row]):
    """The facts of one thing by key, each made when it is first chosen.

    Each key is there for each thing of its kind; what there is nothing to say of has no words.

    Args:
        row: The thing.
        around: Its graph.
        makers: How each fact is made.
    """

    __slots__ = ("_around", "_made", "_makers", "_row")

    def __init__(self, row: Row, around: Surroundings, makers: Mapping[Key, Maker[Row]]) -> None:
        self._row, self._around, self._makers = row, around, makers
        self._made: dict[Key, Fact] = {}

    def __getitem__(self, key: Key) -> Fact:
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = self._makers[key](self._row, self._around)
        return made

    def __iter__(self) -> Iterator[Key]:
        return iter(self._makers)

    def short(self, *keys: Key) -> list[str]:
        """Short forms of these facts, without those that go without saying."""
        return [short for key in keys if (short := self[key].short)]

    def long(self, *keys: Key) -> list[str]:
        """Long forms of these facts, without those that go without saying."""
        return [long for key in keys if (long := self[key].long)]

    def rows(self, *keys: Key) -> list[tuple[str, str]]:
        """Label and words of these facts, as far as there is anything to say."""
        found = (self[key] for key in keys)
        return [(fact.label, fact.words) for fact in found if fact.words]
