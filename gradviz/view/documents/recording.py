"""What the browser gets of a recording: one JSON document, in which a step is what changes.

``widgets/src/documents/recording.ts`` describes the same fields for the front end.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any, Final

from gradviz.model.errors import OptionError, UnknownNodeError
from gradviz.model.events import Clipped, OptimizerStepped, ZeroedGrad
from gradviz.model.in_pieces import completed
from gradviz.model.progress import counted
from gradviz.model.recording import Recording, Step
from gradviz.model.step_address import place_of
from gradviz.view.animation.animation import Animations
from gradviz.view.animation.decisive_steps import opening_step
from gradviz.view.animation.step_items import TENSOR_COLUMNS, marked_items
from gradviz.view.captions.caption import Caption, captions, ready
from gradviz.view.documents.caption import caption_document
from gradviz.view.documents.explanation import cards
from gradviz.view.documents.folded_recording import RecordedFolds, looks_in, room_in_notebook
from gradviz.view.documents.graph import FORMAT, LARGE, legend
from gradviz.view.documents.runs import runs_document
from gradviz.view.element import classes_of
from gradviz.view.graph.highlights import highlight_legend
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph.scene import ALL
from gradviz.view.graph.step_pictures import StepPictures
from gradviz.view.outlines.graph import COLUMNS
from gradviz.view.outlines.recording import recording_outline, recording_title, summary
from gradviz.view.text import clean

TICKS: Final = ("error", "counted")
"""Kinds of steps that have a mark on the timeline."""


def recording_document(
    recording: Recording,
    step: int | str | None = None,
    stops: Iterable[int | str] = (),
    options: DrawOptions = DEFAULT,
    *,
    room: int = LARGE,
    animations: Animations | None = None,
) -> dict[str, Any]:
    """Everything the player shows of a recording, without a kernel.

    Args:
        recording: What is shown.
        step: The step shown first, as ``recording[step]`` finds it; if not given the error, if
            there is one, else where the forward is done: :func:`opening_step`.
        stops: Steps that the author marked.
        options: How it is drawn.
        room: Bytes above which ``"json"`` is left out.
        animations: Its steps as one picture in each density, if that has been made. Of a few steps
            the document has these alone, and says how many there are.

    Raises:
        OptionError: If there is no such step.
    """
    opening = step_shown_first(recording, step, options)
    marked = [check_step(recording, stop, "stops") for stop in stops]
    if animations is None:
        animations = Animations(recording, options, room=room_in_notebook(recording))
    work = document_in_pieces(recording, opening, marked, animations, Told(recording), room=room)
    return completed(work)


def step_shown_first(recording: Recording, step: int | str | None, options: DrawOptions) -> int:
    """The place of the step that is shown first.

    Raises:
        OptionError: If there is no such step.
    """
    if step is None:
        return opening_step(recording, options.parts)
    return check_step(recording, step, "step")


class Told:
    """What a document says of a recording whichever steps it has.

    Args:
        recording: What is shown.
    """

    def __init__(self, recording: Recording) -> None:
        self.captions = captions(recording)
        """The caption of each step."""
        title = recording_title(recording)
        self.fields: dict[str, Any] = {
            "format": FORMAT,
            "kind": "recording",
            "title": title,
            "summary": f"{title}: {summary(recording)}",
            "text": recording_outline(recording, [one.details for one in self.captions]),
            "codes": [
                {"name": clean(c.name), "first": c.first_line, "lines": _lines(c.text)}
                for c in recording.codes
            ],
            "tensor_columns": list(TENSOR_COLUMNS),
            "outline_columns": list(COLUMNS),
            "links": {"lines": _made_at(recording), "leaves": _leaves(recording)},
        }


def document_in_pieces(
    recording: Recording,
    opening: int,
    stops: Iterable[int],
    animations: Animations,
    told: Told,
    *,
    room: int = LARGE,
) -> Generator[None, None, dict[str, Any]]:
    """The document, piece by piece.

    Args:
        recording: What is shown.
        opening: The place of the step that is shown first.
        stops: The places of the steps that the author marked.
        animations: Its steps as one picture in each density.
        told: What is said of it.
        room: Bytes above which ``"json"`` is left out.
    """
    scenes, some = animations.scenes, animations[animations.opening]
    options, boxes, drawn = scenes.source.options, scenes.boxes, scenes.drawn_steps
    folds = None if boxes is None else RecordedFolds(animations)
    carried = (ALL, *scenes.shown)
    pieces: dict[str, int] = {}
    pictures: dict[str, Any] = {}
    for density, animation in animations.items():
        elements: dict[str, list[list[int]]] = {}
        for fold_id in counted(carried, "folds laid out", len(carried), 1):
            for part in (animation.inside, animation.looks):
                part(fold_id)
                yield
            elements |= looks_in(animation.pieces_of([fold_id]), pieces)
            yield
        pictures[density] = {"svg": _svg(animation, opening, options), "elements": elements}
    place = {step: number for number, step in enumerate(drawn)}
    views = []
    told_at = [*told.captions]
    told_at[opening] = ready(recording, opening, told_at[opening])
    for view in _views(recording, animations, folds, carried, told_at):
        views.append(view if scenes.is_whole else _within(view, place))
        yield
    document: dict[str, Any] = {
        **told.fields,
        "density": animations.opening,
        "pictures": pictures,
        "pieces": list(pieces),
        "open": place[opening],
        "stops": sorted({place[stop] for stop in stops if stop in place}),
        "turns": [asdict(turn) for turn in recording.turns] if scenes.is_whole else [],
        "views": views,
        "legend": [
            *highlight_legend(some.drawn_marks),
            *legend(_used(animations.values(), carried)),
        ],
    }
    yield
    if not scenes.is_whole:
        document["of"] = {"steps": scenes.steps, "last": len(recording)}
    elif runs := runs_document(recording, told.captions, [*stops], boxes):
        document["runs"] = runs
    if folds is not None:
        document["fold"] = folds.field
    if extent := scenes.extent.document:
        document["extent"] = extent
    if scenes.is_whole and sum(map(len, pieces)) <= room:  # the rest need not be measured
        text = _json(recording)
        if len(json.dumps(document, ensure_ascii=False)) + len(text) <= room:
            document["json"] = text
    return document


def _phase(recording: Recording, step: Step) -> str:
    """The part of training that a step is of: forward, backward, or the step of an optimizer."""
    starts = recording.numbers.starts[step.index]
    records = recording.records[starts : step.index + 1]
    if any(record.backward is not None for record in records):
        return "backward"
    events = (event for record in records for event in record.events)
    is_step = any(isinstance(event, (Clipped, OptimizerStepped, ZeroedGrad)) for event in events)
    return "step" if is_step else "forward"


def _svg(animation: StepPictures, step: int, options: DrawOptions) -> str:
    """The picture of a step; of a folded one what is around its elements."""
    if animation.is_folded:
        return animation.around(step, options.engine_arrows)
    return animation.svg(step, engine_arrows=options.engine_arrows)


def check_step(recording: Recording, step: object, option: str) -> int:
    """The place of a step, as ``recording[step]`` finds it.

    Raises:
        OptionError: If there is none; the message lists what there is.
    """
    try:
        return place_of(recording, step)
    except UnknownNodeError as error:
        raise OptionError(f"{option}: {error}") from None


def _used(animations: Iterable[StepPictures], carried: Sequence[str]) -> set[str]:
    """The classes that are drawn at any step in any density."""
    looks = (looks for one in animations for looks in one.looks_of(carried).values())
    return classes_of(look for group in looks for look in group if look is not None)


def _views(
    recording: Recording,
    animations: Animations,
    folds: RecordedFolds | None,
    carried: Sequence[str],
    told: Sequence[Caption],
) -> Iterator[dict[str, Any]]:
    """Each step: its words, and the changes since the step before."""
    explained, animation = cards(recording), animations[animations.opening]
    changes = {density: one.changes_of(carried) for density, one in animations.items()}
    rows = animations.scenes.step_items
    items = marked_items(recording, rows, animation.marks)
    if folds is not None:
        items = folds.items(items)
    before = 0
    for (place, step_items), shown in zip(rows.items(), items, strict=True):
        step, since = recording.all_steps[place], slice(before, place + 1)
        before = place + 1
        yield {
            "kind": step.kind,
            "number": list(recording.numbers.paths[step.index]),
            "level": step.level,
            "line": step.line,
            "code": step.record.code,
            "next_line": recording.history.next_line(step.index),
            "node": step.node,
            "caption": caption_document(told[place]),
            "tick": step.kind if step.kind in TICKS else "",
            "phase": _phase(recording, step),
            "at": {
                density: dict(chain.from_iterable(map(dict.items, found[since])))
                for density, found in changes.items()
            },
            "saved": step.saved_bytes,
            "memory": step.memory,
            "backward": step.record.backward,
            "items": shown,
            "tensors": step_items.tensors,
            "rows": step_items.rows,
            "summary": animations.scenes.summary(place),
            **explained.get(step.index, {}),
        }


def _within(view: Any, place: Mapping[int, int]) -> Any:
    """A view in which steps have their places among those that there are; what names one that is
    not there names none."""
    if isinstance(view, list):
        return [_within(one, place) for one in view]
    if not isinstance(view, dict):
        return view
    found = {key: _within(one, place) for key, one in view.items()}
    found |= {key: place.get(found[key]) for key in ("step", "culprit_step") if key in found}
    return {key: one for key, one in found.items() if key != "step" or one is not None}


def _made_at(recording: Recording) -> dict[str, list[str]]:
    """Nodes and tensors by the line that made them: ``"0:4"``, code and line."""
    history = recording.history
    found: dict[str, list[str]] = {}
    for key in sorted((*history.node_ids, *history.tensor_ids), key=lambda k: history.born(k) or 0):
        step = recording.records[history.born(key) or 0]
        if step.line is not None and step.kind != "start":
            found.setdefault(f"{step.code}:{step.line}", []).append(key)
    return found


def _leaves(recording: Recording) -> dict[str, list[str]]:
    """The tensors of each leaf's node, with which it shares a card."""
    history, last = recording.history, len(recording.records) - 1
    rows = {key: history.node_rows(key, last)[::-1] for key in history.node_ids}
    found = {
        key: list(dict.fromkeys(row.variable for row in seen if row.variable))
        for key, seen in rows.items()
    }
    return {key: tensors for key, tensors in found.items() if tensors}


def _lines(text: str) -> list[str]:
    return [clean(line.expandtabs(4)) for line in text.rstrip("\n").split("\n")] if text else []


def _json(recording: Recording) -> str:
    """The recording as JSON, in a form that UTF-8 can always carry."""
    return recording.to_json().encode("utf-8", "backslashreplace").decode()
