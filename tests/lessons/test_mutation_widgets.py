"""Stored widgets that are not those of their outputs, in a notebook that is run."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from gradviz.notebook_check.rules import WIDGET
from gradviz.view.documents.digest import MIME
from gradviz.view.documents.graph import compress
from tests.lessons.lesson_files import check_strictly
from tests.lessons.lesson_shell import lesson_shell
from tests.notebook_check.notebooks import cell, write

MAKE = """\
import torch, gradviz
a = torch.tensor(2.0, requires_grad=True)
with gradviz.record() as recording:
    out = a * a
    out.backward()
"""
PLAYER, MARKED = "gradviz.show(recording)", "gradviz.show(recording, stops=[2])"
REPORT = "gradviz.audit(out, {'a': a})"


def caption(document: Any) -> None:
    document["views"][1]["caption"]["words"][-1] = " is an old leaf"


def code_line(document: Any) -> None:
    document["codes"][0]["lines"][0] += "  # changed"


def tab_number(document: Any) -> None:
    tensors = next(view["tensors"] for view in document["views"] if view["tensors"])
    next(iter(tensors.values()))[4] = "7"


EDITS = (caption, code_line, tab_number)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_swapped_and_edited_stored_widgets_turn_red(tmp_path: Path) -> None:
    with lesson_shell(tmp_path) as shell:
        shell.run(MAKE)
        (player,) = shell.run(PLAYER).objects
        (marked,) = shell.run(MARKED).objects
        (report,) = shell.run(REPORT).objects
    states: dict[str, Any] = {}

    def stored(source: str, shown: Any, document: Any) -> dict[str, Any]:
        """The cell with the outputs of a widget, and a document as its state."""
        data, _ = shown._repr_mimebundle_()
        model = f"model{len(states)}"
        states[model] = {"model_name": "AnyModel", "state": {"wire": compress(document)}}
        output = {"output_type": "execute_result", "execution_count": 1, "metadata": {}}
        return cell(source, {**output, "data": {**data, WIDGET: {"model_id": model}}})

    def edited(edit: Any) -> Any:
        document = copy.deepcopy(player.wire)
        edit(document)
        return document

    right = [
        cell(MAKE),
        stored(PLAYER, player, player.wire),
        stored(MARKED, marked, marked.wire),
        stored(REPORT, report, report.wire),
    ]
    wrong = [
        stored(PLAYER, player, marked.wire),
        stored(MARKED, marked, player.wire),
        *(stored(PLAYER, player, edited(edit)) for edit in EDITS),
        stored(PLAYER, marked, player.wire),  # whole outputs: only their digests differ
    ]
    one_digest = copy.deepcopy(right[1])
    one_digest["outputs"][0]["data"][MIME]["codes"] = "0" * 12
    path = tmp_path / "stored.ipynb"
    widgets = {"application/vnd.jupyter.widget-state+json": {"state": states}}
    write(path, *right, *wrong, one_digest, widgets=widgets)
    found = check_strictly(path)
    assert not found.problem
    verdicts = [one.verdict for one in found.cells]
    assert verdicts == ["equal"] * len(right) + ["different"] * (len(wrong) + 1)
    notes = [[one.note for one in result.differences] for result in found.cells[len(right) :]]
    document = "its document is not that of its output: "
    steps = "steps (captions, tensors, marks)"
    assert notes == [
        [f"{document}marked steps"],
        [f"{document}marked steps"],
        [f"{document}{steps}"],
        [f"{document}code"],
        [f"{document}{steps}"],
        ["differs in: marked steps", f"{document}marked steps"],
        ["differs in: code", f"{document}code"],
    ]
