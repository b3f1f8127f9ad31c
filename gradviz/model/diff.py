"""What differs between two graphs or two recordings, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.presentation import Printed
from gradviz.model.report import Table

DifferenceKind: TypeAlias = Literal["new", "gone", "changed"]
DifferenceSubject: TypeAlias = Literal[
    "node", "edge", "saved tensor", "tensor", "graph", "line", "backward"
]


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact that is not the same before and after."""

    kind: DifferenceKind
    """``"new"``: only after; ``"gone"``: only before; ``"changed"``: on both sides, another."""
    subject: DifferenceSubject
    """What the fact is about. Of recordings also lines of the code and the order of backward."""
    name: str
    """torch's name of the node, ``"leaf w"``, the name of the tensor, or the line."""
    fact: str
    """``"state"``, ``"version"``, ``".grad"``, ``"saved self"``, ``"other leads to"``;
    of what is new or gone as a whole ``"in the graph"``, or ``"kept by the graph"`` of a tensor
    outside of it: its absence from the other program is no difference."""
    before: str
    """What it was."""
    after: str
    """What it is."""
    before_id: str = ""
    """Id in the graph before: of a node (``"n1"``), an edge (``"n1.0"``), a saved tensor
    (``"n1.saved.0"``) or a tensor (``"t0"``); ``""`` if there is none."""
    after_id: str = ""
    """Id in the graph after."""

    @property
    def is_whole(self) -> bool:
        """Whether a node or tensor is in one of the two graphs only."""
        return self.kind != "changed" and self.subject in ("node", "tensor")

    @property
    def change(self) -> str:
        """``before → after``."""
        return f"{self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class Comparison(Printed):
    """What differs between two graphs, or two recordings; true if anything does.

    Names of variables are not compared: what is the same under two names is in ``renamed``.
    Neither are lines of code that made a node, nor what one of the two does not know, such as a
    tensor that has a name in one of the two only.
    """

    title: str
    sentences: tuple[str, ...]
    """The differences in short, new and gone nodes first."""
    tables: tuple[Table, ...]
    """One table: a row per difference."""
    graph: Graph
    """Both graphs in one: that after, with its ids, and what is gone with ids that follow."""
    marks: tuple[Highlight, ...]
    """What is new, gone or changed in ``graph``."""
    differences: tuple[Difference, ...]
    """Every difference."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Variables that are the same by their place and have two names, before and after; of a
    module's parameters only the name of the module."""
    notes: tuple[str, ...] = ()
    """Those of ``sentences`` that name no difference."""

    def __bool__(self) -> bool:
        return bool(self.differences)

    def __len__(self) -> int:
        return len(self.differences)
