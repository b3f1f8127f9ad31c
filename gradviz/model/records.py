"""The facts of a graph, one small frozen dataclass per kind of object."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

NodeState: TypeAlias = Literal["holds", "freed", "saves nothing", "packed", "opaque"]
SavedState: TypeAlias = Literal["held", "modified", "freed", "packed", "none"]
HookKind: TypeAlias = Literal["tensor", "post_accumulate_grad", "node_pre", "node_post"]
Attribute: TypeAlias = "bool | int | float | str | None | tuple[Attribute, ...]"
Number: TypeAlias = "bool | int | float | str"
"""A value as data. What JSON and equality cannot carry is text: ``"nan"``, ``"inf"``,
``"-inf"``, complex numbers as ``"1+2j"``."""


@dataclass(frozen=True, slots=True)
class ValueSummary:
    """Numbers of a tensor, few enough to show.

    Complex values are summarised by their magnitude in ``min``, ``mean``, ``max`` and ``norm``.
    """

    shape: tuple[int, ...]
    """Shape of the tensor that was summarised."""
    dtype: str
    """Its dtype without the ``torch.`` prefix."""
    values: tuple[Number, ...] | None = None
    """All values in row-major order when there are at most 8; ``None`` when there are more."""
    min: Number | None = None
    """Smallest value; ``None`` if there is none or reading it was not safe."""
    mean: Number | None = None
    """Mean of the values."""
    max: Number | None = None
    """Largest value."""
    norm: Number | None = None
    """Euclidean norm."""
    has_nan: bool | None = None
    """Whether any value is nan; ``None`` means not known."""
    has_inf: bool | None = None
    """Whether any value is infinite; ``None`` means not known."""
    is_unread: bool = False
    """Whether the numbers were not read since the budget of the look was used up; ``values=True``
    reads them."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A function that torch will call during backward."""

    kind: HookKind
    """``"tensor"`` (``Tensor.register_hook``), ``"post_accumulate_grad"``, ``"node_pre"``
    (``Node.register_prehook``) or ``"node_post"`` (``Node.register_hook``)."""
    name: str
    """Qualified name of the function, as data: never markup."""


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """One slot in which a node keeps a tensor for its backward."""

    name: str
    """Name torch gives the slot: ``"self"``, ``"result"``, ``"tensors[1]"``."""
    state: SavedState
    """``"held"``, ``"modified"`` (written in place since it was saved), ``"freed"``,
    ``"packed"`` (a hook packed it; it is not unpacked to be shown) or ``"none"`` (this graph
    did not need the slot)."""
    shape: tuple[int, ...] | None = None
    """Shape, or ``None`` when there is nothing to read it from."""
    dtype: str | None = None
    """dtype without the ``torch.`` prefix."""
    device: str | None = None
    """Device: ``"cpu"``, ``"cuda:0"``, ``"meta"``, …; ``"fake cpu"`` of a fake tensor,
    ``"DTensor cpu"`` of a DTensor, of which this process has a part."""
    nbytes: int | None = None
    """Bytes of the tensor itself, ``Tensor.nbytes``."""
    storage: str | None = None
    """Stable id (``"s0"``) of the storage; tensors that share memory have the same."""
    storage_nbytes: int | None = None
    """Bytes of the whole storage that the slot keeps alive."""
    saved_version: int | None = None
    """Version counter when the tensor was saved; ``None`` if torch does not show it."""
    current_version: int | None = None
    """Version counter now."""
    tensor: str | None = None
    """Id in ``graph.tensors`` when the saved tensor is a known one."""
    view_of: str | None = None
    """Id in ``graph.tensors`` of the known tensor that the saved one is a view of."""
    packed_by: str | None = None
    """If the state is ``"packed"``: the qualified name of the unpack hook."""
    is_parameter: bool = False
    """Whether it is an ``nn.Parameter``, or a view of one."""
    values: tuple[Number, ...] | None = None
    """All its values now, in row-major order, when there are at most 8 and it is no known tensor,
    which has them itself: the 2 of ``2 * w``."""
    is_unread: bool = False
    """Whether the numbers were not read since the budget of the look was used up; ``values=True``
    reads them."""

    @property
    def is_without_size(self) -> bool:
        """Whether what it keeps is in no total of bytes, as of a sparse tensor: its memory is not
        one storage. Packed saves, of which torch shows nothing, are not meant."""
        return self.state in ("held", "modified") and None in (self.storage, self.storage_nbytes)


@lru_cache(maxsize=10_000)
def without_tensor(name: str, state: SavedState) -> SavedTensor:
    """A slot of which nothing but its state is known, as one that is freed; made once.

    Examples:
        >>> without_tensor("self", "freed").shape is None
        True
    """
    return SavedTensor(name, state)


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor that has a name, was passed in, or is a leaf of the graph."""

    id: str
    """``"t0"``, ``"t1"``, … in a fixed order."""
    name: str | None
    """Variable name or path such as ``model.fc.weight``; the best one; ``None`` if none."""
    shape: tuple[int, ...]
    """Shape of the tensor; -1 where it is not known."""
    dtype: str
    """dtype without the ``torch.`` prefix."""
    device: str
    """Device: ``"cpu"``, ``"cuda:0"``, ``"meta"``, …; ``"fake cpu"`` of a fake tensor,
    ``"DTensor cpu"`` of a DTensor, of which this process has a part."""
    requires_grad: bool
    """``Tensor.requires_grad``."""
    is_leaf: bool | None
    """``Tensor.is_leaf``; ``None`` when reading it could have changed the graph (a view whose
    base was written in place may be stale; see autograd's lazy regeneration of views), and its
    base has no graph from which it would follow."""
    retains_grad: bool
    """``Tensor.retains_grad``."""
    version: int | None
    """``Tensor._version``; ``None`` for inference tensors, which have no counter."""
    grad: ValueSummary | None
    """Summary of ``.grad``, or ``None`` when it is ``None`` (or could not be filled)."""
    hooks: tuple[Hook, ...]
    """Hooks registered on this tensor object, in registration order."""
    node: str | None
    """Id of the node whose output it is (its AccumulateGrad for a leaf of the graph)."""
    output_nr: int
    """Which output of that node it is."""
    storage: str | None
    """Stable id of its storage; ``None`` if it has none."""
    is_view: bool
    """Whether autograd knows it as a view of another tensor."""
    is_inference: bool
    """Whether it was made in inference mode."""
    values: tuple[Number, ...] | None = None
    """All values when there are at most 8."""
    is_unread: bool = False
    """Whether the numbers were not read since the budget of the look was used up; ``values=True``
    reads them."""
    aliases: tuple[str, ...] = ()
    """Its other names, each once: a write through one of them is seen through all."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names of this one tensor object, the best one first.

        Those of plain variables come before those in containers and modules. In a recording they
        are the names that the recorded code speaks of; inside a function that it calls, a tensor
        that the code itself can name has the code's names.
        """
        return () if self.name is None else (self.name, *self.aliases)

    @property
    def may_be_elsewhere(self) -> bool:
        """Whether ``node`` is ``None`` because reading it could have changed the graph: a view that
        was written, or whose base was. It may be the output of any node then."""
        is_written_view = self.is_view and bool(self.version)
        return self.node is None and self.requires_grad and is_written_view


@dataclass(frozen=True, slots=True)
class Edge:
    """One entry of ``next_functions`` that is not ``None``."""

    source: str
    """Node that holds the entry; backward runs from it to ``target``."""
    target: str
    """Node the entry points to, the producer of the tensor that was used."""
    slot: int
    """Place in ``source.next_functions``."""
    output_nr: int
    """Which output of ``target`` was used."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the autograd graph: what torch calls ``grad_fn``."""

    id: str
    """``"n0"``, ``"n1"``, … in breadth-first order from the first root."""
    name: str
    """torch's name: ``"MulBackward0"``, ``"AccumulateGrad"``."""
    next_functions: tuple[tuple[str, int] | None, ...]
    """``(node id, output number of the producer)`` or ``None`` (no gradient needed), in
    torch's order and length."""
    saved: tuple[SavedTensor, ...] = ()
    """Slots for saved tensors, in the order of torch's attribute names."""
    variable: str | None = None
    """Id of the leaf tensor of an ``AccumulateGrad``."""
    output_shapes: tuple[tuple[int, ...] | None, ...] = ()
    """Shape of each differentiable output of the forward; ``None`` where not known."""
    state: NodeState = "saves nothing"
    """``"holds"``, ``"freed"``, ``"saves nothing"``, ``"packed"`` or ``"opaque"`` (torch does
    not let us see)."""
    hooks: tuple[Hook, ...] = ()
    """Hooks that can be seen: those of live tensors that are outputs of this node."""
    hooks_unknown: bool = True
    """Whether hooks may exist that torch does not list (hooks of dead tensors and node hooks
    of nodes written in C++)."""
    attributes: tuple[tuple[str, Attribute], ...] = field(default=())
    """Saved scalars and sizes, such as ``("alpha", 1)`` or ``("dim", (-1,))``."""
    arguments: tuple[str | None, ...] = ()
    """Name of the forward argument behind each entry of ``next_functions``, where the
    derivative table has it."""
    formula: str | None = None
    """Derivative as torch's own table gives it, one ``argument: expression`` a line."""
    source: str | None = None
    """Line of the user's code that made the node, where torch knows it (anomaly mode)."""
    module: str | None = None
    """Path of the module that made the node, where a recording knows it."""
    calls: tuple[tuple[str, int], ...] = ()
    """The calls of modules that ran when it was made, the outermost first, as a recording saw them:
    the path of each module, and a number that no other call in this graph has."""


@dataclass(frozen=True, slots=True)
class ModuleInfo:
    """A module that has parameters or buffers in the graph, itself or in the modules in it; or one
    in such a module that has none at all; of a recording one that was called."""

    path: str
    """Name of the variable and path from it: ``"model.layers.0"``; ``""`` for a module that no
    variable names."""
    type: str
    """Name of its class: ``"Linear"``."""
    tensors: tuple[str, ...] = ()
    """Ids in ``graph.tensors`` of its own parameters and buffers, not of those of modules in it; of
    a recording none."""
    buffers: tuple[str, ...] = ()
    """Those of them that are buffers."""
    is_container: bool = False
    """Whether it has no ``forward``, as a ``ModuleList``: it only holds what others call."""
