"""Many moments of an autograd graph: what a recording of some code saw, step by step."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast, overload

from gradviz.model.arguments import flag
from gradviz.model.errors import UnknownNodeError
from gradviz.model.events import Event, NodeRan, NodesRan, Note
from gradviz.model.explanation import Explanation
from gradviz.model.fold_runs import FoldRun
from gradviz.model.folding import FoldedSteps
from gradviz.model.formatting import plural
from gradviz.model.graph import Graph
from gradviz.model.once import Once
from gradviz.model.presentation import Displayed, in_use
from gradviz.model.progress import working
from gradviz.model.records import ModuleInfo, Node, TensorInfo
from gradviz.model.step_numbers import StepNumbers
from gradviz.model.turns import Head, Turn

if TYPE_CHECKING:
    from gradviz.model.history import History

StepKind: TypeAlias = Literal[
    "start",
    "line",
    "backward",
    "node",
    "saved",
    "hook",
    "accumulate",
    "freed",
    "counted",
    "error",
    "end",
]
"""What happened. ``"counted"``: many steps, in the middle of a recording that is longer than its
budget; the lines that follow with :attr:`StepRecord.times` say what each of them did."""
RecordingKind: TypeAlias = Literal["whole", "post-mortem"]
"""``"whole"``: everything from the first line on; ``"post-mortem"``: the one moment after an error
in code that was not recorded."""
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Code:
    """Source text that steps point into."""

    name: str
    """``"cell"``, or the file's name and the function: ``"model.py: forward"``."""
    first_line: int
    """Number of the first line of ``text``."""
    text: str
    """The lines; empty if the source is not known."""
    imports: tuple[str, ...] = ()
    """Of a function in a file: the names that imports at the top of the file bind."""

    def has(self, number: int) -> bool:
        """Whether a line with this number is part of it."""
        return self.first_line <= number <= self.first_line + self.text.count("\n")

    def line(self, number: int) -> str:
        """A line without indentation, ``""`` if it is not known."""
        return self.text.split("\n")[number - self.first_line].strip() if self.has(number) else ""


@dataclass(frozen=True, slots=True)
class RowChanges:
    """What differs from the step before: whole rows, ``None`` where one ceased to exist."""

    nodes: tuple[tuple[str, Node | None], ...] = ()
    tensors: tuple[tuple[str, TensorInfo | None], ...] = ()
    roots: tuple[tuple[str, int], ...] | None = None
    """Roots of the graph, if they have changed."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step as it is stored; :class:`Step` is what is handed out."""

    kind: StepKind
    level: int
    line: int | None
    code: int
    """Place in ``recording.codes`` of the source that ``line`` belongs to."""
    node: str | None
    events: tuple[Event, ...]
    changes: RowChanges
    saved_bytes: int
    """Bytes kept alive by saved tensors, each storage counted once."""
    memory: int | None
    """CUDA: ``torch.cuda.memory_allocated``; CPU: bytes of live storages the recording knows."""
    backward: int | None = None
    """Number of the backward that runs, in steps inside one."""
    seconds: float | None = field(default=None, compare=False)
    """Time a node took, host time; never stored or compared."""
    depth: int = 0
    """How many calls of functions whose lines are recorded too it is inside of."""
    times: int | None = None
    """How many steps it stands for, in the middle of a recording that is longer than its budget;
    ``None`` for a step that is recorded as it was. The graph after any of them is that after all
    of them."""


class Step:
    """One moment of a recording: after a line has run, or a node, or a part of one.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     out = a * a
        ...     out.backward()
        >>> step = recording[-1]
        >>> step.number, step.tensors[0].name, step.graph["n0"].state
        (5, 'a', 'freed')
    """

    __slots__ = ("_recording", "index", "record")

    def __init__(self, recording: Recording, index: int) -> None:
        self._recording = recording
        self.index: int = index
        """Place in ``recording.all_steps``, from 0; sub-steps count."""
        self.record: StepRecord = recording.records[index]
        """The step as it is stored."""

    @property
    def number(self) -> int | str:
        """The number that the player and all texts show: ``7``, of a sub-step ``"7.3"``.

        ``recording[number]`` is the step.
        """
        return self._recording.numbers.number(self.index)

    @property
    def kind(self) -> StepKind:
        """``"line"``, ``"node"``, …: what happened."""
        return self.record.kind

    @property
    def level(self) -> int:
        """0 for lines, 1 for nodes inside backward, 2 for what happens inside a node."""
        return self.record.level

    @property
    def inside(self) -> tuple[Step, ...]:
        """The sub-steps directly inside it: parts of a node, lines of functions it has called."""
        inside = enumerate(self._recording.numbers.containers)
        return tuple(Step(self._recording, at) for at, step in inside if step == self.index)

    @property
    def line(self) -> int | None:
        """Number of the line that has just run (or, inside backward, runs)."""
        return self.record.line

    @property
    def code(self) -> Code | None:
        """Source that ``line`` belongs to."""
        codes = self._recording.codes
        return codes[self.record.code] if 0 <= self.record.code < len(codes) else None

    @property
    def times(self) -> int | None:
        """How many steps it stands for; ``None`` for a step that is recorded as it was."""
        return self.record.times

    @property
    def node(self) -> str | None:
        """Id of the node that has just run, inside backward."""
        return self.record.node

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened since the step before."""
        return self.record.events

    @property
    def saved_bytes(self) -> int:
        """Bytes kept alive by saved tensors, each storage counted once."""
        return self.record.saved_bytes

    @property
    def memory(self) -> int | None:
        """CUDA: ``memory_allocated()``; CPU: bytes of live storages the recording knows."""
        return self.record.memory

    @property
    def explanation(self) -> Explanation | None:
        """Why an error was raised at this step, or what goes wrong here in silence."""
        found = self._recording.explanations
        return next((one for one in found if one.step == self.index and one.is_fault), None)

    @property
    def graph(self) -> Graph:
        """The autograd graph as of this step; ids are those of the whole recording."""
        return self._recording.graph_at(self.index)

    @property
    def tensors(self) -> tuple[TensorInfo, ...]:
        """Known tensors that are alive at this step."""
        return self.graph.tensors

    @property
    def caption(self) -> str:
        """What happened, in one short sentence, as the player says it."""
        return self._recording.caption(self.index)

    @property
    def details(self) -> str:
        """All that is known of it, as the player says it behind "more"."""
        return self._recording.details(self.index)

    def __repr__(self) -> str:
        where = f" line {self.line}" if self.line is not None else ""
        return f"<Step {self.number} {self.kind}{where}: {self.caption}>"


class AllSteps(Sequence[Step]):
    """The steps and sub-steps of a recording, each made on access."""

    __slots__ = ("_recording",)

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def __len__(self) -> int:
        return len(self._recording.records)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        if isinstance(index, slice):
            return tuple(Step(self._recording, i) for i in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(f"place {index} among {len(self)} steps and sub-steps")
        return Step(self._recording, index % len(self))

    def __iter__(self) -> Iterator[Step]:
        return (Step(self._recording, i) for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} steps and sub-steps>"


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What a recording holds."""

    records: tuple[StepRecord, ...]
    codes: tuple[Code, ...] = ()
    device: str | None = None
    label: str = ""
    kind: RecordingKind = "whole"
    modules: tuple[ModuleInfo, ...] = ()
    order: tuple[str, ...] | None = None
    values_left_out: bool = False


_NOTHING: Final = _Recorded((StepRecord("start", 0, None, 0, None, (), RowChanges(), 0, None),))
"""What is recorded before any code has run."""


class Recording(Displayed):
    """What a recording of some code saw: immutable, comparable, printable, no tensor in it.

    ``recording[7]`` is the step that the player calls step 7, ``recording["7.3"]`` the third
    sub-step inside it, ``recording[0]`` the state before the first line and ``recording[-1]`` the
    last step. ``len(recording)`` is the number of steps, and ``for step in recording`` goes from
    step 1 to the last.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     out = a * 3
        ...     out.backward()
        >>> recording.backward_order
        ('n0', 'n1')
        >>> len(recording), [step.kind for step in recording]
        (5, ['line', 'backward', 'node', 'node', 'line'])
        >>> recording["backward"].number, recording["MulBackward0"].number
        (2, 3)
        >>> gradviz.Recording.from_json(recording.to_json()) == recording
        True
    """

    __slots__ = ("_made", "_recorded")

    def __init__(
        self,
        records: Sequence[StepRecord],
        codes: Sequence[Code] = (),
        device: str | None = None,
        label: str = "",
        kind: RecordingKind = "whole",
        modules: Sequence[ModuleInfo] = (),
        order: Sequence[str] | None = None,
        values_left_out: bool = False,
    ) -> None:
        self._made: dict[str, Any] = {}
        """Results that are computed at their first use."""
        self._recorded = Once(_NOTHING)
        made = None if order is None else tuple(order)
        rows = tuple(records), tuple(codes)
        self._recorded.put(
            _Recorded(*rows, device, label, kind, tuple(modules), made, values_left_out)
        )

    @classmethod
    def empty(cls) -> Recording:
        """A recording of nothing: one step, before any code has run."""
        return cls(_NOTHING.records)

    @classmethod
    def pending(cls) -> tuple[Recording, Callable[[Recording], None]]:
        """A recording that is empty until its code has ended, and a function that completes it.

        The function takes the recording that is read from then on. It can be called once; a
        second call is a ``RuntimeError``.
        """
        recording = cls.empty()
        recording._recorded = once = Once(_NOTHING)
        return recording, lambda found: once.put(found._recorded.value)

    @property
    def records(self) -> tuple[StepRecord, ...]:
        """The steps as they are stored."""
        return self._recorded.value.records

    @property
    def codes(self) -> tuple[Code, ...]:
        """Source texts that the steps point into; the first is the recorded code itself."""
        return self._recorded.value.codes

    @property
    def device(self) -> str | None:
        """The one device all tensors are on, ``None`` if they are on several."""
        return self._recorded.value.device

    @property
    def label(self) -> str:
        """What was recorded: ``"cell [3]"``, ``"train.py"``."""
        return self._recorded.value.label

    @property
    def kind(self) -> RecordingKind:
        """Whether the code was recorded, or only what was left when it had raised."""
        return self._recorded.value.kind

    @property
    def modules(self) -> tuple[ModuleInfo, ...]:
        """The modules that were called, in the order of their first calls."""
        return self._recorded.value.modules

    @property
    def order(self) -> tuple[str, ...] | None:
        """Ids of all nodes but leaves in the order in which they were made; ``None`` where that is
        as the edges let one expect, or not known. See :attr:`Graph.order`."""
        return self._recorded.value.order

    @property
    def values_left_out(self) -> bool:
        """Whether the numbers of tensors were taken out, as ``save(values=False)`` does."""
        return self._recorded.value.values_left_out

    @property
    def all_steps(self) -> AllSteps:
        """All steps and sub-steps in the order in which they happened, by :attr:`Step.index`; the
        first, of kind ``"start"``, is the state before the code ran."""
        return AllSteps(self)

    @property
    def numbers(self) -> StepNumbers:
        """The number of each step and sub-step."""
        return self._kept("numbers", lambda: StepNumbers(self.records))

    @property
    def counted(self) -> int:
        """How many steps and sub-steps are counted, not listed one by one: 0 unless the recording
        is longer than its budget. :attr:`Step.times` is set where steps stand for them."""
        notes = (event for step in self.records for event in step.events if isinstance(event, Note))
        return sum(
            sum(value for value in note.values if isinstance(value, int))
            for note in notes
            if note.about == "steps counted"
        )

    @property
    def at_error(self) -> Step | None:
        """The step at which an exception left the code, ``None`` if none did."""
        steps = (Step(self, at) for at in range(len(self.records) - 1, -1, -1))
        return next((step for step in steps if self.records[step.index].kind == "error"), None)

    @property
    def explanations(self) -> tuple[Explanation, ...]:
        """Errors that were raised and gradients that are wrong in silence, in the order of the
        steps at which they were noticed; then what is worth a look, in that order. See
        :class:`Explanation`."""
        return self._kept("explanations", lambda: in_use().explanations(self))

    @property
    def fold_runs(self) -> tuple[FoldRun, ...]:
        """Of backwards that run many nodes, the steps that run the nodes of one fold; a run before
        those inside it."""
        return self._kept("fold_runs", lambda: in_use().fold_runs(self))

    @property
    def folded_steps(self) -> FoldedSteps | None:
        """The folds of :attr:`graph` with their totals at every step; ``None`` where no more than
        40 nodes exist at any step, which are shown as they are."""
        return self._kept("folded_steps", lambda: in_use().folded_steps(self))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Turns of the loops that ran, with the steps that belong to each."""
        return self._kept("turns", lambda: in_use().turns(self))

    @property
    def heads(self) -> dict[int, Head]:
        """Runs of the heads of loops and ``with`` blocks, by :attr:`Step.index`."""
        return self._kept("heads", lambda: {head.step: head for head in in_use().heads(self)})

    @property
    def history(self) -> History:
        """What was written, read, made and freed, and when; see
        :class:`~gradviz.model.history.History`."""
        from gradviz.model.history import History

        return self._kept("history", lambda: History(self))

    def _kept(self, name: str, make: Callable[[], Made]) -> Made:
        """What is made of a complete recording is made once."""
        if name in self._made:
            return cast("Made", self._made[name])
        is_complete = self._recorded.is_put  # read first: another thread may complete it meanwhile
        made = make()
        if is_complete:
            self._made[name] = made
        return made

    @property
    def explanation(self) -> Explanation | None:
        """That of the error which left the code; else the first of all that is certain, ``None``
        if there is none."""
        error = self.at_error
        faults = [one for one in self.explanations if one.is_fault]
        at_end = [e for e in faults if error is not None and e.step == error.index]
        return next(iter((*at_end, *faults)), None)

    @property
    def backward_order(self) -> tuple[str, ...]:
        """Ids of nodes in the order in which the engine ran them, over all backwards."""
        events = (event for step in self.records for event in step.events)
        return tuple(node for event in events for node in _that_ran(event))

    def graph_at(self, index: int) -> Graph:
        """The graph as of the step with this :attr:`Step.index`; the last graphs that were used
        are kept."""
        graphs = self._kept("graphs", lambda: lru_cache(maxsize=256)(self._graph_at))
        return graphs(self._checked(index))

    def _checked(self, index: int) -> int:
        """An index of a step, from the end if negative."""
        places = range(len(self.records))
        try:
            return places[operator.index(index)]
        except (IndexError, TypeError):
            raise UnknownNodeError(
                f"index={index!r}: the steps of this recording have the indices 0 to "
                f"{len(places) - 1}; the step with a number, or of a line, has one: "
                "recording['line:5'].index"
            ) from None

    def _graph_at(self, index: int) -> Graph:
        history = self.history
        nodes = tuple(history.nodes_at(index))
        roots = _within(history.roots(index), nodes)
        return self._graph_of(nodes, roots, tuple(history.tensors_at(index)))

    def _graph_of(
        self,
        nodes: Sequence[Node],
        roots: Sequence[tuple[str, int]],
        tensors: Sequence[TensorInfo],
    ) -> Graph:
        made = {node.id for node in nodes if node.variable is None}
        order = None if self.order is None else [key for key in self.order if key in made]
        return Graph.of(nodes, roots, tensors, self.modules, order, self.values_left_out)

    @property
    def graph(self) -> Graph:
        """Every node and tensor that any step knows, each as it was last seen alive.

        Ids are those of the steps. Pictures of all steps are laid out for this graph, so that no
        box ever moves.
        """
        return self._kept("graph", self._union)

    def _union(self) -> Graph:
        history, last = self.history, len(self.records)
        nodes = tuple(history.nodes(last))
        roots = _within(history.all_roots, nodes)
        return self._graph_of(nodes, roots, tuple(history.tensors(last)))

    def caption(self, index: int) -> str:
        """What happened at the step with this :attr:`Step.index`, in one short sentence."""
        return in_use().caption(self, self._checked(index))

    def details(self, index: int) -> str:
        """All that is known of the step with this :attr:`Step.index`: torch's names, versions,
        saved tensors, hooks, and what happened inside it."""
        return in_use().details(self, self._checked(index))

    def outline(self, full: bool = False) -> str:
        """The recording as text: what ``print`` writes, a short sentence for each step.

        Args:
            full: Whether it has every fact of every step and sub-step: all captions in detail, and
                what changed in nodes, saved tensors, versions and ``.grad``. Notebooks store this
                text beside the picture.

        Raises:
            OptionError: If ``full`` is neither ``True`` nor ``False``.
        """
        return in_use().outline(self) if flag("full", full) else in_use().text(self)

    def __len__(self) -> int:
        """How many steps there are: the number of the last one."""
        return self.numbers.count

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Step]:
        """The steps from 1 on, without sub-steps."""
        paths = enumerate(self.numbers.paths)
        return (Step(self, at) for at, path in paths if len(path) == 1 and path[0])

    def __getitem__(self, address: int | str) -> Step:
        """The step with a number, or at a place in the program.

        Args:
            address: ``7``, from the end if negative; ``"7.3"`` for a sub-step; ``"line:5"`` for
                the step at which line 5 has run; ``"backward"`` for the first step of a backward;
                ``"error"``; the name or id of a node for the step at which it ran. ``"line:5:2"``,
                ``"backward:2"`` and ``"MulBackward0:2"`` are the second ones.

        Raises:
            UnknownNodeError: If there is no such step; the message lists what there is.
        """
        from gradviz.model.step_address import place_of

        return Step(self, place_of(self, address))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recording):
            return NotImplemented
        return self._recorded.value == other._recorded.value

    def __hash__(self) -> int:
        return hash((self.codes, len(self.records), self.backward_order))

    def __repr__(self) -> str:
        return f"<Recording of {self.label or 'code'}: {plural(len(self), 'step')}>"

    def to_json(self) -> str:
        """The recording as JSON text, the same bytes for the same recording."""
        from gradviz.model.serialization.recording import write

        with working("to_json"):
            return write(self)

    @classmethod
    def from_json(cls, text: str) -> Recording:
        """Read what :meth:`to_json` wrote.

        Raises:
            DocumentError: If the text is not JSON, not a gradviz recording of this format, or
                damaged; the message says where: ``steps[3].events[0].node: …``.
        """
        from gradviz.model.serialization.recording import read

        with working("from_json"):
            return read(text)

    def __reduce__(self) -> tuple[Callable[[str], Recording], tuple[str]]:
        return Recording.from_json, (self.to_json(),)


def _that_ran(event: Event) -> Iterable[str]:
    if isinstance(event, NodesRan):
        return (node for _, node in event.of_backwards())
    return (event.node,) if isinstance(event, NodeRan) else ()


def _within(roots: Iterable[tuple[str, int]], nodes: Sequence[Node]) -> tuple[tuple[str, int], ...]:
    """Roots that are outputs of these nodes."""
    known = {node.id for node in nodes}
    return tuple(root for root in roots if root[0] in known)
