"""How explanations are put together, whatever they say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
import torch

import gradviz
from gradviz.analysis import explain
from gradviz.model import Explanation, Recording
from gradviz.view.documents.explanation import card_of
from tests.analysis.explain.running import explained as explained_text


def failing() -> Recording:
    a = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError), gradviz.record() as recording:
        a.add_(1)
    return recording


def test_a_bug_in_the_analysis_is_told_and_the_recording_can_be_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def has_a_bug(recording: Recording) -> Iterator[Explanation]:
        raise KeyError(len(recording.records))

    recording = failing()
    monkeypatch.setattr(explain, "errors_in", has_a_bug)
    with pytest.warns(RuntimeWarning, match="gradviz has a bug"):
        found = recording.explanations
    assert found == ()
    assert "raised RuntimeError" in str(gradviz.show(recording))


def test_an_error_that_is_not_autograds_gets_no_card() -> None:
    with pytest.raises(KeyError), gradviz.record() as recording:
        {}["x"]  # type: ignore[index]
    player = gradviz.show(recording)
    assert not any(view.get("cards") for view in player.wire["views"])
    assert "KeyError" in str(player)


def test_the_same_recording_is_explained_once() -> None:
    recording = failing()
    assert recording.explanations is recording.explanations
    assert recording.explanation is recording.explanations[0]
    assert recording.all_steps[-1].explanation is recording.explanation


def test_the_variable_of_a_loop_is_known_where_its_grad_is_none() -> None:
    model = torch.nn.Linear(2, 1)
    with suppress(AttributeError), gradviz.record() as recording:
        for p in model.parameters():
            p.grad.zero_()  # type: ignore[union-attr]
    assert str(recording.explanations[0].what) == (
        "model.weight.grad is None: no backward has run yet"
    )


OWN = """
class Own:
    def made(self):
        return torch.ones(2)
    def run(self):
        self.made().sum().backward()
Own().run()
"""


def test_what_values_are_taken_from_is_no_variable() -> None:
    assert explained_text("torch.ones(2).sum().backward()\n").variables == ()
    given = "one = torch.ones(2)\ntorch.stack([one, one]).sum().backward()\n"
    assert explained_text(given).variables == ("one",)
    assert explained_text(OWN).variables == ()


def test_a_write_that_was_refused_is_marked_as_refused_and_has_no_other_culprit() -> None:
    (found,) = failing().explanations
    assert [(mark.kind, mark.words) for mark in found.marks] == [("refused", "add_ would write it")]
    card = card_of(found)
    assert card["culprit_line"] is not None
    assert card["culprit_step"] is None


def test_a_culprit_in_another_step_is_one_to_go_to() -> None:
    w = torch.ones(2, requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        h = w.exp()
        h.add_(1)
        h.sum().backward()
    assert card_of(recording.explanations[0])["culprit_step"] == 2
