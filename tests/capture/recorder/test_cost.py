"""What a recorded line costs depends on what it changed, not on what is known: it is counted."""

from __future__ import annotations

import ast
import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any, TypeAlias

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.capture import autograd, naming, node_reader
from gradviz.capture.recorder import function_mode, live_graph
from gradviz.capture.recorder.observers import untracked_writes
from gradviz.capture.recorder.registry import RegistryEntry
from gradviz.capture.tensors import Tensors
from gradviz.model.events import Freed, Operation, OptimizerStepped, Write, ZeroedGrad
from tests.own_code import as_gradviz

if sys.version_info < (3, 12):
    from gradviz.capture.recorder.tracers.frame import FrameTracer

Counted: TypeAlias = "Counter[str]"
Counting: TypeAlias = "Callable[[], AbstractContextManager[Counted]]"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Counts nodes that are walked or read, tensors that are read, objects searched for names,
    storages that are asked whether they are gone."""
    found: Counted = Counter()
    walk, read = vars(live_graph)["walk"], node_reader.NodeReader.read
    info, by_depth = Tensors._info, naming.search
    gone: Any = vars(autograd.StorageRef)["is_gone"]

    @as_gradviz
    def walks(*args: Any) -> Any:
        nodes, entries, index = walk(*args)
        found["nodes walked"] += len(nodes)
        return nodes, entries, index

    @as_gradviz
    def reads(self: Any, places: range) -> None:
        found["nodes read"] += len(places)
        read(self, places)

    @as_gradviz
    def infos(self: Any, one: Any) -> Any:
        found["tensors read"] += 1
        return info(self, one)

    @as_gradviz
    def searches(*args: Any) -> Iterator[Any]:
        for one in by_depth(*args):
            found["tensors named"] += 1
            yield one

    @as_gradviz
    def asks(self: Any) -> bool:
        found["storages asked"] += 1
        return bool(gone.fget(self))

    name_now: Any = vars(RegistryEntry)["name_now"]

    @as_gradviz
    def names(self: Any) -> Any:
        found["names asked"] += 1
        return name_now.fget(self)

    monkeypatch.setattr(RegistryEntry, "name_now", property(names))
    monkeypatch.setattr(live_graph, "walk", walks)
    monkeypatch.setattr(node_reader.NodeReader, "read", reads)
    monkeypatch.setattr(Tensors, "_info", infos)
    monkeypatch.setattr(naming, "search", searches)
    monkeypatch.setattr(autograd.StorageRef, "is_gone", property(asks))

    @contextmanager
    def counting() -> Iterator[Counted]:
        found.clear()
        yield found

    return counting


class Cell(nn.Module):
    def __init__(self, others: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.others = nn.ParameterList(torch.ones(2) for _ in range(others))

    def forward(self, x: Tensor) -> Tensor:
        a = x * self.weight
        b = a.tanh()
        return b + 1


def of_ten_lines(known: int, counted: Counting) -> Counted:
    """Counts while ten followed lines run, with so many tensors, nodes and storages known."""
    cell, x = Cell(known), torch.ones(3, requires_grad=True)
    with gradviz.record(into=[Cell], values=False):
        total = sum(p.sum() for p in cell.others)
        kept = [(x * i).exp() for i in range(min(known, 150))]
        more = {i: y * 2 for i, y in enumerate(kept)}
        h = cell(x)
        with counted() as found:
            h = cell(h)
            h = cell(h)
            h = cell(h)
            found = Counter(found)
        del total, more
    return found


def test_a_followed_line_costs_what_it_changed_however_much_is_known(counted: Counting) -> None:
    few, many = of_ten_lines(20, counted), of_ten_lines(140, counted)
    assert few == many
    assert few["nodes read"] == 3 * (3 + 1)  # three are new, and one has saved b, which has gone
    # Those that are made, and h once its version is looked at as that of x: a name is no reason.
    assert few["tensors read"] == 3 * (3 + 1)


def test_a_line_that_writes_is_read_with_what_holds_the_storage_only(counted: Counting) -> None:
    def of(known: int) -> Counted:
        w = torch.ones(3, requires_grad=True)
        with gradviz.record(values=False):
            others = [(w * i).exp() for i in range(known)]
            h = (w * 2).exp()
            with counted() as found:
                h.add_(1)
                found = Counter(found)
            del others
        return found

    assert of(20) == of(140)
    assert of(20)["nodes read"] == 2  # the node that saved h, and the one that h has now


def test_an_unrolled_loop_costs_the_same_per_step_however_long_it_is(counted: Counting) -> None:
    def of(steps: int) -> Counted:
        cell, h = Cell(0), torch.ones(3)
        with counted() as found, gradviz.record(into=[Cell], values=False):
            for _ in range(steps):
                h = cell(h)
        return Counter(found)

    one, two, three = of(20), of(40), of(60)
    assert two - one == three - two


def test_only_the_function_with_the_block_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = ast.parse

    def parses(text: str, *args: Any) -> Any:
        parsed.append(text)
        return parse(text, *args)

    monkeypatch.setattr(ast, "parse", parses)
    with gradviz.record() as recording:
        torch.ones(3)
    assert len(recording) == 1
    assert any("torch.ones(3)" in text for text in parsed)
    assert max(text.count("\n") for text in parsed) < 20


def test_what_is_not_known_to_have_changed_is_read_as_a_whole() -> None:
    w = torch.ones(3, requires_grad=True)
    x = torch.ones(3)
    with gradviz.record(values=False) as recording:
        y = w * x
        [x.add_(1) for _ in range(300)]
    node = recording[2].graph[recording.graph.nodes[0].id]
    assert y.grad_fn is not None
    assert [(s.name, s.state) for s in node.saved if s.state != "none"] == [("other", "modified")]


def test_memory_is_compared_only_where_a_write_could_go_unseen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[int] = []
    checksum = untracked_writes.checksum

    @as_gradviz
    def compares(tensor: Tensor) -> int:
        compared.append(tensor.numel())
        return checksum(tensor)

    monkeypatch.setattr(untracked_writes, "checksum", compares)
    many = [torch.ones(5) for _ in range(50)]
    norm, shared = nn.BatchNorm1d(3), torch.ones(7)
    with gradviz.record() as recording:
        total = torch.stack(many).sum(0)
        array = shared.numpy()
        array[0] = 2.0
        norm(torch.ones(4, 3))
        last = total + 1
    assert set(compared) == {3, 7}
    writes = [e for s in recording for e in s.events if isinstance(e, Write)]
    assert {(w.name, w.agent) for w in writes if w.before == w.after} == {
        ("shared", "unseen"),
        ("norm.running_mean", "module"),
        ("norm.running_var", "module"),
    }
    assert last.shape == (5,)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there no trace function is used")
def test_events_of_code_without_a_role_are_passed_over_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    examined: Counter[str] = Counter()
    told, note = FrameTracer._told, FrameTracer._note

    def tells(self: FrameTracer, *args: Any) -> int:
        examined["events"] += 1
        return told(self, *args)

    def notes(self: FrameTracer, frame: FrameType, what: int, argument: int | None) -> None:
        examined["examined"] += 1
        note(self, frame, what, argument)

    monkeypatch.setattr(FrameTracer, "_told", tells)
    monkeypatch.setattr(FrameTracer, "_note", notes)

    def of(steps: int) -> Counter[str]:
        examined.clear()
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w])
        with gradviz.record(values=False):
            for _ in range(steps):
                y = nn.functional.relu(w * 2)
                y.sum().backward()
                optimizer.step()
        return Counter(examined)

    of(1)
    gc.collect()
    gc.disable()  # finalizers of other tests are code without a role, examined once
    try:
        few, many = of(10), of(20)
    finally:
        gc.enable()
    per_step = {key: (many[key] - few[key]) / 10 for key in many}
    assert per_step["examined"] == 4 + 2 + 3  # lines, optimizer.step(), exceptions in torch
    assert per_step["events"] < 400


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there no trace function is used")
def test_hooks_at_a_node_make_few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    events: Counter[str] = Counter()
    told = FrameTracer._told

    def tells(self: FrameTracer, *args: Any) -> int:
        events["all"] += 1
        return told(self, *args)

    monkeypatch.setattr(FrameTracer, "_told", tells)

    def of(nodes: int) -> int:
        y = w = torch.ones(3, requires_grad=True)
        with gradviz.record(values=False):
            for _ in range(nodes):
                y = y * 2
            z = y.sum()
            before = events["all"]
            z.backward()
            found = events["all"] - before
        assert w.grad is not None
        return found

    # Two hooks; of each begin and end itself, what it calls, and pause and resume begin or end.
    assert of(40) - of(20) == 20 * 2 * 6


def calls_seen_in(step: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many calls of torch the recorder looks at while this runs in a recording."""
    seen: Counter[str] = Counter()
    sees = function_mode.CallMode.__torch_function__

    def counts(self: Any, *args: Any) -> Any:
        seen["calls"] += 1
        return sees(self, *args)

    monkeypatch.setattr(function_mode.CallMode, "__torch_function__", counts)
    with gradviz.record(values=False) as recording:
        before = seen["calls"]
        step()
        after = seen["calls"]
    monkeypatch.undo()
    assert any(isinstance(e, (OptimizerStepped, ZeroedGrad)) for s in recording for e in s.events)
    return after - before


def with_gradients() -> list[nn.Parameter]:
    found = [nn.Parameter(torch.ones(2)) for _ in range(10)]
    for parameter in found:
        parameter.grad = torch.ones(2)
    return found


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_what_an_optimizer_of_torch_calls_is_not_looked_at(
    make: Callable[[Any], torch.optim.Optimizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = with_gradients()
    optimizer = make(parameters)
    assert calls_seen_in(optimizer.step, monkeypatch) == 0
    assert calls_seen_in(optimizer.zero_grad, monkeypatch) == 0


def test_what_code_of_the_users_calls_in_an_optimizer_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    optimizer = torch.optim.SGD(with_gradients())
    x = torch.ones(2)
    assert calls_seen_in(lambda: optimizer.step(lambda: x.add(1)), monkeypatch) > 0

    def adds(*_: Any) -> None:
        x.add(1)

    handle = optimizer.register_step_post_hook(adds)
    assert calls_seen_in(optimizer.step, monkeypatch) > 0
    handle.remove()
    assert calls_seen_in(optimizer.step, monkeypatch) == 0


def test_the_calls_after_an_optimizer_that_raised_are_recorded() -> None:
    optimizer = torch.optim.SGD(with_gradients())
    optimizer.param_groups[0]["lr"] = "much"
    x = torch.ones(2)
    with gradviz.record(values=False) as recording:
        try:
            optimizer.step()
        except TypeError:
            y = x * 2
    operations = [e.name for s in recording for e in s.events if isinstance(e, Operation)]
    assert operations == ["mul"]
    assert y.shape == (2,)


@pytest.mark.parametrize("retain", [False, True])
def test_slots_of_a_node_are_not_asked_one_by_one_whether_they_are_freed(
    retain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    saved_of = autograd.saved_of

    def asks(node: Any, plan: Any) -> Any:
        found = saved_of(node, plan)
        asked.extend(row[0] for row in found)
        return found

    monkeypatch.setattr(autograd, "saved_of", asks)
    w, v = torch.ones(3, requires_grad=True), torch.ones(3)
    with gradviz.record(values=False) as recording:
        y = ((w * w).exp() * v).sum()  # the last product has a slot that holds nothing
        y.backward(retain_graph=retain)
        asked_in_all = list(asked)
    assert asked_in_all == []
    freed = {e.node: e.slots for s in recording.all_steps for e in s.events if isinstance(e, Freed)}
    assert len(freed) == (0 if retain else 3)
