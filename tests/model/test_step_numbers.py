from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.model import Recording, UnknownNodeError
from gradviz.model.recording import RowChanges, StepRecord
from gradviz.model.step_numbers import StepNumbers, depth_of
from tests.each import each
from tests.view.recordings import ALL, loop, product


def records(*shape: tuple[int, int]) -> list[StepRecord]:
    """A start, and steps of these depths and levels."""
    start = StepRecord("start", 0, None, 0, None, (), RowChanges(), 0, None)
    kinds = ("line", "node", "saved")
    return [
        start,
        *(
            StepRecord(kinds[level], level, 1, 0, None, (), RowChanges(), 0, None, depth=depth)  # type: ignore[arg-type]
            for depth, level in shape
        ),
    ]


def numbers(shape: Sequence[tuple[int, int]]) -> list[int | str]:
    made = StepNumbers(records(*shape))
    return [made.number(place) for place in range(len(made.paths))]


@each(
    ("shape", "expected"),
    [
        ([], [0]),
        ([(0, 0), (0, 0)], [0, 1, 2]),
        ([(0, 1), (0, 2), (0, 2), (0, 1), (0, 0)], [0, 1, "2.1", "2.2", 2, 3]),
        ([(1, 0), (1, 0), (0, 0)], [0, "1.1", "1.2", 1]),
        ([(2, 0), (1, 2), (1, 1), (1, 0), (0, 0)], [0, "1.1.1", "1.1.2", "1.1", "1.2", 1]),
        ([(2, 0), (0, 0)], [0, "1.1", 1]),
        ([(0, 0), (1, 0), (0, 2)], [0, 1, 2, 3]),
    ],
)
def test_what_is_inside_a_step_comes_before_it_and_has_its_number(
    shape: list[tuple[int, int]], expected: list[int | str]
) -> None:
    assert numbers(shape) == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=40))
def test_numbers_are_unique_and_count_up_in_the_order_in_which_steps_end(
    shape: list[tuple[int, int]],
) -> None:
    made = records(*shape)
    found = StepNumbers(made)
    assert len(set(found.paths)) == len(made)
    assert found.count + 1 + found.inside == len(made)
    for siblings in {path[:-1] for path in found.paths}:
        last = [path[-1] for path in found.paths if path[:-1] == siblings]
        assert last == list(range(0 if siblings == () else 1, len(last) + (siblings != ())))
    for place, container in enumerate(found.containers):
        if container is not None:
            assert container > place
            assert depth_of(made[container]) < depth_of(made[place])
            assert found.paths[place][:-1] == found.paths[container]


@each("recording", [*ALL.values(), loop(), Recording.empty()])
def test_each_number_finds_its_step_and_the_count_is_the_last_number(recording: Recording) -> None:
    for step in recording.all_steps:
        assert recording[step.number].index == step.index
        assert recording[str(step.number)].index == step.index
    assert [step.number for step in recording] == list(range(1, len(recording) + 1))
    assert recording[-1].number == len(recording)
    assert recording[-1 - len(recording)].index == recording[0].index == 0
    assert sum(len(step.inside) for step in recording.all_steps) == recording.numbers.inside
    assert bool(recording)


def test_a_step_is_found_by_line_backward_error_and_node() -> None:
    recording, second = product(), ALL["second"]
    found = {a: recording[a].number for a in ("line:4", "line:6", "backward", "AddBackward0", "n0")}
    assert found == {"line:4": 4, "line:6": 12, "backward": 6, "AddBackward0": 7, "n0": 9}
    assert recording["AccumulateGrad"].number == 8
    assert recording["AccumulateGrad:3"].number == 11
    assert second["error"].number == second[-1].number == len(second)
    assert second["backward:2"].record.backward == 2


@each(
    ("address", "words"),
    [
        ("backward:2", "backward ran once; it has"),
        ("line:1:3", "line:1 ran once; it has"),
        ("MulBackward0:3", "MulBackward0 is there once; it has"),
        ("backward:x", "no step 'backward:x'; it has"),
    ],
)
def test_of_what_is_there_fewer_times_it_is_said_how_often(address: str, words: str) -> None:
    with pytest.raises(UnknownNodeError, match=words):
        product()[address]


@each("address", ["", "lines", "line:", "line:9", "backward:2", "error", "n99"])
@each("more", ["", ":2"])
def test_what_does_not_exist_is_refused_with_what_does(address: str, more: str) -> None:
    there = "the steps 0 to 13 .* 9 sub-steps, such as 7.1.*, backward, line:1, .*MulBackward0$"
    with pytest.raises(UnknownNodeError, match=there):
        product()[address + more]
