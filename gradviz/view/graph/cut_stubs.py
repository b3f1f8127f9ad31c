"""Calls that cut the graph: the rows on the card of the tensor they cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.model.cut_reasons import CALLS_THAT_CUT, REASONS
from gradviz.model.events import Event, Operand, Operation
from gradviz.view.formatting import plural
from gradviz.view.graph.card_parts import Block, Line
from gradviz.view.step_index import StepIndex
from gradviz.view.text import clean, shorten

FEW: Final = 4
"""Cuts that a card lists before it counts them."""
ROOM: Final = 36
_CUTS: Final = CALLS_THAT_CUT - {"custom Function"}


@dataclass(frozen=True, slots=True)
class CutStub:
    """One call that cut the graph."""

    tensor: str
    """Id of the tensor that it cut."""
    words: str
    """The call that cut, and what it made: ``"detach() → z"``."""


def cuts(events: tuple[Event, ...], step_index: StepIndex) -> Iterator[CutStub]:
    """Cuts that a step made: calls that were not recorded although an input requires grad.

    Those inside the forward of a custom Function cut nothing: its node leads to the inputs.
    """
    for event in events:
        if isinstance(event, Operation) and event.reason in _CUTS and not event.recomputed:
            made = {operand.tensor for operand in event.outputs}
            results = [_name(operand, step_index) for operand in event.outputs]
            call = call_words(event) + REASONS[event.reason].where
            words = f"{call} → {', '.join(results)}" if results else call
            for key in dict.fromkeys(operand.tensor for operand in event.inputs):
                info = step_index.tensors.get(key or "")
                if info is not None and info.requires_grad and key not in made:
                    yield CutStub(info.id, words)


def _name(result: Operand, step_index: StepIndex) -> str:
    """A result by the name it has at the end of the step."""
    return shorten(step_index.names.get(result.tensor or "", result.text), 14)


def call_words(event: Operation) -> str:
    """The call that cut, by its reason."""
    return REASONS[event.reason].call.format(name=shorten(clean(event.name), 18))


def blocks(found: tuple[CutStub, ...]) -> list[Block]:
    """The rows of a card for what was cut off from it."""
    made = [
        Block(
            "cut",
            (Line(shorten(cut.words, ROOM), icon="cut"),),
            css="gv-cut",
            data_id=cut.tensor,
            title=f"no gradient comes back through {cut.words}",
        )
        for cut in found[:FEW]
    ]
    if len(found) > FEW:
        text = f"… {plural(len(found) - FEW, 'more cut')}"
        made.append(Block("text", (Line(text, "gv-muted"),)))
    return made
