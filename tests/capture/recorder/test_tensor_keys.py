from __future__ import annotations

import torch

import gradviz
from gradviz.model.events import Operation, Write


def operations(recording: gradviz.Recording) -> dict[str, Operation]:
    events = [event for step in recording.all_steps for event in step.events]
    return {event.name: event for event in events if isinstance(event, Operation)}


def test_results_without_a_name_are_followed_from_call_to_call() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        loss = w.exp().detach().sum()
    made = operations(recording)
    assert made["exp"].made == made["detach"].reads
    assert made["detach"].made == made["sum"].reads
    assert made["exp"].reads == (recording.graph.tensor("w").id,)
    assert made["sum"].made == (recording.graph.tensor("loss").id,)
    assert len({made["exp"].made, made["detach"].made, made["sum"].made}) == 3
    del loss


def test_tensors_in_lists_and_what_required_grad_are_told() -> None:
    w, x = torch.ones(2, requires_grad=True), torch.ones(2)
    with gradviz.record() as recording:
        joined = torch.cat([w, x])
    cat = operations(recording)["cat"]
    ids = tuple(recording.graph.tensor(name).id for name in ("w", "x"))
    assert cat.reads == ids
    assert cat.required == ids[:1]
    del joined


def test_what_gets_a_name_later_has_its_id_from_the_beginning() -> None:
    def compute(w: torch.Tensor) -> torch.Tensor:
        return w.exp()

    w = torch.ones(2, requires_grad=True)
    with gradviz.record(into=compute) as recording:
        out = compute(w)
    assert operations(recording)["exp"].made == (recording.graph.tensor("out").id,)
    del out


def test_an_assignment_to_a_part_tells_what_went_in() -> None:
    w = torch.ones((), requires_grad=True)
    with gradviz.record() as recording:
        buffer = torch.zeros(2)
        buffer[0] = w.exp()
    events = [event for step in recording.all_steps for event in step.events]
    (write,) = (event for event in events if isinstance(event, Write))
    exp = operations(recording)["exp"]
    assert write.reads == (recording.graph.tensor("buffer").id, *exp.made)
    assert write.made == (recording.graph.tensor("buffer").id,)


def test_a_write_through_a_view_tells_what_it_is_a_view_of() -> None:
    with gradviz.record() as recording:
        total = torch.zeros(2)[0].add_(1)
    events = [event for step in recording.all_steps for event in step.events]
    (write,) = (event for event in events if isinstance(event, Write))
    made = operations(recording)
    assert write.made == (*made["add_"].made, *made["zeros"].made)
    del total


def test_a_recording_with_them_survives_json() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        loss = w.exp().sum()
    assert gradviz.Recording.from_json(recording.to_json()) == recording
    del loss
