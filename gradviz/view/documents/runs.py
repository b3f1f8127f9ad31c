"""Steps of a backward that are one at first: those of a fold, and those inside one box."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile
from typing import Any

from gradviz.model.fold_runs import FoldRun
from gradviz.model.recording import Recording, Step
from gradviz.model.sentence import Sentence, joined
from gradviz.view.animation.fold_boxes import FoldBoxes
from gradviz.view.captions.caption import Caption
from gradviz.view.captions.catalogue import sentence
from gradviz.view.captions.fold_runs import run_caption
from gradviz.view.captions.names import CaptionNames, names_of
from gradviz.view.captions.rows import Row
from gradviz.view.documents.caption import caption_document
from gradviz.view.explanations.fields import explained, worth_a_look
from gradviz.view.fold_words import title, title_alone


def runs_document(
    recording: Recording,
    told: Sequence[Caption],
    stops: Collection[int],
    boxes: FoldBoxes | None,
) -> list[dict[str, Any]]:
    """The runs of a recording for the browser, a run before those inside it.

    Args:
        recording: What is shown.
        told: The captions of all steps.
        stops: The places of steps that the author marked: a run is open around them.
        boxes: The boxes of a folded picture.
    """
    found = [
        {
            "label": title(run.tree, run.fold),
            "caption": caption_document(
                Caption(
                    Sentence(title_alone(run.tree, run.fold)),
                    sentence("backward", count=run.nodes),
                    details=run_caption(recording, run),
                )
            ),
            "first": run.first,
            "last": run.last,
            "nodes": run.nodes,
            "open": run.is_open,
            **_fold(recording, run, boxes),
        }
        for run in recording.fold_runs
    ]
    names = names_of(recording.history)
    for steps in _in_boxes(recording):
        first, last = recording.numbers.starts[steps[0].index], steps[-1].index
        own, rows = _together(steps, [told[step.index] for step in steps], names)
        known = joined([told[step.index].details for step in steps], "; ")
        caption = told[own.index]
        found.append(
            {
                "label": names.title(own.node or ""),
                "caption": caption_document(Caption(caption.place, caption.words, rows, known)),
                "first": first,
                "last": last,
                "nodes": len(steps),
                "open": any(first <= stop < last for stop in stops),
            }
        )
    return found


def _together(
    steps: Sequence[Step], told: Sequence[Caption], names: CaptionNames
) -> tuple[Step, tuple[Row, ...]]:
    """The step that says what a box sent, and the rows of all: what came to the first, what that
    step sent, what all freed."""
    sending = [s for s, one in zip(steps, told) if any(row.label == "sends" for row in one.rows)]
    heads = [step for step in sending if step.node == names.head(step.node or "")]
    own = (heads or sending[-1:] or steps[-1:])[0]
    at = steps.index(own)
    came = [row for row in told[0].rows if row.label == "arrives"]
    sent = [row for row in told[at].rows if row.label == "sends"]
    freed = [row for one in told for row in one.rows if row.label == "frees"]
    return own, (*came, *sent, *freed)


def _in_boxes(recording: Recording) -> Iterator[list[Step]]:
    """Steps one after the other that run several nodes of one box, where nothing else is told: no
    fault, and no part of a long backward."""
    names, run = names_of(recording.history), list[Step]()
    told = {*explained(recording), *worth_a_look(recording)}
    told |= {at for one in recording.fold_runs for at in range(one.first, one.last + 1)}
    for step in recording.all_steps:
        if step.level > 1:
            continue
        is_node = step.kind == "node" and step.times is None and step.index not in told
        is_next = is_node and run and run[0].record.backward == step.record.backward
        if not (is_next and names.head(step.node or "") == names.head(run[0].node or "")):
            if len(run) > 1:
                yield run
            run = []
        if is_node:
            run.append(step)


def _fold(recording: Recording, run: FoldRun, boxes: FoldBoxes | None) -> dict[str, str]:
    """The innermost fold of a folded picture that has all nodes of a run, but those in a box of
    leaves, which several turns of a loop share."""
    if boxes is None:
        return {}
    ran = {one.node or "": None for one in recording.records[run.first : run.last + 1]}
    known, fold = [boxes.around[key] for key in ran if key in boxes.around], boxes.words.fold
    inner = [ids for ids in known if all(fold(one).kind != "leaves" for one in ids)] or known
    if not inner:
        return {}
    same = takewhile(lambda ids: len(set(ids)) == 1, zip(*inner))
    return {"fold": inner[0][sum(1 for _ in same) - 1]}
