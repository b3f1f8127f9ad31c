"""Tells which lines run and when functions of interest are entered and left.

NOTE [Tracing that changes no lifetime]
Up to Python 3.12 a trace function set with ``sys.settrace`` makes the interpreter copy the local
variables of every traced frame into a dictionary that lives as long as the frame: a tensor that
a function rebinds or deletes would live on, and with it memory and weak references would differ.
So lines are told by ``sys.monitoring`` where it exists (3.12), which touches no frame, and
before that by a trace function on the level of C, which gets the frame as it is: NOTE [Two trace
functions]. Where there is room for neither: NOTE [Steps from observed calls].
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import TypeAlias

from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.observers.observer import Observers
from gradviz.capture.recorder.tracers.from_calls import CallTracer

if sys.version_info >= (3, 12):
    from gradviz.capture.recorder.tracers.monitoring import MonitoringTracer as LineTracer

    _FULL = "debuggers and profilers use all places that sys.monitoring has for them"
else:
    from gradviz.capture.recorder.tracers.frame import FrameTracer as LineTracer

    _FULL = "something that traces lines already has nothing that could be called on"

Tracer: TypeAlias = "LineTracer | CallTracer"


def make_tracer(lines: LineEvents, observers: Observers, first: FrameType | None) -> Tracer:
    """The best way of tracing that this Python has room for."""
    if LineTracer.has_room():
        return LineTracer(lines, observers, first)
    return CallTracer(lines, observers, first, _FULL)
