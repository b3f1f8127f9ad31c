"""Where the numbers of a parameter went in a recording, and which call cut them off from a loss.

NOTE [Cut by elimination]
What is cut and what is not is decided by the graph, not here: this is only asked for parameters
that the graph of the loss does not lead to. If their numbers came into the loss all the same, one
of the calls on the way was not recorded by autograd, and it is that call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gradviz.analysis.auditing.calls import Call, calls_of
from gradviz.model.auditing import NoGradient
from gradviz.model.recording import Recording

_REASONS: dict[str, NoGradient] = {
    "detach": "detached",
    ".data": "detached",
    "no_grad": "no_grad",
    "inference mode": "inference mode",
    "not differentiable": "integer",
    "left torch": "left torch",
}


@dataclass(frozen=True, slots=True)
class Cut:
    """A call behind which no gradient comes back."""

    reason: NoGradient
    call: Call
    made: str
    """Key of what it gave."""
    is_doubtful: bool = False
    """Whether its result required grad later: a custom Function connected it, or it became a
    leaf of its own."""


@dataclass(slots=True)
class _State:
    """What a tensor object has of a parameter."""

    is_live: bool = False
    """Whether it hangs on the parameter's graph."""
    maker: Call | None = None
    several: Call | None = None
    """The first call on the way that gave several results."""
    cuts: dict[Cut, None] = field(default_factory=dict)


@dataclass(slots=True)
class Trace:
    """Where a parameter went."""

    uses: list[Call] = field(default_factory=list)
    """Calls that took the parameter itself."""
    exits: list[Call] = field(default_factory=list)
    """Calls that took its numbers, or what came of them, out of torch."""
    cuts: list[Cut] = field(default_factory=list)
    """Cuts whose results came into the loss, in the order in which they ran."""
    is_sure: bool = False
    """Whether they are cuts; else one of them is, and the others may be."""
    is_live: bool = False
    """Whether they came in by calls that were all recorded."""
    several: Call | None = None
    """The first of these that gave several results: not each need hang on all that it took."""


class Flow:
    """The calls of a recording, to be asked about parameters.

    Args:
        recording: What is looked into.
        losses: Keys of the tensors backward starts from.
    """

    def __init__(self, recording: Recording, losses: Sequence[str]) -> None:
        self.calls, self.missing = calls_of(recording)
        self._losses = losses
        self._leaves = {
            info.id for info in recording.graph.tensors if info.requires_grad and info.is_leaf
        }
        self._nodes = _nodes_of(recording)
        self._users: dict[str, list[str]] = {}
        for edge in recording.graph.edges:
            self._users.setdefault(edge.target, []).append(edge.source)
        hanging = {key for call in self.calls for key in call.required} - self._leaves
        self.sees_all = not self.missing and hanging.isdisjoint(self._origins())
        """Whether every way into the loss was seen: nothing that came in hangs on a graph of
        which the recording has not seen the call."""

    def _origins(self) -> Iterator[str]:
        """What came into the loss without being made by a call that was seen."""
        wanted = set(self._losses)
        for call in reversed(self.calls):
            if wanted.intersection(call.made):
                # In place, what goes in is wanted from before too.
                wanted.difference_update(set(call.made) - set(call.reads))
                wanted.update(call.reads)
        yield from wanted

    def on_the_way(self, cut: Cut) -> Iterator[Call]:
        """The first calls with a node that took what a cut gave, or what came of that."""
        keys = {cut.made}
        for call in self.calls[cut.call.number + 1 :]:
            if keys.intersection(call.reads):
                if call.node is not None:
                    yield call
                else:
                    keys.update(call.made)

    def trace(self, parameter: str) -> Trace:
        """Follow a parameter through all calls."""
        states: dict[str, _State] = {parameter: _State(is_live=True)}
        trace = Trace()
        leading = self._leading_to(parameter)
        for call in self.calls:
            sources = [key for key in dict.fromkeys(call.reads) if key in states]
            if parameter in sources:
                trace.uses.append(call)
            if not sources:
                for key in call.made:
                    states.pop(key, None)  # written over
                continue
            arrived = [self._arrive(states[key], key, call, parameter, leading) for key in sources]
            if not call.made and call.reason:
                trace.exits.append(call)
            for key in call.made:
                states[key] = _leave(arrived, call, key)
        self._finish(trace, [states[key] for key in self._losses if key in states])
        return trace

    def _leading_to(self, parameter: str) -> set[str]:
        """Nodes of the recording whose graph leads to a parameter."""
        todo = list(self._nodes.get(parameter, ()))
        found = set(todo)
        while todo:
            new = set(self._users.get(todo.pop(), ())) - found
            found |= new
            todo += new
        return found

    def _arrive(
        self, state: _State, key: str, call: Call, parameter: str, leading: set[str]
    ) -> _State:
        """What a tensor brings into a call."""
        if call.recorded is None:
            return state
        if state.is_live and key not in call.required:
            # It does not require grad after all: an output without a gradient, or it is frozen.
            maker = state.maker
            if maker is None:
                cut = Cut("frozen", call, parameter)
            else:
                cut = Cut(_reason(maker, key), maker, key)
            return _State(False, maker, cuts={**state.cuts, cut: None})
        is_unrecorded = state.maker is not None and state.maker.recorded is False
        if not is_unrecorded or key not in call.required or key in self._leaves:
            return state
        # It requires grad though no call recorded it: a custom Function made it.
        nodes = self._nodes.get(key, set())
        if len(nodes) == 1:  # and the graph tells what the Function is connected with
            return _State(True, state.maker) if nodes <= leading else state
        doubtful = {Cut(c.reason, c.call, c.made, True): None for c in state.cuts}
        return _State(True, state.maker, cuts=doubtful)

    def _finish(self, trace: Trace, states: Sequence[_State]) -> None:
        found = dict.fromkeys(cut for state in states for cut in state.cuts)
        sure = [cut for cut in found if not cut.is_doubtful]
        trace.is_live = any(state.is_live for state in states) and not found
        trace.several = next((s.several for s in states if s.is_live and s.several), None)
        trace.cuts = sorted(sure or found, key=lambda cut: cut.call.number)
        trace.is_sure = bool(sure) or len(found) == 1


def _nodes_of(recording: Recording) -> dict[str, set[str]]:
    """The nodes that each tensor was the output of, over all steps."""
    found: dict[str, set[str]] = {}
    for step in recording.facts:
        for key, row in step.changes.tensors:
            if row is not None and row.node is not None:
                found.setdefault(key, set()).add(row.node)
    return found


def _leave(arrived: Sequence[_State], call: Call, key: str) -> _State:
    """What a result has of what its call took."""
    cuts: dict[Cut, None] = {}
    live = any(state.is_live for state in arrived)
    for state in arrived:
        cuts.update(state.cuts)
    if live and call.recorded is False:
        cuts[Cut(_reason(call, key), call, key)] = None
        live = False
    several = next((s.several for s in arrived if s.is_live and s.several), None)
    if several is None and len(call.made) > 1:
        several = call
    return _State(live, call, several if live else None, cuts)


def _reason(call: Call, key: str) -> NoGradient:
    """Why a result hangs on no graph."""
    if call.reason in _REASONS:
        return _REASONS[call.reason]
    dtype = call.dtype_of(key)
    is_counting = dtype == "bool" or dtype.startswith(("int", "uint"))
    return "integer" if is_counting else "unknown"
