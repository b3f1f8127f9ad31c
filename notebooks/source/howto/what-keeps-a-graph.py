# %% title [markdown]
# # How-to: what keeps a graph
#
# When a graph is made, when it goes, and what a running total or a state keeps of it. The idea
# behind it is in [lesson 6](../06-a-new-graph-every-time.ipynb).

# %% setup-run
import weakref

import torch

import gradviz

# %% when [markdown]
# ## Does backward start a new graph?
#
# **Heard in the wild, and half right:** "the graph is made from scratch; after each `backward()`
# autograd starts to fill a new one." The first half is right. But forward makes graphs, and
# backward starts nothing:


# %% when-run claims=["C34", "E19"]
def accumulator(node):
    while node.next_functions:
        node = node.next_functions[0][0]
    return node


w = torch.tensor([1.0, 2.0], requires_grad=True)
first, second = (w * 2).sum(), (w * w).sum()  # two graphs, and no backward yet
print("two graphs:           ", first.grad_fn is not second.grad_fn)
same = accumulator(first.grad_fn) is accumulator(second.grad_fn)
print("one AccumulateGrad:   ", same)
second.backward()
first.backward()
print("in any order:  w.grad ", w.grad.tolist())
later = first * 3  # after backward, and still the old graph is continued
print("continues the old one:", later.grad_fn.next_functions[0][0] is first.grad_fn)

# %% peak [markdown]
# ## Are there ever two?
#
# While the *right* side of `loss = w * w + 1` runs for the second time, the name `loss` still means
# the old loss, with its whole graph. For a moment there are two. `del loss` at the end of a pass
# avoids that.


# %% peak-run claims=["E19"]
def is_old_one_there(with_del):
    w = torch.ones(1, requires_grad=True)
    loss = w * w + 1
    old = weakref.ref(loss)
    if with_del:
        del loss

    def forward():
        return w * w + 1, old() is not None

    loss, was_there = forward()
    return was_there


print("while forward runs again, the old one is there:", is_old_one_there(with_del=False))
print("the same with del loss before it:              ", is_old_one_there(with_del=True))

# %% total [markdown]
# ## What does a running total keep?
#
# `total + loss` keeps the nodes of all passes; without backward, as in a validation loop that
# forgot `torch.no_grad()`, their saved tensors too. `loss.item()` makes a number of it,
# `loss.detach()` a tensor without a graph. A list is no better: `losses.append(loss)` keeps every
# graph.


# %% total-program
def five_losses(add, backward):
    w = torch.tensor(2.0, requires_grad=True)
    total = 0.0
    for _ in range(5):
        loss = w * w + 1
        if backward:
            loss.backward()
        total = add(total, loss)
    return total


def what_is_kept(total):
    if not isinstance(total, torch.Tensor) or total.grad_fn is None:
        return 0, 0
    nodes = gradviz.snapshot(total).nodes
    return len(nodes), sum(slot.state == "held" for node in nodes for slot in node.saved)


# %% total-run claims=["X10"]
ADD = {
    "total + loss": lambda total, loss: total + loss,
    "total + loss.detach()": lambda total, loss: total + loss.detach(),
    "total + loss.item()": lambda total, loss: total + loss.item(),
}
for backward in (False, True):
    print("with backward:" if backward else "without backward:")
    for how, add in ADD.items():
        nodes, saved = what_is_kept(five_losses(add, backward))
        print(f"  {how:24}{nodes:3} nodes kept, {saved:2} saved tensors held")

# %% total-show claims=["X10"]
with gradviz.record() as recording:
    w = torch.tensor(3.0, requires_grad=True)
    total = 0.0
    for _ in range(3):
        loss = w * w + 1
        loss.backward()
        total = total + loss

gradviz.show(recording, step=-1, hide=["formula"])

# %% state [markdown]
# ## What does a state keep?
#
# A state `h` leads into all earlier passes. With `retain_graph=True` nothing raises, and each
# backward goes through all of them again. `h.detach()` has the value and none of the history:
# *truncated* backpropagation through time.


# %% state-run claims=["X11"]
def nodes_of_each_backward(hand_over, retain_graph=False):
    u = torch.tensor(0.5, requires_grad=True)
    h = torch.zeros(())
    sizes = []
    for _ in range(4):
        h = u * h + 1
        loss = h * h
        sizes.append(len(gradviz.snapshot(loss).nodes))
        loss.backward(retain_graph=retain_graph)
        h = hand_over(h)
    return sizes


print("h as it is, retain_graph=True:", nodes_of_each_backward(torch.clone, retain_graph=True))
print("h.detach(), no switch:        ", nodes_of_each_backward(torch.detach))

# %% cost [markdown]
# Cutting has a price: the gradient is another one. Whoever needs some history detaches every 10 or
# 50 passes, and calls backward once for the sum of their losses. Here is one backward for the last
# loss of four passes, with a cut after so many of them:


# %% cost-run claims=["X11"]
def gradient_with_cut_after(cut):
    u = torch.tensor(0.5, requires_grad=True)
    h = torch.ones(())
    for number in range(1, 5):
        h = u * h + 1
        if number == cut:
            h = h.detach()
    (h * h).backward()
    return f"{u.grad.item():g}"


for cut in (0, 1, 2, 3):
    print("no cut:     " if cut == 0 else f"cut after {cut}:", gradient_with_cut_after(cut))
