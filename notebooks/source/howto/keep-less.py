# %% title [markdown]
# # How-to: keep less for backward
#
# Count what forward keeps with saved-tensor hooks; then freeze, compute again, pack or move it. The
# idea behind it is in [lesson 7](../07-what-forward-keeps.ipynb).

# %% setup-run
import torch
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks

import gradviz

torch.set_default_device("cpu")  # the memory that is counted here

# %% count [markdown]
# ## How much does forward keep?
#
# torch calls a hook of yours for each tensor that it saves. This one counts each piece of memory
# once; what `pack` returns is kept in place of the tensor.


# %% count-program
def kept(forward, *inputs, pack=lambda tensor: tensor):
    sizes = {}

    def hook(tensor):
        packed = pack(tensor)
        storage = packed.untyped_storage()
        if storage.nbytes():
            sizes[storage.data_ptr()] = storage.nbytes()
        return packed

    with saved_tensors_hooks(hook, lambda packed: packed.float()):
        out = forward(*inputs)
    return len(sizes), sum(sizes.values()) / 2**20, out


# %% count-run claims=["C21", "X26"]
torch.manual_seed(0)
model = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(512, 512), nn.ReLU())))
x = torch.ones(256, 512)
storages, mib, _ = kept(model, x)
print(f"forward keeps            {storages:2} storages, {mib:4.1f} MiB")
with torch.no_grad():
    storages, mib, _ = kept(model, x)
print(f"forward under no_grad    {storages:2} storages, {mib:4.1f} MiB")

# %% count-whose [markdown]
# Whose is it? Seven weights of 1 MiB are kept by reference, and are there in any case; so is the
# batch. The rest are activations.

# %% count-whose-show claims=["C21"]
gradviz.memory(model(x), model)

# %% when [markdown]
# ## When is it most?
#
# At the end of forward. Then each node frees what it has saved as soon as it has run.

# %% when-show claims=["C21"]
with gradviz.record() as recording:
    first, last = torch.full((64, 64), 0.1, requires_grad=True), torch.ones(64, requires_grad=True)
    h = torch.tanh(torch.ones(256, 64) @ first)
    loss = (h @ last).square().mean()
    loss.backward()
gradviz.memory(recording)

# %% freeze [markdown]
# ## Freeze, but from the front
#
# What counts is whether a gradient has to pass a layer, not how many are frozen. An input that
# requires grad makes it pass them all, and so does a first layer that is trained.


# %% freeze-program
class Block(nn.Module):
    """A residual block: what it computes is added to what came in."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(x)))


# %% freeze-program-strip
def strip(trainable, blocks=8):
    """A residual network; of its layers only those of the slice are trainable."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 8, 3, padding=1), *(Block() for _ in range(blocks)), nn.Linear(8, 10)]
    for layer in layers:
        layer.requires_grad_(False)
    for layer in layers[trainable]:
        layer.requires_grad_(True)
    return nn.Sequential(*layers[:-1], nn.AdaptiveAvgPool2d(1), nn.Flatten(), layers[-1])


def pictures(requires_grad=False):
    return torch.ones(8, 3, 32, 32, requires_grad=requires_grad)


# %% freeze-run claims=["E8"]
ALL, FIRST, LAST = slice(None), slice(1), slice(-1, None)
for what, trainable, flag in (
    ("all layers", ALL, False),
    ("only the last layer", LAST, False),
    ("only the first layer", FIRST, False),
    ("the last layer and the input", LAST, True),
):
    storages, mib, out = kept(strip(trainable), pictures(flag))
    nodes = len(gradviz.snapshot(out).nodes)
    print(f"{what:30}{mib:5.2f} MiB in {storages:2} storages, {nodes:2} nodes")

# %% freeze-norm [markdown]
# For a ResNet-18 of torchvision with four pictures of 96 × 96 it is 15.58 MiB and 132 nodes for all
# layers, and 0.01 MiB and 4 nodes for the last alone. Freezing is about gradients: a BatchNorm in
# training mode goes on averaging.

# %% freeze-norm-run claims=["E8"]
model = strip(LAST)
before = model[1].norm.running_mean.clone()
model(pictures())
print("a frozen BatchNorm has moved:", not torch.equal(model[1].norm.running_mean, before))

# %% inplace [markdown]
# ## Does writing in place help?
#
# Rarely. The input of a ReLU is not saved in any case: its result is. (A SiLU needs its input, and
# makes a copy before it writes.) What is gained is a moment in which input and result are both
# there.


# %% inplace-run claims=["E23"]
def conv(*more):
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), *more)


print("                      out of place   in place")
for name, make in {
    "conv, norm, ReLU": lambda inplace: conv(nn.BatchNorm2d(16), nn.ReLU(inplace)),
    "conv, ReLU": lambda inplace: conv(nn.ReLU(inplace)),
    "conv, SiLU": lambda inplace: conv(nn.SiLU(inplace)),
}.items():
    out_of_place, in_place = (kept(make(f), torch.ones(8, 16, 32, 32))[1] for f in (False, True))
    print(f"{name:22}{out_of_place:8.2f} MiB{in_place:7.2f} MiB")

# %% checkpoint [markdown]
# ## Compute it again
#
# A checkpoint keeps what goes into a part of the model, and computes the rest again when backward
# needs it: see [checkpointing](checkpointing.ipynb).

# %% pack [markdown]
# ## Keep it smaller
#
# A hook may change what is kept. Half precision does not give half of 11.5 MiB: a ReLU and the next
# layer have saved one tensor, and now each packs its own.

# %% pack-run claims=["X26"]
model = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(512, 512), nn.ReLU())))
gradients = []
for name, pack in (("as it is", lambda t: t), ("half precision", torch.Tensor.half)):
    storages, mib, out = kept(model, x, pack=pack)
    gradients.append(torch.autograd.grad(out.sum(), model[0].weight)[0])
    print(f"{name:16}{mib:5.2f} MiB in {storages} storages")
error = (gradients[1] - gradients[0]).abs().max() / gradients[0].abs().max()
print("the gradient is off by", "less than 1 %" if error < 0.01 else "more")

# %% move [markdown]
# ## Keep it elsewhere
#
# `save_on_cpu` is such a pair of hooks: what is saved goes to the memory of the computer, and comes
# back when backward needs it. A picture does not unpack it, and says so.

# %% move-show claims=["X26"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
with save_on_cpu():
    loss = x.exp().sin().sum()
gradviz.show(loss, hide=["versions"])
