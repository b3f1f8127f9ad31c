"""Two losses share a part of the graph, and the first backward frees it."""

import torch

from gradviz.teach.repair.exercise import Exercise
from gradviz.teach.repair.program import Run


def kept_for_a_later_one(run: Run) -> None:
    """A backward keeps the graph only if a later one runs a node again that has saved something."""
    history, graph = run.recording.history, run.recording.graph
    for number, (_, started) in history.started.items():
        again = [
            node
            for node, ran in history.ran_in.items()
            if number in dict(ran) and ran[-1][0] > number
        ]
        assert any(graph[node].saved for node in again) or not started.retain_graph, (
            "The last call keeps the graph, and with it all that was saved: no other call follows."
        )


exercise = Exercise(
    goal="`w.grad` is the sum of the gradients of both losses, and no call keeps the graph for "
    "nothing.",
    given=[
        {"w": torch.tensor([1.0, 2.0], requires_grad=True)},
        {"w": torch.tensor([-3.0, 0.5, 2.0], requires_grad=True)},
    ],
    judged=("w", "w.grad"),
    hints=[
        "Which node belongs to both losses, and which call has freed what it had saved?",
        "`retain_graph=True` says that this call leaves the saved tensors for a later one. Which "
        "of the two calls is followed by another?",
        "Move the switch to the call that runs first; or add the losses, and call backward once.",
    ],
    check=kept_for_a_later_one,
    why="The call that is followed by another one keeps the graph; the last one frees it.",
    step="MulBackward0",
    player_hide=["versions"],
)


@exercise.broken
def program(w):
    trunk = w * w
    loss1 = trunk.sum()
    loss2 = (trunk + 1).square().sum()
    loss1.backward()
    loss2.backward(retain_graph=True)
    return loss1, loss2


@exercise.solution
def first_keeps(w):
    trunk = w * w
    loss1 = trunk.sum()
    loss2 = (trunk + 1).square().sum()
    loss1.backward(retain_graph=True)
    loss2.backward()
    return loss1, loss2


@exercise.solution
def added(w):
    trunk = w * w
    loss1 = trunk.sum()
    loss2 = (trunk + 1).square().sum()
    (loss1 + loss2).backward()
    return loss1, loss2


@exercise.solution
def second_first(w):
    trunk = w * w
    losses = trunk.sum(), (trunk + 1).square().sum()
    losses[1].backward(retain_graph=True)
    losses[0].backward()
    return losses


@exercise.solution
def trunk_twice(w):
    loss1 = (w * w).sum()
    loss1.backward()
    loss2 = (w * w + 1).square().sum()
    loss2.backward()
    return loss1, loss2


@exercise.solution
def trunk_cut(w):
    trunk = w * w
    shared = trunk.detach().requires_grad_()
    shared.sum().backward()
    (shared + 1).square().sum().backward()
    trunk.backward(shared.grad)


@exercise.wrong_fix(
    "The gradient is right. The second call keeps the graph for a third that never comes, and with "
    "it the memory of all that was saved."
)
def both_keep(w):
    trunk = w * w
    loss1 = trunk.sum()
    loss2 = (trunk + 1).square().sum()
    loss1.backward(retain_graph=True)
    loss2.backward(retain_graph=True)
    return loss1, loss2


@exercise.wrong_fix("Only the first loss has sent a gradient: that of the second is missing.")
def only_first(w):
    trunk = w * w
    loss1 = trunk.sum()
    loss2 = (trunk + 1).square().sum()
    loss1.backward()
    return loss1, loss2


@exercise.wrong_fix(
    "Only the gradient of the second loss is there: that of the first was never computed, or it "
    "was cleared. They were to add up."
)
def only_second(w):
    trunk = w * w
    (trunk + 1).square().sum().backward()
