# %% title [markdown]
# # How-to: start and end backward elsewhere
#
# Backward from a result that is not one number, to some leaves only, and what the shapes of
# gradients are. The idea behind it is in [lesson 3](../03-who-gets-a-gradient.ipynb).

# %% setup-run
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

# %% start [markdown]
# ## Start at more than one number
#
# One number, of whatever shape, starts with 1. For anything else *you* say what arrives at the
# start: a gradient of the same shape. It weighs each number, so `z.backward(v)` gives what
# `(z * v).sum().backward()` would.
#
# **Heard in the wild, and half right:** "backward starts when it is called on the root." It starts
# at the tensor it is called on, the end of the graph or not.


# %% start-run claims=["B9", "B10", "C31"]
def start(how, shape, *gradient):
    y = torch.ones(4, requires_grad=True)
    z = 2 * y if shape == (4,) else (2 * y).sum().view(shape)
    try:
        z.backward(*gradient)
        print(f"{how:34}y.grad {y.grad.tolist()}")
    except RuntimeError as error:
        print(f"{how:34}{type(error).__name__}")


for shape in ((), (1,), (1, 1), (4,)):
    start(f"shape {shape}", shape)
start("shape (4,), with four gradients", (4,), torch.tensor([1.0, 1.0, 0.0, 5.0]))
start("shape (4,), with two gradients", (4,), torch.ones(2))

# %% jacobian [markdown]
# ## All derivatives at once
#
# What travels is a gradient, not a table of all derivatives. The table, the *Jacobian*, has a row
# for each output; one backward with a 1 in one place gives one row.


# %% jacobian-run claims=["X1"]
def two_outputs(x):
    return torch.stack([x.sum(), (x * x).sum()])


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
units = torch.eye(2)
rows = [torch.autograd.grad(two_outputs(x), x, one)[0].tolist() for one in units]
print("row by row: ", rows)
at_once = torch.autograd.grad(two_outputs(x), x, units, is_grads_batched=True)[0]
print("all at once:", at_once.tolist() == rows)
print("jacrev:     ", torch.func.jacrev(two_outputs)(x.detach()).tolist() == rows)

# %% end [markdown]
# ## End at some leaves only
#
# `inputs=` limits `backward()`: the part of the graph that leads to the others does not run.

# %% end-run claims=["C33", "X20"]
w = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=True)
out = w * 3 + b
out.backward(inputs=[b], retain_graph=True)
print("inputs=[b]:   w.grad", w.grad, "  b.grad", b.grad.item())
out.backward()
print("without it:   w.grad", w.grad.item(), " b.grad", b.grad.item())

# %% ask [markdown]
# ## Ask where no path leads
#
# Asking for the gradient of `x`, which does not require grad, is an error.

# %% ask-run claims=["X14"]
x = torch.tensor(4.0)  # does not require grad
unused = torch.tensor(5.0, requires_grad=True)


def ask(how, wanted, **options):
    try:
        gradients = torch.autograd.grad(w * x, wanted, **options)
        print(f"{how:34}", [None if g is None else g.item() for g in gradients])
    except RuntimeError as error:
        print(f"{how:34}", type(error).__name__)


ask("w", [w])
ask("w and unused", [w, unused])
ask("the same with allow_unused", [w, unused], allow_unused=True)
ask("the same with materialize_grads", [w, unused], materialize_grads=True)
ask("x", [x])

# %% dropped [markdown]
# ## Computed, and dropped
#
# **Heard in the wild, and true:** "`requires_grad=False` does not always mean that no gradient is
# computed." `MulBackward0` computes none for `x`. `StackBackward0` cuts what arrives into one piece
# per tensor, whatever its flag, and backward drops the piece of `x`: its edge leads to no node.

# %% dropped-run claims=["D2"]
stacked = torch.stack([w, x])
print("MulBackward0 hands on  ", (w * x).grad_fn(torch.ones_like(w)))
print("StackBackward0 hands on", stacked.grad_fn(torch.ones_like(stacked)))
for node, _ in stacked.grad_fn.next_functions:
    print("its edge leads to      ", "no node" if node is None else node.name())

# %% layer [markdown]
# ## Compare with a gradient by hand
#
# That of `b` is `(sigmoid(z) - y) / 3`. With other random numbers the gradients are other numbers,
# and these lines stay true.

# %% layer-run claims=["C3", "C15", "C16"]
torch.manual_seed(1)
x, y = torch.ones(5), torch.zeros(3)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
before = b.detach().clone()
z = x @ w + b
binary_cross_entropy_with_logits(z, y).backward()
by_hand = (torch.sigmoid(z) - y).detach() / 3
print("b.grad:", [round(number, 4) for number in b.grad.tolist()])
print("the same by hand:             ", torch.allclose(b.grad, by_hand))
print("each row of w.grad is b.grad: ", torch.allclose(w.grad, b.grad.expand(5, 3)))
print("all between 0 and 1/3:        ", bool(((b.grad > 0) & (b.grad < 1 / 3)).all()))
print("b was changed by backward():  ", not torch.equal(b, before))

# %% shape [markdown]
# ## Check the shape of a difference
#
# A gradient has the shape of its leaf, always. Where forward *repeats* a leaf to fit, backward
# *adds up*. The second half is a famous bug: (3, 1) minus (3,) is (3, 3), every prediction is
# compared with every target, and a perfect model is pushed away from the truth. Nothing raises.

# %% shape-run claims=["X2"]
bias = torch.zeros(3, requires_grad=True)
(torch.ones(4, 3) + bias).sum().backward()
print("a bias for 4 rows gets", bias.grad.tolist())
predicted = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
target = torch.tensor([1.0, 2.0, 3.0])
difference = predicted - target
(difference**2).mean().backward()
print("a perfect prediction: difference has shape", tuple(difference.shape))
print("its gradient:", [round(number, 2) for (number,) in predicted.grad.tolist()])

# %% zero [markdown]
# ## `None` and 0 are not the same
#
# No path to a leaf leaves `None`. A path on which the gradient becomes 0 writes a 0.

# %% zero-run
p = torch.tensor(2.0, requires_grad=True)
q = torch.tensor(3.0, requires_grad=True)
(p + 1).backward()
print("p + 1:         q.grad", q.grad)
(p + 0 * q).backward()
print("p + 0 * q:     q.grad", q.grad.item())
