"""Read gradients, steps and ReLUs of a recording."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from math import hypot, isfinite

from gradviz.analysis.code.statements import last_name, statements_at
from gradviz.analysis.gradient_flow.sentences import notes_of, sentences_of, title_of
from gradviz.analysis.gradient_flow.tables import tables_of
from gradviz.model.events import Accumulated, NodeRan, Operation, OptimizerStepped, Write
from gradviz.model.explanation import CodeLine
from gradviz.model.formatting import shape
from gradviz.model.gradient_flow import (
    BackwardFlow,
    GradientFlow,
    ParameterFlow,
    ReluFlow,
    norm_of,
)
from gradviz.model.history import EventPlace, History
from gradviz.model.recording import Recording


def gradient_flow_of(
    recording: Recording, paths: Mapping[str, tuple[int, ...]] | None = None
) -> GradientFlow:
    """What a recording shows of its gradients.

    Args:
        recording: What was recorded.
        paths: The parameters of a model by path, with their shapes; by default all leaves that got
            a gradient or that an optimizer has.
    """
    return _Reader(recording, paths).read()


class _Reader:
    def __init__(self, recording: Recording, paths: Mapping[str, tuple[int, ...]] | None) -> None:
        self._history = recording.history
        self._paths = paths
        self._numbers = [
            number
            for number, (place, event) in sorted(self._history.started.items())
            if event.inside is None and not self._history.span(place[0])
        ]
        self._order = {number: place for place, number in enumerate(self._numbers)}
        self._given: dict[str, dict[int, float | None]] = {}
        for _, event in self._history.placed(Accumulated):
            if event.backward in self._order and event.times == 1 and not event.retained:
                self._add(event)
        self._steps = list(self._history.placed(OptimizerStepped))

    def _add(self, event: Accumulated) -> None:
        if event.tensor is None or event.gradient is None:
            return
        own = self._given.setdefault(event.tensor, {})
        norm = event.gradient.norm
        known = None if norm is None else float(norm)
        place = self._order[event.backward]
        before = own.get(place, 0.0)  # a part of it came before, as from a checkpoint
        own[place] = None if known is None or before is None else hypot(known, before)

    def read(self) -> GradientFlow:
        """Everything."""
        rows = tuple(self._parameter(*named) for named in self._named())
        backwards = tuple(self._backward(place, rows) for place in range(len(self._numbers)))
        relus = tuple(self._relus())
        has_more = bool(self._history.counted)
        return GradientFlow(
            title_of(rows, backwards),
            tuple(sentences_of(rows, backwards, relus, has_more)),
            tables_of(rows, backwards, relus),
            rows,
            backwards,
            relus,
            notes=notes_of(rows) if backwards else (),
        )

    # ---------------------------------------------------------------- parameters

    def _named(self) -> Iterator[tuple[str, str, tuple[int, ...]]]:
        """Name, id and shape of each parameter; no id for one that the recording does not know."""
        last = len(self._history.recording.records) - 1
        stepped = {key for _, event in self._steps for key in event.parameters}
        rows = [
            (self._history.name(key, last) or f"a tensor {shape(row.shape)}", key, row.shape)
            for key in self._history.tensor_ids
            if (row := self._history.tensor(key, last)) is not None
            and (key in self._given or key in stepped)
        ]
        if self._paths is None:
            yield from rows
            return
        for path, size in self._paths.items():
            found = [
                key
                for name, key, own in rows
                if own == size and (name == path or name.endswith(f".{path}"))
            ]
            yield path, found[0] if len(found) == 1 else "", size

    def _parameter(self, name: str, key: str, size: tuple[int, ...]) -> ParameterFlow:
        own = self._given.get(key, {})
        places = range(len(self._numbers))
        mine = [event for _, event in self._steps if key in event.parameters]
        updates = sum(event.times for event in mine if key in event.updated)
        moved, still = self._moved(key, mine, updates)
        return ParameterFlow(
            name,
            key,
            size,
            tuple(own.get(place) for place in places),
            tuple(place in own for place in places),
            sum(event.times for event in mine),
            updates,
            moved,
            still,
        )

    def _moved(
        self, key: str, mine: Sequence[OptimizerStepped], updates: int
    ) -> tuple[bool | None, str]:
        """Whether something wrote a parameter; else why no step did."""
        written = any(key in event.tensors for _, event in self._history.placed(Write))
        if updates or written:
            return True, ""
        if not key or not self._steps or self._history.counted:
            return None, ""
        if not mine:
            return False, "no optimizer that stepped has it"
        if all(key in event.skipped for event in mine):
            return False, "no optimizer step found a .grad"
        return None, ""

    # ----------------------------------------------------------------- backwards

    def _backward(self, place: int, rows: Sequence[ParameterFlow]) -> BackwardFlow:
        number = self._numbers[place]
        began, _ = self._history.started[number]
        step, is_skipped = self._step_after(began, place)
        return BackwardFlow(
            number,
            self._history.line(began),
            sum(row.given[place] for row in rows),
            norm_of(rows, place),
            step,
            is_skipped,
        )

    def _step_after(self, began: EventPlace, place: int) -> tuple[str, bool]:
        """The optimizer step before the next backward; or a line that steps, and ran none."""
        following = self._numbers[place + 1 : place + 2]
        end = (len(self._history.recording.records), 0)
        if following:
            end = self._history.started[following[0]][0]
        ran = [(at, event) for at, event in self._steps if began < at < end]
        if ran:
            at, event = ran[0]
            return f"{event.name}.step{_where(self._history.line(at), self._history)}", False
        for step in range(began[0] + 1, end[0]):
            record = self._history.recording.records[step]
            if record.kind == "line" and record.level == 0 and self._may_step(step):
                return f"skipped{_where(self._history.line(step), self._history)}", True
        return "", False

    def _may_step(self, step: int) -> bool:
        """Whether a line calls ``step`` with an optimizer, as ``scaler.step(optimizer)``, which
        steps it only where the gradients have no nan and no inf."""
        stepping = {self._history.line(at) for at, _ in self._steps}
        known = {(one.code, one.line) for one in stepping if one is not None}
        line = self._history.line(step)
        for statement in statements_at(self._history, step):
            for call in (one for one in statement.parts if isinstance(one, ast.Call)):
                is_step = last_name(call.func) == "step" and isinstance(call.func, ast.Attribute)
                if is_step and len(call.args) == 1 and not call.keywords and line is not None:
                    scaler = ast.unparse(call.func).removesuffix(".step")
                    scales = f"{scaler}.scale(" in statement.code.text
                    return (line.code, line.line) in known or "scaler" in scaler or scales
        return False

    # --------------------------------------------------------------------- ReLUs

    def _relus(self) -> Iterator[ReluFlow]:
        """ReLUs that got a gradient and passed on nothing but zeros."""
        found: dict[tuple[object, ...], tuple[str, CodeLine | None, list[int], set[int]]] = {}
        modules = {
            event.node: event.module
            for _, event in self._history.placed(Operation)
            if event.node is not None and event.module
        }
        for _, event in self._history.placed(NodeRan):
            node = self._history.node(event.node, len(self._history.recording.records))
            if node is None or not node.name.startswith("ReluBackward"):
                continue
            got, passed = _norm(event.grad_outputs), _norm(event.grad_inputs)
            if event.backward not in self._order or not got or not isfinite(got):
                continue
            at, module = self._history.made_at(node), modules.get(event.node, "")
            key = (module, at and (at.code, at.line))
            where = f"of {module}" if module else _where(at, self._history).strip() or "a ReLU"
            entry = found.setdefault(key, (where, at, [], set()))
            entry[3].add(event.backward)
            if passed == 0 and event.backward not in entry[2]:
                entry[2].append(event.backward)
        for where, at, closed, ran in found.values():
            if closed:
                yield ReluFlow(where, at, tuple(closed), len(ran))


def _norm(gradients: Sequence[object]) -> float | None:
    norms = [getattr(one, "norm", None) for one in gradients if one is not None]
    return float(norms[0]) if len(norms) == 1 and norms[0] is not None else None


def _where(line: CodeLine | None, history: History) -> str:
    """``" in line 4"``."""
    if line is None or line.line is None:
        return ""
    codes = history.recording.codes
    is_other = bool(codes) and line.code not in ("", codes[0].name)
    return f" in line {line.line}" + (f" ({line.code})" if is_other else "")
