"""Whole programs run bit for bit the same with and without a recording."""

from __future__ import annotations

import inspect
import warnings
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from itertools import islice
from typing import Any

import pytest
import torch

from gradviz.model.events import Operation
from tests.each import each
from tests.modes import Functions
from tests.programs import PROGRAMS, Program, mlp, named, run_backward
from tests.truth.operators import tensors_in
from tests.truth.recorded import (
    Seen,
    Spy,
    Story,
    assert_same,
    bits,
    error_of,
    facts,
    let_go,
    nodes_now,
)

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
            seen["first"] = error_of(run_backward, built)
            if spied is not None:
                seen["alive after backward"] = spied.alive()
            seen["second"] = error_of(run_backward, built)
        if spied is not None:
            seen["calls"], seen["alive"] = spied.calls, spied.alive()
        seen["events"] = events
        seen["facts"] = {name: facts(tensor) for name, tensor in built.names.items()}
        seen["outputs"] = [facts(tensor) for tensor in built.outputs]
        seen["nodes"] = nodes_now(built.outputs)
        tensors = {id(t): t for t in (*built.names.values(), *built.outputs)}.values()
        references = [weakref.ref(t) for t in tensors]
        del built, tensors, tensor
        let_go()
        seen["alive at the end"] = [reference() is not None for reference in references]
        if spied is not None:
            seen["memory at the end"] = spied.alive()

    return story


def build_of(program: Program) -> Any:
    """The function that the list of programs has wrapped."""
    return inspect.getclosurevars(program.build).nonlocals["build"]


@pytest.mark.parametrize("program", [*SMALL, *SLOW], ids=str)
def test_a_program_runs_the_same_with_and_without_a_recording(program: Program) -> None:
    # What compiles looks at modes of the user's, and at nothing of the recorder's.
    spy = nullcontext if program.name == "compiled" else Spy
    build = build_of(program)
    for recording in assert_same(story_of(program, spy)):
        codes = {recording.codes[s.code].name for s in recording.records if s.depth}
        assert any(build.__name__ in name for name in codes), "its lines are not followed"


@pytest.mark.parametrize("name", ["two_products", "inplace_view", "checkpoint_nonreentrant"])
def test_a_program_without_a_mode_of_its_own_runs_the_same(name: str) -> None:
    assert_same(story_of(named(name)))


# --- custom Functions of torch's own database -----------------------------------------------


def function_names() -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.autograd_function_db import autograd_function_db

    FUNCTIONS.update({op.name: op for op in autograd_function_db})
    return sorted(FUNCTIONS)


FUNCTIONS: dict[str, Any] = {}


@pytest.mark.parametrize("name", function_names())
def test_torchs_own_custom_functions_run_the_same(name: str) -> None:
    op = FUNCTIONS[name]

    def story(block: Any, seen: Seen) -> None:
        torch.manual_seed(0)
        # Not op.sample_inputs, which asks the whole stack for the source of its frames.
        samples = list(islice(op.sample_inputs_func(op, "cpu", torch.float32, True), 2))
        made_all: list[Any] = []
        with block:
            for i, sample in enumerate(samples):
                made = op(sample.input, *sample.args, **sample.kwargs)
                outputs = [t for t in tensors_in(made) if t.requires_grad]
                leaves = [t for t in tensors_in((sample.input, sample.args)) if t.requires_grad]
                ones = [torch.ones_like(t) for t in outputs]
                slopes = torch.autograd.grad(
                    outputs, leaves, ones, create_graph=True, allow_unused=True
                )
                roots = [t for t in slopes if t is not None and t.requires_grad]
                twice = [torch.ones_like(t) for t in roots]
                seen[f"{i} twice"] = error_of(torch.autograd.backward, roots, twice)
                seen[f"{i} once"] = error_of(torch.autograd.backward, outputs, ones)
                made_all += [(leaves, outputs, roots)]
        for i, (leaves, outputs, roots) in enumerate(made_all):
            seen[f"{i} facts"] = [facts(t) for t in (*leaves, *outputs, *roots)]
            seen[f"{i} nodes"] = nodes_now(outputs)

    assert_same(story)


# --- training -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.Adam(p, lr=0.1),
        lambda p: torch.optim.Adam(p, lr=0.1, fused=True),
        lambda p: torch.optim.AdamW(p, lr=0.1, foreach=True),
    ],
    ids=["SGD", "Adam", "fused Adam", "foreach AdamW"],
)
def test_a_model_learns_the_same(make: Callable[[Any], torch.optim.Optimizer]) -> None:
    def story(block: Any, seen: Seen) -> None:
        torch.manual_seed(0)
        model = torch.nn.Sequential(mlp(1), torch.nn.Dropout(), torch.nn.Linear(3, 2))
        optimizer = make(model.parameters())
        data = torch.utils.data.TensorDataset(torch.rand(6, 8), torch.tensor([0, 1, 0, 1, 1, 0]))
        losses = []
        with block:
            for x, y in torch.utils.data.DataLoader(data, batch_size=2, shuffle=True):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                print(f"loss {loss:.6f}", loss)
        seen["losses"] = losses
        seen["facts"] = {name: facts(p) for name, p in model.named_parameters()}
        states = [optimizer.state[p] for p in model.parameters()]
        seen["state"] = [
            {k: bits(torch.as_tensor(v)) for k, v in s.items() if v is not None} for s in states
        ]
        seen["nodes"] = nodes_now([loss])

    assert_same(story, into=[torch.nn.Linear])


def a_result_that_nobody_keeps(block: Any, seen: Seen) -> None:
    with block:
        x = torch.ones(2, requires_grad=True)
        result = weakref.ref(x.exp())
        seen["is alive"] = result() is not None


def test_a_result_that_nobody_keeps_is_gone_at_once() -> None:
    assert_same(a_result_that_nobody_keeps)


WRITES_WITHOUT_NODE: Any = (
    lambda v: v.add_(1),
    lambda v: v.__setitem__(0, 3.0),
    lambda v: torch.mul(v, 2, out=v),
)


def unseen_write(mode: Any, write: Any) -> Story:
    """A view is written without grad mode, and is gone before anything asks for its node."""

    def story(block: Any, _seen: Seen) -> None:
        with block:
            x = torch.full((2, 2), 0.5, requires_grad=True)
            v = (x * 2).view(4)
            y = v + 1
            with mode():
                write(v)
            del v
            y.sum().backward()

    return story


@each("write", WRITES_WITHOUT_NODE)
@each("mode", [torch.no_grad, torch.inference_mode])
def test_a_view_written_without_grad_mode_keeps_its_node_unmade(mode: Any, write: Any) -> None:
    assert_same(unseen_write(mode, write))


def a_mode_ends_inside(block: Any, seen: Seen) -> None:
    log, device = Functions(), torch.device("meta")
    with ExitStack() as modes:
        modes.enter_context(device)
        modes.enter_context(log)
        with block:
            x = torch.ones(2)
            modes.close()
            y = torch.ones(2, requires_grad=True)
            (y * 2).sum().backward()
    seen["names"], seen["devices"] = log.names, (str(x.device), str(y.device))
    seen["on"] = str(torch.ones(1).device)


def a_mode_begins_inside(block: Any, seen: Seen) -> None:
    log = Functions()
    with ExitStack() as modes:
        with block:
            modes.enter_context(log)
            x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
    x.exp()
    seen["names"] = log.names


@pytest.mark.parametrize("story", [a_mode_ends_inside, a_mode_begins_inside])
def test_a_mode_of_the_users_may_begin_and_end_anywhere(story: Story) -> None:
    for recording in assert_same(story):
        operations = [e for s in recording.all_steps for e in s.events if isinstance(e, Operation)]
        assert [one.name for one in operations][:1] == ["ones"]
    assert len(recording.backward_order) == (3 if story is a_mode_ends_inside else 0)


steps = 7


@each("is_held", [True, False])
def test_what_locals_has_given_and_exec_has_bound_stays(is_held: bool) -> None:
    def story(block: Any, seen: Seen) -> None:
        x = torch.ones(2, requires_grad=True)
        config = locals() if is_held else {}
        exec("steps = 3")
        with block:
            y = x * 2
            y.sum().backward()
            seen["config"] = sorted(config)
            seen["steps"] = eval("steps")

    assert_same(story)


def test_a_wrapper_of_the_users_around_a_function_of_torch_runs_once() -> None:
    original: Any = torch.Tensor.backward
    calls = Counter[str]()

    def counted(*args: Any, **kwargs: Any) -> None:
        calls["backward"] += 1
        original(*args, **kwargs)

    def story(block: Any, seen: Seen) -> None:
        x = torch.ones(2, requires_grad=True)
        with block:
            (x * 2).sum().backward()
        seen["calls"] = calls.pop("backward")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "backward", counted)
        for recording in assert_same(story):
            assert len(recording.backward_order) == 3
