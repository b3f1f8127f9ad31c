# %% title [markdown]
# # How-to: write `backward()` in 25 lines
#
# Backward is short: call every node once, and hand its gradients on. Here you write it yourself,
# for a graph that you see. What the nodes do is in [lesson 3](../03-who-gets-a-gradient.ipynb).

# %% setup-run
from itertools import zip_longest

import torch

import gradviz

# %% graph [markdown]
# ## The graph
#
# It has what makes backward difficult. Two paths lead to `h`, and each brings a gradient. `unbind`
# makes two tensors with *one* node, which waits for both of their gradients.


# %% graph-show
def forks(a, b):
    h = a * b
    first, second = h.unbind()
    return first * second + h.sum()


with gradviz.record() as recording:
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    b = torch.tensor([5.0, 7.0], requires_grad=True)
    loss = forks(a, b)
    loss.backward()

gradviz.show(recording, step="backward", hide=["saved", "versions", "formula"])

# %% pieces [markdown]
# That was torch. Step through it, and watch at which node two gradients meet.
#
# ## The pieces
#
# - `loss.grad_fn` is the node to begin with, and its gradient is 1.
# - `node.next_functions` has an entry for each input of the operation: the node to go on to, and
#   the *place* there. Where nothing requires grad, the node is `None`.
# - `node(gradient, …)` runs a node. It takes `len(node._input_metadata)` gradients, one for each
#   place, `None` where none has arrived. It returns a tensor, or a tuple of them: one for each
#   entry of `next_functions`.
# - `AccumulateGrad` is a node like the others. Called, it adds to the `.grad` of its leaf.
# - Nodes compute with operations of torch, which can be recorded: `torch.no_grad()`.

# %% pieces-run
first, second = torch.tensor([2.0, 3.0], requires_grad=True).unbind()
out = first * second * 10
times_ten = out.grad_fn
print(times_ten.name(), "leads to", [node and node.name() for node, _ in times_ten.next_functions])
product = times_ten.next_functions[0][0]
print(product.name(), "leads to", [(node.name(), place) for node, place in product.next_functions])
unbind = second.grad_fn
print(unbind.name(), "takes", len(unbind._input_metadata), "gradients")
with torch.no_grad():
    print("and with 1 for the second it gives", unbind(None, torch.tensor(1.0)).tolist())

# %% write [markdown]
# ## Write it
#
# The first node is called. Go on, for this graph and another one. It is right when both leaves have
# the gradients of torch, and each node is called once, after all that hand it a gradient. There are
# three hints, one at a time: press *Hint*, or run `gradviz.hint()` in a cell of its own.


# %% write-try
@gradviz.repair("write-backward")
def my_backward(forward, a, b):
    loss = forward(a, b)
    ran = []
    node = loss.grad_fn
    node(torch.ones_like(loss))
    ran.append(node)
    # And now? node.next_functions leads on.
    return ran


# %% compare [markdown]
# ## Compare it with torch
#
# Your order may be another one than torch's, and still be right: nodes that do not wait for each
# other can be called in any order. Of those that are ready, torch takes the one made last in
# forward, and an `AccumulateGrad` at once.

# %% compare-run
theirs = [recording.graph[node].name for node in recording.backward_order]
mine_a, mine_b = (t.detach().clone().requires_grad_() for t in (a, b))
mine = [node.name().rpartition("::")[2] for node in my_backward(forks, mine_a, mine_b)]
print("torch                 yours")
for one, other in zip_longest(theirs, mine, fillvalue=""):
    print(f"{one:22}{other}".rstrip())
for name, leaf, own in (("a.grad", a, mine_a), ("b.grad", b, mine_b)):
    print(f"{name} {leaf.grad.tolist()!s:15}{own.grad if own.grad is None else own.grad.tolist()}")

# %% frees [markdown]
# ## What torch does besides
#
# A node that *you* call frees nothing and runs no hook: both is done by the engine, around each
# call. So after your backward the graph is whole, and torch's can follow.

# %% frees-run
a = torch.tensor([2.0, 3.0], requires_grad=True)
squares = a * a
squares.register_hook(lambda gradient: print("the hook sees", gradient.tolist()))
loss = squares.sum()
with torch.no_grad():
    print("by hand:", [g.tolist() for g in squares.grad_fn(torch.ones(2))])
print(gradviz.check.held(loss))
loss.backward()
print(gradviz.check.freed(loss))
