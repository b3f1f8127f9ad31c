from __future__ import annotations

from dataclasses import replace

import pytest

from gradviz.model.explanation import CodeLine, Explanation
from gradviz.view.explanation_links import Links
from gradviz.view.story import Term, said
from tests.view.explanations import FREED, explained, post_mortem
from tests.view.recordings import loop


def links(**facts: object) -> Links:
    return Links(replace(explained(FREED).explanations[0], **facts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("out2 is made of b and c", {"out2": "t4", "b": "t1", "c": "t2"}),
        ("MulBackward0 is before AddBackward0", {"MulBackward0": "n0", "AddBackward0": "n3"}),
        ("a.grad is a number", {"a": "t0"}),
        ("it is a leaf, like A", {}),
        ("xout1, out1x and x.out1 are others", {}),
        ("SubBackward0 is not there", {}),
        ("AccumulateGrad is in three places", {}),
        ("it ran in line 4 and line 40", {"line 4": "line:0:4"}),
    ],
)
def test_names_in_sentences_lead_to_what_they_name(sentence: str, found: dict[str, str]) -> None:
    words = links().prose(sentence)
    assert said(words) == sentence
    assert {word.text: word.id for word in words if isinstance(word, Term)} == found


def test_a_name_that_several_nodes_have_leads_to_the_one_that_is_meant() -> None:
    recording = loop()
    explanation = Explanation(
        "graph freed", "RuntimeError", node="n2", node_name="MulBackward0", recording=recording
    )
    assert Links(explanation).prose("MulBackward0") == (Term("n2", "MulBackward0"),)
    unsaid = replace(explanation, node=None)
    assert Links(unsaid).node("MulBackward0") == ("MulBackward0",)
    # At the last step the others are gone.
    last = replace(unsaid, step=len(recording) - 1)
    assert Links(last).node("MulBackward0") == (Term("n3", "MulBackward0"),)


def test_a_line_leads_to_the_step_that_is_meant() -> None:
    found = links()
    assert found.line(CodeLine(6, "", "cell", 21)) == (Term("line:0:6", "line 6", 21),)
    assert found.prose("line 6")[0] == Term("line:0:6", "line 6", 21)
    assert found.line(CodeLine(6, "", "model.py: forward")) == ("line 6", " of model.py: forward")


def test_what_is_not_in_the_recording_leads_nowhere() -> None:
    assert links().tensor("hidden") == ("hidden",)
    assert links(recording=None).prose("line 6 of MulBackward0") == ("line 6 of MulBackward0",)
    assert links(recording=None).line(CodeLine(6)) == ("line 6",)


def test_lines_of_a_program_that_was_not_recorded_lead_nowhere() -> None:
    recording = post_mortem(FREED)
    found = Links(replace(FREED, recording=recording))
    assert found.line(CodeLine(6, "", "cell", 1)) == ("line 6",)
    assert found.tensor("b") == (Term("t1", "b"),)
