"""Small programs that use common tools of torch; each returns all that the tool gave.

A tool whose name is in ``HEAVY`` starts processes or compiles, which takes seconds.
"""

from __future__ import annotations

import copy
import io
import multiprocessing
import os
import pickle
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

TOOLS: Final[dict[str, Callable[[], Any]]] = {}
HEAVY: Final[dict[str, Callable[[], Any]]] = {}


def tool(run: Callable[[], Any]) -> Callable[[], Any]:
    TOOLS[run.__name__] = run
    return run


def heavy(run: Callable[[], Any]) -> Callable[[], Any]:
    HEAVY[run.__name__] = run
    return run


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.norm = nn.BatchNorm1d(3)
        self.last = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.relu(self.norm(self.first(x)))
        return self.last(nn.functional.dropout(h, 0.25, self.training))


def batch() -> Tensor:
    return torch.linspace(-1, 1, 20).reshape(5, 4)


def grads(model: nn.Module) -> list[Tensor | None]:
    return [p.grad for p in model.parameters()]


# --- graphs of code -------------------------------------------------------------------------


@tool
def fx_symbolic_trace() -> Any:
    net = Net()
    traced = torch.fx.symbolic_trace(net)
    out = traced(batch())
    out.sum().backward()
    return str(traced.graph), traced.code, out, grads(net)


@tool
def fx_interpreter() -> Any:
    net = Net().eval()
    traced = torch.fx.symbolic_trace(net)
    return torch.fx.Interpreter(traced).run(batch())


@tool
def make_fx() -> Any:
    from torch.fx.experimental.proxy_tensor import make_fx as make

    def f(x: Tensor) -> Tensor:
        return (x.sin() * x).sum()

    return make(torch.func.grad(f))(batch()).code


@heavy
def export() -> Any:
    net = Net().eval()
    program = torch.export.export(net, (batch(),))
    return str(program.graph), program.module()(batch())


# --- torch.func -----------------------------------------------------------------------------


def loss_of(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    return torch.tanh(x @ weights["w"]).pow(2).sum()


@tool
def func_vmap_of_grad() -> Any:
    weights = {"w": torch.eye(4)[:, :2]}
    return torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0))(weights, batch())


@tool
def func_vmap_with_randomness() -> Any:
    return torch.vmap(lambda x: nn.functional.dropout(x, 0.5), randomness="different")(batch())


@tool
def func_jvp_and_vjp() -> Any:
    x = batch()
    made = torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
    value, pull, *_ = torch.func.vjp(torch.exp, x)
    return made, value, pull(torch.ones_like(x))


@tool
def func_hessian_and_jacobians() -> Any:
    def f(x: Tensor) -> Tensor:
        return (x**3).sum()

    x = batch()[0]
    return torch.func.hessian(f)(x), torch.func.jacrev(torch.sin)(x), torch.func.jacfwd(f)(x)


@tool
def func_functional_call() -> Any:
    net = Net()
    weights = {k: v.detach() * 2 for k, v in net.named_parameters()}

    def loss(weights: dict[str, Tensor]) -> Tensor:
        out: Tensor = torch.func.functional_call(net, weights, (batch(),))
        return out.sum()

    return torch.func.grad(loss)(weights)


@tool
def forward_mode() -> Any:
    import torch.autograd.forward_ad as fwd

    with fwd.dual_level():
        made = fwd.make_dual(batch(), torch.ones(5, 4))
        return tuple(fwd.unpack_dual(made.sin() * 2))


# --- autograd -------------------------------------------------------------------------------


@tool
def autograd_gradcheck() -> Any:
    calls = []

    def f(x: Tensor) -> Tensor:
        calls.append(x.shape)
        return x.sin() * x

    x = torch.linspace(0, 1, 3, dtype=torch.float64, requires_grad=True)
    checked = torch.autograd.gradcheck(f, (x,)), torch.autograd.gradgradcheck(f, (x,))
    return checked, calls, x.grad


@tool
def autograd_gradcheck_that_fails() -> Any:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return grad

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(Wrong.apply, (x,))


@tool
def gradients_of_a_leaf_that_is_used_twice() -> Any:
    x = batch().requires_grad_()
    (x.exp() * x).sum().backward()
    return x.grad  # its version shows whether torch has added in place


@tool
def autograd_functional() -> Any:
    def f(x: Tensor) -> Tensor:
        return (x**3).sum()

    x = batch()[0]
    functional = torch.autograd.functional
    return functional.hessian(f, x), functional.jacobian(torch.sin, x), functional.hvp(f, x, x)


@tool
def checkpoint_non_reentrant() -> Any:
    return checkpointed(False)


@tool
def checkpoint_reentrant() -> Any:
    return checkpointed(True)


def checkpointed(use_reentrant: bool) -> Any:
    net, calls = Net(), []
    net.first.register_forward_hook(lambda *_: calls.append("first"))
    x = batch().requires_grad_()
    checkpoint(net, x, use_reentrant=use_reentrant).sum().backward()
    return x.grad, grads(net), calls, dict(net.named_buffers())


@tool
def checkpoint_selective() -> Any:
    from torch.utils.checkpoint import (
        CheckpointPolicy,
        create_selective_checkpoint_contexts,
    )

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        saves = op is torch.ops.aten.mm.default
        return CheckpointPolicy.MUST_SAVE if saves else CheckpointPolicy.PREFER_RECOMPUTE

    x = batch().requires_grad_()
    out = checkpoint(
        lambda x: (x @ x.t()).sin().sum(),
        x,
        use_reentrant=False,
        context_fn=lambda: create_selective_checkpoint_contexts(policy),
    )
    out.backward()
    return x.grad


@tool
def save_on_cpu_and_saved_tensors_hooks() -> Any:
    packed = []

    def pack(t: Tensor) -> Tensor:
        packed.append(tuple(t.shape))
        return t.clone()

    x = batch().requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        (x.sin() * x).sum().backward()
    with torch.autograd.graph.save_on_cpu():
        (x.exp() * x).sum().backward()
    return packed, x.grad


# --- modes and counters ---------------------------------------------------------------------


@tool
def flop_counter() -> Any:
    from torch.utils.flop_counter import FlopCounterMode

    net = Net()
    with FlopCounterMode(net, display=False) as counter:
        net(batch()).sum().backward()
    counts = {k: {str(op): n for op, n in v.items()} for k, v in counter.get_flop_counts().items()}
    return counts, counter.get_total_flops(), grads(net)


@tool
def fake_tensors() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        net = Net()
        out = net(torch.empty(5, 4))
        out.sum().backward()
    return tuple(out.shape), [None if g is None else tuple(g.shape) for g in grads(net)]


@tool
def autocast() -> Any:
    net = Net()
    with torch.amp.autocast("cpu", dtype=torch.bfloat16):
        out = net(batch())
    out.float().sum().backward()
    return out, grads(net)


@tool
def gradient_scaler() -> Any:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(net(batch()).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return list(net.parameters()), scaler.get_scale()


@tool
def anomaly_mode() -> Any:
    x = torch.zeros(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they name the line of the test that runs this
        with torch.autograd.detect_anomaly():
            (x.sqrt() * 0).sum().backward()


# --- modules --------------------------------------------------------------------------------


class Symmetric(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.triu() + x.triu(1).transpose(-1, -2)


@tool
def parametrize() -> Any:
    from torch.nn.utils import parametrize as parametrized

    layer = nn.Linear(3, 3)
    parametrized.register_parametrization(layer, "weight", Symmetric())
    with parametrized.cached():
        layer(batch()[:, :3]).sum().backward()
    return layer.weight, grads(layer), list(layer.state_dict())


@tool
def parametrizations_of_torch() -> Any:
    weights = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    orthogonal = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    orthogonal(weights(batch())).sum().backward()
    return grads(weights), grads(orthogonal)


@tool
def stateless() -> Any:
    from torch.nn.utils import stateless as without_state

    net = Net()
    weights = {k: v.detach() * 2 for k, v in net.named_parameters()}
    with without_state._reparametrize_module(net, weights):
        out = net(batch())
    return out, list(net.parameters())


@tool
def pruning_and_clipping() -> Any:
    from torch.nn.utils import prune

    net = Net()
    prune.l1_unstructured(net.first, "weight", amount=0.5)
    net(batch()).sum().backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    return norm, grads(net), list(net.state_dict())


@tool
def averaged_model_and_schedules() -> Any:
    net = Net()
    averaged = torch.optim.swa_utils.AveragedModel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for _ in range(2):
        optimizer.zero_grad()
        net(batch()).sum().backward()
        optimizer.step()
        schedule.step()
        averaged.update_parameters(net)
    return list(averaged.parameters()), schedule.get_last_lr()


# --- copies and files -----------------------------------------------------------------------


@tool
def save_and_load() -> Any:
    net = Net()
    net(batch()).sum().backward()
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "grads": grads(net)}, file)
    size = file.tell()
    file.seek(0)
    return torch.load(file), size


@tool
def save_whole_module() -> Any:
    net = Net()
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    return loaded(batch()), file.getvalue()


@tool
def deep_copies() -> Any:
    net = Net()
    net(batch()).sum().backward()
    copied = copy.deepcopy(net)
    leaf = torch.ones(2, requires_grad=True)
    return list(copied.parameters()), grads(copied), copy.deepcopy(leaf)


@tool
def deep_copy_of_what_is_no_leaf() -> Any:
    return copy.deepcopy(torch.ones(2, requires_grad=True) * 2)


@tool
def pickles() -> Any:
    net, x = Net(), torch.ones(3, requires_grad=True)
    x.grad = torch.ones(3)
    data = pickle.dumps((net, x, x[:2].detach()))
    loaded = pickle.loads(data)
    return len(data), loaded[0].state_dict(), loaded[1:]


@tool
def numpy_and_dlpack() -> Any:
    x = torch.ones(3)
    shared, other = x.numpy(), torch.utils.dlpack.from_dlpack(x)
    shared[0] = 5
    return x, other, x._version


# --- data and processes ---------------------------------------------------------------------


class Data(torch.utils.data.Dataset[Tensor]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, at: int) -> Tensor:
        return torch.rand(2) + at


def learn_from(context: str, workers: int) -> Any:
    loader = torch.utils.data.DataLoader(
        Data(), batch_size=2, shuffle=True, num_workers=workers, multiprocessing_context=context
    )
    w = torch.ones(2, requires_grad=True)
    seen = []
    for x in loader:
        (x * w).sum().backward()
        seen.append(x)
    # The loader does not wait for the threads that feed its workers.
    for thread in threading.enumerate():
        if thread.name.startswith("QueueFeeder"):
            thread.join()
    return seen, w.grad


@tool
def data_loader_with_forked_workers() -> Any:
    return learn_from("fork", 1)


@heavy
def data_loader_with_spawned_workers() -> Any:
    return learn_from("spawn", 2)


def doubles(inbox: Any, outbox: Any) -> None:
    outbox.put(inbox.get() * 2)
    inbox.get()  # the memory of what was put stays until this


def through_queues(context: str) -> Any:
    processes = torch.multiprocessing.get_context(context)
    inbox, outbox = processes.Queue(), processes.Queue()
    process = processes.Process(target=doubles, args=(inbox, outbox))  # type: ignore[attr-defined]
    process.start()
    sent = torch.arange(4.0)
    inbox.put(sent)
    got = outbox.get()
    copied = got.clone()
    inbox.put(None)
    process.join()
    for queue in (inbox, outbox):
        queue.close()
        queue.join_thread()
    return copied, process.exitcode, sent.is_shared()


@tool
def queues_of_a_forked_process() -> Any:
    return through_queues("fork")


@heavy
def queues_of_a_spawned_process() -> Any:
    return through_queues("spawn")


def backward_in_the_child(outbox: Any) -> None:
    w = torch.ones(2, requires_grad=True)
    (w * 3).sum().backward()
    assert w.grad is not None
    outbox.put(w.grad.tolist())


@tool
def backward_in_a_forked_process() -> Any:
    processes = multiprocessing.get_context("fork")
    outbox = processes.Queue()
    process = processes.Process(target=backward_in_the_child, args=(outbox,))
    process.start()
    got = outbox.get(timeout=300)
    process.join()
    return got, process.exitcode


# --- torch.distributed ----------------------------------------------------------------------


@contextmanager
def group_of(rank: int, size: int, file: Path) -> Iterator[None]:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{file}", rank=rank, world_size=size
    )
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()


@contextmanager
def two_processes() -> Iterator[Any]:
    """A mesh of two processes, of which only this one exists: nothing is sent."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        yield init_device_mesh("cpu", (2,))
    finally:
        torch.distributed.destroy_process_group()


def learn_in_parallel(rank: int, folder: Path, recorded: bool) -> None:
    """One of two processes."""
    import gradviz
    from tests.truth.recorded import bits, plain

    torch.set_num_threads(1)
    torch.manual_seed(0)
    with group_of(rank, 2, folder / "group"):
        net = nn.parallel.DistributedDataParallel(Net())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with gradviz.record() if recorded else plain():
            for _ in range(2):
                optimizer.zero_grad()
                net(batch() + rank).sum().backward()
                optimizer.step()
        outcome = [bits(t) for p in net.parameters() for t in (p, p.grad)]
    (folder / f"{recorded}{rank}").write_bytes(pickle.dumps(outcome))


def parallel_outcomes(recorded: bool) -> Any:
    """What both processes of a data-parallel training have learned."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        processes = torch.multiprocessing.get_context("spawn")
        group = [
            processes.Process(target=learn_in_parallel, args=(rank, folder, recorded))
            for rank in (0, 1)
        ]
        for one in group:
            one.start()
        for one in group:
            one.join()
        return [pickle.loads((folder / f"{recorded}{rank}").read_bytes()) for rank in (0, 1)]


@heavy
def fully_sharded() -> Any:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    with tempfile.TemporaryDirectory() as made, group_of(0, 1, Path(made) / "group"):
        mesh = init_device_mesh("cpu", (1,))
        net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        for layer in net:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(net, mesh=mesh)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(batch()).sum().backward()
            optimizer.step()
        return [p.full_tensor().detach() for p in net.parameters()]  # type: ignore[attr-defined]
