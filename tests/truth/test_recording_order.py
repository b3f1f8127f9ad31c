"""A recording's backward is the one that hooks of another run have seen."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

import gradviz
from gradviz.model.events import (
    Accumulated,
    BackwardEnded,
    BackwardStarted,
    Freed,
    NodeRan,
    NodeReady,
)
from tests.programs import PROGRAMS, Program, run_backward
from tests.truth import test_random_programs as random_programs
from tests.truth.compare import check_summary
from tests.truth.recorded import in_order
from tests.truth.walk import root_of, slots_of, storage, unqualified


@dataclass
class Ran:
    """One node that was run."""

    place: int
    """By first visit, depth first from the roots of the backward."""
    name: str
    grad_outputs: Any = ()
    grad_inputs: Any = ()
    before: Any = None
    after: Any = None
    """``.grad`` of the leaf, ``"unknown"`` where it is not seen."""
    freed: tuple[str, ...] = ()
    nbytes: int = 0
    used: tuple[tuple[str, int | None], ...] = ()


@dataclass
class Backward:
    roots: list[int]
    gradients: Any
    options: tuple[bool, bool, bool]
    ran: list[Ran] = field(default_factory=list)
    raised: bool = False
    names: list[str] = field(default_factory=list)
    is_all: bool = True
    """Whether no other nodes were known, which could keep the same memory."""


# --- seen by hooks --------------------------------------------------------------------------


class Hooked:
    """Puts hooks on all nodes of every backward, and notes what they see."""

    def __init__(self) -> None:
        self.backwards: list[Backward] = []
        self._last: list[tuple[Ran, Any, Callable[[], int]]] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        original = torch.autograd.graph._engine_run_backward

        def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            return self._run(original, outputs, *args, **kwargs)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.autograd.graph, "_engine_run_backward", run)
            patch.setattr(torch.autograd, "_engine_run_backward", run)
            yield

    def _run(self, original: Any, outputs: Any, *args: Any, **kwargs: Any) -> Any:
        self._settle()
        roots = [o[0] if isinstance(o, tuple) else root_of(o)[0] for o in outputs if has_place(o)]
        nodes = in_order(roots)
        gradients, retain_graph, create_graph = args[:3]
        options = bool(retain_graph), bool(create_graph), kwargs.get("accumulate_grad", False)
        made = Backward([nodes.index(n) for n in roots], copies(gradients), options)
        made.names = [unqualified(n.name()) for n in nodes]
        self.backwards.append(made)
        handles = [h for i, n in enumerate(nodes) for h in self._hooks(made, i, n, nodes)]
        made.raised = True
        try:
            result = original(outputs, *args, **kwargs)
            made.raised = False
            return result
        finally:
            self._settle()
            for handle in handles:
                handle.remove()

    def _hooks(self, made: Backward, i: int, node: Any, nodes: list[Any]) -> list[Any]:
        opened = Ran(i, unqualified(node.name()))
        kept: dict[Any, int] = {}

        def before(grad_outputs: Any) -> None:
            self._settle()
            opened.grad_outputs = copies(grad_outputs)
            slots = [s for s in slots_of(node) if s.state not in ("none", "freed")]
            opened.used = tuple((s.name, s.saved_version) for s in slots)
            if opened.name == "AccumulateGrad":
                opened.before = copied(node.variable.grad)
            kept.clear()
            kept.update(held(nodes))

        def after(grad_inputs: Any, grad_outputs: Any) -> None:
            self._settle()
            opened.grad_inputs = copies(grad_inputs)
            if opened.name == "AccumulateGrad":
                hooks = getattr(node.variable, "_post_accumulate_grad_hooks", None)
                # Those have run by now, and may have done anything to it.
                opened.after = "unknown" if hooks else copied(node.variable.grad)
            ran = replace(opened)
            made.ran.append(ran)
            self._last.append((ran, node, lambda: sum(kept.values()) - sum(held(nodes).values())))

        return [node.register_prehook(before), node.register_hook(after)]

    def _settle(self) -> None:
        """What the last node has freed is seen when the next one is about to run."""
        while self._last:
            ran, node, given_back = self._last.pop()
            # A Function that has saved nothing says after backward that it is freed.
            gone = [s.name for s in slots_of(node) if s.state == "freed"]
            ran.freed = tuple(gone) if ran.used else ()
            if ran.freed:
                ran.nbytes = given_back()


def has_place(output: Any) -> bool:
    return isinstance(output, tuple) or output.requires_grad


def held(nodes: Sequence[Any]) -> dict[Any, int]:
    """Bytes of the storages that saved tensors keep."""
    saved = [s.tensor for node in nodes for s in slots_of(node) if s.tensor is not None]
    return {storage(t): t.untyped_storage().nbytes() for t in saved if storage(t) is not None}


def copied(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return None
    with torch.no_grad():
        return value.detach().clone()


def copies(values: Any) -> tuple[Any, ...]:
    return tuple(map(copied, values or ()))


# --- told by a recording --------------------------------------------------------------------


def told(recording: gradviz.Recording) -> list[Backward]:
    """The backwards of a recording, in the same form, with summaries in place of tensors."""
    made: dict[int, Backward] = {}
    places: dict[int, dict[str, int]] = {}
    freed: dict[str, Freed] = {}
    leaf: dict[tuple[int, str], Accumulated] = {}
    ready: dict[tuple[int, str], NodeReady] = {}
    for step in recording.all_steps:
        for event in step.events:
            if isinstance(event, BackwardStarted):
                graph = step.graph
                order = in_graph_order(graph, [node for node, _ in event.roots])
                places[event.number] = {node: i for i, node in enumerate(order)}
                made[event.number] = Backward(
                    [places[event.number][node] for node, _ in event.roots],
                    event.gradients,
                    (event.retain_graph, event.create_graph, event.accumulates),
                    names=[graph[node].name for node in order],
                    is_all=len(order) == len(graph),
                )
            elif isinstance(event, Freed):
                freed[event.node] = event
            elif isinstance(event, Accumulated) and not event.retained:
                leaf[event.backward, event.node] = event
            elif isinstance(event, NodeReady):
                ready[event.backward, event.node] = event
            elif isinstance(event, NodeRan):
                key = event.backward, event.node
                gone, grad = freed.pop(event.node, None), leaf.pop(key, None)
                assert ready.pop(key).grad_outputs == event.grad_outputs
                assert step.kind == "node"
                assert step.node == event.node
                made[event.backward].ran.append(
                    Ran(
                        places[event.backward].get(event.node, -1),
                        recording.graph[event.node].name,
                        event.grad_outputs,
                        event.grad_inputs,
                        None if grad is None else grad.before,
                        None if grad is None else grad.after,
                        () if gone is None else gone.slots,
                        0 if gone is None else gone.nbytes,
                        tuple((s.name, s.saved_version) for s in event.used),
                    )
                )
            elif isinstance(event, BackwardEnded):
                assert event.nodes == len(made[event.number].ran)
                made[event.number].raised = event.raised
    assert not freed
    assert not leaf
    return [made[number] for number in sorted(made)]


def in_graph_order(graph: gradviz.Graph, roots: Sequence[str]) -> list[str]:
    """Ids of nodes by first visit, as :func:`in_order` visits live ones."""
    found: dict[str, None] = {}
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = None
            entries = graph[node].next_functions
            stack.extend(entry[0] for entry in reversed(entries) if entry is not None)
    return list(found)


# --- compared -------------------------------------------------------------------------------


def check_backwards(recording: gradviz.Recording, hooked: Hooked) -> None:
    """Assert that a recording tells of the backwards what hooks have seen."""
    ours, theirs = told(recording), hooked.backwards
    assert len(ours) == len(theirs)
    for mine, seen in zip(ours, theirs):
        assert mine.names == seen.names
        assert mine.roots == seen.roots
        assert mine.options == seen.options
        assert mine.raised == seen.raised
        same_values(mine.gradients, seen.gradients)
        assert [(r.place, r.name) for r in mine.ran] == [(r.place, r.name) for r in seen.ran]
        for one, other in zip(mine.ran, seen.ran):
            assert one.freed == other.freed, one.name
            assert one.nbytes == other.nbytes or (one.nbytes < other.nbytes and not mine.is_all), (
                one.name
            )
            same_slots(one.used, other.used)
            same_values(one.grad_outputs, other.grad_outputs)
            same_values(one.grad_inputs, other.grad_inputs)
            same_values([one.before], [other.before])
            if other.after != "unknown":
                same_values([one.after], [other.after])


def same_slots(ours: Any, theirs: Any) -> None:
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    for (name, mine), (_, seen) in zip(ours, theirs):
        assert mine == seen or mine is None or seen is None, name


def same_values(ours: Sequence[Any], theirs: Sequence[Any]) -> None:
    assert [value is None for value in ours] == [value is None for value in theirs]
    for summary, tensor in zip(ours, theirs):
        if tensor is not None:
            check_summary(summary, tensor)


def run_both(run: Callable[[], Any]) -> tuple[gradviz.Recording, Hooked]:
    hooked = Hooked()
    with hooked.watching():
        run()
    with gradviz.record() as recording:
        run()
    return recording, hooked


def run_program(program: Program) -> None:
    built = program.build()
    with contextlib.suppress(RuntimeError):
        run_backward(built)


SMALL = [p for p in PROGRAMS if p.name != "deep_chain" and not p.is_slow]


@pytest.mark.parametrize("program", SMALL, ids=str)
def test_nodes_ran_in_the_order_and_with_the_gradients_that_hooks_see(program: Program) -> None:
    check_backwards(*run_both(lambda: run_program(program)))


def run_random(instructions: list[tuple[str, int, int]]) -> None:
    machine = random_programs.Machine()
    machine.run(instructions)
    outputs = [t for t in machine.outputs() if random_programs.has_a_place(t)]
    with contextlib.suppress(RuntimeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])


@pytest.mark.parametrize("count", [25, pytest.param(300, marks=pytest.mark.exhaustive)])
def test_nodes_of_any_program_ran_as_hooks_see(count: int) -> None:
    @settings(random_programs.quietly, max_examples=count)
    @given(random_programs.programs)
    def check(instructions: list[tuple[str, int, int]]) -> None:
        check_backwards(*run_both(lambda: run_random(instructions)))

    check()
