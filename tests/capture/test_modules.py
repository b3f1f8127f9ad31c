"""The modules of a graph and the order of its forward, as a snapshot finds them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz.model import Graph
from tests.each import each

x = torch.ones(2, 4)


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))


def paths(graph: Graph) -> list[tuple[str, str]]:
    return [(module.path, module.type) for module in graph.modules]


def assert_is_an_order(graph: Graph) -> None:
    """Every node but the leaves once, after those whose outputs it uses; kept in JSON."""
    position = {place: number for number, place in enumerate(graph.order)}
    made = [place for place, leaf in enumerate(graph.variables) if leaf is None]
    assert sorted(position) == made
    for place in made:
        for entry in graph.targets[place]:
            assert entry is None or position.get(entry[0], -1) < position[place]
    again = Graph.from_json(graph.to_json())
    assert again == graph
    assert list(again.order) == list(graph.order)


def names_in_order(graph: Graph) -> list[str]:
    return [graph.names[place].removesuffix("Backward0") for place in graph.order]


def test_a_model_in_a_variable() -> None:
    model = net()
    graph = gradviz.snapshot(model(x).sum())
    assert paths(graph) == [
        ("model", "Sequential"),
        ("model.0", "Linear"),
        ("model.1", "ReLU"),
        ("model.2", "Linear"),
    ]
    tensors = {info.id: info.name for info in graph.tensors}
    assert [tensors[key] for key in graph.modules[1].tensors] == ["model.0.weight", "model.0.bias"]


def test_a_model_in_an_attribute() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.model = net()

        def step(self) -> Graph:
            return gradviz.snapshot(self.model(x).sum())

    assert paths(Trainer().step())[0] == ("self.model", "Sequential")


def test_models_in_containers() -> None:
    models = [net(), net()]
    named = {"critic": net(), "a.b": net()}
    loss = models[1](models[0](x)).sum() + named["critic"](x).sum() + named["a.b"](x).sum()
    found = paths(gradviz.snapshot(loss))
    tops = [path for path, kind in found if kind == "Sequential"]
    assert tops == ["models[0]", "models[1]", 'named["critic"]', 'named["a.b"]']


def test_only_models_with_tensors_of_the_graph() -> None:
    used, unused = net(), net()
    graph = gradviz.snapshot(used(x).sum())
    assert len(unused) == 3
    assert [path for path, kind in paths(graph) if kind == "Sequential"] == ["used"]


def test_a_model_that_was_passed_comes_before_those_in_sight() -> None:
    one, other = net(), net()
    graph = gradviz.snapshot([one(x).sum() + other(x).sum(), one])
    assert [path for path, kind in paths(graph) if kind == "Sequential"] == ["one"]


def test_a_wrapped_model_is_found_once() -> None:
    class Wrapper(nn.Module):
        def __init__(self, module: nn.Module) -> None:
            super().__init__()
            self.module = module

        def forward(self, value: torch.Tensor) -> Any:
            return self.module(value)

    model = net()
    wrapped = Wrapper(model)
    assert paths(gradviz.snapshot(wrapped(x).sum()))[0] == ("model", "Sequential")
    del model
    assert paths(gradviz.snapshot(wrapped(x).sum()))[:2] == [
        ("wrapped", "Wrapper"),
        ("wrapped.module", "Sequential"),
    ]


def test_a_module_with_two_paths_has_the_first() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = self.second = nn.Linear(4, 4)

        def forward(self, value: torch.Tensor) -> Any:
            return self.second(self.first(value))

    model = Twice()
    assert paths(gradviz.snapshot(model(x).sum())) == [
        ("model", "Twice"),
        ("model.first", "Linear"),
    ]


def test_no_model_in_sight() -> None:
    space: dict[str, Any] = {"gradviz": gradviz, "loss": net()(x).sum()}
    exec("graph = gradviz.snapshot(loss)", space)
    assert space["graph"].modules == ()
    assert_is_an_order(space["graph"])


def test_modules_nested_deeply() -> None:
    class Around(nn.Module):
        def __init__(self, inner: nn.Module | None) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(4))
            self.inner = inner

        def forward(self, value: torch.Tensor) -> Any:
            return value * self.scale if self.inner is None else self.inner(value * self.scale)

    model: nn.Module | None = None
    for _ in range(150):
        model = Around(model)
    assert model is not None
    graph = gradviz.snapshot(model(x).sum())
    assert graph.modules[-1].path == ".".join(["model", *["inner"] * 149])


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(value)
        return value.exp()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (value,) = ctx.saved_tensors
        return grad * value.exp()


def leaf() -> torch.Tensor:
    return torch.ones(4, 4, requires_grad=True)


def custom() -> torch.Tensor:
    applied: torch.Tensor = Exp.apply(leaf().sin())  # type: ignore[no-untyped-call]
    return applied.cos()


def double_backward() -> torch.Tensor:
    value = leaf()
    (grad,) = torch.autograd.grad(value.pow(3).sin().sum(), value, create_graph=True)
    (again,) = torch.autograd.grad(grad.pow(2).sum(), value, create_graph=True)
    return again.sum() + grad.sum()


def checkpointed() -> torch.Tensor:
    found: torch.Tensor = checkpoint(net(), leaf(), use_reentrant=False)
    return found.sum()


def reentrant() -> torch.Tensor:
    found: torch.Tensor = checkpoint(net(), leaf(), use_reentrant=True)
    return found.sum()


def written_views() -> torch.Tensor:
    base = leaf() * 2
    rows = [base[i] for i in range(4)]
    early = rows[0] * 3
    for i, row in enumerate(rows):
        row.mul_(i + 1)
    base.add_(1)
    rows[2].sin_()
    return torch.cat(rows).sum() + early.sum() + base.sum()


@each("program", [custom, double_backward, checkpointed, reentrant, written_views])
def test_the_order_of_the_forward(program: Callable[[], torch.Tensor]) -> None:
    assert_is_an_order(gradviz.snapshot(program()))


def test_the_order_is_that_of_the_program_where_edges_do_not_tell_it() -> None:
    value = leaf()
    late, early = value.sin, value.cos
    first = early()
    second = late()
    graph = gradviz.snapshot(second * first)
    assert names_in_order(graph) == ["Cos", "Sin", "Mul"]


def test_what_several_threads_made_is_not_mixed() -> None:
    value = leaf()
    found: list[torch.Tensor | None] = [None] * 3

    def work(number: int) -> None:
        made = value
        for _ in range(5):
            made = made.sin().cos()
        found[number] = made

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
        thread.join()
    made = [one for one in found if one is not None]
    graph = gradviz.snapshot(torch.stack(made).sum())
    assert_is_an_order(graph)
    chain = ["Sin", "Cos"] * 5
    assert names_in_order(graph) == [*chain, *chain, *chain, "Stack", "Sum"]


def test_a_compiled_model_is_one_node() -> None:
    model = net()
    compiled = torch.compile(model, backend="aot_eager")
    graph = gradviz.snapshot(compiled(x).sum())
    assert_is_an_order(graph)
    assert ("model.0", "Linear") in paths(graph)


def test_what_has_no_forward_is_a_container() -> None:
    plain: Any = nn.Module()
    plain.list, plain.row = nn.ModuleList([nn.Linear(2, 2)]), nn.Sequential(nn.Linear(2, 2))
    patched: Any = nn.Module()
    patched.inner = nn.Linear(2, 2)
    patched.forward = patched.inner.forward
    plain.patched = patched
    graph = gradviz.snapshot(patched(plain.row(plain.list[0](x[..., :2]))).sum())
    containers = [one.path for one in graph.modules if one.is_container]
    assert containers == ["plain", "plain.list"]
