"""Programs as long as real ones: recorded, printed and shown, and whole."""

from __future__ import annotations

from collections import Counter

import pytest

import gradviz
from benchmarks import training
from gradviz import Recording
from gradviz.model.events import Accumulated, OptimizerStepped
from tests.capture.recorder.test_long_recordings import trained

pytestmark = pytest.mark.exhaustive


def check_shown(recording: Recording) -> None:
    """That it can be printed and shown, and both say how much is counted."""
    first = str(recording).split("\n")[0]
    assert (f"{recording.counted:,} more counted" in first) == bool(recording.counted)
    player = gradviz.show(recording)
    assert player.recording is recording
    assert "image/svg+xml" in player._repr_mimebundle_()[0]


def test_a_step_of_a_transformer_with_24_layers_is_kept_as_it_was() -> None:
    program = training.gpt(24, 64)
    with gradviz.record(into=[*program.lines, *program.classes]) as recording:
        program.step()
    graph = recording.graph
    order = recording.backward_order
    assert recording.counted == 0
    assert len(set(order)) == len(order) > 1_000
    ran = {node.id for node in graph.nodes if node.id in set(order)}
    assert ran == set(order)
    events = [event for step in recording.all_steps for event in step.events]
    leaves = Counter(e.tensor for e in events if isinstance(e, Accumulated))
    (stepped,) = (event for event in events if isinstance(event, OptimizerStepped))
    assert set(leaves.values()) == {1}
    assert set(stepped.updated) == set(leaves)
    assert f"backward ran {len(order):,} nodes" in recording.outline(full=True).replace(
        "\n        ", " "
    )
    check_shown(recording)


def test_an_error_in_turn_700_of_1000_is_explained_as_in_turn_1() -> None:
    late, first = trained(1_000, 10_000, broken=699), trained(1_000, 10_000, broken=0)
    found, known = late.explanation, first.explanation
    assert found is not None
    assert known is not None
    assert (found.what, found.line, found.fixes, found.unknown) == (
        known.what,
        known.line,
        known.fixes,
        (),
    )
    assert sum(turn.times for turn in late.turns) == 700
    assert len([turn for turn in late.turns if turn.times > 1]) == 1
    whole_turns = len(late.backward_order) // len(set(first.backward_order))
    assert whole_turns >= 699
    check_shown(late)


def test_an_rnn_of_5000_steps_has_the_order_of_all_its_nodes() -> None:
    program = training.rnn(5_000)
    with gradviz.record(into=program.lines) as recording:
        program.step()
    order = recording.backward_order
    assert len(order) == len(set(order)) == 6 * 5_000 + 5
    assert sum(turn.times for turn in recording.turns if turn.level == 0) == 5_000
    accumulated: Counter[str | None] = Counter()
    for record in recording.records:
        for event in record.events:
            if isinstance(event, Accumulated):
                accumulated[event.tensor] += event.times
    assert sorted(accumulated.values()) == [1, 1, 1, 1]
    check_shown(recording)
