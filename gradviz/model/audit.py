"""Which parameters get a gradient from a loss, why the rest get none, and what is updated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import hypot, isfinite, prod
from typing import Any, Literal, TypeAlias

from gradviz.model.audit_input import Gradient, OptimizerFacts
from gradviz.model.errors import UnknownNodeError
from gradviz.model.explanation import CodeLine
from gradviz.model.formatting import plural
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
used); ``"detached"``: ``detach()`` or ``.data``, or, without a recording, a view
under ``no_grad``; ``"integer"``: a result that has no gradient, such as that of ``argmax``;
``"left torch"``: ``item()``, ``numpy()``; ``"create_graph"``: a gradient that ``autograd.grad``
gave without ``create_graph=True``; ``"rebound"``: another tensor has taken its place since the
forward; ``"not a leaf"``: ``.grad`` of results is not kept; ``"not given"``: the recorded backward
reached a custom Function, which returned none, or compiled code returns none; ``"unknown"``: live
tensors do not show it."""

GraphState: TypeAlias = Literal["no graph", "holds", "freed", "partly freed", "saves nothing"]
"""Which saved tensors the graph has: all (backward has not run, or ran with ``retain_graph=True``),
none (``backward()`` or ``autograd.grad()`` has freed them), some (a backward raised an error, or
ran over a part), or its nodes save none, so that it is not known whether backward has run."""


@dataclass(frozen=True, slots=True)
class PartialCut:
    """A place at which a part of the way from a parameter to the loss is cut, beside a part that
    passes a gradient."""

    why: str
    """What happened there, in a sentence."""
    at: CodeLine | None = None
    """Its line."""
    call: str = ""
    """The call: ``"item()"``."""


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
    """Whether the graph of the loss reaches it; ``None`` if that is not known."""
    gets_gradient: bool | None
    """Whether ``loss.backward()`` gives it a gradient, by the graph; if the graph is freed, its
    ``.grad`` may still be from another backward. ``None`` means not known, and ``why`` says on
    what it depends."""
    reason: NoGradient = ""
    """Why it gets none, ``""`` if it gets one."""
    why: str = ""
    """The same in a sentence."""
    at: CodeLine | None = None
    """Line that cut it off, if it was recorded."""
    also: tuple[str, ...] = ()
    """What else cuts it off, or was noticed about it."""
    partly: tuple[PartialCut, ...] = ()
    """Where a recording shows that a part of the way from it to the loss is cut, though it gets a
    gradient; the part may be meant to be constant, as a target that is detached."""
    unknown: tuple[str, ...] = ()
    """What is not known, and how to find it out."""
    grad: Gradient | None = None
    """What its ``.grad`` holds, ``None`` if it is ``None``."""
    stale: bool | None = None
    """Whether its ``.grad`` is not from this loss; ``None`` if there is no ``.grad``, or if that
    is not known: only a recording of the backward that filled it shows that it is from this loss
    alone."""
    group: int | None = None
    """Number of its group in the optimizer; ``None`` if it is in none."""
    updated: bool | None = None
    """Whether ``optimizer.step()`` changes it, after ``backward()`` if that has still to run;
    ``None`` without an optimizer, or if that is not known."""
    update: str = ""
    """The gradient that the step uses, or why it does not change the parameter."""

    @property
    def elements(self) -> int:
        """How many numbers it has; 0 for a lazy parameter that has no shape yet."""
        return 0 if self.shape is None else prod(self.shape)


@dataclass(frozen=True, slots=True)
class ModuleAudit:
    """What was found about all parameters of a module and of the modules in it."""

    name: str
    """Path in the model: ``"h.3"``."""
    parameters: tuple[ParameterAudit, ...]
    """One row per parameter; a shared one is in the module of its first path."""

    @property
    def elements(self) -> int:
        """How many numbers the parameters have together."""
        return sum(row.elements for row in self.parameters)

    def __str__(self) -> str:
        facts = [plural(len(self.parameters), "parameter"), plural(self.elements, "element")]
        if self.norm is not None:
            facts.append(f".grad norm {self.norm:.4g}")
        if names := ", ".join(row.name for row in self.without_gradient):
            facts.append(f"without gradient: {names}")
        return f"{self.name}: {', '.join(facts)}"

    @property
    def gets_gradient(self) -> bool | None:
        """Whether all of them get a gradient; ``None`` if that is not known."""
        found = {row.gets_gradient for row in self.parameters}
        return False if False in found else None if None in found else True

    @property
    def without_gradient(self) -> tuple[ParameterAudit, ...]:
        """Those that get no gradient."""
        return tuple(row for row in self.parameters if row.gets_gradient is False)

    @property
    def norm(self) -> float | None:
        """Euclidean norm of all ``.grad`` together; ``None`` if there is none, or one of them was
        not read."""
        norms = [row.grad.norm_number for row in self.parameters if row.grad is not None]
        known = [norm for norm in norms if norm is not None]
        if not norms or len(known) < len(norms):
            return None
        return hypot(*known) if all(map(isfinite, known)) else sum(known)


@dataclass(frozen=True)
class Audit(Printed):
    """What was found about the parameters of a model.

    ``audit["fc.weight"]`` is the row of a parameter, ``audit["fc"]`` has those of a module;
    iterating gives all rows in the order of the model.
    """

    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    graph: Graph | None
    marks: tuple[Highlight, ...]
    parameters: tuple[ParameterAudit, ...]
    """One row per parameter; a shared one has one row."""
    state: GraphState
    """Which saved tensors the graph has."""
    optimizer: OptimizerFacts | None = None
    """The optimizer's groups and settings."""
    all_sentences: tuple[str, ...] = field(default=(), compare=False)
    """All findings in sentences; of many, ``sentences`` has the first and the number of the
    others."""
    notes: tuple[str, ...] = ()
    """Those of ``sentences`` that say what is as usual."""

    def __iter__(self) -> Iterator[ParameterAudit]:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, name: str) -> Any:
        """The row of a parameter, by any of its paths, or the rows of a module, by its path.

        Args:
            name: Path in the model, ``"h.3"``; also with the variable before it, ``"model.h.3"``.

        Returns:
            A :class:`ParameterAudit`, or for a module a :class:`ModuleAudit`.

        Raises:
            UnknownNodeError: If the model has no such parameter; the message lists the names.
        """
        for path in self._paths(name):
            for row in self.parameters:
                if path in row.names:
                    return row
            rows = tuple(row for row in self.parameters if row.name.startswith(f"{path}."))
            if path and rows:
                return ModuleAudit(path, rows)
        raise UnknownNodeError(f"this model has no parameter {name!r}{self._hint(name)}")

    def _paths(self, name: object) -> Iterator[str]:
        """A path in the model, and the same without the variable that leads to the model."""
        if isinstance(name, str):
            yield name
            variable, _, rest = name.partition(".")
            known = {path.partition(".")[0] for row in self.parameters for path in row.names}
            if variable.isidentifier() and variable not in known:
                yield rest

    def _hint(self, name: object) -> str:
        names = [path for row in self.parameters for path in row.names]
        near = [path for path in names if isinstance(name, str) and name.endswith(f".{path}")]
        if near:
            return f"; paths begin in the model: audit[{near[0]!r}]"
        if not names:
            return ": it has no parameters"
        return f"; it has: {', '.join(names[:20])}{', …' if len(names) > 20 else ''}"
