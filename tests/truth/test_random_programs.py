from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

import gradviz
from tests.programs import SavesNone, SavesOutput, apply
from tests.truth.compare import check
from tests.truth.walk import Note, notes_of, noting_saves, pairs, root_of


@dataclass
class Machine:
    """Runs instructions on a pool of 2x2 tensors; one that torch refuses does nothing."""

    pool: list[Tensor] = field(default_factory=list)
    has_freed: bool = False
    keep: list[Any] = field(default_factory=list)

    def run(self, instructions: list[tuple[str, int, int]]) -> None:
        self.pool.append(torch.full((2, 2), 0.5, dtype=torch.float64, requires_grad=True))
        for name, i, j in instructions:
            a, b = (self.pool[-1 - k % len(self.pool)] for k in (i, j))  # mostly the newest
            try:
                self.pool.extend(INSTRUCTIONS[name](self, a, b))
            except RuntimeError:
                continue

    def outputs(self) -> list[Tensor]:
        return [t for t in self.pool if t.requires_grad][-3:]


Instruction = Callable[[Machine, Tensor, Tensor], list[Tensor]]
INSTRUCTIONS: dict[str, Instruction] = {
    "leaf": lambda m, a, b: [a.detach().clone().requires_grad_()],
    "constant": lambda m, a, b: [a.detach().clone()],
    "detach": lambda m, a, b: [a.detach()],
    "exp": lambda m, a, b: [(a / 4).exp()],
    "sin": lambda m, a, b: [a.sin()],
    "double": lambda m, a, b: [a * 2],
    "mul": lambda m, a, b: [a * b],
    "add": lambda m, a, b: [torch.add(a, b, alpha=3)],
    "matmul": lambda m, a, b: [a @ b],
    "where": lambda m, a, b: [torch.where(a > b, a, b)],
    "transpose": lambda m, a, b: [a.t()],
    "flat_view": lambda m, a, b: [a.reshape(4).view(2, 2)],
    "rows": lambda m, a, b: [torch.stack([a[1], b[0]])],
    "halves": lambda m, a, b: [torch.cat(a.chunk(2)[::-1])],
    "index": lambda m, a, b: [a[torch.tensor([1, 0])]],
    "sort": lambda m, a, b: [a.sort(dim=1).values],
    "mean": lambda m, a, b: [a - a.mean(dim=0, keepdim=True)],
    "no_grad": lambda m, a, b: no_grad(a, b),
    "mul_": lambda m, a, b: forget(a.mul_(b)),
    "add_": lambda m, a, b: forget(a.add_(1)),
    "row_": lambda m, a, b: forget(a[0].mul_(b[1])),
    "exp_": lambda m, a, b: forget(a.div_(8).exp_()),
    "quiet_write": lambda m, a, b: quiet_write(a),
    "saves_output": lambda m, a, b: [apply(SavesOutput, a / 4)],
    "saves_none": lambda m, a, b: list(apply(SavesNone, a, b)),
    "retain_grad": lambda m, a, b: retain_grad(a),
    "hook": lambda m, a, b: hook(a),
    "foreach": lambda m, a, b: list(torch._foreach_mul([a, b], [b, a])),
    "backward": lambda m, a, b: backward(m, a, False),
    "backward_retained": lambda m, a, b: backward(m, a, True),
    "gradient": lambda m, a, b: gradient(m, a),
    "drop": lambda m, a, b: drop(m, a),
}


def hook(a: Tensor) -> list[Tensor]:
    # torch 2.13 dies of a hook on a view whose leaf was written since, unless it is placed first.
    if has_a_place(a):
        a.register_hook(same)
    return []


def same(grad: Any) -> Any:
    return grad


def no_grad(a: Tensor, b: Tensor) -> list[Tensor]:
    with torch.no_grad():
        return [a * b]


def quiet_write(a: Tensor) -> list[Tensor]:
    with torch.no_grad():
        a.add_(1)
    return []


def retain_grad(a: Tensor) -> list[Tensor]:
    if has_a_place(a):
        a.retain_grad()
    return []


def forget(_result: object) -> list[Tensor]:
    return []


def backward(machine: Machine, a: Tensor, retain: bool) -> list[Tensor]:
    machine.has_freed |= not retain
    a.sum().backward(retain_graph=retain)
    return []


def gradient(machine: Machine, a: Tensor) -> list[Tensor]:
    inputs = [t for t in machine.pool if t.is_leaf and t.requires_grad]
    found = torch.autograd.grad(a.sum(), inputs, create_graph=True, allow_unused=True)
    return [g for g in found if g is not None and g.shape == a.shape]


def drop(machine: Machine, a: Tensor) -> list[Tensor]:
    if len(machine.pool) > 1:
        machine.pool[:] = [t for t in machine.pool if t is not a]
    return []


programs = st.lists(
    st.tuples(st.sampled_from(sorted(INSTRUCTIONS)), st.integers(0, 5), st.integers(0, 5)),
    min_size=3,
    max_size=30,
)
quietly = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.parametrize("count", [50, pytest.param(600, marks=pytest.mark.exhaustive)])
def test_a_snapshot_of_any_program_says_what_torch_says(count: int) -> None:
    @settings(quietly, max_examples=count)
    @given(programs)
    def check_any(instructions: list[tuple[str, int, int]]) -> None:
        says_what_torch_says(instructions)

    check_any()


def says_what_torch_says(instructions: list[tuple[str, int, int]]) -> None:
    machine = Machine()
    machine.run(instructions)
    outputs = machine.outputs()
    if not outputs:
        return
    names = {f"v{i}": t for i, t in enumerate(machine.pool) if t.requires_grad}
    # torch makes the node of a stale view anew when it is asked for it; that is done first, so
    # that both sides see the same.
    names = {name: t for name, t in names.items() if has_a_place(t)}
    outputs = [t for t in outputs if has_a_place(t)]
    if not outputs:
        return
    graph = gradviz.snapshot(*outputs, names=names)
    check(graph, outputs, names, second_run(graph, instructions, machine))
    # What refuses is modified or freed; what has run until then is freed.
    with contextlib.suppress(RuntimeError):
        torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])
    check(gradviz.snapshot(*outputs, names=names), outputs, names)


def has_a_place(tensor: Tensor) -> bool:
    try:
        return tensor.is_leaf or tensor.grad_fn is not None
    except RuntimeError:
        return False


def second_run(
    graph: gradviz.Graph, instructions: list[tuple[str, int, int]], first: Machine
) -> dict[str, dict[str, Note | None]] | None:
    """Notes of a run under hooks, of a program that frees nothing on the way."""
    if first.has_freed:
        return None
    again = Machine()
    with noting_saves():
        again.run(instructions)
    if len(again.pool) != len(first.pool):
        return None  # hooks lift the check of versions, so a gradient may run that was refused
    outputs = [t for t in again.outputs() if has_a_place(t)]
    live = pairs(graph, [root_of(t) for t in outputs])
    return {node_id: notes_of(node) for node_id, node in live.items()}
