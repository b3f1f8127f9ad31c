"""The optimizer holds the parameter that the layer had before."""

import torch
from torch import nn

from gradviz.teach.repair.exercise import Exercise


def data(weight: float, target: float) -> dict[str, object]:
    """A layer with known numbers, and one batch."""
    layer = nn.Linear(2, 1)
    nn.init.constant_(layer.weight, weight)
    nn.init.constant_(layer.bias, 0.1)
    return {"layer": layer, "x": torch.tensor([[1.0, 2.0], [3.0, -1.0]]), "y": torch.tensor(target)}


exercise = Exercise(
    goal="The weight is set to zero; then two steps of SGD with `lr=0.1` train weight and bias.",
    given=[data(0.7, 1.0), data(-1.5, 3.0)],
    judged=("layer.weight", "layer.bias"),
    hints=[
        "Which tensors did the optimizer get, and when? Is `layer.weight` still one of them?",
        "`layer.weight = nn.Parameter(…)` puts a new tensor into the layer. The optimizer still "
        "writes the old one, which nobody uses.",
        "Make the optimizer after the weight; or keep the parameter, and write zeros into it under "
        "`torch.no_grad()`.",
    ],
    why="An optimizer holds tensors, not names: who replaces a parameter has to tell it.",
    step=-1,
)


@exercise.broken
def program(layer, x, y):
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer.weight = nn.Parameter(torch.zeros(1, 2))
    for _ in range(2):
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        optimizer.step()


@exercise.solution
def optimizer_later(layer, x, y):
    layer.weight = nn.Parameter(torch.zeros(1, 2))
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        optimizer.step()


@exercise.solution
def written_in_place(layer, x, y):
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with torch.no_grad():
        layer.weight.zero_()
    for _ in range(2):
        optimizer.zero_grad()
        (layer(x) - y).square().mean().backward()
        optimizer.step()


@exercise.solution
def told(layer, x, y):
    optimizer = torch.optim.SGD([layer.bias], lr=0.1)
    layer.weight = nn.Parameter(torch.zeros(1, 2))
    optimizer.add_param_group({"params": [layer.weight]})
    for _ in range(2):
        optimizer.zero_grad()
        (layer(x) - y).square().mean().backward()
        optimizer.step()


@exercise.solution
def by_hand(layer, x, y):
    layer.weight.data = torch.zeros(1, 2)
    for _ in range(2):
        gradients = torch.autograd.grad((layer(x) - y).square().mean(), list(layer.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(layer.parameters(), gradients, strict=True):
                parameter -= 0.1 * gradient


@exercise.wrong_fix("The weight learns, but not from zero: the line that sets it is missing.")
def not_set(layer, x, y):
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        optimizer.step()


@exercise.wrong_fix(
    "The weight is set to zero in every step, so that nothing it learns remains but the last step."
)
def set_each_time(layer, x, y):
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(2):
        with torch.no_grad():
            layer.weight.zero_()
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        optimizer.step()


@exercise.wrong_fix("The weight is set to zero after the steps: what it learned is gone.")
def set_at_the_end(layer, x, y):
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        optimizer.step()
    layer.weight = nn.Parameter(torch.zeros(1, 2))


@exercise.wrong_fix("The optimizer has the weight and not the bias, which is trained as well.")
def only_the_weight(layer, x, y):
    layer.weight = nn.Parameter(torch.zeros(1, 2))
    optimizer = torch.optim.SGD([layer.weight], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        optimizer.step()
