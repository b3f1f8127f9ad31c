"""Which parameters get a gradient from a loss, why others get none, and what is updated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gradviz.model.audit_input import Gradient, OptimizerFacts
from gradviz.model.errors import UnknownNodeError
from gradviz.model.explanation import CodeLine
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.presentation import Printed
from gradviz.model.report import Table

NoGradient: TypeAlias = Literal[
    "",
    "frozen",
    "detached",
    "no_grad",
    "inference mode",
    "integer",
    "left torch",
    "create_graph",
    "not used",
    "rebound",
    "no graph",
    "not a leaf",
    "not given",
    "uninitialised",
    "unknown",
]
"""Why a parameter gets no gradient. ``"frozen"``: ``requires_grad`` is False (or was, when it was
used); ``"detached"``: ``detach()`` or ``.data``, or, where no recording tells these apart, a view
under ``no_grad``; ``"integer"``: a result that has no gradient, such as that of ``argmax``;
``"left torch"``: ``item()``, ``numpy()``; ``"create_graph"``: a gradient that ``autograd.grad``
gave without ``create_graph=True``; ``"rebound"``: another tensor has taken its place since the
forward; ``"not a leaf"``: ``.grad`` of results is not kept; ``"not given"``: the recorded backward
came to a custom Function, which gave none; ``"unknown"``: what is alive does not tell."""

GraphState: TypeAlias = Literal["no graph", "holds", "freed", "partly freed", "saves nothing"]
"""What the graph holds for backward: everything (backward has not run, or kept it), nothing any
more (``backward()`` or ``autograd.grad()`` has run), some of it (a backward raised, or ran over a
part), or its nodes need nothing, so that torch does not tell."""


@dataclass(frozen=True, slots=True)
class ParameterAudit:
    """What was found about one parameter."""

    name: str
    """Path in the model: ``"fc.weight"``."""
    names: tuple[str, ...]
    """All its paths; a shared parameter has several."""
    tensor: str
    """Id in ``audit.graph``, ``""`` if it is not there."""
    shape: tuple[int, ...] | None
    """Shape; ``None`` for a lazy parameter that has none yet."""
    dtype: str
    """dtype without the ``torch.`` prefix."""
    device: str
    """Device."""
    requires_grad: bool
    """``requires_grad`` now."""
    reached: bool | None
    """Whether the graph of the loss leads to it; ``None`` if torch does not tell."""
    gets_gradient: bool | None
    """Whether ``loss.backward()`` gives it a gradient, as the graph tells: if the graph is freed,
    this does not say that its ``.grad`` came that way. ``None`` means not known, and ``why`` says
    on what it depends."""
    reason: NoGradient = ""
    """Why it gets none, ``""`` if it gets one."""
    why: str = ""
    """The same in a sentence."""
    at: CodeLine | None = None
    """Line that cut it off, where a recording knows it."""
    also: tuple[str, ...] = ()
    """What else cuts it off, or was noticed about it."""
    unknown: tuple[str, ...] = ()
    """What is not known, and what would tell."""
    grad: Gradient | None = None
    """What its ``.grad`` holds, ``None`` if it is ``None``."""
    stale: bool | None = None
    """Whether its ``.grad`` comes from something else than this loss; ``None`` if there is no
    ``.grad``, or if that is not known: only a recording that saw it filled tells whether it is
    from this loss, and from this loss alone."""
    group: int | None = None
    """Number of its group in the optimizer; ``None`` if it is in none."""
    updated: bool | None = None
    """Whether ``optimizer.step()`` changes it, after ``backward()`` if that has still to run;
    ``None`` without an optimizer, or if that is not known."""
    update: str = ""
    """From which gradient, or why not."""


@dataclass(frozen=True)
class Audit(Printed):
    """What was found about the parameters of a model.

    ``audit["fc.weight"]`` is the row of a parameter; iterating gives all rows in the order of the
    model.
    """

    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    graph: Graph | None
    marks: tuple[Highlight, ...]
    parameters: tuple[ParameterAudit, ...]
    """One row per parameter; a shared one has one row."""
    state: GraphState
    """What the graph holds for backward."""
    optimizer: OptimizerFacts | None = None
    """The optimizer's groups and settings."""

    def __iter__(self) -> Iterator[ParameterAudit]:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, name: str) -> ParameterAudit:
        """The row of a parameter, by any of its paths.

        Raises:
            UnknownNodeError: If the model has no such parameter; the message lists those that
                there are.
        """
        for row in self.parameters:
            if name in row.names:
                return row
        raise UnknownNodeError(f"this model has no parameter {name!r}{self._hint(name)}")

    def _hint(self, name: object) -> str:
        names = [path for row in self.parameters for path in row.names]
        near = [path for path in names if isinstance(name, str) and name.endswith(f".{path}")]
        if near:
            return f"; paths begin in the model: audit[{near[0]!r}]"
        if not names:
            return ": it has no parameters"
        return f"; it has: {', '.join(names[:20])}{', …' if len(names) > 20 else ''}"
