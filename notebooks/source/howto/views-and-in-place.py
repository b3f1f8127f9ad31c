# %% title [markdown]
# # How-to: views and in-place in depth
#
# What counts as a write, what is refused, what a write keeps for itself, and what it does to views,
# leaves and hooks. The idea behind it is in [lesson 10](../10-writing-in-place.ipynb).

# %% setup-run
import torch
from torch import nn
from torch.autograd.graph import allow_mutation_on_saved_tensors

import gradviz

torch.set_default_device("cpu")  # NumPy reads the memory of the CPU

# %% raises [markdown]
# `raises(code, root)` runs a program, then backward from `root`, and says where it raises.


# %% raises-program
def run(code, **names):
    names["torch"] = torch
    exec(code, names)
    return names


def raises(code, root):
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    try:
        out = run(code, a=a)[root].sum()
    except RuntimeError:
        return "at the write"
    try:
        out.backward()
    except RuntimeError:
        return "in backward"
    return "nowhere"


# %% place [markdown]
# ## What is a write in place?
#
# One that keeps object and memory, and adds 1 to the version.

# %% place-run claims=["D40"]
for code in ("x = x + 5", "x += 5", "x.add_(5)", "x[0] = 5", "torch.exp(x, out=x)"):
    x = torch.ones(3)
    after = run(code, x=x)["x"]
    print(f"{code:21}same object: {after is x!s:6} same memory:", end=" ")
    print(f"{after.data_ptr() == x.data_ptr()!s:6} version of the old x: {x._version}")

# %% which [markdown]
# ## Which write raises, and where?
#
# **Heard in the wild, and false:** "an in-place operation on an intermediate gives no error." And
# the other way round: "every in-place operation breaks autograd." It raises where a node had saved
# what was written, as these have saved their result; or at once, as below.

# %% which-run claims=["B29", "D6", "D14", "D41", "D42", "D47", "E25"] refutes=["D47"]
operations = ["a * 2", "a + 1", "a.sin()", "a.cos()", "a ** 2", "a.log()", "a.sum(0)"]
operations += ["a.exp()", "a.sqrt()", "a.tanh()", "a.relu()", "a.sigmoid()"]
found = {code: raises(f"h = {code}; h.add_(1)", "h") for code in operations}
for place in ("nowhere", "in backward"):
    print(f"h.add_(1) raises {place:12}", ", ".join(c for c in operations if found[c] == place))
for code, root in {
    "a.add_(1)": "a",
    "h = a * 2; y = h.pow(2); h.add_(1)": "y",
    "h = a * 2; h[0] = 5": "h",
    "h = a.exp(); h.mul_(2); h.div_(2)": "h",
    "h = a * 2; p, q, r = h.unbind(); p.mul_(3)": "h",
    "h = (a * 1).expand(2, 3); h.mul_(2)": "h",
    "x = torch.ones(3); x.mul_(a)": "x",
}.items():
    print(f"{code:44}{raises(code, root)}")

# %% card [markdown]
# ## Find the line that wrote
#
# torch names the two versions, a shape, and an operation. Of a saved *result* that is the one that
# saved it; of a saved *input* it may be the one that wrote. Here the write goes through `c`.

# %% card-run claims=["B29", "B30"]
with gradviz.expect_error() as error:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = a.exp()
    c = b.detach()
    c.zero_()
    b.sum().backward()
print("versions:", error.saved_version, "saved,", error.current_version, "found")
print("variables:", " and ".join(error.variables), "  a.grad:", a.grad)
error

# %% arrow [markdown]
# ## In place or not: what the graph keeps
#
# Out of place, `h` keeps its node, and a new tensor gets a new one. Both graphs stay, as long as
# both tensors do. In place, the arrow of `h` moves.

# %% arrow-run claims=["E26", "E27"]
w = torch.ones(2, requires_grad=True)
h = w * 2
old = h.grad_fn
k = h + 1
print("k = h + 1:  h has its old node:", h.grad_fn is old, end="  ")
print("  k points to it:", k.grad_fn.next_functions[0][0] is old)
h.add_(1)
print("h.add_(1):  h has its old node:", h.grad_fn is old, end="  ")
print("  h points to it:", h.grad_fn.next_functions[0][0] is old)


# %% arrow-show claims=["D14", "E25"]
def squares(add):
    w = torch.ones(2, requires_grad=True)
    h = w.exp()
    h = add(h, 1)
    out = (h * h).sum()
    return gradviz.snapshot(out, names={"w": w, "h": h, "out": out})


gradviz.compare(squares(torch.Tensor.add), squares(torch.Tensor.add_))

# %% own [markdown]
# ## What the write keeps for itself
#
# **Heard in the wild, and half right:** "PyTorch solves the conflict: it clones the input and saves
# the clone." It does so for the operation that *writes*: `pow_` needs the old input, and copies it
# first. Nobody clones for an operation that came before, and not for a second factor.

# %% own-run claims=["D48", "D55"]
h = torch.full((2,), 3.0, requires_grad=True) * 1
h.pow_(2)
x1 = torch.tensor([1.0, 2.0], requires_grad=True)
x2 = torch.tensor([5.0, 10.0], requires_grad=True) * 1
x2 *= x1
for name, t in {"h.pow_(2)": h, "x2 *= x1": x2}.items():
    kept = t.grad_fn._saved_self
    print(f"{name:10} keeps {kept.tolist()}, made by {kept.grad_fn.name()}", end="")
    print(", in the same memory:", kept.data_ptr() == t.data_ptr())
print("an earlier node saved h:", raises("h = a * 2; y = h.pow(2); h.add_(1)", "y"))
print("h is the second factor: ", raises("h = a * 2; h.mul_(h)", "h"))

# %% views [markdown]
# ## Views: who gets a new node?
#
# **Heard in the wild, and false:** "An in-place function raises an error if the storage is
# referenced by any other tensor." Four others refer to it here, and nothing is raised.
#
# **Also there, and half right:** "it changes the creator of *all inputs*." `k`, an input of the
# write, keeps its own. What was written gets a new node, and so do its views: the row was made by a
# `SelectBackward0`, and is cut out of the new `h` now.

# %% views-run claims=["E28", "E29"] refutes=["E29"]
a = torch.ones(2, 2, requires_grad=True)
h = a * 1
k = a * 5
row, node = h[0], k.grad_fn
others = {"row": row, "transpose": h.t()[0], "detached": h.detach()[0], "array": h.detach().numpy()}
print("before: the row is made by", row.grad_fn.name())
h.mul_(k)
print("after:  the row is made by", row.grad_fn.name())
print("these see the 5:", ", ".join(name for name, t in others.items() if t.max() == 5))
print("k has its old node:", k.grad_fn is node)
h.sum().backward()
print("a.grad:", a.grad.tolist())

# %% slices [markdown]
# Write to the *view*, and the base gets a new node too: `CopySlices` says that a slice of what came
# before was replaced.

# %% slices-show claims=["E28"]
a = torch.ones(2, 2, requires_grad=True)
h = a * 1
row = h[0]
row.mul_(5)
out = h.sum()
gradviz.show(out)

# %% unbind [markdown]
# What *is* refused: to write to one of several views that one call has made. They share one node,
# and it cannot be changed for one of them alone.

# %% unbind-run claims=["E29"]
with gradviz.expect_error() as error:
    a = torch.ones(2, 2, requires_grad=True)
    h = a * 1
    top, bottom = h.unbind()
    top.mul_(5)
error

# %% leaf [markdown]
# ## A leaf must stay a leaf
#
# **Heard in the wild, and half right:**
#
# - "For safety, in-place operations on a leaf that requires grad are refused." Whenever torch
#   records.
# - "Under `no_grad` it is allowed, because `requires_grad` is made False." The flag is True in
#   every row; it is the *recording* that is off.
# - "One reason to refuse is the conflict with saved tensors." `+= 5` saves nothing, and is refused:
#   `w` would become a result. A leaf that requires no grad may become one.

# %% leaf-run claims=["D6", "D42", "D43", "D44", "D49"]
under = "with torch.no_grad(): "
for code in ("w += 5", "w[0] = 5", under + "w += 5", under + "w[0] = 5", "w.detach().add_(5)"):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    try:
        run(code, w=w)
        print(f"{code:32}works    requires_grad {w.requires_grad}, leaf {w.is_leaf}", w.tolist())
    except RuntimeError:
        print(f"{code:32}refused  requires_grad {w.requires_grad}, leaf {w.is_leaf}")
x = torch.ones(2)
x.add_(w)
print("x.add_(w), x a leaf without grad: leaf", x.is_leaf, end="")
print("  add_ has saved", gradviz.snapshot(x).saved_bytes, "bytes")

# %% leaf-counter [markdown]
# `no_grad` does not stop the counter. If an earlier forward has saved `w`, it is missed:

# %% leaf-counter-run claims=["D43"]
with gradviz.expect_error() as error:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    with torch.no_grad():
        w += 5
    loss.backward()
error

# %% hooks [markdown]
# ## Hooks and a write
#
# A hook stays with the *node* that `h` had, and does not move with the arrow: each sees the
# gradient of the `h` that it was registered on. `retain_grad` moves.


# %% hooks-run claims=["X29"]
seen = {}
w = torch.ones(1, requires_grad=True)
h = w * 2
h.register_hook(lambda grad: seen.update(before=grad.item()))
h.mul_(3)
h.register_hook(lambda grad: seen.update(after=grad.item()))
h.retain_grad()
h.sum().backward()
print("the hook from before the write:", seen["before"])
print("the hook from after the write: ", seen["after"])
print("h.grad:                        ", h.grad.item())

# %% allow [markdown]
# ## A context that copies for you
#
# For a program that you cannot change: when somebody writes to what was saved, torch sets the old
# values aside first.

# %% allow-run claims=["X27"]
with allow_mutation_on_saved_tensors():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a.exp()
    h.add_(1)
    h.sum().backward()
print("a.grad is exp(a):", torch.equal(a.grad, a.detach().exp()))

# %% advice [markdown]
# ## Is it worth it?
#
# **Heard in the wild, and right:** "In-place is hard to support, and discouraged in most cases,"
# and "without heavy memory pressure you might never need it." For backward nothing is gained here.
# The place for writes is where nothing is recorded, as in the step of an optimizer.


# %% advice-run claims=["E22", "E24"]
for code in ("h = a.sin(); h = h * 3; h = h + 1", "h = a.sin(); h.mul_(3); h.add_(1)"):
    a = torch.ones(1024, requires_grad=True)
    kept = gradviz.snapshot(run(code, a=a)["h"]).saved_bytes
    print(f"{code:36}{kept:5} bytes kept for backward")
parameter = nn.Parameter(torch.ones(2))
parameter.grad = torch.ones(2)
torch.optim.SGD([parameter], lr=0.1).step()
print("version of a parameter after one step:", parameter._version)
