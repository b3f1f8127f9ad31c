"""Which parameters get a gradient from a loss, why others get none, and what is updated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradviz.analysis.audit.grad_history import CLOSURE, SUM, GradHistory
from gradviz.analysis.audit.gradient_reach import Arrival, arrivals
from gradviz.analysis.audit.optimizer_step import NEEDS_CLOSURE, update_of
from gradviz.analysis.audit.reasons_live import LiveReasons
from gradviz.analysis.audit.reasons_recorded import RecordedReasons, Verdict
from gradviz.analysis.audit.sentences import first_of, notes_of, sentences_of, title_of
from gradviz.analysis.audit.tables import tables_of
from gradviz.analysis.cuts import has_no_gradient
from gradviz.model.audit import Audit, GraphState, ParameterAudit
from gradviz.model.audit_input import AuditInput, ParameterFacts
from gradviz.model.cut_reasons import REASONS
from gradviz.model.devices import is_shared_out
from gradviz.model.formatting import shape
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.recording import Recording
from gradviz.model.records import Node, TensorInfo


def audit_of(facts: AuditInput, recording: Recording | None = None) -> Audit:
    """What was found.

    Args:
        facts: What was read from live objects.
        recording: The forward, if it was recorded.
    """
    auditor = _Auditor(facts, recording)
    rows = tuple(auditor.row(place) for place in range(len(facts.parameters)))
    refusal = auditor.refusal
    is_recorded = recording is not None and not auditor.problem
    sentences = sentences_of(facts, rows, auditor.state, auditor.problem, refusal, is_recorded)
    first = first_of(facts, rows, auditor.state, sentences)
    return Audit(
        title_of(facts, rows, auditor.state, auditor.saw_all(rows), refusal),
        first,
        tables_of(facts, rows, auditor.verdicts),
        facts.graph,
        tuple(auditor.marks(rows)),
        rows,
        auditor.state,
        facts.optimizer,
        sentences,
        notes_of(rows, auditor.state, refusal, first),
    )


def state_of(nodes: Sequence[Node]) -> GraphState:
    """What the nodes of a graph hold for backward."""
    if not nodes:
        return "no graph"
    states = {node.state for node in nodes}
    holds = not states.isdisjoint({"holds", "packed"})
    if "freed" in states:
        return "partly freed" if holds else "freed"
    return "holds" if holds else "saves nothing"


class _Auditor:
    def __init__(self, facts: AuditInput, recording: Recording | None) -> None:
        self._facts = facts
        self._graph = facts.graph
        self._rows = {info.id: info for info in facts.graph.tensors}
        nodes = tuple(facts.graph.nodes)  # built at each access, so they are read once
        given = dict(facts.given)
        self._arrivals = arrivals(nodes, facts.graph.roots, facts.functions, given)
        self.state = state_of(nodes)
        self.refusal = _refusal(nodes)
        """Why a backward would raise now, ``""`` if the graph shows no reason."""
        own = {one.tensor for one in facts.parameters}
        self._wholes = {leaf.storage: leaf for leaf in facts.graph.leaves if leaf.id not in own}
        """Leaves of the graph that are no parameters, by their storages."""
        self._live = LiveReasons(facts, nodes)
        self._recorded = None if recording is None else RecordedReasons(facts, recording)
        self.problem = "" if self._recorded is None else self._recorded.problem
        self.verdicts: dict[int, Verdict] = {}
        """Why parameters are not reached, by place."""
        self._histories = [
            GradHistory() if self._recorded is None else self._recorded.history(place)
            for place in range(len(facts.parameters))
        ]
        self._has_all_graphs = all(loss.root is not None for loss in facts.losses)

    def row(self, place: int) -> ParameterAudit:
        """What was found about one parameter."""
        facts = self._facts.parameters[place]
        info = self._rows[facts.tensor]
        row = ParameterAudit(
            facts.names[0],
            facts.names,
            facts.tensor,
            facts.shape,
            facts.dtype,
            facts.device,
            info.requires_grad,
            None,
            None,
            grad=facts.grad,
            group=facts.group,
        )
        row = self._gradient(place, row, info)
        row = replace(row, stale=self._stale(place, row))
        if row.gets_gradient and self._recorded is not None:
            row = replace(row, partly=tuple(self._recorded.partly(place)))
        row = replace(row, also=(*row.also, *self._seen(place, row)))
        updated, update = update_of(
            row, facts, self._facts.optimizer, self.state, self._histories[place].updated
        )
        return replace(row, updated=updated, update=update)

    def _seen(self, place: int, row: ParameterAudit) -> Iterator[str]:
        """What else a recording shows about its ``.grad``."""
        history = self._histories[place]
        yield from (cut.why for cut in row.partly)
        if history.is_sum:
            yield SUM
        if history.is_stale and self._is_of_closure(row):
            yield CLOSURE
        if row.gets_gradient and row.grad is None and "freed" in self.state and history.missing:
            yield f"no .grad now: {history.missing}"

    def _gradient(self, place: int, row: ParameterAudit, info: TensorInfo) -> ParameterAudit:
        """The row, completed by whether the parameter gets a gradient."""
        facts = self._facts.parameters[place]
        if info.may_be_elsewhere:
            why = "it is a view whose base was modified; reading its grad_fn could change it"
            return replace(row, why=why)
        arrival = None
        if info.node is not None:
            arrival = self._arrivals.get((info.node, info.output_nr))
        row = replace(row, reached=arrival is not None)
        refused = _refused(facts, info, arrival is not None, self._graph)
        if refused is not None:
            frozen = None if self._recorded is None else self._recorded.frozen(place)
            if refused.reason == "frozen" and frozen is not None:
                though = ", though the graph reaches it" if row.reached else ""
                refused = self.verdicts[place] = replace(frozen, why=frozen.why + though)
            why, at = refused.why, refused.at
            return replace(row, gets_gradient=False, reason=refused.reason, why=why, at=at)
        if arrival is not None:
            return self._arrives(place, row, arrival)
        verdict = self._verdict(place)
        self.verdicts[place] = verdict
        row = replace(row, at=verdict.at, also=verdict.also)
        giver = self._giver(info)
        if giver:
            return replace(row, why=f"{verdict.why}, but {giver} may give it a gradient")
        row = replace(row, reason=verdict.reason, why=verdict.why, unknown=verdict.unknown)
        return replace(row, gets_gradient=False)

    def _giver(self, info: TensorInfo) -> str:
        """What may give a gradient to a tensor to which the graph does not lead."""
        if is_shared_out(info.device) and len(self._graph):
            return "code such as fully_shard"
        whole = self._wholes.get(info.storage or "")
        if whole is not None and whole.shape != info.shape:
            name = whole.name or f"a leaf of shape {shape(whole.shape)}"
            return f"code that divides the gradient of {name}, of which it is a part,"
        return next(iter(self._facts.givers), "")

    def _arrives(self, place: int, row: ParameterAudit, arrival: Arrival) -> ParameterAudit:
        """The row of a parameter that the graph reaches."""
        takers = (*self._facts.parameters[place].takers, *self._facts.takers)
        history = self._histories[place]
        if history.received:
            return replace(row, gets_gradient=True)
        if not arrival.is_sure:
            name = f"{self._graph[arrival.up_to].name} ({arrival.up_to})"
            if history.received is False:
                why = f"{name} returned no gradient for it in the recorded backward"
                return replace(row, gets_gradient=False, reason="not given", why=why)
            if arrival.is_never:
                why = f"{name} is compiled code, whose backward returns no gradient for it"
                return replace(row, gets_gradient=False, reason="not given", why=why)
            why = f"the graph reaches it only through {name}, which may return no gradient"
        elif takers:
            why = f"{takers[0]} may clear its .grad"
        elif self.refusal:
            why = self.refusal
        elif row.grad is None and history.missing and "freed" in self.state:
            why = history.missing
        elif self.state == "partly freed":
            why = "part of the graph is freed: a backward ran over that part, or raised an error"
        elif self.state == "freed" and row.grad is None:
            why = (
                "zero_grad() ran after backward, or autograd.grad() ran instead of backward, or "
                "inputs= left it out"
            )
        else:
            return replace(row, gets_gradient=True)
        return replace(row, why=why)

    def _verdict(self, place: int) -> Verdict:
        live = self._live.verdict(place)
        if self._recorded is None or self.problem or live.reason == "rebound":
            return live
        recorded = self._recorded.verdict(place)
        if recorded.reason == "unknown" and live.reason != "unknown":
            return live
        marks = tuple(dict.fromkeys((*recorded.marks, *live.marks)))
        return replace(recorded, marks=marks)

    def _stale(self, place: int, row: ParameterAudit) -> bool | None:
        """Whether its ``.grad`` is not from this loss.

        A ``.grad`` does not show what filled it: ``autograd.grad()`` may have freed a freed graph,
        and one that still has its saved tensors may have run with ``retain_graph=True``. So this is
        known only of parameters that a loss with a graph does not reach, and of recorded ones.
        """
        if row.grad is None:
            return None
        known = self._histories[place].is_stale
        if known and self._is_of_closure(row):
            return None
        if known is not None:
            return known
        is_outside = row.reached is False and row.gets_gradient is False
        return True if is_outside and self._has_all_graphs else None

    def _is_of_closure(self, row: ParameterAudit) -> bool:
        """Whether its ``.grad`` may be of another loss only because the optimizer calls a closure
        several times."""
        optimizer = self._facts.optimizer
        is_closure = optimizer is not None and optimizer.name == NEEDS_CLOSURE
        return is_closure and row.gets_gradient is not False

    def saw_all(self, rows: Sequence[ParameterAudit]) -> bool:
        """Whether a recording contains the backward that filled every reached parameter."""
        pairs = zip(rows, self._histories)
        return all(seen.received for row, seen in pairs if row.gets_gradient is not False)

    def marks(self, rows: tuple[ParameterAudit, ...]) -> list[Highlight]:
        """Where the graph is cut, and which parameters it does not fill."""
        cut: dict[str, str] = {}
        for verdict in self.verdicts.values():
            for key in verdict.marks:
                cut.setdefault(key, verdict.why)
        found = [Highlight(key, "cut", words) for key, words in cut.items()]
        for row in rows:
            if row.gets_gradient is False:
                found.append(Highlight(row.tensor, "unreached", f"{row.reason}: {row.why}"))
        return found


def _refused(
    facts: ParameterFacts, info: TensorInfo, is_reached: bool, graph: Graph
) -> Verdict | None:
    """Why a parameter can get no gradient, whatever the graph."""
    if facts.shape is None:
        return Verdict("uninitialised", "it has no shape before the first input")
    if not info.requires_grad:
        if has_no_gradient(info.dtype):
            return Verdict("integer", f"it is {info.dtype}, which has no gradient")
        though = " now, though the graph reaches it" if is_reached else ""
        return Verdict("frozen", REASONS["requires_grad"].short + though)
    if is_reached and not info.is_leaf and not info.retains_grad and info.node is not None:
        node = f"{graph[info.node].name} ({info.node})"
        return Verdict("not a leaf", f"it is a result of {node}: only retain_grad() keeps .grad")
    return None


def _refusal(nodes: Sequence[Node]) -> str:
    """Why a backward over this graph would raise, ``""`` if the graph shows no reason."""
    for node in nodes:
        if node.name.startswith("NotImplemented"):
            return f"backward raises at {node.id}: torch has no derivative for it"
        for slot in node.saved:
            if slot.state == "modified":
                return (
                    f"backward raises at {node.name} ({node.id}): its saved {slot.name} was "
                    "modified in place"
                )
    return ""
