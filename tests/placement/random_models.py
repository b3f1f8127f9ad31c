"""Random trees of modules, and losses that use them in many ways."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.placement.architectures.entry import Made

SIZE: Final = 4
Op = Callable[[Tensor], Tensor]
Maker = Callable[[], nn.Module]
OPS: Final[tuple[Op, ...]] = (
    lambda x: x.relu(),
    torch.tanh,
    lambda x: x * 2,
    lambda x: x + 1,
    lambda x: x.view(-1).view(3, SIZE),
    lambda x: x.t().contiguous().t(),
    functional.gelu,
    lambda x: x.exp(),
    lambda x: functional.dropout(x, 0.1),
    lambda x: x.softmax(-1),
)
BARE: Final[tuple[Maker, ...]] = (
    nn.ReLU,
    nn.Tanh,
    nn.GELU,
    lambda: nn.Dropout(0.1),
    lambda: nn.Dropout(0.1).eval(),
    nn.Sigmoid,
    nn.Identity,
    nn.Flatten,
    lambda: nn.Softmax(-1),
)


class Planned(nn.Module):
    """Does what its plan says, step by step."""

    def __init__(self, plan: list[tuple[str, Any]]) -> None:
        super().__init__()
        self.plan = plan
        for i, (what, one) in enumerate(plan):
            if what == "child":
                setattr(self, f"c{i}", one())
            elif what == "list":
                setattr(self, f"c{i}", nn.ModuleList(one() for _ in range(3)))
            elif what in ("scaled", "adapted"):
                setattr(self, f"p{i}", nn.Parameter(torch.randn(SIZE)))
            if what == "adapted":
                setattr(self, f"c{i}", nn.Linear(SIZE, SIZE))

    def forward(self, x: Tensor) -> Tensor:
        first = x
        for i, (what, one) in enumerate(self.plan):
            child: Any = getattr(self, f"c{i}", None)
            if what == "child":
                x = child(x)
            elif what == "again":
                before = [j for j in range(i) if self.plan[j][0] == "child"]
                x = getattr(self, f"c{before[one % len(before)]}")(x) if before else x
            elif what == "list":
                for each in child:
                    x = each(x)
            elif what == "scaled":
                x = x * getattr(self, f"p{i}")
            elif what == "adapted":  # a weight that is computed before it is used
                x = functional.linear(x, child.weight * getattr(self, f"p{i}"), child.bias)
            elif what == "residual":
                x = x + first
            else:
                x = one(x)
        return x


class _Trees:
    def __init__(self, random: Random) -> None:
        self._random = random

    def leaf(self) -> Maker:
        which = self._random.random()
        if which < 0.4:
            return lambda: nn.Linear(SIZE, SIZE)
        if which < 0.55:
            return lambda: nn.LayerNorm(SIZE)
        return self._random.choice(BARE)

    def tree(self, depth: int) -> Maker:
        random = self._random
        if not depth:
            return self.leaf()
        if random.random() < 0.3:
            parts = [self._below(depth, 0.5) for _ in range(random.randint(1, 4))]
            return lambda: nn.Sequential(*(part() for part in parts))
        plan = [self._step(depth) for _ in range(random.randint(1, 6))]
        kind = type(f"Planned{random.randrange(10**6)}", (Planned,), {})
        return lambda: kind(plan)

    def _below(self, depth: int, share: float) -> Maker:
        return self.tree(depth - 1) if self._random.random() < share else self.leaf()

    def _step(self, depth: int) -> tuple[str, Any]:
        random = self._random
        which = random.random()
        if which < 0.4:
            return "child", self._below(depth, 0.6)
        if which < 0.5:
            return "list", self.tree(depth - 1)
        if which < 0.6:
            return "again", random.randint(0, 5)
        if which < 0.65:
            return random.choice(("scaled", "adapted")), None
        return ("residual", None) if which < 0.8 else ("op", random.choice(OPS))


def random_model(seed: int) -> Made | None:
    """A model and a loss of it; ``None`` where no parameter is used.

    The model is called several times, with operations before and after; then what a loss adds of
    parameters or of gradients, and parts that are called alone.
    """
    random = Random(seed)
    torch.manual_seed(seed)
    model = _Trees(random).tree(3)()
    times = random.randint(1, 4)
    before = [random.choice(OPS) for _ in range(random.randint(0, 2))]
    after = [random.choice(OPS) for _ in range(random.randint(0, 3))]
    x = torch.randn(3, SIZE, requires_grad=random.random() < 0.3)
    more = random.choice((None, None, None, *MORE))

    def loss() -> Tensor:
        y = x
        for _ in range(times):
            for op in before:
                y = op(y)
            y = model(y)
            for op in after:
                y = op(y)
        return y.sum() if more is None else more(model, x, y)

    try:
        is_used = any(True for _ in model.parameters()) and loss().requires_grad
    except RuntimeError:  # its shape has changed
        is_used = False
    return Made(model, loss) if is_used else None


def _with_penalty(model: nn.Module, _: Tensor, y: Tensor) -> Tensor:
    return y.sum() + sum((p * p).sum() + p.abs().mean() for p in model.parameters())


def _with_gradients(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    parameters = [p for p in model.parameters() if p.requires_grad]
    found = torch.autograd.grad(y.sum(), parameters, create_graph=True, allow_unused=True)
    return y.sum() + sum(one.pow(2).sum() for one in found if one is not None)


def _with_a_part(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    is_adapted = isinstance(model, Planned) and any(what == "adapted" for what, _ in model.plan)
    part = model if is_adapted else next(model.children(), model)
    rest = x if isinstance(part, nn.ModuleList) else part(x.exp())
    return y.sum() + rest.relu().sum()


MORE: Final = (_with_penalty, _with_gradients, _with_a_part)
