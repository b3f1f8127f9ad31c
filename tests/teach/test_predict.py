"""From a function to a question: what it runs, what it stores, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz
from gradviz import OptionError, RecordingError
from gradviz.teach.predict import course
from gradviz.teach.predict.edition import edition
from gradviz.view.documents.question import unsealed
from gradviz.view.widgets.question import QuestionWidget
from tests.teach.questions import questions

OPTIONS = {"it works": "No.", "it raises RuntimeError": "Yes.", "nothing": "No."}
FORMS = ("choose", "tick", "table", "typed", "order")


@pytest.fixture
def answers() -> Iterator[None]:
    edition.shows_answers = True
    yield
    edition.shows_answers = False


def twice() -> str:
    out = torch.ones(2, requires_grad=True).exp().sum()
    out.backward()
    out.backward()
    return "it works"


def gradient() -> torch.Tensor | None:
    """What the docstring says is not shown."""
    # the program begins here
    a = torch.tensor(2.0, requires_grad=True)
    (a * 3).backward()
    return a.grad


def ask(function: Callable[[], Any], **options: Any) -> QuestionWidget:
    return gradviz.predict("What?", **(options or {"typed": "x"}))(function)


def test_text_and_html_have_the_question_and_not_the_answer(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        with subtests.test(form=form):
            widget = questions()[form]
            asked = widget.question
            (data, _) = widget._repr_mimebundle_()
            for text in (data["text/plain"], data["text/html"], str(asked)):
                assert asked.digest in text
                assert "torch's answer" not in text
                for sentence in (*asked.form.sentences.values(), asked.why, asked.printed):
                    assert not sentence or sentence not in text
            assert data["text/plain"] == str(widget) == str(asked)


def test_the_document_holds_the_answer_sealed_only(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        with subtests.test(form=form):
            widget = questions()[form]
            asked = widget.question
            wire = dict(widget.wire)
            answer = unsealed(wire.pop("sealed"))
            assert answer["key"] == json.loads(json.dumps(asked.key))
            assert answer["player"]["kind"] == "recording"
            assert answer["player"]["open"] == asked.step
            text = json.dumps(wire)
            for sentence in (*asked.form.sentences.values(), asked.why, asked.printed):
                assert not sentence or sentence not in text


def test_the_program_is_the_function_without_docstring_and_return() -> None:
    code = ask(gradient).question.code
    assert code.text.split("\n") == [
        "    # the program begins here",
        "    a = torch.tensor(2.0, requires_grad=True)",
        "    (a * 3).backward()",
    ]


def test_a_question_is_the_same_bytes_every_time() -> None:
    one, other = ask(gradient), ask(gradient)
    assert json.dumps(one.wire) == json.dumps(other.wire)
    assert one.question.id == ""


def test_the_function_runs_once_and_what_it_made_is_its_own() -> None:
    runs: list[torch.Tensor] = []
    w = torch.ones(2, requires_grad=True)

    def program() -> Any:
        torch.manual_seed(3)
        runs.append(torch.rand(2))
        (w * 2).sum().backward()
        return w.grad

    before = torch.is_grad_enabled(), w._version
    assert ask(program).question.judge("[2, 2]").is_right
    assert len(runs) == 1
    assert (torch.is_grad_enabled(), w._version) == before
    torch.manual_seed(3)
    torch.rand(2)
    after = torch.rand(2)
    torch.manual_seed(3)
    ask(program)
    assert torch.equal(torch.rand(2), after)
    assert w.grad is not None
    assert w.grad.tolist() == [4.0, 4.0]


def test_what_the_function_prints_is_kept_for_after_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def program() -> float:
        print("the answer is six")
        return 6.0

    widget = ask(program)
    assert "six" not in capsys.readouterr().out.replace('print("the answer is six")', "")
    assert widget.question.printed == "the answer is six\n"


def test_in_a_script_the_question_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    widget = ask(gradient)
    assert capsys.readouterr().out == f"{widget}\n"


def test_an_error_is_an_answer_if_one_option_names_its_type() -> None:
    widget = ask(twice, choose=OPTIONS)
    asked = widget.question
    assert asked.key == "it raises RuntimeError"
    assert asked.recording.all_steps[asked.step or 0].kind == "error"
    assert ask(twice, tick=OPTIONS).question.key == ["it raises RuntimeError"]
    two = {**OPTIONS, "RuntimeError later": "No."}
    for options in ({"choose": two}, {"typed": "x"}, {"choose": {"a": "", "b": ""}}):
        with pytest.raises(OptionError, match=r"raised RuntimeError.*let one option") as caught:
            ask(twice, **options)
        assert isinstance(caught.value.__cause__, RuntimeError)


def test_the_player_opens_where_it_is_seen() -> None:
    assert ask(gradient, typed="x", step="backward").question.step is not None
    asked = ask(gradient, typed="x", step="backward").question
    assert asked.recording.all_steps[asked.step or 0].kind == "backward"
    with pytest.raises(OptionError, match="step: this recording has no step 'error'"):
        ask(gradient, typed="x", step="error")
    player = ask(gradient).player()
    assert player.step == len(player.recording)


def test_the_player_lacks_the_parts_that_are_hidden() -> None:
    def grown() -> torch.Tensor | None:
        a = torch.ones(2, requires_grad=True)
        loss = a.exp().sum()
        loss.backward()
        return a.grad

    shown, hidden = ask(grown), ask(grown, typed="x", player_hide=["saved", "versions"])
    for widget, is_there in ((shown, True), (hidden, False)):
        player = widget.player()
        for document in (unsealed(widget.wire["sealed"])["player"], player.wire):
            drawn = json.dumps([document["pictures"], document["pieces"]])
            assert ('class=\\"gv-pocket' in drawn) is is_there
        player.close()
    with pytest.raises(OptionError, match="hide='pockets' is not a part of a picture"):
        ask(grown, typed="x", player_hide="pockets")


def test_an_interruption_is_no_answer_and_leaves_no_recording_behind() -> None:
    def program() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(program)
    assert ask(gradient).question.judge("3").is_right


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"why": "x"}, "exactly one form, and this has none"),
        ({"choose": OPTIONS, "typed": "x"}, "this has choose= and typed="),
        ({"pick": "x"}, "no option 'pick'; its forms are choose, tick"),
    ],
)
def test_a_question_without_one_form_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        gradviz.predict("What?", **options)


def test_a_question_without_words_is_refused() -> None:
    with pytest.raises(OptionError, match="begins with the question as text"):
        gradviz.predict("", typed="x")


def generator() -> Iterator[int]:
    yield 1


async def coroutine() -> int:
    return 1


def with_argument(a: float) -> float:
    return a


def test_what_cannot_be_called_is_refused(subtests: pytest.Subtests) -> None:
    refused: list[tuple[Any, str]] = [
        (generator, "is a generator"),
        (coroutine, "is a coroutine"),
        (with_argument, r"needs a, and predict\(\) calls it without arguments"),
        (lambda: 1, "this is a lambda"),
        (torch.exp, "this is a builtin"),
        (torch.nn.Linear, "this is a type"),
        ("text", "this is a str"),
    ]
    for function, says in refused:
        with subtests.test(function=function, says=says), pytest.raises(OptionError, match=says):
            ask(function)


def test_inside_another_recording_it_says_so_and_the_other_one_goes_on() -> None:
    with gradviz.record() as recording:
        with pytest.raises(RecordingError, match="another recording runs already"):
            ask(gradient)
        out = torch.ones(1, requires_grad=True) * 2
    assert out.requires_grad
    assert [node.name for node in recording.graph.nodes] == ["MulBackward0", "AccumulateGrad"]


@pytest.mark.usefixtures("answers")
def test_the_edition_with_answers_stores_key_sentences_and_the_step() -> None:
    widget = ask(twice, choose=OPTIONS)
    (data, _) = widget._repr_mimebundle_()
    assert "torch's answer:\n  it raises RuntimeError\nstep" in data["text/plain"]
    assert "  it works: No." in data["text/plain"]
    assert "<img" in data["text/html"]


def test_a_question_of_the_course_takes_its_words_from_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "QUESTIONS", tmp_path)
    stored = {
        "second-call": {"question": "What?", "form": "choose", "given": OPTIONS, "why": "So."}
    }
    (tmp_path / "04-twice.json").write_text(json.dumps(stored))
    widget = gradviz.predict("04-twice/second-call")(twice)
    asked = widget.question
    assert (asked.text, asked.id, asked.why) == ("What?", "04-twice/second-call", "So.")
    assert asked.digest != ask(twice, choose=OPTIONS).question.digest
    with pytest.raises(OptionError, match="has no question 'third'; it has second-call"):
        gradviz.predict("04-twice/third")
    with pytest.raises(OptionError, match="no lesson '05-more' with questions; it has 04-twice"):
        gradviz.predict("05-more/second-call")


def test_a_page_is_saved_and_nothing_else(tmp_path: Path) -> None:
    widget = questions()["typed"]
    widget.save(tmp_path / "question.html")
    page = (tmp_path / "question.html").read_text("utf-8")
    assert "encoded, not secret" in page
    assert "counts twice" not in page
    with pytest.raises(OptionError, match=r"a question can be saved as \.html"):
        widget.save(tmp_path / "question.svg")


def test_a_closed_question_holds_nothing() -> None:
    widget = ask(gradient)
    widget.close()
    with pytest.raises(gradviz.GradvizError, match="was closed"):
        _ = widget.question


def test_hostile_text_is_data(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>\u202e"
    widget = ask(lambda_of(evil), choose={evil: "x", "b": "<img src=x onerror=alert(1)>"})
    (data, _) = widget._repr_mimebundle_()
    assert "<script" not in data["text/html"]
    assert "\u202e" not in data["text/plain"]
    assert unsealed(widget.wire["sealed"])["key"] in widget.wire["form"]["options"]


def lambda_of(value: str) -> Callable[[], str]:
    def program() -> str:
        return value

    return program


def test_a_question_of_a_test_has_no_key_and_its_score_has_it() -> None:
    widget = ask(gradient, typed="a.grad", test="quiz", about="It adds up.", see="05-lesson")
    assert widget.wire["sealed"] == ""
    assert widget.wire["test"] == "quiz"
    again = ask(gradient, typed="a.grad", test="quiz", about="It adds up.", see="05-lesson")
    score = gradviz.predict.score("quiz")
    assert str(score).startswith("Test quiz: 1 question, judged at the end")
    assert [one["digest"] for one in score.wire["items"]] == [again.question.digest]
    (item,) = unsealed(score.wire["sealed"])["items"]
    assert (item["key"], item["about"], item["see"]) == (3.0, "It adds up.", "05-lesson")
    assert "player" not in item


def test_a_test_without_questions_and_words_without_a_test_are_refused() -> None:
    with pytest.raises(OptionError, match="no question of a test 'none' has run"):
        gradviz.predict.score("none")
    with pytest.raises(OptionError, match="give its test="):
        ask(gradient, typed="a.grad", about="It adds up.")
