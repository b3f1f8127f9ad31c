"""Calls of torch in a recording, in order, each with what went in and what came out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gradviz.model.events import HIDES_CALLS, Event, Note, Operation, Write
from gradviz.model.explanation import CodeLine
from gradviz.model.recording import Recording, Step

SHAPES_ONLY: Final = ("zeros_like", "ones_like", "empty_like", "full_like", "rand_like")
"""Calls whose results have nothing of the numbers that went in."""
_NEW: Final = ("new_", "randn_like", "randint_like")
_OVERWRITES: Final = ("copy_", "zero_", "fill_", "normal_", "uniform_", "set_")
"""Calls after which nothing is left of what stood in the tensor that they write."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of torch."""

    name: str
    reads: tuple[str, ...]
    """Keys of tensor objects."""
    made: tuple[str, ...]
    required: frozenset[str]
    """Those of ``reads`` that required grad."""
    recorded: bool | None
    """Whether the result hangs on the graph; ``None`` if the recording does not tell."""
    reason: str
    node: str | None
    dtypes: tuple[str, ...]
    """dtype of each result."""
    names: tuple[str, ...]
    """Name of each result, ``""`` if it got none."""
    module: str | None
    at: CodeLine
    number: int
    """Place among all calls."""

    def dtype_of(self, key: str) -> str:
        """dtype of a result, ``""`` if it is not known."""
        return dict(zip(self.made, self.dtypes)).get(key, "")


def calls_of(recording: Recording) -> tuple[list[Call], Note | None]:
    """All calls of the forward; and what the recording says of calls that it has left out."""
    calls: list[Call] = []
    missing: Note | None = None
    for step in recording.steps:
        at = line_of(step)
        events = step.events
        for place, event in enumerate(events):
            if isinstance(event, Note) and event.about in HIDES_CALLS:
                missing = missing or event
            for call in _call(event, events[place + 1 :], at):
                calls.append(replace(call, number=len(calls)))
    return calls, missing


def _call(event: Event, following: tuple[Event, ...], at: CodeLine) -> Iterator[Call]:
    if isinstance(event, Operation):
        if event.recomputed or event.name in SHAPES_ONLY or event.name.startswith(_NEW):
            return
        yield Call(
            event.name,
            event.reads[1:] if event.name in _OVERWRITES else event.reads,
            event.made,
            frozenset(event.required),
            event.recorded,
            event.reason,
            event.node,
            tuple(operand.dtype or "" for operand in event.outputs),
            tuple(operand.text if operand.tensor is not None else "" for operand in event.outputs),
            event.module,
            at,
            0,
        )
    elif isinstance(event, Write) and event.reads and event.by != "an assignment to .data":
        # A write is followed by its operation, if that gave something back.
        changed = dict.fromkeys((*event.made, *event.tensors))
        own = next((e for e in following if isinstance(e, Operation)), None)
        if own is not None and own.name == event.by and own.reads == event.reads:
            made = tuple(key for key in changed if key not in own.made)
            for call in _call(own, (), at) if made else ():
                yield replace(call, made=made, reads=own.reads, dtypes=(), names=())
        else:
            nothing: frozenset[str] = frozenset()
            yield Call(
                event.by,
                event.reads,
                tuple(changed),
                nothing,
                None,
                "",
                None,
                (),
                (),
                None,
                at,
                0,
            )


def line_of(step: Step) -> CodeLine:
    """Where the line of a step stands, and its text."""
    code = step.code
    text = ""
    if code is not None and step.line is not None:
        lines = code.text.splitlines()
        place = step.line - code.first_line
        text = lines[place].strip() if 0 <= place < len(lines) else ""
    return CodeLine(step.line, text, "" if code is None else code.name, step.index)
