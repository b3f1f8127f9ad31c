"""A saved tensor is modified through a view of it: the first number is to count five times."""

import torch

from gradviz.teach.repair.exercise import Exercise

exercise = Exercise(
    goal="The program returns the sum of tanh(x) in which the first number counts five times, and "
    "`x.grad` is its gradient.",
    given=[
        {"x": torch.tensor([0.5, 1.0], requires_grad=True)},
        {"x": torch.tensor([-1.0, 0.25, 2.0], requires_grad=True)},
    ],
    hints=[
        "No line writes to `h` by name. Whose memory is that of `first`?",
        "`first` is a slice of `h`, and both have one version. `TanhBackward0` saved `h`, its "
        "result, before the write.",
        "Let the slice be one of a copy: `clone()` the result of `tanh`. Or write nowhere, and "
        "multiply by a tensor with the factors.",
    ],
    why="A slice shares memory and version with its base: a write to one is a write to both. A "
    "copy has its own.",
    step="TanhBackward0",
)


@exercise.broken
def program(x):
    h = x.tanh()
    first = h[0]
    first.mul_(5)
    loss = h.sum()
    loss.backward()
    return loss


@exercise.solution
def on_a_copy(x):
    h = x.tanh().clone()
    first = h[0]
    first.mul_(5)
    loss = h.sum()
    loss.backward()
    return loss


@exercise.solution
def with_factors(x):
    factors = torch.ones_like(x)
    factors[0] = 5
    loss = (x.tanh() * factors).sum()
    loss.backward()
    return loss


@exercise.solution
def without_a_write(x):
    h = x.tanh()
    loss = 5 * h[0] + h[1:].sum()
    loss.backward()
    return loss


@exercise.wrong_fix(
    "`first * 5` is a new tensor, and only the name `first` knows of it. `h` has the old number, "
    "and the loss is computed from `h`."
)
def new_name(x):
    h = x.tanh()
    first = h[0]
    first = first * 5
    loss = h.sum()
    loss.backward()
    return loss


@exercise.wrong_fix(
    "Nothing is raised because the write is hidden from the counter and from the graph: "
    "`TanhBackward0` computes 1 - result² with the number after the write, and nobody multiplies "
    "the gradient by 5."
)
def hidden(x):
    h = x.tanh()
    first = h.data[0]
    first.mul_(5)
    loss = h.sum()
    loss.backward()
    return loss


@exercise.wrong_fix("That is tanh(5 * x): the factor belongs behind `tanh`, not before it.")
def before_tanh(x):
    h = x.clone()
    first = h[0]
    first.mul_(5)
    loss = h.tanh().sum()
    loss.backward()
    return loss
