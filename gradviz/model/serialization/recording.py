"""A recording as a JSON document, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from gradviz.model.events import EVENTS, Event
from gradviz.model.progress import counted
from gradviz.model.recording import (
    Code,
    Recording,
    RecordingKind,
    RowChanges,
    StepKind,
    StepRecord,
)
from gradviz.model.records import ModuleInfo, Node, TensorInfo
from gradviz.model.serialization.formats import RECORDING
from gradviz.model.serialization.graph import device_of, row_readers, sparse, without_device
from gradviz.model.serialization.reader import (
    DamagedError,
    items_reader,
    object_reader,
    optional,
    parse,
    reader,
    row_reader,
)
from gradviz.model.serialization.references import check_recording


@dataclass(frozen=True, slots=True)
class StepDocument:
    """What a document holds of a step: a :class:`StepRecord` with its changes beside it."""

    kind: StepKind
    level: int
    code: int
    saved_bytes: int
    line: int | None = None
    node: str | None = None
    memory: int | None = None
    backward: int | None = None
    depth: int = 0
    times: int | None = None
    events: tuple[Event, ...] = ()
    nodes: tuple[tuple[str, Node | None], ...] = ()
    tensors: tuple[tuple[str, TensorInfo | None], ...] = ()
    roots: tuple[tuple[str, int], ...] | None = None

    def record(self) -> StepRecord:
        """The step as a recording stores it."""
        changes = RowChanges(self.nodes, self.tensors, self.roots)
        return StepRecord(
            self.kind,
            self.level,
            self.line,
            self.code,
            self.node,
            self.events,
            changes,
            self.saved_bytes,
            self.memory,
            self.backward,
            depth=self.depth,
            times=self.times,
        )


@dataclass(frozen=True, slots=True)
class RecordingDocument:
    """What the document of a recording holds."""

    format: str
    label: str
    device: str | None
    codes: tuple[Code, ...]
    steps: tuple[StepDocument, ...]
    kind: RecordingKind = "whole"
    modules: tuple[ModuleInfo, ...] = ()
    order: tuple[str, ...] | None = None
    values_left_out: bool = False


def write(recording: Recording) -> str:
    """The document of a recording; fields with their default value are left out."""
    device, steps = recording.device, recording.records
    document = {
        "format": RECORDING.name,
        "label": recording.label,
        **({} if recording.kind == "whole" else {"kind": recording.kind}),
        "device": device,
        **({"values_left_out": True} if recording.values_left_out else {}),
        "codes": [sparse(code) for code in recording.codes],
        "steps": [_step(step, device) for step in counted(steps, "steps written", len(steps))],
        **({"modules": [sparse(one) for one in recording.modules]} if recording.modules else {}),
        **({} if recording.order is None else {"order": list(recording.order)}),
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read(text: str) -> Recording:
    """The recording of a document.

    Raises:
        DocumentError: If the text is not JSON, not a document of this format, or holds what the
            format does not allow; the message has the place.
    """
    document = parse(text, RECORDING)
    device = device_of(document)
    read_node, read_tensor = (
        items_reader(row_reader((reader(str), optional(read)))) for read in row_readers(device)
    )
    read_step = object_reader(
        StepDocument, events=items_reader(_read_event), nodes=read_node, tensors=read_tensor
    )
    read_document = object_reader(RecordingDocument, steps=items_reader(read_step, "steps read"))
    found: RecordingDocument = read_document(document)
    records = [step.record() for step in found.steps]
    check_recording(records, found.modules, found.order)
    return Recording(
        *(records, found.codes, device, found.label, found.kind, found.modules, found.order),
        values_left_out=found.values_left_out,
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
        "depth": step.depth or None,
        "times": step.times,
        "events": [{"kind": event.kind, **sparse(event)} for event in step.events],
        "nodes": [[key, _row(node, device)] for key, node in changes.nodes],
        "tensors": [[key, _row(info, device)] for key, info in changes.tensors],
    }
    entry = {name: value for name, value in entry.items() if value not in (None, [])}
    return entry if changes.roots is None else entry | {"roots": sparse(changes.roots)}


def _row(row: Node | TensorInfo | None, device: str | None) -> Any:
    return None if row is None else sparse(without_device(row, device))


def _read_event(value: Any) -> Event:
    kind = value.get("kind") if type(value) is dict else None
    if type(kind) is not str or kind not in EVENTS:
        raise DamagedError(f"this is no event: its kind is none of {', '.join(map(repr, EVENTS))}")
    event: Event = reader(EVENTS[kind])(
        {name: item for name, item in value.items() if name != "kind"}
    )
    return event
