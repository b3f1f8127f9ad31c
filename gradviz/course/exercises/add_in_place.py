"""A saved tensor is modified in place: log(1 + exp(x)), written to save memory."""

import torch

from gradviz.teach.repair.exercise import Exercise

exercise = Exercise(
    goal="The program returns the sum of log(1 + exp(x)), and `x.grad` is its gradient.",
    given=[
        {"x": torch.tensor([0.0, 1.0], requires_grad=True)},
        {"x": torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)},
    ],
    hints=[
        "Which node needs the numbers that were in `e` before `add_`?",
        "`ExpBackward0` saved its result, and `e` is that result: `add_` has written into it. The "
        "sum 1 + e is needed, and so is the old `e`.",
        "Let the addition make a new tensor: the method without the underscore, or `+`.",
    ],
    why="`ExpBackward0` saved its result; an addition out of place leaves that result as it was.",
    step="ExpBackward0",
    player_hide=["versions"],
)


@exercise.broken
def program(x):
    e = x.exp()
    e.add_(1)
    loss = e.log().sum()
    loss.backward()
    return loss


@exercise.solution
def out_of_place(x):
    e = x.exp()
    e = e.add(1)
    loss = e.log().sum()
    loss.backward()
    return loss


@exercise.solution
def on_a_copy(x):
    e = x.exp().clone()
    e.add_(1)
    loss = e.log().sum()
    loss.backward()
    return loss


@exercise.solution
def in_one_operation(x):
    loss = torch.nn.functional.softplus(x).sum()
    loss.backward()
    return loss


@exercise.solution
def gradient_asked_for(x):
    loss = torch.log1p(torch.exp(x)).sum()
    (x.grad,) = torch.autograd.grad(loss, x)
    return loss.item()


@exercise.wrong_fix(
    "Nothing is raised because nothing is added any more: this is log(exp(x)), which is x, and its "
    "gradient is 1 everywhere. The 1 must be added, into a new tensor."
)
def multiplied(x):
    e = x.exp()
    e = torch.Tensor.mul(e, 1)
    loss = e.log().sum()
    loss.backward()
    return loss


@exercise.wrong_fix(
    "`.data` hides the write from the version, not from `ExpBackward0`: it computes with the "
    "modified numbers. The result is right and the gradient is wrong, which is worse than an error."
)
def through_data(x):
    e = x.exp()
    e.data.add_(1)
    loss = e.log().sum()
    loss.backward()
    return loss


@exercise.wrong_fix(
    "`e` is cut off from `x`, so nothing was saved and nothing can be modified; but no gradient "
    "can reach `x` either."
)
def cut_off(x):
    e = x.exp().detach()
    e.add_(1)
    loss = e.log().sum()
    loss.backward()
    return loss


@exercise.wrong_fix(
    "The loss is right, and backward never finishes: the error is caught, and `x` has no gradient."
)
def caught(x):
    e = x.exp()
    e.add_(1)
    loss = e.log().sum()
    try:
        loss.backward()
    except RuntimeError:
        pass
    return loss
