# %% title [markdown]
# # How-to: Jacobians, gradients of each sample, forward mode
#
# Backward computes one gradient of one number. What to type for more. What `gradient=` means is in
# [start and end backward elsewhere](start-and-end-of-backward.ipynb).

# %% setup-run
import torch
from torch.func import functional_call, grad, jacfwd, jacrev, jvp, vmap

import gradviz

# %% rows [markdown]
# ## A Jacobian, row by row
#
# A backward that starts with a 1 at one result and 0 elsewhere gives one row. `is_grads_batched`
# takes all starts at once.

# %% rows-run claims=["X18"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = torch.stack([x.sum(), x.square().sum()])
rows = [torch.autograd.grad(y, x, start, retain_graph=True)[0] for start in torch.eye(2)]
print("row by row:", torch.stack(rows).tolist())
(batched,) = torch.autograd.grad(y, x, torch.eye(2), is_grads_batched=True)
print("at once:   ", batched.tolist())

# %% rows-show claims=["X18"]
gradviz.show(y, hide=["saved", "source"])

# %% func [markdown]
# ## As a function
#
# `torch.func` takes a function and returns one. `jacrev` goes backward, one pass for each result;
# `jacfwd` goes forward, one pass for each input. Take the one with fewer.


# %% func-run claims=["X18"]
def f(x):
    return torch.stack([x.sum(), x.square().sum()])


at = torch.tensor([1.0, 2.0, 3.0])
print("jacrev:", jacrev(f)(at).tolist())
print("jacfwd:", jacfwd(f)(at).tolist())

# %% samples [markdown]
# ## A gradient for each sample
#
# `.grad` is the sum over the batch. `vmap(grad(…))` keeps the samples apart, without a loop.

# %% samples-run claims=["X18"]
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
inputs, targets = torch.randn(4, 2), torch.randn(4, 1)
parameters = {name: p.detach() for name, p in model.named_parameters()}


def loss_of_one(parameters, sample, target):
    prediction = functional_call(model, parameters, (sample,))
    return (prediction - target).square().sum()


each = vmap(grad(loss_of_one), in_dims=(None, 0, 0))(parameters, inputs, targets)
(model(inputs) - targets).square().sum().backward()
print("gradients of samples:", tuple(each["weight"].shape))
print("their sum is .grad:  ", torch.allclose(each["weight"].sum(0), model.weight.grad))

# %% forward [markdown]
# ## Forward mode
#
# `jvp` asks how the results follow when the inputs move in one direction. It computes that along
# with forward, so nothing is saved, and no graph is made.

# %% forward-run claims=["X19"]
value, follows = jvp(f, (at,), (torch.tensor([1.0, 0.0, 0.0]),))
print("value:  ", value.tolist())
print("follows:", follows.tolist(), " graph:", follows.grad_fn)
