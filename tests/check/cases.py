"""Every check, on programs where it holds, where it does not, and where that is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz import check
from tests.programs import GivesNone, apply

Case = Callable[[], object]
PASSES: dict[str, Case] = {}
FAILS: dict[str, Case] = {}
UNKNOWN: dict[str, Case] = {}


def passes(case: Case) -> Case:
    PASSES[case.__name__] = case
    return case


def fails(case: Case) -> Case:
    FAILS[case.__name__] = case
    return case


def unknown(case: Case) -> Case:
    UNKNOWN[case.__name__] = case
    return case


def leaf(*values: float) -> Tensor:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


# --- flags ----------------------------------------------------------------------------------


@passes
def leaves_in_containers() -> object:
    w, params = leaf(), {"b": [leaf(), torch.ones(2)]}
    return check.is_leaf(w, params)


@passes
def leaves_of_a_module() -> object:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    return check.is_leaf(model)


@passes
def leaf_of_other_kinds() -> object:
    sparse = torch.eye(2).to_sparse().requires_grad_()
    phase = torch.tensor([1j], requires_grad=True)
    counts = torch.tensor([1, 2])
    return check.is_leaf(sparse, phase, counts)


@fails
def leaf_that_was_scaled() -> object:
    w = torch.ones(2, requires_grad=True) * 0.1
    return check.is_leaf(w)


@fails
def leaves_of_which_two_are_results() -> object:
    w = leaf()
    results = {"a": w + 1, "b": w * 2}
    return check.is_leaf(w, results)


@passes
def result() -> object:
    h = leaf().exp()
    return check.is_not_leaf(h)


@fails
def result_under_no_grad() -> object:
    w = leaf()
    with torch.no_grad():
        h = w * 2
    return check.is_not_leaf(h)


@fails
def result_that_was_made() -> object:
    w = leaf()
    return check.is_not_leaf(w)


@fails
def result_that_is_an_integer() -> object:
    labels = leaf().argmax()
    return check.is_not_leaf(labels)


@unknown
def leaf_that_is_a_stale_view() -> object:
    w = leaf()
    view = w[:1]
    with torch.no_grad():
        w.add_(1)
    return check.is_leaf(view)


@passes
def parameters_require_grad() -> object:
    model = nn.Linear(2, 1)
    return check.requires_grad(model)


@fails
def one_parameter_is_frozen() -> object:
    model = nn.Linear(2, 1)
    model.bias.requires_grad_(False)
    return check.requires_grad(model)


@fails
def an_integer_does_not_require_grad() -> object:
    counts = torch.tensor([1, 2])
    return check.requires_grad(counts)


@fails
def of_inference_mode() -> object:
    with torch.inference_mode():
        x = torch.ones(2)
    return check.requires_grad(x)


@passes
def detached_does_not_require_grad() -> object:
    target = leaf().exp().detach()
    return check.does_not_require_grad(target)


@fails
def leaf_requires_grad() -> object:
    w = leaf()
    return check.does_not_require_grad(w)


@fails
def target_is_not_detached() -> object:
    target = leaf().exp()
    return check.does_not_require_grad(target)


@passes
def retained() -> object:
    h = leaf().exp()
    h.retain_grad()
    return check.retains_grad(h)


@fails
def not_retained() -> object:
    h = leaf().exp()
    return check.retains_grad(h)


@fails
def leaf_retains_nothing() -> object:
    w = leaf()
    w.retain_grad()
    return check.retains_grad(w)


@fails
def constant_retains_nothing() -> object:
    x = torch.ones(2)
    return check.retains_grad(x)


@passes
def version_after_two_writes() -> object:
    x = torch.ones(2)
    x.add_(1)
    x[0] = 5.0
    return check.version(x, 2)


@fails
def version_after_a_write_through_data() -> object:
    x = torch.ones(2)
    x.data.add_(1)
    return check.version(x, 1)


@fails
def version_that_is_higher() -> object:
    x = torch.ones(2)
    x.add_(1)
    return check.version(x, 0)


@unknown
def version_of_an_inference_tensor() -> object:
    with torch.inference_mode():
        x = torch.ones(2)
    return check.version(x, 0)


def halve(grad: Tensor) -> Tensor:
    return grad / 2


@passes
def hooks_in_order() -> object:
    w = leaf()
    w.register_post_accumulate_grad_hook(lambda one: None)
    w.register_hook(halve)
    return check.hooks(w, halve, "hooks_in_order.<lambda>")


@fails
def hook_on_another_tensor() -> object:
    w = leaf()
    w.register_hook(halve)
    w = w.detach().requires_grad_()
    return check.hooks(w, halve)


@fails
def hook_that_is_there() -> object:
    w = leaf()
    w.register_hook(halve)
    return check.hooks(w)


@passes
def views_share_memory() -> object:
    x = leaf(1.0, 2.0, 3.0, 4.0)
    part = x.view(2, 2)[0]
    values = x.detach()
    return check.shares_memory(x, part), check.shares_memory(values, part)


@fails
def clone_shares_no_memory() -> object:
    x = leaf()
    copy = x.clone()
    return check.shares_memory(x, copy)


@passes
def clone_has_memory_of_its_own() -> object:
    x = leaf()
    copy = x.clone()
    return check.shares_no_memory(x, copy)


@fails
def detached_shares_memory() -> object:
    x = leaf()
    values = x.detach()
    return check.shares_no_memory(x, values)


@unknown
def memory_of_a_sparse_tensor() -> object:
    x, y = torch.eye(2).to_sparse(), torch.ones(2)
    return check.shares_no_memory(x, y)


# --- paths ----------------------------------------------------------------------------------


@passes
def path_to_a_result() -> object:
    w = leaf()
    h = w * 2
    loss = h.exp().sum()
    return check.path(loss, h), check.path(loss, loss), check.path([loss, h], w)


@passes
def long_path() -> object:
    w = leaf()
    loss = w
    for _ in range(20):
        loss = loss.sin()
    return check.path(loss, w)


@fails
def path_that_is_detached() -> object:
    w = leaf()
    h = w.exp()
    loss = (h.detach() * 2).sum()
    return check.path(loss, w)


@fails
def path_of_a_loss_without_graph() -> object:
    w = leaf()
    loss = torch.tensor((w * 2).sum().item())
    return check.path(loss, w)


@fails
def path_to_the_other_part() -> object:
    w = leaf(1.0, 2.0, 3.0, 4.0)
    first, second = w.split(2)
    loss = first.sum()
    return check.path(loss, w, second)


@passes
def no_path_to_the_target() -> object:
    w = leaf()
    target = (w * 2).detach()
    loss = (w - target).pow(2).sum()
    return check.no_path(loss, target), check.no_path(target, w)


@fails
def target_in_the_graph() -> object:
    w = leaf()
    target = w * 2
    loss = (w - target).pow(2).sum()
    return check.no_path(loss, target)


@passes
def all_parameters_get_a_gradient() -> object:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    loss = model(torch.ones(1, 2)).sum()
    before = check.gets_grad(loss, model)
    loss.backward()
    return before, check.gets_grad(loss, model)


@fails
def first_layer_is_cut_off() -> object:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    h = model[0](torch.ones(1, 2))
    loss = model[1](h.detach()).sum()
    return check.gets_grad(loss, model)


@fails
def frozen_gets_none() -> object:
    w = leaf().requires_grad_(False)
    v = leaf()
    loss = (v * w).sum()
    return check.gets_grad(loss, w)


@fails
def result_gets_none() -> object:
    h = leaf().exp()
    loss = h.sum()
    return check.gets_grad(loss, h)


@unknown
def gradient_of_a_custom_function() -> object:
    w = leaf()
    loss = apply(GivesNone, w).sum()
    return check.gets_grad(loss, w)


@passes
def frozen_layer_gets_none() -> object:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    model[0].requires_grad_(False)
    loss = model(torch.ones(1, 2)).sum()
    return check.gets_no_grad(loss, model[0])


@fails
def layer_that_is_not_frozen() -> object:
    model = nn.Linear(2, 1)
    loss = model(torch.ones(1, 2)).sum()
    return check.gets_no_grad(loss, model)


@passes
def same_graphs() -> object:
    w, v = leaf(), leaf()
    before = gradviz.snapshot((w * 2).exp())
    return check.same_graph(before, (v * 3).exp()), check.same_graph([w * v, w], [w * v, v])


@fails
def graph_with_a_node_more() -> object:
    w = leaf()
    return check.same_graph((w * 2).exp(), (w * 2).exp().sum())


@fails
def graph_with_another_order() -> object:
    w = leaf()
    return check.same_graph(w.exp().sin(), w.sin().exp())


@fails
def graph_that_uses_one_leaf_twice() -> object:
    w, v = leaf(), leaf()
    return check.same_graph(w * v, w * w)


@fails
def graph_that_is_none() -> object:
    w, x = leaf(), torch.ones(2)
    return check.same_graph(w * 2, x)


# --- saved tensors --------------------------------------------------------------------------


@passes
def saved_by_name_and_version() -> object:
    w, x = leaf(), torch.ones(2)
    x.add_(1)
    loss = (w * x).sum()
    return check.saved(loss, x, "MulBackward0", name="other", version=1), check.saved(loss, x, "n1")


@passes
def saved_results_and_views() -> object:
    model, x = nn.Linear(2, 3), leaf(1.0, 2.0).detach().reshape(1, 2)
    h = model(x).exp()
    loss = h.sum()
    return check.saved(loss, h), check.saved(loss, x), check.saved(h.relu(), h)


@fails
def sum_saves_nothing() -> object:
    w, x = leaf(), torch.ones(2)
    loss = (w + x).sum()
    return check.saved(loss, x)


@fails
def saved_by_another_node() -> object:
    w = leaf()
    loss = w.exp().sin().sum()
    return check.saved(loss, w, "SinBackward0")


@fails
def no_such_node() -> object:
    w = leaf()
    loss = w.sum()
    return check.saved(loss, w, "MulBackward0")


@fails
def saved_at_another_version() -> object:
    w, x = leaf(), torch.ones(2)
    loss = (w * x).sum()
    return check.saved(loss, x, version=1)


@fails
def saved_is_an_alias() -> object:
    w, x = leaf(), leaf()
    loss = (w * x.detach()).sum()
    return check.saved(loss, x)


@fails
def saved_was_freed() -> object:
    w, x = leaf(), torch.ones(2)
    loss = (w * x).sum()
    loss.backward()
    return check.saved(loss, x)


@unknown
def saved_is_packed() -> object:
    w, x = leaf(), torch.ones(2)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        loss = (w * x).sum()
    return check.saved(loss, x)


@passes
def held_after_retaining() -> object:
    w = leaf()
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    return check.held(loss)


@passes
def held_in_a_checkpoint() -> object:
    w = leaf()
    loss = checkpoint(lambda x: x.exp().sin(), w, use_reentrant=False).sum()
    return check.held(loss)


@fails
def held_but_freed() -> object:
    w = leaf()
    loss = (w * w).sum()
    loss.backward()
    return check.held(loss)


@fails
def held_but_modified() -> object:
    h = leaf().exp()
    h.add_(1)
    loss = h.sum()
    return check.held(loss)


@fails
def held_without_a_graph() -> object:
    loss = torch.ones(())
    return check.held(loss)


@passes
def held_where_nothing_is_saved() -> object:
    w = leaf()
    loss = w.sum()
    return check.held(loss)


@unknown
def freed_where_nothing_is_saved() -> object:
    w = leaf()
    loss = w.sum()
    loss.backward()
    return check.freed(loss)


@passes
def freed_by_backward() -> object:
    w = leaf()
    loss = (w * w).sum()
    loss.backward()
    return check.freed(loss)


@fails
def freed_but_retained() -> object:
    w = leaf()
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    return check.freed(loss)


@fails
def freed_in_part() -> object:
    w = leaf()
    h = w.exp()
    loss = h.sin()
    h.sum().backward()
    return check.freed(loss)


@passes
def modified_input() -> object:
    w, x = leaf(), torch.ones(2)
    loss = (w * x).sum()
    x.add_(1)
    return check.modified(loss, x), check.modified(loss)


@fails
def not_modified() -> object:
    w, x = leaf(), torch.ones(2)
    loss = (w * x).sum()
    return check.modified(loss, x)


@fails
def modified_but_not_saved() -> object:
    w, x = leaf(), torch.ones(2)
    loss = (w + x).sum()
    x.add_(1)
    return check.modified(loss, x)


# --- gradients ------------------------------------------------------------------------------


@passes
def gradients_of_many_kinds() -> object:
    w, phase = leaf(), torch.tensor([1 + 2j], requires_grad=True)
    table = nn.Embedding(3, 2, sparse=True)
    big = torch.arange(20.0).reshape(4, 5).requires_grad_()
    nothing = leaf()
    ((w * w).sum() + phase.abs().square().sum() + table(torch.tensor([1])).sum()).backward()
    (big * big).sum().backward()
    rows = [[0, 0], [1, 1], [0, 0]]
    return (
        check.grad_is(w, [2.0, 4.0]),
        check.grad_is(w, torch.tensor([2, 4])),
        check.grad_is(w, [2.1, 4.1], rtol=0, atol=0.2),
        check.grad_is(phase, [2 + 4j]),
        check.grad_is(table.weight, rows),
        check.grad_is(big, 2 * big.detach()),
        check.grad_is(nothing, None),
    )


@fails
def gradient_was_added() -> object:
    w = leaf()
    for _ in range(3):
        (w * w).sum().backward()
    return check.grad_is(w, [2.0, 4.0])


@fails
def gradient_has_another_value() -> object:
    big = torch.arange(20.0).reshape(4, 5).requires_grad_()
    (big * big).sum().backward()
    wanted = 2 * big.detach()
    wanted[1, 2] = 0.5
    return check.grad_is(big, wanted)


@fails
def gradient_has_another_shape() -> object:
    w = leaf()
    w.sum().backward()
    return check.grad_is(w, 1.0)


@fails
def gradient_is_none() -> object:
    w = leaf()
    return check.grad_is(w, [1.0, 1.0])


@fails
def gradient_of_a_result() -> object:
    w = leaf()
    h = w.exp()
    h.sum().backward()
    return check.grad_is(h, [1.0, 1.0])


@fails
def gradient_of_a_constant() -> object:
    x = torch.ones(2)
    return check.grad_is(x, [1.0, 1.0])


@fails
def gradient_is_there() -> object:
    w = leaf()
    w.sum().backward()
    return check.grad_is(w, None)


@unknown
def gradient_on_meta() -> object:
    w = torch.ones(2, device="meta", requires_grad=True)
    w.sum().backward()
    return check.grad_is(w, [1.0, 1.0])


# --- differences ----------------------------------------------------------------------------


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x**2 * grad


@passes
def derivatives_of_functions() -> object:
    w, scale, index = leaf(), torch.tensor(3.0), torch.tensor([1, 0])
    layer = nn.Linear(2, 1).double()
    return (
        check.derivative(torch.exp, w),
        check.derivative(lambda x, s, i: (x[i] * s).sum(), w, scale, index),
        check.derivative(layer, torch.ones(3, 2)),
        check.derivative(lambda x: nn.functional.dropout(x), w),
    )


@fails
def derivative_has_another_factor() -> object:
    w = leaf()
    return check.derivative(Cube.apply, w)


@fails
def derivative_is_cut() -> object:
    w, scale = leaf(), torch.tensor(3.0)
    return check.derivative(lambda x, s: (x * s.detach()).sum(), w, scale)


@fails
def derivative_of_a_step_that_is_passed_through() -> object:
    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.round()

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return grad

    x = torch.tensor([0.2, 1.7])
    return check.derivative(Rounded.apply, x)


@unknown
def derivative_of_a_module_in_float32() -> object:
    x = torch.ones(3, 2)
    return check.derivative(nn.Linear(2, 1), x)


@unknown
def derivative_at_an_end() -> object:
    x = torch.zeros(2)
    return check.derivative(torch.sqrt, x)


@passes
def same_gradients_of_models() -> object:
    models = [nn.Linear(2, 1), nn.Linear(2, 1)]
    for model in models:
        model(torch.ones(1, 2)).sum().backward()
    one, other = models
    return check.same_grad(one, other)


@fails
def gradients_differ() -> object:
    a, b = leaf(), leaf()
    (a * a).sum().backward()
    (3 * b).sum().backward()
    return check.same_grad(a, b)


@fails
def gradients_of_which_one_is_none() -> object:
    a, b = leaf(), leaf()
    a.sum().backward()
    return check.same_grad(a, b)


@fails
def gradients_of_another_number() -> object:
    model, w = nn.Linear(2, 1), leaf()
    return check.same_grad(model, w)


# --- training -------------------------------------------------------------------------------


def model_of_two() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))


def train(model: nn.Module, optimizer: Any) -> None:
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()


@passes
def training_with_an_optimizer() -> object:
    model = model_of_two()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    return check.learns(model, train, optimizer=optimizer)


@passes
def training_of_the_head() -> object:
    model = model_of_two()
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.1)
    return (
        check.learns(model, train, "1", optimizer=optimizer),
        check.does_not_learn(model, train, "0", optimizer=optimizer),
    )


@fails
def training_without_a_step() -> object:
    def step(model: nn.Module) -> None:
        model(torch.ones(1, 2)).sum().backward()

    return check.learns(model_of_two(), step)


@fails
def training_of_a_frozen_layer() -> object:
    model = model_of_two()
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return check.learns(model, train, optimizer=optimizer)


@fails
def training_that_is_cut() -> object:
    def step(model: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        model[1](model[0](torch.ones(1, 2)).detach()).sum().backward()
        optimizer.step()

    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return check.learns(model, step, optimizer=optimizer)


@fails
def training_that_explodes() -> object:
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=float("inf"))
    return check.learns(model, train, optimizer=optimizer)


@fails
def training_of_what_is_not_frozen() -> object:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)
    return check.does_not_learn(model, train, "weight", optimizer=optimizer)


@fails
def momentum_moves_what_gets_no_gradient() -> object:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train(model, optimizer)

    def step(model: Any, optimizer: Any) -> None:
        model.weight.grad = torch.zeros_like(model.weight)
        optimizer.step()
        model.weight.grad = None

    return check.does_not_learn(model, step, "weight", optimizer=optimizer)


@fails
def training_of_the_model_itself() -> object:
    holder = {"model": nn.Linear(2, 1)}

    def step(model: Any) -> None:
        holder["model"](torch.ones(1, 2)).sum().backward()

    return check.learns(holder["model"], step)


@unknown
def training_of_a_model_that_keeps_a_result() -> object:
    model: Any = nn.Linear(2, 1)
    model.hidden = model(torch.ones(1, 2))
    return check.learns(model, lambda model: None)


# --- errors and leaks -----------------------------------------------------------------------


@passes
def raises_what_is_expected() -> object:
    h = leaf().exp()
    h.add_(1)
    with check.raises("saved tensor written") as error:
        h.sum().backward()
    return error.variables


@fails
def raises_nothing() -> object:
    w = leaf()
    with check.raises("graph freed"):
        w.sum().backward()
    return None


@fails
def raises_another_kind() -> object:
    w = leaf()
    loss = (w * w).sum()
    with check.raises("graph freed"):
        (loss * torch.ones(2)).backward()
    return None


def looped(keep: Callable[[Tensor], object]) -> gradviz.Recording:
    w, kept = leaf(), []
    with gradviz.record() as recording:
        for i in range(4):
            loss = (w * i).exp().sum()
            loss.backward()
            kept.append(keep(loss))
    return recording


@passes
def loop_that_keeps_numbers() -> object:
    return check.no_leak(looped(lambda loss: loss.item()))


@fails
def loop_that_keeps_losses() -> object:
    return check.no_leak(looped(lambda loss: loss))


@fails
def loop_that_sums_losses() -> object:
    w = leaf()
    with gradviz.record() as recording:
        total = torch.zeros(())
        for i in range(3):
            total = total + (w * i).exp().sum()
    return check.no_leak(recording)


@unknown
def loop_of_two_turns() -> object:
    w = leaf()
    with gradviz.record() as recording:
        for i in range(2):
            _loss = (w * i).sum()
    return check.no_leak(recording)
