"""A value is taken out for a log and written to, through .data: the gradient is silently wrong."""

import torch

from gradviz.teach.repair.exercise import Exercise

exercise = Exercise(
    goal="The program returns the share that each score has in `total`, for a log, and `x.grad` "
    "is the gradient of `total`.",
    given=[
        {"x": torch.tensor([0.0, 1.0, 2.0], requires_grad=True)},
        {"x": torch.tensor([0.5, -1.0], requires_grad=True)},
    ],
    hints=[
        "`x.grad` should be `scores`, as they were when `total` was computed. Is that what "
        "`ExpBackward0` finds when backward comes to it?",
        "`ExpBackward0` saved its result, which is `scores`. `shares` shares that memory, and the "
        "division writes into it. With `.data` the write is not counted, so nothing is raised.",
        "Give the division memory of its own: a copy to write to, or a division that makes a new "
        "tensor.",
    ],
    why="What you write to has to be a copy: `scores.detach().clone()`. Then the result that "
    "`ExpBackward0` saved is as forward left it.",
    step="ExpBackward0",
    player_hide=["versions"],
)


@exercise.broken
def program(x):
    scores = x.exp()
    total = scores.sum()
    shares = scores.data
    shares.div_(total.item())
    total.backward()
    return shares


@exercise.solution
def on_a_copy(x):
    scores = x.exp()
    total = scores.sum()
    shares = scores.detach().clone()
    shares.div_(total.item())
    total.backward()
    return shares


@exercise.solution
def out_of_place(x):
    scores = x.exp()
    total = scores.sum()
    shares = scores.detach().div(total.item())
    total.backward()
    return shares


@exercise.solution
def after_backward(x):
    scores = x.exp()
    total = scores.sum()
    total.backward()
    shares = scores.detach()
    shares.div_(total.item())
    return shares


@exercise.solution
def with_a_recorded_copy(x):
    scores = x.exp()
    total = scores.sum()
    shares = scores.clone()
    shares /= total.item()
    total.backward()
    return shares.detach()


@exercise.solution
def from_the_start(x):
    x.exp().sum().backward()
    return x.detach().softmax(0)


@exercise.wrong_fix(
    "`detach()` shares the memory too, and the write is counted now: backward raises, in place of "
    "a wrong gradient. That is better, and no repair. The write needs memory of its own."
)
def only_detached(x):
    scores = x.exp()
    total = scores.sum()
    shares = scores.detach()
    shares.div_(total.item())
    total.backward()
    return shares


@exercise.wrong_fix(
    "The gradient is right. But what is returned are the scores: their shares need a tensor of "
    "their own, and a name that keeps it."
)
def copied_and_lost(x):
    scores = x.exp()
    total = scores.sum()
    shares = scores.data
    shares.clone().div_(total.item())
    total.backward()
    return shares


@exercise.wrong_fix(
    "The graph is cut before `total` is computed, so nothing of it leads to `x`. Take the value "
    "out beside the way of the gradient, not on it."
)
def cut_before_total(x):
    scores = x.exp().detach()
    total = scores.sum()
    shares = scores.clone()
    shares.div_(total.item())
    total.backward()
    return shares


@exercise.wrong_fix(
    "The shares are right, and backward never finishes: the error is caught, and `x` has no "
    "gradient."
)
def caught(x):
    scores = x.exp()
    total = scores.sum()
    shares = scores.detach()
    shares.div_(total.item())
    try:
        total.backward()
    except RuntimeError:
        pass
    return shares
