"""Gradients through a recording: their norms per parameter and backward, and which moved what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import hypot, isfinite, prod

from gradviz.model.errors import UnknownNodeError
from gradviz.model.explanation import CodeLine
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.presentation import Printed
from gradviz.model.report import Cell, Table


@dataclass(frozen=True, slots=True)
class ParameterFlow:
    """The gradients of one parameter."""

    name: str
    """Its name in the code, or its path in the model that was given."""
    tensor: str
    """Id in the recording."""
    shape: tuple[int, ...]
    """Shape."""
    norms: tuple[float | None, ...]
    """Euclidean norm of what each backward gave it, before that is added to ``.grad``; ``None``
    where it gave nothing, or the norm is not recorded."""
    given: tuple[bool, ...]
    """Which backwards gave it a gradient."""
    steps: int = 0
    """How many optimizer steps have it."""
    updates: int = 0
    """How many of them wrote it."""
    moved: bool | None = None
    """Whether anything wrote it after its first gradient; ``None`` if it is not known."""
    still: str = ""
    """Why nothing did."""

    @property
    def elements(self) -> int:
        """How many numbers it has."""
        return prod(self.shape)

    @property
    def zeros(self) -> int:
        """How many backwards gave it a gradient that is all zeros."""
        return sum(norm == 0 for norm in self.norms)

    @property
    def broken(self) -> int:
        """How many backwards gave it a gradient with nan or inf."""
        return sum(norm is not None and not isfinite(norm) for norm in self.norms)


@dataclass(frozen=True, slots=True)
class BackwardFlow:
    """One backward of a recording."""

    number: int
    """As the recording counts them: 1 for the first."""
    at: CodeLine | None
    """Line that called it."""
    count: int
    """How many parameters it gave a gradient."""
    norm: float | None
    """Euclidean norm of all that it gave; ``None`` if a norm is not recorded, or it gave none."""
    step: str = ""
    """The optimizer step that followed, ``""`` if there was none: ``"SGD.step in line 9"``."""
    is_skipped: bool = False
    """Whether a line that steps an optimizer, as ``GradScaler.step`` does, ran no step."""


@dataclass(frozen=True, slots=True)
class ReluFlow:
    """A ReLU that passed no gradient on, though it got one."""

    name: str
    """Path of its module, else its line."""
    at: CodeLine | None
    """Line that made its node."""
    backwards: tuple[int, ...]
    """Numbers of the backwards in which all of its inputs were 0 or less."""
    total: int
    """How many backwards ran it with a gradient."""


@dataclass(frozen=True)
class GradientFlow(Printed):
    """How gradients flow through a recording.

    ``flow["model.fc.weight"]`` has the gradients of a parameter.
    """

    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    """By parameter, folded by module; by backward; and ReLUs that passed nothing on."""
    parameters: tuple[ParameterFlow, ...]
    backwards: tuple[BackwardFlow, ...]
    relus: tuple[ReluFlow, ...] = ()
    """ReLUs that passed no gradient on in some backward."""
    graph: Graph | None = None
    marks: tuple[Highlight, ...] = field(default=())
    notes: tuple[str, ...] = ()
    """Those of ``sentences`` that follow from another one."""

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        return iter(self.tables[0] if self.tables else ())

    def __getitem__(self, name: str) -> ParameterFlow:
        """The gradients of a parameter.

        Args:
            name: Its name, or the end of it if only one ends so.

        Raises:
            UnknownNodeError: If there is none, or several; the message lists the names.
        """
        rows = self.parameters
        found = [row for row in rows if row.name == name] or [
            row for row in rows if row.name.endswith(f".{name}")
        ]
        if len(found) != 1:
            names = ", ".join(row.name for row in rows[:20]) or "none"
            raise UnknownNodeError(f"no parameter, or several, have the name {name!r}: {names}")
        return found[0]


def norm_of(rows: Sequence[ParameterFlow], backward: int) -> float | None:
    """Euclidean norm of what a backward gave several parameters together.

    Args:
        rows: The parameters.
        backward: Place of the backward.

    Returns:
        ``None`` if it gave them nothing, or a norm is not recorded.
    """
    given = [row.norms[backward] for row in rows if row.given[backward]]
    known = [norm for norm in given if norm is not None]
    if not given or len(known) < len(given):
        return None
    return hypot(*known) if all(map(isfinite, known)) else sum(known)
