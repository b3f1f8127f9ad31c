# %% title [markdown]
# # 9. Taking a value out: detach, .data, clone, numpy, item
#
# A loss is to be printed, a result to be drawn, a target to be held still. For that a value has to
# leave the graph, and there are many doors. Some of them lead into a room of its own, others only
# into the same room by another name. You will go through all of them, and write something there.
#
# **After it you can**
#
# - say for each way out whether it copies, and whether torch notices what you write,
# - cut a graph on purpose, in one place, and predict the gradients that are left,
# - repair a loss that has left torch on its way.
#
# **You need** lessons [6](06-a-new-graph-every-time.ipynb), [7](07-what-forward-keeps.ipynb) and
# [8](08-four-switches.ipynb). About 25 minutes.

# %% setup-run
import copy
import warnings

import torch
from lesson_tools import choose, tick
from torch import nn

import gradviz

# %load_ext gradviz

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% recall [markdown]
# ## Recall: three things from lessons 6, 7 and 8


# %% recall-memory tags=["hide-input"]
# question
def where_exp_keeps_its_result():
    b = torch.ones(2, requires_grad=True).exp()
    kept = b.grad_fn._saved_result
    return "in the memory of b" if kept.data_ptr() == b.data_ptr() else "in a copy"


choose(
    "`b = a.exp()`, and `ExpBackward0` keeps its result for backward. Where?",
    {
        "in the memory of b": "Keeping costs nothing extra as long as b lives.",
        "in a copy": "A copy of everything would take the memory twice.",
    },
    right=where_exp_keeps_its_result(),
)


# %% recall-switch tags=["hide-input"]
# question
def true_of_q():
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        q = w * 2
    said = {"q has a grad_fn": q.grad_fn is not None, "q requires grad": q.requires_grad}
    return [what for what, true in (said | {"q is a leaf": q.is_leaf}).items() if true]


tick(
    "`w` requires grad, and `q = w * 2` is computed under `no_grad`. What is true?",
    {
        "q has a grad_fn": "Nothing was recorded.",
        "q requires grad": "What is computed under no_grad does not.",
        "q is a leaf": "No node made it, so it is one.",
    },
    right=true_of_q(),
)


# %% recall-total tags=["hide-input"]
# question
def graphs_behind(add):
    w, total = torch.ones(1, requires_grad=True), torch.zeros(1)
    for _ in range(5):
        total = total + add((w * w).sum())
    return 0 if total.grad_fn is None else str(gradviz.snapshot(total)).count(" SumBackward0")


choose(
    "`total = total + loss.detach()`, five times. How many of the five graphs does `total` hold?",
    {
        "0": "A detached loss brings no graph with it.",
        "1": "The last one goes as well, when loss gets its next value.",
        "5": "So it is with `total + loss`.",
    },
    right=graphs_behind(torch.Tensor.detach),
)

# %% array [markdown]
# ## Ask for an array
#
# `y` requires grad, `z` is computed from it, `x` is data. (An array of numpy lives in the memory of
# the CPU, so this section stays there.) **Predict** which calls raise.


# %% array-program
y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device="cpu", requires_grad=True)
z = 2 * y + 1
x = torch.ones(2, device="cpu")


def under_no_grad():
    with torch.no_grad():
        return z.numpy()


CALLS = {
    "x.numpy()": lambda: x.numpy(),
    "y.numpy()": lambda: y.numpy(),
    "z.numpy()": lambda: z.numpy(),
    "z.numpy() under no_grad": under_no_grad,
    "z.detach().numpy()": lambda: z.detach().numpy(),
    "z.data.numpy()": lambda: z.data.numpy(),
    "z.numpy(force=True)": lambda: z.numpy(force=True),
}


# %% array-try-program
def given(call):
    """What a call gives, or the name of what it raises, and whether torch warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except RuntimeError as error:
            return type(error).__name__, ""
    return result, "torch warns" if caught else ""


# %% array-predict tags=["hide-input"]
# question
tick(
    "Which of these raise?",
    {
        "x.numpy()": "Data, and no gradient is asked for.",
        "y.numpy()": "y requires grad. That it is a leaf makes no difference.",
        "z.numpy()": "z requires grad, and an array cannot.",
        "z.numpy() under no_grad": "No graph is made here, so none can be lost.",
        "z.detach().numpy()": "You say yourself that the graph ends here.",
        "z.data.numpy()": "The old way to say it.",
        "z.numpy(force=True)": "It detaches, and fetches the numbers from a GPU if they are there.",
    },
    right=[how for how, call in CALLS.items() if isinstance(given(call)[0], str)],
)

# %% array-run tags=["hide-output"] claims=["B18", "B19", "B20", "B21", "B22"]
print("Torch's answer:")
for how, call in CALLS.items():
    result, _ = given(call)
    print(f"{how:25}{result if isinstance(result, str) else result.tolist()}")

# %% array-card [markdown]
# And why, in one card:

# %% array-card-run claims=["B18"]
with gradviz.expect_error() as error:
    z = 2 * y + 1
    array = z.numpy()
error

# %% array-explain [markdown]
# **Heard in the wild, and half right:** "a tensor on the graph cannot be made into an array." The
# leaf `y` is refused too, and under `no_grad` nothing is. What torch asks is whether a gradient
# could be lost without a word. And `tolist` and `item`, below, are never refused.
#
# **Also in the wild, and out of date:** "so you need `.detach()` or `.data`." Take `detach()`, or
# `numpy(force=True)`. What is wrong with `.data` comes in a moment.

# %% leaving [markdown]
# Do the doors lead into another room? Each of the following takes `z` out. Then somebody writes a
# 100 into `z`, and looks whether it arrives there.

# %% leaving-run claims=["B19", "B20", "X15"]
DOORS = {
    "z.detach()": lambda z: z.detach(),
    "z.detach().numpy()": lambda z: z.detach().numpy(),
    "z.clone().detach()": lambda z: z.clone().detach(),
    "torch.tensor(z)": torch.tensor,
    "z.tolist()": lambda z: z.tolist(),
    "z[0].item()": lambda z: [z[0].item()],
    "float(z[0])": lambda z: [float(z[0])],
}
for how, door in DOORS.items():
    z = 2 * torch.ones(2, device="cpu", requires_grad=True)
    taken, warned = given(lambda door=door, z=z: door(z))
    with torch.no_grad():
        z.fill_(100)
    arrived = "the memory of z" if float(taken[0]) == 100 else "a copy"
    print(f"{how:20}{type(taken).__name__:8} {arrived:16} {warned}")

# %% leaving-explain [markdown]
# Three kinds: another tensor on the same memory, an array on the same memory, and a copy. Only
# `clone` knows both: without `detach()` a clone stays on the graph. torch warns where the code does
# not say what is meant; then write `z.clone().detach()`, or `z.detach().item()`.

# %% six [markdown]
# ## Six ways out, and a zero
#
# `b = a.exp()` is kept for backward. You take its value out, in six ways, write zeros there, and
# call backward on `b`.


# %% six-program
@torch.no_grad()
def zero_without_recording(b):
    b.zero_()


SIX = {
    "b.detach().zero_()": lambda b: b.detach().zero_(),
    "b.data.zero_()": lambda b: b.data.zero_(),
    "b.detach().numpy().fill(0)": lambda b: b.detach().numpy().fill(0),
    "under no_grad: b.zero_()": zero_without_recording,
    "b.detach().clone().zero_()": lambda b: b.detach().clone().zero_(),
    "b.clone().detach().zero_()": lambda b: b.clone().detach().zero_(),
}


# %% six-outcome-program
def gradient_after(write, make=torch.exp):
    """The gradient of a, or None if backward raises."""
    a = torch.tensor([1.0, 2.0, 3.0], device="cpu", requires_grad=True)
    b = make(a)
    write(b)
    return torch.autograd.grad(b.sum(), a)[0]


def outcome(write, make=torch.exp):
    try:
        gradient = gradient_after(write, make)
    except RuntimeError:
        return "error"
    untouched = gradient_after(lambda b: None, make)
    return "right" if torch.equal(gradient, untouched) else "wrong"


# %% six-predict tags=["hide-input"]
# question
tick(
    "After which of the six does backward end in an error?",
    {
        "b.detach().zero_()": "The zeros are in the memory of b, and its version says so.",
        "b.data.zero_()": "The zeros are in the memory of b, but nobody has counted them.",
        "b.detach().numpy().fill(0)": "numpy writes, and torch does not hear of it.",
        "under no_grad: b.zero_()": "Not recorded. But the version counts all writes of torch.",
        "b.detach().clone().zero_()": "Only the copy is zero.",
        "b.clone().detach().zero_()": "Only the copy is zero.",
    },
    right=[how for how, write in SIX.items() if outcome(write) == "error"],
)

# %% six-predict-wrong tags=["hide-input"]
# question
tick(
    "And after which is the gradient silently wrong?",
    {
        "b.detach().zero_()": "An error is not silent.",
        "b.data.zero_()": "Backward multiplies with the zeros that it finds.",
        "b.detach().numpy().fill(0)": "The same zeros, and the same silence.",
        "under no_grad: b.zero_()": "An error is not silent.",
        "b.detach().clone().zero_()": "b is as it was, and so is its gradient.",
        "b.clone().detach().zero_()": "b is as it was, and so is its gradient.",
    },
    right=[how for how, write in SIX.items() if outcome(write) == "wrong"],
)

# %% six-run tags=["hide-output"] claims=["B23", "B35", "B37", "B38", "X28"]
print("Torch's answer:")
for how, write in SIX.items():
    result = outcome(write)
    gradient = "" if result == "error" else gradient_after(write).tolist()
    numbers = [round(value, 4) for value in gradient] if gradient else ""
    print(f"{how:28}{result:7}{numbers}")

# %% six-explain [markdown]
# Two errors, two gradients that are wrong without a word, and two that are right: those of the `b`
# that forward has computed. Now one after the other.

# %% detach [markdown]
# ## detach: same memory, same counter
#
# `c` is what `detach()` gives. Before the write, and after it:

# %% detach-run claims=["B23", "B24", "B25", "B26", "B27"]
a = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
b = a.exp()
c = b.detach()
print("c requires grad:", c.requires_grad, "  is a leaf:", c.is_leaf, "  grad_fn:", c.grad_fn)
print("the same object:", c is b, "  the same memory:", c.data_ptr() == b.data_ptr())
print("versions of b and c:", b._version, c._version)
c.zero_()
print("versions of b and c:", b._version, c._version, "  b:", b.tolist())

# %% detach-card [markdown]
# One write, seen under both names, and both counters went up: there is only one. So backward can
# tell that the result it kept is not the result it saved:

# %% detach-card-run claims=["B23", "B24"]
with gradviz.expect_error() as error:
    a = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    b = a.exp()
    c = b.detach()
    c.zero_()
    b.sum().backward()
error

# %% detach-show claims=["B23", "B25", "B27"]
gradviz.show(error)

# %% detach-watch [markdown]
# **Watch.** Go to line 4, `c = b.detach()`: `c` stands outside the graph, and says whose memory it
# shares. One line on, the versions of `b` and `c` become 1 together, and the pocket of
# `ExpBackward0` shows that it holds something else than it saved.

# %% data [markdown]
# ## .data: same memory, another counter
#
# The same program, with one word changed:

# %% data-run claims=["B33", "B34", "B36", "B37"]
a = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
b = a.exp()
c = b.data
c.zero_()
print("versions of b and c:", b._version, c._version, "  b:", b.tolist(), "  c:", c.tolist())
b.sum().backward()
print("a.grad:   ", a.grad.tolist())
print("should be:", [round(value, 4) for value in a.detach().exp().tolist()])

# %% data-explain [markdown]
# **Heard in the wild, and false:** "What is done to a `.data` tensor cannot change the gradient."
# It cannot *report* the change. The zeros are in the memory that `ExpBackward0` keeps, so it
# multiplies with zeros; and the counter of `b`, which it looks at, still says 0.
#
# torch has nothing to say. gradviz has recorded the write, and where it went:

# %% data-card-run claims=["B32", "B35", "B36"] refutes=["B32"]
with gradviz.expect_error() as error:
    a = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    b = a.exp()
    c = b.data
    c.zero_()
    b.sum().backward()
error

# %% data-show claims=["B35"]
# %%gradviz --step 7
a = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
b = a.exp()
c = b.data
c.zero_()
b.sum().backward()

# %% data-watch [markdown]
# **Watch.** The player opens where the harm is done: `ExpBackward0` reads zeros, finds the version
# that it expects, and hands zeros on. Go back to line 5: in the table of tensors the values of `b`
# and `c` change together, but only `c` counts. Two counters on one memory, that is the whole
# difference. An array of numpy has no counter at all, and writes to it are passed over in the same
# way:

# %% array-write-card-run claims=["X28"]
with gradviz.expect_error() as error:
    a = torch.tensor([1.0, 2.0, 3.0], device="cpu", requires_grad=True)
    b = a.exp()
    array = b.detach().numpy()
    array[:] = 0
    b.sum().backward()
error

# %% clone [markdown]
# ## clone: memory of its own
#
# **In a sentence:** `detach()` gives the same memory and lets torch notice; if you want to write,
# write to a `clone`. The three ways, compared pairwise. First `detach()` against `.data`:


# %% clone-program
def graph_after(taken):
    a = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    b = a.exp()
    c = taken(b)
    c.zero_()
    return gradviz.snapshot(b, names={"a": a, "b": b, "c": c})


def copied(b):
    return b.detach().clone()


# %% clone-data-show claims=["B23", "B35"]
gradviz.compare(graph_after(torch.Tensor.detach), graph_after(lambda b: b.data))

# %% clone-ask [markdown]
# The same nodes, the same zeros in `b`. Only the warning at the pocket is gone, and with it the
# error. Now `detach()` against `detach().clone()`:

# %% clone-show claims=["B38", "B39"]
gradviz.compare(graph_after(torch.Tensor.detach), graph_after(copied))

# %% clone-explain [markdown]
# The copy shares nothing. `b` keeps its values, and backward its evidence.

# %% cut [markdown]
# ## What a cut does to a gradient
#
# Writing is one half of the story. The other half: no gradient passes a `detach()`. `w` is 3.
# **Predict.**


# %% cut-predict tags=["hide-input"]
# question
def slope():
    w = torch.tensor(3.0, requires_grad=True)
    (w * w.detach()).backward()
    return f"{w.grad:g}"


choose(
    "`out = w * w.detach()`, `w` is 3. What is `w.grad` after `out.backward()`?",
    {
        "6": "That is the slope of w * w. Here one of the two factors counts as a number.",
        "3": "One arm is left: the derivative of w * 3.",
        "0": "The other factor is still w.",
    },
    right=slope(),
)

# %% cut-show tags=["hide-output"] claims=["D27"]
# %%gradviz --step 6
w = torch.tensor(3.0, device=device, requires_grad=True)
out = w * w.detach()
out.backward()
print("Torch's answer:")

# %% cut-watch [markdown]
# **Watch.** The product has two inputs and one edge. Go back to line 3: the value of the other
# input is in the pocket, since the gradient of `w` is made with it; but no arrow leads there, and
# the card of `w` shows the cut.
#
# In a larger program one branch is cut. `y1` is 2 and `y2` is 3.

# %% branch-predict tags=["hide-input"]
# question
y1, y2 = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0))
((y1 * y2).detach() * (y1 + y2)).backward()
choose(
    "`z1 = y1 * y2`, `z2 = y1 + y2`, `out = z1.detach() * z2`. What are the two gradients?",
    {
        "6 and 6": "Only the way through the sum is open, and 6 is the value of z1.",
        "21 and 16": "So it is without a cut, when both ways count.",
        "15 and 10": "These are the gradients that come through z1, which is cut off.",
    },
    right=f"{y1.grad:g} and {y2.grad:g}",
)

# %% branch-show tags=["hide-output"] claims=["D29"]
# %%gradviz --step 11
y1 = torch.tensor(2.0, device=device, requires_grad=True)
y2 = torch.tensor(3.0, device=device, requires_grad=True)
z1 = y1 * y2
z2 = y1 + y2
out = z1.detach() * z2
out.backward()
print("Torch's answer:")

# %% branch-explain [markdown]
# A drawing in a tutorial has an arrow from `out` to the detached `z1`. torch has none: the place of
# `z1` in the node of `out` says `(None, 0)`, as for plain data. And `z1` itself?

# %% after-run claims=["C24", "C25", "D26", "D28"]
h = torch.ones(2, device=device, requires_grad=True).exp()
node, d = h.grad_fn, h.detach()
print("requires grad, before and after:", h.requires_grad, d.requires_grad)
print("another object:", d is not h, "  a copy:", d.data_ptr() != h.data_ptr())
print("h keeps its node:", h.grad_fn is node, "  saved:", gradviz.snapshot(h).saved_bytes, "bytes")
h.requires_grad_(True)
print("requires_grad_(True) on a result changes nothing:", h.grad_fn is node)
h.detach_()
print("after detach_() h has a grad_fn:", h.grad_fn is not None)

# %% after-explain [markdown]
# **Heard in the wild, and half right:**
#
# - "detach is not in place: it copies a new tensor, without the graph, so the graph remains." A new
#   object, and the graph remains, yes. But no number is copied.
# - "`no_grad` and `detach()` come to the same." The same flag at the end. But `detach()` comes when
#   all has been recorded and saved; under `no_grad` there would have been 0 bytes.
#
# **Also heard, and right:** "to set `requires_grad` of a result to False is an error." Here is it:

# %% after-card-run claims=["D26"]
with gradviz.expect_error() as error:
    a = torch.ones(2, device=device, requires_grad=True)
    b = a.exp()
    b.requires_grad = False
error

# %% deepcopy [markdown]
# For the same reason a result cannot be copied *deeply*. People meet this when they keep the best
# output so far, or copy a module that holds one:

# %% deepcopy-card-run claims=["X21"]
with gradviz.expect_error() as error:
    a = torch.ones(2, device=device, requires_grad=True)
    b = a.exp()
    best = copy.deepcopy(b)
error

# %% deepcopy-run claims=["X21"]
best = b.detach().clone()
print("best has a grad_fn:", best.grad_fn is not None, "  a copy:", best.data_ptr() != b.data_ptr())
twin = copy.deepcopy(a)
print("a leaf can be copied, with its flag:", twin.requires_grad)

# %% gan [markdown]
# ## A cut on purpose: two players
#
# A generator makes `fake`, a discriminator says how real it looks. When the discriminator is
# trained, the generator shall stay as it is. **Predict** who gets a gradient from its loss.


# %% gan-program
class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Linear(2, 3, device=device)
        self.discriminator = nn.Linear(3, 1, device=device)

    def forward(self, noise, cut):
        fake = self.generator(noise)
        if cut:
            fake = fake.detach()
        return self.discriminator(fake).mean()


def halves(model):
    """The model, with 0.5 in every place."""
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.5)
    return model


# %% gan-predict tags=["hide-input"]
# question
def have_gradients(cut):
    model = halves(Pair())
    model(torch.ones(4, 2, device=device), cut).backward()
    return [name for name, part in model.named_children() if part.weight.grad is not None]


tick(
    "`discriminator(fake)`, without a `detach()`. Who has a gradient after backward?",
    {
        "generator": "Backward does not know whose turn it is. It goes wherever the graph leads.",
        "discriminator": "It is the last part before the loss.",
    },
    right=have_gradients(cut=False),
)

# %% gan-run tags=["hide-output"] claims=["X12"]
print("Torch's answer:")
for cut in (False, True):
    print(f"cut={cut!s:6}", "a gradient for", " and ".join(have_gradients(cut)))

# %% gan-audit [markdown]
# An audit says it before backward has run, parameter by parameter, and names the line:

# %% gan-audit-show claims=["X12"]
model = halves(Pair())
with gradviz.record(into=Pair.forward) as recording:
    loss = model(torch.ones(4, 2, device=device), cut=True)
gradviz.audit(loss, model, recording=recording)

# %% gan-explain [markdown]
# Is the `detach()` needed? Without it, the optimizer of the discriminator moves only the
# discriminator. But backward goes through the whole generator for nothing, and leaves gradients
# there, which are *added* to those of the generator's own turn, unless somebody clears them first.

# %% through [markdown]
# ## A cut in the backward only
#
# Rounding has slope 0 nearly everywhere: no gradient comes through. A trick of two terms lets the
# *value* be rounded and the *gradient* pass as if nothing had happened. **Predict.**

# %% through-predict tags=["hide-input"]
# question
w = torch.tensor([0.2, 1.7], requires_grad=True)
(w + (w.round() - w).detach()).sum().backward()
choose(
    "`out = w + (w.round() - w).detach()`, and `w` is 0.2 and 1.7. What are out and w.grad?",
    {
        "out 0, 2 and gradient 1, 1": "The bracket has a value, and no gradient.",
        "out 0, 2 and gradient 0, 0": "So it is with w.round() alone.",
        "out 0.2, 1.7 and gradient 1, 1": "The bracket has a value: it makes w the rounded w.",
    },
    right=f"out 0, 2 and gradient {w.grad[0]:g}, {w.grad[1]:g}",
)

# %% through-show tags=["hide-output"] claims=["X17"]
# %%gradviz --step 7
w = torch.tensor([0.2, 1.7], device=device, requires_grad=True)
out = w + (w.round() - w).detach()
out.sum().backward()
print("Torch's answer:")

# %% through-explain [markdown]
# **Watch.** Only the first `w` has an edge. This is called a *straight-through* estimator, and is
# used to train with rounded weights.

# %% what-if [markdown]
# ## What if?
#
# The two branches again. Switch `detach`, and the flags of `a` and `b`. Say the gradients first.


# %% what-if-explore
def program(a, b, detach=True):
    z1 = a * b
    z2 = a + b
    out = (z1.detach() if detach else z1) * z2
    out.backward()
    return {"z1": z1, "z2": z2, "out": out}


gradviz.explore(program, a=2.0, b=3.0)

# %% repair [markdown]
# ## Repair a broken program
#
# The mean of two losses is to be minimised. Somebody collects the losses in a list first.

# %% repair-broken
with gradviz.expect_error() as error:
    w = torch.tensor(1.0, device=device, requires_grad=True)
    losses = []
    for sample in (1.0, 2.0):
        loss = (w * sample - 3) ** 2
        losses.append(loss.item())
    mean = torch.tensor(losses, device=device).mean()
    mean.backward()
print("raised:", error.raised)

# %% repair-predict tags=["hide-input"]
# question
choose(
    "Which line has lost the graph?",
    {
        "loss = (w * sample - 3) ** 2": "Here it is made, node by node.",
        "losses.append(loss.item())": "A number of Python has no grad_fn.",
        "mean = torch.tensor(losses, device=device).mean()": "The numbers in the list have none.",
        "mean.backward()": "Here torch notices. It is too late.",
    },
    right=error.cause.at.text,
)

# %% repair-card tags=["hide-output"] claims=["X15"]
print("Torch's answer:")
error

# %% repair-card-watch [markdown]
# **Read** the card. torch raises at the end; the culprit stands two lines above. Both lines have to
# change, and the fix shows both.

# %% repair-show tags=["hide-output"] claims=["X15"]
print("Torch's answer:")
gradviz.show(error)

# %% repair-ask [markdown]
# **Your turn.** The first line says what of each loss goes into the list, and what the list becomes
# in the end. Change it.

# %% repair-try
keep, join = torch.Tensor.item, torch.tensor

w = torch.tensor(1.0, device=device, requires_grad=True)
losses = [keep((w * sample - 3) ** 2) for sample in (1.0, 2.0)]
mean = join(losses).mean()
try:
    mean.backward()
    print("repaired: w.grad is", w.grad.item())
except RuntimeError:
    print("not yet: there is no graph behind the mean")

# %% repair-solution [markdown]
# The next cell holds a solution. Click its `…` to open it, or press
# <kbd>Shift</kbd>+<kbd>Enter</kbd> here and then <kbd>Enter</kbd>.

# %% repair-solution-run tags=["hide-input"]
# solution
keep, join = torch.Tensor.clone, torch.stack
# In your own code you need no clone: losses.append(loss), and torch.stack(losses).mean().

# The numbers for the log may be taken out, beside the loss and not on its way:
w = torch.tensor(1.0, device=device, requires_grad=True)
losses = [(w * sample - 3) ** 2 for sample in (1.0, 2.0)]
torch.stack(losses).mean().backward()
print("w.grad:", w.grad.item(), "  log:", [loss.item() for loss in losses])

# %% audit [markdown]
# That was the good case: torch raised. Where only *a part* leaves torch, nothing is raised. Here a
# small layer makes a factor, and the factor goes through a list. The audit finds who is left out:


# %% audit-program
class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 1, device=device)
        self.factor = nn.Linear(2, 1, device=device)

    def forward(self, x):
        factor = torch.tensor(self.factor(x).tolist(), device=device)
        return (self.body(x) * factor).sum()


# %% audit-show claims=["X15"]
model = halves(Weighted())
with gradviz.record(into=Weighted.forward) as recording:
    loss = model(torch.ones(2, 2, device=device))
gradviz.audit(loss, model, recording=recording)

# %% notation [markdown]
# ## True or false?
#
# **Heard in the wild:** "`.data` is the old spelling of `detach()`. Today you write `detach()`, and
# both do the same."
#
# Then they would do the same to a parameter that a graph still needs. Here is a step by hand,
# between two losses, in both spellings:


# %% notation-run claims=["B20", "B35", "X28"]
def second_backward(spelling):
    w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    loss1, loss2 = (w**2).sum(), (w**3).sum()
    loss1.backward()
    step = w.grad.mul(0.1)
    (w.data if spelling == ".data" else w.detach()).sub_(step)
    w.grad = None
    try:
        loss2.backward()
    except RuntimeError as error:
        return type(error).__name__
    return [round(value, 2) for value in w.grad.tolist()]


for spelling in (".data", "detach()"):
    print(f"{spelling:9} the second backward: {second_backward(spelling)}")
print("the gradient of w ** 3 at 1 and 2:", [3.0, 12.0])

# %% notation-explain [markdown]
# **False.** With `.data` the second gradient is a mixture: forward was computed with the old
# weights, backward with the new ones. `detach()` writes to the same memory, and torch refuses. That
# is the better answer.

# %% exercise [markdown]
# ## On your own
#
# For each program say what backward on `b` does: `error`, `wrong` or `right`, where right means: as
# if nothing had been written.
#
# - `add_detach`: `b = a + 1`, then `b.detach().zero_()`,
# - `relu_data`: `b = a.relu()`, then `b.data.zero_()`,
# - `sin_data`: `b = a.sin()`, then `b.data.zero_()`,
# - `tanh_clone`: `b = a.tanh()`, then `b.clone().detach().zero_()`,
# - `tanh_detach`: `b = a.tanh()`, then `b.detach().zero_()`.
#
# (What does each node keep: its input, its result, or nothing?)


# %% exercise-try
def check_writes(**answers):
    make = {"add": lambda a: a + 1, "relu": torch.relu, "sin": torch.sin, "tanh": torch.tanh}
    write = {
        "detach": SIX["b.detach().zero_()"],
        "data": SIX["b.data.zero_()"],
        "clone": SIX["b.clone().detach().zero_()"],
    }
    for name, mine in answers.items():
        made, way = name.split("_")
        right = mine == outcome(write[way], make[made])
        print(f"{name}: {right:d} of 1 right")


check_writes(add_detach="?", relu_data="?", sin_data="?", tanh_clone="?", tanh_detach="?")

# %% exercise-solution tags=["hide-input"]
# solution
check_writes(
    add_detach="right",
    relu_data="wrong",
    sin_data="right",
    tanh_clone="right",
    tanh_detach="error",
)

# %% construct [markdown]
# Now cut on purpose: build an `out` with the value of `w * w`, which is 9, and a gradient ten times
# as long, which is 60.

# %% construct-try
w = torch.tensor(3.0, device=device, requires_grad=True)
out = w * w

out.backward()
print("out:", out.item(), "  w.grad:", w.grad.item())
print("done" if (out.item(), w.grad.item()) == (9, 60) else "not yet")

# %% summary [markdown]
# ## In two sentences
#
# `detach()` gives another tensor on the same memory with the same version counter, `.data` one with
# a counter of its own, an array has none, and `clone`, `item` and `tolist` copy: so write to a
# copy, or let torch notice. No gradient passes a value that was taken out, and torch says so only
# if nothing is left of the graph.
#
# **Next:** [10. Writing in place](10-writing-in-place.ipynb) looks at the counter itself, and at
# what a write does to the graph.
