"""What cannot be told from parameters, modules and the graph is not placed, or less deep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap
from torch.nn import functional

from tests.each import each
from tests.placement.architectures.entry import Made
from tests.placement.oracle import Judged, judged

Loss: TypeAlias = Callable[[nn.Module], Tensor]
X = torch.linspace(-1, 1, 12).view(3, 4)
FAMILIES: dict[str, tuple[Callable[[], nn.Module], Loss]] = {}


def linear() -> nn.Linear:
    return nn.Linear(4, 4)


def network() -> nn.Sequential:
    return nn.Sequential(linear(), nn.Tanh(), linear())


class Does(nn.Module):
    """Calls a function with itself."""

    def __init__(self, does: Callable[[Any, Tensor], Any], **modules: nn.Module) -> None:
        super().__init__()
        self.does = does
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, x: Tensor) -> Any:
        return self.does(self, x)


def called(model: nn.Module) -> Tensor:
    y: Tensor = model(X)
    return y.sum()


def family(name: str, loss: Loss = called) -> Callable[[Callable[[], nn.Module]], None]:
    def add(make: Callable[[], nn.Module]) -> None:
        FAMILIES[name] = make, loss

    return add


class Adapted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = linear()
        self.a, self.b = (nn.Parameter(torch.randn(shape)) for shape in ((2, 4), (4, 2)))

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.linear.weight + self.b @ self.a, self.linear.bias)


@family("weight with a product of small ones added")
def _() -> nn.Module:
    return nn.Sequential(*(Adapted() for _ in range(4)))


@family("weight times scale")
def _() -> nn.Module:
    def does(module: Any, x: Tensor) -> Tensor:
        return functional.linear(x, module.linear.weight * module.scale, module.linear.bias).relu()

    made = [Does(does, linear=linear()) for _ in range(3)]
    for one in made:
        one.scale = nn.Parameter(torch.ones(4))
    return nn.Sequential(*made)


@family("tied weight, transposed")
def _() -> nn.Module:
    def does(module: Any, x: Tensor) -> Tensor:
        hidden = module.middle(module.encoder(x).relu()).tanh()
        return functional.linear(hidden, module.encoder.weight.t())

    return Does(does, encoder=linear(), middle=linear())


def gradient_penalty(model: nn.Module) -> Tensor:
    x = X.clone().requires_grad_()
    (grad,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    return model(X).mean() + (grad.norm(dim=1) - 1).pow(2).mean()


def adapted_parameters(model: nn.Module) -> Tensor:
    parameters = dict(model.named_parameters())
    grads = torch.autograd.grad(
        model(X).pow(2).mean(), list(parameters.values()), create_graph=True
    )
    changed = {name: p - 0.1 * g for (name, p), g in zip(parameters.items(), grads)}
    return functional_call(model, changed, (X,)).pow(2).mean()


def gradients_of_a_function(model: nn.Module) -> Tensor:
    parameters = dict(model.named_parameters())
    found = torch.func.grad(lambda given: functional_call(model, given, (X,)).sum())(parameters)
    return torch.stack([one.pow(2).sum() for one in found.values()]).sum()


def jacobian(model: nn.Module) -> Tensor:
    return vmap(jacrev(model))(X).pow(2).sum()


def penalties(model: nn.Module) -> Tensor:
    parameters = list(model.parameters())
    squares = torch.stack([(p * p).sum() + p.exp().mean() for p in parameters]).sum()
    away = torch.stack([functional.mse_loss(p, torch.zeros_like(p)) for p in parameters]).sum()
    return called(model) + squares + away + torch.cat([p.flatten() for p in parameters]).norm()


def with_other_weights(model: nn.Module) -> Tensor:
    changed = {name: p * 0.9 for name, p in model.named_parameters()}
    return functional_call(model, changed, (X,)).sum()


def called_again(model: nn.Module) -> Tensor:
    y = X
    for _ in range(3):
        y = model(y)
    return y.log().mean()


def times_something(model: nn.Module) -> Tensor:
    y: Tensor = model(X)
    return (y * X.exp()).relu().softmax(-1).view(-1).sum()


def cell_in_a_loop(model: nn.Module) -> Tensor:
    state = torch.zeros(3, 4)
    for _ in range(4):
        state = model(X, state) * 2
    return state.sum()


for _name, _loss in {
    "gradient penalty": gradient_penalty,
    "parameters after a step that has a graph": adapted_parameters,
    "gradients of a function": gradients_of_a_function,
    "jacobian": jacobian,
    "penalties of parameters": penalties,
    "called with other weights": with_other_weights,
}.items():
    FAMILIES[_name] = network, _loss
FAMILIES["cell in a loop"] = lambda: nn.GRUCell(4, 4), cell_in_a_loop


@family("norm that is used three times in a block", called_again)
def _() -> nn.Module:
    does: Any = lambda m, x: m.b(m.n(m.n(m.a(m.n(x))).relu().sigmoid()).exp())  # noqa: E731
    return Does(does, a=linear(), b=linear(), n=nn.LayerNorm(4))


@family("rollout of a model with an activation before its first layer", called_again)
def _() -> nn.Module:
    first = Does(lambda m, x: m.l(functional.gelu(x)), l=linear())
    return Does(lambda m, x: m.b(m.a(x)).exp(), a=first, b=linear())


@family("what a block and the next module make alike")
def _() -> nn.Module:
    return nn.Sequential(
        Does(lambda m, x: functional.gelu(m.n(m.n(x))), n=nn.LayerNorm(4)), nn.GELU()
    )


@family("block whose own forward does what the one before does")
def _() -> nn.Module:
    return nn.Sequential(linear(), nn.ReLU(), Does(lambda _, x: x.relu() * 2))


for _last in (nn.Dropout().eval(), nn.Flatten(), nn.Identity(), nn.Softmax(-1)):

    @family(f"last module {type(_last).__name__} may make nothing", times_something)
    def _(last: nn.Module = _last) -> nn.Module:
        return nn.Sequential(linear(), nn.ReLU(), linear(), last)


@family("only the first of a row", lambda model: model[:3](X).softmax(-1).sum())  # type: ignore[index]
def _() -> nn.Module:
    return nn.Sequential(linear(), nn.ReLU(), linear(), nn.Softmax(-1))


@family("modules without tensors in one another")
def _() -> nn.Module:
    post = nn.Sequential(nn.Dropout(0.1), nn.Softmax(-1))
    return Does(lambda m, x: m.post(m.l(x).relu()).exp(), l=linear(), post=post)


@family("loss in a ModuleDict", lambda m: m["loss"](m["net"](X), X) + m["net"](X).mean())  # type: ignore[index]
def _() -> nn.Module:
    return nn.ModuleDict({"net": network(), "loss": nn.MSELoss()})


def attended(model: Any) -> Tensor:
    y = X[None]
    for layer in model:
        y = y + layer(y, y, y)[0]
    return y.sum()


FAMILIES["attention in a list"] = (
    lambda: nn.ModuleList(nn.MultiheadAttention(4, 2, batch_first=True) for _ in range(3)),
    attended,
)


@family("written in place at the end", called_again)
def _() -> nn.Module:
    def does(module: Any, x: Tensor) -> Tensor:
        y: Tensor = module.l(x).exp()
        y[:, 0] = x[:, 1]
        return y

    return nn.Sequential(*(Does(does, l=linear()) for _ in range(3)))


@family("views that the caller makes around a layer")
def _() -> nn.Module:
    def does(module: Any, x: Tensor) -> Tensor:
        y = x.view(3, 2, 2) * module.g
        return module.l(y.view(6, 2)).view(3, 2, 2)

    made = Does(does, l=nn.Linear(2, 2))
    made.g = nn.Parameter(torch.ones(2))
    return made


def judged_family(name: str) -> list[Judged]:
    torch.manual_seed(0)
    make, loss = FAMILIES[name]
    model = make()
    return judged(lambda: Made(model, lambda: loss(model)))


@each("name", FAMILIES)
def test_no_node_is_placed_wrongly(name: str) -> None:
    assert not [one for one in judged_family(name) if one.is_wrong]


@pytest.mark.parametrize("name", ["weight with a product of small ones added", "cell in a loop"])
def test_what_blocks_compute_of_their_parameters_is_theirs(name: str) -> None:
    nodes = [one for one in judged_family(name) if one.true is not None]
    assert sum(one.is_placed for one in nodes) >= 0.9 * len(nodes)
