"""What a check finds, as plain data: per notebook, per cell, per difference."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Verdict = Literal["equal", "different", "error", "not compared"]
"""``"error"``: the cell raised, did not end, or its kernel ended, and no tag allows it."""


class CheckError(Exception):
    """A notebook cannot be checked; the message gives the reason and what to type."""


@dataclass(frozen=True, slots=True)
class CellName:
    """How a person finds a cell.

    Attributes:
        count: Jupyter's number beside the stored cell; ``None`` if it was not run when the notebook
            was saved.
        id: The cell's id; empty in files older than ids.
        first_line: The first line of its code that is no comment.
        place: Which of the code cells it is, from 1.
    """

    count: int | None
    id: str
    first_line: str
    place: int

    @property
    def number(self) -> str:
        """The number as Jupyter writes it: ``[5]``, or ``[ ]`` where there is none."""
        return f"[{' ' if self.count is None else self.count}]"


@dataclass(frozen=True, slots=True)
class Difference:
    """One output that is not what is stored.

    Attributes:
        kind: A mime type, ``"stdout"``, ``"stderr"``, ``"ename"``, ``"evalue"``, ``"traceback"`` or
            ``"stored widget"``.
        stored: The stored text after the rules for what may differ; ``None`` if there is none.
        fresh: The text of now; ``None`` if there is none.
        number: Which output of this kind in the cell, from 1.
        note: What the texts do not say.
    """

    kind: str
    stored: str | None
    fresh: str | None
    number: int = 1
    note: str = ""


@dataclass(frozen=True, slots=True)
class Raised:
    """An error of a cell.

    Attributes:
        title: Type and message.
        lines: The traceback without the lines of Python, torch and packages.
        explanation: What gradviz says about it; empty if it is no error of autograd.
    """

    title: str
    lines: tuple[str, ...] = ()
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class CellResult:
    """What was found of one code cell.

    Attributes:
        name: Which cell.
        verdict: What was found.
        reason: Why it was not compared.
        differences: What differs.
        raised: The error.
        left_out: Kinds of output in it that are not compared, such as ``"image/png"``.
    """

    name: CellName
    verdict: Verdict
    reason: str = ""
    differences: tuple[Difference, ...] = ()
    raised: Raised | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotebookResult:
    """What was found of one notebook.

    Attributes:
        path: The file.
        cells: Its code cells, in order.
        problem: Why it could not be checked, or not to the end.
        is_interrupted: Whether a person stopped it.
    """

    path: Path
    cells: tuple[CellResult, ...] = field(default=())
    problem: str = ""
    is_interrupted: bool = False

    def count(self, *verdicts: Verdict) -> int:
        """How many cells have one of these verdicts."""
        return sum(cell.verdict in verdicts for cell in self.cells)

    @property
    def status(self) -> int:
        """0: everything compared is equal; 1: something is not; 2: it could not be checked."""
        if self.problem:
            return 2
        return int(bool(self.count("different", "error")))
