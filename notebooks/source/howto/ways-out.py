# %% title [markdown]
# # How-to: all ways out of the graph
#
# Which call gives an array, what copies, what torch notices, and what a detached tensor is. The
# idea behind it is in [lesson 9](../09-taking-a-value-out.ipynb).

# %% setup-run
import warnings

import torch
from torch import nn

import gradviz

torch.set_default_device("cpu")  # NumPy reads the memory of the CPU

# %% array [markdown]
# ## Ask for an array
#
# **Heard in the wild, and half right:** "a tensor on the graph cannot be made into an array." A
# leaf that requires grad is refused too, and under `no_grad` nothing is. torch asks whether a
# gradient could be lost without a word. `tolist()` and `item()` are never refused.
#
# **Heard in the wild, and out of date:** "so one of `.detach()` and `.data` must be used." Take
# `detach()`, or `numpy(force=True)`, which also fetches the numbers from a GPU.

# %% array-run claims=["B18", "B19", "B20", "B21", "B22"]
y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
z = 2 * y + 1
calls = {
    "y.numpy()": lambda: y.numpy(),
    "z.numpy()": lambda: z.numpy(),
    "z.numpy() under no_grad": lambda: torch.no_grad()(z.numpy)(),
    "z.detach().numpy()": lambda: z.detach().numpy(),
    "z.data.numpy()": lambda: z.data.numpy(),
    "z.numpy(force=True)": lambda: z.numpy(force=True),
}
for how, call in calls.items():
    try:
        print(f"{how:25}{call().tolist()}")
    except RuntimeError as error:
        print(f"{how:25}{type(error).__name__}")

# %% array-card-run claims=["B18"]
with gradviz.expect_error() as error:
    y = torch.ones(2, requires_grad=True)
    z = 2 * y + 1
    array = z.numpy()
error

# %% doors [markdown]
# ## What copies?
#
# Each way takes `z` out; then a 100 is written into `z`. torch warns where the code does not say
# what is meant: write `z.detach().clone()`, or `z.detach().item()`.

# %% doors-run claims=["B19", "B20", "B27", "X15"]
doors = {
    "z.detach()": lambda z: z.detach(),
    "z.detach().numpy()": lambda z: z.detach().numpy(),
    "z.detach().clone()": lambda z: z.detach().clone(),
    "torch.tensor(z)": torch.tensor,
    "z.tolist()": lambda z: z.tolist(),
    "z[0].item()": lambda z: [z[0].item()],
    "float(z[0])": lambda z: [float(z[0])],
}
for how, door in doors.items():
    z = 2 * torch.ones(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        taken = door(z)
    with torch.no_grad():
        z.fill_(100)
    whose = "the memory of z" if float(taken[0]) == 100 else "a copy"
    print(f"{how:20}{type(taken).__name__:8} {whose:16}", "torch warns" if caught else "")

# %% six [markdown]
# ## What is noticed?
#
# `b = a.exp()`, then zeros are written in six ways, then backward. To be able to write, take a
# copy; to be warned, take `detach()` alone.


# %% six-run claims=["B23", "B24", "B34", "B35", "B36", "B37", "B38", "X28"]
def after(write):
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = a.exp()
    write(b)
    try:
        b.sum().backward()
    except RuntimeError as error:
        return type(error).__name__
    right = "right" if torch.equal(a.grad, a.detach().exp()) else "wrong"
    return f"{right} {[round(number, 4) for number in a.grad.tolist()]}"


print("b.detach().zero_()          ", after(lambda b: b.detach().zero_()))
print("b.data.zero_()              ", after(lambda b: b.data.zero_()))
print("b.detach().numpy().fill(0)  ", after(lambda b: b.detach().numpy().fill(0)))
print("under no_grad: b.zero_()    ", after(torch.no_grad()(lambda b: b.zero_())))
print("b.detach().clone().zero_()  ", after(lambda b: b.detach().clone().zero_()))
print("b.clone().detach().zero_()  ", after(lambda b: b.clone().detach().zero_()))

# %% counter [markdown]
# ## Whose counter?
#
# One memory, one write, seen under both names. `detach()` shares the counter, which is called
# *version*; `.data` begins a new one.

# %% counter-run claims=["B23", "B24", "B25", "B26", "B27", "B33", "B35", "B39"]
for way in ("b.detach()", "b.data", "b.detach().clone()"):
    b = torch.tensor([1.0, 2.0, 3.0], requires_grad=True).exp()
    c = eval(way)
    c.zero_()
    print(f"{way:19} versions of b and c: {b._version} {c._version}   b: {b}")

# %% silent [markdown]
# ## Find a silent one
#
# torch raises nothing here. gradviz has recorded the write, and the fix is the one that `detach()`
# would have asked for.

# %% silent-run claims=["B35", "B36", "B38"]
with gradviz.expect_error() as error:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = a.exp()
    c = b.data
    c.zero_()
    b.sum().backward()
error

# %% compare [markdown]
# Below, `detach()` is compared with `detach().clone()`: the same nodes, and only one of the two
# graphs has a saved tensor that was written.


# %% compare-show claims=["B23", "B38", "B39"]
def graph_after(taken):
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = a.exp()
    c = taken(b)
    c.zero_()
    return gradviz.snapshot(b, names={"a": a, "b": b, "c": c})


gradviz.compare(graph_after(torch.Tensor.detach), graph_after(lambda b: b.detach().clone()))

# %% detach [markdown]
# ## What is a detached tensor?
#
# **Heard in the wild, and half right:**
#
# - "detach is not in place: it copies a new tensor, without the graph, so the graph remains." A new
#   object, and the graph remains. But no number is copied.
# - "`no_grad` and `detach()` come to the same." The same flag at the end. But `detach()` comes when
#   all has been recorded and saved; under `no_grad` there would have been 0 bytes.

# %% detach-run claims=["B25", "C24", "C25", "D26", "D28"]
h = torch.ones(2, requires_grad=True).exp()
node, d = h.grad_fn, h.detach()
print("requires grad, before and after:", h.requires_grad, d.requires_grad)
print("is a leaf:", d.is_leaf, "  another object:", d is not h, end="  ")
print("  a copy:", d.data_ptr() != h.data_ptr())
print("h keeps its node:", h.grad_fn is node, "  saved:", gradviz.snapshot(h).saved_bytes, "bytes")
h.requires_grad_(True)
print("requires_grad_(True) on a result changes nothing:", h.grad_fn is node)
h.detach_()
print("after detach_() h has a grad_fn:", h.grad_fn is not None)

# %% flag [markdown]
# The flag of a result cannot be switched off: that is what `detach()` is for.

# %% flag-card-run claims=["D26"]
with gradviz.expect_error() as error:
    a = torch.ones(2, requires_grad=True)
    b = a.exp()
    b.requires_grad = False
error

# %% cut [markdown]
# ## What a cut does to a gradient
#
# One factor counts as a number: the gradient at 3 is 3, and that of `w * w` would be 6.

# %% cut-show claims=["D27"]
w = torch.tensor(3.0, requires_grad=True)
out = w * w.detach()
out.backward()
print("w.grad:", w.grad.item())
gradviz.show(out)

# %% audit [markdown]
# ## Find a part that has left torch
#
# Where all of a loss leaves torch, `backward()` raises. Where a part does, nothing is raised: here
# a layer makes a factor, and the factor goes through a list.


# %% audit-show claims=["X15"]
class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 1)
        self.factor = nn.Linear(2, 1)

    def forward(self, x):
        factor = torch.tensor(self.factor(x).tolist())
        return (self.body(x) * factor).sum()


model = Weighted()
for parameter in model.parameters():
    nn.init.constant_(parameter, 0.5)
with gradviz.record(into=Weighted.forward) as recording:
    loss = model(torch.ones(2, 2))
gradviz.audit(loss, model, recording=recording)
