# %% title [markdown]
# # How-to: a Function of your own, and gradcheck
#
# Write a node with a formula of your own, and check the formula. The idea behind it is in
# [lesson 12](../12-hunting-in-real-code.ipynb).

# %% setup-run
import torch
from torch.autograd import gradcheck

import gradviz

# %% write [markdown]
# ## Write it
#
# `forward` computes, and saves what `backward` will need with `ctx.save_for_backward`. `backward`
# is given the gradient of the result and returns that of each input.


# %% write-run claims=["D15"]
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2 * x


x = torch.tensor(3.0, requires_grad=True)
y = Square.apply(x)
y.backward(retain_graph=True)
print("x.grad:", x.grad.item())

# %% write-show claims=["D15"]
gradviz.show(y, hide=["source"])

# %% write-explain [markdown]
# One node, named after the class, with `x` saved. What `forward` computes inside is not recorded:
# the formula is your word alone.
#
# ## Check it
#
# `gradcheck` moves each input a little, both ways, and compares how the result follows with what
# `backward` says. That needs the digits of `float64`.

# %% check-run claims=["D15", "X3"]
double = torch.tensor([3.0, -1.0], dtype=torch.float64, requires_grad=True)
print("Square:", gradcheck(Square.apply, (double,)))


class Wrong(Square):
    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]


try:
    gradcheck(Wrong.apply, (double,))
except RuntimeError as error:
    print("Wrong: ", type(error).__name__)

# %% several [markdown]
# ## Several inputs
#
# `backward` returns as many gradients as `forward` has inputs, `None` where there is none to give.
# `ctx.needs_input_grad` says which are wanted: what nobody wants need not be computed, or saved.


# %% several-define
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, power):
        ctx.save_for_backward(x, factor)
        ctx.power = power
        return factor * x**power

    @staticmethod
    def backward(ctx, gradient):
        x, factor = ctx.saved_tensors
        print("wanted:", ctx.needs_input_grad)
        for_x = for_factor = None
        if ctx.needs_input_grad[0]:
            for_x = gradient * factor * ctx.power * x ** (ctx.power - 1)
        if ctx.needs_input_grad[1]:
            for_factor = (gradient * x**ctx.power).sum()
        return for_x, for_factor, None


# %% several-check claims=["X3"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
Scale.apply(x, torch.tensor(10.0), 3).sum().backward()
print("x.grad:", x.grad.tolist())

# %% save [markdown]
# ## Save with `save_for_backward`
#
# A tensor that is kept as an attribute, `ctx.x = x`, is not watched: if somebody writes it in
# place, the gradient is wrong, and nobody says so. `save_for_backward` keeps its version.


# %% save-define
class Attribute(Square):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2 * ctx.x


# %% save-run claims=["D15"]
for function in (Attribute, Square):
    x = torch.tensor(3.0, requires_grad=True)
    h = x * 1
    y = function.apply(h)
    h.zero_()
    try:
        y.backward()
        print(f"{function.__name__:10} x.grad is {x.grad.item()}, and 6.0 would be right")
    except RuntimeError as error:
        print(f"{function.__name__:10} raises {type(error).__name__}")
