"""Which call of which module made a node: as hooks of the test's own and its own stack say it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import gradviz
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model import Graph, Node, Recording

Plan = list[Any]
"""Steps of a forward: names of operations, numbers of modules in it, ``("thread", number)``."""
OPERATIONS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    "sin": torch.sin,
    "double": lambda x: x * 2,
    "rows": lambda x: torch.stack(list(x)),
}


class Seen:
    """What hooks see: the calls in which each node was made, by thread."""

    def __init__(self) -> None:
        self.local = threading.local()
        self.made: dict[Any, tuple[tuple[nn.Module, int], ...]] = {}
        self.main = threading.get_ident()
        self.elsewhere: set[Any] = set()
        self.count = 0

    @property
    def stack(self) -> list[tuple[nn.Module, int]]:
        if not hasattr(self.local, "stack"):
            self.local.stack = []
        found: list[tuple[nn.Module, int]] = self.local.stack
        return found

    def watch(self, module: nn.Module) -> None:
        for one in module.modules():
            one.register_forward_pre_hook(self.begins)
            one.register_forward_hook(self.ended, always_call=True)

    def begins(self, module: nn.Module, _: object) -> None:
        self.stack.append((module, self.count))
        self.count += 1

    def ended(self, module: nn.Module, _: object, out: Tensor) -> None:
        self.note(out)
        self.stack.pop()

    def note(self, x: Tensor) -> Tensor:
        """The nodes that are new behind a result were made now."""
        todo = [x.grad_fn]
        while todo:
            node = todo.pop()
            if node is None or node.name().endswith("AccumulateGrad") or node in self.made:
                continue
            self.made[node] = tuple(self.stack)
            if threading.get_ident() != self.main:
                self.elsewhere.add(node)
            todo += [following for following, _ in node.next_functions]
        return x


class Part(nn.Module):
    """A module that does what a plan says."""

    def __init__(self, seen: Seen, plan: Plan, inside: list[nn.Module]) -> None:
        super().__init__()
        self.seen, self.plan = seen, plan
        self.inside = nn.ModuleList(inside)
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.seen.note(x * self.weight)
        for step in self.plan:
            if isinstance(step, tuple):
                x = in_thread(self.inside[step[1]], x)
            elif isinstance(step, int):
                x = self.inside[step](x)
            else:
                x = self.seen.note(OPERATIONS[step](x))
        return x


def in_thread(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    found: list[Tensor] = []
    thread = threading.Thread(target=lambda: found.append(function(x)))
    thread.start()
    thread.join()
    return found[0]


@st.composite
def programs(draw: st.DrawFn) -> tuple[Seen, nn.Module, list[str]]:
    """Modules that call each other, some of them registered in several places, some in threads."""
    seen = Seen()
    has_threads = draw(st.booleans())
    shared: list[nn.Module] = [nn.Tanh(), nn.Linear(2, 2)]
    for _ in range(draw(st.integers(1, 5))):
        inside = draw(st.lists(st.sampled_from(shared), max_size=3))
        steps: list[st.SearchStrategy[Any]] = [st.sampled_from(sorted(OPERATIONS))]
        if inside:
            steps.append(st.integers(0, len(inside) - 1))
        if inside and has_threads:
            steps.append(st.tuples(st.just("thread"), st.integers(0, len(inside) - 1)))
        shared.append(Part(seen, draw(st.lists(st.one_of(steps), max_size=4)), inside))
    model = shared[-1]
    seen.watch(model)
    lines = draw(st.lists(st.sampled_from(("call", "twice", "outside", "thread")), max_size=3))
    return seen, model, ["call", *(one for one in lines if has_threads or one != "thread")]


def pairs(graph: Graph, loss: Tensor, name: str = "y") -> Iterator[tuple[Node, Any]]:
    """The nodes of a recording with the live ones."""
    found = {graph.tensor(name).node: loss.grad_fn}
    todo = list(found.items())
    while todo:
        key, live = todo.pop()
        assert key is not None
        assert live is not None
        yield graph[key], live
        for entry, following in zip(graph[key].next_functions, live.next_functions, strict=True):
            if entry is not None and entry[0] not in found:
                found[entry[0]] = following[0]
                todo.append((entry[0], following[0]))


@pytest.mark.parametrize("count", [15, pytest.param(150, marks=pytest.mark.exhaustive)])
def test_every_node_has_the_calls_that_hooks_have_seen(count: int) -> None:
    @settings(max_examples=count, deadline=None)
    @given(programs())
    def check(program: tuple[Seen, nn.Module, list[str]]) -> None:
        every_node_has_the_calls_that_hooks_see(*program)

    check()


def every_node_has_the_calls_that_hooks_see(seen: Seen, model: nn.Module, lines: list[str]) -> None:
    torch.tensor(1.0, requires_grad=True).sin()
    x = torch.rand(2, 2)
    with gradviz.record() as recording:
        y = seen.note(x * torch.ones(2, requires_grad=True))
        for line in lines:
            if line == "call":
                y = model(y)
            elif line == "twice":
                y = model(model(y))
            elif line == "outside":
                y = seen.note(y.cos())
            else:
                y = in_thread(model, y)
    graph = recording[-1].graph
    number_of: dict[int, int] = {}
    for node, live in pairs(graph, y):
        if live in seen.elsewhere:
            assert (node.calls, node.module, node.source) == ((), None, None)
        elif node.variable is None:
            assert node.source is not None
            true = seen.made[live]
            assert len(node.calls) == len(true)
            for (path, number), (module, call) in zip(node.calls, true, strict=True):
                assert number_of.setdefault(call, number) == number
                assert path == "model" if module is model else path.startswith("model.")
                assert model.get_submodule(path.partition(".")[2]) is module
            assert node.module == (node.calls[-1][0] if node.calls else None)
    assert len(set(number_of.values())) == len(number_of)
    folds_are_calls(graph)
    assert Recording.from_json(recording.to_json()) == recording
    assert Graph.from_json(graph.to_json()) == graph


def folds_are_calls(graph: Graph) -> None:
    """A fold that is one call has nodes of that call alone."""
    tree = fold_tree(graph)
    for fold in tree:
        if fold.kind == "module" and fold.calls == 1:
            made = [graph.calls[at] for at in tree.nodes_of(fold) if not graph.variables[at]]
            calls = [
                {number for path, number in one if f"{path}.".startswith(f"{fold.path}.")}
                for one in made
            ]
            assert set.intersection(*calls)


def test_a_thread_does_not_take_the_line_or_the_module_of_a_node_with_its_number() -> None:
    x = torch.ones(3, 2)
    main_net, other = nn.Linear(2, 2), nn.Linear(2, 2)
    recordings = []

    def record(x: Tensor) -> Tensor:  # in a thread of its own, whose numbers begin at 0, too
        with gradviz.record() as recording:
            y = main_net(x).tanh().mean()
            made = in_thread(lambda given: other(given).exp(), x)
            y = y + made.sum()
        recordings.append(recording)
        return x

    in_thread(record, x)
    (recording,) = recordings
    found = {(n.name, n.module): n.source for n in recording[-1].graph.nodes if not n.variable}
    assert found.pop(("AddmmBackward0", None)) is None
    assert found.pop(("TBackward0", None)) is None
    assert found.pop(("ExpBackward0", None)) is None
    assert {key: str(line).partition(":")[2].strip() for key, line in found.items()} == {
        ("AddmmBackward0", "main_net"): "y = main_net(x).tanh().mean()",
        ("TBackward0", "main_net"): "y = main_net(x).tanh().mean()",
        ("TanhBackward0", None): "y = main_net(x).tanh().mean()",
        ("MeanBackward0", None): "y = main_net(x).tanh().mean()",
        ("SumBackward0", None): "y = y + made.sum()",
        ("AddBackward0", None): "y = y + made.sum()",
    }


def test_what_a_thread_made_before_the_recording_has_no_line_of_it() -> None:
    x = torch.ones(2, requires_grad=True)
    recordings = []

    def record(x: Tensor) -> Tensor:
        made = in_thread(lambda given: given.exp().sin().cos().tan(), x)
        with gradviz.record() as recording:
            y = made * 2
            y = y.sum()
        recordings.append(recording)
        return x

    in_thread(record, x)
    nodes = [node for node in recordings[0][-1].graph.nodes if node.variable is None]
    assert {node.name for node in nodes if node.source is not None} == {
        "MulBackward0",
        "SumBackward0",
    }


@pytest.mark.filterwarnings("ignore:Using backward")
def test_after_a_thread_has_run_all_that_this_one_makes_has_its_line_still() -> None:
    x = torch.ones(2, 2, requires_grad=True)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, given: Tensor) -> Tensor:
            return given * 2

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return grad * 2

    with gradviz.record() as recording:
        made = in_thread(torch.exp, x)
        y = sum((made * i for i in range(210)), made)
        y = y + torch.stack(list(x)).sum() + nn.functional.gelu(x).mean()
        y = Twice.apply(y)  # type: ignore[no-untyped-call]
        (grad,) = torch.autograd.grad(y.sin().sum(), x, create_graph=True)
        y = y + grad
        y.sum().backward(create_graph=True)
        y = y + x.grad
    nodes = [node for node in recording[-1].graph.nodes if node.variable is None]
    assert {node.name for node in nodes if node.source is None} == {"ExpBackward0"}
    assert len(nodes) > 420
    x.grad = None


def test_a_module_in_several_places_has_the_name_from_the_one_that_calls_it() -> None:
    class Block(nn.Module):
        def __init__(self, act: nn.Module) -> None:
            super().__init__()
            self.a, self.act = nn.Linear(2, 2), act

        def forward(self, x: Tensor) -> Any:
            return self.act(self.a(x))

    act = nn.GELU()
    model = nn.Sequential(*[Block(act) for _ in range(3)])
    with gradviz.record() as recording:
        out = model(torch.ones(2, 2))
    found = [node.module for node in recording[-1].graph.nodes if node.name == "GeluBackward0"]
    assert sorted(filter(None, found)) == ["model.0.act", "model.1.act", "model.2.act"]
    assert out.requires_grad


def test_a_module_that_is_handed_on_has_the_name_from_the_nearest_that_has_it() -> None:
    class Given(nn.Module):
        def forward(self, x: Tensor, act: nn.Module) -> Any:
            return act(x)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block, self.act = Given(), nn.Tanh()

        def forward(self, x: Tensor) -> Any:
            return self.block(x, self.act)

    net = Net()
    with gradviz.record() as recording:
        out = net(torch.ones(2, requires_grad=True))
    (node,) = [node for node in recording[-1].graph.nodes if node.name == "TanhBackward0"]
    assert [path for path, _ in node.calls] == ["net", "net.block", "net.act"]
    assert out.requires_grad


def modules(recording: Recording) -> list[str]:
    return [module.path for module in recording.modules]


def test_modules_that_one_variable_had_are_told_apart() -> None:
    y: Any = torch.ones(2)
    with gradviz.record() as recording:
        for _ in range(3):
            net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
            y = net(y)
    numbered = ("net", "net#2", "net#3")
    assert modules(recording) == [f"{n}{i}" for n in numbered for i in ("", ".0", ".1")]


def test_modules_of_a_list_have_their_places_in_it_whatever_runs_through_it() -> None:
    nets = [nn.Linear(2, 2) for _ in range(4)]

    def run(one: nn.Module, x: Tensor) -> Any:
        return one(x)

    y: Any = torch.ones(2)
    with gradviz.record() as recording:
        for net in nets[:2]:
            y = net(y)
        y = run(nets[2], y)
        y = [net(y) for net in nets][-1]
    assert modules(recording) == ["nets[0]", "nets[1]", "nets[2]", "nets[3]"]


def test_a_variable_that_is_bound_once_names_a_module_though_a_list_has_it_too() -> None:
    enc, dec = nn.Linear(2, 2), nn.Linear(2, 2)
    both = [enc, dec]
    with gradviz.record() as recording:
        y = dec(enc(torch.ones(2)))
    assert (modules(recording), len(both)) == (["enc", "dec"], 2)
    assert y.requires_grad


def test_modules_without_a_variable_are_told_apart_too() -> None:
    def mlp() -> nn.Module:
        return nn.Sequential(nn.Linear(2, 2), nn.Tanh())

    with gradviz.record() as recording:
        y = mlp()(mlp()(torch.ones(2)))
    assert modules(recording) == [
        *("Sequential", "Sequential.0", "Sequential.1"),
        *("Sequential#2", "Sequential#2.0", "Sequential#2.1"),
    ]
    assert y.requires_grad


def test_modules_of_a_part_that_has_no_variable_have_the_names_of_their_variables() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
    with gradviz.record() as recording:
        y = model[:2](torch.ones(2))
    assert modules(recording) == ["Sequential", "model.0", "model.1"]
    assert y.requires_grad


def test_calls_that_an_earlier_recording_saw_are_known_and_no_calls_of_this_one() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with gradviz.record():
        y = model(torch.ones(2))
    with gradviz.record() as recording:
        y = model(y)
    nodes = [node for node in recording[-1].graph.nodes if node.module == "model.1"]
    before, now = sorted((dict(node.calls) for node in nodes), key=lambda one: one["model"])
    assert [*now] == [*before] == ["model", "model.1"]
    assert min(now.values()) >= 0 > max(before.values())
