"""Whole programs run bit for bit the same with and without a recording."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from hypothesis import given
from torch import Tensor

from tests.programs import PROGRAMS, Program, run_backward
from tests.truth.recorded import (
    Seen,
    Spy,
    Story,
    assert_same,
    bits,
    error_of,
    facts,
    nodes_now,
)
from tests.truth.test_random_programs import Machine, has_a_place, programs, quietly

SMALL = [p for p in PROGRAMS if p.name != "deep_chain" and not p.is_slow]
SLOW = [pytest.param(p, marks=pytest.mark.slow) for p in PROGRAMS if p.is_slow]


def story_of(program: Program, spy: Callable[[], Any] = nullcontext) -> Story:
    """Build, hooks, backward twice; what died when, what is freed, what is left."""

    def story(block: Any, seen: Seen) -> None:
        events: list[Any] = []
        with block:
            with spy() as spied:
                built = program.build()
            if spied is not None:
                seen["alive when built"] = spied.alive()
            for name, tensor in built.names.items():
                if tensor.requires_grad and (tensor.is_leaf or not tensor._is_view()):
                    tensor.register_hook(lambda grad, name=name: events.append((name, bits(grad))))
            seen["first"] = error_of(lambda: run_backward(built))
            if spied is not None:
                seen["alive after backward"] = spied.alive()
            seen["second"] = error_of(lambda: run_backward(built))
        if spied is not None:
            seen["calls"], seen["alive"] = spied.calls, spied.alive()
        seen["events"] = events
        seen["facts"] = {name: facts(tensor) for name, tensor in built.names.items()}
        seen["outputs"] = [facts(tensor) for tensor in built.outputs]
        seen["nodes"] = nodes_now(built.outputs)
        tensors = {id(t): t for t in (*built.names.values(), *built.outputs)}.values()
        references = [weakref.ref(t) for t in tensors]
        del built, tensors, tensor
        seen["alive at the end"] = [reference() is not None for reference in references]
        if spied is not None:
            seen["memory at the end"] = spied.alive()

    return story


def build_of(program: Program) -> Any:
    """The function that the list of programs has wrapped."""
    return inspect.getclosurevars(program.build).nonlocals["build"]


@pytest.mark.parametrize("program", [*SMALL, *SLOW], ids=str)
def test_a_program_runs_the_same_with_and_without_a_recording(program: Program) -> None:
    assert_same(story_of(program))


@pytest.mark.parametrize("program", SMALL, ids=str)
def test_a_program_whose_lines_are_recorded_makes_and_frees_the_same(program: Program) -> None:
    assert_same(story_of(program, Spy), into=[build_of(program)], values=[True], warm_up=False)
