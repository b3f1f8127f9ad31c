# %% title [markdown]
# # How-to: what the optimizer holds
#
# Which tensors `parameters()` finds, which of them an optimizer changes, and how to set a parameter
# so that it still learns. The idea behind it is in
# [lesson 11](../11-who-owns-the-parameters.ipynb).

# %% setup-run
import torch
from torch import nn

import gradviz

# %% finds [markdown]
# ## What does `parameters()` find?
#
# **Heard in the wild, and half right:** "Parameters of a model must be `nn.Parameter`s, a wrapper
# of a tensor." `nn.Parameter` is a subclass: a parameter *is* a tensor. A module finds those that
# are its attributes, and those of modules that are.

# %% finds-run claims=["D50"]
torch.manual_seed(1)
print("Parameter is a subclass of Tensor:", issubclass(nn.Parameter, torch.Tensor))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.shift = torch.zeros(1, requires_grad=True)
        self.register_buffer("mean", torch.zeros(1))
        self.layers = [nn.Linear(1, 1)]
        self.found = nn.ModuleList([nn.Linear(1, 1)])


model = Model()
print("found:", [name for name, _ in model.named_parameters()])

# %% finds-explain [markdown]
# A tensor, a list of layers and a buffer are not found, so no optimizer learns of them. Make the
# tensor an `nn.Parameter`, and the list an `nn.ModuleList`.
#
# What `parameters()` returns is a generator. It can be gone through once.

# %% generator-run claims=["D50"]
parameters = model.parameters()
print("parameters:", sum(1 for _ in parameters))
try:
    torch.optim.SGD(parameters, lr=0.1)
except ValueError as error:
    print("and an optimizer afterwards raises", type(error).__name__)

# %% same [markdown]
# ## Is it the same tensor?
#
# The optimizer holds the parameters themselves, not copies and not names. `to()` changes the
# numbers of a parameter in its place, so the optimizer may be made before or after.

# %% same-run claims=["D51"]
layer = nn.Linear(1, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
held = optimizer.param_groups[0]["params"]
print("the same tensor:            ", held[0] is layer.weight)
layer.to(torch.float64)
print("the same after to(float64): ", held[0] is layer.weight, held[0].dtype)

# %% set [markdown]
# ## How can I set a parameter?
#
# In six ways, after the optimizer was made. The gradient is 1 and the learning rate 0.1.


# %% set-define
def after_a_step(set_weight):
    layer = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    half = torch.full((1, 1), 0.5)
    with torch.no_grad():
        set_weight(layer, half)
    layer(torch.ones(1, 1)).sum().backward()
    optimizer.step()
    return round(layer.weight.item(), 2)


# %% set-run claims=["D45"]
ways = {
    "layer.weight = nn.Parameter(half)": lambda m, half: setattr(m, "weight", nn.Parameter(half)),
    "layer.weight.fill_(0.5)": lambda m, half: m.weight.fill_(0.5),
    "layer.weight.copy_(half)": lambda m, half: m.weight.copy_(half),
    "nn.init.constant_(layer.weight, 0.5)": lambda m, half: nn.init.constant_(m.weight, 0.5),
    "layer.weight.data = half": lambda m, half: setattr(m.weight, "data", half),
    "layer.load_state_dict(…)": lambda m, half: m.load_state_dict({"weight": half}, strict=False),
}
for way, set_weight in ways.items():
    print(f"{way:37}{after_a_step(set_weight)}")

# %% set-explain [markdown]
# Only the first makes a new tensor. If you need one, make the optimizer afterwards, or add the
# parameter to it: `optimizer.add_param_group({"params": [layer.weight]})`.
#
# ## Which parameters will `step()` change?
#
# `gradviz.audit` compares the model with what the optimizer holds.

# %% audit-run claims=["D51"]
layer = nn.Linear(2, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
layer.weight = nn.Parameter(torch.zeros(1, 2))
loss = layer(torch.ones(1, 2)).sum()
gradviz.audit(loss, layer, optimizer)
