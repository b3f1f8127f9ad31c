"""The widgets that a notebook stores are those of its outputs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from nbformat import NotebookNode, from_dict

import gradviz
from gradviz.notebook_check.comparison import differences_of, left_out_of
from gradviz.notebook_check.results import Difference
from gradviz.notebook_check.rules import WIDGET
from gradviz.notebook_check.stored_widgets import KIND, differences_of_widgets, states_in
from gradviz.view.documents.digest import MIME, digest
from gradviz.view.documents.graph import compress
from tests.view.reports import tables_of

Document = dict[str, Any]


@pytest.fixture(scope="module")
def documents() -> dict[str, Document]:
    """Documents of two players and a report."""
    a = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        out = a * a
        out.backward()
    linear = torch.nn.Linear(2, 1)
    audit = gradviz.audit(linear(torch.ones(2)), linear)
    return {
        "player": gradviz.show(recording).wire,
        "other player": gradviz.show(recording, stops=[2]).wire,
        "report": audit.wire,
    }


def output(document: Document, model: str) -> NotebookNode:
    data = {"text/plain": "text", MIME: digest(document), WIDGET: {"model_id": model}}
    node: NotebookNode = from_dict({"output_type": "display_data", "data": data, "metadata": {}})
    return node


def notebook(**documents: Document) -> Any:
    states = {key: {"state": {"wire": compress(one)}} for key, one in documents.items()}
    stored = {"application/vnd.jupyter.widget-state+json": {"state": states, "version_major": 2}}
    return from_dict({"metadata": {"widgets": stored}, "cells": []})


def found(
    stored: list[Any], states: Any, fresh: list[Any], fresh_states: Any = ()
) -> list[Difference]:
    return list(differences_of_widgets(stored, states, fresh, dict(fresh_states)))


def test_players_that_have_changed_places_differ(documents: dict[str, Document]) -> None:
    one, other = documents["player"], documents["other player"]
    states = states_in(notebook(m1=one, m2=other))
    right = [output(one, "m1"), output(other, "m2")]
    assert found(right, states, right) == []
    swapped = [output(one, "m2"), output(other, "m1")]
    differences = found(swapped, states, right)
    assert [(one.kind, one.number) for one in differences] == [(KIND, 1), (KIND, 2)]
    assert all(
        "not that of its output: marked steps" in difference.note for difference in differences
    )


def caption(document: Document) -> None:
    document["views"][1]["caption"]["words"][-1] = " is an old leaf"


def code_line(document: Document) -> None:
    document["codes"][0]["lines"][0] += "  # changed"


def tab_number(document: Document) -> None:
    tensors = next(view["tensors"] for view in document["views"] if view["tensors"])
    next(iter(tensors.values()))[4] = "7"


def saved_bytes(document: Document) -> None:
    document["views"][-1]["saved"] += 4


def table_number(document: Document) -> None:
    rows = tables_of(document)[0]["rows"]
    assert rows
    rows[0]["cells"][0] = "another"


@pytest.mark.parametrize(
    ("which", "edit", "words"),
    [
        ("player", caption, "steps (captions, tensors, marks)"),
        ("player", code_line, "code"),
        ("player", tab_number, "steps (captions, tensors, marks)"),
        ("player", saved_bytes, "steps (captions, tensors, marks)"),
        ("report", table_number, "parts"),
    ],
)
def test_one_edit_of_a_stored_widget_is_found_and_named(
    documents: dict[str, Document], which: str, edit: Callable[[Document], None], words: str
) -> None:
    right = documents[which]
    wrong = copy.deepcopy(right)
    edit(wrong)
    fresh = {"m9": {"wire": compress(right)}}
    outputs = ([output(right, "m1")], states_in(notebook(m1=wrong)), [output(right, "m9")], fresh)
    (difference,) = found(*outputs)
    assert difference.note == f"its document is not that of its output: {words}"
    assert difference.stored != difference.fresh
    (by_digest,) = differences_of([output(wrong, "m1")], [output(right, "m9")])
    assert (by_digest.kind, by_digest.note) == (MIME, f"differs in: {words}")


@pytest.mark.parametrize("damage", ["%%%", "AAAA", None, 7])
def test_a_stored_widget_that_cannot_be_read_differs(
    documents: dict[str, Document], damage: object
) -> None:
    one = output(documents["player"], "m1")
    states = {"m1": {"wire": {"format": 1, "deflate": damage}}}
    (difference,) = found([one], states, [one])
    assert "its state cannot be read" in (difference.stored or "")


def test_outputs_without_stored_state_and_widgets_of_others_are_left_alone(
    documents: dict[str, Document],
) -> None:
    one = output(documents["player"], "m1")
    slider = from_dict({"output_type": "display_data", "data": {WIDGET: {"model_id": "s"}}})
    states = {"s": {"value": 3}, "closed": {"wire": {"text": "Player (closed)"}}}
    assert found([one, slider], states, [one, slider]) == []
    assert states_in(from_dict({"metadata": {}, "cells": []})) == {}
    assert left_out_of([one]) == []
    assert left_out_of([one, slider]) == [WIDGET]


def test_an_output_of_before_digests_is_compared_with_the_fresh_one(
    documents: dict[str, Document],
) -> None:
    fresh, old = output(documents["player"], "m2"), output(documents["player"], "m1")
    del old["data"][MIME]
    (missing,) = differences_of([old], [fresh])
    assert (missing.kind, missing.note) == (MIME, "no digest of it is stored")
    states = states_in(notebook(m1=documents["other player"]))
    assert [one.kind for one in found([old], states, [fresh])] == [KIND]


def test_an_output_whose_widget_is_not_stored_differs(documents: dict[str, Document]) -> None:
    one = documents["player"]
    states = states_in(notebook(m1=one))
    (difference,) = found([output(one, "m7")], states, [output(one, "m1")])
    assert (difference.kind, difference.number) == (KIND, 1)
    assert "leads to no widget" in difference.note
    assert found([output(one, "m7")], {}, [output(one, "m1")]) == []  # none are stored
