from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gradviz.model import OptionError
from gradviz.model.forms.click import Click
from gradviz.model.forms.edges import Edges
from tests.view.documents import as_text

LABELS = ("MulBackward0", "a", "b")
EDGES = ("MulBackward0 -> a", "MulBackward0 -> b")
KEY = {"MulBackward0 -> a": 3.0, "MulBackward0 -> b": 2.0}
CASES: list[tuple[Click | Edges, Any, Any]] = [
    (Click(labels=LABELS, many=True), ["a"], ["a"]),
    (Click(labels=LABELS, many=True), ["a"], ["b"]),
    (Click(labels=LABELS, many=True), ["a", "b"], ["b", "a"]),
    (Click(labels=LABELS, many=True), ["a", "b"], ["a"]),
    (Click(labels=LABELS, many=True), ["a"], ["b", "a", "MulBackward0"]),
    (Edges(labels=EDGES), KEY, {"MulBackward0 -> a": "3", "MulBackward0 -> b": "2.0"}),
    (Edges(labels=EDGES), KEY, {"MulBackward0 -> a": "2", "MulBackward0 -> b": "2"}),
]


def test_the_browser_judges_answers_in_a_picture_by_the_same_cases(
    check_golden: Callable[[str, str], None],
) -> None:
    judged = []
    for form, key, answer in CASES:
        assert form.is_answered(answer), answer
        verdict = form.judge(key, answer)
        told = {"right": verdict.is_right, "wrong": list(verdict.wrong)}
        asked = {"kind": form.kind, "labels": list(form.labels), "key": key, "answer": answer}
        judged.append({**asked, **told})
    check_golden("question/pictured.json", as_text(judged))


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


@pytest.mark.parametrize("given", ["leaf", True, ["node"], ""])
def test_what_can_be_clicked_is_one_of_four_words(given: Any) -> None:
    with pytest.raises(OptionError, match="'node', 'nodes', 'tensor', 'tensors'"):
        Click.of(given, {})


@pytest.mark.parametrize("given", [(), 3, [3], ""])
def test_edges_are_named(given: Any) -> None:
    with pytest.raises(OptionError, match="MulBackward0 -> a"):
        Edges.of(given, {})
