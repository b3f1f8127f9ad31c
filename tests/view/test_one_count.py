"""One count of steps: every place that a person reads says the same, and Python finds the same."""

from __future__ import annotations

import re

import pytest
import torch

import gradviz
from gradviz.model import Recording
from gradviz.view.export.animated.frames import frames_of
from gradviz.view.outlines.recording import recording_outline
from gradviz.view.widgets.player import Player
from tests.view.recordings import ALL


def calling() -> Recording:
    """A program with a loop and a function whose lines are recorded."""

    def cube(x: torch.Tensor) -> torch.Tensor:
        y = x * x
        return y * x

    w = torch.tensor(2.0, requires_grad=True)
    with gradviz.record(into=[cube]) as recording:
        for _ in range(2):
            loss = cube(w)
            loss.backward()
    return recording


PROGRAMS = {**ALL, "calling": calling()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_people_and_python_count_steps_alike_everywhere(name: str) -> None:
    assert_every_place_has_one_count_of_steps(name)
    assert_what_a_person_reads_is_what_python_takes(name)
    assert_memory_counts_steps_as_the_player_does(name)


def assert_every_place_has_one_count_of_steps(name: str) -> None:
    recording = PROGRAMS[name]
    count, inside = len(recording), recording.numbers.inside
    player = Player(recording)
    wire, outline = player.wire, recording_outline(recording)
    said = f"{count} steps" + (f", {inside} sub-steps" if inside else "")
    head, *lines = outline.split("\n")
    assert f": {said}, " in head
    assert f": {said}, " in wire["summary"]
    assert repr(recording).endswith(f": {count} steps>")
    listed = [m[1] for line in lines if (m := re.match(r" *(\d+(?:\.\d+)*)  ", line))]
    numbers = [str(step.number) for step in recording.all_steps]
    assert listed == numbers
    assert [".".join(map(str, view["number"])) for view in wire["views"]] == numbers
    whole = [number for number in numbers if "." not in number]
    assert whole == [str(number) for number in range(count + 1)]
    assert len(numbers) == count + inside + 1
    frames = frames_of(recording, ())
    assert (frames.of, frames.numbers) == (count, tuple(range(1, count + 1)))
    strip = player.filmstrip(range(1, min(count, 60) + 1))
    assert [line.split()[0] for line in str(strip).split("\n")] == whole[1:61]


def assert_what_a_person_reads_is_what_python_takes(name: str) -> None:
    recording = PROGRAMS[name]
    player = Player(recording, stops=[-1])
    outline = recording_outline(recording).replace("\n", " ")
    for step in recording.all_steps:
        player.step = step.number
        assert player.step == step.number
        assert recording[str(step.number)].details == step.details
        begins = " ".join(str(step.details).split()[:3])
        assert re.search(rf" {re.escape(str(step.number))} +{re.escape(begins)}", outline)
    assert player.wire["stops"] == [recording[len(recording)].index]


def assert_memory_counts_steps_as_the_player_does(name: str) -> None:
    recording = PROGRAMS[name]
    report = gradviz.memory(recording)
    peak = report.findings.number
    assert recording[peak].saved_bytes == max(step.saved_bytes for step in recording.all_steps)
    assert f"at step {peak}" in report.findings.title
    table = next(t for t in report.findings.tables if t.caption == "Over the steps")
    shown = [row[0] for row in table.rows]
    assert set(shown) <= {step.number for step in recording.all_steps}
