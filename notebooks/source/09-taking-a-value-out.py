# %% title-riddle [markdown]
# # 9. Taking a value out: detach, .data, clone, numpy, item
#
# `c` is the value of `b`, taken out of the graph. Somebody writes zeros into `c`, and calls
# `backward()` on `b`. Three versions of this program differ in how `c` is taken out: one raises,
# one is silently wrong, one is right.
#
# Which is which?

# %% setup-run
import torch

import gradviz

# %load_ext gradviz
torch.set_default_device("cpu")  # NumPy reads the memory of the CPU

# %% riddle-show claims=["B25"]
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = a.exp()
c = b.detach()
print("c.requires_grad:", c.requires_grad, "  c.grad_fn:", c.grad_fn, "  c is b:", c is b)
gradviz.show(b, names={"a": a, "b": b, "c": c}, hide=["versions", "formula"])

# %% riddle-picture [markdown]
# `c` is another tensor, outside the graph, and its card says whose memory it shares.
# `ExpBackward0` has saved its result, `b`, since the derivative of `exp` is `exp` itself.
#
# torch counts the writes to a tensor. A node that has saved it looks at that counter in backward,
# never at the numbers.


# %% one-word-predict tags=["hide-input"] claims=["B23", "B24", "B34", "B35", "B36"] confusions=[5]
@gradviz.predict(
    "What does backward do after each of the three?",
    table={
        "b.detach()": {"backward": ("raises", "gives zeros", "gives exp(a)")},
        "b.data": {"backward": ("raises", "gives zeros", "gives exp(a)")},
        "b.detach().clone()": {"backward": ("raises", "gives zeros", "gives exp(a)")},
    },
    wrong={
        "b.detach()": "`c` shares the memory of `b` and its counter: the zeros are in `b`, and "
        "they were counted. `ExpBackward0` refuses to compute with them.",
        "b.data": "`c` shares the memory of `b`, and has a counter of its own. `ExpBackward0` "
        "multiplies with zeros, and its counter says that nobody wrote.",
        "b.detach().clone()": "`clone()` copies: `b` is as forward left it.",
    },
    why="`detach()` lets torch notice a write, `.data` hides it, and a copy leaves nothing to "
    "notice. If you want to write, write to `b.detach().clone()`.",
    player_hide=["versions"],
)
def one_word():
    outcome = {}
    for taken in ("b.detach()", "b.data", "b.detach().clone()"):
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = a.exp()
        c = eval(taken)
        c.zero_()
        try:
            b.sum().backward()
            outcome[taken] = a.grad
        except RuntimeError:
            outcome[taken] = "raises"
    return {
        taken: [
            found
            if isinstance(found, str)
            else {(0, 0, 0): "gives zeros", tuple(a.exp().tolist()): "gives exp(a)"}[
                tuple(found.tolist())
            ]
        ]
        for taken, found in outcome.items()
    }


# %% doors [markdown]
# ## Copy or same memory?
#
# More ways lead out: to NumPy, to lists, to plain numbers. Before you write to what you took out,
# ask one question: whose memory is it?


# %% doors-predict tags=["hide-input"] claims=["B19", "B27", "X15"] confusions=[5]
@gradviz.predict(
    "Afterwards somebody writes 100 into `z`. In which of these does the 100 arrive?",
    tick={
        "z.detach()": "Another tensor on the same memory.",
        "z.detach().numpy()": "An array on the same memory. torch does not see writes to it.",
        "z.detach().clone()": "`clone()` copies.",
        "torch.tensor(z.tolist())": "A list holds numbers of Python, and a tensor is made of them.",
        "z[0].item()": "A number of Python: a copy.",
        "z.detach().view(2, 1)": "A view is another shape on the same memory.",
    },
    step=4,
    player_hide=["versions"],
)
def doors():
    z = 2 * torch.ones(2, requires_grad=True)
    taken = {
        "z.detach()": z.detach(),
        "z.detach().numpy()": z.detach().numpy(),
        "z.detach().clone()": z.detach().clone(),
        "torch.tensor(z.tolist())": torch.tensor(z.tolist()),
        "z[0].item()": z[0].item(),
        "z.detach().view(2, 1)": z.detach().view(2, 1),
    }
    with torch.no_grad():
        z.fill_(100)
    return [way for way, value in taken.items() if torch.as_tensor(value).eq(100).all()]


# %% watch [markdown]
# **Watch.** An array has no counter at all. The player opens at line 5, which fills one with zeros.
# Go *Forward*, and see who reads them. torch raises nothing; gradviz has recorded the write: *Jump
# to warning* shows what it says, with a fix.

# %% watch-show claims=["X28"]
# %%gradviz --step 4 --hide versions --hide source
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = a.exp()
array = b.detach().numpy()
array[:] = 0
b.sum().backward()

# %% watch-explain [markdown]
# **In a sentence:** taking a value out copies nothing unless you ask for a copy, so look who else
# needs that memory before you write; and a write that torch cannot count, it cannot report.
#
# ## No gradient passes
#
# The other half of taking out: for what follows, a detached tensor is data.


# %% branch-predict tags=["hide-input"] claims=["D27", "D29"]
@gradviz.predict(
    "`y1` is 2, `y2` is 3. Which gradients travel along these edges?",
    edges="all",
    wrong={
        "AddBackward0 -> y1": "A sum hands on what arrives. `y1` gets nothing through `z1`.",
        "AddBackward0 -> y2": "A sum hands on what arrives. `y2` gets nothing through `z1`.",
    },
    why="The product hands on its other factor: the value of `z1`, detached or not. No edge leads "
    "to the node of `z1`, so only the way through the sum is open; without `detach()` the "
    "gradients would be 21 and 16. Many drawings have an arrow to the detached tensor; torch has "
    "none.",
    player_hide=["versions"],
)
def branch():
    y1 = torch.tensor(2.0, requires_grad=True)
    y2 = torch.tensor(3.0, requires_grad=True)
    z1 = y1 * y2
    z2 = y1 + y2
    out = z1.detach() * z2
    out.backward()


# %% repair [markdown]
# ## Repair
#
# Nothing is raised here, and `x` learns the wrong thing. The shares are for a log, and `x.grad`
# should not know of them. Change the program and run the cell again.


# %% repair-try claims=["B20"]
@gradviz.repair("shares-for-a-log")
def program(x):
    scores = x.exp()
    total = scores.sum()
    shares = scores.data
    shares.div_(total.item())
    total.backward()
    return shares


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild:** "What is done to a `.data` tensor cannot change the gradient." So people
# write the step of an optimizer with it. Would you bet on it? Here a step comes between two losses.


# %% bet-predict tags=["hide-input"] claims=["B32"] refutes=["B32"]
@gradviz.predict(
    "At `[1, 2]` the gradient of `w ** 3` is `[3, 12]`. What is `w.grad` at the end?",
    choose={
        "[3, 12]": "`PowBackward0` saved `w`, not a copy. It finds the numbers after the step.",
        "[1.92, 7.68]": "The statement is false: forward used the old `w`, backward the new one, "
        "and this gradient belongs to neither loss. With `detach()` torch would raise.",
        "RuntimeError": "So it would be with `w.detach()`: its writes are counted.",
    },
    player_hide=["versions"],
)
def step_between():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss1, loss2 = (w**2).sum(), (w**3).sum()
    loss1.backward()
    w.data.sub_(0.1 * w.grad)
    w.grad = None
    loss2.backward()
    return str([round(number, 2) for number in w.grad.tolist()])


# %% remember [markdown]
# ## Remember
#
# `detach()` gives another tensor on the same memory and torch counts its writes, `.data` and an
# array hide them, and `clone()`, `item()` and `tolist()` copy: to write, take `b.detach().clone()`.
# Of all these, only `clone()` lets a gradient pass.

# %% own-code [markdown]
# ## Try it in your own code
#
# Search your code for `.data`, and write `.detach()` in its place. If backward raises now, the
# gradient was wrong before.
#
# **Next:** [10. Writing in place](10-writing-in-place.ipynb). More:
# [all ways out](howto/ways-out.ipynb), [GAN and RL steps](howto/gan-and-rl-steps.ipynb).
