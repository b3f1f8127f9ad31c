# %% title [markdown]
# # How-to: what a node saves
#
# Which tensors a node keeps for backward, where you find them, and how long they stay. The idea
# behind it is in [lesson 7](../07-what-forward-keeps.ipynb).

# %% setup-run
import weakref

import torch
from torch import nn

import gradviz

# %% table [markdown]
# ## Its input, its result, or nothing?
#
# What the derivative is made with. `max` needs both: the gradient goes to the inputs that are equal
# to the result.


# %% table-program
def kept_by(out, x):
    graph = gradviz.snapshot(out, names={"input": x, "result": out})
    names = {tensor.id: tensor.name for tensor in graph.tensors}
    return {slot.name: names[slot.tensor] for slot in graph.nodes[0].saved if slot.state == "held"}


# %% table-run claims=["D12", "D16"]
x = torch.ones(4, requires_grad=True)
for how, out in {
    "x ** 2": x**2,
    "x.sin()": x.sin(),
    "x.log()": x.log(),
    "x.exp()": x.exp(),
    "x.relu()": x.relu(),
    "x.sigmoid()": x.sigmoid(),
    "x.softmax(0)": x.softmax(0),
    "x + 1": x + 1,
    "x.sum()": x.sum(),
    "x.max()": x.max(),
}.items():
    kept = ", ".join(f"{slot} (its {what})" for slot, what in kept_by(out, x).items())
    print(f"{how:14}{out.grad_fn.name():18}{kept or 'no tensor'}")

# %% attributes [markdown]
# ## Where do I find it?
#
# In attributes of the node that begin with `_saved_`. An input is the same tensor. A result is
# another tensor with the same memory; were it the same one, node and result would hold each other.

# %% attributes-run claims=["D13", "D16", "D17"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
y, z = x.pow(2), x.exp()
print("PowBackward0 has", [name for name in dir(y.grad_fn) if name.startswith("_saved_")])
print("the saved input is x:     ", y.grad_fn._saved_self is x)
print("the saved result is z:    ", z.grad_fn._saved_result is z)
print("it has the memory of z:   ", z.grad_fn._saved_result.data_ptr() == z.data_ptr())

# %% freed [markdown]
# After backward the node has freed them. Who looks for one then gets an error:

# %% freed-run claims=["D17"]
with gradviz.expect_error() as error:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.pow(2)
    y.sum().backward()
    y.grad_fn._saved_self
print(error)

# %% ctx [markdown]
# ## What is `ctx`?
#
# **Heard in the wild, and half right:** "the input tensors that are needed are saved beside the
# node, under the name `ctx`." Results are saved as well, and the nodes of torch have no `ctx`. In a
# Function of your own, `ctx` *is* the node:


# %% ctx-run claims=["D12"]
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        Square.ctx = ctx
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2 * x


x = torch.tensor([1.0, 2.0], requires_grad=True)
out = Square.apply(x)
print("ctx is the node:      ", Square.ctx is out.grad_fn)
print("it has saved x itself:", out.grad_fn.saved_tensors[0] is x)
print("PowBackward0 has ctx: ", hasattr(x.pow(2).grad_fn, "ctx"))

# %% which [markdown]
# ## Which derivative is it for?
#
# **Heard in the wild, and false:** a tutorial says of `y = x.pow(2)` that "`x` is needed to obtain
# dx/dy." It is needed for dy/dx. At `x = 3` one is 6 and the other 1/6, and for dx/dy torch would
# have to record another operation, which saves no `x` at all.

# %% which-run claims=["D18"] refutes=["D18"]
x = torch.tensor(3.0, requires_grad=True)
y = x.pow(2)
(dy_dx,) = torch.autograd.grad(y, x, retain_graph=True)
print(f"dy/dx = {dy_dx:.4f}   {y.grad_fn.name()} has saved its", *kept_by(y, x).values())

y = torch.tensor(9.0, requires_grad=True)
x = y.sqrt()
(dx_dy,) = torch.autograd.grad(x, y, retain_graph=True)
print(f"dx/dy = {dx_dy:.4f}   {x.grad_fn.name()} has saved its", *kept_by(x, y).values())

# %% sides [markdown]
# ## Only what is needed?
#
# **Heard in the wild, and half right:** "for `f(a, b)`, where only `a` requires grad, only `b` is
# saved." So it is for products, and a linear layer is one. Convolutions, normalizations and losses
# save both, whoever requires grad.

# %% sides-program
PAIRS = {
    "a * b": (lambda a, b: a * b, (2, 2), (2, 2)),
    "a @ b": (lambda a, b: a @ b, (2, 2), (2, 2)),
    "linear": (nn.functional.linear, (2, 2), (2, 2)),
    "a / b": (lambda a, b: a / b, (2, 2), (2, 2)),
    "conv2d": (nn.functional.conv2d, (1, 1, 3, 3), (1, 1, 2, 2)),
    "layer_norm": (lambda a, b: nn.functional.layer_norm(a, (2,), b), (2, 2), (2,)),
    "maximum": (torch.maximum, (2, 2), (2, 2)),
    "mse_loss": (nn.functional.mse_loss, (2, 2), (2, 2)),
}


# %% sides-run claims=["D21"]
def inputs_saved(how, a_requires_grad, b_requires_grad):
    function, *shapes = PAIRS[how]
    flags = (a_requires_grad, b_requires_grad)
    a, b = (torch.ones(s, requires_grad=f) for s, f in zip(shapes, flags))
    out = function(a, b)
    graph = gradviz.snapshot(out, names={"a": a, "b": b})
    saved = {slot.storage for slot in graph.nodes[0].saved if slot.state == "held"}
    return "".join(sorted(t.name for t in graph.tensors if t.storage in saved and t.name in "ab"))


print("requires grad:  only a  only b  both")
for how in PAIRS:
    saved = [inputs_saved(how, *flags) for flags in ((True, False), (False, True), (True, True))]
    print(f"{how:16}{saved[0]:8}{saved[1]:8}{saved[2]}")

# %% leaf [markdown]
# ## Why is my leaf still there?
#
# A leaf that requires grad is held by its `AccumulateGrad` as long as the graph is there, whatever
# is saved. So `b = a * b` frees the old `b` only if that is a result.


# %% leaf-run claims=["D23"]
def old_b_is_there(is_leaf):
    a, b = torch.ones(2), torch.ones(2, requires_grad=True)
    b = b if is_leaf else b + 0
    old = weakref.ref(b)
    b = a * b
    return old() is not None


print("a leaf:  ", old_b_is_there(True))
print("a result:", old_b_is_there(False))

# %% written [markdown]
# ## May I write to it?
#
# To what is saved: no. To the result of an operation that saves nothing: yes.

# %% written-run claims=["B28"]
x = torch.tensor([0.0, 1.0], requires_grad=True)
b = x + 1
b.mul_(3)
b.sum().backward()
print("after x + 1, x.grad:", x.grad.tolist())

# %% written-card claims=["B28"]
with gradviz.expect_error() as error:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    e = x.exp()
    e.add_(1)
    e.log().sum().backward()
error
