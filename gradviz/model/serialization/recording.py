"""A recording as a JSON document, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from gradviz.model.events import EVENTS, Event, Operand, Position
from gradviz.model.recording import Code, Recording, RowChanges, StepRecord
from gradviz.model.records import Hook, Node, SavedTensor, TensorInfo, ValueSummary
from gradviz.model.serialization.graph import read_node, read_tensor, sparse, tuples, without_device

FORMAT: Final = "gradviz recording 2"
_PARTS: Final[dict[str, Any]] = {
    "inputs": Operand,
    "outputs": Operand,
    "gradients": ValueSummary,
    "gradient": ValueSummary,
    "grad_outputs": ValueSummary,
    "grad_inputs": ValueSummary,
    "before": ValueSummary,
    "after": ValueSummary,
    "returned": ValueSummary,
    "used": SavedTensor,
    "hook": Hook,
    "position": Position,
}
"""Which dataclass a field of an event holds, alone or in a tuple."""


def write(recording: Recording) -> str:
    """The document of a recording; fields with their default value are left out."""
    device = recording.device
    document = {
        "format": FORMAT,
        "label": recording.label,
        **({} if recording.kind == "whole" else {"kind": recording.kind}),
        "device": device,
        "codes": [sparse(code) for code in recording.codes],
        "steps": [_step(step, device) for step in recording.records],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read(text: str) -> Recording:
    """The recording of a document.

    Raises:
        ValueError: If the text is not JSON or not a document of this format.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"this is not a {FORMAT!r} document; recording.to_json() writes one")
    device = document["device"]
    return Recording(
        [_read_step(step, device) for step in document["steps"]],
        [Code(**code) for code in document["codes"]],
        device,
        document["label"],
        document.get("kind", "whole"),
    )


def _step(step: StepRecord, device: str | None) -> dict[str, Any]:
    changes = step.changes
    entry: dict[str, Any] = {
        "kind": step.kind,
        "level": step.level,
        "line": step.line,
        "code": step.code,
        "node": step.node,
        "saved_bytes": step.saved_bytes,
        "memory": step.memory,
        "backward": step.backward,
        "events": [{"kind": event.kind, **sparse(event)} for event in step.events],
        "nodes": [[key, _row(node, device)] for key, node in changes.nodes],
        "tensors": [[key, _row(info, device)] for key, info in changes.tensors],
    }
    entry = {name: value for name, value in entry.items() if value not in (None, [])}
    return entry if changes.roots is None else entry | {"roots": sparse(changes.roots)}


def _row(row: Node | TensorInfo | None, device: str | None) -> Any:
    return None if row is None else sparse(without_device(row, device))


def _read_step(entry: Mapping[str, Any], device: str | None) -> StepRecord:
    nodes = tuple(
        (key, None if row is None else read_node(row, device))
        for key, row in entry.get("nodes", ())
    )
    tensors = tuple(
        (key, None if row is None else read_tensor(row, device))
        for key, row in entry.get("tensors", ())
    )
    roots = tuples(entry["roots"]) if "roots" in entry else None
    return StepRecord(
        kind=entry["kind"],
        level=entry["level"],
        line=entry.get("line"),
        code=entry["code"],
        node=entry.get("node"),
        events=tuple(map(_read_event, entry.get("events", ()))),
        changes=RowChanges(nodes, tensors, roots),
        saved_bytes=entry["saved_bytes"],
        memory=entry.get("memory"),
        backward=entry.get("backward"),
    )


def _read_event(entry: Mapping[str, Any]) -> Event:
    kind = EVENTS[entry["kind"]]
    return kind(**{name: _field(name, v) for name, v in entry.items() if name != "kind"})


def _field(name: str, value: Any) -> Any:
    part = _PARTS.get(name)
    if isinstance(value, dict) and part is not None:
        return part(**{key: tuples(item) for key, item in value.items()})
    if isinstance(value, list):
        return tuple(_field(name, item) for item in value)
    return value
