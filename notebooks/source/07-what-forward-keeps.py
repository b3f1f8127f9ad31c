# %% title-riddle [markdown]
# # 7. What forward keeps for backward
#
# `a` and `b` take 4 MiB each. The line `b = a * b` gives the name `b` to a third tensor of 4 MiB,
# and nobody has a name for the old `b`. Still 12 MiB are in use.
#
# Where does the old `b` go?

# %% setup-run
import weakref

import torch
from torch import nn

import gradviz

# %load_ext gradviz

# %% riddle-show claims=["D23"]
a = torch.full((1024, 1024), 2.0, requires_grad=True)
b = torch.full((1024, 1024), 3.0)
old_b = weakref.ref(b)  # watches, and keeps nothing in memory
b = a * b
print("the old b is in memory:", old_b() is not None)
gradviz.show(b, hide=["versions", "formula", "values"])

# %% riddle-picture [markdown]
# There it is: in the blue field `other` of `MulBackward0`, with 4 MiB and without a name. Forward
# has kept it. But why this one, and does every line keep one?


# %% riddle-predict tags=["hide-input"] claims=["D21", "D23"]
@gradviz.predict(
    "A third tensor is made, and the old `b` loses its name. How many MiB are in use then?",
    table={
        "b = a * b, only b requires grad": {"MiB": ("8", "12")},
        "b = a * b, both require grad": {"MiB": ("8", "12")},
        "b = a * b, none requires grad": {"MiB": ("8", "12")},
        "b = a + b, both require grad": {"MiB": ("8", "12")},
    },
    wrong={
        "b = a * b, only b requires grad": "The gradient of `b` is made with `a`. Only the "
        "gradient of `a` would be made with the old `b`.",
        "b = a * b, both require grad": "The gradient of `a` is made with the old `b`. That `a` is "
        "saved as well costs nothing: it has a name.",
        "b = a * b, none requires grad": "No gradient will be computed, so there is no node.",
        "b = a + b, both require grad": "An addition hands the gradient on as it is, and saves "
        "nothing.",
    },
    step=13,
    player_hide=["versions"],
)
def memory():
    def mib_in_use(operation, a_requires_grad, b_requires_grad):
        x = torch.ones((), requires_grad=a_requires_grad)
        y = torch.ones((), requires_grad=b_requires_grad)
        # Two results: a leaf would be kept by its AccumulateGrad, whatever is saved.
        a, b = torch.zeros(1024, 1024) + x, torch.zeros(1024, 1024) + y
        tensors = [weakref.ref(a), weakref.ref(b)]
        b = operation(a, b)
        tensors.append(weakref.ref(b))
        return 4 * sum(tensor() is not None for tensor in tensors)

    return {
        "b = a * b, only b requires grad": [mib_in_use(torch.mul, False, True)],
        "b = a * b, both require grad": [mib_in_use(torch.mul, True, True)],
        "b = a * b, none requires grad": [mib_in_use(torch.mul, False, False)],
        "b = a + b, both require grad": [mib_in_use(torch.add, True, True)],
    }


# %% result [markdown]
# ## Input or result?
#
# A derivative may need the input of the operation, its result, or neither. You need no table: write
# the slope down. If the result is in it already, nobody computes it again from the input.


# %% result-predict tags=["hide-input"] claims=["D12", "D16"] confusions=[9]
@gradviz.predict(
    "Each of these nodes but two has saved a tensor. Which have saved their result?",
    click="nodes",
    hide=["grad", "saved", "versions", "formula", "values"],
    wrong={
        "ExpBackward0": "The slope of `exp` is its result.",
        "SinBackward0": "The slope is the cosine of the input. The sine does not even say its "
        "sign: the input is saved.",
        "SigmoidBackward0": "The slope is s * (1 - s), where s is the result.",
        "PowBackward0": "The slope is twice the input, so the input is saved.",
        "AddBackward0": "The slope is 1: nothing is saved.",
        "SumBackward0": "The slope is 1 everywhere; the shape is enough, and a shape is no tensor.",
    },
    player_hide=["versions"],
)
def results():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    e = x.exp()
    s = e.sin()
    g = s.sigmoid()
    p = g**2
    out = (p + 1).sum()
    return [t.grad_fn for t in (e, s, g, p, out) if hasattr(t.grad_fn, "_saved_result")]


# %% network [markdown]
# ## A small network
#
# Two rules: a node saves only for inputs that need a gradient, and then what their slope is made
# with. Put them together.


# %% network-predict tags=["hide-input"] claims=["D21"]
@gradviz.predict(
    "Which tensors does this forward pass keep for backward?",
    tick={
        "x": "The gradient of `w1` is made with `x`.",
        "w1": "The gradient of `x` would be made with it, and `x` needs none.",
        "h": "`relu` saves its result: the gradient passes where that is above 0.",
        "r": "`relu` has saved it, and the second product needs it for `w2`. It is one tensor, "
        "saved twice.",
        "w2": "The gradient of `r` is made with it, on the way to `w1`.",
        "out": "A sum needs the shape of what it adds, and nobody comes after it.",
    },
    player_hide=["versions"],
)
def forward():
    x = torch.ones(4, 3)
    w1 = torch.ones(3, 3, requires_grad=True)
    w2 = torch.ones(3, 1, requires_grad=True)
    h = x @ w1
    r = h.relu()
    out = (r @ w2).sum()
    return [
        t.name
        for names in [{"x": x, "w1": w1, "h": h, "r": r, "w2": w2, "out": out}]
        for graph in [gradviz.snapshot(out, names=names)]
        for t in graph.tensors
        if t.storage in {s.storage for n in graph.nodes for s in n.saved if s.state == "held"}
    ]


# %% watch [markdown]
# **Watch.** One step of training. Open *Memory* below the player and go *Forward*: when does the
# graph hold the most, and which node gives something back?

# %% watch-show claims=["C21"] confusions=[9]
# %%gradviz --step 4 --hide versions --hide source --hide values
x = torch.ones(64, 16)
w1 = torch.full((16, 16), 0.1, requires_grad=True)
w2 = torch.full((16, 1), 0.1, requires_grad=True)
r = (x @ w1).relu()
loss = (r @ w2).square().mean()
loss.backward()

# %% watch-explain [markdown]
# **In a sentence:** a node keeps what the gradients of its inputs are made with, the input or the
# result, mostly for inputs that need one only, and from forward until it has run in backward.
#
# ## How much is it?
#
# Eight layers, each with a weight of 1 MiB; the batch grows:

# %% much-run claims=["C21"]
model = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(512, 512), nn.ReLU())))
for size in (1, 16, 256, 1024):
    graph = gradviz.snapshot(model(torch.ones(size, 512)))
    print(f"batch of {size:4}: {graph.saved_bytes / 2**20:5.1f} MiB")

# %% much-explain [markdown]
# Seven weights are in it, which exist anyway. (Why seven of eight? Nobody wants the gradient of the
# input, so the first weight is not saved.) The rest is what training costs beyond using the
# network, and it grows with the batch.
#
# ## No copy
#
# Saving takes next to no time, since nothing is copied:

# %% copy-run claims=["D13", "D17"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
square = x.pow(2)
print("saved is x itself:", square.grad_fn._saved_self is x)

# %% repair [markdown]
# ## Repair
#
# So what happens to a saved tensor that somebody writes? This program computes log(1 + e^x), with
# an addition in place to save memory. Backward raises. (The explanation, after three hints, has
# `v0` and `v1`: they count the writes to a tensor. More in lesson 10.)


# %% repair-try claims=["B28"]
@gradviz.repair("add-in-place")
def program(x):
    e = x.exp()
    e.add_(1)
    loss = e.log().sum()
    loss.backward()
    return loss


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild:** "A frozen layer keeps nothing for backward, since there is no gradient to
# compute for it." Would you bet on it?


# %% bet-predict tags=["hide-input"] claims=["E8"]
@gradviz.predict(
    "`frozen` does not require grad. What has the node of `out` saved?",
    choose={
        "nothing": "Then no gradient could pass to `h`, and `first` would learn nothing.",
        "h": "The gradient of `frozen` would be made with `h`, and nobody asks for it.",
        "frozen": "The gradient of `h` is made with `frozen`, on its way to `first`: the statement "
        "is false. It is true only of layers before the first one that is trained.",
        "h and frozen": "`h` would be for the gradient of `frozen`, and nobody asks for it.",
    },
    player_hide=["versions"],
)
def frozen_layer():
    x = torch.ones(4, 2)
    first = torch.ones(2, 3, requires_grad=True)
    frozen = torch.ones(3, 2)
    h = x @ first
    out = h @ frozen
    return " and ".join(
        name
        for name, t in {"h": h, "frozen": frozen}.items()
        if out.grad_fn._saved_self is t or out.grad_fn._saved_mat2 is t
    )


# %% remember [markdown]
# ## Remember
#
# A node saves what the gradients of its inputs are made with, by reference; where no gradient has
# to pass, there is no node and nothing is saved. In most networks this memory grows with the batch,
# is most at the end of forward if no checkpoint computes it later, and goes node by node in
# backward.

# %% own-code [markdown]
# ## Try it in your own code
#
# Print `gradviz.snapshot(loss).saved_bytes` for your loss, then for half of the batch. What does
# not become less are weights.
#
# **Next:** [8. Four switches that are not the same](08-four-switches.ipynb). More:
# [what a node saves](howto/what-a-node-saves.ipynb), [keep less](howto/keep-less.ipynb).
