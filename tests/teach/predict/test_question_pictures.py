"""Questions that are answered in the picture of a run: which picture, which key, which errors."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

import gradviz
from gradviz.model import OptionError, RecordingError
from gradviz.model.question import Question
from gradviz.teach.predict.in_picture import in_picture
from gradviz.teach.predict.predict import form_of
from gradviz.teach.predict.question_run import run
from gradviz.view import formatting
from gradviz.view.contents.parts_of import html_of

pytestmark = pytest.mark.usefixtures("capsys")


def asked(
    program: Callable[[], Any],
    picture: Any = None,
    hide: Any = None,
    wrong: Any = None,
    **form: Any,
) -> Question:
    """As :func:`gradviz.predict` makes it, without the player."""
    done = run(program)
    made = in_picture(form_of(form, wrong or {}), done, picture, hide)
    return Question("Where?", made.form, made.key, done.recording, made.step)


def picture(question: Question) -> Any:
    return dict(question.form.drawing())


def answering(value: object) -> Callable[[], Any]:
    def product() -> Any:
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(3.0, requires_grad=True)
        y = a * b
        out = y + a
        out.backward()
        return value

    return product


product = answering("MulBackward0")


def modified() -> None:
    w = torch.ones(2, requires_grad=True)
    x = w * w
    h = x.exp()
    h.add_(1)
    h.sum().backward()


def returning(make: Callable[[Any, Any, Any], Any]) -> Callable[[], Any]:
    def program() -> Any:
        a = torch.tensor(2.0, requires_grad=True)
        y = a.exp()
        y.retain_grad()
        z = y * y
        z.backward()
        return make(a, y, z)

    return program


# ---------------------------------------------------------------------- the key


def test_the_key_is_what_the_function_returned(subtests: pytest.Subtests) -> None:
    for click, make, key in [
        ("node", lambda a, y, z: z.grad_fn, ["MulBackward0"]),
        ("node", lambda a, y, z: z.grad_fn.next_functions[0][0], ["ExpBackward0"]),
        ("node", lambda a, y, z: y.grad_fn.next_functions[0][0], ["a"]),
        ("node", lambda a, y, z: "ExpBackward0", ["ExpBackward0"]),
        ("node", lambda a, y, z: "`ExpBackward0`", ["ExpBackward0"]),
        ("node", lambda a, y, z: "AccumulateGrad of a", ["a"]),
        ("node", lambda a, y, z: "leaf a", ["a"]),
        ("tensor", lambda a, y, z: a, ["a"]),
        ("tensor", lambda a, y, z: y, ["y"]),
        ("tensor", lambda a, y, z: "y.grad", ["y"]),
        (
            "tensors",
            lambda a, y, z: [t for t in (z, y, a) if t.is_leaf or t.retains_grad],
            ["y", "a"],
        ),
        ("nodes", lambda a, y, z: {"one": "MulBackward0", "two": a}, ["a", "MulBackward0"]),
    ]:
        with subtests.test(click=click, make=make):
            question = asked(returning(make), click=click)
            assert sorted(question.key) == sorted(key)
            assert question.judge(question.key).is_right


def test_the_node_that_raised_is_the_key_of_a_program_that_raises() -> None:
    question = asked(modified, click="node")
    assert question.key == ["ExpBackward0"]
    assert question.judge(["AddBackward0"]).wrong == ("AddBackward0",)
    whole = gradviz.predict("Where?", click="node")(modified).question
    assert whole.recording.all_steps[whole.step or 0].kind == "error"


def test_gradients_on_edges_are_those_that_backward_passed_on() -> None:
    question = asked(product, edges="all")
    assert question.key == {
        "AddBackward0 -> MulBackward0": 1.0,
        "AddBackward0 -> a": 1.0,
        "MulBackward0 -> a": 3.0,
        "MulBackward0 -> b": 2.0,
    }
    one = asked(product, edges=["MulBackward0 -> a"], wrong={"MulBackward0 -> a": "Times b."})
    assert one.key == {"MulBackward0 -> a": 3.0}
    assert one.judge({"MulBackward0 -> a": "2"}).wrong == ("MulBackward0 -> a",)
    assert one.form.sentences == {"MulBackward0 -> a": "Times b."}


def test_gradients_of_tensors_are_nested_as_their_shape() -> None:
    def program() -> None:
        w = torch.ones(2, 2, requires_grad=True)
        (w * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()

    question = asked(program, edges=["MulBackward0 -> w"])
    assert question.key == {"MulBackward0 -> w": [[1.0, 2.0], [3.0, 4.0]]}
    assert question.judge({"MulBackward0 -> w": "[[1, 2], [3, 4]]"}).is_right


def test_two_edges_between_the_same_nodes_are_told_apart() -> None:
    def program() -> None:
        x = torch.tensor(3.0, requires_grad=True)
        y = x * x
        y.backward()

    with pytest.raises(OptionError, match=r"2 edges .* 'MulBackward0\[0\] -> x', 'MulBackward0\[1"):
        asked(program, edges=["MulBackward0 -> x"])
    assert asked(program, edges=["MulBackward0[1] -> x"]).key == {"MulBackward0[1] -> x": 3.0}


def test_sentences_on_wrong_picks_are_found_by_any_name() -> None:
    question = asked(product, click="node", wrong={"AddBackward0": "No.", "leaf a": "A leaf."})
    assert question.form.sentences == {"AddBackward0": "No.", "a": "A leaf."}


# ------------------------------------------------------------------ the picture


def labels(question: Question) -> list[str]:
    return [choice["label"] for choice in picture(question)["choices"]]


def test_the_picture_is_that_before_the_backward() -> None:
    assert labels(asked(product, click="nodes")) == ["MulBackward0", "a", "b", "AddBackward0"]


def test_the_picture_is_that_before_the_line_that_raised() -> None:
    def program() -> str:
        w = torch.ones(2, requires_grad=True)
        x = w.exp()
        try:
            w.add_(x)
        except RuntimeError:
            return "w"
        return "ExpBackward0"

    assert labels(asked(program, click="node")) == ["ExpBackward0", "w"]


def test_the_picture_is_that_of_a_step_that_was_named() -> None:
    def program() -> str:
        a = torch.tensor(2.0, requires_grad=True)
        y = a.exp()
        z = y.sin()
        z.backward()
        return "a"

    line = program.__code__.co_firstlineno + 2
    assert labels(asked(program, click="node", picture=f"line:{line}")) == ["ExpBackward0", "a"]


def test_of_two_backwards_the_gradients_are_those_of_the_one_after_the_picture() -> None:
    def program() -> None:
        a = torch.tensor(2.0, requires_grad=True)
        y = a * 3
        z = -y
        y.backward(retain_graph=True)
        z.backward()

    name = ["MulBackward0 -> a"]
    assert asked(program, edges=name).key == {name[0]: -3.0}
    assert asked(program, edges=name, picture="backward").key == {name[0]: 3.0}


def test_without_a_backward_the_picture_is_the_last_graph() -> None:
    def program() -> list[torch.Tensor]:
        a = torch.tensor(2.0, requires_grad=True)
        b = a * 2
        c = b.detach()
        return [t for t in (a, b, c) if t.is_leaf]

    question = asked(program, click="tensors")
    assert sorted(question.key) == ["a", "c"]
    assert sorted(labels(question)) == ["a", "b", "c"]


def test_which_tensors_can_be_picked_does_not_depend_on_the_key() -> None:
    one = asked(returning(lambda a, y, z: a), click="tensor")
    other = asked(returning(lambda a, y, z: y), click="tensor")
    assert picture(one) == picture(other)


# ------------------------------------------------- nothing gives the answer away


def everything_before_an_answer(question: Question) -> str:
    """All that a reader, a screen reader or a search finds before an answer."""
    from gradviz.view.documents.question import question_document

    document = question_document(question)
    document.pop("sealed")
    return json.dumps(document) + str(question) + decoded(html_of(question))


def decoded(page: str) -> str:
    """HTML with its images as text."""
    return page + "".join(
        base64.b64decode(found).decode() for found in re.findall(r"base64,([A-Za-z0-9+/=]+)", page)
    )


def test_no_gradient_is_in_the_picture_of_gradients() -> None:
    def program() -> None:
        a = torch.tensor(7.0, requires_grad=True)
        b = torch.tensor(11.0, requires_grad=True)
        for _ in range(2):
            y = (a * b).pow(3)
            y.backward()

    question = asked(program, edges="all")
    told = everything_before_an_answer(question)
    assert list(question.key.values()) == [17787.0, 195657.0, 124509.0]
    for number in (*question.key.values(), 2 * 195657, 2 * 124509):  # those of .grad too
        for words in (f"{number:g}", f"{number:.0f}", formatting.number(number)):
            assert words not in told
    assert f"= {formatting.number(456533.0)}" in told  # y, which is no gradient


def test_the_node_that_raises_has_no_mark() -> None:
    question = asked(modified, click="node")
    told = everything_before_an_answer(question)
    for word in ("modified", "freed", "@v", "gv-warn", "gv-raised", "raised", "⚠", "version"):
        assert word not in told.partition("<style>")[0] + told.rpartition("</style>")[2], word
    svg = picture(question)["svg"].rpartition("</style>")[2]
    classes = set(re.findall(r'class="([^"]*)"', svg))
    states = {name for names in classes for name in names.split() if name.startswith("gv-")}
    assert states.isdisjoint({"gv-modified", "gv-freed", "gv-holds", "gv-raised", "gv-pocket"})


def test_what_is_freed_before_a_second_backward_is_not_said() -> None:
    def program() -> None:
        a = torch.tensor(2.0, requires_grad=True)
        y = a.exp()
        z = y + 1
        z.backward()
        z.backward()

    question = asked(program, click="node")
    assert question.key == ["ExpBackward0"]
    svg = picture(question)["svg"].rpartition("</style>")[2]
    assert "freed" not in svg + json.dumps(picture(question)["choices"])


def test_hide_says_what_the_picture_does_not_have() -> None:
    shown = asked(modified, click="node", hide=["grad"])
    assert "modified" in json.dumps(picture(shown)["choices"])
    without = asked(product, click="node", hide=["grad", "saved", "versions", "values"])
    assert "= 6.0" not in picture(without)["svg"]
    assert "= 6.0" in picture(asked(product, click="node"))["svg"]
    hidden = asked(product, edges="all", hide=[])
    assert ".grad" not in picture(hidden)["svg"].rpartition("</style>")[2]


def test_names_cannot_become_markup() -> None:
    def program() -> str:
        tensors = {"<script>alert(1)</script>\u202e": torch.tensor(2.0, requires_grad=True)}
        y = tensors["<script>alert(1)</script>\u202e"] * 2
        y.backward()
        return "MulBackward0"

    question = asked(program, click="node")
    svg = picture(question)["svg"]
    assert "<script" not in svg
    assert "\u202e" not in json.dumps(picture(question), ensure_ascii=False)


def test_the_key_is_in_the_document_only_sealed() -> None:
    widget = gradviz.predict("Where?", click="node")(product)
    assert "key" not in widget.wire["form"]
    sealed = json.loads(zlib.decompress(base64.b64decode(widget.wire["sealed"])))
    assert sealed["key"] == ["MulBackward0"]


def test_the_same_program_gives_the_same_bytes() -> None:
    for options in ({"click": "node"}, {"edges": "all"}):
        first, second = (gradviz.predict("Where?", **options)(product) for _ in range(2))  # type: ignore[arg-type]
        assert json.dumps(first.wire) == json.dumps(second.wire)


# ----------------------------------------------------------------------- errors


def test_an_answer_that_is_not_in_the_picture_is_an_error(subtests: pytest.Subtests) -> None:
    for value, click, message in [
        ("TanhBackward0", "node", r"'TanhBackward0' is nothing in the picture.*before backward 1"),
        ("y", "node", r"y, which is not among the nodes .*click='tensor' or click='tensors'"),
        ("MulBackward0", "tensor", r"not among the tensors .*click='node'"),
        (None, "node", r"the answer is None.*'MulBackward0', 'a', 'b', 'AddBackward0'"),
        ([], "nodes", r"at least one node"),
        (["a", "b"], "node", r"returned 2 nodes, a, b, .*click='nodes'"),
        (3, "node", r"the answer is 3, which is nothing in the picture"),
    ]:
        with subtests.test(value=value, click=click), pytest.raises(OptionError, match=message):
            asked(answering(value), click=click)


def test_a_name_that_several_nodes_have_is_an_error_that_lists_them() -> None:
    answers = ["MulBackward0"]

    def program() -> str:
        a = torch.tensor(2.0, requires_grad=True)
        y = a * 2
        z = y * 3
        z.backward()
        return answers[-1]

    with pytest.raises(OptionError, match=r"2 things in the picture: .*MulBackward0 of line") as e:
        asked(program, click="node")
    answers += re.findall(r"'(MulBackward0 of line \d+)'", str(e.value))[:1]
    assert asked(program, click="node").judge(answers[1:]).is_right


def test_a_tensor_that_the_run_does_not_know_is_an_error() -> None:
    foreign = torch.ones(3, requires_grad=True)

    def program() -> torch.Tensor:
        a = torch.tensor(2.0, requires_grad=True)
        (a * 2).backward()
        return foreign

    with pytest.raises(OptionError, match="a tensor that is not known to the recording"):
        asked(program, click="tensor")


@pytest.mark.parametrize("take", [lambda node: node.id, lambda node: node, lambda node: [node.id]])
def test_what_another_snapshot_calls_a_node_is_refused(take: Callable[[Any], Any]) -> None:
    def program() -> Any:
        a = torch.tensor(2.0, requires_grad=True)
        y = a * 3
        out = y.exp()
        part = gradviz.snapshot(y)
        out.backward()
        return take(part["n0"])

    with pytest.raises(OptionError, match=r"each snapshot counts its own ids: .*'ExpBackward0'"):
        asked(program, click="node")


def test_a_tensor_may_have_a_name_that_looks_like_an_id() -> None:
    def program() -> Any:
        n0 = torch.tensor(2.0, requires_grad=True)
        out = n0 * 3
        out.backward()
        return "n0"

    assert asked(program, click="tensor").key == ["n0"]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (["AddBackward0 -> b"], r"no edge has the name .*'MulBackward0 -> b'"),
        (["AddBackward0"], r"'AddBackward0' is no edge: .*as in 'AddBackward0 -> MulBackward0'"),
        (["SinBackward0 -> a"], r"'SinBackward0' is nothing in the picture"),
    ],
)
def test_an_edge_that_is_not_there_is_an_error_that_lists_those_that_are(
    edges: list[str], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        asked(product, edges=edges)


def test_edges_without_a_backward_are_an_error() -> None:
    def program() -> None:
        a = torch.tensor(2.0, requires_grad=True)
        y = a * 2
        y.detach()

    with pytest.raises(OptionError, match=r"call backward\(\) in the function"):
        asked(program, edges="all")


def test_gradients_that_nobody_can_type_are_an_error() -> None:
    def program() -> None:
        a = torch.ones(20, requires_grad=True)
        (a * 2).sum().backward()

    with pytest.raises(OptionError, match="has 20 numbers"):
        asked(program, edges=["MulBackward0 -> a"])


def test_too_many_fields_are_an_error() -> None:
    def program() -> None:
        a = torch.tensor(2.0, requires_grad=True)
        y = a
        for _ in range(13):
            y = y * 1
        y.backward()

    with pytest.raises(OptionError, match="asks for 13 gradients, and 12"):
        asked(program, edges="all")


def test_a_graph_that_would_be_folded_is_an_error() -> None:
    def program() -> str:
        y = torch.tensor(2.0, requires_grad=True)
        for _ in range(41):
            y = y * 1
        y.backward()
        return "y"

    with pytest.raises(OptionError, match="has 42 nodes, and the picture of a question at most 40"):
        asked(program, click="node")


def test_an_error_outside_of_backward_has_no_node() -> None:
    def program() -> None:
        a = torch.ones(2, requires_grad=True)
        a.exp()
        torch.ones(2) @ torch.ones(3)

    with pytest.raises(OptionError, match="not in a node of backward"):
        asked(program, click="node")


def test_a_picture_is_for_forms_that_have_one() -> None:
    options: Any = {"1": "No.", "2": "Yes."}
    with pytest.raises(OptionError, match="picture= and hide= are for questions with click="):
        gradviz.predict("How many?", choose=options, picture=1)


def test_a_recording_around_the_question_is_an_error() -> None:
    with gradviz.record(), pytest.raises(RecordingError, match="another recording runs"):
        asked(product, click="node")
