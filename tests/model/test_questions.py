"""How answers are judged: golden cases that the front end reads too, and random values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz import OptionError
from gradviz.model.forms.choose import Choose
from gradviz.model.forms.flags import Table
from gradviz.model.forms.form import Form
from gradviz.model.forms.numbers import NotANumberError, plain_number, read, same, words
from gradviz.model.forms.order import Order
from gradviz.model.forms.table import FORMS
from gradviz.model.forms.tick import Tick
from gradviz.model.forms.typed import Typed
from gradviz.model.question import Question
from gradviz.model.recording import Recording
from tests.each import each
from tests.view.documents import as_text

THREE = {"one": "1", "two": "2", "three": "3"}
FLAGS = {
    "a": ("is_leaf", "requires_grad"),
    "out": {"is_leaf": (True, False), ".grad": ["None", "some"]},
}
RIGHT = {"a": [True, True], "out": {"is_leaf": False, ".grad": "None"}}


def filled(**wrong: str) -> dict[str, dict[str, str]]:
    cells = {
        "a_is_leaf": "True",
        "a_requires_grad": "True",
        "out_is_leaf": "False",
        "out_.grad": "None",
    }
    cells |= wrong
    made: dict[str, dict[str, str]] = {}
    for name, value in cells.items():
        row, _, column = name.partition("_")
        made.setdefault(row, {})[column] = value
    return made


CASES: list[tuple[Form, Any, list[Any]]] = [
    (Choose.of(THREE, {}), "two", ["one", "two", "three"]),
    (Tick.of(THREE, {}), ["one", "three"], [["one", "three"], ["one"], [], [*THREE]]),
    (Tick.of(THREE, {}), [], [[], ["two"]]),
    (
        Table.of(FLAGS, {"out is_leaf": "made", "requires_grad": "said", "out": "other"}),
        RIGHT,
        [filled(), filled(a_is_leaf="False"), filled(out_is_leaf="True", a_requires_grad="False"),
         filled(**{"out_.grad": "some"}), filled(**{"out_.grad": "some", "out_is_leaf": "True"})],
    ),
    (
        Typed.of("a.grad", {"3": "b", "None": "leaf", "[1, 2]": "list"}),
        6.0,
        ["6", "6.0", " 6.00001 ", "6.0001", "3", "3.0", "None", "none", "[1, 2]", "(1., 2)", "[6]",
         "12/2", "+6", "6e0", ".6e1", "7", "nan", "-inf"],
    ),
    (
        Typed.of("a.grad", {}),
        [[1.0, 1 / 3], [0.0, -2.0]],
        ["[[1, 1/3], [0, -2]]", "tensor([[1.0000, 0.333333], [-0., -2.]])", "[1, .333333], [0, -2]",
         "[[1, 1/3, 0, -2]]", "[[1, 0.333], [0, -2]]", "[[1, 1/3], [0]]", "1",
         "tensor([[1., 0.3333333], [0., -2.]], grad_fn=<MulBackward0>)"],
    ),
    (Typed.of("a.grad", {}), [6.0], ["6,", "[6]", "6"]),
    (Typed.of("a.grad", {"0": "zero"}), None, ["None", "0", "[]", "0.000001"]),
    (Typed.of("out", {}), math.inf, ["inf", "+Inf", "-inf", "nan", "1e999", "1e30"]),
    (
        Order.of(["b", "a", "c"], {"b": "early"}),
        ["a", "b", "c"],
        [["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"], ["c", "b", "a"]],
    ),
]  # fmt: skip


def test_the_browser_judges_by_the_same_cases(check_golden: Callable[[str, str], None]) -> None:
    judged = []
    for form, value, answers in CASES:
        key = form.key_of(value)
        for answer in answers:
            assert form.is_answered(answer), answer
            verdict = form.judge(key, answer)
            judged.append(
                {
                    "form": form.data(),
                    "named": list(form.sentences),
                    "key": key,
                    "answer": answer,
                    "right": verdict.is_right,
                    "wrong": list(verdict.wrong),
                }
            )
    # Those of forms in a picture are in pictured.json.
    assert {one["form"]["kind"] for one in judged} == set(FORMS) - {"click", "edges"}
    check_golden("question/judged.json", as_text(judged))


def test_text_that_is_no_value_is_no_answer(check_golden: Callable[[str, str], None]) -> None:
    texts = ["", " ", "six", "6 7", "[1, 2", "1]", "[1,,2]", ",", "1/0", "0x10", "1_000", "[1 2]",
             "tensor(", "--1", "True", "(1]", "1/", "None None", "6,,"]  # fmt: skip
    form = Typed.of("x", {})
    assert [text for text in texts if form.is_answered(text)] == []
    check_golden("question/unread.json", as_text(texts))


numbers = st.floats(width=32).map(plain_number)
values = st.recursive(
    st.none() | numbers, lambda inner: st.lists(inner, min_size=1, max_size=4), max_leaves=12
)


@given(values)
def test_what_is_printed_of_a_value_can_be_typed(value: Any) -> None:
    text = words(value, 17)
    assert same(value, read(text if isinstance(value, list) else f" {text} "))
    assert same(value, read(f"tensor({text}, dtype=torch.float64)"))


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 3))
def test_numbers_are_the_same_within_the_tolerance_of_torch_only(key: float, off: float) -> None:
    import torch

    typed = key + off * (1e-5 + 1.3e-6 * abs(key))
    expected = abs(typed - key) <= 1e-5 + 1.3e-6 * abs(key)
    assert same(key, typed) == expected
    if math.isfinite(typed) and expected:
        tensors = [torch.tensor(one, dtype=torch.float64) for one in (typed, key)]
        torch.testing.assert_close(*tensors, rtol=1.3e-6, atol=1e-5)


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read(text)
    except NotANumberError:
        return
    assert same(found, read(words(found, 17)))


@given(st.permutations(["a", "b", "c", "d"]), st.permutations(["a", "b", "c", "d"]))
def test_only_the_right_order_is_right(key: list[str], answer: list[str]) -> None:
    verdict = Order.of(["a", "b", "c", "d"], {}).judge(key, answer)
    assert verdict.is_right == (key == answer)
    assert all(key.index(one) != answer.index(one) for one in verdict.wrong)


@each("texts", ["abc", "abcd", "abcde"])
def test_texts_are_never_shown_in_the_right_or_in_the_reversed_order(texts: str) -> None:
    for listed in itertools.permutations(texts):
        shown = Order.of(listed, {}).asked(list(texts)).items
        assert shown not in (tuple(texts), tuple(texts)[::-1])
        assert sorted(shown) == sorted(texts)
        assert shown == Order.of(listed[::-1], {}).asked(list(texts)).items


def test_two_texts_are_shown_in_the_wrong_order() -> None:
    for key in (["a", "b"], ["b", "a"]):
        assert Order.of(["b", "a"], {}).asked(key).items == tuple(key[::-1])


@given(st.sets(st.sampled_from(list(THREE))), st.sets(st.sampled_from(list(THREE))))
def test_wrong_ticks_are_those_that_differ(key: set[str], answer: set[str]) -> None:
    form = Tick.of(THREE, {})
    verdict = form.judge(form.key_of(sorted(key)), answer)
    assert set(verdict.wrong) == key ^ answer
    assert verdict.is_right == (key == answer)


@each(
    ("form", "given", "wrong", "says"),
    [
        ("choose", ["a", "b"], {}, "each with the sentence"),
        ("choose", {"a": "x"}, {}, "two or more options"),
        ("choose", {"a": "x", " ": "y"}, {}, "without text"),
        ("choose", THREE, {"one": "x"}, "leave wrong= out"),
        ("tick", THREE, {"one": "x"}, "leave wrong= out"),
        ("table", {}, {}, "maps each row to its columns"),
        ("table", {"a": "is_leaf"}, {}, "a row lists its columns"),
        ("table", {"a": {"x": ("1",)}}, {}, "less than two choices"),
        ("table", {"a": ("x",)}, {"b x": "?"}, "no row, no column and no cell"),
        ("typed", "", {}, "before the field"),
        ("typed", "a.grad", {"six": "x"}, "cannot be typed"),
        ("order", ["a"], {}, "two or more texts"),
        ("order", ["a", "a"], {}, "the same text twice"),
        ("order", ["a", "b"], {"c": "?"}, "not in order="),
    ],
)
def test_a_form_that_is_none_says_what_to_type(
    form: str, given: Any, wrong: dict[str, str], says: str
) -> None:
    with pytest.raises(OptionError, match=says):
        FORMS[form].of(given, wrong)


@each(
    ("form", "value", "says"),
    [
        (Choose.of(THREE, {}), "four", "none of the options: 'one', 'two', 'three'"),
        (Tick.of(THREE, {}), "one", "must return a list or set"),
        (Tick.of(THREE, {}), ["four"], "none of the options"),
        (Table.of(FLAGS, {}), {"a": [True, True]}, "the rows a, out"),
        (Table.of(FLAGS, {}), {**RIGHT, "a": [True]}, "other columns of row 'a'"),
        (Table.of(FLAGS, {}), {**RIGHT, "a": [True, 5]}, "'5' for requires_grad of a"),
        (Typed.of("x", {}), "six", "must return a number"),
        (Typed.of("x", {}), True, "must return a number"),
        (Typed.of("x", {"6.0": "?"}), 6, "says '6.0' is wrong"),
        (Order.of(["a", "b"], {}), ["a"], "must return all of the texts"),
        (Order.of(["a", "b"], {}), ["a", "b"], "in the right order already"),
    ],
)
def test_a_key_that_is_no_answer_says_why(form: Form, value: Any, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        form.key_of(value)


def test_an_answer_that_does_not_fit_is_refused() -> None:
    question = Question("Which?", Choose.of(THREE, {}), "two", Recording.empty())
    with pytest.raises(OptionError, match="is no answer to this question"):
        question.judge("four")


def test_the_digest_depends_on_question_key_and_id_and_not_on_the_last_digits() -> None:
    def digest(key: float, text: str = "What?", name: str = "") -> str:
        form = Typed.of("x", {})
        return Question(text, form, form.key_of(key), Recording.empty(), id=name).digest

    assert digest(1 / 3) == digest(0.33333334) == digest(1 / 3)
    others = {digest(1 / 3), digest(0.334), digest(1 / 3, "Which?"), digest(1 / 3, name="a/b")}
    assert len(others) == 4
    assert digest(0.0) == digest(-0.0)
