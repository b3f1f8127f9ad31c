"""Features of a finished model are made under inference mode, and a new layer may not save them."""

import torch
from torch import nn

from gradviz.teach.repair.exercise import Exercise


def parts(weight: float, value: float) -> dict[str, object]:
    """A finished layer, a new one, and an input."""
    finished, top = nn.Linear(4, 3), nn.Linear(3, 1)
    for number, parameter in enumerate((*finished.parameters(), *top.parameters())):
        nn.init.constant_(parameter, weight * (number + 1))
    return {"finished": finished, "top": top, "x": torch.full((2, 4), value)}


exercise = Exercise(
    goal="`top` has the gradients of the loss, and the parameters of `finished` have none.",
    given=[parts(0.5, 1.0), parts(-0.25, 3.0)],
    hints=[
        "Which line raises, and what does the node of `top` want to save there?",
        "The gradient of `top.weight` is made with `features`. Results of `inference_mode` have no "
        "version, so a node may not save them.",
        "Another of the four switches leaves the finished part unrecorded and makes tensors like "
        "any other; or turn off the flags of `finished`.",
    ],
    why="What is trained with later must be a tensor that may be saved: `no_grad()` makes such "
    "ones, `inference_mode()` does not.",
    step="backward",
    player_hide=["versions"],
)


@exercise.broken
def program(finished, top, x):
    with torch.inference_mode():
        features = finished(x)
    loss = top(features).sum()
    loss.backward()
    return loss


@exercise.solution
def not_recorded(finished, top, x):
    with torch.no_grad():
        features = finished(x)
    loss = top(features).sum()
    loss.backward()
    return loss


@exercise.solution
def frozen(finished, top, x):
    finished.requires_grad_(False)
    features = finished(x)
    loss = top(features).sum()
    loss.backward()
    return loss


@exercise.solution
def cut_off(finished, top, x):
    features = finished(x).detach()
    loss = top(features).sum()
    loss.backward()
    return loss


@exercise.solution
def copied(finished, top, x):
    with torch.inference_mode():
        features = finished(x)
    loss = top(features.clone()).sum()
    loss.backward()
    return loss


@exercise.wrong_fix(
    "`top` learns, and so does the finished part: without a block and with its flags on it is "
    "recorded like any other. `eval()` does not change that."
)
def no_switch(finished, top, x):
    finished.eval()
    features = finished(x)
    loss = top(features).sum()
    loss.backward()
    return loss


@exercise.wrong_fix(
    "Now nothing at all is recorded: the loss has no `grad_fn`, and backward has nowhere to begin. "
    "Only the finished part belongs into the block."
)
def all_in_a_block(finished, top, x):
    with torch.no_grad():
        features = finished(x)
        loss = top(features).sum()
    loss.backward()
    return loss


@exercise.wrong_fix(
    "The loss is right, but the top layer ran in the block as well and the error is caught: `top` "
    "has no gradient."
)
def caught(finished, top, x):
    with torch.inference_mode():
        loss = top(finished(x)).sum()
    try:
        loss.backward()
    except RuntimeError:
        pass
    return loss


@exercise.wrong_fix(
    "A flag does not help: outside of its block a tensor of `inference_mode` can neither be saved "
    "nor be made to require grad. Choose what makes `features`."
)
def flag_on(finished, top, x):
    with torch.inference_mode():
        features = finished(x)
    features.requires_grad_()
    loss = top(features).sum()
    loss.backward()
    return loss
