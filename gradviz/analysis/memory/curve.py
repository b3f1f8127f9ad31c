"""Memory over the steps of a recording."""

from __future__ import annotations

from gradviz.model.devices import devices_of
from gradviz.model.memory import Curve, CurvePoint
from gradviz.model.recording import Recording, Step


def curve_of(recording: Recording) -> Curve:
    """Bytes held after every step, and the first step at which they are most."""
    points = tuple(map(_point, recording.all_steps))
    peak = max(points, key=lambda point: (point.held, -point.step))
    return Curve(points, peak.step, "allocated" if _is_on_cuda(recording) else "live")


def _point(step: Step) -> CurvePoint:
    code = step.code
    is_first = code is None or step.record.code == 0
    return CurvePoint(
        step=step.index,
        level=step.level,
        line=step.line,
        code="" if code is None or is_first else code.name.partition(":")[0],
        text="" if code is None or step.line is None else code.line(step.line),
        held=step.saved_bytes,
        beside=step.memory,
        number=step.number,
    )


def _is_on_cuda(recording: Recording) -> bool:
    """Whether ``step.memory`` is what the allocator of a GPU reported."""
    devices = devices_of(recording.graph.tensors, recording.graph.nodes)
    return any(device.startswith("cuda") for device in devices)
