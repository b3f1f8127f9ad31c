"""From what was written down to a :class:`~gradviz.model.Recording`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradviz.capture.recorder.state import HeldBytes, State
from gradviz.capture.recorder.steps import Steps
from gradviz.model import Node, Recording
from gradviz.model.recording import Changes, Code, RecordingKind, StepFacts


def finished(
    written: Steps,
    state: State,
    codes: Sequence[Code],
    label: str,
    kind: RecordingKind = "whole",
) -> Recording:
    """The recording; what existed before it began stands in its first step."""
    devices = state.devices
    steps = written.made
    if any(device.startswith("cuda") for device in devices):
        pairs = zip(steps, written.allocated, strict=True)
        steps = [replace(step, memory=allocated) for step, allocated in pairs]
    device = next(iter(devices)) if len(devices) == 1 else None
    nodes = sorted(state.first_nodes.items(), key=_number)
    tensors = sorted(state.first_tensors.items(), key=_number)
    first = replace(steps[0], changes=Changes(tuple(nodes), tuple(tensors), _heads(nodes)))
    return Recording(_with_bytes([first, *steps[1:]]), codes, device, label, kind)


def _heads(nodes: Sequence[tuple[str, Node]]) -> tuple[tuple[str, int], ...]:
    used = {entry[0] for _, row in nodes for entry in row.next_functions if entry is not None}
    return tuple((key, 0) for key, _ in nodes if key not in used)


def _with_bytes(steps: Sequence[StepFacts]) -> list[StepFacts]:
    """Steps with the bytes that saved tensors keep, those of older graphs among them."""
    held = HeldBytes()
    rows: dict[str, Node] = {}
    made = []
    for step in steps:
        for key, row in step.changes.nodes:
            held.replace(rows.get(key), row)
            if row is None:
                rows.pop(key, None)
            else:
                rows[key] = row
        made.append(replace(step, saved_bytes=held.total))
    return made


def _number(row: tuple[str, object]) -> int:
    return int(row[0][1:])
