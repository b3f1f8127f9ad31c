# %% title-riddle [markdown]
# # 3. backward(): who gets a gradient?
#
# `y`, `z` and `out` require grad, and backward computes the gradient of each on its way. Afterwards
# `.grad` is there for some of them, and `None` for the others.
#
# How can a gradient be computed and not be there afterwards?

# %% setup-run
import warnings

import torch

import gradviz

# %load_ext gradviz

warnings.filterwarnings("ignore", "The .grad attribute")  # torch warns of the riddle

# %% riddle-show claims=["B11", "B12"]
y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
z = 2 * y + 1
out = z.sum()
gradviz.show(out, hide=["saved", "values"])

# %% riddle-picture [markdown]
# New in the picture: under the name of a node is what it will do. Backward gives it a gradient,
# *grad*, and the line says what it hands on to each input; a dotted input gets none. Backward
# starts at `out` with a 1 and goes up.


# %% riddle-predict tags=["hide-input"] claims=["A14", "B5", "B13", "C31", "D24", "E18"]
@gradviz.predict(
    "Two more tensors, `x` and `u`. Which of the five have a `.grad` after `out.backward()`?",
    tick={
        "y": "A leaf that requires grad has an `AccumulateGrad` node, and that writes `.grad`.",
        "x": "`x` is a leaf, and it does not require grad: no gradient is computed for it.",
        "u": "`u` is a leaf that requires grad, but no way leads from `out` to it.",
        "z": "A gradient passes here. `AddBackward0` hands it on, and nobody writes it down.",
        "out": "The 1 that backward starts with is handed on, and not written down.",
    },
    player_hide=["saved", "versions"],
)
def grads():
    y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x, u = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    z = 2 * y + 1
    out = (z * x).sum()
    out.backward()
    return [
        name
        for name, t in {"y": y, "x": x, "u": u, "z": z, "out": out}.items()
        if t.grad is not None
    ]


# %% numbers [markdown]
# ## With numbers
#
# The gradient of `a` says how fast `out2` follows when `a` moves. Each node computes one step of
# that, the chain rule does the rest.


# %% numbers-predict tags=["hide-input"] claims=["A3", "A5", "A13", "C32"]
@gradviz.predict(
    "What are `a.grad`, `b.grad` and `c.grad`?",
    typed="[a.grad, b.grad, c.grad]",
    wrong={
        "[2, 3, 5]": "These are the values. A gradient says how fast `out2` follows.",
        "[2, 3, 1]": "`a` is multiplied by `b`, so it moves `out2` at the rate `b`.",
        "[1, 1, 1]": "1 arrives at the product. From there `a` gets 1 times `b`.",
        "[None, None, 1]": "`c` is nearest to the end, but backward continues to every leaf that "
        "requires grad.",
    },
    why="`a` moves `out2` at the rate `b`, and `b` at the rate `a`; `c` moves it one to one. All "
    "three are leaves, and each gets its own: there is no final leaf.",
    player_hide=["saved", "versions"],
)
def numbers():
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    c = torch.tensor(5.0, requires_grad=True)
    out1 = a * b
    out2 = out1 + c
    out2.backward()
    return [a.grad, b.grad, c.grad]


# %% watch [markdown]
# **Watch.** A cell that begins with `%%gradviz` is recorded while it runs. The player opens where
# backward starts; *Back* leads through the lines that made the graph, *Forward* through backward,
# node by node, to the optimizer. Which step changes `w`? (`@v0` is explained in lesson 10.)

# %% watch-show claims=["C1", "C3", "C33"] confusions=[11]
# %%gradviz --step backward --hide saved --hide source
w = torch.tensor(3.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.SGD([w, b], lr=0.1)
loss = (w * 2 + b) ** 2
loss.backward()
optimizer.step()

# %% watch-explain [markdown]
# **In a sentence:** every node is given a gradient and hands one on, but only `AccumulateGrad`
# writes it down, and only a leaf that requires grad has one.
#
# Backward changes no parameter. It writes `.grad`; the optimizer reads it.

# %% by-hand [markdown]
# ## By hand
#
# A node can be called like a function: give it the gradient that arrives, and it returns those that
# leave. Backward is no more than this, from the root to each leaf.
#
# Backward starts at a loss with a 1, which torch supplies. At a result of several elements you say
# with what: `out.backward(gradient=…)`, a number for each.

# %% by-hand-run claims=["C29", "D8", "D10", "E13", "E15"] confusions=[11]
p = torch.tensor(1.0, requires_grad=True)
out = (2 * p).exp()
exp = out.grad_fn
mul = exp.next_functions[0][0]
accumulate = mul.next_functions[0][0]
gradient = exp(torch.ones_like(out))
print(f"exp hands on {gradient:.4f}")
gradient, for_the_2 = mul(gradient)
print(f"mul hands on {gradient:.4f} to p, and {for_the_2} to the constant")
accumulate(gradient)
print(f"p.grad is    {p.grad:.4f}")

# %% hook [markdown]
# ## On the way
#
# `register_hook` gives torch a function of yours. Backward calls it with the gradient that arrives
# at the tensor. What it returns, if anything, travels on in place of it.


# %% hook-predict tags=["hide-input"] claims=["A18", "A20"]
@gradviz.predict(
    "The function returns ten times the gradient. What are `a.grad` and `c.grad`?",
    choose={
        "3, 1": "A hook that returns a gradient replaces the one that passes.",
        "30, 10": "The gradient of `c` does not pass `out1`.",
        "30, 1": "10 travels on to `a` and `b` in place of 1. `c` is on another way.",
        "300, 1": "The hook is called once: one gradient arrives at `out1`.",
    },
    step="MulBackward0",
    player_hide=["saved", "versions"],
)
def hook():
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    c = torch.tensor(5.0, requires_grad=True)
    out1 = a * b
    out1.register_hook(lambda arriving: arriving * 10)
    out2 = out1 + c
    out2.backward()
    return f"{a.grad:g}, {c.grad:g}"


# %% repair [markdown]
# ## Repair
#
# Somebody wants the gradient of a result, as you did, and gets `None`. torch has more than one way
# to keep it. Change the program and run the cell again.


# %% repair-try
@gradviz.repair("inside-gradient")
def program(w, x):
    h = w * x
    loss = (h * h).sum()
    loss.backward()
    return h.grad


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild:** "To accumulate gradients in intermediate results, set `.retain_graph` to
# True." Would you bet on it?


# %% bet-predict tags=["hide-input"] claims=["D25"] refutes=["D25"]
@gradviz.predict(
    "What is `z.grad` after this?",
    choose={
        "[1, 1]": "So it would be after `z.retain_grad()`.",
        "None": "The statement is false. Python lets you put any attribute on a tensor, and torch "
        "never looks at this one. The call is `z.retain_grad()`.",
        "AttributeError": "Nothing is raised, and that is the trap: Python lets you put any "
        "attribute on a tensor.",
    },
    player_hide=["saved", "versions"],
)
def wrong_name():
    y = torch.ones(2, requires_grad=True)
    z = 2 * y
    z.retain_graph = True
    z.sum().backward()
    return "None" if z.grad is None else str(z.grad.int().tolist())


# %% remember [markdown]
# ## Remember
#
# In backward a gradient passes from node to node; `loss.backward()` writes it down only at leaves
# that require grad, and where you have called `retain_grad()`. In between a hook may look at it,
# keep it or replace it; else it is gone.

# %% own-code [markdown]
# ## Try it in your own code
#
# Put `%%gradviz` above a cell with one training step of yours, and step to the node where the
# gradient of your first layer becomes very small, or very large.
#
# **Next:** [4. Twice through the same graph](04-twice-through-the-same-graph.ipynb). More:
# [watch gradients pass](howto/watch-gradients.ipynb),
# [start and end backward elsewhere](howto/start-and-end-of-backward.ipynb).
