# %% title-riddle [markdown]
# # 1. Which tensors remember?
#
# `x` requires grad. Backward runs, and nothing is raised. Then `x.grad` is `None`.
#
# The gradient was computed, and it is in memory. Where is it? In fifteen minutes you can answer
# that for any line of torch, before running it.

# %% setup-run
import warnings

import torch

import gradviz

warnings.filterwarnings("ignore", "The .grad attribute")  # torch warns here; find out why first

# %% riddle-show claims=["E1"]
x = torch.ones(3, requires_grad=True).double()
out = (x * x).sum()
gradviz.show(out, hide=["formula", "saved"])

# %% riddle-picture [markdown]
# This is the graph behind `out`. Data flows from top to bottom: a box for each operation that torch
# has recorded, with the tensor that it made. The words at the arrows are torch's names for the
# inputs, and `root` is where backward will start. `t2` is a tensor to which no line gave a name.
# Now backward:

# %% riddle-run claims=["E1"]
out.backward()
print("x.grad:", x.grad)


# %% riddle-predict tags=["hide-input"] claims=["E1"] confusions=[3]
@gradviz.predict(
    "The same program, with a name for each tensor. Which of the three has the gradient?",
    choose={
        "x": "`.double()` is an operation like any other, and it was recorded. `x` is its result, "
        "and a result does not keep its gradient.",
        "out": "Backward starts there with a 1, and hands it on.",
        "start": "No operation made it, and it requires grad. Without a name nobody can ask it "
        "for its gradient.",
        "none of them": "Backward computed a gradient and wrote it down. Follow the boxes to the "
        "last one.",
    },
    player_hide=["formula", "source", "hooks", "saved", "versions"],
)
def where():
    start = torch.ones(3, requires_grad=True)
    x = start.double()
    out = (x * x).sum()
    out.backward()
    return next(
        (n for n, t in {"start": start, "x": x, "out": out}.items() if t.grad is not None),
        "none of them",
    )


# %% flag [markdown]
# ## One flag
#
# `requires_grad` asks torch to record what is computed from a tensor. You set it when you make the
# tensor, or later with `requires_grad_()`; the underscore says that this changes the tensor itself.
# A result takes it over from its inputs, if its dtype can have a gradient: floats can, ints and
# bools cannot.


# %% switch-predict tags=["hide-input"] claims=["B1", "B2", "C11"]
@gradviz.predict(
    "What are `before.requires_grad` and `after.requires_grad`?",
    choose={
        "False, False": "The second sum has an input that requires grad: `x`, since the line above "
        "it.",
        "True, True": "The first sum is finished when the flag changes. Nobody computes it again.",
        "False, True": "The flag is read while an operation runs. What was computed earlier stays "
        "as it was.",
    },
    player_hide=["formula", "source", "hooks", "saved", "versions"],
)
def switch():
    x = torch.ones(1)
    y = torch.ones(1)
    before = x + y
    x.requires_grad_()
    after = x + y
    return f"{before.requires_grad}, {after.requires_grad}"


# %% leaf [markdown]
# ## One word: leaf
#
# A recorded operation leaves a node in its result, `result.grad_fn`. A tensor whose `grad_fn` is
# `None` is a **leaf**. Nothing else counts: neither the flag, nor the place in the program.


# %% five-predict tags=["hide-input"] claims=["A4", "A6", "A7", "A10", "D4", "D20", "D22"]
@gradviz.predict(
    "Only the flag of `c` is set. Which of these require grad, and which are leaves?",
    table={
        "a": ("requires_grad", "is_leaf"),
        "c": ("requires_grad", "is_leaf"),
        "out1": ("requires_grad", "is_leaf"),
        "out2": ("requires_grad", "is_leaf"),
        "positive": ("requires_grad", "is_leaf"),
    },
    wrong={
        "a": "Nobody set its flag, and no operation made it.",
        "c": "It has the flag, and no operation made it: a leaf that requires grad.",
        "out1": "No input requires grad, so the product was not recorded: no `grad_fn`.",
        "out2": "One input that requires grad is enough: `AddBackward0` was recorded.",
        "positive": "An input requires grad, but a bool has no gradient, so nothing was recorded.",
    },
    player_hide=["formula", "source", "hooks", "saved", "versions"],
)
def five():
    a = torch.tensor(2.0)
    b = torch.tensor(3.0)
    c = torch.tensor(5.0, requires_grad=True)
    out1 = a * b
    out2 = out1 + c
    positive = out2 > 0
    return {
        name: (t.requires_grad, t.is_leaf)
        for name, t in {"a": a, "c": c, "out1": out1, "out2": out2, "positive": positive}.items()
    }


# %% three-watch [markdown]
# **Watch.** Now all three require grad. Take one flag away, say which boxes will go, and run the
# cell again. Can you get rid of one node and keep the other?

# %% three-show claims=["A11", "A12", "B15", "D5"]
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
c = torch.tensor(5.0, requires_grad=True)
out1 = a * b
out2 = out1 + c
print("out1 is a leaf:", out1.is_leaf, "  made by:", out1.grad_fn.name())
gradviz.show(out2, hide=["formula", "saved"])

# %% three-explain [markdown]
# **In a sentence:** an operation is recorded when an input requires grad and its result can have a
# gradient; a result that is not recorded is a leaf, like the tensors you make yourself.
#
# The official note on autograd says that an output does not require grad *only if* no input does.
# That is half the truth: look at `positive` again.

# %% repair [markdown]
# ## Repair
#
# Back to the riddle. The numbers have to be float64, and the gradient has to be where you look for
# it. (Moving to a GPU, after the flag, does the same as `.double()`.) Edit the program, and run the
# cell again.


# %% repair-try claims=["E1"]
@gradviz.repair("leaf-in-double")
def program(numbers):
    x = torch.tensor(numbers, requires_grad=True).double()
    (x * x).sum().backward()
    return x


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild:** "If `a` and `b` do not require grad, the *last* place where `requires_grad`
# is True becomes the leaf." Would you bet on it? If so, `end` is the only leaf here.


# %% bet-predict tags=["hide-input"] claims=["A9", "D4"] refutes=["A9"] confusions=[3]
@gradviz.predict(
    "Which of the five are leaves?",
    tick={
        "a": "No operation made it.",
        "v": "It requires grad, and no operation made it.",
        "u": "An operation made it, but neither input requires grad: no `grad_fn`.",
        "middle": "It has a `grad_fn`: one input, `v`, requires grad.",
        "end": "It is the last tensor with the flag, and it has a `grad_fn`: false. The statement "
        "would make it the only leaf, and it is none.",
    },
    player_hide=["formula", "source", "hooks", "saved", "versions"],
)
def last_place():
    a = torch.ones(2)
    v = torch.ones(2, requires_grad=True)
    u = a * 3
    middle = u + v
    end = middle * 2
    return [
        n for n, t in {"a": a, "v": v, "u": u, "middle": middle, "end": end}.items() if t.is_leaf
    ]


# %% remember [markdown]
# ## Remember
#
# A result remembers how it was made when an input requires grad, a gradient can pass and recording
# is on: it has a `grad_fn`. A tensor with no `grad_fn` is a leaf, and gradients end at leaves that
# require grad.

# %% own-code [markdown]
# ## Try it in your own code
#
# Write `gradviz.show(loss)` after your forward pass. A box at the top with a name such as
# `t2` is a leaf that you cannot reach: some line has made another tensor of it.
#
# **Next:** [2. Reading the graph](02-reading-the-graph.ipynb). More on flags:
# [how-to page](howto/leaves-and-flags.ipynb).
