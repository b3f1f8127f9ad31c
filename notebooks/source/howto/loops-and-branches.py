# %% title [markdown]
# # How-to: loops and branches
#
# What a loop, an `if` and a `torch.where` leave in the graph. The idea behind it is in
# [lesson 6](../06-a-new-graph-every-time.ipynb).

# %% setup-run
import torch

import gradviz


def count_nodes(result):
    return len(gradviz.snapshot(result).nodes)


# %% loop [markdown]
# ## A loop
#
# The graph is recorded while your code runs, so it knows no loops: each turn leaves nodes of its
# own. The number of turns may change from pass to pass.


# %% loop-run claims=["C35"]
def power(w, turns=3):
    y = w
    for _ in range(turns):
        y = y * w
    return y


for turns in (1, 2, 5):
    w = torch.tensor(2.0, requires_grad=True)
    y = power(w, turns)
    print(f"turns {turns}   nodes {count_nodes(y)}", end="")
    y.backward()
    print(f"   y = {y.item():g}   w.grad = {w.grad.item():g}")

# %% loop-explore [markdown]
# Change the number and the turns. Say before each change what the graph will be.

# %% loop-explore-run
gradviz.explore(power, w=2.0, turns=3)

# %% numbers [markdown]
# ## Turns and shapes that depend on the numbers
#
# How often a `while` turns may depend on the numbers themselves. Another shape in each pass is no
# trouble either.

# %% numbers-run claims=["C35", "E20"]
w = torch.tensor(2.0, requires_grad=True)
for limit in (3, 5, 9, 20):
    y = w
    while y < limit:
        y = y * w
    (gradient,) = torch.autograd.grad(y, w)
    print(f"while y < {limit:2}: y = {y.item():2g}", end="")
    print(f"   gradient {gradient.item():2g}   nodes {count_nodes(y)}")
for size in (1, 10, 1000):
    (gradient,) = torch.autograd.grad((torch.ones(size) * w).sum(), w)
    print(f"{size:4} numbers: gradient {gradient.item():g}")

# %% branch [markdown]
# ## A branch
#
# What you run is what you differentiate. An `if` leaves no node: only the branch that was taken is
# in the graph.


# %% branch-run claims=["E21"]
def branch(x):
    return 3 * x if x > 0 else x**2


for number in (1.0, -1.0):
    x = torch.tensor(number, requires_grad=True)
    out = branch(x)
    print(f"x = {number:4}: {out.grad_fn.name()}", end="")
    out.backward()
    print(f"   x.grad = {x.grad.item():g}")

# %% where [markdown]
# ## torch.where
#
# It looks like an `if`, and is none: it gets *both* sides, computed, and chooses between the
# numbers. The root of 0 is 0, but there its slope is infinite. In backward `WhereBackward0` sends 0
# to the side that was not chosen, and `SqrtBackward0` makes a nan of it, 0 times infinity.

# %% where-show claims=["E21"]
with gradviz.record() as recording:
    x = torch.tensor(0.0, requires_grad=True)
    root = x.sqrt()
    out = torch.where(x > 0, root, 0.0)
    out.backward()

print("x.grad:", x.grad.item())
gradviz.show(recording, step="backward")

# %% safe [markdown]
# The fix is to keep the dangerous number away from the function, not from the result:

# %% safe-run claims=["E21"]
x = torch.tensor([4.0, 0.0], requires_grad=True)
safe = torch.where(x > 0, x, 1.0)
torch.where(x > 0, safe.sqrt(), 0.0).sum().backward()
print("x.grad:", x.grad.tolist())
