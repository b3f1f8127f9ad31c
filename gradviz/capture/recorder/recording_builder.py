"""From what was written down to a :class:`~gradviz.model.Recording`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from gradviz.capture.recorder.counted_steps import WrittenStep
from gradviz.capture.recorder.live_graph import HeldBytes, LiveGraph
from gradviz.model import Graph, Node, Recording
from gradviz.model.ids import number_of
from gradviz.model.progress import counted
from gradviz.model.recording import Code, RecordingKind, RowChanges, StepRecord
from gradviz.model.records import ModuleInfo


def build_recording(
    written: Sequence[WrittenStep],
    live_graph: LiveGraph,
    codes: Sequence[Code],
    label: str,
    kind: RecordingKind = "whole",
    types: Mapping[str, str] = MappingProxyType({}),
) -> Recording:
    """The recording; its first step has what existed before it began.

    Args:
        written: The steps.
        live_graph: The graph at the end.
        codes: Source texts.
        label: What was recorded.
        kind: Whether the code was recorded.
        types: Names of the classes of the modules that were called, by their paths.
    """
    devices = live_graph.devices
    steps = [step.record for step in written]
    if any(device.startswith("cuda") for device in devices):
        steps = [replace(step.record, memory=step.allocated) for step in written]
    device = devices[0] if len(devices) == 1 else None
    nodes = sorted(live_graph.first_nodes.items(), key=_number)
    tensors = sorted(live_graph.first_tensors.items(), key=_number)
    first = replace(steps[0], changes=RowChanges(tuple(nodes), tuple(tensors), _heads(nodes)))
    records = _with_bytes([first, *steps[1:]])
    modules = [ModuleInfo(path, name) for path, name in types.items()]
    found = Recording(records, codes, device, label, kind, modules)
    order = _order(found.graph, live_graph.numbers)
    return (
        found if order is None else Recording(records, codes, device, label, kind, modules, order)
    )


def _order(graph: Graph, numbers: Mapping[str, int]) -> list[str] | None:
    """Ids of the nodes by the numbers that torch gave them; ``None`` where that says nothing new,
    or where threads have made nodes that count their own."""
    made = [node.id for node in graph.nodes if node.variable is None]
    if not all(key in numbers for key in made):
        return None
    order = sorted(made, key=numbers.__getitem__)
    return None if order == [graph.nodes[place].id for place in graph.order] else order


def _heads(nodes: Sequence[tuple[str, Node]]) -> tuple[tuple[str, int], ...]:
    used = {entry[0] for _, row in nodes for entry in row.next_functions if entry is not None}
    return tuple((key, 0) for key, _ in nodes if key not in used)


def _with_bytes(steps: Sequence[StepRecord]) -> list[StepRecord]:
    """Steps with the bytes that saved tensors keep, those of older graphs among them; steps that
    stand for many have the most that was kept at any of them."""
    held = HeldBytes()
    rows: dict[str, Node] = {}
    made = []
    for step in counted(steps, "steps read", len(steps)):
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
