# %% title [markdown]
# # How-to: audit and compare
#
# Which parameters get no gradient, and why; and what a switch has changed in a graph. The idea
# behind it is in [lesson 8](../08-four-switches.ipynb).

# %% setup-run
import torch
from torch import nn

import gradviz

torch.set_default_device("cpu")  # the same random numbers everywhere

# %% parts [markdown]
# ## A model in three parts
#
# The one in the middle is not to be trained: it is frozen, or it runs under `no_grad`.


# %% parts-program
class Parts(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.first, self.middle, self.last = (nn.Linear(3, 3, bias=False) for _ in range(3))
        self.middle.requires_grad_(how != "frozen")
        self.how = how

    def forward(self, x):
        h = self.first(x)
        with torch.set_grad_enabled(self.how != "no_grad"):
            h = self.middle(h)
        return self.last(h)


def loss_with(how):
    torch.manual_seed(0)
    model = Parts(how)
    return model(torch.ones(2, 3)).sum(), model


# %% audit [markdown]
# ## Who gets no gradient?
#
# An audit asks for every parameter whether backward will reach it, and if not, why. You may ask
# before you call backward. First the frozen layer:

# %% audit-show claims=["E5"]
loss, model = loss_with("frozen")
gradviz.audit(loss, model)

# %% cut [markdown]
# ## Which line cut it off?
#
# What cut the way is not in the graph: it is what is *not* there. A recording of the forward has
# seen it.

# %% cut-show claims=["D33", "E5"]
_, model = loss_with("no_grad")
with gradviz.record(into=Parts.forward) as recording:
    loss = model(torch.ones(2, 3)).sum()
gradviz.audit(loss, model, recording=recording)

# %% compare [markdown]
# ## What has a switch changed?
#
# Compare two graphs. The frozen layer has lost one leaf; the way from top to bottom is open.

# %% compare-frozen-show claims=["E5"]
loss, model = loss_with("nothing")
trained = gradviz.snapshot(loss, model)
loss, model = loss_with("frozen")
gradviz.compare(trained, gradviz.snapshot(loss, model))

# %% compare-block [markdown]
# With the block in the middle, everything before it is gone:

# %% compare-block-show claims=["D33", "E5"]
loss, model = loss_with("no_grad")
gradviz.compare(trained, gradviz.snapshot(loss, model))

# %% compare-eval [markdown]
# `eval()` takes away the node of dropout. All other nodes, and all flags, are what they were. (On a
# GPU, dropout has a node of another name; this runs on the CPU.)

# %% compare-eval-show claims=["D39"]
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
x = torch.randn(16, 3)
trained = gradviz.snapshot(model.train()(x).sum())
evaluated = gradviz.snapshot(model.eval()(x).sum())
gradviz.compare(trained, evaluated)

# %% called [markdown]
# ## Does backward visit a frozen part?
#
# Where nothing on the way requires grad there is no node, and backward never comes there. A
# Function of your own can count its calls:


# %% called-run claims=["E5"]
class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, gradient):
        called.append("backward")
        return gradient * 3


for flag in (True, False):
    called = []
    x = torch.ones(2, requires_grad=flag)
    w = torch.ones(2, requires_grad=True)
    (Counted.apply(x) + w).sum().backward()
    print(f"its input requires grad: {flag!s:6} its backward was called {len(called)} times")
