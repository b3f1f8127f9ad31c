from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

import gradviz
from gradviz.model import Hook, Node, Recording
from gradviz.model.events import (
    Accumulated,
    BackwardStarted,
    Clipped,
    Died,
    Event,
    FlagChanged,
    HookChanged,
    HookFired,
    Note,
    Operand,
    Operation,
    OptimizerStepped,
    Raised,
    Write,
    ZeroedGrad,
)
from gradviz.model.explanation import Explanation
from gradviz.model.recording import RowChanges
from gradviz.model.sentence import Sentence
from gradviz.view.captions.details import all_details, details
from tests.view.graphs import HOSTILE, saved, tensor
from tests.view.recordings import ALL, Script, loop, number, product


def told(recording: Recording) -> list[str]:
    return list(all_details(recording))


def after(*events: Event, text: str = "run()") -> str:
    """The caption of a line at which this happened, after a graph was there."""
    script = Script(text)
    script.step(
        "start",
        None,
        tensor(0, "w", node="n1", grad=number(2.0)),
        tensor(1, "b"),
        tensor(2, "y", node="n0", is_leaf=False),
        Node("n0", "MulBackward0", (("n1", 0), None), (saved("self", tensor="t0"),), state="holds"),
        Node("n1", "AccumulateGrad", (), variable="t0"),
        roots=(("n0", 0),),
    )
    script.step("line", 1, events=events)
    return details(script.end(), 1)


def test_a_product_is_only_written_where_it_is_one() -> None:
    recording = product()
    facts = list(recording.records)
    ran = facts[14].events[0]
    facts[14] = replace(facts[14], events=(replace(ran, grad_inputs=(number(5.0),)),))  # type: ignore[call-arg]
    changed = Recording(facts, recording.codes, recording.device)
    assert "gradient 1.0 arrived, 5.0 went to a" in told(changed)[14]


def test_the_options_of_backward_are_told(subtests: pytest.Subtests) -> None:
    for options, said_too in [
        ({"retain_graph": True}, "; nodes keep their saved tensors (retain_graph)"),
        (
            {"create_graph": True},
            "; its operations are recorded (create_graph), nodes free their saved tensors",
        ),
        ({"accumulates": False}, "; it returns the gradients and changes no .grad"),
        ({"inputs": ("t0",)}, ", only for a"),
        ({"inside": "n0"}, ", called inside MulBackward0"),
        ({"number": 2}, "backward 2 starts"),
    ]:
        with subtests.test(options=options, said_too=said_too):
            recording = product()
            facts = list(recording.records)
            event = facts[6].events[0]
            assert isinstance(event, BackwardStarted)
            facts[6] = replace(facts[6], events=(replace(event, **options),))  # type: ignore[arg-type]
            assert said_too in told(Recording(facts, recording.codes))[6]


def test_an_error_names_who_wrote_what_was_saved() -> None:
    script = Script("y = w * w\nw.mul_(2)\ny.backward()\n")
    slot = saved("self", tensor="t0")
    node = Node("n0", "MulBackward0", (None,), (slot,), state="holds")
    script.step("start", None, tensor(0, "w"))
    script.step("line", 1, node)
    modified = replace(slot, state="modified", current_version=1)
    write = Write("mul_", ("t0",), "w", "s0", 0, 1)
    script.step("line", 2, replace(node, saved=(modified,)), tensor(0, "w", version=1),
                events=(write,))  # fmt: skip
    script.step("error", 3, events=(Raised("RuntimeError", "…", "n0", 1),))
    sentences = told(script.end())
    assert sentences[2] == (
        "line 2 ran: w.mul_(2) · mul_ wrote w in place: version 0 became 1; "
        "MulBackward0 had saved it @v0"
    )
    assert sentences[3] == (
        "line 3 raised RuntimeError while MulBackward0 ran: it had saved "
        "self = w @v0, now @v1: mul_ in line 2 wrote it"
    )


def test_an_error_outside_backward_is_told_without_a_node() -> None:
    assert after(Raised("ValueError", "no")) == "line 1 raised ValueError"


def test_a_write_that_other_names_of_the_memory_do_not_notice_is_told() -> None:
    write = Write("add_", ("t0", "t9"), "d", "s0", 0, 1, ".data")
    assert after(write) == (
        "line 1 ran: run() · add_ wrote d in place through .data: version 0 became 1; "
        "w shares its storage but has its own version: backward cannot detect the write"
    )


def test_a_write_without_a_trace_is_told() -> None:
    write = Write("numpy", ("t0",), "w", "s0", 0, 0)
    assert after(write).endswith(
        "numpy wrote w in place; the version stays 0: backward cannot detect the write"
    )


def test_events_of_a_line_are_told(subtests: pytest.Subtests) -> None:
    for event, words in [
        (
            OptimizerStepped("SGD", ("t0",), ("t1",)),
            "SGD.step() updated w; it skipped b, whose .grad is None",
        ),
        (OptimizerStepped("SGD"), "SGD.step() updated no parameter"),
        (ZeroedGrad("SGD", True, ("t0",)), "SGD.zero_grad() set w.grad to None"),
        (ZeroedGrad("SGD", False, ("t0",)), "SGD.zero_grad() filled w.grad with 0"),
        (ZeroedGrad("SGD"), "SGD.zero_grad() changed no .grad"),
        (Clipped("clip_grad_norm_", ("t0",)), "clip_grad_norm_ ran on w.grad"),
        (
            Clipped("clip_grad_norm_", ("t0", "t1"), ("t1",)),
            "clip_grad_norm_ ran on w.grad; b.grad is None",
        ),
        (
            Clipped("clip_grad_value_", ("t0", "t1"), ("t0", "t1")),
            "clip_grad_value_ clipped nothing: w.grad and b.grad are None",
        ),
        (Clipped("clip_grad_norm_"), "clip_grad_norm_ clipped nothing"),
        (FlagChanged("t1", "requires_grad", False, True), "b.requires_grad is now True"),
        (HookChanged(Hook("tensor", "clip"), False, "t2"), "hook clip is removed on y"),
        (
            HookChanged(Hook("node_pre", "log"), True, None, "n0"),
            "node prehook log is registered at MulBackward0",
        ),
        (Note("states not read", "values were not read"), "values were not read"),
        (
            Operation("add", (Operand("b", "t1"),), reason="no input requires grad"),
            "add is not recorded: no input requires grad",
        ),
    ]:
        with subtests.test(event=event, words=words):
            assert after(event) == f"line 1 ran: run() · {words}"


def test_how_clipping_writes_the_gradients_is_left_out() -> None:
    inner = Write("_foreach_mul_", (), "float32 (2,)", "s7", 0, 1)
    clipped = Clipped("clip_grad_norm_", ("t0",))
    assert after(inner, clipped) == "line 1 ran: run() · clip_grad_norm_ ran on w.grad"
    assert "add_ wrote w" in after(Write("add_", ("t0",), "w", "s0", 0, 1), clipped)


def test_a_hook_that_changes_nothing_is_told(subtests: pytest.Subtests) -> None:
    for event, words in [
        (
            HookFired(1, Hook("tensor", "f"), "n0", "t2"),
            "hook f of y ran and did not change the gradient",
        ),
        (HookFired(1, Hook("node_post", "f"), "n0"), "node hook f at MulBackward0 ran"),
        (HookFired(1, Hook("node_pre", "f"), "n0"), "node prehook f at MulBackward0 ran"),
        (
            HookFired(1, Hook("node_post", "f"), "n0", None, None, raised=True),
            "node hook f at MulBackward0 raised",
        ),
    ]:
        with subtests.test(event=event, words=words):
            script = Script("")
            script.step("start", None, tensor(2, "y"), Node("n0", "MulBackward0", ()))
            script.step("hook", 1, node="n0", backward=1, events=(event,))
            assert details(script.end(), 1) == words


def test_a_gradient_that_is_not_there_is_told() -> None:
    kept = Accumulated(1, "n1", "t0", None, None, None)
    script = Script("")
    script.step("start", None, tensor(0, "w"), Node("n1", "AccumulateGrad", (), variable="t0"))
    script.step("accumulate", 1, node="n1", backward=1, events=(kept,))
    assert details(script.end(), 1) == "w.grad was None and became None"


def test_operations_inside_hooks_are_not_told_as_what_the_line_did() -> None:
    event = Operation("mul", (Operand("w", "t0"),), reason="no_grad", recomputed=True)
    assert after(event) == "line 1 ran: run()"


def test_names_stay_one_line_of_visible_text(subtests: pytest.Subtests) -> None:
    for name in HOSTILE:
        with subtests.test(name=name):
            script = Script("run()")
            script.step("start", None, tensor(0, name))
            script.step("line", 1, events=(Write(name, ("t0",), name, None, 0, 1),))
            shown = details(script.end(), 1).replace("\u2068", "").replace("\u2069", "")
            assert shown.isprintable()


def test_steps_tell_their_caption_and_all_details() -> None:
    step = product().all_steps[17]
    assert step.details == "a.grad was None and became 3.0"
    assert step.caption == "Adds the gradient to a.grad: None becomes 3.0."


def test_a_grad_that_a_hook_took_away_is_not_told_as_being_there() -> None:
    recording = loop()
    facts = list(recording.records)
    gone = replace(recording.graph_at(4).tensors[0], grad=None)
    facts[5] = replace(facts[5], changes=RowChanges((), (("t0", gone),)))
    assert told(Recording(facts, recording.codes))[5].endswith(
        "backward ran 2 nodes; w.grad is None"
    )


def test_a_hook_that_cannot_return_a_gradient_is_not_said_to_leave_it() -> None:
    script = Script("")
    script.step("start", None, tensor(0, "w"))
    fired = HookFired(1, Hook("post_accumulate_grad", "f"), None, "t0")
    script.step("hook", 1, backward=1, events=(fired,))
    assert details(script.end(), 1) == ("post-accumulate-grad hook f ran after w.grad was written")


def test_what_a_hook_did_to_parameters_is_told_at_its_step() -> None:
    script = Script("")
    script.step("start", None, tensor(0, "w"))
    fired = HookFired(1, Hook("post_accumulate_grad", "f"), None, "t0")
    did = (fired, OptimizerStepped("SGD", ("t0",)), ZeroedGrad("SGD", True, ("t0",)))
    script.step("hook", 1, backward=1, events=did)
    assert details(script.end(), 1) == (
        "post-accumulate-grad hook f ran after w.grad was written; SGD.step() updated w; "
        "SGD.zero_grad() set w.grad to None"
    )


def test_one_caption_is_the_same_as_that_of_all() -> None:
    for recording in ALL.values():
        assert [details(recording, i) for i in range(len(recording.records))] == told(recording)
        assert [details(recording, i).terms for i in range(len(recording.records))] == [
            words.terms for words in all_details(recording)
        ]


def test_a_note_that_begins_like_what_was_made_is_a_part_of_its_own() -> None:
    assert after(Note("not recorded", "made ")) == "line 1 ran: run() · made "


def test_a_name_with_a_colon_is_no_reason() -> None:
    script = Script("y.backward()")
    script.step("start", None, Node("n0", "my: Backward", (None,), state="holds"))
    raised = Raised("RuntimeError", "no", "n0", 1)
    script.step("error", 1, events=(raised,))
    recording = script.end()
    why = Explanation(
        "hidden write", "RuntimeError", Sentence("it is so."), step=1, recording=recording
    )
    recording._made["explanations"] = (replace(why, kind="unused input"),)
    assert details(recording, 1) == ("line 1 raised RuntimeError while my: Backward ran: it is so")


@pytest.mark.parametrize(
    ("name", "words"),
    [("y", "the earlier y no longer exists"), ("z", "y no longer exists")],
)
def test_an_earlier_tensor_is_one_whose_name_another_has(name: str, words: str) -> None:
    script = Script("del y")
    script.step("start", None, tensor(0, "y"), tensor(1, None), tensor(2, None), tensor(3, name))
    script.step("line", 1, gone=("t0", "t1"), events=(Died(("t0", "t1")),))
    assert details(script.end(), 1) == f"line 1 ran: del y · {words}"


class Counted(tuple[Any, ...]):
    """Steps that count how often one is read."""

    reads = 0

    def __iter__(self) -> Iterator[Any]:
        Counted.reads += len(self)
        return super().__iter__()

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        Counted.reads += len(found) if isinstance(place, slice) else 1
        return found


def test_a_caption_of_a_line_reads_no_other_line(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script("run()\n" * 500)
    script.step("start", None, tensor(0, "w"))
    for place in range(500):
        script.step("line", place + 1, tensor(0, "w", version=place + 1))
    recording = script.end()
    details(recording, 250)
    monkeypatch.setattr(Recording, "records", Counted(recording.records))
    Counted.reads = 0
    details(recording, 250)
    assert 0 < Counted.reads < 20


def test_a_line_that_is_stepped_over_says_the_same_as_without_the_lines_of_its_functions() -> None:
    def square(x: torch.Tensor) -> torch.Tensor:
        y = x * x
        return shifted(y)

    def shifted(y: torch.Tensor) -> torch.Tensor:
        z = y.exp()
        return z + 1

    def recorded(into: list[object]) -> gradviz.Recording:
        a = torch.tensor([2.0], requires_grad=True)
        with gradviz.record(into=into) as recording:
            for _ in range(2):
                out = square(a)
            out.sum().backward()
        return recording

    over, into = recorded([]), recorded([square, shifted])
    lines = [step for step in over if step.kind == "line"]
    said = [step.details for step in into if step.kind == "line"]
    assert said == [step.details for step in lines]
    assert "made" in said[1]


class Averaging(torch.nn.Module):
    """Writes buffers under no_grad, and through .data where no version moves."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("count", torch.zeros(()))
        self.mean: torch.Tensor
        self.count: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.mean.mul_(0.5).add_(x.mean(0))
        self.count.data.add_(1)
        return x - self.mean


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: torch.nn.BatchNorm1d(2), "num_batches_tracked, running_mean and running_var"),
        (
            lambda: torch.nn.InstanceNorm1d(2, track_running_stats=True),
            "running_mean and running_var",
        ),
        (Averaging, "mean and count"),
    ],
)
def test_a_module_that_writes_its_buffers_is_said_to_update_them(
    make: Callable[[], torch.nn.Module], words: str
) -> None:
    wrapped = torch.nn.Sequential(make())
    x = torch.ones(2, 2, 3) if "Inst" in str(wrapped) else torch.arange(8.0).reshape(4, 2)
    with gradviz.record(only=()) as recording:
        wrapped(x)
    assert f"wrapped.0 updated its buffers {words}" in recording.all_steps[1].details
    assert "did not see" not in recording.all_steps[1].details


def test_what_is_written_after_a_module_ran_is_not_its_doing() -> None:
    module = torch.nn.BatchNorm1d(2)
    with gradviz.record() as recording:
        module(torch.ones(4, 2))
        module.running_mean.data.add_(1)  # type: ignore[union-attr]
    assert "add_ wrote module.running_mean in place through .data" in recording[2].details


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * grad


def test_inside_the_forward_of_a_custom_function_its_own_backward_is_the_reason() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    with gradviz.record() as recording:
        Square.apply(x)  # type: ignore[no-untyped-call]
        with torch.no_grad():
            Square.apply(x)  # type: ignore[no-untyped-call]
    assert "mul of x is not recorded: inside the forward of a custom Function" in str(
        recording[1].details
    )
    assert "mul of x is not recorded: no_grad is on" in recording[3].details


def test_a_leaf_whose_name_a_result_has_now_is_said_to_get_the_gradients() -> None:
    x = torch.tensor([3.0], requires_grad=True)
    with gradviz.record() as recording:
        (x**2).sum().backward()
        x = x - 0.1 * x.grad  # type: ignore[operator]
        (x**2).sum().backward()
    made, ran = [step.details for step in recording if step.kind == "line"][1:3]
    assert made.endswith(
        "x is now a result, no leaf: backward accumulates into .grad of the earlier x, not of x"
    )
    assert "the earlier x.grad is [10.8]" in ran


def test_a_leaf_whose_name_a_tensor_without_requires_grad_has_now_is_told() -> None:
    x = torch.tensor([3.0], requires_grad=True)
    with gradviz.record() as recording, torch.no_grad():
        x = x - 1
    assert (
        "x is now a tensor that does not require grad; the earlier x is a leaf that does; "
        "sub of the earlier x is not recorded: no_grad is on"
    ) in recording[1].details


def test_two_names_of_one_leaf_are_no_rebinding() -> None:
    w = torch.tensor([3.0], requires_grad=True)
    with gradviz.record() as recording:
        h = w
        h = h * w
    assert all("earlier" not in step.details for step in recording)


def test_heads_of_loops_and_blocks_say_what_they_mean() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recording:
        for i, name in enumerate(["a"]):  # noqa: B007  read by the recorder
            w * i
        for row in w.detach().unbind():
            row * 2
        with torch.no_grad():
            w * 2
    told = [step.details.partition(" · ")[2] for step in recording]
    assert told[0] == "turn 1 of 1 begins with i = 0 and name = 'a'"
    assert told[2] == "the loop ended after 1 turn"
    assert told[3].startswith("turn 1 of 2 begins with row = 1.0; ")
    assert told[7] == "the loop ended after 2 turns"
    assert told[8] == "grad mode is off: operations are not recorded"
    assert told[10] == "the with block ended; grad mode is on again: operations are recorded"


class Shouting:
    def __repr__(self) -> str:
        raise AssertionError("it must not be asked")

    __str__ = __repr__


def test_of_a_loop_variable_only_plain_values_are_read() -> None:
    with gradviz.record() as recording:
        for thing, number in [(Shouting(), 2), (Shouting(), 2.5)]:  # noqa: B007  see above
            number + 1
    assert recording[1].details.endswith("turn 1 of 2 begins with number = 2")


def test_a_write_says_the_values_before_and_after() -> None:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    with gradviz.record() as recording:
        x.sum().backward()
        x.grad.zero_()  # type: ignore[union-attr]
        x.grad = None
        t = torch.zeros(9)
        t += 1
        t[:2].fill_(1)
    lines = [step.details for step in recording if step.kind == "line"]
    assert "zero_ wrote x.grad in place: [1.0, 1.0] → [0.0, 0.0]; version" in lines[1]
    assert lines[2].endswith("x.grad was [0.0, 0.0] and is None now")
    assert lines[4].endswith("add_ wrote t in place: version 0 became 1")
