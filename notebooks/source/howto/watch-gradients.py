# %% title [markdown]
# # How-to: watch gradients pass
#
# Keep, look at or replace a gradient in the middle of a graph. The idea behind it is in
# [lesson 3](../03-who-gets-a-gradient.ipynb).

# %% setup-run
import warnings
import weakref

import torch

import gradviz

warnings.filterwarnings("ignore", "The .grad attribute")


def five():
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    c = torch.tensor(5.0, requires_grad=True)
    out1 = a * b
    out2 = out1 + c
    return a, out1, out2


# %% retain [markdown]
# ## Keep it: `retain_grad`
#
# Call it before backward. Several backwards add up, as at a leaf.


# %% retain-run claims=["A16"]
def grad_of_out1(before=False, after=False, times=1):
    _, out1, out2 = five()
    if before:
        out1.retain_grad()
    for _ in range(times):
        out2.backward(retain_graph=True)
    if after:
        out1.retain_grad()
    return None if out1.grad is None else out1.grad.item()


print("called before backward: ", grad_of_out1(before=True))
print("two backwards: it adds up", grad_of_out1(before=True, times=2))
print("called after backward:  ", grad_of_out1(after=True))

# %% retain-where [markdown]
# Elsewhere it does nothing, or raises.

# %% retain-where-run claims=["A16"]
a, _, _ = five()
a.retain_grad()
print("on a leaf it does nothing, retains_grad is", a.retains_grad)
try:
    torch.ones(2).retain_grad()
except RuntimeError as error:
    print("where requires_grad is False it raises", type(error).__name__)

# %% hook [markdown]
# ## Look at it: `register_hook`
#
# **Heard in the wild, and half right:** "a hook takes the gradient before it is thrown away." It
# may look, and what it returns replaces the gradient. It stores nothing.


# %% hook-run claims=["A18", "A19", "A20", "A21", "A22"]
seen = []


def look(gradient):
    seen.append(gradient.item())


_, out1, out2 = five()
handle = out1.register_hook(look)
out2.backward(retain_graph=True)
print("register_hook returned:", type(handle).__name__)
print("the hook was given:    ", seen)
print("out1.grad:             ", out1.grad)
handle.remove()
out2.backward()
print("after handle.remove(): ", seen)

# %% both [markdown]
# ## Keep what a hook has made
#
# `retain_grad` keeps the gradient as it is after the hooks.

# %% both-run claims=["A22"]
_, out1, out2 = five()
out1.retain_grad()
out1.register_hook(lambda gradient: gradient * 10)
out2.backward()
print("out1.grad:", out1.grad.item())

# %% gone [markdown]
# ## Where does a gradient go that nobody keeps?
#
# It is used and thrown away at once, to save memory. The hooks write down weak references, which
# hold nothing.

# %% gone-run claims=["A17", "B14"]
x = torch.ones(3, requires_grad=True)
results = [x.exp()]
for operation in (torch.sin, torch.tanh, torch.sigmoid, torch.sum):
    results.append(operation(results[-1]))
passed = []
for t in results:
    t.register_hook(lambda gradient: passed.append(weakref.ref(gradient)))
results[-1].backward()
print("gradients that passed:", len(passed))
print("of these still there: ", sum(gradient() is not None for gradient in passed))
print("x.grad is there:      ", x.grad is not None)

# %% order [markdown]
# ## In which order do hooks fire?
#
# On the way of the gradient, not in the order of registering: it arrives (tensor hook, then
# `retain_grad`), the node runs (pre-hook, then hook), and at a leaf it is accumulated. A module has
# a hook of its own, given what arrives at its output.


# %% order-run claims=["X6"]
log = []
p = torch.tensor(2.0, requires_grad=True)
h = p * 3
out = h * 5
h.retain_grad()
h.grad_fn.register_hook(lambda leaving, arriving: log.append("node"))
h.grad_fn.register_prehook(lambda arriving: log.append(f"node pre, h.grad is {h.grad}"))
h.register_hook(lambda gradient: log.append(f"tensor h, h.grad is {h.grad}"))
p.register_post_accumulate_grad_hook(lambda leaf: log.append(f"post accumulate, {leaf.grad}"))
p.register_hook(lambda gradient: log.append(f"tensor p, p.grad is {p.grad}"))
out.backward()
print(*log, sep="\n")
layer = torch.nn.Linear(2, 2)
layer.register_full_backward_hook(
    lambda module, leaving, arriving: print("module", arriving[0].tolist())
)
layer(torch.ones(2, 2, requires_grad=True)).sum().backward()

# %% ways [markdown]
# ## Can the gradient of a result be had at all?
#
# **Heard in the wild, and false,** in many a tutorial: "Only leaves that require grad have a
# `grad`. For all other nodes in the graph, gradients cannot be had." Here are three ways; that
# torch keeps only those of leaves is a matter of memory, not of principle.

# %% ways-run claims=["C17"] refutes=["C17"]
w = torch.tensor([1.0, 2.0], requires_grad=True)
seen = []
with gradviz.record() as recording:
    z = w * 3
    loss = (z * z).sum()
    (returned,) = torch.autograd.grad(loss, z, retain_graph=True)
    z.retain_grad()
    z.register_hook(seen.append)
    loss.backward()
ways = {"autograd.grad": returned, "retain_grad": z.grad, "a hook": seen[0]}
for way, gradient in ways.items():
    print(f"{way:14}", gradient.tolist())

# %% ways-show refutes=["C17"]
gradviz.show(recording, step="backward")

# %% ways-explain [markdown]
# Step through the two passes: the first, `torch.autograd.grad`, stops as soon as it has the
# gradient of `z`, and writes no `.grad`.
