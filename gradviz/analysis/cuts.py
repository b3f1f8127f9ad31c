"""Calls at which the autograd graph ends, found in a recording."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gradviz.model.calls import RecordedCall, result_of
from gradviz.model.cut_reasons import CALLS_THAT_CUT, COPIED, REASONS, WAS_FROZEN, CutReason
from gradviz.model.events import (
    BackwardEnded,
    BackwardStarted,
    Operand,
    Operation,
)
from gradviz.model.explanation import CodeLine
from gradviz.model.history import EventPlace, History
from gradviz.model.reachability import reachable
from gradviz.model.sentence import Sentence, SentencePart, Term, listed, say

FROM_VALUES: Final = frozenset(
    {"tensor", "as_tensor", "asarray", "from_numpy", "FloatTensor", "Tensor"}
)
"""Functions that make a tensor from values, without a graph."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A call at which the graph ends."""

    reason: CutReason
    call: str
    """Name of the function."""
    place: EventPlace
    at: CodeLine | None
    tensors: tuple[str, ...] = ()
    """Ids of the tensors that were on the graph; of one without a name, of those before it."""
    node: str | None = None
    """Id of the node that made a tensor without a name."""
    made: tuple[str, ...] = ()
    """Keys of its results."""
    key: str = ""
    """Key of the result that has the values; ``""`` if they left torch."""
    operation: Operation | None = None
    """The call itself, if it is a call of torch."""
    started: BackwardStarted | None = None
    """The ``autograd.grad`` that gave a gradient without a graph."""
    wrapped: CodeLine | None = None
    """Line that made a tensor again of the value after it had left torch."""
    through: tuple[CodeLine, ...] = ()
    """Lines of Python that passed the value on, the last one first."""
    has_left: bool = False
    """Whether the value left torch later."""
    arrived: RecordedCall | None = None
    """The call of torch that got the value after it had left torch."""
    is_known: bool = True
    """Whether all lines are known that passed the value on."""
    is_state: bool = False
    """Whether it was added to a value from earlier, as to a running mean."""
    is_doubtful: bool = False
    """Whether its result required grad later: a custom Function connected it, or it became a
    leaf of its own."""

    @property
    def step(self) -> int:
        """Step at which it ran."""
        return self.place[0]

    @property
    def event(self) -> Operation | BackwardStarted | None:
        """The call itself, if it was recorded."""
        return self.operation or self.started

    @property
    def result(self) -> Operand | None:
        """The result that has the values."""
        return None if self.operation is None else result_of(self.operation, self.key)

    @property
    def module(self) -> str | None:
        """Path of the innermost module that called it."""
        return None if self.operation is None else self.operation.module

    @property
    def of_list(self) -> bool:
        """Whether the call was given a list of tensors."""
        inputs = () if self.operation is None else self.operation.inputs[:1]
        return any(operand.is_sequence for operand in inputs)


class Cuts:
    """The cuts in a recording.

    Args:
        history: The recording.
        until: The last step that counts.
    """

    def __init__(self, history: History, until: int) -> None:
        self._history = history
        self._until = until
        self._by_call: dict[tuple[EventPlace, str], Cut] = {}
        ended = {event.number: step for step, event in history.events(BackwardEnded, until)}
        self._given = {
            ended[event.number]: event
            for _, event in reversed([*history.events(BackwardStarted, until)])
            if event.number in ended and not event.accumulates and not event.create_graph
        }
        """The first ``autograd.grad`` of each step that gave gradients without a graph."""

    def by_call(self, call: RecordedCall, key: str) -> Cut:
        """The cut that a call made: one of its results has no graph, or the value left torch."""
        if (call.place, key) not in self._by_call:
            self._by_call[call.place, key] = self._made_by(call, key)
        return self._by_call[call.place, key]

    def _made_by(self, call: RecordedCall, key: str) -> Cut:
        tensors, node = self._sources(call)
        line = self._history.line(call.place)
        made, operation = call.made, call.operation
        reason = _reason(call, key)
        return Cut(reason, call.name, call.place, line, tensors, node, made, key, operation)

    def _sources(self, call: RecordedCall) -> tuple[tuple[str, ...], str | None]:
        """Known tensors that required grad, or from which its inputs were computed, and the last
        node between."""
        node: str | None = None

        def before(key: str) -> Iterable[str]:
            nonlocal node
            made = None if key.startswith("t") else self._history.makers.get(key)
            if made is None:
                return ()
            node = node or made[1].node
            return reversed(made[1].required)

        required = () if call.operation is None else call.operation.required
        taken = [key for key in required if key in call.reads or not call.reads]
        found = reachable(reversed(taken), before)
        return tuple(key for key in found if key.startswith("t")), node

    def by_flag(self, key: str, step: int) -> Cut | None:
        """The line that set ``requires_grad`` to ``False``, if that still holds at a step."""
        off = self._history.switched_off(key, step)
        if off is None:
            return None
        line = self._history.line(off)
        return Cut("requires_grad", "requires_grad", (off[0], 0), line, (key,), key=key)

    def by_gradient(self, born: int) -> Cut | None:
        """The line whose ``autograd.grad`` gave a gradient without a graph."""
        started = self._given.get(born)
        if started is None:
            return None
        line = self._history.line(born)
        return Cut("create_graph", "grad", (born, 0), line, started=started)


def _reason(call: RecordedCall, key: str) -> CutReason:
    """Why a result has no graph."""
    reason = "" if call.operation is None else call.operation.reason
    known = next((one for one in CALLS_THAT_CUT if one == reason), None)
    result = None if call.operation is None else result_of(call.operation, key)
    has_none = result is not None and has_no_gradient(result.dtype or "")
    return known or ("not differentiable" if has_none else "unknown")


def has_no_gradient(dtype: str) -> bool:
    """Whether a dtype is an integer or boolean one, which has no gradient."""
    return dtype.startswith(("int", "uint", "bool"))


# --- words -----------------------------------------------------------------------------------


def tensors_of(cut: Cut, history: History, step: int) -> Sentence:
    """The input tensors of a cut that have names, ``""`` if none has one."""
    named = [key for key in cut.tensors if history.name(key, step)]
    return listed([history.tensor_term(key, step) for key in named])


def called(name: str) -> str:
    """A function as it is called: ``detach()``, ``.data``, ``requires_grad = False``."""
    attributes = {"data": ".data", "requires_grad": "requires_grad = False"}
    return attributes.get(name, f"{name.strip('_') if name.startswith('__') else name}()")


def cut_words(cut: Cut, of: SentencePart | None = None, where: SentencePart = "") -> Sentence:
    """What a cut did, in a sentence.

    Args:
        cut: The cut.
        of: The names of its input tensors; ``None`` if the sentence has named them already.
        where: ``" in line 4"``, or ``""``.

    Examples:
        >>> cut_words(Cut("detach", "detach", (3, 0), None), "h", " in line 3")
        'detach() in line 3 cut off the value of h'
    """
    value: SentencePart = "it" if of is None else "a value"
    if of:
        value = say("the value of {}" if cut.node is None else "a value computed from {}", of)
    it = of if of and cut.node is None else value
    return say(
        _template(cut),
        call=Sentence(called(cut.call), where),
        value=value,
        off="it off" if of is None else say("off {}", value),
        it=it,
        of="" if of is None else say(" of {}", it),
        on="" if of is None else say(" on {}", it),
        owner="" if of is None else say("{}.", of or "a tensor"),
        gradient="a gradient" if of is None else "it",
        dtype=(cut.result and cut.result.dtype) or "integer",
        where=where,
        after=_what_came_of(cut),
        left=_what_came_of(cut) if cut.has_left else "",
    )


def _template(cut: Cut) -> str:
    if cut.reason == "left torch" and cut.key:
        return COPIED
    if cut.reason == "requires_grad" and cut.call != "requires_grad":
        return WAS_FROZEN
    return REASONS[cut.reason].did


def _what_came_of(cut: Cut) -> Sentence:
    """``, so h has no graph``."""
    if cut.has_left:
        return Sentence(", and it left torch")
    result = cut.result
    if result is None or result.tensor is None:
        return Sentence("")
    return say(", so {} has no graph", Term(result.tensor, result.text))
