"""The comparisons of recorded with plain runs, and of order, see what they are there to see."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

import gradviz
from gradviz.capture import autograd
from gradviz.capture.recorder import frames, function_mode, live_graph, step_writer
from gradviz.capture.recorder.observers import backward as backward_events
from gradviz.capture.recorder.observers import graph_reading, line_steps
from gradviz.model.events import Accumulated, Event, Freed, NodeRan
from tests.each import each
from tests.programs import named
from tests.truth.recorded import Seen, assert_same, bits, error_of, facts, nodes_now
from tests.truth.test_recording_order import Hooked, check_backwards, run_both, run_program

Patch = pytest.MonkeyPatch


def story(block: Any, seen: Seen) -> None:
    """Something of everything that could differ."""
    calls_: list[Any] = []
    with block:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        hidden = x + 1
        gone = weakref.ref(hidden)
        y = (hidden * 3).exp()
        hidden = None  # type: ignore[assignment]
        print(gone() is None)
        y.register_hook(lambda g: calls_.append(bits(g)))
        loss = (y * torch.rand(2)).sum()
        loss.backward()
        seen["again"] = error_of(loss.backward)
        torch.tensor(x)  # warns
    seen["calls"], seen["facts"], seen["nodes"] = calls_, facts(x), nodes_now([loss])


# --- a recorder that is not neutral ---------------------------------------------------------


def after(patch: Patch, owner: Any, name: str, extra: Callable[..., Any]) -> None:
    """Let a function of the recorder do something more."""
    original = getattr(owner, name)

    def run(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        extra(*args)
        return result

    patch.setattr(owner, name, run)


KEPT: list[Any] = []


def keeps_a_result(patch: Patch) -> None:
    after(patch, function_mode.CallMode, "_after", lambda *args: KEPT.append(args[-1]))


def takes_a_random_number(patch: Patch) -> None:
    after(patch, step_writer.StepWriter, "step", lambda *a: torch.rand(1))


def takes_a_sequence_number(patch: Patch) -> None:
    one = torch.ones(1, requires_grad=True)

    def use(*_: Any) -> None:
        with torch.enable_grad():
            one * 1

    after(patch, live_graph.LiveGraph, "_read", use)


def leaves_hooks(patch: Patch) -> None:
    patch.setattr(backward_events, "_take_away", lambda handles: None)


def leaves_numbers(patch: Patch) -> None:
    patch.setattr(live_graph.LiveGraph, "unmark", lambda self: None)
    patch.setattr(autograd, "untag_lost", lambda marks: None)


def bumps_a_version(patch: Patch) -> None:
    def write(self: Any, *_: Any) -> None:
        for leaf_ in [
            t for _, t in self._live_graph.world.alive() if t.is_leaf and t.requires_grad
        ]:
            torch._C._autograd._unsafe_set_version_counter((leaf_,), (leaf_._version + 1,))

    after(patch, graph_reading.GraphReading, "step_ends", write)


def changes_a_gradient(patch: Patch) -> None:
    def change(self: Any, key: str, number: int, grads: Any) -> None:
        for grad in grads:
            if grad is not None:
                grad.detach().mul_(2)

    after(patch, backward_events.BackwardEvents, "_before", change)


def prints(patch: Patch) -> None:
    after(patch, line_steps.LineSteps, "line_ended", lambda *_: print("a line"))


def stands_in_tracebacks(patch: Patch) -> None:
    patch.setattr(frames, "clean", lambda traceback: None)


def stands_in_warnings(patch: Patch) -> None:
    patch.setattr(
        frames.BorrowedFrame, "call", lambda self, frame, f, args, kwargs: f(*args, **kwargs)
    )


NOT_NEUTRAL = [
    keeps_a_result,
    takes_a_random_number,
    takes_a_sequence_number,
    leaves_hooks,
    leaves_numbers,
    bumps_a_version,
    changes_a_gradient,
    prints,
    stands_in_tracebacks,
    stands_in_warnings,
]


def test_without_a_fault_nothing_differs() -> None:
    assert_same(story)


@each("fault", NOT_NEUTRAL)
def test_a_recorder_that_changes_the_run_is_seen(fault: Callable[[Patch], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        with pytest.raises(AssertionError):
            assert_same(story, values=[True])
    KEPT.clear()


# --- a recording that is wrong --------------------------------------------------------------


def with_events(
    recording: gradviz.Recording, change: Callable[[Event], list[Event]]
) -> gradviz.Recording:
    facts_ = [
        replace(step, events=tuple(new for event in step.events for new in change(event)))
        for step in recording.records
    ]
    return gradviz.Recording(facts_, recording.codes, recording.device, recording.label)


def without_freed(event: Event) -> list[Event]:
    return [] if isinstance(event, Freed) else [event]


def fewer_bytes(event: Event) -> list[Event]:
    return [replace(event, nbytes=event.nbytes + 4)] if isinstance(event, Freed) else [event]


def without_accumulated(event: Event) -> list[Event]:
    return [] if isinstance(event, Accumulated) else [event]


def wrong_gradient(event: Event) -> list[Event]:
    if isinstance(event, NodeRan) and event.grad_inputs and event.grad_inputs[0]:
        first = replace(event.grad_inputs[0], norm=99.0, max=99.0)
        return [replace(event, grad_inputs=(first, *event.grad_inputs[1:]))]
    return [event]


def wrong_version(event: Event) -> list[Event]:
    if isinstance(event, NodeRan) and event.used:
        slots = [replace(s, saved_version=(s.saved_version or 0) + 1) for s in event.used]
        return [replace(event, used=tuple(slots))]
    return [event]


@pytest.fixture(scope="module")
def run() -> tuple[gradviz.Recording, Hooked]:
    return run_both(lambda: run_program(named("views_share_storage")))


@each("change", [without_freed, fewer_bytes, without_accumulated, wrong_gradient, wrong_version])
def test_a_wrong_event_is_seen(
    run: tuple[gradviz.Recording, Hooked], change: Callable[[Event], list[Event]]
) -> None:
    recording, hooked = run
    check_backwards(recording, hooked)
    wrong = with_events(recording, change)
    assert wrong != recording
    with pytest.raises(AssertionError):
        check_backwards(wrong, hooked)


def test_two_nodes_in_the_other_order_are_seen(run: tuple[gradviz.Recording, Hooked]) -> None:
    recording, hooked = run
    places = [i for i, step in enumerate(recording.records) if step.kind == "node"]
    swapped = list(recording.records)
    one, other = places[1], places[2]
    swapped[one], swapped[other] = swapped[other], swapped[one]
    wrong = gradviz.Recording(swapped, recording.codes, recording.device, recording.label)
    assert wrong.backward_order != recording.backward_order
    with pytest.raises((AssertionError, KeyError)):
        check_backwards(wrong, hooked)
