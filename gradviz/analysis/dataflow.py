"""From which tensors values were computed in a recording, and where the graph was cut.

NOTE [Cut by elimination]
The graph decides what is cut, not this module: it searches backwards only from tensors without a
graph, and forwards only from parameters that the graph of the loss does not reach. If the loss was
computed from such a parameter nevertheless, autograd did not record one of the calls between, and
that call is the cut.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Protocol

from gradviz.analysis.cuts import FROM_VALUES, Cut, Cuts, has_no_gradient
from gradviz.model.calls import RecordedCall
from gradviz.model.events import HIDES_CALLS, BackwardEnded, Note
from gradviz.model.explanation import CodeLine
from gradviz.model.history import UNKNOWN, EventPlace, History
from gradviz.model.ids import number_of
from gradviz.model.reachability import reachable

_MOST: Final = 10_000


class Python(Protocol):
    """How the text of the lines passes values on between two calls of torch."""

    def is_known(self, step: int) -> bool:
        """Whether the text of a step's line is known."""

    def makes_tensor(self, step: int) -> bool:
        """Whether the line of a step makes a tensor of values."""

    def steps_before(self, step: int) -> Iterator[int]:
        """Earlier steps whose lines changed what the line of a step reads, the last one first."""

    def returned_to(self, step: int) -> Iterator[int]:
        """Earlier steps at which functions returned a value to the line of a step."""

    def wraps(self, step: int) -> bool:
        """Whether the line of a step makes a ``Variable``, which is no call that is recorded."""

    def arrivals(self, calls: Sequence[RecordedCall]) -> Sequence[Arrival]:
        """The calls into which values came that had left torch, in the order in which they ran."""


class LeftValue(Protocol):
    """A value that has left torch, where it came in again."""

    @property
    def call(self) -> RecordedCall:
        """The call that took it out of torch."""

    @property
    def through(self) -> tuple[int, ...]:
        """Steps of the lines that passed it on, the last one first."""

    @property
    def is_sure(self) -> bool:
        """Whether it passed no function whose lines are not known."""

    @property
    def is_state(self) -> bool:
        """Whether it was added to what an attribute has from earlier: a running mean."""


class Arrival(Protocol):
    """A call of torch that got values which had left torch."""

    @property
    def call(self) -> RecordedCall:
        """The call."""

    @property
    def values(self) -> Sequence[LeftValue]:
        """The values."""


@dataclass
class Origins:
    """From which tensors a value was computed."""

    origins: dict[str, int] = field(default_factory=dict)
    """Tensors that no call has made, with the steps at which they were needed."""
    is_lost: bool = False
    """Whether a part of the computation is not known."""
    _cuts: dict[tuple[object, ...], Cut] = field(default_factory=dict)

    @property
    def cuts(self) -> list[Cut]:
        """In the order in which they ran, flags that were switched off last: freezing parameters
        is often meant."""
        return sorted(self._cuts.values(), key=_order)

    def add(self, cut: Cut) -> None:
        """Note a cut; each expression of a line once, which a comprehension runs often."""
        # One line may set the flags of several tensors.
        tensors = cut.tensors if cut.reason == "requires_grad" else ()
        position = None if cut.event is None else cut.event.position
        where = None if position is None else replace(position, ordinal=0)
        self._cuts.setdefault((cut.step, cut.call, where, *tensors), cut)


def _order(cut: Cut) -> tuple[bool, EventPlace, list[int]]:
    is_flag = cut.reason == "requires_grad"
    return is_flag, cut.place, [number_of(key) for key in cut.tensors if is_flag]


@dataclass(slots=True)
class Uses:
    """What was computed from a parameter."""

    uses: list[RecordedCall] = field(default_factory=list)
    """Calls that used the parameter itself."""
    exits: list[Cut] = field(default_factory=list)
    """First cuts of the paths on which its values, or results computed from them, left torch."""
    cuts: list[Cut] = field(default_factory=list)
    """Cuts from whose results the loss was computed, in the order in which they ran."""
    is_sure: bool = False
    """Whether they are cuts; else one of them is, and the others may be."""
    is_live: bool = False
    """Whether autograd recorded all calls between it and the loss."""
    several: RecordedCall | None = None
    """The first of these with several results, of which not each may depend on all inputs."""


@dataclass(slots=True)
class Behind:
    """From what tensors were computed."""

    calls: list[RecordedCall] = field(default_factory=list)
    """The calls, in the order in which they ran."""
    keys: set[str] = field(default_factory=set)
    """All tensor objects that went into them."""


@dataclass(frozen=True, slots=True)
class _Need:
    """A tensor object whose origin is searched."""

    key: str
    place: EventPlace
    """Only calls before this one can have made it."""
    requires: bool
    """Whether it required grad then."""
    wrapped: CodeLine | None = None
    through: tuple[CodeLine, ...] = ()


@dataclass(slots=True)
class _State:
    """What a tensor object has of a parameter."""

    is_live: bool = False
    """Whether it hangs on the parameter's graph."""
    maker: RecordedCall | None = None
    several: RecordedCall | None = None
    """The first call between that has several results."""
    cuts: dict[Cut, None] = field(default_factory=dict)


class _Leading:
    """The nodes that lead to a parameter, found when they are asked for.

    Args:
        flow: The recording.
        parameter: Key of a leaf.
    """

    def __init__(self, flow: Dataflow, parameter: str) -> None:
        self._flow, self._parameter = flow, parameter

    @cached_property
    def nodes(self) -> set[str]:
        """Their ids."""
        flow = self._flow
        return set(reachable(flow.history.nodes_of(self._parameter), flow.readers))


class Dataflow:
    """The calls of a recording, followed from a tensor back to its origins, or on to its uses.

    Args:
        history: The recording.
        python: How values were passed on outside of torch.
        until: The last step that counts; by default the last one.
    """

    def __init__(self, history: History, python: Python, until: int | None = None) -> None:
        self.history = history
        self._python = python
        self._until = len(history.recording.records) - 1 if until is None else until
        self.calls = [
            call for call in history.calls if call.step <= self._until and not call.is_recomputed
        ]
        wrapped = [*_wrapped(self.calls, python, history)]
        if wrapped:
            self.calls = sorted([*self.calls, *wrapped], key=lambda call: call.place)
        self._cuts = Cuts(history, self._until)
        self._makers: dict[str, list[RecordedCall]] = {}
        self._exits: dict[int, list[RecordedCall]] = {}
        for call in self.calls:
            for key in call.made:
                self._makers.setdefault(key, []).append(call)
            if not call.made:
                self._exits.setdefault(call.step, []).append(call)
        notes = (note for _, note in history.events(Note, self._until))
        self.missing = next((note for note in notes if note.about in HIDES_CALLS), None)
        """What the recording says of calls that it has left out."""

    def maker(self, key: str, place: EventPlace) -> RecordedCall | None:
        """The last call before a place that made or wrote a tensor object."""
        calls = self._makers.get(key, [])
        before = bisect_left(calls, place, key=lambda call: call.place)
        return calls[before - 1] if before else None

    # ------------------------------------------------------------------- back

    def back(self, keys: Iterable[str], requires: bool = False) -> Origins:
        """Follow tensor objects back to where they were cut off, or made.

        Args:
            keys: Where it begins, at the last step.
            requires: Whether those that have no name require grad.
        """
        found = Origins()
        todo = [
            _Need(key, (self._until, UNKNOWN), requires if row is None else row.requires_grad)
            for key in keys
            for row in [self.history.tensor(key, self._until)]
        ]
        seen: set[tuple[str, EventPlace]] = set()
        while todo and len(seen) < _MOST:
            need = todo.pop()
            if (need.key, need.place) not in seen:
                seen.add((need.key, need.place))
                todo += self._before(need, found)
        found.is_lost |= bool(todo)
        if not found.cuts and not found.is_lost and not self._is_of_a_module(found.origins):
            for key, place in sorted(seen):
                self._add_numbers(key, place, found)
        return found

    def _is_of_a_module(self, keys: Iterable[str]) -> bool:
        """Whether the attribute of an object is among tensors: a frozen parameter, say."""
        rows = (self.history.tensor(key, self._until) for key in keys)
        return any("." in name for row in rows if row is not None for name in row.names)

    def _add_numbers(self, key: str, place: EventPlace, found: Origins) -> None:
        """What came into the call that made a tensor as a number, where no tensor was cut off."""
        call = self.maker(key, place)
        for one in () if call is None else self.arrivals.get(call.place, ()):
            if call is not None and one.call.required and one.is_sure and not one.is_state:
                found.add(self._back(self._cuts.by_call(one.call, ""), one, call))

    def _before(self, need: _Need, found: Origins) -> list[_Need]:
        """The inputs from which a tensor was computed; the search ends at a cut."""
        call = self.maker(need.key, need.place)
        if call is None or call.keeps_graph_of(need.key):
            return self._without_call(need, found)
        if self._is_cut(call, need):
            self._add(self._cuts.by_call(call, need.key), need, found)
            return []
        if not call.reads:
            is_wrapped = call.name in FROM_VALUES
            follow = self._from_python if is_wrapped else self._without_call
            return follow(replace(need, place=call.place), found)
        line = self.history.line(call.place)
        if call.name in FROM_VALUES and line is not None:  # it copies, once more
            need = replace(need, through=(*need.through, line))
        return _taken(call, need)

    def _is_cut(self, call: RecordedCall, need: _Need) -> bool:
        """Whether an input of a call required grad, and this result does not depend on it."""
        if call.operation is None or not call.operation.required:
            return False
        if not call.reads:  # it read only a shape
            return not call.recorded
        return bool(call.required) and not (call.recorded and need.requires)

    def _add(self, cut: Cut, need: _Need, found: Origins) -> None:
        found.add(
            replace(
                cut,
                wrapped=need.wrapped,
                through=need.through,
                has_left=need.wrapped is not None and cut.reason != "left torch",
                is_doubtful=need.requires and not self._is_leaf(need.key),
            )
        )

    def _without_call(self, need: _Need, found: Origins) -> list[_Need]:
        """A tensor that no call of torch returned: a leaf, a gradient, or one from numpy."""
        step = need.place[0]
        born = self.history.born(need.key) if need.key.startswith("t") else step
        if born and self.history.is_partial(born):
            found.is_lost = True
            return []
        given = self._cuts.by_gradient(born) if born else None
        cut = self._cuts.by_flag(need.key, step) or given
        if cut:
            self._add(cut, need, found)
            return []
        if born and self._python.makes_tensor(born):
            return self._from_python(replace(need, place=(born, UNKNOWN)), found)
        made = [
            at for at in self._python.returned_to(born or step) if self._python.makes_tensor(at)
        ]
        if made:
            return [
                one
                for at in made
                for one in self._from_python(replace(need, place=(at, UNKNOWN)), found)
            ]
        found.origins.setdefault(need.key, step)
        return []

    def _from_python(self, need: _Need, found: Origins) -> list[_Need]:
        """Search the origin of the values from which a tensor was made."""
        step = need.place[0]
        need = replace(need, wrapped=self.history.line(step))
        taken = self._leaving(step, need, found)
        if self._is_cut_at(step):
            return taken
        found.is_lost |= not taken and not self._python.is_known(step)
        for earlier in self._python.steps_before(step):
            line = self.history.line(earlier)
            need = replace(need, through=(*need.through, *([line] if line else [])))
            taken += self._leaving(earlier, need, found)
            if self._is_cut_at(earlier):
                return taken
        if not taken and self._python.is_known(step):
            found.origins.setdefault(need.key, step)
        return taken

    def _is_cut_at(self, step: int) -> bool:
        """Whether a value that required grad left torch at a step; others may be beside it."""
        return any(call.required for call in self._exits.get(step, ()))

    def _leaving(self, step: int, need: _Need, found: Origins) -> list[_Need]:
        """Calls of a step at which a value left torch: the cuts among them, and what the others
        took."""
        taken: list[_Need] = []
        for call in self._exits.get(step, ()):
            if call.required:
                self._add(self._cuts.by_call(call, ""), need, found)
            else:
                taken += _taken(call, need)
        return taken

    # --------------------------------------------------------------------- on

    def on(self, parameter: str, losses: Sequence[str]) -> Uses:
        """Follow a parameter through all calls.

        Args:
            parameter: Key of a leaf.
            losses: Keys of the tensors backward starts from.
        """
        return self._follow(parameter, losses, self.calls, {})

    def on_all_paths(
        self, parameter: str, losses: Sequence[str], calls: Sequence[RecordedCall]
    ) -> Uses:
        """Follow a parameter on paths that lead out of torch and in again, too.

        They end at what has values from earlier as well: at leaves and other tensors that are
        written in place and existed before.

        Args:
            parameter: Key of a leaf.
            losses: Keys of the tensors backward starts from.
            calls: The calls that count, as :meth:`behind` gives them.
        """
        return self._follow(parameter, losses, calls, self.arrivals, is_all=True)

    def behind(self, keys: Iterable[str], calls: Iterable[RecordedCall] = ()) -> Behind:
        """Everything from which tensors were computed, on paths that led out of torch too.

        Args:
            keys: Keys of the tensors, as they are at the last step.
            calls: Calls whose inputs are followed as well.
        """
        found = Behind()
        seen: dict[EventPlace, RecordedCall] = {}
        needs = [(key, (self._until, UNKNOWN)) for key in keys]
        given = [*calls]
        while needs or given:
            if needs:
                made = self._maker_or_array(*needs.pop())
                given += [] if made is None else [made]
                continue
            call = given.pop()
            if call.place not in seen:
                seen[call.place] = call
                found.keys.update(call.reads)
                needs += [(key, call.place) for key in call.reads]
                given += [one.call for one in self.arrivals.get(call.place, ())]
        found.calls = [seen[place] for place in sorted(seen)]
        return found

    def _maker_or_array(self, key: str, place: EventPlace) -> RecordedCall | None:
        """The call that made a tensor, one that made it of an array too."""
        made = self._of_arrays.get(key)
        return made if made is not None and made.place < place else self.maker(key, place)

    @cached_property
    def arrivals(self) -> dict[EventPlace, tuple[LeftValue, ...]]:
        """Values that had left torch, by the calls into which they came."""
        found: dict[EventPlace, tuple[LeftValue, ...]] = {}
        for one in self._arrived:
            found[one.call.place] = (*found.get(one.call.place, ()), *one.values)
        return found

    @cached_property
    def _arrived(self) -> Sequence[Arrival]:
        return self._python.arrivals(self.calls)

    @cached_property
    def _of_arrays(self) -> dict[str, RecordedCall]:
        """The calls by which tensors were made of arrays."""
        made = [one.call for one in self._arrived]
        return {call.made[0]: call for call in made if call.operation is None and not call.reads}

    def _follow(
        self,
        parameter: str,
        losses: Sequence[str],
        calls: Sequence[RecordedCall],
        arrivals: Mapping[EventPlace, Sequence[LeftValue]],
        is_all: bool = False,
    ) -> Uses:
        states: dict[str, _State] = {parameter: _State(is_live=True)}
        found = Uses()
        out: dict[EventPlace, Cut] = {}
        leading = _Leading(self, parameter)
        for call in calls:
            for key in call.reads:
                cut = None if key in states else self._differentiated(key, call, leading)
                if cut is not None:
                    states[key] = _State(cuts={cut: None})
            sources = [key for key in dict.fromkeys(call.reads) if key in states]
            if parameter in sources:
                found.uses.append(call)
            arrived = {
                key: self._arrive(states[key], key, call, parameter, leading) for key in sources
            }
            if sources and not call.made and call.operation is not None and call.operation.reason:
                out[call.place] = self._exit(list(arrived.values()), call)
                found.exits.append(out[call.place])
            given = arrivals.get(call.place, ())
            back = [
                self._back(out[one.call.place], one, call) for one in given if one.call.place in out
            ]
            if is_all and _has_no_gradient(call):
                continue  # an index or a mask
            for key in call.made:
                is_live = key in states and states[key].is_live
                if key == parameter or (is_live and call.keeps_graph_of(key)):
                    continue  # its graph is what it was
                if is_all and self._is_from_earlier(key, call):
                    continue
                states.pop(key, None)  # written over
                if sources or back:
                    states[key] = self._leave(list(arrived.values()), call, key)
                    states[key].cuts.update(dict.fromkeys(back))
        _finish(found, [states[key] for key in losses if key in states])
        return found

    def _back(self, cut: Cut, value: LeftValue, call: RecordedCall) -> Cut:
        """The cut by which a value left torch that has come into a call."""
        lines = (self.history.line(step) for step in value.through)
        return replace(
            cut,
            wrapped=self.history.line(call.place),
            through=tuple(line for line in lines if line is not None),
            arrived=call,
            is_known=value.is_sure,
            is_state=value.is_state,
        )

    def is_gradient(self, key: str) -> bool:
        """Whether ``autograd.grad`` gave a tensor, without a graph."""
        born = self.history.born(key) if key.startswith("t") else None
        return bool(born) and self._cuts.by_gradient(born or 0) is not None

    def _is_from_earlier(self, key: str, call: RecordedCall) -> bool:
        """Whether a call wrote a tensor that was there before the last backward."""
        operation = call.operation
        is_made = operation is not None and key in operation.made and key not in operation.reads
        if is_made or not key.startswith("t"):
            return False
        before = bisect_left(self._ended, call.step)
        return (self.history.born(key) or 0) <= (self._ended[before - 1] if before else 0)

    @cached_property
    def _ended(self) -> list[int]:
        """The steps at which backwards ended."""
        return [step for step, _ in self.history.events(BackwardEnded, self._until)]

    def on_the_way(self, cut: Cut) -> Iterator[RecordedCall]:
        """The first calls with a node that used the result of a cut, or a result of that."""
        keys = {cut.key}
        for call in self.calls:
            if call.place > cut.place and keys.intersection(call.reads):
                if call.operation is not None and call.operation.node is not None:
                    yield call
                else:
                    keys.update(call.made)

    def unseen(self, losses: Sequence[str]) -> Iterator[str]:
        """Inputs of the losses that no recorded call made."""
        wanted = set(losses)
        for call in reversed(self.calls):
            if wanted.intersection(call.made):
                # In place, what goes in is wanted from before too.
                wanted.difference_update(set(call.made) - set(call.reads))
                wanted.update(call.reads)
        yield from wanted

    def readers(self, node: str) -> Iterator[str]:
        """Nodes whose backward hands a gradient on to a node."""
        return (reader.id for reader in self.history.readers(node))

    def _differentiated(self, key: str, call: RecordedCall, leading: _Leading) -> Cut | None:
        """A gradient without a graph, of something that the parameter leads to."""
        if self._makers.get(key):
            return None
        born = self.history.born(key) if key.startswith("t") else call.step
        given = self._cuts.by_gradient(born) if born else None
        roots = () if given is None or given.started is None else given.started.roots
        if given is None or leading.nodes.isdisjoint(node for node, _ in roots):
            return None
        return replace(given, key=key)

    def _arrive(
        self, state: _State, key: str, call: RecordedCall, parameter: str, leading: _Leading
    ) -> _State:
        """What a tensor brings into a call."""
        if call.recorded is None:
            return state
        if state.is_live and key not in call.required:
            # It does not require grad after all: an output without a gradient, or it is frozen.
            maker = state.maker
            cut = self._frozen(parameter, call) if maker is None else self._cuts.by_call(maker, key)
            return _State(False, maker, cuts={**state.cuts, cut: None})
        is_unrecorded = state.maker is not None and state.maker.recorded is False
        if not is_unrecorded or key not in call.required or self._is_leaf(key):
            return state
        # It requires grad though no call recorded it: a custom Function made it.
        nodes = self.history.nodes_of(key)
        if len(nodes) == 1:  # and the graph shows with what the Function is connected
            return _State(True, state.maker) if nodes <= leading.nodes else state
        doubtful = {replace(cut, is_doubtful=True): None for cut in state.cuts}
        return _State(True, state.maker, cuts=doubtful)

    def _is_leaf(self, key: str) -> bool:
        """Whether it is a leaf that requires grad."""
        row = self.history.tensor(key, self._until)
        return row is not None and row.requires_grad and row.is_leaf is True

    def frozen(self, key: str) -> Cut | None:
        """The line that froze a tensor, if it is frozen at the last step."""
        return self._cuts.by_flag(key, self._until)

    def _frozen(self, parameter: str, call: RecordedCall) -> Cut:
        """Why a parameter did not require grad when a call used it."""
        cut = self._cuts.by_flag(parameter, call.step)
        if cut is None:
            cut = replace(self._cuts.by_call(call, ""), reason="requires_grad", key=parameter)
        return cut

    def _exit(self, arrived: Sequence[_State], call: RecordedCall) -> Cut:
        """The first cut before a value left torch."""
        if any(state.is_live for state in arrived):
            return self._cuts.by_call(call, "")
        cuts = (cut for state in arrived for cut in state.cuts)
        return replace(min(cuts, key=lambda cut: cut.place), has_left=True)

    def _leave(self, arrived: Sequence[_State], call: RecordedCall, key: str) -> _State:
        """The inputs of its call on which a result depends."""
        cuts: dict[Cut, None] = {}
        live = any(state.is_live for state in arrived)
        for state in arrived:
            cuts.update(state.cuts)
        if live and call.recorded is False:
            cuts[self._cuts.by_call(call, key)] = None
            live = False
        several = next((s.several for s in arrived if s.is_live and s.several), None)
        if several is None and len(call.made) > 1:
            several = call
        return _State(live, call, several if live else None, cuts)


def _has_no_gradient(call: RecordedCall) -> bool:
    """Whether the results of a call are integers, as indices are."""
    made = () if call.operation is None else call.operation.outputs
    return any(has_no_gradient(one.dtype or "") for one in made)


def _wrapped(
    calls: Sequence[RecordedCall], python: Python, history: History
) -> Iterator[RecordedCall]:
    """The ``Variable(x.data)`` of lines: from the one result that no call reads to the one tensor
    that no call has made, of the same line or the one to which it was returned."""
    read = {key for call in calls for key in call.reads}
    made = {key for call in calls for key in call.made}
    unread: dict[int, list[str]] = {}
    for call in calls:
        for key in call.made:
            if key not in read and key not in call.reads:
                unread.setdefault(call.step, []).append(key)
    wrapping = {
        step: keys[0] for step, keys in unread.items() if len(keys) == 1 and python.wraps(step)
    }
    for step, key in wrapping.items():
        born = [one for one in history.begun(step) if one.startswith("t") and one not in made]
        if len(born) == 1:
            yield RecordedCall("Variable", (step, UNKNOWN), (key,), tuple(born))
    for line in {call.step for call in calls} if wrapping else ():
        returned = [step for step in python.returned_to(line) if step in wrapping]
        given = {key for call in calls if call.step == line for key in call.reads} - made
        unnamed = [key for key in given if not key.startswith("t")]
        if len(returned) == len(unnamed) == 1:
            at = returned[0]
            yield RecordedCall("Variable", (at, UNKNOWN), (wrapping[at],), tuple(unnamed))


def _taken(call: RecordedCall, need: _Need) -> list[_Need]:
    """The inputs of a call, to be searched next."""
    known = call.operation is not None
    return [
        replace(
            need,
            key=key,
            place=call.place,
            requires=key in call.required if known else need.requires,
        )
        for key in call.reads
    ]


def _finish(found: Uses, states: Sequence[_State]) -> None:
    """Those from which the losses were computed."""
    cuts = dict.fromkeys(cut for state in states for cut in state.cuts)
    sure = [cut for cut in cuts if not cut.is_doubtful]
    found.is_live = any(state.is_live for state in states) and not cuts
    found.several = next((s.several for s in states if s.is_live and s.several), None)
    found.cuts = sorted(sure or cuts, key=lambda cut: cut.place)
    found.is_sure = bool(sure) or len(cuts) == 1
