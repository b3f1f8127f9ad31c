from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gradviz.model import Recording
from gradviz.model.explanation import Cause, CodeLine, Explanation
from gradviz.model.sentence import Sentence, Term, say
from gradviz.view.captions.details import details
from gradviz.view.documents.explanation import card_of
from gradviz.view.explanations.links import Links
from tests.view.explanations import FREED, LAST, explained, post_mortem, told_in
from tests.view.graphs import HOSTILE, tensor
from tests.view.recordings import Script, loop, product


def links(**facts: object) -> Links:
    return Links(replace(explained(FREED).explanations[0], **facts))  # type: ignore[arg-type]


def with_values() -> Recording:
    """A recording that knows a tensor called ``values``."""
    script = Script("out.backward()")
    script.step("start", None, tensor(0, "values"), tensor(1, "out"))
    script.step("line", 1)
    return script.end()


def everywhere(words: Sentence, at: CodeLine, recording: Recording) -> Explanation:
    """An explanation that says nothing but the same sentence."""
    cause, said = Cause("write", words, at), (words,)
    facts: Any = {"what": words, "why": words, "already": said, "unknown": said}
    return Explanation("hidden write", causes=(cause,), step=at.step, recording=recording, **facts)


WRONG = Sentence("backward would compute from changed values it would be wrong")


def test_words_of_a_sentence_are_not_taken_for_names() -> None:
    recording = with_values()
    told = everywhere(WRONG, CodeLine(1, "", "cell", 1), recording)
    line = {"id": "line:0:1", "text": "line 1", "step": 1}
    values = [value for _, told in told_in(card_of(told)["parts"]) for value in told]
    assert values == [[WRONG], [line], [WRONG], [WRONG], [WRONG], [WRONG]]
    recording._made["explanations"] = (told,)
    assert [term.id for term in recording.all_steps[1].details.terms] == ["line:0:1"]  # type: ignore[attr-defined]


def test_a_term_leads_to_what_it_was_made_of() -> None:
    recording = product()
    history = recording.history
    at = CodeLine(4, "out1 = a * b", "cell", 4)
    node = history.node("n0", 4)
    assert node is not None
    sentence = say(
        "{} of {} saved {}",
        Term(node.id, node.name),
        history.line_term(at),
        history.tensor_term("t0", 4),
    )
    found = [
        {"id": "n0", "text": "MulBackward0"},
        " of ",
        {"id": "line:0:4", "text": "line 4", "step": 4},
        " saved ",
        {"id": "t0", "text": "a"},
    ]
    told = everywhere(sentence, at, recording)
    fields = dict(told_in(card_of(told)["parts"]))
    assert fields["what"] == fields[""] == [found]
    assert fields["cause"][0] == fields["not known"][0] == fields["already changed"][0] == found
    recording._made["explanations"] = (told,)
    assert details(recording, 4).parts[-5:] == sentence.parts


def test_names_in_sentences_are_clean_and_what_is_around_them_stays(
    subtests: pytest.Subtests,
) -> None:
    for name in HOSTILE:
        with subtests.test(name=name):
            told = Explanation("broadcast", what=say("here {} is", Term("t0", name)))
            [before, term, after] = card_of(told)["parts"][0]["words"]
            assert (before, term["id"], after) == ("here ", "t0", " is")
            assert term["text"].replace("\u2068", "").replace("\u2069", "").isprintable()


def test_a_node_is_the_one_that_is_meant() -> None:
    recording = loop()
    told = Explanation(
        "graph freed", "RuntimeError", node="n2", node_name="MulBackward0", recording=recording
    )
    assert Links(told).node.parts == (Term("n2", "MulBackward0"),)
    # Several nodes have the name; none of them is meant more than the others.
    assert Links(replace(told, node=None)).node.parts == ("MulBackward0",)
    assert Links(replace(told, node_name=None)).node == ""


def test_a_variable_is_the_tensor_that_has_the_name_at_the_step() -> None:
    script = Script("y = f()")
    script.step("start", None, tensor(0, "y"))
    script.step("line", 1, tensor(1, "y"), gone=("t0",))
    recording = script.end()

    def found(step: int | None) -> Any:
        return Links(Explanation("broadcast", step=step, recording=recording)).tensor("y").parts

    assert [found(step) for step in (0, 1, None)] == [
        (Term("t0", "y"),),
        (Term("t1", "y"),),
        (Term("t1", "y"),),
    ]


def test_a_line_leads_to_the_step_that_is_meant() -> None:
    found = links()
    assert found.line(CodeLine(6, "", "cell", 21)).parts == (Term("line:0:6", "line 6", 21),)
    assert found.line(found.known_line(LAST)).parts == (Term("line:0:6", "line 6", 21),)
    elsewhere = CodeLine(6, "", "model.py: forward")
    assert found.known_line(elsewhere) == elsewhere
    assert found.line(elsewhere).parts == ("line 6 of model.py: forward",)


def test_what_is_not_in_the_recording_leads_nowhere() -> None:
    assert links().tensor("hidden").parts == ("hidden",)
    assert links(recording=None).tensor("b").parts == ("b",)
    assert links(recording=None).node.parts == ("MulBackward0",)
    assert links(recording=None).line(CodeLine(6)).parts == ("line 6",)
    assert links(recording=None).line(CodeLine(None)).parts == ("a line that is not known",)


def test_lines_of_a_program_that_was_not_recorded_lead_nowhere() -> None:
    recording = post_mortem(FREED)
    found = Links(replace(FREED, recording=recording))
    assert found.line(CodeLine(6, "", "cell", 1)).parts == ("line 6",)
    assert found.place(CodeLine(6, "", "cell", 1)) is None
    assert found.tensor("b").parts == (Term("t1", "b"),)
