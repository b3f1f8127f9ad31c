"""The variants of one item over the steps of a recording; a graph is a recording of one step."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter
from typing import Generic, Literal, TypeAlias, TypeVar

from gradviz.model.records import ValueSummary

Look = TypeVar("Look")
Life: TypeAlias = tuple[int, int]
"""The first and last step at which something exists."""


@dataclass(frozen=True, slots=True)
class EdgeGradient:
    """A gradient on an edge."""

    gradient: ValueSummary | None
    arrived: bool
    """Whether the node that receives it has run."""


@dataclass(frozen=True, slots=True)
class LinkLook:
    """One variant of a link."""

    flow: Literal["", "gv-flow", "gv-flowed"] = ""
    """Whether a gradient is on it, and whether the node that receives it has run."""
    written: EdgeGradient | None = None
    """The gradient that is written on it."""
    is_new: bool = False
    """Whether the step has made it."""

    @property
    def css(self) -> str:
        """Its classes."""
        return " ".join(filter(None, ("gv-made" if self.is_new else "", self.flow)))


class Variants(Generic[Look]):
    """The variants of one item over the steps; ``None`` where it does not exist."""

    def __init__(self) -> None:
        self.looks: dict[Look, int] = {}
        """Each variant once, with its number from 0."""
        self.changes: list[tuple[int, Look | None]] = []
        """Steps at which a variant begins."""

    @classmethod
    def of(cls, look: Look) -> Variants[Look]:
        """The one variant of what is the same at all steps."""
        variants = cls()
        variants.put(0, look)
        return variants

    @property
    def now(self) -> Look | None:
        """The variant at the last added step."""
        return self.changes[-1][1] if self.changes else None

    def put(self, step: int, look: Look | None) -> None:
        """Set the variant from ``step`` on."""
        if look == self.now:
            return
        if look is not None:
            self.looks.setdefault(look, len(self.looks))
        self.changes.append((step, look))

    def at(self, step: int) -> Look | None:
        """The variant at a step."""
        begun = bisect_right(self.changes, step, key=itemgetter(0))
        return self.changes[begun - 1][1] if begun else None

    def existed(self, step: int) -> bool:
        """Whether there was a variant at a step."""
        return self.at(step) is not None

    def life(self, steps: int) -> Life:
        """First and last step at which it exists, of so many steps."""
        there = [i for i, (_, look) in enumerate(self.changes) if look is not None]
        last = there[-1] + 1
        return self.changes[there[0]][0], self.changes[last][0] - 1 if last < len(
            self.changes
        ) else steps

    def numbers(self) -> dict[int, int]:
        """The number of the variant from a step on, by the step; how many there are where it does
        not exist."""
        none = len(self.looks)
        return {0: none} | {
            step: none if look is None else self.looks[look] for step, look in self.changes
        }
