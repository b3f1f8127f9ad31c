from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import gradviz
from gradviz.view.documents.digest import MIME, digest
from gradviz.view.documents.question import sealed


@pytest.fixture(scope="module")
def wire() -> dict[str, Any]:
    a = torch.tensor(2.0, requires_grad=True)
    return gradviz.show((a * 3.0).exp()).wire


def test_each_gradviz_output_has_the_digest_of_its_document() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        out = a * a
    linear = torch.nn.Linear(2, 1)
    widgets: list[Any] = [
        gradviz.show(out),
        gradviz.show(recording),
        gradviz.audit(linear(torch.ones(2)), linear),
        gradviz.explore(lambda a: a * a, a=2.0),
    ]
    for widget in widgets:
        data, _ = widget._repr_mimebundle_()
        assert data[MIME] == digest(widget._said)


def test_every_part_of_a_document_has_its_own_digest(wire: dict[str, Any]) -> None:
    right = digest(wire)
    assert set(right) == {*wire} - {"format", "json"}
    for part in right:
        wrong = {**wire, part: "another"}
        assert {one for one, found in digest(wrong).items() if found != right[one]} == {part}


def test_what_is_of_the_device_or_of_torchs_release_is_no_part_of_the_digest(
    wire: dict[str, Any],
) -> None:
    other = copy.deepcopy(wire)
    other["text"] = other["text"].replace("; on cpu", "; on cuda:0")
    other["json"] = "{}"
    formulas = [
        section
        for item in other["items"]
        for section in item["details"]
        if section["heading"] == "torch's formula"
    ]
    for section in formulas:
        section["rows"] = [["self", "of another release"]]
    assert formulas
    assert other != wire
    assert digest(other) == digest(wire)
    report = {"items": [["Ten bytes."], ["Twelve more."]], "summary": "m: Ten. Twelve."}
    spent = "torch.cuda.memory_allocated() is 3 MiB: it rounds up, and counts all live tensors."
    on_gpu = {
        "items": [["Ten bytes."], [spent], ["Twelve more."]],
        "summary": f"m: Ten. {spent} Twelve.",
    }
    assert digest(on_gpu) == digest(report)


def test_what_is_sealed_is_compared_by_what_it_holds(wire: dict[str, Any]) -> None:
    other = copy.deepcopy(wire)
    other["text"] = other["text"].replace("; on cpu", "; on cuda:0")
    other["json"] = "{}"
    on_cpu, on_gpu = (sealed({"key": "3", "player": one}) for one in (wire, other))
    assert on_cpu != on_gpu
    assert digest({"sealed": on_cpu}) == digest({"sealed": on_gpu})
    assert digest({"sealed": on_cpu}) != digest({"sealed": sealed({"key": "4", "player": wire})})
    assert digest({"sealed": ""}) != digest({"sealed": "damaged"})


def test_a_digest_takes_any_text_that_a_document_can_have() -> None:
    assert digest({"text": "\ud800 ☃"}) != digest({"text": "\ud801 ☃"})
