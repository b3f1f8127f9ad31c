"""Gradients add up: a loop of training steps that never clears them."""

import torch

from gradviz.teach.repair.exercise import Exercise

exercise = Exercise(
    goal="Each step follows the gradient of its own batch: the program returns `w` after all "
    "steps.",
    given=[
        {
            "w": torch.tensor(1.0, requires_grad=True),
            "batches": ((1.0, 3.0), (2.0, 4.0), (1.0, 5.0)),
        },
        {"w": torch.tensor(-2.0, requires_grad=True), "batches": ((3.0, 1.0), (1.0, 1.0))},
    ],
    judged=("returned",),
    hints=[
        "What is in `w.grad` when the second batch's backward begins, and what after it?",
        "Backward adds to `.grad`; it never replaces. Somebody has to clear it once per step.",
        "Set `w.grad` to `None`, or to zero, at the start of each turn of the loop.",
    ],
    why="Backward adds to `.grad`, so a step that wants its own gradient begins with an empty one.",
    step="backward:2",
    player_hide=["versions"],
)


@exercise.broken
def program(w, batches):
    for x, y in batches:
        loss = (w * x - y) ** 2
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    return w


@exercise.solution
def cleared_first(w, batches):
    for x, y in batches:
        w.grad = None
        loss = (w * x - y) ** 2
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    return w


@exercise.solution
def cleared_last(w, batches):
    for x, y in batches:
        loss = (w * x - y) ** 2
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    return w


@exercise.solution
def by_an_optimizer(w, batches):
    optimizer = torch.optim.SGD([w], lr=0.1)
    for x, y in batches:
        optimizer.zero_grad()
        ((w * x - y) ** 2).backward()
        optimizer.step()
    return w


@exercise.solution
def asked_for(w, batches):
    for x, y in batches:
        (gradient,) = torch.autograd.grad((w * x - y) ** 2, w)
        with torch.no_grad():
            w -= 0.1 * gradient
    return w


@exercise.solution
def new_tensors(w, batches):
    for x, y in batches:
        ((w * x - y) ** 2).backward()
        w = (w - 0.1 * w.grad).detach().requires_grad_()
    return w


@exercise.wrong_fix(
    "The gradient is cleared after backward and before the step reads it: `w` stays where it was."
)
def cleared_too_early(w, batches):
    for x, y in batches:
        loss = (w * x - y) ** 2
        loss.backward()
        w.grad.zero_()
        with torch.no_grad():
            w -= 0.1 * w.grad
    return w


@exercise.wrong_fix(
    "One step for the sum of all batches is another algorithm: all gradients are taken at the "
    "first `w`."
)
def one_step(w, batches):
    loss = sum((w * x - y) ** 2 for x, y in batches)
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    return w


@exercise.wrong_fix("All steps are smaller; the old gradients are still in them.")
def divided(w, batches):
    for x, y in batches:
        loss = (w * x - y) ** 2 / len(batches)
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    return w
