"""Random programs with planted cuts: an audit beside a real backward, and beside the numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

import gradviz
from gradviz.model.audit import Audit
from tests.programs import SavesNone, apply

COUNT = 4
"""Parameters of a program; the last one is frozen."""


Flow = dict[int, set[tuple[int, str]]]
"""Per parameter how it came into a tensor: connected, or cut by an instruction and why."""
LIVE = (-1, "")


def joined(number: int, ways: tuple[str | None, ...], flows: tuple[Flow, ...]) -> Flow:
    """What a result has of what an instruction took; ``None``: nothing of its numbers."""
    found: Flow = {}
    for way, flow in zip(ways, flows):
        for parameter, marks in flow.items() if way is not None else ():
            new = {(number, way) if way and mark == LIVE else mark for mark in marks}
            found.setdefault(parameter, set()).update(new)
    return found


@dataclass
class Machine:
    """Runs instructions on a pool of 2x2 tensors, of which the first are parameters."""

    shift: float = 0.0
    """What is added to parameter ``shifted``."""
    shifted: int = -1
    pool: list[Tensor] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    left: dict[int, str] = field(default_factory=dict)
    """Parameters of which something left torch, and what cut it off first on the first such way."""

    def __post_init__(self) -> None:
        values = torch.linspace(0.2, 0.9, COUNT * 4, dtype=torch.float64).view(COUNT, 2, 2)
        for i in range(COUNT):
            value = values[i] + (self.shift if i == self.shifted else 0.0)
            self.pool.append(value.clone().requires_grad_(i < COUNT - 1))
            self.flows.append({i: {LIVE}})

    @property
    def parameters(self) -> dict[str, Tensor]:
        return {f"p{i}": tensor for i, tensor in enumerate(self.pool[:COUNT])}

    def reasons(self, parameter: int, used: int) -> set[str]:
        """Why a parameter gets no gradient from the last tensors, ``""`` if it gets one."""
        marks = set[tuple[int, str]]().union(*(f.get(parameter, ()) for f in self.flows[-used:]))
        if LIVE in marks:
            return {""}
        if marks:
            return {reason for _, reason in marks}
        return {self.left.get(parameter, "not used")}

    def run(self, instructions: list[tuple[str, int, int]], used: int) -> Tensor:
        for number, (name, i, j) in enumerate(instructions):
            a, b = i % len(self.pool), j % len(self.pool)
            made = INSTRUCTIONS[name](self.pool[a], self.pool[b])
            for ways in WAYS.get(name, (("", ""),)):
                self.flows.append(joined(number, ways, (self.flows[a], self.flows[b])))
            if name == "item":
                for parameter, marks in self.flows[a].items():
                    self.left.setdefault(parameter, min(marks)[1] or "left torch")
            self.pool.extend(made)
        return torch.stack([t.sum() for t in self.pool[-used:]]).sum()


def under_no_grad(a: Tensor, b: Tensor) -> list[Tensor]:
    with torch.no_grad():
        return [a * b]


def into_a_part(a: Tensor, b: Tensor) -> list[Tensor]:
    made = a * 1
    made[0] = b[1]
    return [made]


def in_place(a: Tensor, b: Tensor) -> list[Tensor]:
    made = a * 1
    made.mul_(b)
    return [made]


def through_a_view(a: Tensor, b: Tensor) -> list[Tensor]:
    made = a.detach().clone()
    made[1].add_(b[0])
    return [made]


INSTRUCTIONS: dict[str, Callable[[Tensor, Tensor], list[Tensor]]] = {
    "mul": lambda a, b: [a * b],
    "matmul": lambda a, b: [a @ b],
    "sin": lambda a, b: [a.sin()],
    "first_half": lambda a, b: [a.chunk(2)[0] * b],
    "stack": lambda a, b: [torch.stack([a[0], b[1]])],
    "sort": lambda a, b: [a.sort(dim=1).values],
    "detach": lambda a, b: [a.detach() * b],
    "data": lambda a, b: [a.data + b],
    "no_grad": under_no_grad,
    "item": lambda a, b: [b * a.sum().item()],
    "argsort": lambda a, b: [b + a.argsort(dim=1)],
    "mask": lambda a, b: [b * (a > 0.5)],
    "shape": lambda a, b: [torch.ones_like(a) * b],
    "leaf": lambda a, b: [a.detach().requires_grad_()],
    "function": lambda a, b: list(apply(SavesNone, a, b))[:1],
    "setitem": into_a_part,
    "in_place": in_place,
    "through_a_view": through_a_view,
}

WAYS: dict[str, tuple[tuple[str | None, ...], ...]] = {
    "sin": (("", None),),
    "sort": (("", None),),
    "detach": (("detached", ""),),
    "data": (("detached", ""),),
    "no_grad": (("no_grad", "no_grad"),),
    "item": ((None, ""),),
    "argsort": (("integer", ""),),
    "mask": (("integer", ""),),
    "shape": ((None, ""),),
    "leaf": (("detached", None),),
    "through_a_view": (("detached", ""),),
}
"""How each result of an instruction hangs on what it took, where that is not on both."""

CUTTING = {
    "made = INSTRUCTIONS[name](self.pool[a], self.pool[b])",  # a lambda is part of the line
    "return [a * b]",
    "made = a.detach().clone()",
}
"""The lines that cut."""

programs = st.lists(
    st.tuples(st.sampled_from(sorted(INSTRUCTIONS)), st.integers(0, 12), st.integers(0, 12)),
    min_size=2,
    max_size=10,
)


def quietly(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )


@quietly(100)
@given(programs, st.integers(1, 3))
def test_a_random_program_gives_a_gradient_exactly_where_the_audit_says(
    instructions: list[tuple[str, int, int]], used: int
) -> None:
    machine, again = Machine(), Machine()
    loss, other = machine.run(instructions, used), again.run(instructions, used)
    before: Audit = gradviz.audit(loss, machine.parameters).findings
    if other.requires_grad:
        other.backward()
        loss.backward()
    real = {name: p.grad is not None for name, p in again.parameters.items()}
    after: Audit = gradviz.audit(loss, machine.parameters).findings
    for audit in (before, after):
        for row in audit:
            assert row.gets_gradient in (None, real[row.name]), row
            if row.gets_gradient is None:
                assert "SavesNoneBackward" in row.why
            assert (row.reason != "") is (row.gets_gradient is False)
    assert {row.name for row in after if row.grad is not None} == {n for n in real if real[n]}


@quietly(50)
@given(programs, st.integers(1, 3))
def test_the_cut_of_a_recorded_program_is_found(
    instructions: list[tuple[str, int, int]], used: int
) -> None:
    machine = Machine()
    parameters = machine.parameters
    with gradviz.record() as recording:
        loss = machine.run(instructions, used)
    audit: Audit = gradviz.audit(loss, parameters, recording=recording).findings
    for i, row in enumerate(audit):
        assert row.reason in ({"frozen"} if i == COUNT - 1 else machine.reasons(i, used)), row
        if row.reason == "not used":  # so says arithmetic too
            moved = Machine(0.25, i).run(instructions, used)
            assert float(moved.detach()) == float(loss.detach())
        elif row.reason not in ("", "frozen"):
            assert row.at is not None
            assert row.at.text in CUTTING


@quietly(100)
@given(programs, st.integers(1, 3))
def test_what_is_alive_is_never_taken_for_another_cut(
    instructions: list[tuple[str, int, int]], used: int
) -> None:
    machine = Machine()
    loss = machine.run(instructions, used)
    names = {f"v{i}": tensor for i, tensor in enumerate(machine.pool)}
    audit: Audit = gradviz.audit(loss, machine.parameters, names=names).findings
    for i, row in enumerate(list(audit)[: COUNT - 1]):
        assert row.reason in machine.reasons(i, used) | {"unknown", "no graph"}, row
