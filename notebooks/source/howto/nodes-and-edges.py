# %% title [markdown]
# # How-to: nodes and edges
#
# What a node is, what an edge is, and when there is none. The idea behind it is in
# [lesson 2](../02-reading-the-graph.ipynb).

# %% setup-run
import weakref

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

import gradviz

v = torch.tensor(2.0, requires_grad=True)

# %% some [markdown]
# ## Is every operation recorded?
#
# **Heard in the wild, and half right:** "autograd keeps a record of the data and of *all*
# operations." It records an operation only if an input requires grad, and of the data only what a
# derivative needs.

# %% some-run claims=["C28", "E14"]
constant = torch.tensor(3.0)
result = (constant * 2 + 1) * v
nodes = gradviz.snapshot(result).nodes
print("operations written:  3")
print("operations recorded:", [node.name for node in nodes if node.variable is None])

# %% where [markdown]
# ## Where is the record?
#
# **Also half right:** "a tensor with `requires_grad=True` records everything that is done with it."
# The record hangs on the *results*, and some results have none.

# %% where-run claims=["C6"]
with torch.no_grad():
    under_no_grad = v * 2
done = {"v": v, "v * 2": v * 2, "v > 0": v > 0, "v.detach()": v.detach(), "no_grad": under_no_grad}
for how, t in done.items():
    print(f"{how:12}grad_fn: {None if t.grad_fn is None else t.grad_fn.name()}")

# %% number [markdown]
# ## What is the number in `next_functions`?
#
# Which output of the next node was used. `unbind` makes two tensors with one node:

# %% number-run claims=["B7"]
first, second = torch.ones(2, requires_grad=True).unbind()
for name, t in {"first": first, "second": second}.items():
    print(
        f"{name:7}", [(node.name(), number) for node, number in (t * 2).grad_fn.next_functions[:1]]
    )

# %% same-node [markdown]
# ## Is it the same node at each look?
#
# Old texts print `z.grad_fn` twice and find two addresses. That was the Python wrapper, made anew
# at each look. Today a node has one Python object as long as it exists.

# %% same-node-run claims=["B6"]
z = v + 1
print("different objects in 20 looks:", len({id(z.grad_fn) for _ in range(20)}))

# %% fan-out [markdown]
# ## What if a leaf is used several times?
#
# Each use is an edge, and all of them end in the one `AccumulateGrad` of the leaf, where the
# gradients are added up.

# %% fan-out-show claims=["X16"]
out = v * v + v
gradviz.show(out)

# %% edge [markdown]
# ## Is an edge a tensor?
#
# **Heard in the wild, and half right:** "the nodes are functions and the edges are tensors." An
# edge is a node and a number. Here the tensor `h` is deleted, and the edge is still there.

# %% edge-run claims=["D9"]
h = v + 1
node_of_h = h.grad_fn
out = h + 1
watcher = weakref.ref(h)
del h
print("h is gone:        ", watcher() is None)
print("the edge is there:", out.grad_fn.next_functions[0] == (node_of_h, 0))

# %% node [markdown]
# ## Is a node a `Function`?
#
# **Heard in the wild, and half right:** "`binary_cross_entropy_with_logits` is an object of class
# `Function` that knows its forward and backward." It is a plain Python function. What knows the
# backward is the node in `loss.grad_fn`, a `torch.autograd.graph.Node`.

# %% node-run claims=["C12", "C13", "E16"]
z = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = torch.zeros(3)
loss = binary_cross_entropy_with_logits(z, y)
print("the loss is a", type(binary_cross_entropy_with_logits).__name__)
print("its node is a Node:    ", isinstance(loss.grad_fn, torch.autograd.graph.Node))
print("its node is a Function:", isinstance(loss.grad_fn, torch.autograd.Function))
by_node, for_y = loss.grad_fn(torch.tensor(1.0))
by_hand = (torch.sigmoid(z) - y).detach() / 3
print("called, it hands on (sigmoid(z) - y) / 3:", torch.allclose(by_node, by_hand))
print("and for y:", for_y)

# %% late [markdown]
# ## Can an empty entry be filled later?
#
# No. A node is finished when its operation has run; only a loss that is computed afterwards gets
# the entry.

# %% late-run
y.requires_grad_()
new_loss = binary_cross_entropy_with_logits(z, y)
for name, t in {"old": loss, "new": new_loss}.items():
    print(name, [node and node.name().split("::")[-1] for node, _ in t.grad_fn.next_functions])
