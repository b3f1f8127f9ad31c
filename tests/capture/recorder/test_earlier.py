"""Recordings of one session know what earlier ones have seen."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import gradviz
from gradviz.capture.recorder import earlier
from gradviz.capture.recorder.earlier import EARLIER
from gradviz.model.events import FreedEarlier, SavedEarlier, WrittenEarlier


@pytest.fixture(autouse=True)
def nothing_before() -> Iterator[None]:
    EARLIER.forget()
    yield
    EARLIER.forget()


def made(w: torch.Tensor) -> torch.Tensor:
    h = w.exp()
    y = h * 2
    h.add_(1)
    return y.sum()


def failing(loss: torch.Tensor) -> gradviz.Recording:
    with pytest.raises(RuntimeError), gradviz.record() as recording:
        loss.backward()
    return recording


def test_the_line_that_wrote_is_known_in_the_next_recording() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record(into=made):
        loss = made(w)
    found = failing(loss).explanation
    assert found is not None
    assert (found.kind, found.variables) == ("saved tensor written", ("h",))
    lines = [(cause.kind, cause.at and cause.at.text) for cause in found.causes]
    assert lines == [("write", "h.add_(1)"), ("save", "h = w.exp()")]
    assert found.cause is not None
    assert found.cause.at is not None
    assert found.cause.at.code.endswith(": made")
    assert found.noticed is not None
    assert found.noticed.text == "loss.backward()"


def test_a_second_error_does_not_hide_the_first_backward() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record():
        h = w.exp()
        y = h * 2
        h.add_(1)
        loss = y.sum()
    failing(loss)
    found = failing(loss).explanation
    assert found is not None
    assert found.kind == "graph freed"
    assert found.cause is not None
    assert found.cause.what == (
        "backward 1 of an earlier recording ran MulBackward0 and freed its saved tensors, and "
        "then raised an error"
    )
    assert found.cause.at is not None
    assert found.cause.at.text == "loss.backward()"
    (fix,) = found.fixes
    assert (fix.how, fix.code) == ("elsewhere", "h = w.exp()")
    assert fix.does.endswith("on, which makes loss; this backward then has a new graph")


def test_facts_go_on_from_recording_to_recording() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record():
        h = w.exp()
        loss = (h * 2).sum()
    with gradviz.record():
        h.add_(1)
    for _ in range(3):
        with gradviz.record():
            torch.ones(2).sum()
    found = failing(loss).explanation
    assert found is not None
    lines = [(cause.kind, cause.at and cause.at.text) for cause in found.causes]
    assert lines == [("write", "h.add_(1)"), ("save", "h = w.exp()")]


def test_a_write_that_nobody_recorded_is_not_blamed_on_another() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record():
        h = w.exp()
        loss = (h * 2).sum()
    h.add_(1)
    with gradviz.record():
        h.mul_(3)
    found = failing(loss).explanation
    assert found is not None
    assert found.line is None
    assert [cause.kind for cause in found.causes] == ["write", "save"]
    assert found.unknown == (
        "which line wrote it first: the recording does not contain that write. "
        "Begin gradviz.record() before it; in a notebook, type %gradviz on and run the earlier "
        "cells again",
    )


def test_what_was_freed_between_two_recordings_is_said_to_be_unknown() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record():
        loss = w.exp().sum()
    loss.backward()
    found = failing(loss).explanation
    assert found is not None
    assert found.cause is not None
    assert found.cause.at is None
    assert found.unknown == (
        "which backward freed it: it ran before this recording. "
        "Begin gradviz.record() before it; in a notebook, type %gradviz on and run the earlier "
        "cells again",
    )
    assert found.fixes[0].code == "loss = w.exp().sum()"


def test_nodes_of_another_thread_are_not_taken_for_those_with_the_same_numbers() -> None:
    recordings = []
    w = torch.ones(2, requires_grad=True)

    def forward() -> torch.Tensor:
        return w.exp().sum()

    losses = []

    def recorded() -> None:
        with gradviz.record() as recording:
            losses.append(forward())
        recordings.append(recording)

    for _ in range(2):
        thread = threading.Thread(target=recorded)
        thread.start()
        thread.join()
    assert not any(earlier_events(recording) for recording in recordings)


def test_a_joined_recording_is_read_back_as_it_was_written() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record(into=made):
        loss = made(w)
    first, second = failing(loss), failing(loss)
    for recording in (first, second):
        assert gradviz.Recording.from_json(recording.to_json()) == recording
    assert {type(event) for event in earlier_events(first)} == {SavedEarlier, WrittenEarlier}
    assert FreedEarlier in {type(event) for event in earlier_events(second)}
    assert [code.name for code in second.codes if code.name.endswith(": made")]


def test_the_same_program_gives_the_same_recordings() -> None:
    def run() -> list[str]:
        EARLIER.forget()
        w = torch.ones(2, requires_grad=True)
        with gradviz.record(into=made):
            loss = made(w)
        return [failing(loss).to_json(), failing(loss).to_json()]

    assert run() == run()


def test_no_tensor_and_no_node_is_kept_alive() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record():
        h = w.exp()
        loss = (h * 2).sum()
    node = weakref.ref(h)
    del h, loss
    gc.collect()
    assert node() is None
    assert len(EARLIER) == 1


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(earlier.MOST + 5):
        with gradviz.record():
            torch.ones(2).sum()
    assert len(EARLIER) == earlier.MOST
    monkeypatch.setattr(earlier, "LARGEST", 0)
    with gradviz.record() as last:
        torch.ones(2).sum()
    assert len(EARLIER) == 1
    assert EARLIER.last == last


def test_reading_after_an_error_inside_a_recording_leaves_its_numbers() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        h = w.exp()
        with gradviz.expect_error(record=False):
            h.backward()
        loss = h.sum()
        loss.backward()
    assert [recording.graph[node].name for node in recording.backward_order] == [
        "SumBackward0",
        "ExpBackward0",
        "AccumulateGrad",
    ]
    assert len(recording.graph.nodes) == 3
    node: Any = h.grad_fn
    assert not any("gradviz" in key for key in node.metadata)


def earlier_events(recording: gradviz.Recording) -> list[object]:
    kinds = (SavedEarlier, WrittenEarlier, FreedEarlier)
    return [event for event in recording.records[0].events if isinstance(event, kinds)]
