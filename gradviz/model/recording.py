"""Many moments of an autograd graph: what a recording of some code saw, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias, overload

from gradviz.model.errors import UnknownNodeError
from gradviz.model.events import Event, NodeRan
from gradviz.model.explanation import Explanation
from gradviz.model.facts import Node, TensorInfo
from gradviz.model.graph import Graph

if TYPE_CHECKING:
    from gradviz.model.history import History

StepKind: TypeAlias = Literal[
    "start", "line", "backward", "node", "saved", "hook", "accumulate", "freed", "error", "end"
]
RecordingKind: TypeAlias = Literal["whole", "post-mortem"]
"""``"whole"``: everything from the first line on; ``"post-mortem"``: the one moment after an error
in code that was not recorded."""
LEVELS: Final = 3
"""Level 0: lines; 1: nodes inside backward; 2: what happens inside a node."""


@dataclass(frozen=True, slots=True)
class Code:
    """Source text that steps point into."""

    name: str
    """``"cell"``, or the file's name and the function: ``"model.py: forward"``."""
    first_line: int
    """Number of the first line of ``text``."""
    text: str
    """The lines; empty if the source is not known."""

    def has(self, number: int) -> bool:
        """Whether a line with this number is part of it."""
        return self.first_line <= number <= self.first_line + self.text.count("\n")

    def line(self, number: int) -> str:
        """A line without indentation, ``""`` if it is not known."""
        return self.text.split("\n")[number - self.first_line].strip() if self.has(number) else ""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from the step before: whole rows, ``None`` where one ceased to exist."""

    nodes: tuple[tuple[str, Node | None], ...] = ()
    tensors: tuple[tuple[str, TensorInfo | None], ...] = ()
    roots: tuple[tuple[str, int], ...] | None = None
    """Roots of the graph, if they are others than before."""


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One step as it is stored; :class:`Step` is what is handed out."""

    kind: StepKind
    level: int
    line: int | None
    code: int
    """Place in ``recording.codes`` of the source that ``line`` belongs to."""
    node: str | None
    events: tuple[Event, ...]
    changes: Changes
    saved_bytes: int
    """Bytes kept alive by saved tensors, each storage counted once."""
    memory: int | None
    """CUDA: ``torch.cuda.memory_allocated``; CPU: bytes of live storages the recording knows."""
    backward: int | None = None
    """Number of the backward that runs, in steps inside one."""
    seconds: float | None = field(default=None, compare=False)
    """Time a node took, host time; never stored or compared."""


class Step:
    """One moment of a recording: after a line has run, or a node, or a part of one.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     out = a * a
        ...     out.backward()
        >>> step = recording.steps[-1]
        >>> step.tensors[0].name, step.graph["n0"].state
        ('a', 'freed')
    """

    __slots__ = ("_recording", "facts", "index")

    def __init__(self, recording: Recording, index: int) -> None:
        self._recording = recording
        self.index: int = index
        """Place in ``recording.steps``, from 0."""
        self.facts: StepFacts = recording.facts[index]
        """The step as it is stored."""

    @property
    def kind(self) -> StepKind:
        """``"line"``, ``"node"``, …: what happened."""
        return self.facts.kind

    @property
    def level(self) -> int:
        """0 for lines, 1 for nodes inside backward, 2 for what happens inside a node."""
        return self.facts.level

    @property
    def line(self) -> int | None:
        """Number of the line that has just run (or, inside backward, runs)."""
        return self.facts.line

    @property
    def code(self) -> Code | None:
        """Source that ``line`` belongs to."""
        codes = self._recording.codes
        return codes[self.facts.code] if 0 <= self.facts.code < len(codes) else None

    @property
    def node(self) -> str | None:
        """Id of the node that has just run, inside backward."""
        return self.facts.node

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened since the step before."""
        return self.facts.events

    @property
    def saved_bytes(self) -> int:
        """Bytes kept alive by saved tensors, each storage counted once."""
        return self.facts.saved_bytes

    @property
    def memory(self) -> int | None:
        """CUDA: ``memory_allocated()``; CPU: bytes of live storages the recording knows."""
        return self.facts.memory

    @property
    def explanation(self) -> Explanation | None:
        """Why an error was raised at this step, or what goes wrong here in silence."""
        found = self._recording.explanations
        return next((one for one in found if one.step == self.index), None)

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
        """A sentence that says what happened and why."""
        return self._recording.caption(self.index)

    def __repr__(self) -> str:
        where = f" line {self.line}" if self.line is not None else ""
        return f"<Step {self.index} {self.kind}{where}: {self.caption}>"


class Steps(Sequence[Step]):
    """The steps of a recording, made when asked for."""

    __slots__ = ("_recording",)

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def __len__(self) -> int:
        return len(self._recording.facts)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        if isinstance(index, slice):
            return tuple(Step(self._recording, i) for i in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(f"step {index} of a recording with {len(self)} steps")
        return Step(self._recording, index % len(self))

    def __iter__(self) -> Iterator[Step]:
        return (Step(self._recording, i) for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} steps>"


class Recording:
    """What a recording of some code saw: immutable, comparable, printable, no tensor in it.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     out = a * 3
        ...     out.backward()
        >>> recording.backward_order
        ('n0', 'n1')
        >>> gradviz.Recording.from_json(recording.to_json()) == recording
        True
    """

    __slots__ = (
        "_explanations",
        "_graphs",
        "_history",
        "_union",
        "codes",
        "device",
        "facts",
        "kind",
        "label",
    )

    _outline: ClassVar[Callable[[Recording], str] | None] = None
    _caption: ClassVar[Callable[[Recording, int], str] | None] = None
    _explain: ClassVar[Callable[[Recording], tuple[Explanation, ...]] | None] = None

    def __init__(
        self,
        facts: Sequence[StepFacts],
        codes: Sequence[Code] = (),
        device: str | None = None,
        label: str = "",
        kind: RecordingKind = "whole",
    ) -> None:
        self.facts: tuple[StepFacts, ...] = tuple(facts)
        """The steps as they are stored."""
        self.codes: tuple[Code, ...] = tuple(codes)
        """Source texts that the steps point into; the first is the recorded code itself."""
        self.device: str | None = device
        """The one device all tensors are on, ``None`` if they are on several."""
        self.label: str = label
        """What was recorded: ``"cell [3]"``, ``"train.py"``."""
        self.kind: RecordingKind = kind
        """Whether the code was recorded, or only what was left when it had raised."""
        self._union: Graph | None = None
        self._explanations: tuple[Explanation, ...] | None = None
        self._history: History | None = None
        self._graphs: Callable[[int], Graph] = lru_cache(maxsize=256)(self._graph_at)

    @classmethod
    def empty(cls) -> Recording:
        """A recording of nothing, to be filled by :meth:`become`."""
        start = StepFacts("start", 0, None, 0, None, (), Changes(), 0, None)
        return cls([start])

    def become(self, other: Recording) -> None:
        """Take over everything of another recording; a block's recording is filled at its end."""
        self.__init__(other.facts, other.codes, other.device, other.label, other.kind)  # type: ignore[misc]

    @property
    def steps(self) -> Steps:
        """All steps; the first, of kind ``"start"``, is the state before the code ran."""
        return Steps(self)

    @property
    def at_error(self) -> Step | None:
        """The step at which an exception left the code, ``None`` if none did."""
        last = len(self.facts) - 1
        return next(
            (self.steps[i] for i in range(last, -1, -1) if self.facts[i].kind == "error"), None
        )

    @property
    def history(self) -> History:
        """What was written, read, made and freed, and when; see :class:`History`."""
        if self._history is None:
            from gradviz.model.history import History

            self._history = History(self)
        return self._history

    @property
    def explanations(self) -> tuple[Explanation, ...]:
        """Errors that were raised and gradients that are wrong in silence, in the order of the
        steps at which they were noticed; see :class:`Explanation`."""
        if self._explanations is None:
            explain = Recording._explain
            self._explanations = () if explain is None else explain(self)
        return self._explanations

    @property
    def explanation(self) -> Explanation | None:
        """That of the error which left the code; else the first of all, ``None`` if there is
        none."""
        error = self.at_error
        at_end = [e for e in self.explanations if error is not None and e.step == error.index]
        return next(iter((*at_end, *self.explanations)), None)

    @property
    def backward_order(self) -> tuple[str, ...]:
        """Ids of nodes in the order in which the engine ran them, over all backwards."""
        return tuple(
            event.node for step in self.facts for event in step.events if isinstance(event, NodeRan)
        )

    def graph_at(self, index: int) -> Graph:
        """The graph as of step ``index``; the last graphs asked for are kept."""
        return self._graphs(range(len(self.facts))[index])

    @property
    def graph(self) -> Graph:
        """Every node and tensor that any step knows, each as it was last seen alive.

        Ids are those of the steps. Pictures of all steps are laid out for this graph, so that no
        box ever moves.
        """
        if self._union is None:
            history, last = self.history, len(self.facts)
            changed = (step.changes.roots or () for step in self.facts)
            roots = dict.fromkeys(root for roots in changed for root in roots)
            self._union = Graph.of(
                nodes := tuple(history.nodes(last)),
                _within(roots, nodes),
                tuple(history.tensors(last)),
            )
        return self._union

    def caption(self, index: int) -> str:
        """A sentence that says what happened at step ``index`` and why."""
        write = Recording._caption
        return self.facts[index].kind if write is None else write(self, index)

    def _graph_at(self, index: int) -> Graph:
        history = self.history
        nodes = tuple(history.nodes_at(index))
        return Graph.of(
            nodes, _within(history.roots(index), nodes), tuple(history.tensors_at(index))
        )

    def __len__(self) -> int:
        return len(self.facts)

    def __getitem__(self, index: int) -> Step:
        """The step with this number.

        Raises:
            UnknownNodeError: If there is no such step.
        """
        if not isinstance(index, int) or not -len(self) <= index < len(self):
            raise UnknownNodeError(
                f"this recording has no step {index!r}: its steps run from 0 to {len(self) - 1}"
            )
        return self.steps[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recording):
            return NotImplemented
        return (
            self.facts == other.facts
            and self.codes == other.codes
            and self.device == other.device
            and self.label == other.label
            and self.kind == other.kind
        )

    def __hash__(self) -> int:
        return hash((self.codes, len(self.facts), self.backward_order))

    def __repr__(self) -> str:
        return f"<Recording of {self.label or 'code'}: {len(self)} steps>"

    def __str__(self) -> str:
        return repr(self) if Recording._outline is None else Recording._outline(self)

    def to_json(self) -> str:
        """The recording as JSON text, the same bytes for the same recording."""
        from gradviz.model.recording_document import write

        return write(self)

    @classmethod
    def from_json(cls, text: str) -> Recording:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: If the text is not JSON or not a gradviz recording of this format.
        """
        from gradviz.model.recording_document import read

        return read(text)

    def __reduce__(self) -> tuple[Callable[[str], Recording], tuple[str]]:
        return Recording.from_json, (self.to_json(),)


def set_recording_words(
    outline: Callable[[Recording], str], caption: Callable[[Recording, int], str]
) -> None:
    """Say how ``str(recording)`` and ``step.caption`` are written; the view room calls this."""
    Recording._outline = outline
    Recording._caption = caption


def set_explain(explain: Callable[[Recording], tuple[Explanation, ...]]) -> None:
    """Say how a recording is explained; the analysis room calls this."""
    Recording._explain = explain


def _within(roots: Iterable[tuple[str, int]], nodes: Sequence[Node]) -> tuple[tuple[str, int], ...]:
    """Roots that are outputs of these nodes."""
    known = {node.id for node in nodes}
    return tuple(root for root in roots if root[0] in known)
