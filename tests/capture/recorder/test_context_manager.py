from __future__ import annotations

import functools
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.model.events import (
    Accumulated,
    BackwardStarted,
    Event,
    HookChanged,
    HookFired,
    Note,
    Operation,
    OptimizerStepped,
    Raised,
    Write,
    ZeroedGrad,
)
from gradviz.model.recording import Recording
from tests.each import each


def scalar(value: float) -> Tensor:
    return torch.tensor(value, requires_grad=True)


def events(recording: Recording, kind: type[Event]) -> list[Event]:
    return [e for step in recording.all_steps for e in step.events if isinstance(e, kind)]


def lines(recording: Recording) -> list[str]:
    """Text of the line of every line step."""
    found = []
    for step in recording.all_steps:
        if step.kind == "line" and step.code is not None and step.line is not None:
            found.append(step.code.text.split("\n")[step.line - step.code.first_line].strip())
    return found


def test_every_line_of_the_block_is_a_step_and_backward_opens_into_its_nodes() -> None:
    a = scalar(2.0)
    with gradviz.record() as recording:
        out = a * 3
        out.backward()
    assert lines(recording) == ["out = a * 3", "out.backward()"]
    kinds = [s.kind for s in recording.all_steps if s.level < 2]
    assert kinds == ["start", "line", "backward", "node", "node", "line"]
    assert [recording.graph[n].name for n in recording.backward_order] == [
        "MulBackward0",
        "AccumulateGrad",
    ]


def test_a_statement_over_several_lines_is_one_step() -> None:
    a = scalar(2.0)
    with gradviz.record() as recording:
        b = torch.add(
            a,
            a,
        )
        b = b * 1
    assert lines(recording) == ["b = torch.add(", "b = b * 1"]


def test_a_loop_gives_a_step_for_every_pass() -> None:
    a = scalar(2.0)
    with gradviz.record() as recording:
        total = a
        for _ in range(3):
            total = total * a
    assert lines(recording).count("total = total * a") == 3


def helper(x: Tensor) -> Tensor:
    inside = x * 2
    return inside.exp()


def test_lines_of_the_users_functions_are_steps_unless_others_are_asked_for() -> None:
    a = scalar(0.5)
    with gradviz.record() as plain:
        helper(a)
    with gradviz.record(only=[]) as alone:
        helper(a)
    with gradviz.record(only=helper) as stepped:
        helper(a)
    assert lines(alone) == ["helper(a)"]
    expected = ["inside = x * 2", "return inside.exp()", "helper(a)"]
    assert lines(plain) == lines(stepped) == expected
    assert [s.depth for s in plain.records if s.kind == "line"] == [1, 1, 0]


def test_into_something_without_lines_is_refused() -> None:
    with pytest.raises(gradviz.RecordingError, match="into= has an int"), gradviz.record(into=[3]):
        pass


def test_the_graph_of_a_step_is_the_snapshot_of_that_moment() -> None:
    a = scalar(2.0)
    with gradviz.record() as recording:
        out = a.exp()
        out = out * a
    now = gradviz.snapshot(out, names={"a": a})
    last = recording.all_steps[-1].graph
    assert sorted(n.name for n in last.nodes) == sorted(n.name for n in now.nodes)
    # The first value of out is known still, though it has lost its name.
    assert last.counts == now.counts | {"tensors": now.counts["tensors"] + 1}
    assert last.saved_bytes == now.saved_bytes


def test_tensors_that_the_block_does_not_touch_stay_out() -> None:
    a, other = scalar(2.0), scalar(7.0)
    with gradviz.record() as recording:
        out = a + 1
    assert out.requires_grad
    assert {t.name for t in recording.graph.tensors} == {"a", "out"}
    assert other.grad is None


def test_an_error_is_the_last_step_and_stands_at_its_line() -> None:
    a = scalar(2.0)
    with pytest.raises(RuntimeError), gradviz.record() as recording:  # noqa: PT012
        out = a * a
        out.backward()
        out.backward()
        a.zero_()
    last = recording.at_error
    assert last is not None
    assert last.index == len(recording.records) - 1
    raised = last.events[-1]
    assert isinstance(raised, Raised)
    assert raised.type == "RuntimeError"
    assert recording.graph[raised.node or ""].name == "MulBackward0"
    assert raised.backward == 2
    assert last.line is not None
    assert last.code is not None
    assert lines(recording)[-1] == "out.backward()"
    assert lines(recording).count("a.zero_()") == 0


def test_a_block_in_one_line_has_a_step_and_functions_are_followed_into() -> None:
    a = scalar(2.0)

    def double() -> torch.Tensor:
        made = a.exp()
        return made * 2

    # fmt: off
    with gradviz.record() as recording: double().backward()  # noqa: E701
    assert lines(recording)[-1].startswith("with gradviz.record() as recording: double()")
    assert [step.depth for step in recording.records if step.kind == "line"] == [1, 1, 0]
    with pytest.raises(RuntimeError), gradviz.record() as failed: a.add_(1)  # noqa: E701
    # fmt: on
    assert failed.at_error is not None
    assert [step.kind for step in failed.records] == ["start", "error"]
    assert failed.explanations[0].noticed is not None


def test_an_error_that_the_block_catches_is_told_at_its_line() -> None:
    vector = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        try:
            vector.mul(2).backward()
        except RuntimeError:
            caught = True
    assert caught
    assert recording.at_error is None
    assert [e.type for e in events(recording, Raised) if isinstance(e, Raised)] == ["RuntimeError"]


def test_an_error_that_the_block_explains_leaves_its_nodes_their_ids() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        h = w.exp()
        loss = h.sum()
        try:
            h.backward()
        except RuntimeError as error:
            gradviz.explain(error)
        loss.backward()
    assert sorted(node.name for node in recording.graph.nodes) == [
        "AccumulateGrad",
        "ExpBackward0",
        "SumBackward0",
    ]


def test_an_error_after_a_caught_one_does_not_take_over_its_node() -> None:
    a = scalar(2.0)
    with pytest.raises(ZeroDivisionError), gradviz.record() as recording:  # noqa: PT012
        out = a * a
        out.backward()
        try:
            out.backward()
        except RuntimeError:
            out = a + 1
        1 / 0  # noqa: B018
    caught, last = (e for e in events(recording, Raised) if isinstance(e, Raised))
    assert (caught.type, caught.backward) == ("RuntimeError", 2)
    assert caught.node is not None
    assert (last.type, last.node, last.backward) == ("ZeroDivisionError", None, None)


def test_the_traceback_is_that_of_the_plain_program() -> None:
    def run() -> None:
        torch.ones(2, requires_grad=True).mul(2).backward()

    def frames(error: BaseException) -> list[str]:
        return [f.name for f in traceback.extract_tb(error.__traceback__)]

    with pytest.raises(RuntimeError) as plain:
        run()
    with pytest.raises(RuntimeError) as recorded, gradviz.record():
        run()
    own = len(frames(plain.value)) - frames(plain.value).index("run")
    assert frames(recorded.value)[-own:] == frames(plain.value)[-own:]
    assert not [
        f for f in traceback.format_tb(recorded.value.__traceback__) if "gradviz/capture" in f
    ]


def test_anomaly_mode_notes_the_frames_of_the_plain_program() -> None:
    def run() -> list[list[str]]:
        layer = nn.Linear(2, 2)
        out = nn.functional.mse_loss(layer(torch.ones(2)).relu(), torch.ones(2))
        node: Any = out.grad_fn
        found = []
        while node is not None:
            found.append(node.metadata["traceback_"])
            node = next((n for n, _ in node.next_functions if n is not None), None)
        return found

    def last(frames: list[list[str]]) -> list[list[str]]:
        """From the function above on: what called it differs."""
        file = f'File "{__file__}"'
        first = [
            next(i for i, f in enumerate(one) if file in f and ", in run\n" in f) for one in frames
        ]
        return [one[i:] for one, i in zip(frames, first, strict=True)]

    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        plain = run()
        with gradviz.record():
            recorded = run()
    assert last(recorded) == last(plain)


def test_warnings_name_the_line_of_the_user() -> None:
    a = scalar(2.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with gradviz.record():
            (a * 2).grad  # noqa: B018
    assert [w.filename for w in caught] == [__file__]


def test_a_write_in_place_names_who_wrote_and_both_versions() -> None:
    a = scalar(2.0)
    with gradviz.record() as recording:
        b = a.exp()
        b.add_(1)
    (write,) = events(recording, Write)
    assert isinstance(write, Write)
    assert (write.by, write.name, write.before, write.after) == ("add_", "b", 0, 1)
    assert recording.all_steps[-1].graph["n0"].saved[0].state == "modified"


@each(
    ("reason", "name", "call"),
    [
        ("detach", "detach", lambda w: w.detach()),
        (".data", "data", lambda w: w.data),
        ("left torch", "item", lambda w: w.item()),
        ("left torch", "tolist", lambda w: w.tolist()),
        ("not differentiable", "gt", lambda w: w > 0),
        ("no_grad", "mul", lambda w: torch.no_grad()(lambda: w * 2)()),
        ("inference mode", "mul", lambda w: torch.inference_mode()(lambda: w * 2)()),
    ],
)
def test_an_operation_that_is_not_recorded_says_why(reason: str, name: str, call: object) -> None:
    w = scalar(2.0)
    assert callable(call)
    with gradviz.record() as recording:
        call(w)
    found = [e for e in events(recording, Operation) if isinstance(e, Operation)]
    assert [(e.name, e.recorded, e.reason) for e in found] == [(name, False, reason)]


def test_hooks_are_told_with_what_they_returned() -> None:
    a = scalar(2.0)
    with gradviz.record() as recording:
        a.register_hook(lambda g: g * 10)
        (a * 3).backward()
    (fired,) = events(recording, HookFired)
    assert isinstance(fired, HookFired)
    assert fired.returned is not None
    assert fired.returned.values == (30.0,)
    (added,) = events(recording, Accumulated)
    assert isinstance(added, Accumulated)
    assert added.after is not None
    assert added.after.values == (30.0,)
    assert lines(recording) == ["a.register_hook(lambda g: g * 10)", "(a * 3).backward()"]


def test_an_optimizer_is_one_event_with_who_was_updated_and_who_was_not() -> None:
    used, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([used, unused], lr=0.1)
    with gradviz.record() as recording:
        used.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    (stepped,) = events(recording, OptimizerStepped)
    (zeroed,) = events(recording, ZeroedGrad)
    names = {t.id: t.name for t in recording.graph.tensors}
    assert isinstance(stepped, OptimizerStepped)
    assert isinstance(zeroed, ZeroedGrad)
    assert [names[t] for t in stepped.updated] == ["used"]
    assert [names[t] for t in stepped.skipped] == ["unused"]
    assert zeroed.set_to_none
    assert [names[t] for t in zeroed.tensors] == ["used"]


def test_a_step_says_how_many_operations_it_leaves_out_before_a_backward_too() -> None:
    w = scalar(1.0)

    def adds(times: int) -> Tensor:
        h = w
        for _ in range(times):
            h = h + 1
        h.backward()
        return h * 2

    with gradviz.record(only=()) as recording:
        last = adds(301)
    assert last.requires_grad
    (started,) = [step for step in recording.all_steps if step.kind == "backward"]
    listed = sum(isinstance(event, Operation) for event in started.events)
    (note,) = [event for event in started.events if isinstance(event, Note)]
    assert (note.about, note.values) == ("operations left out", (301 - listed,))
    assert recording.history.is_partial(started.index)
    (ended,) = [event for event in recording[-1].events if isinstance(event, Note)]
    assert ended.values == (1,)


class Closure:
    """What an optimizer calls, in the forms in which people and packages write it."""

    def __init__(self, optimizer: torch.optim.Optimizer, w: Tensor) -> None:
        self.optimizer, self.w = optimizer, w

    def __call__(self) -> Tensor:
        self.optimizer.zero_grad()
        loss = self.w.exp().sum()
        loss.backward()
        return loss

    def with_argument(self, _: object) -> Tensor:
        return self()


@each(
    "form",
    [
        lambda closure: closure,
        lambda closure: closure.__call__,
        lambda closure: lambda: closure(),
        lambda closure: functools.partial(closure.with_argument, None),
        lambda closure: torch.enable_grad()(lambda: closure()),
    ],
)
@each("kind", [torch.optim.SGD, torch.optim.LBFGS])
def test_calls_in_the_closure_of_an_optimizer_are_events_and_its_own_are_not(
    form: Callable[[Closure], Any], kind: Callable[..., torch.optim.Optimizer]
) -> None:
    w = nn.Parameter(torch.ones(2))
    optimizer = kind([w], lr=0.1)
    closure = form(Closure(optimizer, w))
    with gradviz.record(only=()) as recording:
        optimizer.step(closure)
    runs = len(events(recording, BackwardStarted))
    called = [e.name for e in events(recording, Operation) if isinstance(e, Operation)]
    assert runs >= 1
    assert called == ["exp", "sum"] * runs
    assert len(events(recording, OptimizerStepped)) == 1
    assert len(events(recording, ZeroedGrad)) == runs


def test_a_node_knows_the_line_and_the_module_that_made_it() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    x = torch.ones(1, 2)
    with gradviz.record() as recording:
        out = model(x)
    relu = next(n for n in recording.graph.nodes if n.name == "ReluBackward0")
    assert relu.module == "model.1"
    assert relu.source is not None
    assert relu.source.endswith("out = model(x)")
    assert out.requires_grad


def modules_of(recording: gradviz.Recording) -> dict[str, str | None]:
    return {n.name: n.module for n in recording.graph.nodes if n.name != "AccumulateGrad"}


def test_a_module_without_a_variable_is_named_by_its_class_whatever_had_its_address_before() -> (
    None
):
    x, out = torch.ones(2, requires_grad=True), []
    kinds = [nn.Sigmoid, nn.Tanh, nn.ReLU, nn.SiLU] * 5
    with gradviz.record() as recording:
        for kind in kinds:
            out.append(kind()(x))
    nodes = [node for node in recording.graph.nodes if node.name != "AccumulateGrad"]
    assert len(nodes) == len(kinds)
    assert {(node.name.lower(), (node.module or "").lower()) for node in nodes} == {
        (f"{name}backward0", name) for name in ("sigmoid", "tanh", "relu", "silu")
    }


def test_the_parts_of_a_module_without_a_variable_have_paths_in_it() -> None:
    with gradviz.record() as recording:
        out = nn.Sequential(nn.Linear(2, 2), nn.ReLU())(torch.ones(1, 2))
    assert out.requires_grad
    assert modules_of(recording)["AddmmBackward0"] == "Sequential.0"
    assert modules_of(recording)["ReluBackward0"] == "Sequential.1"


def returns_out_of_a_with(x: Tensor) -> Tensor:
    with torch.enable_grad():
        h = x * 2
        return (h + 1).sum()


def returns_before_a_finally(x: Tensor) -> Tensor:
    try:
        h = x * 2
        return (h + 1).sum()
    finally:
        x = h


@pytest.mark.parametrize("function", [returns_out_of_a_with, returns_before_a_finally])
def test_what_a_return_makes_is_made_by_its_line_whatever_runs_after_it(
    function: Callable[[Tensor], Tensor],
) -> None:
    x = scalar(1.0)
    with gradviz.record() as recording:
        y = function(x)
    made = {
        step.code.line(step.line): [recording.graph[n].name for n, row in rows if row]
        for step in recording.all_steps
        if step.code and step.line and (rows := step.record.changes.nodes)
    }
    assert y.requires_grad
    assert made == {
        "h = x * 2": ["MulBackward0", "AccumulateGrad"],
        "return (h + 1).sum()": ["AddBackward0", "SumBackward0"],
    }


class MakesAnother(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = nn.Tanh()(x)
        return y


def test_a_module_that_is_made_in_the_forward_of_another_is_part_of_it() -> None:
    model = nn.Sequential(nn.Linear(2, 2), MakesAnother())
    with gradviz.record(only=()) as recording:
        out = model(torch.ones(1, 2))
    assert out.requires_grad
    assert modules_of(recording)["TanhBackward0"] == "model.1"


def test_recordings_cannot_be_nested() -> None:
    with (
        gradviz.record(),
        pytest.raises(gradviz.RecordingError, match="cannot be nested"),
        gradviz.record(),
    ):
        pass


def test_generators_and_coroutines_are_refused() -> None:
    def generator() -> Iterator[int]:
        with gradviz.record():
            yield 1

    async def coroutine() -> None:
        with gradviz.record():
            pass

    with pytest.raises(gradviz.RecordingError, match="is a generator"):
        next(generator())
    with pytest.raises(gradviz.RecordingError, match="is a coroutine"):
        coroutine().send(None)


def test_another_thread_runs_unseen_and_undisturbed() -> None:
    a = scalar(2.0)

    def work() -> None:
        (a * 5).backward()

    with gradviz.record() as recording:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert a.grad is not None
    assert a.grad.item() == 5.0
    assert recording.backward_order == ()


def test_values_are_not_read_when_they_are_not_wanted() -> None:
    a = scalar(2.0)
    with gradviz.record(values=False) as recording:
        (a * 3).backward()
    info = recording.all_steps[-1].graph.tensor("a")
    assert info.values is None
    assert info.grad is not None
    assert info.grad.values is None
    assert info.grad.mean is None


def test_the_same_program_gives_the_same_recording_and_json_gives_it_back() -> None:
    def run() -> Recording:
        a = scalar(2.0)
        with gradviz.record() as recording:
            out = (a * a).exp()
            out.backward()
        return recording

    one, other = run(), run()
    assert one == other
    assert one.to_json() == other.to_json()
    assert Recording.from_json(one.to_json()) == one
    assert str(one) == str(other)


def test_a_recording_of_the_future_is_refused() -> None:
    with pytest.raises(ValueError, match="gradviz recording 2"):
        Recording.from_json('{"format": "gradviz recording 1"}')


def test_hooks_of_a_tensor_that_is_written_stay_at_the_node_of_its_old_value() -> None:
    def looks(gradient: Tensor) -> None:
        assert gradient.shape == (2,)

    a = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        h = a * 2
        h.register_hook(looks)
        h.add_(1)
        h.sum().backward()
    told = [e for step in recording.all_steps for e in step.events]
    assert not [e for e in told if isinstance(e, HookChanged) and not e.registered]
    (note,) = (e.text for e in told if isinstance(e, Note))
    assert note.endswith("looks remains on n0, which made the old value of h")
    written = next(s for s in recording.all_steps if any(isinstance(e, Write) for e in s.events))
    assert written.graph["n0"].hooks_unknown


def test_a_block_can_be_used_again() -> None:
    w = torch.ones(2, requires_grad=True)
    block, found = gradviz.record(), []
    for _ in range(2):
        with block as recording:
            (w * 2).sum().backward()
        found.append(recording)
    assert found[0] is not found[1]
    assert [len(one.backward_order) for one in found] == [3, 3]
