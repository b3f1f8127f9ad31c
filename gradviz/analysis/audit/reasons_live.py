"""Why a parameter is not reached, as far as live tensors and the graph of the loss show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from gradviz.analysis.audit.naming import FEW
from gradviz.analysis.audit.reasons_recorded import REBOUND, Verdict
from gradviz.analysis.cuts import has_no_gradient
from gradviz.model.audit_input import AuditInput, UnknownTensor
from gradviz.model.records import Node, SavedTensor, TensorInfo
from gradviz.model.sentence import listed

ASK: Final = (
    "Not known: whether it was used, whether it required grad then, and where it was cut off. Run "
    "the forward in gradviz.record() and pass recording=."
)
CUT: Final = "detach(), .data or a view under no_grad cut it off"
"""Operations whose result has no graph, but shares the storage of a tensor that has one."""
WHICH: Final = "A recording of the forward shows which: pass recording=."
LOOKED_AT_SOME: Final = "Not all graphs of named tensors were examined."
_Slot = tuple[str, int, SavedTensor]


class LiveReasons:
    """Finds reasons in live tensors and graphs for parameters that get no gradient.

    Args:
        facts: What was read.
        nodes: All nodes of the graph.
    """

    def __init__(self, facts: AuditInput, nodes: Sequence[Node]) -> None:
        self._facts = facts
        self._loss = facts.losses[0].name if len(facts.losses) == 1 else "the loss"
        self._graph = facts.graph
        self._rows = {info.id: info for info in facts.graph.tensors}
        self._saved: dict[str, list[_Slot]] = {}
        for node in nodes:
            for place, slot in enumerate(node.saved):
                if slot.storage is not None and slot.state == "held":
                    self._saved.setdefault(slot.storage, []).append((node.id, place, slot))
        rows = (self._rows.get(parameter.tensor) for parameter in facts.parameters)
        self._sharing = Counter(row.storage for row in rows if row is not None)

    def verdict(self, place: int) -> Verdict:
        """Why the parameter at this place is not reached."""
        for found in (
            self._lost(place),
            self._rebound(place),
            self._used(place),
            self._aliased(place),
        ):
            if found is not None:
                return found
        also = tuple(self._hints(place))
        unknown = (ASK,) if self._facts.has_looked else (ASK, LOOKED_AT_SOME)
        why = "not in the graph of the loss"
        return Verdict("unknown", why, also=also, unknown=unknown)

    def _lost(self, place: int) -> Verdict | None:
        """A loss that has no graph at all."""
        if any(loss.root is not None for loss in self._facts.losses):
            graph = self._graph
            if len(graph) == 1 and graph["n0"].variable is not None:
                name = self._facts.losses[0].name
                return Verdict(
                    "no graph",
                    f"{name} is a leaf: no recorded operation computed it",
                    unknown=(ASK,),
                    marks=("n0",),
                )
            return None
        loss = self._facts.losses[0]
        row = self._rows[loss.tensor]
        marks = (loss.tensor,)
        if has_no_gradient(row.dtype):
            why = f"{loss.name} is {row.dtype}, and has no gradient"
            return Verdict("integer", why, marks=marks)
        for alias in self._facts.aliases:
            if alias.tensor == loss.tensor and place in alias.parameters:
                why = f"{loss.name} shares the storage of {alias.of}, and has no graph: {CUT}"
                return Verdict("detached", why, marks=marks, call="detach() or similar")
        if row.is_inference:
            why = f"{loss.name} was made in inference mode"
            return Verdict("inference mode", why, marks=marks)
        return Verdict(
            "no graph",
            f"{loss.name} has no graph: it does not require grad",
            also=tuple(self._hints(place)),
            unknown=(ASK,),
            marks=marks,
        )

    def _rebound(self, place: int) -> Verdict | None:
        optimizer = self._facts.optimizer
        names = self._facts.parameters[place].names
        for stranger in optimizer.strangers if optimizer is not None else ():
            if stranger.stands_for in names and self._is_leaf_of_graph(stranger):
                why = REBOUND.format(names[0])
                return Verdict("rebound", why, marks=(stranger.tensor,))
        return None

    def _is_leaf_of_graph(self, stranger: UnknownTensor) -> bool:
        row = self._rows.get(stranger.tensor)
        return row is not None and row.node is not None

    def _used(self, place: int) -> Verdict | None:
        """A node has saved the parameter, or an alias of it, as a constant."""
        row = self._rows.get(self._facts.parameters[place].tensor)
        if row is None or row.storage is None or self._sharing[row.storage] > 1:
            return None
        for key, at, slot in self._saved.get(row.storage, ()):
            if key in self._facts.functions:
                continue  # a custom Function may save tensors that are not its inputs
            node = f"{self._graph[key].name} ({key})"
            mark = (f"{key}.saved.{at}",)
            if slot.tensor == row.id:
                why = f"{node} saved it as a constant: it did not require grad when it was used"
                return Verdict("frozen", why, marks=mark)
            why = (
                f"{node} uses a tensor on its storage that has no graph: it did not require grad "
                f"when it was used, or {CUT}"
            )
            return Verdict("unknown", why, unknown=(WHICH,), marks=mark)
        return None

    def _aliased(self, place: int) -> Verdict | None:
        """A node has saved a tensor on the storage of one that is computed from the parameter."""
        for carrier in self._facts.carriers:
            slots = self._saved.get(carrier.storage or "", ())
            if place in carrier.parameters and slots:
                key, at, slot = slots[0]
                of = carrier.name or "a tensor that is computed from it"
                alias = self._rows.get(slot.tensor or "")
                what = "a tensor" if alias is None or alias.name is None else alias.name
                why = (
                    f"{self._graph[key].name} ({key}) uses {what} on the storage of {of}, without "
                    f"a graph: {CUT}"
                )
                marks = (f"{key}.saved.{at}",) if alias is None else (alias.id, f"{key}.saved.{at}")
                return Verdict("detached", why, marks=marks, call="detach() or similar")
        return None

    def _hints(self, place: int) -> Iterator[str]:
        """Live tensors that may be related to it."""
        on_memory: set[str] = set()
        for alias in self._facts.aliases:
            if place in alias.parameters and alias.without:
                on_memory.add(alias.of)
                yield (
                    f"{alias.without} shares the storage of {alias.of}, which is computed from it, "
                    f"but has no graph (detach() or similar); whether {self._loss} uses "
                    f"{alias.without} is not known"
                )
        carriers = [
            carrier.name
            for carrier in self._facts.carriers
            if place in carrier.parameters and carrier.name and carrier.name not in on_memory
        ]
        if carriers:
            few = listed(carriers, FEW)
            verb = "is" if len(carriers) == 1 else "are"
            yield (
                f"{few} {verb} computed from it, but the graph of {self._loss} does not reach {few}"
            )
        yield from self._nameless(place)

    def _nameless(self, place: int) -> Iterator[str]:
        parameter = self._facts.parameters[place]
        own = {one.tensor for one in self._facts.parameters}

        def is_like(info: TensorInfo) -> bool:
            return info.name is None and info.id not in own and info.shape == parameter.shape

        if any(is_like(info) for info in self._graph.leaves):
            yield (
                "the graph ends at a leaf of the same shape that has no name now, as happens "
                "when a parameter is replaced after the forward"
            )
