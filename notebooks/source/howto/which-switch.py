# %% title [markdown]
# # How-to: which switch?
#
# Views and writes under `no_grad`, what a result of `inference_mode` is good for, with or without
# parentheses, and what is faster. The idea behind it is in
# [lesson 8](../08-four-switches.ipynb).

# %% setup-run
import torch
from torch import nn

import gradviz

# %% pairs [markdown]
# ## Which do I take?
#
# - Validation: `model.eval()` **and** `no_grad()`, or `inference_mode()`. `eval()` alone records
#   the whole graph.
# - A part that is not to learn: `requires_grad_(False)`, and gradients pass through it.
# - A part that nothing before has to learn through: `no_grad()`.
# - The gradient of an *input* only: flags off, `eval()`, and the flag of the input on.


# %% pairs-program
def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))


def look(is_training, mode, flag):
    model = network().train(is_training).requires_grad_(flag)
    mean = model[1].running_mean.clone()
    with mode():
        h = model[:3](torch.arange(48.0).view(16, 3))
    moved = not torch.equal(model[1].running_mean, mean)
    return h.grad_fn is not None, bool((h == 0).any()), moved


# %% pairs-run claims=["C19", "C22", "C23", "D33", "D39"]
print("                      graph   drops   BatchNorm moves")
for how, switches in {
    "train()": (True, torch.enable_grad, True),
    "eval()": (False, torch.enable_grad, True),
    "no_grad()": (True, torch.no_grad, True),
    "eval() and no_grad()": (False, torch.no_grad, True),
    "frozen": (True, torch.enable_grad, False),
}.items():
    print(f"{how:22}{'   '.join(f'{one!s:5}' for one in look(*switches))}")

# %% made [markdown]
# ## Do only leaves come out of `no_grad`?
#
# **Heard in the wild, and half right:** "under `no_grad` nothing is recorded, so only leaves come
# out." Nothing is recorded. But a tensor may get the flag because you ask for it, and a view has
# the flag of the tensor it shows.

# %% made-run claims=["C23", "D7", "D33"]
w = torch.ones(2, requires_grad=True)
with torch.no_grad():
    made = {
        "w * 2": w * 2,
        "w.clone()": w.clone(),
        "w.view(1, 2)": w.view(1, 2),
        "w[0]": w[0],
        "torch.ones(2, requires_grad=True)": torch.ones(2, requires_grad=True),
        "nn.Parameter(torch.ones(2))": nn.Parameter(torch.ones(2)),
    }
print("                                   requires_grad  is_leaf  grad_fn")
for how, t in made.items():
    print(f"{how:35}{t.requires_grad!s:15}{t.is_leaf!s:9}{t.grad_fn}")

# %% view [markdown]
# A gradient that comes to such a view goes nowhere: backward raises nothing, and neither `w` nor
# the view gets one. Do not carry a view out of the block.

# %% view-run claims=["D7"]
with torch.no_grad():
    v = w.view(1, 2)
(v * 3).sum().backward()
print("w.grad:", w.grad, "  v.grad:", v.grad)

# %% write [markdown]
# ## May I write in the block?
#
# To a leaf, yes: that is how a step by hand is taken. Not to the result of a node: the write is not
# recorded, and the gradient is wrong. torch raises nothing; gradviz says it, if it has recorded the
# lines.

# %% write-run claims=["D36"]
a = torch.tensor([1.0, 2.0], requires_grad=True)
c = d = a + 1
with torch.no_grad():
    c = c + 5
    d *= 10
print("c = c + 5:", c.grad_fn)
print("d *= 10:  ", d.grad_fn.name(), "as before, and d is", d.tolist())
d.sum().backward()
print("a.grad:   ", a.grad.tolist(), "and 10 would be right")

# %% write-card claims=["D36"]
with gradviz.expect_error() as error:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    d = a + 1
    with torch.no_grad():
        d *= 10
    d.sum().backward()
error

# %% names [markdown]
# ## Why has my weight lost its flag?
#
# **Heard in the wild, and half right:** after `no_grad`, "only the *same* tensor keeps True;
# another one of the same name does not." So it is, but no flag was turned back: the first line
# writes the leaf, the second makes a new tensor, unrecorded, and gives it the name.

# %% names-run claims=["D35"]
leaf = w = torch.ones(2, requires_grad=True)
with torch.no_grad():
    w -= 0.1
print("w -= 0.1     requires grad:", w.requires_grad, "  the leaf of before:", w is leaf)
with torch.no_grad():
    w = w - 0.1
print("w = w - 0.1  requires grad:", w.requires_grad, "  the leaf of before:", w is leaf)

# %% inference [markdown]
# ## What is a result of `inference_mode` good for?
#
# **Heard in the wild, and half right:** "what was computed in inference mode can never be part of a
# graph." It can never be *saved* by one: it has no version. An addition saves nothing, and works.


# %% inference-run claims=["D37", "D38"]
@torch.inference_mode()
def double(w):
    return w * 2


def works(attempt):
    try:
        attempt()
    except RuntimeError:
        return "RuntimeError"
    return "works"


w = torch.ones(2, requires_grad=True)
t = double(w)
print("requires grad:", t.requires_grad, "  inference tensor:", t.is_inference())

# %% inference-attempts-run claims=["D37", "D38"]
for how, attempt in {
    "t + w": lambda: t + w,
    "t * w": lambda: t * w,
    "t.clone() * w": lambda: t.clone() * w,
    "t.add_(1)": lambda: t.add_(1),
    "t.requires_grad_()": lambda: t.requires_grad_(),
    "t._version": lambda: t._version,
}.items():
    print(f"{how:20}{works(attempt)}")

# %% parentheses [markdown]
# ## With or without parentheses?
#
# Above a function both work. As a statement, `torch.no_grad()` makes an object and throws it away,
# while `torch.set_grad_enabled(False)` switches at once, and nobody switches back.


# %% parentheses-program
@torch.no_grad()
def usual(w):
    return w * 2


@torch.no_grad
def bare(w):
    return w * 2


def statement(w):
    torch.no_grad()
    return w * 2


def until_the_end(w):
    torch.set_grad_enabled(False)
    return w * 2


# %% parentheses-compare-run claims=["X30"]
for function in (usual, bare, statement, until_the_end):
    print(f"{function.__name__:14}result requires grad: {function(w).requires_grad}")
print("after it torch records:", torch.is_grad_enabled())
torch.set_grad_enabled(True)
print("and from now on again: ", torch.is_grad_enabled())

# %% faster [markdown]
# ## Is it faster?
#
# **Heard in the wild, and right:** "one stops the tracking to make forward faster." Left out are
# nodes and what they save. On one machine a small operation took 4.6 µs with recording, 4.0 under
# `no_grad` and 3.3 in `inference_mode`; for two large products there was no difference. What counts
# is the memory.


# %% faster-run claims=["C27"]
def recorded(mode):
    w = torch.ones(4, requires_grad=True)
    with mode():
        out = (w * w).exp().sum()
    if out.grad_fn is None:
        return 0, 0
    graph = gradviz.snapshot(out)
    return len(graph.nodes), graph.saved_bytes


for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
    nodes, saved = recorded(mode)
    print(f"{mode.__name__:15} {nodes} nodes made, {saved:2} bytes saved")
