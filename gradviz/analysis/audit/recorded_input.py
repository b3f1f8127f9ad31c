"""What an audit needs, as far as a recording alone has it."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gradviz.analysis.audit.auditor import audit_of
from gradviz.model.audit import Audit
from gradviz.model.audit_input import AuditInput, Gradient, LossFacts, ParameterFacts
from gradviz.model.events import OptimizerStepped
from gradviz.model.graph import Graph
from gradviz.model.history import History
from gradviz.model.reachability import entries, reachable
from gradviz.model.recording import Recording
from gradviz.model.records import TensorInfo, ValueSummary


def audit_in(recording: Recording) -> Audit | None:
    """The audit of the last loss of a recording, at its end.

    Parameters are the leaves with a name that require grad, and those of optimizers that stepped.

    Returns:
        ``None`` if the recording has no backward, its root no longer exists or has no name, or
        there are no parameters.
    """
    history, last = recording.history, len(recording.records) - 1
    rows = {row.id: row for row in history.tensors_at(last)}
    losses = _losses(history, rows)
    parameters = [rows[key] for key in _parameters(history, rows)]
    if not losses or not parameters:
        return None
    roots = tuple((row.node, row.output_nr) for row in losses if row.node is not None)
    behind = set(reachable([key for key, _ in roots], lambda k: entries(history.node(k, last))))
    nodes = [node for node in history.nodes_at(last) if node.id in behind]
    facts = AuditInput(
        tuple(
            LossFacts(row.name or "loss", (row.name or "", *row.aliases), row.id, place)
            for place, row in enumerate(losses)
        ),
        tuple(map(_parameter, parameters)),
        Graph.of(nodes, roots, tuple(rows.values())),
    )
    return audit_of(facts, recording)


def _losses(history: History, rows: dict[str, TensorInfo]) -> list[TensorInfo]:
    """The roots of the last backward that raised nothing, as tensors that still exist; none if one
    of them does not."""
    starts = [event for _, event in history.started.values() if event.inside is None]
    found = []
    for node, output_nr in starts[-1].roots if starts else ():
        keys = history.outputs_of(node, len(history.recording.records), output_nr)
        alive = [rows[key] for key in keys if key in rows and rows[key].name and rows[key].node]
        if not alive:
            return []
        found.append(alive[0])
    return found


def _parameters(history: History, rows: dict[str, TensorInfo]) -> Iterator[str]:
    stepped = {key for _, event in history.placed(OptimizerStepped) for key in event.parameters}
    for key, row in rows.items():
        if row.name and row.is_leaf and (row.requires_grad or key in stepped):
            yield key


def _parameter(row: TensorInfo) -> ParameterFacts:
    grad = None if row.grad is None else _gradient(row.grad)
    names = (row.name or "", *row.aliases)
    return ParameterFacts(names[:1], names, row.id, row.shape, row.dtype, row.device, grad=grad)


def _gradient(found: ValueSummary) -> Gradient:
    zeros = None if found.values is None else sum(value == 0 for value in found.values)
    return Gradient(
        found.shape,
        found.dtype,
        numbers=prod(found.shape),
        zeros=zeros,
        nan=0 if found.has_nan is False else None,
        inf=0 if found.has_inf is False else None,
        norm=found.norm,
        is_unread=found.is_unread,
    )
