"""What can happen while a recording runs, one small frozen dataclass per kind.

Tensors and nodes are named by their ids in the recording (``"t3"``, ``"n0"``), which stay the
same from the first step to the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, TypeAlias

from gradviz.model.records import Attribute, Hook, SavedTensor, ValueSummary

NotRecorded: TypeAlias = Literal[
    "",
    "no input requires grad",
    "no_grad",
    "inference mode",
    "custom Function",
    "detach",
    ".data",
    "not differentiable",
    "left torch",
    "inside vmap",
    "unknown",
]
NoteKind: TypeAlias = Literal[
    "steps counted",
    "operations left out",
    "calls hidden",
    "stack used up",
    "other thread",
    "not recorded",
    "calls a function",
    "states not read",
    "hook stays",
    "tensors swapped",
    "lines from calls",
    "lines without torch",
    "only",
]
"""What a :class:`Note` is about."""
WriteAgent: TypeAlias = Literal["call", "assignment", "optimizer", "module", "unseen"]
"""Who wrote: a call of torch; an assignment to ``.data``, which gives a tensor other memory; a step
of an optimizer; the forward of a module, its own buffer, in a call that moves no version, or
DistributedDataParallel, those of all its modules; something that torch did not see."""
GradMode: TypeAlias = Literal["on", "off", "inference"]
"""Whether operations are recorded: grad mode is on, it is off, or inference mode is on."""
HIDES_CALLS: Final[frozenset[NoteKind]] = frozenset(
    {
        "steps counted",
        "operations left out",
        "calls hidden",
        "stack used up",
        "other thread",
        "not recorded",
    }
)
"""Notes which say that calls may have run that are not in the recording."""


@dataclass(frozen=True, slots=True)
class Position:
    """The expression of a line that made a call, as the interpreter's own positions give it.

    Lines are numbered as in the recorded code, columns are bytes of UTF-8 from 0, as syntax
    trees count them. Source: ``code.co_positions()`` at the frame's ``f_lasti``.
    """

    line: int
    """Line in which it begins; of a method call over several lines, that of the method's name."""
    column: int
    end_line: int
    end_column: int
    ordinal: int = 0
    """0 for the first call that the expression made when its line ran, 1 for the second:
    ``sum([h, g])`` and ``map(torch.relu, …)`` make several."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened during one step."""

    kind: ClassVar[str] = ""
    times: int = field(default=1, kw_only=True)
    """How often it happened. In a step that stands for many, what they did in the same way is one
    event: it is as the last of them was; versions, ``.grad``, bytes and nodes that ran are over
    all of them."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument or a result of an operation."""

    text: str
    """Variable name, else a description of the tensor, else the value: ``"w"``, ``"2.0"``."""
    tensor: str | None = None
    """Id of the tensor if the recording knows it at the end of the step."""
    shape: tuple[int, ...] | None = None
    """Shape; ``None`` for what is not a tensor."""
    dtype: str | None = None
    """dtype without the ``torch.`` prefix."""
    is_sequence: bool = False
    """Whether it is a list or tuple, of which ``text`` gives the length."""


@dataclass(frozen=True, slots=True)
class Operation(Event):
    """torch was called: an operation on tensors."""

    kind: ClassVar[str] = "operation"
    name: str
    """Name of the function: ``"mul"``, ``"linear"``, ``"detach"``, ``"item"``."""
    inputs: tuple[Operand, ...] = ()
    """Arguments in the order of the call."""
    outputs: tuple[Operand, ...] = ()
    """Results."""
    node: str | None = None
    """Id of the node that the operation left behind its first result, if the recording saw it."""
    recorded: bool = False
    """Whether the result is connected to the autograd graph by this operation."""
    reason: NotRecorded = ""
    """Why it is not recorded, ``""`` if it is."""
    recomputed: bool = False
    """Whether it ran inside backward: a checkpoint, a hook, a custom Function."""
    module: str | None = None
    """Path of the innermost module that ran it."""
    reads: tuple[str, ...] = ()
    """Tensor objects that went in, those in lists too: ids, or ``"u3"`` for one that never had
    a name. The same object has the same key in all calls."""
    made: tuple[str, ...] = ()
    """Tensor objects that came out; a call in place gives back one that went in."""
    required: tuple[str, ...] = ()
    """Those of ``reads`` that required grad before the call."""
    position: Position | None = None
    """The expression that called it; ``None`` if it is not known."""
    read_values: tuple[ValueSummary | None, ...] = ()
    """Numbers of ``reads`` after the call, where a result has nan or inf; empty elsewhere."""
    made_values: tuple[ValueSummary | None, ...] = ()
    """Numbers of ``made`` there."""


@dataclass(frozen=True, slots=True)
class Write(Event):
    """A tensor's memory was changed in place."""

    kind: ClassVar[str] = "write"
    by: str
    """Who wrote: ``"add_"``, ``"SGD.step"``, ``"numpy or another view of the memory"``."""
    tensors: tuple[str, ...]
    """Ids of the known tensors on the storage that was written."""
    name: str
    """Name of the tensor that was written, or a description."""
    storage: str | None = None
    """Id of the storage."""
    before: int | None = None
    """Version before; ``None`` when not known."""
    after: int | None = None
    """Version after; equal to ``before`` when the write left no trace in the counter."""
    through: str = ""
    """``".data"``, ``"detach"``, ``"view"`` or ``""``: by which way it was reached."""
    reads: tuple[str, ...] = ()
    """Tensor objects that went into the call which wrote, as in :class:`Operation`."""
    made: tuple[str, ...] = ()
    """Tensor objects that it changed: the written one and what that is a view of."""
    position: Position | None = None
    """The expression that wrote, as in :class:`Operation`."""
    agent: WriteAgent = "call"
    """What ``by`` names."""
    buffer_of: str | None = None
    """Path of the module whose buffer was written, if that module was running."""
    grad_of: str | None = None
    """Id of the tensor whose ``.grad`` was written."""
    is_described: bool = False
    """Whether ``name`` is a description: no name leads to what was written."""

    @property
    def variable(self) -> str | None:
        """Name of the tensor that was written, ``None`` if it has none."""
        return None if self.is_described else self.name


@dataclass(frozen=True, slots=True)
class FlagChanged(Event):
    """A flag of a tensor changed: ``requires_grad``, ``retains_grad``, ``is_leaf``."""

    kind: ClassVar[str] = "flag"
    tensor: str
    flag: str
    before: bool | None
    after: bool | None


@dataclass(frozen=True, slots=True)
class GradModeChanged(Event):
    """A line switched grad mode or inference mode, or left a block that had switched it.

    At the start, with the same mode before and after: it was switched off before the recording.
    """

    kind: ClassVar[str] = "grad mode"
    before: GradMode
    after: GradMode


@dataclass(frozen=True, slots=True)
class LoopVariable(Event):
    """The head of a ``for`` loop ran: a variable of the loop as it was then.

    Only variables that are numbers, texts or tensors are recorded. After the last turn it has the
    value of that turn still.
    """

    kind: ClassVar[str] = "loop variable"
    name: str
    value: Operand


@dataclass(frozen=True, slots=True)
class HookChanged(Event):
    """A hook was registered or removed."""

    kind: ClassVar[str] = "hook"
    hook: Hook
    registered: bool
    tensor: str | None = None
    """Id of the tensor it is registered on."""
    node: str | None = None
    """Id of the node it will run at."""


@dataclass(frozen=True, slots=True)
class BackwardStarted(Event):
    """``backward()`` or ``autograd.grad()`` was called."""

    kind: ClassVar[str] = "backward"
    number: int
    """1 for the first backward of the recording."""
    roots: tuple[tuple[str, int], ...]
    """Node id and output number of each root."""
    gradients: tuple[ValueSummary | None, ...] = ()
    """Gradient given for each root."""
    retain_graph: bool = False
    create_graph: bool = False
    accumulates: bool = True
    """Whether leaves accumulate (``backward``) or gradients are returned (``autograd.grad``)."""
    inputs: tuple[str, ...] = ()
    """Ids of the tensors given as ``inputs=``; empty means all leaves."""
    inside: str | None = None
    """Node inside whose backward it was called, for reentrant backwards."""
    position: Position | None = None
    """The expression that called it, as in :class:`Operation`; it has no ordinal."""


@dataclass(frozen=True, slots=True)
class NodeReady(Event):
    """All gradients of a node have arrived: the engine runs it next."""

    kind: ClassVar[str] = "ready"
    backward: int
    node: str
    grad_outputs: tuple[ValueSummary | None, ...] = ()
    used: tuple[SavedTensor, ...] = ()
    """Saved tensors it is going to use."""


@dataclass(frozen=True, slots=True)
class NodeRan(Event):
    """The engine ran a node."""

    kind: ClassVar[str] = "node"
    backward: int
    """Number of the backward."""
    node: str
    grad_outputs: tuple[ValueSummary | None, ...] = ()
    """Gradients that arrived, one per output of the forward."""
    grad_inputs: tuple[ValueSummary | None, ...] = ()
    """Gradients it hands on, one per entry of ``next_functions``."""
    used: tuple[SavedTensor, ...] = ()
    """Saved tensors it could use, as they were when it started."""


@dataclass(frozen=True, slots=True)
class NodesRan(Event):
    """The engine ran many nodes, of which only the order is recorded."""

    kind: ClassVar[str] = "nodes"
    nodes: tuple[int, ...]
    """Their numbers, in the order in which they ran: 7 for the node ``"n7"``."""
    backwards: tuple[tuple[int, int], ...]
    """Number of a backward, and how many of the nodes it ran; one backward after another."""

    def of_backwards(self) -> Iterator[tuple[int, str]]:
        """The number of the backward, and the id of each node.

        Examples:
            >>> list(NodesRan((4, 2, 5), ((1, 2), (2, 1))).of_backwards())
            [(1, 'n4'), (1, 'n2'), (2, 'n5')]
        """
        numbers = (number for number, count in self.backwards for _ in range(count))
        return zip(numbers, (f"n{node}" for node in self.nodes), strict=True)


@dataclass(frozen=True, slots=True)
class HookFired(Event):
    """A hook ran during backward."""

    kind: ClassVar[str] = "fired"
    backward: int
    hook: Hook
    node: str | None = None
    """Node at which it ran."""
    tensor: str | None = None
    returned: ValueSummary | None = None
    """Gradient it returned in place of the one it got; ``None`` if it returned ``None``."""
    raised: bool = False
    """Whether it raised."""


@dataclass(frozen=True, slots=True)
class Accumulated(Event):
    """A gradient was added to ``.grad`` of a leaf, or kept by ``retain_grad``."""

    kind: ClassVar[str] = "accumulated"
    backward: int
    node: str
    tensor: str | None
    before: ValueSummary | None
    gradient: ValueSummary | None
    after: ValueSummary | None
    retained: bool = False
    """Whether ``retain_grad`` kept it, on a tensor that is not a leaf."""


@dataclass(frozen=True, slots=True)
class Freed(Event):
    """Saved tensors of a node were freed."""

    kind: ClassVar[str] = "freed"
    node: str
    slots: tuple[str, ...]
    nbytes: int = 0
    """Bytes of storages that nothing saved keeps any longer."""
    backward: int | None = None
    """Number of the backward that freed them; ``None`` if it is that of the step."""


@dataclass(frozen=True, slots=True)
class BackwardEnded(Event):
    """A backward returned, or raised."""

    kind: ClassVar[str] = "backward ended"
    number: int
    nodes: int
    """How many nodes ran."""
    raised: bool = False


@dataclass(frozen=True, slots=True)
class OptimizerStepped(Event):
    """``optimizer.step()`` ran."""

    kind: ClassVar[str] = "optimizer"
    name: str
    """Class of the optimizer: ``"SGD"``."""
    updated: tuple[str, ...] = ()
    """Ids of the tensors it has written."""
    skipped: tuple[str, ...] = ()
    """Ids of the parameters it passed over because their ``.grad`` is ``None``."""
    parameters: tuple[str, ...] = ()
    """Ids of all its parameters."""
    position: Position | None = None
    """The expression that called it, as in :class:`Operation`; it has no ordinal."""


@dataclass(frozen=True, slots=True)
class ZeroedGrad(Event):
    """``zero_grad()`` ran."""

    kind: ClassVar[str] = "zero_grad"
    name: str
    """Class of the optimizer or module."""
    set_to_none: bool = True
    tensors: tuple[str, ...] = ()
    """Ids of the tensors whose ``.grad`` it took away or filled with 0."""


@dataclass(frozen=True, slots=True)
class Clipped(Event):
    """Gradients were clipped."""

    kind: ClassVar[str] = "clipped"
    name: str
    """Name of the function: ``"clip_grad_norm_"``."""
    tensors: tuple[str, ...] = ()
    """Ids of the tensors whose ``.grad`` it read."""
    without: tuple[str, ...] = ()
    """Ids of those whose ``.grad`` was ``None``."""
    only_measures: bool = False
    """Whether the limit was infinite, so that nothing was changed."""


@dataclass(frozen=True, slots=True)
class SchedulerStepped(Event):
    """``scheduler.step()`` ran."""

    kind: ClassVar[str] = "scheduler"
    name: str
    """Class of the scheduler: ``"StepLR"``."""
    parameters: tuple[str, ...] = ()
    """Ids of the parameters of its optimizer."""
    has_stepped: bool = False
    """Whether its optimizer had stepped since the scheduler was made."""


@dataclass(frozen=True, slots=True)
class Unregistered(Event):
    """A module ran that has leaves in an attribute which are not among its parameters."""

    kind: ClassVar[str] = "unregistered"
    module: str
    """Path of the module."""
    type: str
    """Name of its class."""
    attribute: str
    """The attribute: a tensor, or a list of tensors or modules."""
    is_tensor: bool
    """Whether it is a tensor."""
    tensors: tuple[str, ...] = ()
    """Ids of the leaves."""


@dataclass(frozen=True, slots=True)
class Refused(Event):
    """A call of torch raised. Its event comes before the :class:`Raised` of the same step, if the
    error left the line; the innermost call that raised comes first."""

    kind: ClassVar[str] = "refused"
    name: str
    """Name of the function: ``"numpy"``, ``"add_"``, ``"backward"``."""
    inputs: tuple[Operand, ...] = ()
    """Arguments in the order of the call."""
    type: str = ""
    """Class of the exception."""
    reads: tuple[str, ...] = ()
    """Tensor objects that went in, as in :class:`Operation`."""
    module: str | None = None
    """Path of the innermost module that ran it."""
    position: Position | None = None
    """The expression that called it, as in :class:`Operation`."""


@dataclass(frozen=True, slots=True)
class Made(Event):
    """Tensors were made by what is no :class:`Operation`, as ``nn.Parameter(data)``."""

    kind: ClassVar[str] = "made"
    tensors: tuple[str, ...]
    """Tensor objects, as in :class:`Operation`."""


@dataclass(frozen=True, slots=True)
class FirstRead(Event):
    """Nodes are read for the first time that no line of the step made: they were there before the
    recording, or torch does not show when they were made."""

    kind: ClassVar[str] = "first read"
    nodes: tuple[str, ...]
    """Their ids."""


@dataclass(frozen=True, slots=True)
class SavedEarlier(Event):
    """What a saved tensor was called in an earlier recording, of which nothing else refers to it.

    This event and the next two are facts of earlier recordings about what exists when this one
    begins; they are in its first step.
    """

    kind: ClassVar[str] = "saved earlier"
    node: str
    slot: str
    """Name of the saved tensor at its node: ``"result"``."""
    name: str
    """The variable."""


@dataclass(frozen=True, slots=True)
class WrittenEarlier(Event):
    """A saved tensor was written in place, as an earlier recording saw."""

    kind: ClassVar[str] = "written earlier"
    node: str
    slot: str
    by: str
    """As in :class:`Write`."""
    before: int
    after: int
    name: str | None = None
    """The variable through which it was written."""
    through: str = ""
    module: str | None = None
    """Path of the module that wrote."""
    code: int = -1
    """Place of the source text of the line in ``recording.codes``."""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class FreedEarlier(Event):
    """A backward freed what a node had saved, as an earlier recording saw."""

    kind: ClassVar[str] = "freed earlier"
    node: str
    number: int
    """Number of the backward in that recording."""
    raised: bool = False
    """Whether that backward raised."""
    code: int = -1
    """Place of the source text of its line in ``recording.codes``."""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Died(Event):
    """Tensors or nodes ceased to exist."""

    kind: ClassVar[str] = "died"
    tensors: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Raised(Event):
    """An exception left the recorded code; or a line of it, and was caught by another."""

    kind: ClassVar[str] = "error"
    type: str
    """Name of its class."""
    message: str
    """Its text, addresses taken out, ``""`` where only code of the user's knows it; torch changes
    its sentences between releases."""
    node: str | None = None
    """Node that was running when it was raised inside backward."""
    backward: int | None = None
    needed: tuple[bool, ...] = ()
    """If that node is of a custom Function: which arguments of its forward need a gradient."""
    reduced: tuple[str, ...] = ()
    """If DistributedDataParallel was in sight: the parameters whose gradients it reduces, by
    their names in the module that it wraps, in the order in which its messages number them."""
    number: int | None = None
    """Number of the exception: the same one, raised again, has the same. ``None`` if it is not
    known."""
    is_from_elsewhere: bool = False
    """Whether it arose in code that is not recorded, in another thread or before, and was only
    raised again here; the line of the step is then where it arose."""


@dataclass(frozen=True, slots=True)
class Note(Event):
    """Something the recording could not see, or left out, and says so."""

    kind: ClassVar[str] = "note"
    about: NoteKind
    """What it is about; what follows from it is decided by this, never by ``text``."""
    text: str
    values: tuple[Attribute, ...] = ()
    """How many operations were left out; in the calls of which depths lines were."""


EVENTS: dict[str, type[Event]] = {
    kind.kind: kind
    for kind in (
        Operation,
        Write,
        FlagChanged,
        GradModeChanged,
        LoopVariable,
        HookChanged,
        BackwardStarted,
        NodeReady,
        NodeRan,
        NodesRan,
        HookFired,
        Accumulated,
        Freed,
        BackwardEnded,
        OptimizerStepped,
        ZeroedGrad,
        Clipped,
        SchedulerStepped,
        Unregistered,
        Refused,
        Made,
        FirstRead,
        SavedEarlier,
        WrittenEarlier,
        FreedEarlier,
        Died,
        Raised,
        Note,
    )
}
"""Every kind of event by its name."""
