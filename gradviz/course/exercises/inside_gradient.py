"""The gradient of a tensor that is no leaf is wanted as well."""

import torch

from gradviz.teach.repair.exercise import Exercise

exercise = Exercise(
    goal="The program returns the gradient of the loss at `h`, and `w` gets its own as well.",
    given=[
        {"w": torch.tensor([1.0, 2.0], requires_grad=True), "x": torch.tensor([3.0, -1.0])},
        {"w": torch.tensor([0.5, 4.0], requires_grad=True), "x": torch.tensor([1.0, 2.0])},
    ],
    judged=("w", "w.grad", "returned"),
    hints=[
        "Is `h` a leaf? Which tensors keep the gradient that arrives at them?",
        "The gradient does arrive at `h`; it is handed on to `w` and then dropped. Making `h` a "
        "leaf would keep it, and `w` would get nothing.",
        "Before backward, ask `h` to keep its gradient: it has a method for that, `h.retain_…()`.",
    ],
    why="Every node inside the graph sees its gradient; only leaves keep it unless `retain_grad()` "
    "asks for more.",
    step="backward",
    player_hide=["saved", "versions"],
)


@exercise.broken
def program(w, x):
    h = w * x
    loss = (h * h).sum()
    loss.backward()
    return h.grad


@exercise.solution
def retained(w, x):
    h = w * x
    h.retain_grad()
    loss = (h * h).sum()
    loss.backward()
    return h.grad


@exercise.solution
def by_a_hook(w, x):
    seen = []
    h = w * x
    h.register_hook(lambda gradient: seen.append(gradient.clone()))
    (h * h).sum().backward()
    return seen[0]


@exercise.solution
def asked_for(w, x):
    h = w * x
    loss = (h * h).sum()
    (found,) = torch.autograd.grad(loss, h, retain_graph=True)
    loss.backward()
    return found


@exercise.solution
def both_asked_for(w, x):
    h = w * x
    found, w.grad = torch.autograd.grad((h * h).sum(), (h, w))
    return found


@exercise.wrong_fix(
    "`h` is a leaf now and keeps its gradient; it is also cut off, so none reaches `w`."
)
def new_leaf(w, x):
    h = (w * x).detach().requires_grad_()
    loss = (h * h).sum()
    loss.backward()
    return h.grad


@exercise.wrong_fix(
    "That is the gradient at `w`, the leaf: the one at `h` times `x`. Asked for is the one at `h`."
)
def that_of_the_leaf(w, x):
    h = w * x
    loss = (h * h).sum()
    loss.backward()
    return w.grad


@exercise.wrong_fix(
    "`h.grad` is right, and it was added up: backward ran twice, so `w` has twice its gradient."
)
def backward_twice(w, x):
    h = w * x
    loss = (h * h).sum()
    loss.backward(retain_graph=True)
    h.retain_grad()
    loss.backward()
    return h.grad
