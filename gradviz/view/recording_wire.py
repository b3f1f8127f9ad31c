"""What the browser gets of a recording: one JSON document, in which a step is what changes.

``widgets/src/wire.ts`` describes the same fields for the front end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, TypeVar

from gradviz.model.errors import OptionError
from gradviz.model.fact_list import TensorKey
from gradviz.model.facts import TensorInfo
from gradviz.model.recording import Recording, Step
from gradviz.view.captions import captions
from gradviz.view.details import tensor_section
from gradviz.view.explanation_wire import cards, segments
from gradviz.view.moments import Moment, moments
from gradviz.view.options import DEFAULT, DrawOptions
from gradviz.view.outline import COLUMNS, node_cells, tensor_cells
from gradviz.view.overlay import overlay_item, overlay_legend
from gradviz.view.recording_outline import recording_outline, recording_title, summary
from gradviz.view.sentences import of_tensor
from gradviz.view.stage import Stage
from gradviz.view.story import said
from gradviz.view.text import clean
from gradviz.view.wire import (
    FORMAT,
    LARGE,
    legend,
    node_item,
    sections_of,
    tensor_item,
    words_to_find,
)

TENSOR_KEYS: Final[tuple[TensorKey, ...]] = (
    "name",
    "is_leaf",
    "requires_grad",
    "retains_grad",
    "version",
    "grad",
)
"""Facts in the table of tensors."""
TENSOR_COLUMNS: Final = ("name", "is_leaf", "requires_grad", "retains_grad", "version", ".grad")
TICKS: Final = {
    "hook": "hook",
    "accumulate": "accumulate",
    "freed": "free",
    "error": "error",
    "backward": "backward",
}
"""Marks on the timeline by kind of step."""
Row = TypeVar("Row")


def recording_to_wire(
    recording: Recording,
    step: int | None = None,
    stops: Iterable[int] = (),
    options: DrawOptions = DEFAULT,
    *,
    room: int = LARGE,
    stage: Stage | None = None,
) -> dict[str, Any]:
    """Everything the player shows of a recording, without a kernel.

    Args:
        recording: What is shown.
        step: The step shown first, counted from the end if negative; if not given the error, if
            there is one, else the first step.
        stops: Steps that the author marked.
        options: How it is drawn.
        room: Bytes above which ``"json"`` is left out.
        stage: The stage, if it has been built.

    Raises:
        OptionError: If there is no such step.
    """
    opening = opening_step(recording, step)
    marked = [check_step(recording, stop, "stops") for stop in stops]
    stage = stage or Stage(recording, options)
    drawn = "".join(look for looks in stage.elements.values() for look in looks)
    document: dict[str, Any] = {
        "format": FORMAT,
        "kind": "recording",
        "title": recording_title(recording),
        "summary": f"{recording_title(recording)}: {summary(recording)}",
        "text": recording_outline(recording),
        "svg": stage.svg(opening, engine_arrows=options.engine_arrows),
        "open": opening,
        "stops": sorted(set(marked)),
        "codes": [
            {"name": clean(c.name), "first": c.first_line, "lines": _lines(c.text)}
            for c in recording.codes
        ],
        "elements": {key: list(looks) for key, looks in stage.elements.items()},
        "views": _views(recording, stage),
        "tensor_columns": list(TENSOR_COLUMNS),
        "outline_columns": list(COLUMNS),
        "links": {"lines": _made_at(recording)},
        "legend": [*overlay_legend(stage.drawn_marks), *legend(f"</style>{drawn}")],
    }
    text = _json(recording)
    if len(json.dumps(document, ensure_ascii=False)) + len(text) <= room:
        document["json"] = text
    return document


def opening_step(recording: Recording, step: int | None) -> int:
    """The step that is shown first.

    Raises:
        OptionError: If there is no such step.
    """
    if step is not None:
        return check_step(recording, step, "step")
    error = recording.at_error
    if error is not None:
        return error.index
    told = (i for i, facts in enumerate(recording.facts) if i and facts.level < 2)
    return next(told, 0)


def check_step(recording: Recording, step: object, option: str) -> int:
    """The number of a step, counted from the start.

    Raises:
        OptionError: If it is none.
    """
    last = len(recording) - 1
    if isinstance(step, int) and not isinstance(step, bool) and -last - 1 <= step <= last:
        return step % (last + 1)
    example = "stops=[1, -1]" if option == "stops" else "step=-1"
    raise OptionError(
        f"{option}: this recording has no step {step!r}; its steps run from 0 to {last}, "
        f"and {example} counts from the end"
    )


def _views(recording: Recording, stage: Stage) -> list[dict[str, Any]]:
    """Each step: what it says, and what is different since the step before."""
    told = captions(recording)
    describe = _Describer(stage)
    following = _next_lines(recording)
    explained = cards(recording)
    views = []
    for step, moment, touched in moments(recording):
        facts = step.facts
        views.append(
            {
                "kind": step.kind,
                "level": step.level,
                "line": step.line,
                "code": facts.code,
                "next_line": following[step.index],
                "node": step.node,
                "caption": segments(told[step.index]),
                "sentence": said(told[step.index]),
                "tick": TICKS.get(step.kind, ""),
                "at": stage.turns[step.index],
                "saved": step.saved_bytes,
                "memory": step.memory,
                "backward": facts.backward,
                **describe.changes(step, moment, touched),
                "summary": stage.summaries[step.index],
                **explained.get(step.index, {}),
            }
        )
    return views


class _Describer:
    """Rows of inspector, outline and table of tensors, as far as they change."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._items: dict[str, Any] = {}
        self._rows: dict[str, Any] = {}
        self._tensors: dict[str, Any] = {}

    def changes(self, step: Step, moment: Moment, touched: set[str]) -> dict[str, Any]:
        """What is different at this step."""
        touched |= self._marked(step.index, moment) | self._marked(step.index - 1, moment)
        for node_id in list(touched):
            touched |= {tag.id for tag in moment.tags.get(node_id, ())}
        keys = sorted(touched - {""}, key=lambda key: (key[0], int(key[1:])))
        changed = [key for key, _ in step.facts.changes.tensors]
        return {
            "items": _put(self._items, keys, lambda key: self._told(key, step.index, moment)),
            "tensors": _put(self._tensors, changed, lambda key: _cells(key, moment)),
            "rows": _put(self._rows, keys, lambda key: self._row(key, moment)),
        }

    def _marked(self, step: int, moment: Moment) -> set[str]:
        """Nodes and tensors that explanations point at, or at a part of them."""
        ids = (mark.id.partition(".")[0] for mark in self._stage.marks.get(step, ()))
        there = (moment.leaf_node.get(key, key) for key in ids)
        return {key for key in there if key in moment.rows or key in moment.tensors}

    def _told(self, key: str, step: int, moment: Moment) -> dict[str, Any] | None:
        item, marks = self._item(key, moment), self._stage.marks.get(step, ())
        if item is None or not marks:
            return item
        own = (replace(mark, id=moment.leaf_node.get(mark.id, mark.id)) for mark in marks)
        return overlay_item(item, own)

    def _item(self, key: str, moment: Moment) -> dict[str, Any] | None:
        if key[0] == "n":
            node = moment.rows.get(key)
            if node is not None and self._stage.has(key):
                return node_item(node, moment)
            leaf = moment.waiting(key)
            return None if leaf is None else _waiting_item(key, leaf, moment)
        info = moment.tensors.get(key)
        if info is None or key in moment.leaf_node:
            return None
        following = [info.node] if info.node else []
        before = [] if info.node else [node for node, _ in moment.saved_by.get(key, ())]
        return tensor_item(info, moment, following, list(dict.fromkeys(before)))

    def _row(self, key: str, moment: Moment) -> list[str] | None:
        if key[0] == "n":
            node = moment.rows.get(key)
            if node is not None:
                return list(node_cells(node, moment)) if self._stage.has(key) else None
            leaf = moment.waiting(key)
            if leaf is None:
                return None
            cells = list(tensor_cells(leaf, moment))
            return [key, f"leaf {cells[1]}", "in no graph now", *cells[3:]]
        info = moment.tensors.get(key)
        return None if info is None or key in moment.leaf_node else list(tensor_cells(info, moment))


def _put(known: dict[str, Any], keys: Iterable[str], make: Callable[[str], Any]) -> dict[str, Any]:
    """What is different of these keys; ``None`` for what is gone."""
    changed = {}
    for key in keys:
        now = make(key)
        if known.get(key) != now:
            changed[key] = now
            known[key] = now
    return changed


def _waiting_item(key: str, info: TensorInfo, moment: Moment) -> dict[str, Any]:
    """What the browser knows of a leaf that is in no graph now."""
    return {
        "id": key,
        "kind": "leaf",
        "label": moment.of_tensor(info)["name"].words,
        "aria": f"{of_tensor(info, moment)}, in no graph now",
        "find": words_to_find([key, info.id, info.name]),
        "next": [],
        "prev": [],
        "details": sections_of((tensor_section(info, moment),)),
    }


def _cells(key: str, moment: Moment) -> list[str] | None:
    """The row of a tensor in the table of tensors."""
    info = moment.tensors.get(key)
    if info is None:
        return None
    facts = moment.of_tensor(info)
    return [facts[column].words for column in TENSOR_KEYS]


def _next_lines(recording: Recording) -> list[int | None]:
    """The line that runs next, while it is in the same code."""
    found: list[int | None] = []
    line: int | None = None
    code = -1
    for facts in reversed(recording.facts):
        found.append(line if code == facts.code else None)
        if facts.level == 0:
            line, code = (facts.line, facts.code) if facts.kind != "end" else (None, -1)
    return found[::-1]


def _made_at(recording: Recording) -> dict[str, list[str]]:
    """Nodes and tensors by the line that made them: ``"0:4"``, code and line."""
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    for step in recording.facts:
        keys = [key for key, row in step.changes.nodes if row is not None]
        keys += [key for key, row in step.changes.tensors if row is not None]
        fresh = [key for key in keys if key not in seen]
        seen.update(fresh)
        if step.line is not None and step.kind != "start" and fresh:
            found.setdefault(f"{step.code}:{step.line}", []).extend(fresh)
    return found


def _lines(text: str) -> list[str]:
    return [clean(line.expandtabs(4)) for line in text.rstrip("\n").split("\n")] if text else []


def _json(recording: Recording) -> str:
    """The recording as JSON, in a form that UTF-8 can always carry."""
    return recording.to_json().encode("utf-8", "backslashreplace").decode()
