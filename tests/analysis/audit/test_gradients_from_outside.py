"""Parameters that get gradients though no graph leads to them: nothing is concluded of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

import gradviz
from gradviz.model.audit import Audit
from tests.each import each
from tests.programs import apply

X = torch.ones(3, 4)


@pytest.fixture(scope="module")
def mesh() -> Iterator[Any]:
    dist.init_process_group("gloo", rank=0, world_size=1, store=vars(dist)["HashStore"]())
    try:
        yield init_device_mesh("cpu", (1,))
    finally:
        dist.destroy_process_group()


def fsdp1(model: nn.Sequential, mesh: Any) -> nn.Module:
    return FullyShardedDataParallel(model, use_orig_params=True, device_id=torch.device("cpu"))


def fsdp2(model: nn.Sequential, mesh: Any) -> Any:
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


@pytest.mark.filterwarnings("ignore")  # torch warns of a mesh of one
@each(("wrapped", "is_recorded"), product((fsdp1, fsdp2), (False, True)))
def test_of_parameters_that_are_computed_with_in_other_tensors_nothing_is_concluded(
    mesh: Any, wrapped: Callable[[nn.Sequential, Any], nn.Module], is_recorded: bool
) -> None:
    model = wrapped(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), mesh)
    with gradviz.record() as recording:
        loss = model(X).sum()
    for has_run in (False, True):
        if has_run:
            loss.backward()
        report = gradviz.audit(loss, model, recording=recording if is_recorded else None)
        audit: Audit = report.findings
        assert audit.title.startswith("Not known: whether 4 of 4 parameters get") or has_run, (
            audit.title
        )
        for row in audit:
            assert (row.reached, row.gets_gradient, row.stale) == (False, None, None), row
            assert (row.grad is not None) is has_run
    with pytest.raises(AssertionError, match="not known"):
        gradviz.check.gets_no_grad(loss, model)


class Watch(nn.Linear):
    """Has methods that are hooks, and what they may touch."""

    def __init__(self, w: Tensor) -> None:
        super().__init__(4, 4)
        self.w, self.norms = w, list[float]()

    def look(self, *grads: Any) -> None:
        self.last = self.measured(grads[-1])
        self.norms.append(self.last)

    def measured(self, grad: Any) -> float:
        return float(sum(one.norm().item() for one in grad if one is not None))

    def give(self, *_: Any) -> None:
        self.put(self.w.detach())

    def put(self, value: Tensor | None) -> None:
        self.w.grad = value


class Runs(torch.autograd.Function):
    """Its backward runs what it was given."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, run: Any) -> Tensor:
        ctx.run = run
        return x * 1

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        ctx.run(*grads)
        return *grads, None


def hooks(w: Tensor) -> dict[str, Callable[..., Any]]:
    """Hooks; those in capitals give ``w`` a gradient."""

    def given(w: Tensor, *_: Any) -> None:
        w.grad = w.detach()

    def by_default(*grads: Any, then: Any = given) -> None:
        then(w, *grads)

    @cache
    def cached() -> None:
        w.__setattr__("grad", w.detach())

    cut, watch, kept = w * 2, Watch(w), dict[str, Any]()
    return {
        "SETATTR": lambda *_: setattr(w, "grad", w.detach()),
        "BACKWARD": lambda *_: cut.backward(torch.ones(3, 4)),
        "CALLED": lambda *grads: given(w, *grads),
        "DEFAULT": by_default,
        "PARTIAL": partial(given, w),
        "METHOD": watch.give,
        "CACHED": lambda *_: cached(),
        "keeps": lambda *grads: kept.update(h=grads),
        "reads": lambda *_: print(w.grad),
        "computes": lambda *_: nn.functional.relu(torch.ones(2)).clamp(-1, 1) * 2,
        "method": watch.look,
    }


def through_unpack(h: Tensor, run: Callable[..., Any]) -> Tensor:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: (run(t), t)[1]):
        return h.exp()


def hooked_module(h: Tensor, register: str, run: Callable[..., Any]) -> Any:
    module = nn.Identity()
    getattr(module, register)(lambda *grads: (run(*grads), None)[1])
    return module(h)


def hooked_node(h: Any, register: str, run: Callable[..., Any]) -> Any:
    getattr(h.grad_fn, register)(lambda *grads: (run(*grads), None)[1])
    return h


PLACES: dict[str, Callable[[Any, Callable[..., Any]], Any]] = {
    "tensor": lambda h, run: h.register_hook(lambda grad: (run((grad,)), None)[1]) and h,
    "tensor that is gone": lambda h, run: PLACES["tensor"](h * 1, run) * 2,
    "before a node": lambda h, run: hooked_node(h, "register_prehook", run),
    "after a node": lambda h, run: hooked_node(h, "register_hook", run),
    "module": lambda h, run: hooked_module(h, "register_full_backward_hook", run),
    "before a module": lambda h, run: hooked_module(h, "register_full_backward_pre_hook", run),
    "saved": through_unpack,
    "Function": lambda h, run: apply(Runs, apply(Runs, h, run), id),
}


@each(("place", "name"), product(PLACES, hooks(X)))
def test_what_runs_in_backward_may_give_a_gradient_unless_its_code_shows_otherwise(
    place: str, name: str
) -> None:
    w, v = nn.Parameter(torch.ones(3, 4)), nn.Parameter(torch.ones(4))
    loss = PLACES[place](X * v, hooks(w)[name]).sum()
    report = gradviz.audit(loss, {"w": w, "v": v})
    loss.backward()
    assert (w.grad is not None, v.grad is not None) == (name.isupper(), True)
    assert report["w"].gets_gradient is (None if name.isupper() else False), report["w"]
    is_sure = place != "Function" and (name.islower() or name == "BACKWARD")
    assert report["v"].gets_gradient is (True if is_sure else None), report["v"]


def test_a_hook_after_a_leaf_may_clear_the_grad_of_another_only_if_its_code_does() -> None:
    w, v = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(4))
    loss = (X * v * w).sum()

    def clear(leaf: Tensor) -> None:
        leaf.grad = None

    optimizer, said = torch.optim.SGD([w]), []
    others = (lambda _: optimizer.zero_grad(), lambda _: w.requires_grad_(False), Watch(w).give)
    for hook in (lambda p: print(p.grad), clear, *others):
        handle = v.register_post_accumulate_grad_hook(hook)
        report = gradviz.audit(loss, {"w": w, "v": v})
        said.append((report["w"].gets_gradient, report["v"].gets_gradient))
        handle.remove()
    assert said == [(True, True), (True, None), *[(None, None)] * 3]


def test_what_a_recording_shows_of_a_cut_is_said_beside_the_hook() -> None:
    w, v = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(4))
    with gradviz.record() as recording:
        h = (w * 2).detach() * v
        h.register_hook(lambda grad: w.backward(grad))
        loss = h.sum()
    row = gradviz.audit(loss, {"w": w, "v": v}, recording=recording)["w"]
    assert (row.gets_gradient, row.reason) == (None, "")
    assert row.why.startswith("detach() in line")
    assert row.why.endswith("may give it a gradient")
    assert row.at is not None


@pytest.mark.filterwarnings("ignore")
def test_an_optimizer_has_the_parameters_that_fully_shard_has_in_its_hands(mesh: Any) -> None:
    model: Any = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    fully_shard(model[0], mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(X).sum()
    report = gradviz.audit(loss, model, optimizer)
    assert [row.updated for row in report.findings] == [None, None, True, True]
    assert "rebound" not in str(report)
    loss.backward()
    before = [p.full_tensor().clone() for p in model.parameters()]
    optimizer.step()
    after = [p.full_tensor() for p in model.parameters()]
    assert [not one.equal(other) for one, other in zip(before, after, strict=True)] == [True] * 4
