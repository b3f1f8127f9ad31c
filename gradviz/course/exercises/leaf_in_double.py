"""A flag is set before the dtype is changed: the leaf is another tensor."""

import torch

from gradviz.teach.repair.exercise import Exercise

exercise = Exercise(
    goal="`x` is a float64 tensor, and `x.grad` is the gradient of the sum of squares.",
    given=[{"numbers": (1.0, 2.0, 3.0)}, {"numbers": (-0.5, 4.0)}],
    hints=[
        "Is `x` a leaf? Follow it in the graph: where does the gradient end?",
        "`.double()` is an operation: its result is a new tensor inside the graph, and the leaf is "
        "the float32 tensor, which has no name.",
        "Change the dtype first and set `requires_grad` last; or make the tensor as it should be "
        "in one call.",
    ],
    why="The tensor on which the flag is set is the leaf. Whatever is computed from it, a change "
    "of dtype or device too, is not.",
    step="backward",
    player_hide=["formula", "source", "hooks", "saved", "versions"],
)


@exercise.broken
def program(numbers):
    x = torch.tensor(numbers, requires_grad=True).double()
    (x * x).sum().backward()
    return x


@exercise.solution
def flag_last(numbers):
    x = torch.tensor(numbers).double().requires_grad_()
    (x * x).sum().backward()
    return x


@exercise.solution
def in_one_call(numbers):
    x = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
    x.square().sum().backward()
    return x


@exercise.solution
def new_leaf(numbers):
    x = torch.tensor(numbers, requires_grad=True).double().detach().requires_grad_(True)
    (x**2).sum().backward()
    return x


@exercise.solution
def retained(numbers):
    x = torch.tensor(numbers, requires_grad=True).double()
    x.retain_grad()
    (x * x).sum().backward()
    return x


@exercise.wrong_fix("`x` is a leaf and gets its gradient, but it is in float32 now.")
def single(numbers):
    x = torch.tensor(numbers, requires_grad=True)
    (x * x).sum().backward()
    return x


@exercise.wrong_fix(
    "The result of backward is in float64, but the leaf is not: `x` is still the float32 tensor."
)
def squares_in_double(numbers):
    x = torch.tensor(numbers, requires_grad=True)
    y = x.double()
    (y * y * y).sum().backward()
    return x


@exercise.wrong_fix("Without the flag nothing is recorded, and backward finds no graph.")
def no_flag(numbers):
    x = torch.tensor(numbers).double()
    (x * x).sum().backward()
    return x
