"""From what was written down to a :class:`~gradviz.model.Recording`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradviz.capture.recorder.counted_steps import WrittenStep
from gradviz.capture.recorder.live_graph import HeldBytes, LiveGraph
from gradviz.model import Node, Recording
from gradviz.model.ids import number_of
from gradviz.model.recording import Code, RecordingKind, RowChanges, StepRecord


def build_recording(
    written: Sequence[WrittenStep],
    live_graph: LiveGraph,
    codes: Sequence[Code],
    label: str,
    kind: RecordingKind = "whole",
) -> Recording:
    """The recording; its first step has what existed before it began."""
    devices = live_graph.devices
    steps = [step.record for step in written]
    if any(device.startswith("cuda") for device in devices):
        steps = [replace(step.record, memory=step.allocated) for step in written]
    device = devices[0] if len(devices) == 1 else None
    nodes = sorted(live_graph.first_nodes.items(), key=_number)
    tensors = sorted(live_graph.first_tensors.items(), key=_number)
    first = replace(steps[0], changes=RowChanges(tuple(nodes), tuple(tensors), _heads(nodes)))
    return Recording(_with_bytes([first, *steps[1:]]), codes, device, label, kind)


def _heads(nodes: Sequence[tuple[str, Node]]) -> tuple[tuple[str, int], ...]:
    used = {entry[0] for _, row in nodes for entry in row.next_functions if entry is not None}
    return tuple((key, 0) for key, _ in nodes if key not in used)


def _with_bytes(steps: Sequence[StepRecord]) -> list[StepRecord]:
    """Steps with the bytes that saved tensors keep, those of older graphs among them; steps that
    stand for many have the most that was kept at any of them."""
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
        most = held.total if step.times is None else max(held.total, step.saved_bytes)
        made.append(step if step.saved_bytes == most else replace(step, saved_bytes=most))
    return made


def _number(row: tuple[str, object]) -> int:
    return number_of(row[0])
