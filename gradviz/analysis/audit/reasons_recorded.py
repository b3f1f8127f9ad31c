"""Why a parameter gets no gradient, found in a recording of the forward."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from gradviz.analysis.audit.grad_history import GradHistory, LossBackwards, grad_history
from gradviz.analysis.code.partial_paths import PartialPaths, arrival_of, has_left
from gradviz.analysis.code.python_values import PythonValues
from gradviz.analysis.cuts import Cut, called, cut_words
from gradviz.analysis.dataflow import Dataflow, Uses
from gradviz.model.audit import NoGradient, PartialCut
from gradviz.model.audit_input import AuditInput, ParameterFacts
from gradviz.model.calls import RecordedCall
from gradviz.model.cut_reasons import REASONS
from gradviz.model.explanation import CodeLine
from gradviz.model.graph import Graph
from gradviz.model.reachability import same_nodes
from gradviz.model.recording import Recording
from gradviz.model.records import TensorInfo

_UNSEEN: Final = (
    "The recording does not contain every operation between it and the loss, for example those "
    "inside a compiled function or a custom Function."
)
_LEFT_OUT: Final = "The recording does not contain all calls: {}."
REBOUND: Final = (
    "the graph leads to the tensor that was {} before, which is no longer a parameter of the model"
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


class RecordedReasons:
    """A recording of the forward, matched with the live graph.

    Args:
        facts: What is alive.
        recording: What was recorded.
    """

    def __init__(self, facts: AuditInput, recording: Recording) -> None:
        self._facts = facts
        self._loss = facts.losses[0].name if len(facts.losses) == 1 else "the loss"
        self._recording = recording
        self._history = recording.history
        self._last = recording.graph_at(len(recording.records) - 1)
        self._keys = {i: self._key(p) for i, p in enumerate(facts.parameters)}
        pairs = [self._pair(loss.known_as, loss.tensor) for loss in facts.losses]
        self.problem = next((problem for _, problem in pairs if problem), "")
        """Why the recording cannot be used for this loss."""
        losses = [row for row, _ in pairs if row is not None]
        self._nodes: dict[str, str] = {}
        if not self.problem:
            nodes = self._paired(losses)
            if nodes is None:
                self.problem = "the graph of the recording is not that of the loss"
            elif not any(self._keys.values()):
                self.problem = "the recording has no parameter with a name of the model"
            self._nodes = nodes or {}
        self._losses = losses
        self._flow = Dataflow(self._history, PythonValues(self._history))
        self._roots = [row.id for row in losses]

    @cached_property
    def _backwards(self) -> LossBackwards:
        roots = frozenset((row.node, row.output_nr) for row in self._losses)
        return LossBackwards(self._history, roots)

    @cached_property
    def _sees_all(self) -> bool:
        """Whether the recording contains every call from which the loss is computed: no input of
        these calls is a result of a call that is missing."""
        leaves = {t.id for t in self._recording.graph.tensors if t.requires_grad and t.is_leaf}
        calls = (call.operation for call in self._flow.calls)
        hanging = {key for call in calls if call is not None for key in call.required} - leaves
        return not self._flow.missing and hanging.isdisjoint(self._flow.unseen(self._roots))

    def _pair(self, names: Sequence[str], tensor: str) -> tuple[TensorInfo | None, str]:
        """The row of a loss in the recording, or why there is none."""
        live = self._facts.graph.tensor(tensor)
        rows = [row for row in self._last.tensors if row.name in names]
        if not rows:
            return None, "the recording has no tensor with the name of the loss at its end"
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
        return same_nodes(self._last, self._facts.graph, pairs)

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

    def history(self, place: int) -> GradHistory:
        """What the recording shows about the ``.grad`` of the parameter at this index."""
        key = self._keys[place]
        if key is None or self.problem:
            return GradHistory()
        live = self._facts.graph.tensor(self._facts.parameters[place].tensor)
        return grad_history(self._history, key, self._backwards, live.grad)

    def frozen(self, place: int) -> Verdict | None:
        """The line that froze the parameter at this index, if it was recorded."""
        key = None if self.problem else self._keys[place]
        cut = None if key is None else self._flow.frozen(key)
        return None if cut is None else self._of_cut(cut)

    @cached_property
    def _paths(self) -> PartialPaths:
        return PartialPaths(self._flow, self._roots)

    def partly(self, place: int) -> list[PartialCut]:
        """Where a part of the way from the parameter at this index to the loss is cut, beside
        the part that passes a gradient."""
        key = None if self.problem else self._keys[place]
        cuts = [] if key is None else self._paths.cuts(key)
        return [PartialCut(self._partial_words(cut), cut.at, called(cut.call)) for cut in cuts]

    def _partial_words(self, cut: Cut) -> str:
        if not has_left(cut) or cut.is_state:
            through = self._name(cut)
            if cut.reason in ("no_grad", "inference mode"):
                mode = "under no_grad" if cut.reason == "no_grad" else "in inference mode"
                through = f"{self._where(cut.at, None).removeprefix(' in ')} {mode}"
            elif cut.reason == "create_graph":
                through += " without create_graph=True"
            return (
                f"part of the way to {self._loss} leads through {through}, which passes no gradient"
            )
        call, at = arrival_of(cut)
        used = "" if cut.arrived is None else f"; {call}{self._where(at, None)} used the value"
        be = "is" if cut.is_known else "may be"
        return (
            f"part of the way to {self._loss} {be} cut: {self._words(cut)}{used}; the gradient "
            "leaves this part out"
        )

    def verdict(self, place: int) -> Verdict:
        """Why the parameter at this place is not reached."""
        key = self._keys[place]
        if key is None:
            if self._sees_all:
                return Verdict("not used", "no call in the recording uses it")
            return self._unknown("no recorded call uses it")
        rebound = self._rebound(place, key)
        if rebound is not None:
            return rebound
        uses = self._flow.on(key, self._roots)
        if uses.is_sure:
            return self._cut(uses)
        if uses.cuts:
            words = " or ".join(dict.fromkeys(self._name(cut) for cut in uses.cuts))
            return self._unknown(f"{words} or a custom Function cut it off")
        if uses.is_live and uses.several is not None:
            call = uses.several
            why = (
                f"{self._called(call)} used it and returned {len(call.made)} results; the one from "
                "which the loss was computed may not depend on it"
            )
            return Verdict("unknown", why)
        if uses.is_live:
            return self._unknown("all recorded calls between it and the loss are connected")
        if uses.exits:
            return self._left(uses.exits)
        if not self._sees_all:
            return self._unknown("no recorded call connects it with the loss")
        if uses.uses:
            call = uses.uses[0]
            why = f"the loss was not computed from the result of {self._called(call)}"
            return Verdict("not used", why, self._history.line(call.place), call=called(call.name))
        return Verdict("not used", "no call in the recording uses it")

    def _left(self, exits: Sequence[Cut]) -> Verdict:
        """A value computed from it left torch, and no recorded path leads to the loss."""
        wrapped = [cut for cut in self._flow.back(self._roots).cuts if cut.wrapped is not None]
        known = {cut.place for cut in wrapped}
        cut = next((cut for cut in exits if cut.place in known), exits[0])
        words = self._words(cut)
        if not self._sees_all:
            return self._unknown(f"{words}; no other path to the loss was recorded")
        return replace(self._of_cut(cut), why=f"{words}; no other path leads to the loss")

    def _rebound(self, place: int, key: str) -> Verdict | None:
        """The parameter replaced a tensor of the same name, which is in the graph of the loss."""
        name = self._last.tensor(key).name
        since = {} if name is None else self._history.bearers(name)
        before = {other for other, step in since.items() if step < since[key]}
        for node, live in self._nodes.items() if before else ():
            if self._last[node].variable in before:
                path = self._facts.parameters[place].names[0]
                at = self._history.line(since[key])
                where = "" if at is None else f" in line {at.line}"
                why = REBOUND.format(path) + f"; another tensor replaced it{where}"
                variable = self._facts.graph[live].variable
                return Verdict("rebound", why, at, marks=(variable,) if variable else ())
        return None

    def _unknown(self, why: str) -> Verdict:
        missing = self._flow.missing
        more = _UNSEEN if missing is None else _LEFT_OUT.format(missing.text)
        if missing is not None and missing.about == "operations left out":
            more += _MANY
        return Verdict("unknown", why, unknown=(more,))

    def _cut(self, uses: Uses) -> Verdict:
        # A value that is chosen has no gradient anyway: what cuts another path is the reason.
        first, *others = sorted(uses.cuts, key=lambda cut: cut.reason == "not differentiable")
        words = dict.fromkeys(self._name(cut) for cut in others)
        also = [f"and so did {one}" for one in words if one != self._name(first)]
        marks = [mark for cut in uses.cuts for mark in self._marks(cut)]
        return replace(self._of_cut(first), also=tuple(also), marks=tuple(dict.fromkeys(marks)))

    def _of_cut(self, cut: Cut) -> Verdict:
        return Verdict(REASONS[cut.reason].public, self._words(cut), cut.at, call=called(cut.call))

    def _words(self, cut: Cut) -> str:
        return str(cut_words(cut, where=self._where(cut.at, cut.module)))

    def _name(self, cut: Cut) -> str:
        """A cut and its line: ``detach() in line 4``."""
        return f"{called(cut.call)}{self._where(cut.at, cut.module)}"

    def _called(self, call: RecordedCall) -> str:
        """A call and its line: ``linear() in line 4``."""
        module = None if call.operation is None else call.operation.module
        return f"{called(call.name)}{self._where(self._history.line(call.place), module)}"

    def _where(self, at: CodeLine | None, module: str | None) -> str:
        codes = self._recording.codes
        is_other = at is not None and bool(codes) and at.code not in ("", codes[0].name)
        line = "" if at is None else f" in line {at.line}"
        if at is not None and is_other:
            return f"{line} ({at.code})"
        return f" of {module}{line}" if module else line

    def _marks(self, cut: Cut) -> Iterable[str]:
        """Entries of nodes whose input was cut off."""
        for call in self._flow.on_the_way(cut):
            node = self._nodes.get(call.operation.node or "") if call.operation else None
            if node is not None:
                yield _entry(self._facts.graph, node)


def _entry(graph: Graph, node: str) -> str:
    """The one entry of a node that is ``None``, else the node."""
    empty = [i for i, entry in enumerate(graph[node].next_functions) if entry is None]
    return f"{node}.{empty[0]}" if len(empty) == 1 else node
