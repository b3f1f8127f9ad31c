# %% title [markdown]
# # How-to: freed and retained
#
# When saved tensors are freed, which call needs `retain_graph=True`, and what it costs. The idea
# behind it is in [lesson 4](../04-twice-through-the-same-graph.ipynb).

# %% setup-run
import torch

import gradviz

# %% when [markdown]
# ## When are they freed?
#
# **Heard in the wild, and false:** "When the second backward runs, the saved values are freed."
# Look at the bytes that the graph holds: they go *during the first* backward, node by node. A
# second call only finds them missing.

# %% when-run claims=["C38"] refutes=["C38"]
x = torch.zeros(1024, requires_grad=True)
with gradviz.record() as recording:
    out = x.exp().tanh().sum()
    out.backward()
for step in recording:
    ran = step.graph[step.node].name if step.node else ""
    print(f"{step.kind:9}{ran:15}{step.saved_bytes:6} bytes saved")

# %% which [markdown]
# ## Which call needs the switch?
#
# **Heard in the wild, and half right:** "if backward is needed twice, set `retain_graph=True`." Set
# it on *every call but the last*. On the call that raised it comes too late. The flags are those of
# the first call, the second, and so on.


# %% which-run claims=["A27", "B17", "C39", "C43"]
def call(*flags):
    y = torch.ones(2, 2, requires_grad=True)
    out = (2 * y).sum()
    for number, flag in enumerate(flags, 1):
        try:
            out.backward(retain_graph=flag)
        except RuntimeError:
            return f"call {number} raises"
    return f"works, y.grad is all {y.grad[0, 0]:.0f}"


for flags in ((False, True), (True, False), (True, True, False), (True, False, True)):
    print(f"{flags!s:21}{call(*flags)}")

# %% cost [markdown]
# ## What does it cost?
#
# **Heard in the wild, and half right:** "it keeps the intermediate values and the graph." It keeps
# the saved tensors, with the memory they take. The graph stays either way.


# %% cost-run claims=["C42"]
def after_backward(retain_graph):
    x = torch.zeros(1024, 1024, requires_grad=True)
    out = x.exp().sum()
    out.backward(retain_graph=retain_graph)
    graph = gradviz.snapshot(out)
    slots = [slot for node in graph.nodes for slot in node.saved if slot.state == "held"]
    return len(graph.edges), sum(slot.nbytes for slot in slots) // 2**20


for flag in (False, True):
    edges, saved = after_backward(flag)
    print(f"retain_graph={flag!s:6} {edges} edges, {saved} MiB of saved tensors")

# %% restore [markdown]
# ## Can it bring back what is freed?
#
# **Heard in the wild, and false,** twice: "`retain_graph=True` restores the graph that vanished
# after the gradients were computed, and it does not touch stored gradients." The switch prevents
# the freeing and restores nothing: only forward can. And every backward adds to `.grad`.

# %% restore-run claims=["C55"] refutes=["C55"]
y = torch.ones(2, 2, requires_grad=True)
out = (2 * y).sum()
out.backward()
print("snapshot after backward: ", [n.state for n in gradviz.snapshot(out).nodes][:2])
try:
    out.backward(retain_graph=True)
except RuntimeError as error:
    print("retain_graph=True now:   ", type(error).__name__)
print("one call that retains:   ", call(True))
print("two calls that retain:   ", call(True, True))

# %% fresh [markdown]
# ## When do I not need it?
#
# For gradient accumulation and clipping: each forward makes a new graph, and clipping does not
# touch the graph at all. For several losses, add them up and call backward once.

# %% fresh-run claims=["C18", "C36"]
w = torch.tensor([1.0, 2.0], requires_grad=True)
for sample in (1.0, 2.0):
    loss = (w * sample).square().sum()  # a new graph each time
    loss.backward()
print("w.grad:", w.grad.tolist())
torch.nn.utils.clip_grad_norm_([w], max_norm=1.0)
print("norm after clipping:", round(w.grad.norm().item(), 4))
shared = w * w
w.grad = None
(shared.sum() + (shared + 1).sum()).backward()
print("two losses, added up:", w.grad.tolist())
