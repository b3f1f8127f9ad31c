"""Losses go through a list of Python numbers, and the graph ends there."""

import torch

from gradviz.teach.repair.exercise import Exercise

exercise = Exercise(
    goal="The program returns the mean of the losses, and `w.grad` is the gradient of that mean.",
    given=[
        {"w": torch.tensor(1.0, requires_grad=True), "samples": (1.0, 2.0)},
        {"w": torch.tensor(-0.5, requires_grad=True), "samples": (3.0, 1.0, 2.0)},
    ],
    hints=[
        "Walk from `mean` back to `w`: which line makes a thing that has no `grad_fn`?",
        "A number of Python knows nothing of the graph, and `torch.tensor` makes a new leaf from "
        "it. Two lines have to change.",
        "Put the losses themselves into the list, and join them with an operation that is "
        "recorded, such as `torch.stack`.",
    ],
    why="What stays a tensor stays in the graph: `torch.stack` is an operation, `torch.tensor` of "
    "numbers a beginning.",
    step="backward",
    player_hide=["formula", "source", "hooks", "saved", "versions"],
)


@exercise.broken
def program(w, samples):
    losses = []
    for sample in samples:
        loss = (w * sample - 3) ** 2
        losses.append(loss.item())
    mean = torch.tensor(losses).mean()
    mean.backward()
    return mean


@exercise.solution
def stacked(w, samples):
    losses = []
    for sample in samples:
        loss = (w * sample - 3) ** 2
        losses.append(loss)
    mean = torch.stack(losses).mean()
    mean.backward()
    return mean


@exercise.solution
def added(w, samples):
    mean = sum((w * sample - 3) ** 2 for sample in samples) / len(samples)
    mean.backward()
    return mean


@exercise.solution
def at_once(w, samples):
    mean = (w * torch.tensor(samples) - 3).square().mean()
    mean.backward()
    return mean.item()


@exercise.solution
def one_by_one(w, samples):
    mean = 0.0
    for sample in samples:
        loss = (w * sample - 3) ** 2 / len(samples)
        loss.backward()
        mean += loss.item()
    return mean


@exercise.wrong_fix(
    "Now backward runs: from a new leaf to itself. `requires_grad` begins a graph; it does not "
    "bring back the one that `.item()` left, so `w` gets nothing."
)
def flag_set(w, samples):
    losses = []
    for sample in samples:
        loss = (w * sample - 3) ** 2
        losses.append(loss.item())
    mean = torch.tensor(losses, requires_grad=True).mean()
    mean.backward()
    return mean


@exercise.wrong_fix("The sum has a graph, but the mean divides it by the number of losses.")
def summed(w, samples):
    losses = [(w * sample - 3) ** 2 for sample in samples]
    mean = torch.stack(losses).sum()
    mean.backward()
    return mean


@exercise.wrong_fix("That is the loss of the last sample only, and its gradient.")
def last_one(w, samples):
    for sample in samples:
        loss = (w * sample - 3) ** 2
    loss.backward()
    return loss


@exercise.wrong_fix(
    "Each sample sends its gradient, and they add up: without the division that is the gradient of "
    "the sum."
)
def each_undivided(w, samples):
    losses = []
    for sample in samples:
        loss = (w * sample - 3) ** 2
        loss.backward()
        losses.append(loss.item())
    return torch.tensor(losses).mean()
