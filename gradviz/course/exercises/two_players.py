"""A generator and a discriminator take turns; an optimizer writes between forward and backward."""

import torch
from torch import nn

from gradviz.teach.repair.exercise import Exercise


def players(weight: float, noise: float) -> dict[str, object]:
    """Two layers, the optimizer of the second, and an input."""
    generator, judge = nn.Linear(2, 3), nn.Linear(3, 1)
    for number, parameter in enumerate((*generator.parameters(), *judge.parameters())):
        nn.init.constant_(parameter, weight * (number + 1))
    optimizer = torch.optim.SGD(judge.parameters(), lr=0.1)
    noises = torch.full((4, 2), noise)
    return {"generator": generator, "judge": judge, "optimizer": optimizer, "noise": noises}


exercise = Exercise(
    goal="`judge` takes a step that lowers its score. Then `generator` has the gradient of "
    "`-score` from `judge` as it is after that step, and no other.",
    given=[players(0.5, 1.0), players(-0.3, 2.0)],
    judged=("judge.weight", "judge.bias", "generator.weight.grad", "generator.bias.grad"),
    hints=[
        "Which line writes a tensor that the graph of `score` has saved?",
        "`score` was computed with the weights before `optimizer.step()`. No switch brings a graph "
        "with the new ones: only a forward pass makes it.",
        "Compute the score again after the step. And see that the first backward leaves nothing in "
        "the generator: cut `fake` off for the first score.",
    ],
    why="A graph belongs to the weights it was made with: after a step there has to be a new "
    "forward pass.",
    step="backward:2",
)


@exercise.broken
def program(generator, judge, optimizer, noise):
    fake = generator(noise)
    score = judge(fake).mean()
    score.backward(retain_graph=True)
    optimizer.step()
    generator_loss = -score
    generator_loss.backward()


@exercise.solution
def detached(generator, judge, optimizer, noise):
    fake = generator(noise)
    judge(fake.detach()).mean().backward()
    optimizer.step()
    (-judge(fake).mean()).backward()


@exercise.solution
def zeroed(generator, judge, optimizer, noise):
    score = judge(generator(noise)).mean()
    score.backward()
    optimizer.step()
    generator.zero_grad()
    score = judge(generator(noise)).mean()
    (-score).backward()


@exercise.solution
def not_recorded(generator, judge, optimizer, noise):
    with torch.no_grad():
        fake = generator(noise)
    judge(fake).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    (-judge(generator(noise)).mean()).backward()


@exercise.solution
def only_for_the_judge(generator, judge, optimizer, noise):
    fake = generator(noise)
    judge(fake).mean().backward(inputs=list(judge.parameters()))
    optimizer.step()
    (-judge(generator(noise)).mean()).backward()


@exercise.wrong_fix(
    "No step runs between judging and deceiving, so nothing is modified too early. But both "
    "backwards go through one old graph and cancel each other: neither the judge nor the generator "
    "gets anything."
)
def step_first(generator, judge, optimizer, noise):
    optimizer.step()
    score = judge(generator(noise)).mean()
    score.backward(retain_graph=True)
    (-score).backward()


@exercise.wrong_fix(
    "The second score is right. But the generator also has the gradient of the first backward, "
    "which went through the judge into it: gradients add up."
)
def both_gradients(generator, judge, optimizer, noise):
    score = judge(generator(noise)).mean()
    score.backward()
    optimizer.step()
    score = judge(generator(noise)).mean()
    (-score).backward()


@exercise.wrong_fix(
    "The generator is cut off in both turns. In the second one its gradient has to go through the "
    "judge into the generator."
)
def detached_twice(generator, judge, optimizer, noise):
    fake = generator(noise).detach()
    judge(fake).mean().backward()
    optimizer.step()
    (-judge(fake).mean()).backward()


@exercise.wrong_fix("Without `optimizer.step()` nothing is modified, and the judge does not learn.")
def no_step(generator, judge, optimizer, noise):
    judge(generator(noise).detach()).mean().backward()
    (-judge(generator(noise)).mean()).backward()


@exercise.wrong_fix(
    "The generator gets its gradient from the judge as it was before the step: its turn comes "
    "after the step."
)
def generator_first(generator, judge, optimizer, noise):
    (-judge(generator(noise)).mean()).backward()
    optimizer.zero_grad()
    judge(generator(noise).detach()).mean().backward()
    optimizer.step()
