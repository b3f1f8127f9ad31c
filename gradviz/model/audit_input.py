"""What was read from live objects for an audit, before anything is concluded from it."""

from __future__ import annotations

from dataclasses import dataclass

from gradviz.model.graph import Graph
from gradviz.model.records import Attribute, Number


@dataclass(frozen=True, slots=True)
class Gradient:
    """What a ``.grad`` holds."""

    shape: tuple[int, ...]
    """Its shape."""
    dtype: str
    """dtype without the ``torch.`` prefix."""
    layout: str = "strided"
    """``"strided"``, ``"sparse_coo"``, …"""
    numbers: int = 0
    """How many numbers it has, those that a sparse one leaves out too."""
    zeros: int | None = None
    """How many are 0; ``None`` if they cannot be read."""
    nan: int | None = None
    """How many are nan."""
    inf: int | None = None
    """How many are infinite."""
    norm: Number | None = None
    """Euclidean norm, to six significant digits."""
    is_unread: bool = False
    """Whether its numbers were not read: more than the budget allows, or not wanted."""

    @property
    def norm_number(self) -> float | None:
        """The norm, which may be nan or inf; ``None`` if it was not read."""
        return float(self.norm) if isinstance(self.norm, str) else self.norm

    @property
    def is_zero(self) -> bool | None:
        """Whether all numbers are 0; ``None`` if they cannot be read."""
        return None if self.zeros is None else self.zeros == self.numbers

    @property
    def is_finite(self) -> bool | None:
        """Whether no number is nan or infinite."""
        return None if self.nan is None or self.inf is None else self.nan + self.inf == 0


@dataclass(frozen=True, slots=True)
class ParameterFacts:
    """A parameter, with everything that was read about it."""

    names: tuple[str, ...]
    """Its paths in the model; a shared parameter has several."""
    known_as: tuple[str, ...] = ()
    """Names that the code has for it: ``"model.fc.weight"``."""
    tensor: str = ""
    """Id in the graph."""
    shape: tuple[int, ...] | None = None
    """``None`` for a lazy parameter: it gets its shape from the first input."""
    dtype: str = ""
    """dtype without the ``torch.`` prefix."""
    device: str = ""
    """Device."""
    grad: Gradient | None = None
    """Its ``.grad``."""
    takers: tuple[str, ...] = ()
    """Names of its hooks that set its ``.grad`` after backward has."""
    group: int | None = None
    """Number of its group in the optimizer."""
    is_moving: bool | None = None
    """Whether the optimizer's state or weight decay moves it though its ``.grad`` is all zeros;
    ``None`` if it was not read or cannot be known."""


@dataclass(frozen=True, slots=True)
class LossFacts:
    """A tensor that backward would start from."""

    name: str
    """What the code calls it, else ``"loss"``."""
    known_as: tuple[str, ...] = ()
    """All its names."""
    tensor: str = ""
    """Id in the graph."""
    root: int | None = None
    """Place among the roots of the graph, ``None`` if there is no graph behind it."""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group of an optimizer."""

    settings: tuple[tuple[str, Attribute], ...]
    """``("lr", 0.1)``, ``("weight_decay", 0)``, …"""
    count: int
    """How many tensors it has."""

    def get(self, name: str) -> Attribute:
        """A setting, ``None`` if there is none of this name."""
        return dict(self.settings).get(name)


@dataclass(frozen=True, slots=True)
class UnknownTensor:
    """A tensor of the optimizer that is no parameter of the model."""

    group: int
    """Its group."""
    place: int
    """Its place in the group."""
    shape: tuple[int, ...]
    """Its shape."""
    tensor: str = ""
    """Id in the graph, if the graph leads to it."""
    name: str | None = None
    """What the code calls it, if it has a name."""
    stands_for: str | None = None
    """Path of the parameter that has its place now: the rest have their old places, or the
    optimizer knows its tensors by name."""


@dataclass(frozen=True, slots=True)
class OptimizerFacts:
    """An optimizer."""

    name: str
    """Its class."""
    is_known: bool
    """Whether it is a class of ``torch.optim`` itself."""
    groups: tuple[GroupFacts, ...] = ()
    """Its groups."""
    strangers: tuple[UnknownTensor, ...] = ()
    """Its tensors that are no parameter of the model."""


@dataclass(frozen=True, slots=True)
class Alias:
    """Two live tensors on one memory, of which one has a graph and the other has none."""

    without: str
    """Name of the tensor without a graph; ``""`` for a loss that has none."""
    tensor: str
    """Its id in the graph."""
    of: str
    """Name of the tensor that has a graph, one that the loss does not lead to."""
    of_tensor: str
    """Its id in the graph."""
    parameters: tuple[int, ...]
    """Places of the parameters that the graph of ``of`` leads to."""


@dataclass(frozen=True, slots=True)
class OtherPath:
    """A live tensor that leads to parameters, and that the loss does not lead to."""

    name: str
    """Its name, ``""`` if it has none."""
    storage: str | None
    """Id of its storage, as in the graph."""
    parameters: tuple[int, ...]
    """Places of the parameters that it leads to."""


@dataclass(frozen=True, slots=True)
class AuditInput:
    """Everything that was read for an audit."""

    losses: tuple[LossFacts, ...]
    parameters: tuple[ParameterFacts, ...]
    graph: Graph
    """The graph behind the losses, with all parameters; no nodes if there is none."""
    functions: tuple[str, ...] = ()
    """Nodes that are custom Functions."""
    optimizer: OptimizerFacts | None = None
    aliases: tuple[Alias, ...] = ()
    carriers: tuple[OtherPath, ...] = ()
    has_looked: bool = True
    """Whether all graphs of named tensors were searched for aliases and carriers."""
    is_module: bool = False
    """Whether the parameters are all those of modules."""
    givers: tuple[str, ...] = ()
    """What runs in a backward and may give a gradient to tensors that the graph does not lead to:
    backwards of custom Functions, as those of reentrant checkpoints, and hooks."""
    takers: tuple[str, ...] = ()
    """Those of them that may clear a ``.grad`` too."""
    given: tuple[tuple[str, tuple[bool, ...]], ...] = ()
    """Nodes that are compiled functions, each with whether its backward gives a gradient to each
    entry of its ``next_functions``."""
