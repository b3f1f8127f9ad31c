from __future__ import annotations

import torch

import gradviz
from gradviz.model import Recording


def seen(recording: Recording) -> list[tuple[str, str, int, int | str, int | str]]:
    """Of each turn the line of its loop, its words, its level, its first and last step."""
    steps = recording.all_steps
    return [
        (
            recording.codes[turn.code].line(turn.line),
            turn.words,
            turn.level,
            steps[turn.first].number,
            steps[turn.last].number,
        )
        for turn in recording.turns
    ]


def test_a_turn_is_the_head_of_a_loop_and_its_body() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        for factor in (1.0, 2.0):
            loss = w * factor
            loss.backward()
        w.grad = None
    head = "for factor in (1.0, 2.0):"
    assert seen(recording) == [
        (head, "turn 1 of 2", 0, 1, 6),
        (head, "turn 2 of 2", 0, 7, 12),
    ]


def test_turns_of_a_loop_in_a_loop_are_counted_anew_each_time() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        for n in (2, 0, 1):
            k = 0
            while k < n:
                k += 1
        w * 2
    outer, inner = "for n in (2, 0, 1):", "while k < n:"
    assert seen(recording) == [
        (outer, "turn 1 of 3", 0, 1, 7),
        (inner, "turn 1 of 2", 1, 3, 4),
        (inner, "turn 2 of 2", 1, 5, 6),
        (outer, "turn 2 of 3", 0, 8, 10),
        (outer, "turn 3 of 3", 0, 11, 15),
        (inner, "turn 1 of 1", 1, 13, 14),
    ]


def test_a_loop_without_a_condition_turns_where_its_body_begins_again() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    n = 0
    with gradviz.record() as recording:
        while True:
            n += 1
            with torch.no_grad():
                w * n
            if n == 3:
                break
    words = [(words, level) for _, words, level, _, _ in seen(recording)]
    assert words == [("turn 1 of 3", 0), ("turn 2 of 3", 0), ("turn 3 of 3", 0)]
    lines = [recording.codes[0].line(step.line or 0) for step in recording]
    last = [turn.last for turn in recording.turns]
    assert [recording.all_steps[at].number for at in last[:-1]] == [
        number for number, line in enumerate(lines, 1) if line == "if n == 3:"
    ][:-1]


def test_a_loop_in_a_called_function_turns_inside_the_step_that_calls_it() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            x = x * 2
        return x

    w = torch.tensor(2.0, requires_grad=True)
    with gradviz.record(into=[double]) as recording:
        for _ in "ab":
            w = double(w)
    outer, inner = 'for _ in "ab":', "for _ in range(2):"
    assert seen(recording) == [
        (outer, "turn 1 of 2", 0, 1, 2),
        (inner, "turn 1 of 2", 1, "2.1", "2.2"),
        (inner, "turn 2 of 2", 1, "2.3", "2.4"),
        (outer, "turn 2 of 2", 0, 3, 4),
        (inner, "turn 1 of 2", 1, "4.1", "4.2"),
        (inner, "turn 2 of 2", 1, "4.3", "4.4"),
    ]


def test_continue_and_an_error_end_a_turn() -> None:
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    try:
        with gradviz.record() as recording:
            for n in range(3):
                if n == 0:
                    continue
                (w * n).backward()
    except RuntimeError:
        pass
    assert [(words, first, last) for _, words, _, first, last in seen(recording)] == [
        ("turn 1 of 2", 1, 3),
        ("turn 2 of 2", 4, len(recording)),
    ]
    assert recording[-1].kind == "error"


def test_a_loop_on_one_line_has_no_turns() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        for n in (1, 2): w * n  # fmt: skip  # noqa: E701
    assert recording.turns == ()


def above(limit: float) -> torch.Tensor:
    found = torch.tensor(limit)
    return found < 0


def test_what_the_head_and_later_lines_call_is_no_part_of_a_turn() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    with gradviz.record(into=[above]) as recording:
        for n in (1, 2):
            w * n
        while above(1.0):
            w * 2
        above(2.0)
    assert seen(recording) == [
        ("for n in (1, 2):", "turn 1 of 2", 0, 1, 2),
        ("for n in (1, 2):", "turn 2 of 2", 0, 3, 4),
    ]


def heads(recording: Recording) -> list[tuple[str, str, int | None, int | None]]:
    steps = recording.all_steps
    return [
        (recording.codes[0].line(steps[at].line or 0), head.role, head.number, head.count)
        for at, head in recording.heads.items()
    ]


def test_a_head_says_whether_a_turn_begins_or_the_loop_has_ended() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        for n in range(2):
            while n > 4:
                w * n
            if n:
                break
    outer, inner = "for n in range(2):", "while n > 4:"
    assert heads(recording) == [
        (outer, "turn", 1, 0),
        (inner, "loop ended", 0, 0),
        (outer, "turn", 2, 0),
        (inner, "loop ended", 0, 0),
    ]


def test_a_head_of_with_says_whether_the_block_begins_or_is_left() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        for _ in range(2):
            with torch.no_grad():
                w * 3
                with torch.enable_grad():
                    w * 2
    outer, inner = "with torch.no_grad():", "with torch.enable_grad():"
    block = [
        (outer, "block begins", 0, 0),
        (inner, "block begins", 0, 0),
        (inner, "block ended", 0, 0),
        (outer, "block ended", 0, 0),
    ]
    assert [head for head in heads(recording) if head[0] in (outer, inner)] == block * 2


def test_an_error_in_a_loop_of_a_called_function_begins_no_turn() -> None:
    def train(rounds: int) -> None:
        w = torch.ones(1, requires_grad=True)
        square = w * w
        for _ in range(rounds):
            loss = square * 2
            loss.backward()

    try:
        with gradviz.record() as recording:
            train(3)
    except RuntimeError:
        pass
    assert [(words, level) for _, words, level, _, _ in seen(recording)] == [
        ("turn 1 of 2", 0),
        ("turn 2 of 2", 0),
    ]
