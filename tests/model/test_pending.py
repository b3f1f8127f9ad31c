"""What a ``with`` block binds is complete at its end, and stays as it is from then on."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, fields, replace

import pytest
import torch

import gradviz
from gradviz.model import Explanation, Recording
from gradviz.model.recording import RowChanges, StepRecord
from tests.each import each
from tests.view.explanations import FREED, SILENT

START = StepRecord("start", 0, None, 0, None, (), RowChanges(), 0, None)
WHOLE = Recording(
    [START, StepRecord("end", 0, 2, 0, None, (), RowChanges(), 0, None)], label="cell"
)


def test_a_pending_recording_is_empty_until_it_is_complete() -> None:
    recording, complete = Recording.pending()
    assert recording == Recording.empty()
    assert (len(recording.graph), recording.explanations) == (0, ())
    complete(WHOLE)
    assert recording == WHOLE
    assert hash(recording) == hash(WHOLE)
    assert [step.kind for step in recording.all_steps] == ["start", "end"]
    assert recording.label == "cell"


def test_a_complete_recording_cannot_be_completed_again() -> None:
    recording, complete = Recording.pending()
    complete(WHOLE)
    with pytest.raises(RuntimeError, match="complete already"):
        complete(Recording.empty())
    assert recording == WHOLE


@each("name", ["records", "codes", "device", "label", "kind"])
def test_what_a_recording_holds_cannot_be_assigned(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(WHOLE, name, getattr(WHOLE, name))


def test_what_was_asked_of_a_recording_while_its_code_ran_is_not_kept() -> None:
    a = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        assert (len(recording.graph), recording.explanations) == (0, ())
        assert len(recording.graph_at(0)) == 0
        h = a.exp()
        h.data.zero_()
        h.sum().backward()
    assert len(recording.graph) > 0
    assert [one.kind for one in recording.explanations] == ["hidden write"]
    assert recording.explanations is recording.explanations


def test_a_pending_explanation_reads_like_the_one_it_is_completed_with() -> None:
    found, complete = Explanation.pending()
    assert not found
    assert found == Explanation()
    complete(FREED)
    assert found
    assert isinstance(found, Explanation)
    assert all(getattr(found, one.name) is getattr(FREED, one.name) for one in fields(FREED))
    assert found == FREED
    assert found in (FREED,)
    assert found != SILENT
    assert (hash(found), repr(found), str(found)) == (hash(FREED), repr(FREED), str(FREED))
    assert (found.line, found.cause, found.is_silent) == (FREED.line, FREED.cause, False)
    assert found._repr_mimebundle_() == FREED._repr_mimebundle_()


def test_a_copy_of_a_pending_explanation_is_a_plain_one() -> None:
    found, complete = Explanation.pending()
    complete(FREED)
    copies = (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found))
    for one in (*copies, replace(found)):
        assert type(one) is Explanation
        assert one == FREED
    assert replace(found, kind="other").kind == "other"
    assert asdict(found) == asdict(FREED)


def test_a_complete_explanation_never_changes() -> None:
    found, complete = Explanation.pending()
    complete(FREED)
    with pytest.raises(RuntimeError, match="complete already"):
        complete(SILENT)
    for one in (found, FREED):
        with pytest.raises(FrozenInstanceError):
            one.kind = "other"  # type: ignore[misc]
        with pytest.raises((AttributeError, TypeError)):
            one.unheard_of = 1  # type: ignore[attr-defined]
    assert found == FREED
