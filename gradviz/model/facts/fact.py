"""What a fact is: a key, a value, and the value in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from gradviz.model.records import (
    Attribute,
    Node,
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
    """One fact, as data and in words of three lengths."""

    label: str
    """The name of the fact, before :attr:`words`: ``"version"``."""
    value: FactValue = None
    """The fact as data, to compare; ``None`` if there is none."""
    words: str = ""
    """The value beside its label: ``"1"``. Empty where there is no fact."""
    short: str = ""
    """The whole fact in few characters: ``"v1"``. Empty for the common case."""
    long: str = ""
    """The whole fact in a list: ``"version 1"``. Empty for the common case."""
    parts: tuple[Fact, ...] = ()
    """Its parts: hooks, entries of ``next_functions``, saved numbers, gradients, derivatives."""


class Surroundings(Protocol):
    """What facts need from the rest of the graph."""

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
        """Whether all tensors are on one device, which facts then leave out."""

    def node_at(self, node_id: str) -> Node | None:
        """A node by its id, ``None`` if it does not exist here."""

    def node_name(self, node_id: str) -> str:
        """Name of a node, for a leaf with its variable, fit to be shown."""

    def tidy(self, text: str, /) -> str:
        """Text of the user's program, fit to be shown."""


Maker: TypeAlias = Callable[[Row, Surroundings], Fact]


class Facts(Generic[Key, Row]):
    """The facts of a node, tensor or saved tensor by key, each made when it is first read.

    Every object of a kind has every key; a fact that does not apply has no words.

    Args:
        row: The node, tensor or saved tensor.
        around: Its graph.
        makers: How each fact is made.
        before: The facts of the same thing in a graph before, if the two are compared.
    """

    __slots__ = ("_around", "_made", "_makers", "_row", "before")

    def __init__(
        self,
        row: Row,
        around: Surroundings,
        makers: Mapping[Key, Maker[Row]],
        before: Facts[Key, Row] | None = None,
    ) -> None:
        self.before = before
        self._row, self._around, self._makers = row, around, makers
        self._made: dict[Key, Fact] = {}

    def __getitem__(self, key: Key) -> Fact:
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = self._makers[key](self._row, self._around)
        return made

    def __iter__(self) -> Iterator[Key]:
        return iter(self._makers)

    def changed(self, key: Key) -> Fact | None:
        """The fact as it was before, if it was another; ``None`` if nothing was before."""
        was = None if self.before is None else self.before[key]
        return None if was is None or was.words == self[key].words else was

    def short(self, *keys: Key) -> list[str]:
        """The short forms of these facts that are not empty."""
        return [short for key in keys if (short := self[key].short)]

    def long(self, *keys: Key) -> list[str]:
        """The long forms of these facts that are not empty."""
        return [long for key in keys if (long := self[key].long)]

    def rows(self, *keys: Key) -> list[tuple[str, str]]:
        """Label and words of these facts, without those that have no words."""
        found = (self[key] for key in keys)
        return [(fact.label, fact.words) for fact in found if fact.words]
