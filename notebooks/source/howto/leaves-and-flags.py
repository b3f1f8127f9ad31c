# %% title [markdown]
# # How-to: leaves and flags
#
# Short answers on `requires_grad` and leaves, each run by torch. The idea behind them is in
# [lesson 1](../01-which-tensors-remember.ipynb).

# %% setup-run
import torch

import gradviz

# %% default [markdown]
# ## Which tensors start with the flag?
#
# None but parameters. Some texts write `nn.parameters()` or `nn.Parameters`, which torch does not
# have.

# %% default-run claims=["A2", "D19"]
t = torch.ones(3, requires_grad=True)
made = {
    "torch.ones(3)": torch.ones(3),
    "torch.zeros(3)": torch.zeros(3),
    "torch.tensor(2.0)": torch.tensor(2.0),
    "torch.scalar_tensor(2.0)": torch.scalar_tensor(2.0),
    "torch.zeros_like(t), t requires grad": torch.zeros_like(t),
    "torch.nn.Parameter(torch.ones(3))": torch.nn.Parameter(torch.ones(3)),
    "running_mean of a BatchNorm": torch.nn.BatchNorm1d(2).running_mean,
}
for how, tensor in made.items():
    print(f"{how:38}{tensor.requires_grad}")
for name in ("Parameter", "Parameters", "parameters"):
    print(f"torch.nn.{name:12}exists: {hasattr(torch.nn, name)}")

# %% limits [markdown]
# ## Which tensors can have it?
#
# Floating point and complex ones. And beware of a typo: Python lets you put any attribute on a
# tensor, so a misspelt flag raises nothing and does nothing.

# %% limits-run claims=["C11"]
try:
    torch.tensor([1, 2]).requires_grad_()
except RuntimeError as error:
    print("integers refused:", type(error).__name__)
typo = torch.ones(2)
typo.require_grad = True  # no s: a new attribute, not the flag
print("flag after the typo:", typo.requires_grad)

# %% printed [markdown]
# ## How does a printed tensor show it?
#
# A leaf that requires grad says so. A result names the node that made it.

# %% printed-source claims=["B3"]
y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y

# %% printed-result claims=["B4"]
z = 2 * y + 1
z

# %% travel [markdown]
# ## How far does the flag go?
#
# From inputs to outputs, never back, and only where the result can have a gradient.

# %% travel-run claims=["A8", "D20", "E3", "E4", "E6"]
torch.manual_seed(0)
x, y, z = torch.randn(5, 5), torch.randn(5, 5), torch.randn(5, 5, requires_grad=True)
a = x + y
b = a + z
print("a = x + y:", a.requires_grad, "  b = a + z:", b.requires_grad, "  x still:", x.requires_grad)
w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    under_no_grad = w * 2
results = {
    "w * 2": w * 2,
    "w > 0": w > 0,
    "w.argmax()": w.argmax(),
    "w.max(0).values": w.max(0).values,
    "w.max(0).indices": w.max(0).indices,
    "w * 2 under torch.no_grad()": under_no_grad,
}
for how, tensor in results.items():
    print(f"{how:30}requires_grad: {tensor.requires_grad!s:7}is_leaf: {tensor.is_leaf}")

# %% learn [markdown]
# ## What do I give it to?
#
# To what is to be learned: weights, not data. The flag asks for a gradient; `unused` has it and
# still gets none, because the graph of the loss does not lead there.

# %% learn-run claims=["C10", "D1"]
torch.manual_seed(1)
x, y = torch.ones(5), torch.zeros(3)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
unused = torch.ones(3, requires_grad=True)
((x @ w + b - y) ** 2).sum().backward()
for name, t in {"x": x, "y": y, "w": w, "b": b, "unused": unused}.items():
    print(f"{name:8}requires_grad: {t.requires_grad!s:7}has a gradient: {t.grad is not None}")

# %% frozen [markdown]
# ## What does switching it off save?
#
# A part of the graph. Here the first layer of a small network is frozen:


# %% frozen-run claims=["E2"]
def graph_of_network(freeze_first_layer):
    x = torch.ones(2, 4)
    first = torch.ones(4, 4, requires_grad=not freeze_first_layer)
    second = torch.ones(4, 1, requires_grad=True)
    out = ((x @ first).relu() @ second).sum()
    return gradviz.snapshot(out)


for freeze in (False, True):
    graph = graph_of_network(freeze)
    print(f"first layer frozen: {freeze!s:7}{len(graph)} nodes, {len(graph.leaves)} leaves")

# %% one-dimension [markdown]
# ## Is `torch.ones(n)` a row or a column?
#
# **Heard in the wild, and false:** "`torch.ones(n)` counts as a row of length *n*." A row could be
# on the left of a matrix only. This tensor has one dimension and is neither.

# %% one-dimension-run claims=["C7", "C8"] refutes=["C8"]
x, w = torch.ones(5), torch.ones(5, 3)
print("x.shape, w.shape      ", tuple(x.shape), tuple(w.shape))
print("(x @ w).shape         ", tuple((x @ w).shape))
print("(ones(3, 5) @ x).shape", tuple((torch.ones(3, 5) @ x).shape))
