# %% title [markdown]
# # How-to: hooks of every kind
#
# Where each hook is placed, what it is given, what it may change, and in which order they run. The
# idea behind it is in [lesson 3](../03-who-gets-a-gradient.ipynb) and
# [lesson 12](../12-hunting-in-real-code.ipynb).

# %% setup-run
import torch
from torch import nn
from torch.autograd.graph import register_multi_grad_hook, saved_tensors_hooks

# %load_ext gradviz

# %% kinds [markdown]
# ## Which are there?
#
# | on | hook | is given | what it returns |
# |---|---|---|---|
# | tensor | `register_hook` | its gradient | replaces the gradient |
# | leaf | `register_post_accumulate_grad_hook` | the leaf, with its `.grad` | nothing |
# | node | `register_prehook` | gradients that arrive | replaces them |
# | node | `register_hook` | gradients that leave, and that arrived | replaces those that leave |
# | several tensors | `register_multi_grad_hook` | their gradients, once all are there | nothing |
# | module | `register_forward_pre_hook` | its inputs | replaces them |
# | module | `register_forward_hook` | its inputs and its output | replaces the output |
# | module | `register_full_backward_pre_hook` | gradient of its output | replaces it |
# | module | `register_full_backward_hook` | gradients of input and output | replaces the first |
# | what is saved | `saved_tensors_hooks` | each saved tensor | is saved in place of it |
# | optimizer | `register_step_pre_hook` | the optimizer, arguments of `step()` | replaces these |
# | optimizer | `register_step_post_hook` | the same | nothing |
#
# Each `register_…` returns a handle; `handle.remove()` takes the hook away.
#
# ## In which order do they run at a tensor?
#
# Each writes its name down. They are registered backwards on purpose.

# %% order-run claims=["X6"]
log = []
p = torch.tensor(2.0, requires_grad=True)
h = p * 3
out = h * 5
p.register_post_accumulate_grad_hook(lambda leaf: log.append(f"p, post accumulate: {leaf.grad}"))
p.register_hook(lambda gradient: log.append(f"p, tensor: {gradient}"))
h.grad_fn.register_hook(lambda leaving, arriving: log.append(f"node, after: {leaving[0]}"))
h.grad_fn.register_prehook(lambda arriving: log.append(f"node, before: {arriving[0]}"))
h.register_hook(lambda gradient: log.append(f"h, tensor: {gradient}"))
register_multi_grad_hook([p, h], lambda gradients: log.append(f"p and h: {len(gradients)}"))
out.backward()
print(*log, sep="\n")

# %% watch [markdown]
# ## See them
#
# A picture shows hooks where they are, and a recording when each ran, and whether it changed the
# gradient. Step to `MulBackward0`, and open it.

# %% watch-show claims=["X6"]
# %%gradviz --step backward --hide saved --hide source
w = torch.tensor(2.0, requires_grad=True)
h = w * 3
h.register_hook(lambda gradient: gradient * 10)
w.register_post_accumulate_grad_hook(lambda leaf: print("w.grad is", leaf.grad))
h.backward()

# %% module [markdown]
# ## Around a module and an optimizer

# %% module-run claims=["X6"]
log = []
layer = nn.Linear(2, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
optimizer.register_step_post_hook(lambda *given: log.append("optimizer, after its step"))
optimizer.register_step_pre_hook(lambda *given: log.append("optimizer, before its step"))
layer.register_full_backward_hook(lambda *given: log.append("module, after its backward"))
layer.register_full_backward_pre_hook(lambda *given: log.append("module, before its backward"))
layer.register_forward_hook(lambda *given: log.append("module, after its forward"))
layer.register_forward_pre_hook(lambda *given: log.append("module, before its forward"))
layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
optimizer.step()
print(*log, sep="\n")

# %% saved [markdown]
# ## What is saved
#
# `saved_tensors_hooks` packs each tensor when it is saved, and unpacks it when backward needs it.

# %% saved-run claims=["X6"]
log = []
x = torch.tensor(2.0, requires_grad=True)


def pack(saved):
    log.append(f"packed {saved}")
    return saved.item()


def unpack(packed):
    log.append(f"unpacked {packed}")
    return torch.tensor(packed)


with saved_tensors_hooks(pack, unpack):
    y = x.exp()
log.append("backward")
y.backward()
print(*log, sep="\n")
