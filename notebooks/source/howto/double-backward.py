# %% title [markdown]
# # How-to: backward of a backward
#
# Second derivatives, a penalty on gradients, and what `create_graph=True` costs. More on graphs
# that are gone through twice is in
# [lesson 4](../04-twice-through-the-same-graph.ipynb).

# %% setup-run
import warnings

import torch

import gradviz

# %% second [markdown]
# ## A second derivative
#
# Backward computes with tensors, too. With `create_graph=True` these computations are recorded, so
# that the gradient has a `grad_fn` of its own, and can be differentiated.

# %% second-run claims=["X4"]
x = torch.tensor(2.0, requires_grad=True)
y = x**3
(first,) = torch.autograd.grad(y, x, create_graph=True)
(second,) = torch.autograd.grad(first, x, retain_graph=True)
print("y' :", first.item(), " requires grad:", first.requires_grad)
print("y'':", second.item(), " requires grad:", second.requires_grad)

# %% second-show claims=["X4"]
gradviz.show(first, names={"x": x, "y'": first}, hide=["source"])

# %% second-explain [markdown]
# The graph of `y'` leads to `x`: it is the formula 3 · x², as backward computed it. Without the
# switch the gradient is a tensor without a graph.
#
# ## A penalty on gradients
#
# A loss that contains a gradient: here its norm should be 1, as in some GANs.

# %% penalty-run claims=["X4"]
torch.manual_seed(0)
critic = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
samples = torch.randn(8, 2, requires_grad=True)
(gradient,) = torch.autograd.grad(critic(samples).sum(), samples, create_graph=True)
penalty = (gradient.norm(dim=1) - 1).square().mean()
penalty.backward()
for name, parameter in critic.named_parameters():
    print(name, "no gradient" if parameter.grad is None else "gradient")

# %% penalty-explain [markdown]
# The last bias has none: it moves the result, and not the slope of the result.
#
# ## What it costs
#
# The graph of the first backward is kept, and its saved tensors with it.


# %% cost-run claims=["X4"]
def kept(create_graph):
    x = torch.ones(1024, requires_grad=True)
    y = x.exp().sin().sum()
    (gradient,) = torch.autograd.grad(y, x, create_graph=create_graph)
    with_graph = [t for t in (y, gradient) if t.grad_fn is not None]
    return gradviz.memory(with_graph).findings.total


print("bytes after autograd.grad:   ", kept(create_graph=False))
print("bytes with create_graph=True:", kept(create_graph=True))

# %% cycle [markdown]
# ## Use `autograd.grad`, not `backward`
#
# `backward(create_graph=True)` writes a `.grad` that has a graph, which leads back to the leaf that
# holds it. Such a circle is not freed when you expect it. torch warns; `torch.autograd.grad`
# returns the gradient, and makes no circle.

# %% cycle-run claims=["X4"]
x = torch.tensor(2.0, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    (x**3).backward(create_graph=True)
print("warned:", [type(one.message).__name__ for one in caught])
print("x.grad has a graph:", x.grad.grad_fn is not None)
x.grad = None  # opens the circle
