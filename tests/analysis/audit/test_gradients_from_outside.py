"""Parameters that get gradients though no graph leads to them: nothing is concluded of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
        assert "4 of 4 parameters not known" in audit.title or has_run, audit.title
        for row in audit:
            assert (row.reached, row.gets_gradient, row.stale) == (False, None, None), row
            assert (row.grad is not None) is has_run
    with pytest.raises(AssertionError, match="not known"):
        gradviz.check.gets_no_grad(loss, model)


def hooked(h: Tensor, w: Tensor, kept: dict[str, Tensor]) -> list[Callable[[Tensor], Any]]:
    """Hooks of ``h``: the first four give ``w`` a gradient."""

    def indirectly(grad: Tensor) -> None:
        given(w, grad)

    def given(w: Tensor, grad: Tensor) -> None:
        w.grad = grad

    def by_default(grad: Tensor, then: Any = given) -> None:
        then(w, grad)

    cut = w * 2
    return [
        lambda grad: setattr(w, "grad", grad),
        lambda grad: cut.backward(grad),
        indirectly,
        by_default,
        lambda grad: kept.update(h=grad.clamp(-1, 1) * 2),
        torch.zeros_like,
        lambda grad: print(grad.shape),
    ]


@each("number", range(7))
def test_a_hook_may_give_a_gradient_unless_its_code_shows_that_it_does_not(number: int) -> None:
    w, v = nn.Parameter(torch.ones(3, 4)), nn.Parameter(torch.ones(4))
    h = X * v
    h.register_hook(hooked(h, w, {})[number])
    loss = h.sum()
    row = gradviz.audit(loss, {"w": w, "v": v})["w"]
    loss.backward()
    assert (w.grad is None) is (number >= 4)
    assert row.gets_gradient is (None if number < 4 else False), row
    assert ("the hook hooked." in row.why) is (number < 4)


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
