"""Small torch programs that the tests of every room look at. This is the only list of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

Backward = Literal["runs", "raises"]


@dataclass(frozen=True)
class Built:
    """What a program has made. It must be held for as long as its graph is looked at."""

    outputs: tuple[Tensor, ...]
    names: dict[str, Tensor]
    keep: Any = None
    """Modules, handles and whatever else must stay alive."""


@dataclass(frozen=True)
class Program:
    """A small torch program; ``build()`` gives the same graph every time.

    ``build`` makes its tensors on the default device, and leaves the CPU's random numbers alone.
    """

    name: str
    build: Callable[[], Built]
    backward: Backward = "runs"
    """What :func:`run_backward` does to it."""
    is_slow: bool = False

    def __str__(self) -> str:
        return self.name


PROGRAMS: list[Program] = []


def named(name: str) -> Program:
    """The program with this name."""
    return next(program for program in PROGRAMS if program.name == name)


def run_backward(built: Built) -> None:
    """Backward from all outputs, each with a gradient of ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grads = [torch.ones_like(output) for output in built.outputs]
        torch.autograd.backward(built.outputs, grads)


def program(
    name: str, backward: Backward = "runs", is_slow: bool = False
) -> Callable[[Callable[[], Built]], Callable[[], Built]]:
    def add(build: Callable[[], Built]) -> Callable[[], Built]:
        def quietly() -> Built:
            with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
                warnings.simplefilter("ignore")
                torch.manual_seed(0)
                return build()

        PROGRAMS.append(Program(name, quietly, backward, is_slow))
        return build

    return add


def leaf(*values: float) -> Tensor:
    return torch.tensor(values, requires_grad=True)


# --- arithmetic -----------------------------------------------------------------------------


@program("linear_relu")
def _() -> Built:
    x, w, b = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True), leaf(1.0, -9.0, 2.0, 3.0)
    loss = nn.functional.linear(x, w, b).relu().sum()
    return Built((loss,), {"x": x, "w": w, "b": b, "loss": loss})


@program("shared_input")
def _() -> Built:
    x = leaf(2.0)
    y = x * x
    return Built((y,), {"x": x, "y": y})


@program("two_products")
def _() -> Built:
    a, b, c = leaf(2.0), leaf(3.0), leaf(1.0)
    out1 = a * b
    out2 = out1 + c
    return Built((out2,), {"a": a, "b": b, "c": c, "out1": out1, "out2": out2})


@program("no_grad_input")
def _() -> Built:
    x, scale = leaf(1.0, 2.0), torch.tensor([3.0, 4.0])
    y = (x * scale).sum()
    return Built((y,), {"x": x, "scale": scale, "y": y})


@program("split_outputs")
def _() -> Built:
    x = leaf(1.0, 2.0, 3.0, 4.0)
    first, second = x.split(2)
    y = (second * first).sum()
    return Built((y,), {"x": x, "first": first, "second": second})


@program("unbind_one_output_used")
def _() -> Built:
    x = leaf(1.0, 2.0, 3.0)
    last = x.unbind()[2]
    return Built((last * 2,), {"x": x, "last": last})


@program("svd")
def _() -> Built:
    a = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]], requires_grad=True)
    u, s, v = torch.linalg.svd(a, full_matrices=False)
    return Built((s.sum() + (u @ v).abs().sum(),), {"a": a, "u": u, "s": s, "v": v})


@program("several_roots")
def _() -> Built:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    hidden = x * w
    mean, peak = hidden.mean(), hidden.amax()
    return Built((mean, peak, hidden), {"x": x, "w": w, "hidden": hidden})


@program("leaf_root")
def _() -> Built:
    x = leaf(1.0)
    return Built((x,), {"x": x})


@program("two_roots_one_leaf")
def _() -> Built:
    x = leaf(1.0)
    return Built((x, x + 1), {"x": x})


@program("diamond_ladder")
def _() -> Built:
    x = leaf(1.0)
    y = x * 1
    for _step in range(30):
        y = y + y  # 2**30 paths
    return Built((y,), {"x": x})


@program("deep_chain")
def _() -> Built:
    return deep_chain(5_000)  # five times what Python lets functions recurse


def deep_chain(length: int) -> Built:
    """``length`` nodes in a row above one leaf."""
    x = leaf(1.0)
    y = x
    for _step in range(length):
        y = y * 1.0
    return Built((y,), {"x": x})


@program("tensor_list_saved")
def _() -> Built:
    x = torch.ones(3, 4, requires_grad=True)
    rows, columns = torch.tensor([0, 2]), torch.tensor([1, 3])
    picked = x[rows, columns]
    blank = x[:, columns]
    return Built((picked.sum() + blank.prod(),), {"x": x, "rows": rows, "columns": columns})


@program("cat_and_stack")
def _() -> Built:
    a, b, constant = leaf(1.0), leaf(2.0), torch.ones(1)
    joined = torch.cat([a, constant, b])
    return Built((torch.stack([joined, joined]).sum(),), {"a": a, "b": b, "joined": joined})


@program("complex")
def _() -> Built:
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = (z * z.conj()).abs().sum() + torch.view_as_real(z).pow(2).sum()
    return Built((y,), {"z": z})


@program("int_and_bool_constants")
def _() -> Built:
    x, mask, places = leaf(1.0, 2.0), torch.tensor([True, False]), torch.tensor([1, 0])
    y = torch.where(mask, x, x.gather(0, places)).sum()
    return Built((y,), {"x": x, "mask": mask, "places": places})


# --- in place and views ---------------------------------------------------------------------


@program("inplace_after_save", backward="raises")
def _() -> Built:
    x, w = leaf(1.0, 2.0), torch.tensor([3.0, 4.0])
    y = x * w
    w.add_(1)
    return Built((y,), {"x": x, "w": w, "y": y})


@program("inplace_after_save_of_output", backward="raises")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = x.exp()
    z = y.sum()
    y += 1
    return Built((z, y), {"x": x, "y": y})


@program("inplace_in_list", backward="raises")
def _() -> Built:
    x, places = torch.ones(3, requires_grad=True), torch.tensor([0, 2])
    y = x[places]
    places.add_(0)
    return Built((y,), {"x": x, "places": places})


@program("inplace_harmless")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = x * 1
    y.mul_(2).add_(1)
    return Built((y,), {"x": x, "y": y})


@program("inplace_view")
def _() -> Built:
    x = torch.ones(2, 2, requires_grad=True)
    base = x * 1
    row = base[0]
    row.mul_(3)
    return Built((base.sum(),), {"x": x, "base": base, "row": row})


@program("stale_view")
def _() -> Built:
    x = torch.ones(2, 2, requires_grad=True)
    base = x * 1
    row = base[0]
    base.mul_(3)  # row's node is made again when somebody asks for it
    return Built((base,), {"x": x, "base": base, "row": row})


@program("views_share_storage")
def _() -> Built:
    x = torch.ones(4, requires_grad=True)
    a, b = x[:2], x[2:]
    return Built(((a * b).sum() + x.view(2, 2).t().exp().sum(),), {"x": x, "a": a, "b": b})


@program("detached")
def _() -> Built:
    x = leaf(1.0, 2.0)
    cut = (x * 2).detach()
    return Built((x * cut,), {"x": x, "cut": cut})


@program("inference_constant")
def _() -> Built:
    x = leaf(1.0, 2.0)
    with torch.inference_mode():
        offset = torch.ones(2)
    return Built((x + offset,), {"x": x, "offset": offset})


# --- life of a graph ------------------------------------------------------------------------


@program("freed_after_backward", backward="raises")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = (x * x).exp().sum()
    y.backward()
    return Built((y,), {"x": x})


@program("freed_list_save", backward="raises")
def _() -> Built:
    x, places = torch.ones(3, requires_grad=True), torch.tensor([0, 2])
    y = x[places].sum()
    y.backward()
    return Built((y,), {"x": x})


@program("partially_freed", backward="raises")
def _() -> Built:
    x = leaf(1.0, 2.0)
    trunk = x.exp()
    first, second = trunk.sin().sum(), trunk.cos().sum()
    first.backward()
    return Built((second, first), {"x": x, "trunk": trunk})


@program("pruned_backward", backward="raises")
def _() -> Built:
    x, w = leaf(1.0), leaf(2.0)
    left, right = x.exp(), w.exp()
    y = left * right
    torch.autograd.grad(y, x)  # right's node does not run
    return Built((y,), {"x": x, "w": w})


@program("retain_graph")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = (x * x).exp().sum()
    y.backward(retain_graph=True)
    return Built((y,), {"x": x})


@program("create_graph")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = (x**3).sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    return Built((slope.pow(2).sum(),), {"x": x, "slope": slope})


@program("grad_has_graph")
def _() -> Built:
    x = leaf(2.0)
    (x**3).sum().backward(create_graph=True)
    penalty = x.grad.pow(2).sum()  # type: ignore[union-attr]
    return Built((penalty,), {"x": x})


# --- custom Functions -----------------------------------------------------------------------


def apply(function: Any, *arguments: Any) -> Any:
    return function.apply(*arguments)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (_,) = ctx.saved_tensors
        return grads[0] * ctx.factor, None


class SavesNone(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(x, None, y)
        return x * y, y + 1

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, _, y = ctx.saved_tensors
        return grads[0] * y, grads[0] * x + grads[1]


class SavesNothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 2


class GivesNone(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None


class SavesOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y, x)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        y, _ = ctx.saved_tensors
        return grads[0] * y


class Clears(torch.autograd.Function):
    """What it has saved is gone after the first look at ``ctx.saved_tensors``."""

    clear_saved_tensors_on_access = True

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        z = x * y
        ctx.save_for_backward(x, y, z)
        return z

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, y, _ = ctx.saved_tensors
        return grads[0] * y, grads[0] * x


@program("custom_function")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = apply(Double, x, 2.0)
    return Built((y.sum(),), {"x": x, "y": y})


@program("custom_function_saves_none")
def _() -> Built:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    a, b = apply(SavesNone, x, y)
    return Built((a.sum(), b), {"x": x, "y": y, "a": a, "b": b})


@program("custom_function_saves_nothing")
def _() -> Built:
    x = leaf(1.0)
    return Built((apply(SavesNothing, x),), {"x": x})


@program("custom_function_saves_output")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = apply(SavesOutput, x)
    return Built((y.sum(),), {"x": x, "y": y})


@program("custom_function_modified", backward="raises")
def _() -> Built:
    x, w = leaf(1.0, 2.0), torch.ones(2)
    y, _unused = apply(SavesNone, x, w)
    w.zero_()
    return Built((y,), {"x": x, "w": w})


@program("custom_function_clears")
def _() -> Built:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    z = apply(Clears, x, y)
    return Built((z.sum(),), {"x": x, "y": y, "z": z})


@program("custom_function_freed", backward="raises")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = apply(Double, x, 2.0).sum()
    y.backward()
    return Built((y,), {"x": x})


# --- saved elsewhere ------------------------------------------------------------------------


def pack_as_number(t: Tensor) -> tuple[list[float], torch.dtype]:
    return t.detach().reshape(-1).tolist(), t.dtype


def unpack_number(packed: tuple[list[float], torch.dtype]) -> Tensor:
    return torch.tensor(packed[0], dtype=packed[1])


@program("saved_tensors_hooks")
def _() -> Built:
    x = leaf(1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(pack_as_number, unpack_number):
        y = x * x
    return Built((y.exp().sum(),), {"x": x, "y": y})


@program("saved_tensors_hooks_on_lists")
def _() -> Built:
    x, places = torch.ones(3, requires_grad=True), torch.tensor([0, 2])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: [t], lambda packed: packed[0]):
        y = apply(Double, x[places], 2.0)
    return Built((y,), {"x": x})


@program("save_on_cpu")
def _() -> Built:
    x = leaf(1.0, 2.0)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).exp()
    return Built((y.sum(),), {"x": x})


def block(x: Tensor, w: Tensor) -> Tensor:
    return torch.tanh(x * w).exp()


@program("checkpoint_reentrant")
def _() -> Built:
    x, w = leaf(1.0, 2.0), leaf(0.5, 0.5)
    y = torch.utils.checkpoint.checkpoint(block, x, w, use_reentrant=True)
    return Built((y.sum(),), {"x": x, "w": w})


@program("checkpoint_nonreentrant")
def _() -> Built:
    x, w = leaf(1.0, 2.0), leaf(0.5, 0.5)
    y = torch.utils.checkpoint.checkpoint(block, x, w, use_reentrant=False)
    return Built((y.sum(),), {"x": x, "w": w})


# --- other layouts and fused nodes ----------------------------------------------------------


@program("sparse")
def _() -> Built:
    at = torch.tensor([[0, 1], [1, 0]])
    s = torch.sparse_coo_tensor(at, torch.tensor([2.0, 3.0]), (2, 2), requires_grad=True)
    dense = torch.ones(2, 2, requires_grad=True)
    return Built((torch.sparse.mm(s, dense).sum(),), {"s": s, "dense": dense})


@program("sparse_gradient")
def _() -> Built:
    table = torch.ones(4, 2, requires_grad=True)
    y = nn.functional.embedding(torch.tensor([0, 0, 3]), table, sparse=True).sum()
    y.backward()
    again = nn.functional.embedding(torch.tensor([1]), table, sparse=True).sum()
    return Built((again,), {"table": table})


@program("nested")
def _() -> Built:
    n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], requires_grad=True)
    y = torch.nested.to_padded_tensor(n * n, 0.0)
    return Built((y.sum(),), {"n": n})


@program("nested_jagged")
def _() -> Built:
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
    n = torch.nested.as_nested_tensor([a, b], layout=torch.jagged)
    return Built(((n * 2).values().sum(),), {"a": a, "b": b})


@program("foreach")
def _() -> Built:
    xs, ws = [leaf(1.0), leaf(2.0, 3.0)], [leaf(4.0), leaf(5.0, 6.0)]
    products = torch._foreach_mul(xs, ws)
    y = torch._foreach_exp(products)[1].sum() + products[0].sum()
    return Built((y,), {"x0": xs[0], "x1": xs[1], "w0": ws[0], "w1": ws[1]})


@program("rnn")
def _() -> Built:
    rnn = nn.RNN(2, 3)
    out, hidden = rnn(torch.ones(4, 1, 2))
    return Built((out.sum(), hidden.sum()), dict(rnn.named_parameters()), rnn)


@program("lstm")
def _() -> Built:
    lstm = nn.LSTM(2, 3, num_layers=2, bidirectional=True)
    out, (_hidden, cell) = lstm(torch.ones(4, 1, 2))
    return Built((out.sum(), cell.sum()), dict(lstm.named_parameters()), lstm)


@program("attention")
def _() -> Built:
    q = torch.rand(1, 2, 4, 8, requires_grad=True)
    y = nn.functional.scaled_dot_product_attention(q, q, q)
    return Built((y.sum(),), {"q": q})


# --- transforms -----------------------------------------------------------------------------


@program("func_grad")
def _() -> Built:
    x = leaf(1.0, 2.0)
    slope = torch.func.grad(lambda t: (t.sin() * t).sum())(x)
    return Built((slope.sum(),), {"x": x, "slope": slope})


@program("func_vmap")
def _() -> Built:
    x, w = torch.ones(3, 2, requires_grad=True), leaf(1.0, 2.0)
    y = torch.func.vmap(torch.dot, in_dims=(0, None))(x, w)
    return Built((y.sum(),), {"x": x, "w": w, "y": y})


@program("func_call")
def _() -> Built:
    model = nn.Linear(2, 1)
    weights = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
    y = torch.func.functional_call(model, weights, (torch.ones(1, 2),))
    return Built((y.sum(),), weights, model)


@program("compiled", is_slow=True)
def _() -> Built:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = torch.compile(lambda a, b: (a * b).sin().sum(), backend="aot_eager")(x, w)
    return Built((y,), {"x": x, "w": w})


# --- modules --------------------------------------------------------------------------------


@program("mlp")
def _() -> Built:
    model = mlp(2)
    loss = nn.functional.cross_entropy(model(torch.rand(5, 8)), torch.tensor([0, 1, 2, 1, 0]))
    return Built((loss,), dict(model.named_parameters()), model)


def mlp(layers: int, width: int = 8) -> nn.Module:
    """Linear and ReLU, ``layers`` times, and a last linear layer with three outputs."""
    hidden = [m for _ in range(layers) for m in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(width, 3))


@program("frozen_layer")
def _() -> Built:
    model = mlp(1)
    for parameter in model[0].parameters():  # type: ignore[index]
        parameter.requires_grad_(False)
    loss = model(torch.rand(5, 8)).sum()
    return Built((loss,), dict(model.named_parameters()), model)


@program("batch_norm")
def _() -> Built:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2), nn.Dropout())
    loss = model(torch.rand(2, 1, 6, 6)).sum()
    return Built((loss,), dict(model.named_parameters()), model)


@program("transformer")
def _() -> Built:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.Embedding(11, 8), layer, nn.Linear(8, 11))
    tokens = torch.tensor([[1, 5, 3, 9]])
    loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[0, 1:])
    return Built((loss,), dict(model.named_parameters()), model)


# --- hooks ----------------------------------------------------------------------------------


def halve(grad: Tensor) -> Tensor:
    return grad / 2


def negate(grad: Tensor) -> Tensor:
    return -grad


def forget(leaf_: Tensor) -> None:
    leaf_.grad = None


def before_node(grad_outputs: Any) -> None:
    pass


def after_node(grad_inputs: Any, grad_outputs: Any) -> None:
    pass


@program("tensor_hooks")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y.exp()
    x.register_hook(halve)
    y.register_hook(halve)
    y.register_hook(negate)
    return Built((z.sum(),), {"x": x, "y": y, "z": z})


@program("post_accumulate_grad_hook")
def _() -> Built:
    x = leaf(1.0, 2.0)
    x.register_post_accumulate_grad_hook(forget)
    return Built(((x * 2).sum(),), {"x": x})


@program("node_hooks")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = x * 2
    z = apply(SavesNothing, y)
    for t in (y, z):
        assert t.grad_fn is not None
        t.grad_fn.register_prehook(before_node)
        t.grad_fn.register_hook(after_node)
    return Built((z.sum(),), {"x": x, "y": y, "z": z})


@program("retain_grad")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    return Built((y.sum(),), {"x": x, "y": y})


@program("retained_grad_after_backward")
def _() -> Built:
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    loss = y.sum()
    loss.backward(retain_graph=True)
    return Built((loss,), {"x": x, "y": y})


@program("multi_grad_hook")
def _() -> Built:
    x, w = leaf(1.0), leaf(2.0)
    y = x * w
    handle = torch.autograd.graph.register_multi_grad_hook((x, w), lambda grads: None)
    return Built((y,), {"x": x, "w": w}, handle)


@program("hook_of_a_dead_tensor")
def _() -> Built:
    x = leaf(1.0)
    y = x * 2
    y.register_hook(halve)
    return Built((y + 1,), {"x": x})


@program("nan_gradient")
def _() -> Built:
    x = leaf(0.0, 1.0)
    y = (x / x).sum()
    y.backward(retain_graph=True)
    return Built((y,), {"x": x})


@program("anomaly_mode")
def _() -> Built:
    with torch.autograd.set_detect_anomaly(True):
        x = leaf(1.0)
        y = x * 2
    return Built((y,), {"x": x, "y": y})
