"""Any program runs bit for bit the same with and without a recording."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
from hypothesis import given, settings

import gradviz
from tests.truth import recorded as rec
from tests.truth import test_random_programs as random_programs
from tests.truth.recorded import Seen, Story
from tests.truth.test_random_programs import Machine


def random_story(instructions: list[tuple[str, int, int]]) -> Story:
    def story(block: Any, seen: Seen) -> None:
        with block:
            machine = Machine()
            machine.run(instructions)
            outputs = [t for t in machine.outputs() if random_programs.has_a_place(t)]
            ones = [torch.ones_like(t) for t in outputs]
            seen["error"] = rec.error_of(torch.autograd.backward, outputs, ones)
        seen["facts"] = [rec.facts(t) for t in machine.pool]
        seen["nodes"] = rec.nodes_now(outputs)
        references = [weakref.ref(t) for t in machine.pool]
        memory = [rec.storage_ref(t) for t in machine.pool]
        del machine, outputs
        rec.let_go()
        seen["alive"] = [r() is not None for r in references]
        seen["memory"] = [ref.expired() for ref in memory]

    return story


@pytest.mark.parametrize("count", [30, pytest.param(400, marks=pytest.mark.exhaustive)])
def test_any_program_runs_the_same_with_and_without_a_recording(count: int) -> None:
    @settings(random_programs.quietly, max_examples=count)
    @given(random_programs.programs)
    def check(instructions: list[tuple[str, int, int]]) -> None:
        story = random_story(instructions)
        expected, block = rec.observe(story, rec.plain()), gradviz.record()
        assert not rec.differences(expected, rec.observe(story, block))
        rec.assert_recorder_is_well(block)

    check()
