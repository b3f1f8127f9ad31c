"""Paths from a parameter to a loss that pass no gradient, beside one that passes it."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from gradviz.analysis.code.grad_switches import is_switched_off
from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import statement_of
from gradviz.analysis.cuts import Cut, called
from gradviz.analysis.dataflow import Dataflow
from gradviz.model.calls import RecordedCall
from gradviz.model.cut_reasons import CutReason
from gradviz.model.events import OptimizerStepped, Write
from gradviz.model.explanation import CodeLine
from gradviz.model.history import EventPlace

_REASONS: Final[frozenset[CutReason]] = frozenset(
    {"detach", ".data", "no_grad", "inference mode", "left torch", "create_graph"}
)
"""Cuts of what has a derivative; a choice, as ``argmax``, has none that could be missing."""


class PartialPaths:
    """Where parts of the way from parameters to losses are cut.

    Only what the user's lines do counts, with the values that the parameter has in this pass: what
    a running mean or a target network has from earlier steps is no part of the way.

    Args:
        flow: The recording.
        losses: Keys of the tensors backward starts from.
    """

    def __init__(self, flow: Dataflow, losses: Sequence[str]) -> None:
        self._flow = flow
        self._losses = losses
        self._calls = calls = flow.behind(losses).calls
        left = [one.call for call in calls for one in flow.arrivals.get(call.place, ())]
        cut = [call for call in calls if _may_cut(call)]
        self._before = flow.behind((), (*left, *cut)).keys
        """What went into calls that may cut, and what that was computed from."""
        self._has_gradients = any(flow.is_gradient(key) for call in calls for key in call.reads)

    def cuts(self, parameter: str) -> list[Cut]:
        """The cuts, in the order in which they ran.

        Args:
            parameter: Key of a leaf that gets a gradient from the losses.
        """
        if parameter not in self._before and not self._has_gradients:
            return []
        since = self._last_write(parameter)
        calls = [call for call in self._calls if call.place > since]
        found: dict[object, Cut] = {}
        for cut in self._flow.on_all_paths(parameter, self._losses, calls).cuts:
            is_one = cut.reason in _REASONS and not cut.is_doubtful
            if is_one and _is_users(cut, self._flow):
                is_state = cut.is_state or self._is_older(cut, since)
                found.setdefault(_line_of(cut), replace(cut, is_state=is_state))
        return list(found.values())

    def _is_older(self, cut: Cut, since: EventPlace) -> bool:
        """Whether what came back has values of earlier steps from the same line as well."""
        if cut.arrived is None:
            return False
        values = self._flow.arrivals.get(cut.arrived.place, ())
        lines = (self._flow.history.line(v.call.place) for v in values if v.call.place < since)
        return cut.at is not None and any(
            line is not None and (line.code, line.line) == (cut.at.code, cut.at.line)
            for line in lines
        )

    def _last_write(self, parameter: str) -> EventPlace:
        """When the parameter got the values with which the losses were computed."""
        history = self._flow.history
        until = len(history.recording.records), 0
        made = (self._flow.maker(key, until) for key in self._losses)
        end = max((call.place for call in made if call is not None), default=until)
        writes = self._writes.get(parameter, [])
        before = bisect_left(writes, end)
        return writes[before - 1] if before else (0, 0)

    @cached_property
    def _writes(self) -> dict[str, list[EventPlace]]:
        """When each tensor was written, in order."""
        history = self._flow.history
        found: dict[str, list[EventPlace]] = {}
        for place, event in history.placed(OptimizerStepped):
            for key in event.updated:
                found.setdefault(key, []).append(place)
        for place, write in history.placed(Write):
            for key in write.tensors:
                found.setdefault(key, []).append(place)
        return {key: sorted(places) for key, places in found.items()}


def _may_cut(call: RecordedCall) -> bool:
    return call.recorded is False and bool(call.required) and call.made != ()


def has_left(cut: Cut) -> bool:
    """Whether a value became a number or an array, or was copied as if it were one."""
    return cut.reason == "left torch" or cut.arrived is not None


def arrival_of(cut: Cut) -> tuple[str, CodeLine | None]:
    """The call that used the value after it had left torch, and its line."""
    if cut.arrived is None:
        return called(cut.call), cut.at
    return called(cut.arrived.name), cut.wrapped


def _line_of(cut: Cut) -> tuple[object, ...]:
    at = cut.at
    return cut.reason, None if at is None else (at.code, at.line)


def _is_users(cut: Cut, flow: Dataflow) -> bool:
    """Whether a line of the user cut it off, not one inside a function of a library."""
    if cut.reason == "create_graph":
        return cut.at is not None
    statement = statement_of(flow.history, cut.at)
    if cut.reason in ("no_grad", "inference mode"):
        return statement is not None and any(map(is_switched_off, statement.around))
    site = site_of(flow.history, cut.place, cut.event)
    if site is None:
        return False
    if not isinstance(site.node, ast.Call) or cut.arrived is not None:
        return True
    return site.function_around(cut.call) is None or cut.call.startswith("__")
