from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gradviz.model import OptionError
from gradviz.model.forms.click import Click
from gradviz.model.forms.edges import Edges
from tests.each import each

GOLDEN = Path(__file__).parents[1] / "golden" / "question"


def cases(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text("utf-8"))


@each("case", cases("pictured.json"))
def test_answers_in_a_picture_are_judged(case: Any) -> None:
    made = Click(labels=tuple(case["labels"]), many=True)
    form = made if case["kind"] == "click" else Edges(labels=tuple(case["labels"]))
    assert form.is_answered(case["answer"])
    verdict = form.judge(case["key"], case["answer"])
    assert (verdict.is_right, list(verdict.wrong)) == (case["right"], case["wrong"])


def test_what_is_not_complete_is_no_answer() -> None:
    one, several = Click(labels=("a", "b")), Click(labels=("a", "b"), many=True)
    assert not one.is_answered([])
    assert not one.is_answered(["a", "b"])
    assert several.is_answered(["a", "b"])
    assert not several.is_answered(["c"])
    typed = Edges(labels=("x -> a", "x -> b"))
    assert not typed.is_answered({"x -> a": "1"})
    assert not typed.is_answered({"x -> a": "1", "x -> b": ""})
    assert not typed.is_answered({"x -> a": "1", "x -> b": "two"})
    assert typed.is_answered({"x -> a": "1", "x -> b": "None"})


def test_the_digest_text_does_not_depend_on_the_last_bits_or_the_order() -> None:
    form = Edges(labels=("x -> a",))
    assert form.key_text({"x -> a": 0.1}) == form.key_text({"x -> a": 0.100000001490116})
    assert form.key_text({"x -> a": -0.0}) == form.key_text({"x -> a": 0.0})
    assert Click().key_text(["b", "a"]) == Click().key_text(["a", "b"])
    assert form.key_lines({"x -> a": [1.0, "nan", 1 / 3]}) == ["x -> a: [1, nan, 0.333333]"]


@each("given", ["leaf", True, ["node"], ""])
def test_what_can_be_clicked_is_one_of_four_words(given: Any) -> None:
    with pytest.raises(OptionError, match="'node', 'nodes', 'tensor', 'tensors'"):
        Click.of(given, {})


@each("given", [(), 3, [3], ""])
def test_edges_are_named(given: Any) -> None:
    with pytest.raises(OptionError, match="MulBackward0 -> a"):
        Edges.of(given, {})
