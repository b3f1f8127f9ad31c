"""A state is handed from step to step, and with it the graph of all earlier steps."""

from itertools import pairwise

import torch

from gradviz.model.events import BackwardEnded
from gradviz.teach.repair.exercise import Exercise
from gradviz.teach.repair.program import Run


def each_step_alone(run: Run) -> None:
    """No backward goes through the nodes of earlier steps."""
    ended = [e for step in run.recording.records for e in step.events
             if isinstance(e, BackwardEnded)]  # fmt: skip
    nodes = [backward.nodes for backward in ended]
    grows = len(nodes) > 2 and all(a < b for a, b in pairwise(nodes))
    assert not grows, (
        "Each backward runs more nodes than the one before: it goes through the graphs of all "
        "earlier steps again."
    )


exercise = Exercise(
    goal="The value of the state `h` goes from step to step, and each loss sends its gradient to "
    "`u` through its own step only.",
    given=[
        {"u": torch.tensor(0.5, requires_grad=True), "inputs": (1.0, 2.0, 3.0)},
        {"u": torch.tensor(-0.25, requires_grad=True), "inputs": (4.0, 1.0, 2.0, 1.0)},
    ],
    hints=[
        "Where does the second backward find freed saved tensors: among the nodes of the second "
        "step, or of the first?",
        "`h` is a value and, behind it, the graph that made it. The next step needs only one of "
        "the two.",
        "Hand over the same numbers without their `grad_fn`: `h.detach()` returns just that. After "
        "which line does it belong?",
    ],
    check=each_step_alone,
    why="`h.detach()` has the value of the state and none of its history: each backward ends at "
    "its own step.",
    step="backward:2",
    player_hide=["versions"],
)


@exercise.broken
def program(u, inputs):
    h = torch.zeros(())
    for x in inputs:
        h = u * h + x
        loss = h * h
        loss.backward()
    return h


@exercise.solution
def detached_at_the_end(u, inputs):
    h = torch.zeros(())
    for x in inputs:
        h = u * h + x
        loss = h * h
        loss.backward()
        h = h.detach()
    return h


@exercise.solution
def detached_at_the_start(u, inputs):
    h = torch.zeros(())
    for x in inputs:
        h = u * h.detach() + x
        (h * h).backward()
    return h


@exercise.solution
def detached_in_place(u, inputs):
    h = torch.zeros(())
    for x in inputs:
        h = h * u + x
        h.square().backward()
        h.detach_()
    return h


@exercise.solution
def as_a_number(u, inputs):
    h = 0.0
    for x in inputs:
        new = u * h + x
        new.pow(2).backward()
        h = new.item()
    return h


@exercise.solution
def losses_added(u, inputs):
    h = torch.zeros(())
    losses = []
    for x in inputs:
        h = u * h.detach() + x
        losses.append(h * h)
    sum(losses).backward()
    return h


@exercise.wrong_fix(
    "A state of zeros is handed over: the graph is gone, and so is the value. Each step starts "
    "from nothing, and `u`, which multiplies the state, gets the gradient 0."
)
def zeros(u, inputs):
    h = torch.zeros(())
    for x in inputs:
        h = u * h + x
        loss = h * h
        loss.backward()
        h = torch.zeros_like(h)
    return h


@exercise.wrong_fix(
    "`retain_graph=True` keeps the graphs of all steps, and each backward goes through all of them "
    "again: the work and the memory grow with every step, and `u` gets the gradients of earlier "
    "steps as well."
)
def retained(u, inputs):
    h = torch.zeros(())
    for x in inputs:
        h = u * h + x
        loss = h * h
        loss.backward(retain_graph=True)
    return h


@exercise.wrong_fix(
    "One backward for the sum of all losses works, but it goes through all steps: `u` gets the "
    "gradient through the whole history, and the graph of every step is kept until the end."
)
def one_backward(u, inputs):
    h = torch.zeros(())
    losses = []
    for x in inputs:
        h = u * h + x
        losses.append(h * h)
    sum(losses).backward()
    return h


@exercise.wrong_fix("The loss no longer has a graph: it is the state that is handed over without.")
def loss_cut_off(u, inputs):
    h = torch.zeros(())
    for x in inputs:
        h = (u * h + x).detach()
        loss = h * h
        loss.backward()
    return h
