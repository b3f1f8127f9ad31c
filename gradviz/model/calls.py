"""Calls of torch in a recording, in order, each with what went in and what came out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gradviz.model.events import Operand, Operation, Write

if TYPE_CHECKING:
    from gradviz.model.history import EventPlace, History

_SHAPES_ONLY: Final = frozenset(
    {"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like"}
    | {"randint_like"}
)
"""Calls whose results have nothing of the numbers that went in, as those of ``new_zeros``."""
_OF_THE_FIRST: Final = frozenset({"expand_as", "view_as", "reshape_as", "type_as"})
"""Calls that take the shape or the dtype of their second operand."""
_OVERWRITES: Final = frozenset({"copy_", "zero_", "fill_", "normal_", "uniform_", "set_"})
"""Calls after which nothing is left of what stood in the tensor that they write."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call of torch, or what a write in place did to one more tensor."""

    name: str
    place: EventPlace
    reads: tuple[str, ...]
    """Keys of the tensor objects whose numbers its results have."""
    made: tuple[str, ...]
    """Keys of what it gave, or has written."""
    operation: Operation | None = None
    """The event of the call; ``None`` if the recording has the write alone."""

    @property
    def step(self) -> int:
        """Step at which it ran."""
        return self.place[0]

    @property
    def required(self) -> frozenset[str]:
        """Those of ``reads`` that required grad."""
        required = () if self.operation is None else self.operation.required
        return frozenset(required).intersection(self.reads)

    @property
    def recorded(self) -> bool | None:
        """Whether the result has a node; ``None`` if it is not known."""
        return None if self.operation is None else self.operation.recorded

    def keeps_graph_of(self, key: str) -> bool:
        """Whether it wrote a tensor that requires grad without being recorded: the tensor hangs
        on the graph as before."""
        operation = self.operation
        is_written = operation is not None and key in operation.required
        return is_written and not self.recorded and self.name != "detach_"

    @property
    def is_recomputed(self) -> bool:
        """Whether it ran inside backward."""
        return self.operation is not None and self.operation.recomputed


def result_of(operation: Operation, key: str) -> Operand | None:
    """What is known of a result of a call, by its key."""
    return dict(zip(operation.made, operation.outputs)).get(key)


def calls_of(history: History) -> Iterator[RecordedCall]:
    """All calls of a recording."""
    for step, facts in enumerate(history.recording.records):
        for at, event in enumerate(facts.events):
            place = step, at
            if isinstance(event, Operation):
                yield RecordedCall(event.name, place, _numbers_of(event), event.made, event)
            elif isinstance(event, Write) and event.reads and event.agent != "assignment":
                # The result of the call is in the event of its operation, which follows.
                own = history.call_of(place, event)
                given = () if own is None else own.made
                changed = dict.fromkeys((*event.made, *event.tensors))
                made = tuple(key for key in changed if key not in given)
                if made:
                    yield RecordedCall(event.by, place, event.reads, made, own)


def _numbers_of(event: Operation) -> tuple[str, ...]:
    """Those of what went in whose numbers came out."""
    if event.name in _SHAPES_ONLY or event.name.startswith("new_"):
        return ()
    if event.name in _OF_THE_FIRST:
        return event.reads[:1]
    return event.reads[1:] if event.name in _OVERWRITES else event.reads
