"""Why the autograd graph ends at a call: one word per reason, and its sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gradviz.model.audit import NoGradient

CutReason: TypeAlias = Literal[
    "detach",
    ".data",
    "no_grad",
    "inference mode",
    "custom Function",
    "not differentiable",
    "left torch",
    "requires_grad",
    "create_graph",
    "unknown",
]
"""Why the graph ends: as :data:`~gradviz.model.events.NotRecorded` has it for a call of torch;
``"requires_grad"`` for a flag that is ``False``, ``"create_graph"`` for a gradient that
``autograd.grad`` gave without a graph of its own."""


@dataclass(frozen=True, slots=True)
class Reason:
    """The words and sentences for a reason."""

    public: NoGradient
    """The word for it in an audit."""
    did: str
    """What such a call did: ``{call}``, its input ``{value}``, names of the input tensors
    (``{of}``, ``{on}``, ``{owner}``), and the consequence ``{after}`` (``{left}``: it left
    torch)."""
    why: str
    """Why the graph ends there."""
    short: str = ""
    """The same in a caption."""
    call: str = "{name}"
    """The call on a card and in a caption."""
    where: str = ""
    """What follows the call on a card."""


REASONS: Final[Mapping[str, Reason]] = {
    "detach": Reason(
        "detached",
        "{call} cut {off}{after}",
        "detach() returns the same values outside the graph",
        "the graph ends here",
        "detach()",
    ),
    ".data": Reason(
        "detached",
        "{call} cut {off}{after}",
        ".data has the same values outside the graph",
        "the graph ends here",
        ".data",
    ),
    "no_grad": Reason(
        "no_grad",
        "{call} ran{on} under no_grad and was not recorded{after}",
        "while grad mode is off, as under no_grad, nothing is recorded",
        "no_grad is on",
        where=" under no_grad",
    ),
    "inference mode": Reason(
        "inference mode",
        "{call} ran{on} in inference mode and was not recorded{after}",
        "in inference mode nothing is recorded",
        "inference mode is on",
        where=" in inference mode",
    ),
    "custom Function": Reason(
        "no_grad",
        "{call} ran{on} inside the forward of a custom Function and was not recorded{after}",
        "inside the forward of a custom Function nothing is recorded: its own backward computes "
        "the gradient of the whole forward",
        "inside the forward of a custom Function, whose own backward computes the gradient",
        where=" in a custom Function",
    ),
    "not differentiable": Reason(
        "integer",
        "{call}{of} returned {dtype} values, which have no gradient{left}",
        "an operation without a derivative ends the graph",
        "there is no derivative",
        where=", no derivative",
    ),
    "left torch": Reason(
        "left torch",
        "{call} took {value} out of torch",
        "the value left torch: Python numbers, NumPy arrays and copies of them have no graph",
        "the value left torch",
        "{name}()",
    ),
    "requires_grad": Reason(
        "frozen",
        "{owner}requires_grad was set to False{where}",
        "nothing is recorded for a tensor whose requires_grad is False",
        "requires_grad is False",
    ),
    "create_graph": Reason(
        "create_graph",
        "{call} computed {gradient} without create_graph=True{after}",
        "gradients have no graph of their own unless create_graph=True",
    ),
    "unknown": Reason(
        "unknown",
        "{call}{of} returned a tensor without a graph{after}",
        "it was computed without being recorded",
        "torch gives no reason",
    ),
}
"""Every :data:`CutReason`."""
COPIED: Final = "{call} copied {value} without the graph{after}"
"""The sentence for a call that copied values out of torch and into a new tensor."""
WAS_FROZEN: Final = "{it} did not require grad when {call} used it"
"""The sentence if the line that set ``requires_grad`` to ``False`` is not known."""
CALLS_THAT_CUT: Final[frozenset[CutReason]] = frozenset(
    {
        "detach",
        ".data",
        "no_grad",
        "inference mode",
        "custom Function",
        "not differentiable",
        "left torch",
    }
)
"""Reasons that a recording gives for a call of torch whose inputs require grad."""
