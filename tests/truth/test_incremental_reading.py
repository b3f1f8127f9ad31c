"""What is read from line to line is what would be read if all were read after every line."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Generator
from typing import Any, TypeAlias

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor, nn

import gradviz
from gradviz import Recording
from gradviz.capture import autograd
from gradviz.capture.recorder.names_in_sight import NamesInSight
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.untracked_writes import UntrackedWrites
from tests.own_code import as_gradviz
from tests.programs import PROGRAMS, Program, run_backward
from tests.truth import test_random_programs as random_programs
from tests.truth.recorded import error_of, without_collections
from tests.truth.test_random_programs import Machine

Story: TypeAlias = "Callable[[bool], Recording]"
"""Records a program, with or without values."""
STORIES: list[Story] = []


def story(function: Story) -> Story:
    STORIES.append(function)
    return function


@contextlib.contextmanager
def reading_all() -> Generator[None]:
    """Search all variables, read the whole graph and compare all memory after every line."""

    @as_gradviz
    def true(*_: Any) -> bool:
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NamesInSight, "_is_same", as_gradviz(lambda *_: False))
        patch.setattr(GraphReading, "_reads_everything", true)
        patch.setattr(UntrackedWrites, "_chosen", as_gradviz(lambda _: None))
        step_ends = GraphReading.step_ends

        @as_gradviz
        def reads(self: GraphReading, unnamed: Any = None) -> None:
            self.changed()
            step_ends(self, unnamed)

        patch.setattr(GraphReading, "step_ends", reads)
        yield


def assert_same(record: Story, values: bool) -> None:
    record(values)  # the first run of some code imports and compiles
    found = record(values)
    with reading_all():
        expected = record(values)
    assert lines(found) == lines(expected)


def lines(recording: Recording) -> list[Any]:
    """What each step has and says; flags of one line are read in the order of the graph."""
    return [
        (step.line, step.kind, sorted(map(repr, step.events)), step.graph.to_json())
        for step in recording.all_steps
    ]


def leaf(*values: float) -> Tensor:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


class Cell(nn.Module):
    state: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.register_buffer("state", torch.zeros(2))
        self.kept: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.w
        self.kept.append(y)
        self.state = self.state + y.detach()
        return y.tanh()


shared: Any = None


@story
def names_are_given_through_globals(values: bool) -> Recording:
    global shared
    with gradviz.record(values=values) as recording:
        x = leaf()
        globals()["shared"] = x * 2
        y = shared + 1
        shared = y
        del y
        shared = None
        x = x + 1
    return recording


@story
def attributes_and_containers_change_in_place(values: bool) -> Recording:
    class Box:
        pass

    box: Any = Box()
    with gradviz.record(values=values) as recording:
        many: list[Any] = []
        table: dict[str, Any] = {}
        many.append(leaf())
        table.update(a=many[0] * 2)
        table["b"] = [table["a"], {"c": many[0].exp()}]
        table["b"][1]["d"] = table["a"] + 1
        many.extend(table["b"][:1])
        setattr(box, "x", many[0])  # noqa: B010
        many.insert(0, many[1] * 3)
        table.pop("a")
        del many[1:]
        table["b"][1].clear()
        many[0] = many[0] + box.x
        box.x = None
    return recording


@story
def modules_get_other_parts(values: bool) -> Recording:
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(2, 2), Cell())
    x = torch.ones(1, 2)
    with gradviz.record([Cell], values=values) as recording:
        y = model(x)
        model[0] = nn.Linear(2, 2)
        y = model(x)
        model.extra = nn.Parameter(torch.ones(2))
        model.extra.data = torch.zeros(2)
        model[1].w = nn.Parameter(torch.full((2,), 3.0))
        model[1].kept.clear()
        model._parameters["late"] = nn.Parameter(torch.ones(3))
        del model.extra
        model.double()
        model.float()
        y = model(x)
        model.requires_grad_(False)
        z = y.sum()
        model.load_state_dict(model.state_dict(), strict=False)
    del z
    return recording


@story
def names_come_and_go(values: bool) -> Recording:
    def rows(w: Tensor) -> Generator[Tensor]:
        for i in range(3):
            row = w * i
            yield row

    def outer(w: Tensor) -> Callable[[], Tensor]:
        inside = w * 5

        def inner() -> Tensor:
            nonlocal inside
            inside = inside + 1
            return inside

        return inner

    with gradviz.record(values=values) as recording:
        w = leaf()
        kept = [v.exp() for v in rows(w)]
        for i, v in enumerate(kept):
            u = v + i
        del v, kept
        again = outer(w)
        again()
        a = again() * 2
        a, u = u, a
        try:
            b = a @ torch.ones(3)
        except RuntimeError as error:
            b = a + len(str(error)) * 0
        made = rows(w)
        first = next(made)
        second = next(made)
        made.close()
        del first
        with contextlib.suppress(RuntimeError):
            (second * torch.ones(5)).sum()
        if (c := b + 1).sum() > -100:
            d = c
        del c
    del d
    return recording


@story
def tensors_are_swapped_in_place(values: bool) -> Recording:
    with gradviz.record(values=values) as recording:
        w = leaf()
        y = w * w
        w.data = torch.zeros(2)
        z = y.detach()
        z.set_(torch.ones(4))  # type: ignore[call-overload]
        other = torch.full((2,), 7.0)
        z, other = other, z
        z.resize_(9)
        z.zero_()
        v = other.view(2, 2)
        with torch.no_grad():
            w.set_(torch.ones(2))  # type: ignore[call-overload]
        other.t_()
        other.unsqueeze_(0)
        v[0] = 3
    del y
    return recording


@story
def views_are_written_through_their_bases(values: bool) -> Recording:
    with gradviz.record(values=values) as recording:
        x = leaf(1.0, 2.0, 3.0, 4.0)
        base = x * 2
        view = base.view(2, 2)
        row = view[0]
        item = row[1:]
        base.mul_(3)
        item.add_(1)
        out = (row * view).sum()
        base.add_(view.sum())
        half = x.detach()[:2]
        half.zero_()
        parts = base.unbind()
        with torch.no_grad():
            window = base[1:3]
        chunk = base.narrow(0, 2, 2)
        chunk.exp_()
        y = view + 1
    del out, parts, window, y
    return recording


@story
def flags_and_hooks_change_later(values: bool) -> Recording:
    with gradviz.record(values=values) as recording:
        w, x = leaf(), torch.ones(2)
        y = w * x
        x.requires_grad_()
        z = y + x
        z.retain_grad()
        handle = y.register_hook(lambda g: g * 2)
        other = w.register_post_accumulate_grad_hook(lambda p: None)
        z.sum().backward(retain_graph=True)
        handle.remove()
        node = z.grad_fn
        assert node is not None
        more = node.register_hook(lambda inputs, outputs: None)
        z.sum().backward()
        more.remove()
        other.remove()
        d = y * 1
        d.detach_()
        w.requires_grad_(False)
        x.requires_grad = False
        v = w * 3
    del v
    return recording


@story
def gradients_are_replaced(values: bool) -> Recording:
    with gradviz.record(values=values) as recording:
        w = leaf()
        loss = (w * w).sum()
        loss.backward(retain_graph=True)
        grad = w.grad
        assert grad is not None
        grad.zero_()
        w.grad = torch.ones(2)
        w.grad.mul_(3)
        w.grad += 1
        loss.backward(retain_graph=True)
        w.grad = None
        grad.add_(1)
        (second,) = torch.autograd.grad(loss, w, create_graph=True)
        w.grad = second
        second = second * 2
        w.grad.detach_()
        w.grad.data.zero_()
    return recording


@story
def optimizers_write_in_many_ways(values: bool) -> Recording:
    cell = Cell()
    optimizers = [
        torch.optim.SGD(cell.parameters(), 0.1, momentum=0.9),
        torch.optim.Adam(cell.parameters(), 0.1, foreach=True),
        torch.optim.AdamW(cell.parameters(), 0.1, fused=True),
    ]
    with gradviz.record([Cell], values=values) as recording:
        average = cell.w.detach().clone()
        for optimizer in optimizers:
            optimizer.zero_grad()
            loss = cell(torch.ones(2)).sum()
            loss.backward()
            nn.utils.clip_grad_norm_(cell.parameters(), 0.1)
            optimizer.step()
            average.lerp_(cell.w.detach(), 0.5)
        cell.zero_grad(set_to_none=False)
    return recording


@story
def other_threads_write(values: bool) -> Recording:
    x, y = torch.zeros(2), leaf()
    begun = threading.Event()

    def work() -> None:
        begun.wait()  # else it would write in the line that starts it, or in the next
        x.add_(1)
        y.grad = torch.ones(2)

    def finish() -> None:
        begun.set(); thread.join()  # fmt: skip  # noqa: E702  one line and no loop: it writes in one step

    with gradviz.record(values=values) as recording:
        z = y * x
        thread = threading.Thread(target=work)
        thread.start()
        finish()
        v = z + 1
    del v
    return recording


class Slow(torch.optim.Optimizer):
    def __init__(self, parameters: Any, average: Tensor) -> None:
        super().__init__(parameters, {})
        self.average = average

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.sub_(parameter.grad)
                self.average.mul_(0.5).add_(parameter)


@story
def optimizers_of_the_users_write_other_tensors(values: bool) -> Recording:
    w, average = leaf(), torch.zeros(2)
    optimizer = Slow([w], average)
    with gradviz.record(values=values) as recording:
        y = w * average
        y.sum().backward()
        optimizer.step()
        again = average + 1
    with gradviz.record([Slow], values=values) as other:
        w.grad = None
        (w * average).sum().backward()
        optimizer.step()
    del again
    return Recording([*recording.records], recording.codes) if values else other


@pytest.mark.parametrize("record", STORIES, ids=lambda story: story.__name__)
def test_a_line_reads_what_it_changed(record: Story) -> None:
    assert_same(record, values=True)
    assert_same(record, values=False)


SMALL = [p for p in PROGRAMS if p.name != "deep_chain" and not p.is_slow]


def no_weak_reference_is_left(program: Program) -> None:
    with without_collections():
        with gradviz.record():
            built = program.build()
            detached = [t.detach() for t in built.outputs]
            error_of(run_backward, built)
        gradviz.snapshot(*built.outputs)
        tensors = [*built.names.values(), *built.outputs, *detached]
        tensors += [t.grad for t in tensors if t.is_leaf and t.grad is not None]
        left = [ref for t in tensors for ref in weakref.getweakrefs(t)]
        assert not [ref for ref in left if isinstance(ref, autograd.NumberedRef)]


@pytest.mark.parametrize("program", SMALL, ids=str)
def test_a_program_is_read_as_if_all_were_read_and_no_weak_reference_is_left(
    program: Program,
) -> None:
    no_weak_reference_is_left(program)

    def record(values: bool) -> Recording:
        with gradviz.record(program_code(program), values=values) as recording:
            built = program.build()
            with contextlib.suppress(RuntimeError):
                run_backward(built)
        return recording

    assert_same(record, True)


def program_code(program: Program) -> list[Any]:
    cells = getattr(program.build, "__closure__", None) or ()
    return [cell.cell_contents for cell in cells if callable(cell.cell_contents)]


@pytest.mark.parametrize("count", [6, pytest.param(80, marks=pytest.mark.exhaustive)])
def test_any_program_is_read_as_if_all_were_read(count: int) -> None:
    @settings(random_programs.quietly, max_examples=count)
    @given(random_programs.programs)
    def check(instructions: list[tuple[str, int, int]]) -> None:
        def record(values: bool) -> Recording:
            with gradviz.record([Machine], values=values) as recording:
                machine = Machine()
                machine.run(instructions)
                outputs = [t for t in machine.outputs() if random_programs.has_a_place(t)]
                ones = [torch.ones_like(t) for t in outputs]
                with contextlib.suppress(RuntimeError):
                    torch.autograd.backward(outputs, ones)
            return recording

        assert_same(record, True)

    check()
