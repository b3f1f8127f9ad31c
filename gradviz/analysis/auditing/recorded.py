"""Why a parameter gets no gradient, as a recording of the forward tells it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.auditing.calls import Call, line_of
from gradviz.analysis.auditing.flow import Cut, Flow, Trace
from gradviz.analysis.auditing.grads import History, history_of
from gradviz.model.auditing import NoGradient
from gradviz.model.auditing_facts import AuditFacts, ParameterFacts
from gradviz.model.explanation import CodeLine
from gradviz.model.facts import TensorInfo
from gradviz.model.graph import Graph
from gradviz.model.recording import Recording

_UNSEEN: Final = (
    "Something on the way was not seen by the recording, as what a compiled function or a custom "
    "Function does inside."
)
_LEFT_OUT: Final = "The recording has not told all calls: {}."
REBOUND: Final = (
    "the graph leads to the tensor that was {} before, which is no parameter of the model any more"
)
_MANY: Final = " gradviz.record(into=model) records the lines inside, each with its calls."


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a parameter gets no gradient."""

    reason: NoGradient
    why: str
    at: CodeLine | None = None
    also: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    """What to mark as cut in the picture of the loss."""
    call: str = ""
    """The call that cut, for tables."""


class Recorded:
    """A recording of the forward, matched with what is alive.

    Args:
        facts: What is alive.
        recording: What was recorded.
    """

    def __init__(self, facts: AuditFacts, recording: Recording) -> None:
        self._facts = facts
        self._recording = recording
        self._last = recording.graph_at(len(recording) - 1)
        self._keys = {i: self._key(p) for i, p in enumerate(facts.parameters)}
        pairs = [self._pair(loss.known_as, loss.tensor) for loss in facts.losses]
        self.problem = next((problem for _, problem in pairs if problem), "")
        """Why the recording tells nothing about this loss."""
        losses = [row for row, _ in pairs if row is not None]
        self._nodes: dict[str, str] = {}
        if not self.problem:
            nodes = self._paired(losses)
            if nodes is None:
                self.problem = "the recording is of another graph than that of the loss"
            elif not any(self._keys.values()):
                self.problem = "the recording knows none of the parameters by the names they have"
            self._nodes = nodes or {}
        self._losses = losses
        self._flow = Flow(recording, [row.id for row in losses])

    def _pair(self, names: Sequence[str], tensor: str) -> tuple[TensorInfo | None, str]:
        """The row of a loss in the recording; or why there is none."""
        live = self._facts.graph.tensor(tensor)
        rows = [row for row in self._last.tensors if row.name in names]
        if not rows:
            return None, "the recording ends without a tensor of the name of the loss"
        for row in rows:
            values = live.values if row.values is not None else None
            same = (live.shape, live.dtype, live.requires_grad, values)
            if (row.shape, row.dtype, row.requires_grad, values and row.values) == same:
                return row, ""
        return None, "the recording is of another run: its loss has another value"

    def _paired(self, rows: list[TensorInfo]) -> dict[str, str] | None:
        """Nodes of the recording and the same nodes of the live graph; ``None`` if they differ."""
        pairs: list[tuple[str, str]] = []
        for row, loss in zip(rows, self._facts.losses):
            if loss.root is None:
                continue
            live = self._facts.graph.roots[loss.root][0]
            if row.node is not None:
                pairs.append((row.node, live))
            elif self._facts.graph[live].variable is None:
                return None
        return _walk(self._last, self._facts.graph, pairs)

    def _key(self, parameter: ParameterFacts) -> str | None:
        """Key of a parameter in the recording, by its name in the code or its path."""
        rows = [row for row in self._last.tensors if row.shape == parameter.shape]
        for row in rows:
            if row.name in parameter.known_as:
                return row.id
        found = [
            row.id
            for row in rows
            if row.name is not None and row.name.endswith(tuple(f".{n}" for n in parameter.names))
        ]
        return found[0] if len(found) == 1 else None

    def history(self, place: int) -> History:
        """What was seen of the ``.grad`` of the parameter at this place."""
        key = self._keys[place]
        if key is None or self.problem:
            return History()
        roots = frozenset((row.node, row.output_nr) for row in self._losses)
        live = self._facts.graph.tensor(self._facts.parameters[place].tensor)
        return history_of(self._recording, key, roots, live.grad)

    def verdict(self, place: int) -> Verdict:
        """Why the parameter at this place is not reached."""
        key = self._keys[place]
        if key is None:
            if self._flow.sees_all:
                return Verdict("not used", "no call in the recording takes it")
            return self._unknown("no call that was recorded takes it")
        rebound = self._rebound(place, key)
        if rebound is not None:
            return rebound
        trace = self._flow.trace(key)
        if trace.is_sure:
            return self._cut(trace)
        if trace.cuts:
            words = " or ".join(dict.fromkeys(self._words(cut.call) for cut in trace.cuts))
            return self._unknown(f"{words} cut it off, or a custom Function")
        if trace.is_live and trace.several is not None:
            call = trace.several
            why = (
                f"{self._words(call)} took it and gave {len(call.made)} results: that from which "
                "the loss was computed need not depend on it"
            )
            return Verdict("unknown", why)
        if trace.is_live:
            return self._unknown("all calls that were seen from it to the loss are connected")
        if not self._flow.sees_all and trace.exits:
            words = self._words(trace.exits[0])
            return self._unknown(f"{words} took it out of torch; no other way to the loss was seen")
        if not self._flow.sees_all:
            return self._unknown("the loss was not seen to take anything that was computed from it")
        if trace.exits:
            call = trace.exits[0]
            why = f"{self._words(call)} took it out of torch; no other way leads into the loss"
            return Verdict("left torch", why, call.at, call=_name(call))
        if trace.uses:
            call = trace.uses[0]
            why = f"what {self._words(call)} made of it did not go into the loss"
            return Verdict("not used", why, call.at, call=_name(call))
        return Verdict("not used", "no call in the recording takes it")

    def _rebound(self, place: int, key: str) -> Verdict | None:
        """A tensor of its name is in the graph of the loss, and it has taken that one's place."""
        name = self._last.tensor(key).name
        before: dict[str, None] = {}
        for step in self._recording.steps:
            for other, row in step.facts.changes.tensors:
                if row is None or name is None or row.name != name:
                    continue
                if other != key:
                    before[other] = None
                    continue
                for node, live in self._nodes.items() if before else ():
                    if self._last[node].variable in before:
                        path = self._facts.parameters[place].names[0]
                        at = line_of(step)
                        where = f" in line {at.line}" if at.line is not None else ""
                        why = REBOUND.format(path) + f"; another took its place{where}"
                        variable = self._facts.graph[live].variable
                        return Verdict("rebound", why, at, marks=(variable,) if variable else ())
                return None
        return None

    def _unknown(self, why: str) -> Verdict:
        missing = self._flow.missing
        more = _UNSEEN if missing is None else _LEFT_OUT.format(missing.text)
        if missing is not None and missing.about == "operations left out":
            more += _MANY
        return Verdict("unknown", why, unknown=(more,))

    def _cut(self, trace: Trace) -> Verdict:
        first, *others = trace.cuts
        words = dict.fromkeys(self._words(cut.call) for cut in others)
        also = [f"and so did {one}" for one in words if one != self._words(first.call)]
        marks = [mark for cut in trace.cuts for mark in self._marks(cut)]
        return Verdict(
            first.reason,
            self._why(first),
            first.call.at,
            tuple(also),
            (),
            tuple(dict.fromkeys(marks)),
            _name(first.call),
        )

    def _why(self, cut: Cut) -> str:
        call, words = cut.call, self._words(cut.call)
        name = dict(zip(call.made, call.names)).get(cut.made, "")
        made = f", so {name} has no graph" if name else ""
        if cut.reason == "detached":
            return f"{words} cut it off{made}"
        if cut.reason == "no_grad":
            return f"{words} ran under no_grad and left no node{made}"
        if cut.reason == "inference mode":
            return f"{words} ran in inference mode and left no node{made}"
        if cut.reason == "integer":
            return f"{words} gave {call.dtype_of(cut.made)} numbers, which have no gradient"
        if cut.reason == "left torch":
            return f"{words} copied its numbers without their graph"
        if cut.reason == "frozen":
            return f"it did not require grad when {words} took it"
        return f"{words} gave a tensor without a graph"

    def _words(self, call: Call) -> str:
        """A call and where it stands: ``detach() in line 4``."""
        codes = self._recording.codes
        is_other = bool(codes) and call.at.code not in ("", codes[0].name)
        file = f" ({call.at.code})" if is_other else ""
        line = f" in line {call.at.line}{file}" if call.at.line is not None else ""
        inside = f" of {call.module}" if call.module and not is_other else ""
        return f"{_name(call)}{inside}{line}"

    def _marks(self, cut: Cut) -> Iterable[str]:
        """Entries of nodes that took what was cut off."""
        for call in self._flow.on_the_way(cut):
            node = self._nodes.get(call.node or "")
            if node is not None:
                yield _entry(self._facts.graph, node)


def _name(call: Call) -> str:
    return ".data" if call.name == "data" else f"{call.name}()"


def _entry(graph: Graph, node: str) -> str:
    """The one entry of a node that is ``None``, else the node."""
    empty = [i for i, entry in enumerate(graph[node].next_functions) if entry is None]
    return f"{node}.{empty[0]}" if len(empty) == 1 else node


def _walk(one: Graph, other: Graph, pairs: list[tuple[str, str]]) -> dict[str, str] | None:
    """Pairs of nodes behind pairs of nodes; ``None`` if the graphs differ anywhere."""
    found: dict[str, str] = {}
    todo = list(pairs)
    while todo:
        key, live = todo.pop()
        if key in found:
            continue
        if one.place_of(key) is None:
            return None
        mine, theirs = one[key], other[live]
        if mine.name != theirs.name or len(mine.next_functions) != len(theirs.next_functions):
            return None
        found[key] = live
        for entry, same in zip(mine.next_functions, theirs.next_functions):
            if (entry is None) != (same is None):
                return None
            if entry is not None and same is not None:
                todo.append((entry[0], same[0]))
    return found
