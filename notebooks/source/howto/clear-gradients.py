# %% title [markdown]
# # How-to: clear gradients
#
# What `zero_grad()` leaves behind, where it may stand, and whose tensor `.grad` is. The idea behind
# it is in [lesson 5](../05-gradients-add-up.ipynb).

# %% setup-run
import weakref

import torch
from torch import nn

import gradviz

# %load_ext gradviz

# %% none [markdown]
# ## None, or zeros?
#
# **Heard in the wild, and out of date:** "`zero_grad()` sets *all* gradients to 0." Since torch 2.0
# to `None`, and only those of the parameters this optimizer holds. And "`set_to_none=True` is
# faster": by now it is the default.

# %% none-run claims=["A28", "A29", "C56", "D52"]
q, other = (nn.Parameter(torch.ones(6)) for _ in range(2))
optimizer = torch.optim.SGD([q], lr=0.1)
for how in ({}, {"set_to_none": True}, {"set_to_none": False}):
    q.grad = other.grad = None
    (q * other).sum().backward()
    gradient, memory = weakref.ref(q.grad), q.grad.data_ptr()
    optimizer.zero_grad(**how)
    print(f"zero_grad({', '.join(f'{k}={v}' for k, v in how.items())})")
    print("  q.grad:", None if q.grad is None else q.grad.tolist())
    print("  the gradient of before is gone:", gradient() is None)
    if q.grad is not None:
        print("  same memory:", q.grad.data_ptr() == memory, "  times written:", q.grad._version)
    print("  gradient of the parameter it does not hold:", other.grad[0].item())

# %% none-explain [markdown]
# Zeros are written into the memory that is there, and the next backward writes again. `None` gives
# the memory back and costs no writing. (Whether you can measure the difference depends on the
# machine; on a GPU the memory goes back to torch, not to the system.) Step through both:

# %% none-show claims=["C56", "D52"]
# %%gradviz --step 6 --stops 6,8,12,14,18
q = nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([q], lr=0.1)
(2 * q).sum().backward()
optimizer.zero_grad()
(2 * q).sum().backward()
optimizer.zero_grad(set_to_none=False)
(2 * q).sum().backward()

# %% none-look [markdown]
# One old habit breaks: code that looks into `.grad` after `zero_grad()`.

# %% none-look-run claims=["C56"]
optimizer.zero_grad()
try:
    print(q.grad[0:6])
except TypeError as error:
    print(type(error).__name__, "since q.grad is", q.grad)

# %% where [markdown]
# ## Where may it stand?
#
# Anywhere but between the first `backward` of a step and `step`. Forward neither reads nor writes
# `.grad`, so it may come before or after.


# %% where-run
def train(order, passes=3):
    q = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([q], lr=0.1)
    values = []
    for _ in range(passes):
        for line in order.split():
            if line == "forward":
                loss = (2 * q).sum()
            elif line == "backward":
                loss.backward()
            else:
                getattr(optimizer, line)()
        values.append(round(q.item(), 4))
    return values


# %% where-table claims=["D53"]
for order in (
    "zero_grad forward backward step",
    "forward zero_grad backward step",
    "forward backward zero_grad step",
    "forward backward step zero_grad",
    "forward backward step",
    "forward backward forward backward forward backward step",
):
    print(f"{order:56}{train(order)}")

# %% zeros [markdown]
# ## Does a gradient of 0 stop a parameter?
#
# **Heard in the wild, and half right:** "between `backward` and `step` the gradients are 0, so
# nothing is updated." With `None` an optimizer passes the parameter by. With real zeros it depends
# on the optimizer: momentum carries on, weight decay pulls towards 0, Adam remembers.


# %% zeros-run claims=["D54"]
def moved_by_second_step(optimizer_class, set_to_none, **options):
    q = nn.Parameter(torch.ones(1))
    optimizer = optimizer_class([q], lr=0.1, **options)
    (2 * q).sum().backward()
    optimizer.step()
    before = q.item()
    optimizer.zero_grad(set_to_none=set_to_none)
    optimizer.step()
    return f"{q.item() - before:+.3f}"


SGD, Adam = torch.optim.SGD, torch.optim.Adam
kinds = [(SGD, {}), (SGD, {"momentum": 0.9}), (SGD, {"weight_decay": 0.1}), (Adam, {})]
print("                           None    zeros")
for kind, options in kinds:
    moves = [moved_by_second_step(kind, to_none, **options) for to_none in (True, False)]
    print(f"{kind.__name__:5}{options!s:22}{moves[0]}  {moves[1]}")

# %% owner [markdown]
# ## Whose tensor is it?
#
# `.grad` is a tensor like any other. If you keep it, the next backward adds to what you kept: take
# a `clone()`. After `zero_grad()`, backward makes a new one.

# %% owner-run claims=["X23"]
w = torch.tensor(1.0, requires_grad=True)
(2 * w).backward()
first, copy = w.grad, w.grad.clone()
(2 * w).backward()
print("kept:", first.item(), "  a clone:", copy.item(), "  same tensor:", first is w.grad)
w.grad = None
(2 * w).backward()
print("after None a new one is made: kept", first.item(), "  w.grad", w.grad.item())

# %% mine [markdown]
# You may put a tensor of your own there, of the same shape. Backward adds to yours, in place.

# %% mine-run claims=["X22"]
mine = torch.tensor(100.0)
w.grad = mine
(2 * w).backward()
print("it adds to what you put there:", mine.item())
try:
    w.grad = torch.zeros(3)
except RuntimeError as error:
    print("of another shape:", type(error).__name__)

# %% explore [markdown]
# ## What if?
#
# Three passes with plain arithmetic in place of an optimizer. Switch the two lines on and off. Say
# each time what `q` and `q.grad` will be at the end.


# %% explore-run
def three_passes(q, zero_grad=True, step=True):
    for _ in range(3):
        loss = 2 * q
        if zero_grad:
            q.grad = None
        loss.backward()
        if step:
            with torch.no_grad():
                q -= 0.1 * q.grad
    return loss


gradviz.explore(three_passes, q=1.0)
