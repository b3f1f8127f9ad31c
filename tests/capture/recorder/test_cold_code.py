"""Lines in which nothing of torch happens are told no more after a while, and nothing is lost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.analysis.code.turns import turns_of
from gradviz.capture.recorder import line_events
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.model.events import (
    Died,
    HookFired,
    LoopVariable,
    Made,
    Note,
    Operation,
    Raised,
    Write,
)


@contextmanager
def lines_told() -> Iterator[list[int]]:
    """Lines of which the recorder is told."""
    told: list[int] = []
    event = LineEvents.line_event

    def counted(self: LineEvents, frame: Any, line: int) -> None:
        told.append(line)
        event(self, frame, line)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LineEvents, "line_event", counted)
        yield told


def steps(recording: gradviz.Recording) -> list[tuple[int, str]]:
    """Depth and text of each line that is a step."""
    return [
        (step.depth, text_of(recording, step))
        for step in recording.records
        if step.kind in ("line", "error") and step.line is not None
    ]


def text_of(recording: gradviz.Recording, step: Any) -> str:
    if step.line is None:
        return ""
    code = recording.codes[step.code]
    return code.text.splitlines()[step.line - code.first_line].strip()


def with_event(recording: gradviz.Recording, kind: type) -> list[str]:
    """Texts of the lines that have an event of a kind."""
    return [
        text_of(recording, step)
        for step in recording.records
        if any(isinstance(event, kind) for event in step.events)
    ]


def notes(recording: gradviz.Recording) -> list[str]:
    return [
        text_of(recording, step)
        for step in recording.records
        for event in step.events
        if isinstance(event, Note) and event.about == "lines without torch"
    ]


def silent(count: int) -> int:
    total = 0
    for number in range(count):
        total += number
    return total


def late(x: Tensor, count: int) -> Tensor:
    total = 0
    for number in range(count):
        total += number
    y = x * total
    return y


def around(x: Tensor, count: int) -> Tensor:
    size = silent(count)
    return late(x, size)


def refuses(count: int) -> int:
    for number in range(count):
        if number == 300:
            raise KeyError(number)
    return count


def pairs(count: int) -> Iterator[int]:
    number = 0
    while number < count:
        yield number
        number += 1


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def more(self) -> None:
        self.count += 1


def objects(count: int) -> int:
    counter = Counter()
    for _ in range(count):
        counter.more()
    return counter.count


def caught(count: int) -> int:
    found = 0
    for number in range(count):
        try:
            found += {0: 1}[number]
        except KeyError:
            found += 2
    return found


def fibonacci(number: int) -> int:
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


@pytest.mark.parametrize(
    "work",
    [silent, lambda count: sum(pairs(count)), objects, caught, lambda _: fibonacci(16)],
    ids=["loop", "generator", "class", "errors caught", "recursion"],
)
def test_however_many_lines_do_nothing_in_torch_few_are_told(work: Callable[[int], int]) -> None:
    x = torch.ones(2, requires_grad=True)
    with lines_told() as told, gradviz.record() as recording:
        y = x * work(2_000)
        y.sum().backward()
    assert len(told) < 100
    assert [text for depth, text in steps(recording) if depth == 0] == [
        "y = x * work(2_000)",
        "y.sum().backward()",
    ]


def test_a_line_that_calls_torch_after_many_that_do_not_is_a_step_where_it_was_called() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        for _ in range(3):
            y = around(x, 500)
    found = steps(recording)
    assert found.count((2, "y = x * total")) == found.count((0, "y = around(x, 500)")) == 3
    assert found.count((1, "return late(x, size)")) == 3
    made = {str(node.source) for node in recording.graph.nodes if node.name == "MulBackward0"}
    assert len(made) == 1
    assert "y = x * total" in made.pop()
    assert notes(recording)[0] == "y = x * total"
    del y


def test_lines_of_the_block_are_told_much_longer_and_that_others_are_left_out_is_said() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        total = 0
        for number in range(5_000):
            total += number
        y = x * total
        for number in range(5_000):
            total += number
    texts = [text for _, text in steps(recording)]
    assert 50 < texts.count("total += number") < 500
    assert notes(recording) == ["y = x * total", ""]
    assert recording.records[-1].kind == "end"
    del y


def test_how_many_turns_a_loop_has_is_unknown_if_its_lines_were_left_out() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        for _ in range(3):
            x = x * late(x, 500).numel()
        total = 0
        for number in range(5_000):
            total += number
        y = x * total
    turns = [turn for turn in turns_of(recording) if turn.level == 0 and turn.code == 0]
    assert {turn.count for turn in turns} == {3, None}
    assert [turn.number for turn in turns if turn.count] == [1, 2, 3]
    del y


def test_an_error_is_where_it_arose_also_if_that_line_was_not_told() -> None:
    with suppress(KeyError), gradviz.record() as recording:
        x = torch.ones(2)
        with suppress(KeyError):
            refuses(500)
        y = x * 2
        refuses(500)
    assert with_event(recording, Raised) == ["raise KeyError(number)"] * 2
    del y


def test_what_dies_and_what_is_made_meanwhile_is_in_the_next_steps() -> None:
    made = []

    def drops(tensors: list[Tensor], count: int) -> None:
        for number in range(count):
            if number == 300:
                tensors.clear()

    def makes(data: Tensor, count: int) -> None:
        for number in range(count):
            if number == 300:
                made.append(nn.Parameter(data))

    with gradviz.record() as recording:
        tensors = [torch.ones(3) * 2]
        data = torch.ones(2)
        drops(tensors, 500)
        makes(data, 500)
        done = 1
    assert "drops(tensors, 500)" in with_event(recording, Died)
    assert with_event(recording, Made) == ["made.append(nn.Parameter(data))"]
    del done


def test_while_memory_is_compared_every_line_is_told() -> None:
    array = np.zeros(2)
    x = torch.from_numpy(array)
    with lines_told() as told, gradviz.record() as recording:
        y = x + 1
        silent(300)
        array[0] = 1
    assert len(told) > 600
    assert with_event(recording, Write) == ["array[0] = 1"]
    del y


def test_names_given_where_lines_were_not_told_are_known_in_the_next_step() -> None:
    def keeps(found: dict[str, Any], count: int) -> None:
        for number in range(count):
            if number == 300:
                found["kept"] = found["w"]

    with gradviz.record() as recording:
        found = {"w": torch.ones(2, requires_grad=True) * 1}
        keeps(found, 500)
        done = 1
    last = [step for step in recording.all_steps if step.kind == "line"][-1]
    assert any('found["kept"]' in tensor.names for tensor in last.graph.tensors)
    del done


def test_everything_told_says_the_same_wherever_something_happens() -> None:
    def happened(limit: int) -> list[tuple[int, str, str]]:
        x = torch.ones(2, requires_grad=True)
        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(line_events, "_QUIET", limit)
            patch.setattr(line_events, "_QUIET_AMONG_OTHERS", 10 * limit)
            with gradviz.record() as recording:
                for _ in range(3):
                    h = model(around(x, 20))
                    loss = h.sum() * silent(400)
                    loss.backward()
        return [
            (step.depth, text_of(recording, step), event.kind)
            for step in recording.records
            for event in step.events
            if step.line is not None and not isinstance(event, (LoopVariable, Note))
        ]

    assert happened(20) == happened(10**9)


def test_a_block_of_a_function_that_calls_itself_is_told_to_its_end() -> None:
    x = torch.ones(2, requires_grad=True)
    found: list[gradviz.Recording] = []

    def recorded(depth: int) -> int:
        total = 0
        if depth:
            for number in range(50):
                total += number
            return total + recorded(depth - 1) if depth > 1 else total
        with gradviz.record() as recording:
            size = sum(recorded(3) for _ in range(20))
            y = x * size
            y.sum().backward()
        found.append(recording)
        return total

    recorded(0)
    texts = [text for depth, text in steps(found[0]) if depth == 0]
    assert texts == [
        "size = sum(recorded(3) for _ in range(20))",
        "y = x * size",
        "y.sum().backward()",
    ]


def test_a_hook_that_calls_cold_code_leaves_the_lines_around_as_they_are() -> None:
    x = torch.ones(2, requires_grad=True)

    def scaled(grad: Tensor) -> Tensor:
        return grad * (1 + 0 * silent(300))

    def twice(y: Tensor) -> Tensor:
        silent(300)
        y.register_hook(scaled)
        z = (y * 2).sum()
        z.backward()
        return z

    with gradviz.record() as recording:
        for _ in range(3):
            twice(x * 3)
    assert with_event(recording, HookFired) == ["z.backward()"] * 3
    assert [depth for depth, text in steps(recording) if text == "z.backward()"].count(0) == 0


def test_reading_a_shape_in_a_silent_call_leaves_no_steps() -> None:
    def rows(x: Tensor, count: int) -> int:
        silent(count)
        for number in range(count):
            last = number
        return int(x.shape[0]) + last

    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        y = x * rows(x, 300)
    assert steps(recording) == [(0, "y = x * rows(x, 300)")]
    del y


def test_a_statement_over_several_lines_that_calls_torch_again_and_again_is_one_step() -> None:
    def products(x: Tensor) -> list[Tensor]:
        return [
            x * number
            for number in range(300)
        ]  # fmt: skip

    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        ys = products(x)
        z = ys[0] * 2
    assert steps(recording) == [
        (1, "return ["),
        (0, "ys = products(x)"),
        (0, "z = ys[0] * 2"),
    ]
    del z


def test_a_write_after_a_loop_on_one_line_is_in_its_own_line() -> None:
    def put(array: Any) -> None:
        for number in range(30): last = number  # fmt: skip  # noqa: E701
        array[1] = last

    array = np.ones(2, dtype="float32")
    x = torch.from_numpy(array)
    with gradviz.record() as recording:
        y = x * 2
        put(array)
        z = x * 2
    assert with_event(recording, Write) == ["array[1] = last"]
    del y, z


def test_operands_have_the_names_that_they_were_given_where_lines_were_not_told() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        a = x * 1
        b = x * 2
        for number in range(300):
            last = number
        a, b = b, a
        y = a - b
    (event,) = (e for e in recording.all_steps[-1].events if isinstance(e, Operation))
    assert [operand.text for operand in event.inputs] == ["a", "b"]
    del y, last


def test_no_turn_has_a_number_that_lines_which_were_not_told_may_have_changed() -> None:
    x = torch.ones(2, requires_grad=True)

    def found_late(count: int) -> Tensor | None:
        for number in range(count):
            last = number
            if last == count - 1:
                return x * 2
        return None

    def silent_at_its_end(count: int) -> Tensor:
        y = x * 2
        for number in range(count):
            last = number
        return y * 1 if last < 0 else y

    with gradviz.record() as recording:
        for _ in range(5):
            found_late(40)
        silent_at_its_end(300)
        z = x * 1
        for number in range(500):
            last = number
            if last == 400:
                z = z * 2
    code = {code: recording.codes[code].text for code in range(len(recording.codes))}
    late = [turn for turn in turns_of(recording) if "return x * 2" in code[turn.code]]
    assert late[-1].number is None
    assert late[-1].count is None
    quiet = [turn for turn in turns_of(recording) if "return y * 1" in code[turn.code]]
    assert {turn.count for turn in quiet} == {None}
    at = [text_of(recording, step) for step in recording.records].index("z = z * 2")
    assert [t.number for t in turns_of(recording) if t.first <= at <= t.last] == [None]


def test_an_error_that_silent_lines_catch_is_of_no_other_line() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        number = 0
        try:
            while True:
                number += 1
                if number == 500:
                    raise ValueError
        except ValueError:
            y = x * 3
    assert with_event(recording, Raised) == []
    del y


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sets nothing in frames")
def test_a_frame_tells_its_lines_to_a_debugger_once_the_recording_has_ended() -> None:
    told = []

    def main() -> None:
        with gradviz.record():
            silent(300)
            for number in range(300):
                last = number
        sys._getframe().f_trace = lambda frame, event, _: told.append(event)
        sys.settrace(lambda *_: None)
        last += 1
        last += 1
        sys.settrace(None)

    before = sys.gettrace()
    try:
        main()
    finally:
        sys.settrace(before)
    assert told.count("line") >= 2


def test_a_generator_on_one_line_is_cold_too() -> None:
    def numbers(count: int) -> Iterator[int]:
        for number in range(count): yield number  # fmt: skip  # noqa: E701, UP028

    with lines_told() as told, gradviz.record():
        sum(numbers(2_000))
    assert len(told) < 100


def test_a_recursion_without_end_that_calls_torch_ends_as_it_does_plain() -> None:
    def deeper(x: Tensor) -> Tensor:
        return deeper(x * 1)

    with gradviz.record() as recording, pytest.raises(RecursionError):
        deeper(torch.ones(2))
    assert "stack used up" in {
        event.about
        for step in recording.records
        for event in step.events
        if isinstance(event, Note)
    }
