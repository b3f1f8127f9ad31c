"""What a check has found: it passed, or what has to be known to make it pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from gradviz.check.frames import HIDDEN
from gradviz.model import CheckFailed

__tracebackhide__ = HIDDEN


@dataclass(frozen=True, slots=True)
class Passed:
    """What a check returns when it holds; it is true, and prints what was found.

    Examples:
        >>> Passed("w is a leaf")
        passed: w is a leaf
    """

    text: str
    """What was found."""

    def __repr__(self) -> str:
        return f"passed: {self.text}"

    def __bool__(self) -> bool:
        return True


class Failure(NamedTuple):
    """What does not hold of one tensor."""

    name: str
    found: str
    why: str
    fix: str


def judge(failures: Sequence[Failure], expected: str, passed: str) -> Passed:
    """What a check returns of several tensors.

    Raises:
        CheckFailed: If there are failures: about the first, with the names of the others.
    """
    if not failures:
        return Passed(passed)
    first, *others = failures
    found = first.found
    if others:
        found += f" ({len(others)} more: {', '.join(one.name for one in others)})"
    raise CheckFailed(found, expected, first.why, first.fix)


def not_known(what: str, expected: str, why: str, fix: str = "") -> NoReturn:
    """End a check whose answer cannot be read.

    Raises:
        CheckFailed: Always: what is not known is not guessed.
    """
    raise CheckFailed(f"it is not known {what}", expected, why, fix)


def unknown(name: str, what: str, why: str, fix: str = "") -> Failure:
    """The same of one tensor among several."""
    return Failure(name, f"it is not known {what}", why, fix)
