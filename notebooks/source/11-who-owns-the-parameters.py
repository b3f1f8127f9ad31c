# %% title-riddle [markdown]
# # 11. Who owns the parameters?
#
# The weight of a layer is set to 0.5, and the layer is trained. The loss is finite, gradients
# arrive, `step()` runs, and nothing is raised. The bias moves. The weight stays 0.5, however long
# you train.
#
# Who was supposed to move it?

# %% setup-run
import torch
from torch import nn
from torch.optim import SGD

import gradviz

# %load_ext gradviz

x = torch.ones(1, 1)

# %% riddle-show claims=["D45"]
torch.manual_seed(0)
layer = nn.Linear(1, 1)
optimizer = SGD(layer.parameters(), lr=0.1)
layer.weight = nn.Parameter(torch.tensor([[0.5]]))
loss = layer(x).sum()
loss.backward()
optimizer.step()
gradviz.show(loss, hide=["saved", "versions"])

# %% riddle-picture [markdown]
# The graph is whole: it leads to both leaves, and both have a `.grad` of 1. The step has changed
# `layer.bias`, and `layer.weight` is still 0.5. So the fault is not in the graph.


# %% holds-predict tags=["hide-input"] claims=["D51"]
@gradviz.predict(
    "An optimizer lists the tensors that it will change. Which of these are true?",
    tick={
        "first is old": "The list was made with the optimizer, and holds the tensors of that "
        "moment.",
        "first is layer.weight": "The layer got another tensor later. Nobody told the optimizer.",
        "second is layer.bias": "The bias is what it was, so the layer and the optimizer hold the "
        "same tensor.",
        "old.grad is None": "Backward goes where forward came from, and forward used the new "
        "weight. `step()` skips a tensor without a gradient, and says nothing.",
    },
    step="backward",
)
def holds():
    layer = nn.Linear(1, 1)
    old = layer.weight
    optimizer = SGD(layer.parameters(), lr=0.1)
    layer.weight = nn.Parameter(torch.tensor([[0.5]]))
    layer(x).sum().backward()
    first, second = optimizer.param_groups[0]["params"]
    return [
        name
        for name, is_so in {
            "first is old": first is old,
            "first is layer.weight": first is layer.weight,
            "second is layer.bias": second is layer.bias,
            "old.grad is None": old.grad is None,
        }.items()
        if is_so
    ]


# %% watch [markdown]
# **Watch.** Two steps of training, with a good start for the weight. Go *Forward* to each
# `optimizer.step()`: which tensors does it write?

# %% watch-show claims=["D45"]
# %%gradviz --step 2 --hide source
optimizer = SGD(layer.parameters(), lr=0.1)
layer.weight = nn.Parameter(torch.tensor([[0.7]]))
for _ in range(2):
    optimizer.zero_grad()
    layer(x).square().sum().backward()
    optimizer.step()

# %% watch-explain [markdown]
# `zero_grad()` misses the new weight too, so its gradient grows with every step.
#
# **In a sentence:** a module knows its parameters by name, an optimizer holds the tensors
# themselves. `layer.weight = …` gives the name to another tensor, and the optimizer keeps the old
# one.
#
# ## Four ways to start
#
# A tutorial compared a new parameter with one that is written in place, and made a new optimizer
# only for the second. That changes two things at once. Here is each on its own.


# %% start-predict tags=["hide-input"] claims=["D45", "D46"]
@gradviz.predict(
    "The gradient is 1. What are the four weights after the step?",
    typed="weights",
    wrong={
        "[0.5, 0.5, 0.4, 0.4]": "An optimizer that is made afterwards holds the new parameter.",
        "[0.5, 0.4, 0.5, 0.4]": "A write in place changes numbers. The tensor is the one that the "
        "optimizer holds.",
        "[0.5, 0.5, 0.5, 0.4]": "Each of the two alone is enough.",
        "[0.4, 0.4, 0.4, 0.4]": "The first optimizer holds a parameter that the layer no longer "
        "has.",
        "[0.5, 0.5, 0.5, 0.5]": "Only one of the four optimizers holds another tensor than the "
        "layer.",
    },
    why="Only a new parameter after the optimizer was made is lost. `nn.init`, `copy_`, `fill_` "
    "and `load_state_dict` write in place, and are safe at any time.",
)
def start():
    weights = []
    for in_place, made_again in ((False, False), (False, True), (True, False), (True, True)):
        layer = nn.Linear(1, 1)
        optimizer = SGD(layer.parameters(), lr=0.1)
        if in_place:
            nn.init.constant_(layer.weight, 0.5)
        else:
            layer.weight = nn.Parameter(torch.tensor([[0.5]]))
        if made_again:
            optimizer = SGD(layer.parameters(), lr=0.1)
        layer(x).sum().backward()
        optimizer.step()
        weights.append(layer.weight.item())
    return weights


# %% freeze [markdown]
# ## Freeze a part
#
# Fine-tuning trains some parameters and leaves the others alone. Here the middle of three layers is
# to stay as it is, once with its flags and once with a switch.


# %% freeze-predict tags=["hide-input"] claims=["C26", "D31"] confusions=[6]
@gradviz.predict(
    "`a`, `b`, `c` are three layers, and so are `d`, `e`, `f`. Which weights have a `.grad`?",
    table={
        "a": {".grad": ("None", "a tensor")},
        "b": {".grad": ("None", "a tensor")},
        "c": {".grad": ("None", "a tensor")},
        "d": {".grad": ("None", "a tensor")},
        "e": {".grad": ("None", "a tensor")},
        "f": {".grad": ("None", "a tensor")},
    },
    wrong={
        "a": "`b` is frozen, and its operation is recorded all the same, since its input requires "
        "grad. The gradient passes through `b` on its way to `a`.",
        "b": "Its flag is `False`, so nothing accumulates.",
        "d": "Under `no_grad()` nothing is recorded, so the graph ends behind `e`: all that comes "
        "before is cut off as well.",
        "e": "Its operation was not recorded.",
    },
    why="Freeze with `requires_grad_(False)`. The switch freezes everything before it, too.",
    step="backward:2",
)
def freeze():
    a, b, c, d, e, f = (nn.Linear(1, 1) for _ in range(6))
    b.requires_grad_(False)
    c(b(a(x))).sum().backward()
    h = d(x)
    with torch.no_grad():
        h = e(h)
    f(h).sum().backward()
    return {
        name: {".grad": "None" if one.weight.grad is None else "a tensor"}
        for name, one in zip("abcdef", (a, b, c, d, e, f))
    }


# %% repair [markdown]
# ## Repair
#
# The weight is to begin at zero and to learn. There is more than one way.


# %% repair-try
@gradviz.repair("replaced-weight")
def program(layer, x, y):
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer.weight = nn.Parameter(torch.zeros(1, 2))
    for _ in range(2):
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        optimizer.step()


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild:** "If `requires_grad` is `False`, `.grad` is always `None`." So what is
# frozen stays as it is. Would you bet on it?


# %% bet-predict tags=["hide-input"] claims=["D3"] refutes=["D3"]
@gradviz.predict(
    "The weight is frozen between backward and step. What happens?",
    choose={
        "w.grad is None, w stays 1.0": "The flag stops new gradients. It clears none.",
        "w.grad is 2.0, w stays 1.0": "An optimizer asks for `.grad`, and never for the flag.",
        "w.grad is 2.0, w becomes 0.8": "The statement is false: the old gradient stays, and "
        "`step()` uses it. Type `w.grad = None` when you freeze.",
        "step() raises RuntimeError": "A `.grad` is all that an optimizer asks for.",
    },
)
def stale():
    w = torch.tensor(1.0, requires_grad=True)
    optimizer = SGD([w], lr=0.1)
    (2 * w).backward()
    w.requires_grad_(False)
    optimizer.step()
    return f"w.grad is {w.grad}, w {'stays' if w == 1 else 'becomes'} {w:.1f}"


# %% remember [markdown]
# ## Remember
#
# An optimizer owns a list of tensors and updates each that has a `.grad`, whatever the names of the
# module and the flags say. Write into a parameter instead of replacing it, freeze with
# `requires_grad_(False)`, and set `.grad` to `None` when you do.

# %% own-code [markdown]
# ## Try it in your own code
#
# Call `gradviz.audit(loss, model, optimizer)` after the first step of a training of yours. Is every
# parameter updated that you want to train, and no other?
#
# **Next:** [12. Hunting in real code](12-hunting-in-real-code.ipynb). More:
# [fine-tune a ResNet-18](howto/fine-tune-a-resnet-18.ipynb),
# [what the optimizer holds](howto/what-the-optimizer-holds.ipynb).
