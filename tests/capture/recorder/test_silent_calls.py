"""Calls in which nothing happens leave no steps, and cost little."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import gradviz
from gradviz.capture.recorder import step_writer
from gradviz.capture.recorder.names_in_sight import NamesInSight
from gradviz.model.events import Raised, Write


def depths(recording: gradviz.Recording) -> list[tuple[int, str]]:
    """Depth and text of each line."""
    found = []
    for step in recording.records:
        if step.kind == "line" and step.line is not None:
            code = recording.codes[step.code]
            lines = code.text.splitlines()
            found.append((step.depth, lines[step.line - code.first_line].strip()))
    return found


def inside(recording: gradviz.Recording) -> list[str]:
    return [text for depth, text in depths(recording) if depth]


def doubled(number: int) -> int:
    twice = number * 2
    return twice


def tokens(count: int) -> list[int]:
    found = []
    for number in range(count):
        found.append(doubled(number))
    return found


def word_pairs(count: int) -> Iterator[int]:
    for number in range(count):
        pair = number + 1
        yield pair


def late(x: Tensor) -> Tensor:
    count = 1
    size = doubled(count)
    y = x * size
    count = 2
    return y


def keeps_quiet(x: Tensor) -> int:
    rows = x.shape[0]
    return rows


def refuses(number: int) -> int:
    wanted = {"a": 1}
    return wanted[str(number)]


def test_a_call_in_which_nothing_happens_is_the_line_that_made_it() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        found = tokens(3)
        pairs = list(word_pairs(3))
        rows = keeps_quiet(x)
        y = x * rows
    assert depths(recording) == [
        (0, "found = tokens(3)"),
        (0, "pairs = list(word_pairs(3))"),
        (0, "rows = keeps_quiet(x)"),
        (0, "y = x * rows"),
    ]
    del found, pairs, y


def test_all_lines_of_a_call_are_steps_if_something_happens_in_it() -> None:
    x = torch.ones(2)
    with gradviz.record() as recording:
        y = late(x)
    assert inside(recording) == [
        "count = 1",
        "size = doubled(count)",
        "y = x * size",
        "count = 2",
        "return y",
    ]
    del y


def test_a_call_that_raises_is_shown_whether_the_error_is_caught_or_not() -> None:
    with gradviz.record() as recording, suppress(KeyError):
        refuses(1)
    assert 'wanted = {"a": 1}' in inside(recording)
    raised = [e for s in recording.all_steps for e in s.events if isinstance(e, Raised)]
    assert [one.type for one in raised] == ["KeyError"]
    block = gradviz.record()
    with suppress(KeyError), block as recording:
        refuses(1)
    assert 'wanted = {"a": 1}' in inside(recording)


def test_a_write_that_torch_does_not_see_is_in_the_line_that_wrote() -> None:
    array = np.zeros(2)
    x = torch.from_numpy(array)

    def fill(count: int) -> None:
        for number in range(count):
            last = number
        array[0] = last + 1

    for count in (2, 400):
        with gradviz.record() as recording:
            y = x + 1
            fill(count)
            z = x + 2
        writes = [
            (recording.codes[s.code].text.splitlines()[s.line - recording.codes[s.code].first_line])
            for s in recording.records
            for e in s.events
            if isinstance(e, Write) and s.line is not None
        ]
        assert [one.strip() for one in writes] == ["array[0] = last + 1"]
        array[0] = 0
        del y, z


def test_a_name_that_a_long_call_gave_is_known_in_the_line_that_made_it() -> None:
    def keep(found: dict[str, Any], count: int) -> None:
        for number in range(count):
            doubled(number)
        found["kept"] = found["w"]

    for count in (1, 400):
        found = {"w": torch.ones(2, requires_grad=True)}
        with gradviz.record() as recording:
            w = found["w"] * 1
            found["w"] = w
            keep(found, count)
            kept = 1
        at = [text for _, text in depths(recording)].index("keep(found, count)")
        step = [s for s in recording.all_steps if s.kind == "line"][at]
        assert 'found["kept"]' in step.graph.tensor("w").names, count
        del kept


def test_turns_and_the_budget_are_those_without_following() -> None:
    def run(only: Any, budget: int) -> tuple[list[tuple[int, str]], int]:
        x = torch.ones(2)
        with gradviz.record(only=only, budget=budget) as recording:
            for _ in range(4):
                found = tokens(300)
                x = x * len(found)
        return depths(recording), recording.counted

    for budget in (40_000, 200):
        assert run(None, budget) == run((), budget)


def test_a_call_with_very_many_silent_lines_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_writer, "_MOST", 1_000)
    x = torch.from_numpy(np.ones(2))  # so that every line is told
    with gradviz.record(budget=500) as recording:
        y = x * 2
        tokens(2_000)
        z = y * 2
    assert recording.counted > 1_000
    assert len(recording.records) < 700
    assert depths(recording)[-1] == (0, "z = y * 2")
    del z


def test_a_long_silent_call_searches_the_variables_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches = 0
    look = NamesInSight.look

    def counted(self: NamesInSight, *args: Any, **options: Any) -> bool:
        nonlocal searches
        searches += 1
        return look(self, *args, **options)

    monkeypatch.setattr(NamesInSight, "look", counted)

    def in_a_call(count: int) -> int:
        nonlocal searches
        x = torch.ones(3)
        with gradviz.record():
            y = x * 2
            searches = 0
            tokens(count)
            del y
        return searches

    few, many = in_a_call(10), in_a_call(1_000)
    assert few > 10
    assert many < few + 200
