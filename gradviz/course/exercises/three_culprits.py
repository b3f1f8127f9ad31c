"""A training loop that raises nothing: shapes, clipping and a total that keeps every graph."""

import torch
from torch import nn

from gradviz.teach.repair.exercise import Exercise
from gradviz.teach.repair.program import Run


def data(first: float, second: float, targets: list[float]) -> dict[str, object]:
    """A model with known numbers, and one batch."""
    model = nn.Sequential(nn.Linear(1, 2), nn.Tanh(), nn.Linear(2, 1))
    for number, parameter in enumerate(model.parameters()):
        values = torch.linspace(first, second, parameter.numel()) + 0.1 * number
        nn.init.zeros_(parameter).data.add_(values.view_as(parameter))
    x = torch.linspace(-1, 1, len(targets)).unsqueeze(1)
    return {"model": model, "x": x, "y": torch.tensor(targets)}


def nothing_kept(run: Run) -> None:
    """What is returned has no graph."""
    returned = run.returned
    is_kept = isinstance(returned, torch.Tensor) and returned.grad_fn is not None
    assert not is_kept, "The average that is returned still keeps the graphs of all three losses."


exercise = Exercise(
    goal="Three steps of SGD with `lr=0.1`: the loss is the mean square error of each prediction "
    "with its own target, gradients are clipped to norm 1, and the average of the three losses is "
    "returned, without a graph.",
    given=[data(-0.5, 0.7, [-6.0, -2.0, 2.0, 6.0]), data(0.8, -0.3, [9.0, 1.0, -4.0])],
    judged=("model.*", "returned*"),
    hints=[
        "Ask of each line what it has made: which shape has the difference, which gradients are "
        "there when they are clipped, which graph does the average have?",
        "The prediction has shape (4, 1), the target (4,). Before backward there is nothing to "
        "clip. And an average that is computed from losses keeps the graph of each.",
        "Give both the same shape; clip between backward and the step; add up the loss without its "
        "graph.",
    ],
    check=nothing_kept,
    why="Nothing was raised, and three things were wrong: each line did exactly what it says.",
    step=-1,
)


@exercise.broken
def program(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = 0
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        loss.backward()
        optimizer.step()
        average = average + loss / 3
    return average


@exercise.solution
def all_three(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = 0
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(x).squeeze(1) - y).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average = average + loss.item() / 3
    return average


@exercise.solution
def detached(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = torch.zeros(())
    for _ in range(3):
        loss = nn.functional.mse_loss(model(x), y.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average += loss.detach() / 3
    return average


@exercise.solution
def at_the_end(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        model.zero_grad()
        losses.append((model(x)[:, 0] - y).square().mean())
        losses[-1].backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return torch.stack(losses).mean().detach()


@exercise.wrong_fix(
    "Predictions and targets have the same shape now. But the clipping finds no gradients, and the "
    "average still keeps the graph of each loss."
)
def only_the_shape(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = 0
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(x).squeeze(1) - y).square().mean()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        loss.backward()
        optimizer.step()
        average = average + loss / 3
    return average


@exercise.wrong_fix(
    "The gradients are clipped in time, but every prediction is still compared with all targets, "
    "and the average still keeps the graph of each loss."
)
def only_the_clipping(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = 0
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average = average + loss / 3
    return average


@exercise.wrong_fix(
    "The model learns what it should. The average is right as well, but it still keeps the graph "
    "of each loss."
)
def still_a_graph(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = 0
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(x).squeeze(1) - y).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average = average + loss / 3
    return average


@exercise.wrong_fix(
    "After the step it is too late to clip: `step()` has used the gradients as they were."
)
def clipped_after_the_step(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = 0
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(x).squeeze(1) - y).square().mean()
        loss.backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        average = average + loss.item() / 3
    return average


@exercise.wrong_fix("The loss is cut off before backward, or the model is: now nothing learns.")
def detached_too_early(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = 0
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(x).squeeze(1) - y).square().mean().detach().requires_grad_()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average = average + loss.item() / 3
    return average
