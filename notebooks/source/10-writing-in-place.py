# %% title-riddle [markdown]
# # 10. Writing in place: the version counter and the moving arrow
#
# `h.add_(1)` writes into a result that is already there, and raises nothing. Later, in
# `backward()`, it sometimes bites: an error, many lines away from the write.
#
# When does it bite?

# %% setup-run
import torch

import gradviz

# %load_ext gradviz

# %% riddle-show claims=["D41", "E25"]
a = torch.tensor([1.0, 2.0], requires_grad=True)
product = a * 2
product.add_(1)
power = a.exp()
power.add_(1)
gradviz.show(product, power, hide=["formula", "values"])

# %% riddle-picture [markdown]
# New in the picture: **versions**. A tensor has a counter, `v0` at first, and each write in place
# adds 1. A node that saves a tensor notes its version too. The two additions are the same, and at
# one node something is marked. (For a tensor, `h += 1` is the same as `h.add_(1)`.)


# %% when-predict tags=["hide-input"] claims=["D6", "D14", "D41", "E25"] confusions=[1, 12]
@gradviz.predict(
    "`a` is a leaf that requires grad. When does each program raise?",
    table={
        "h = a.sin(); h += 1": {"raises": ("at once", "in backward", "never")},
        "h = a.tanh(); h += 1": {"raises": ("at once", "in backward", "never")},
        "h = a.exp(); h *= 2; h /= 2": {"raises": ("at once", "in backward", "never")},
        "h = a.exp(); h = h + 1": {"raises": ("at once", "in backward", "never")},
        "h = a; h += 1": {"raises": ("at once", "in backward", "never")},
    },
    wrong={
        "h = a.sin(); h += 1": "`SinBackward0` saved its input, `a`. Nobody wrote to that.",
        "h = a.tanh(); h += 1": "`TanhBackward0` saved its result, which is `h`.",
        "h = a.exp(); h *= 2; h /= 2": "The numbers are back, and the version is 2. torch "
        "counts writes: to compare numbers would take too long.",
        "h = a.exp(); h = h + 1": "`+` makes a new tensor, and the old one is as it was.",
        "h = a; h += 1": "A recorded write makes a result of what is written, and a leaf that "
        "requires grad has to stay a leaf.",
    },
    why="Ask two questions: had a node saved this very tensor, and is it a leaf that requires "
    "grad?",
)
def when():
    def raises(code):
        names = {"a": torch.tensor([1.0, 2.0], requires_grad=True)}
        try:
            exec(code, names)
        except RuntimeError:
            return "at once"
        try:
            names["h"].sum().backward()
        except RuntimeError:
            return "in backward"
        return "never"

    return {
        code: [raises(code)]
        for code in (
            "h = a.sin(); h += 1",
            "h = a.tanh(); h += 1",
            "h = a.exp(); h *= 2; h /= 2",
            "h = a.exp(); h = h + 1",
            "h = a; h += 1",
        )
    }


# %% arrow [markdown]
# ## The moving arrow
#
# A write is an operation, and it is recorded like every other. But it makes no new tensor: so to
# which node does the arrow of `h`, its `grad_fn`, point then?


# %% arrow-predict tags=["hide-input"] claims=["E26"]
@gradviz.predict(
    "What is `h.grad_fn` after `h.mul_(3)`, with `old` the one before?",
    choose={
        "old": "Then backward would know nothing of the 3.",
        "a new node, and old is not in the graph": "Then the path to `w` would be lost.",
        "a new node, which points to old": "The name stays, the arrow moves: `h` is the result of "
        "two products now.",
    },
    step=4,
)
def arrow():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 2
    old = h.grad_fn
    h.mul_(3)
    return {
        (True, False): "old",
        (False, False): "a new node, and old is not in the graph",
        (False, True): "a new node, which points to old",
    }[h.grad_fn is old, h.grad_fn.next_functions[0][0] is old]


# %% watch [markdown]
# **Watch.** `b` is a slice of `h`: both share memory, and a version. The picture has each tensor in
# the node of its `grad_fn`. Go *Forward* to the write: where are *both* now? What is the gradient
# of `w`?

# %% watch-show claims=["E26", "E28"]
# %%gradviz --step 2 --hide formula --hide source
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
b = h[0]
b.mul_(5)
h.sum().backward()

# %% watch-explain [markdown]
# **In a sentence:** a write adds 1 to the version of what it writes, and moves the arrow of that
# tensor and of its views to a new node; a node that had saved an older version raises when backward
# comes to it.
#
# ## Who raises?
#
# torch's message names a shape and two versions, and neither a line nor a variable. You can do
# better.


# %% who-predict tags=["hide-input"] claims=["B29", "D14"] confusions=[1]
@gradviz.predict(
    "Backward raises, and torch does not say in which node. Click it.",
    click="node",
    wrong={
        "MulBackward0": "It saved `y` and `h` after the write: its versions are the current ones.",
        "ExpBackward0": "It saved its result, `h`, before the write, and would raise. But it waits "
        "for a gradient from `SinBackward0`, and that never comes.",
        "AddBackward0": "It has saved nothing.",
        "SumBackward0": "It has saved nothing but a shape.",
    },
    why="`SinBackward0` saved its input, `h`, at version 0. It is the first on the way of the "
    "gradient that finds version 1.",
)
def who():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a.exp()
    y = h.sin()
    h.add_(1)
    out = (y * h).sum()
    out.backward()


# %% repair [markdown]
# ## Repair
#
# The first number is to count five times. Backward raises, and no line writes to `h` by its name.
# Change the program and run the cell again.


# %% repair-try claims=["D47"]
@gradviz.repair("write-a-slice")
def program(x):
    h = x.tanh()
    first = h[0]
    first.mul_(5)
    loss = h.sum()
    loss.backward()
    return loss


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild:** "Under `no_grad` an in-place write to a leaf is allowed, because
# `requires_grad` is made False there." So nothing can go wrong. Would you bet on it?


# %% bet-predict tags=["hide-input"] claims=["D43", "D44"]
@gradviz.predict(
    "What is `flag`, and what does backward do?",
    choose={
        "flag is False, backward works": "The block switches recording off, and no flag.",
        "flag is False, backward raises": "The block switches recording off, and no flag.",
        "flag is True, backward works": "The write is not recorded, but it is counted: "
        "`MulBackward0` had saved `w`.",
        "flag is True, backward raises": "The statement is false. Nothing is recorded, so no arrow "
        "has to move: that is why it is allowed. And the version counts every write.",
    },
)
def under_no_grad():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    with torch.no_grad():
        w += 5
        flag = w.requires_grad
    try:
        loss.backward()
        works = "works"
    except RuntimeError:
        works = "raises"
    return f"flag is {flag}, backward {works}"


# %% remember [markdown]
# ## Remember
#
# A recorded write in place moves the arrow to a new node, and raises at once where it cannot, as at
# a leaf that requires grad; it raises in `backward()` when a node that runs had saved that tensor
# before; else the gradient is right. A write under `no_grad`, or through `detach()` or `.data`, is
# not in the graph of that tensor: its gradient can be wrong without an error.

# %% own-code [markdown]
# ## Try it in your own code
#
# Search for `+=` and for methods that end in an underscore, between a forward and its backward. For
# each: which node saved that tensor? `gradviz.explain()` after an error names it, and the line.
#
# **Next:** [11. Who owns the parameters?](11-who-owns-the-parameters.ipynb) More:
# [views and in-place in depth](howto/views-and-in-place.ipynb),
# [GAN and RL steps](howto/gan-and-rl-steps.ipynb).
