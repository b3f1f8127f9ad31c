# %% title [markdown]
# # How-to: autograd on a GPU
#
# Devices, threads, pending work and memory. The page runs with and without a GPU, and prints the
# same; where they differ, it says so. Debugging is in
# [lesson 12](../12-hunting-in-real-code.ipynb).

# %% setup-run
import threading

import torch

import gradviz

has_gpu = torch.cuda.is_available()
device = torch.device("cuda:0" if has_gpu else "cpu")

# %% device [markdown]
# ## Choose a device
#
# Make a tensor where it is to be. A move is an operation as any other: of a tensor that requires
# grad it makes a result, which is no leaf, and whose `.grad` stays `None`.

# %% device-run claims=["A1"]
if has_gpu:
    torch.cuda.set_device(device)
x = torch.ones(2, 2, device=device, requires_grad=True)
y = (3 * x).sum()
y.backward()
print("all on the device: ", {t.device for t in (x, y, x.grad)} == {device})
print("x.grad:            ", x.grad.tolist())

# %% move [markdown]
# The graph itself knows no device. Only tensors have one, and a gradient is always on that of its
# tensor. Here a result moves in the middle of the graph, and its gradient moves back.

# %% move-run claims=["A1"]
on_cpu = torch.ones(2, requires_grad=True)
moved = on_cpu.to(device, torch.float64)
moved.sum().backward()
print("a leaf:", moved.is_leaf, " moved by:", moved.grad_fn.name())
print("gradient is where the leaf is:", on_cpu.grad.device == on_cpu.device, on_cpu.grad.dtype)

# %% move-show
gradviz.show(on_cpu.double().sum(), hide=["values"])

# %% threads [markdown]
# ## Which thread runs backward?
#
# On a CPU the one that called it. For a GPU, torch has a thread of its own, which runs the nodes,
# hooks and `backward` of a `Function`. What belongs to a thread, such as a `with` statement of
# yours, may not reach it.


# %% threads-run claims=["X24"]
seen = []
x = torch.ones(2, device=device, requires_grad=True)
h = x * 2
h.register_hook(lambda gradient: seen.append(threading.get_ident()))
h.sum().backward()
in_caller = seen == [threading.get_ident()]
print("the hook ran where it is said to run:", in_caller == (not has_gpu))

# %% pending [markdown]
# ## Pending work
#
# A GPU works behind your program: `loss.backward()` returns when the work is queued. So a clock
# around it measures too little, and an error of the GPU may be raised some lines later. `item()`,
# `print` and `torch.cuda.synchronize()` wait for it. gradviz reads numbers, so a recording waits as
# well; `%%gradviz --no-values` reads none.

# %% pending-run
if has_gpu:
    torch.cuda.synchronize()
with gradviz.record(values=False) as recording:
    x = torch.ones(1000, device=device, requires_grad=True)
    x.exp().sum().backward()
print("steps recorded:", len(recording) > 0)

# %% memory [markdown]
# ## Memory
#
# `gradviz.memory` counts the bytes that a graph keeps, the same on each device.
# `torch.cuda.memory_allocated()` counts all tensors, in blocks of 512 bytes;
# `torch.cuda.memory_reserved()` also what torch keeps for later, and that is what `nvidia-smi`
# shows. Freed tensors go back to torch, not to the GPU.

# %% memory-run
before = torch.cuda.memory_allocated() if has_gpu else 0
x = torch.ones(256, 256, device=device, requires_grad=True)
y = x.exp().sum()
kept = gradviz.memory(y).findings.total
print(f"the graph keeps {kept // 1024} KiB, the result of exp; x has as many")
if has_gpu:
    assert torch.cuda.memory_allocated() - before >= 2 * kept
