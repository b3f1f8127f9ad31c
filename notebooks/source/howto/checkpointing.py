# %% title [markdown]
# # How-to: checkpointing
#
# A checkpoint keeps what goes into a part of the model, and computes the rest again when backward
# needs it: memory is paid for with time. What else keeps less is in
# [keep less for backward](keep-less.ipynb), the idea behind it in
# [lesson 7](../07-what-forward-keeps.ipynb).

# %% setup-run
import warnings

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import gradviz

# %% keeps [markdown]
# ## What does it keep?
#
# Both graphs have the same nodes. In the second one, those of `part` keep no tensor: what they
# would have saved is *packed*. In its place the checkpoint has left a note how to get it.


# %% keeps-show
def part(h):
    return (h * h).sin()


def graph_of(how):
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    loss = how(x * 2).sum()
    return gradviz.snapshot(loss, names={"x": x, "loss": loss})


gradviz.compare(graph_of(part), graph_of(lambda h: checkpoint(part, h, use_reentrant=False)))

# %% again [markdown]
# ## When is it computed again?
#
# In the middle of backward, when the first node asks for a tensor that was not kept. That is
# `SinBackward0`, where the player opens: it needs `h * h`. Of `part` only that product is computed
# again, not the sine, since nothing that comes after the last saved tensor is needed.

# %% again-show claims=["X5"]
with gradviz.record() as recording:
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    h = x * 2
    out = checkpoint(part, h, use_reentrant=False)
    loss = out.sum()
    loss.backward()

gradviz.show(recording, step="SinBackward0", hide=["versions", "formula"])

# %% cost [markdown]
# ## What does it save, and what does it cost?
#
# Eight layers, each 1 MiB of weights and half a MiB of activations; a hook counts what forward
# keeps. The weights are there in any case. A checkpoint around everything keeps the batch alone,
# but backward then makes all the rest at once. One around each of several parts needs one part at a
# time; the last of the four is left as it is, since backward begins there.


# %% cost-program
def kept(forward, *inputs):
    sizes = {}

    def pack(tensor):
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        forward(*inputs)
    return sum(sizes.values()) / 2**20


def one_step(forward):
    calls = []
    handles = [m.register_forward_pre_hook(lambda *_: calls.append(1)) for m in model[::2]]
    model.zero_grad()
    forward(x[:8]).sum().backward()
    for handle in handles:
        handle.remove()
    return len(calls), model[0].weight.grad


# %% cost-run claims=["X5"]
torch.manual_seed(0)
model = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(512, 512), nn.ReLU())))
x = torch.ones(256, 512)
gradients = []
for name, forward in {
    "none": model,
    "one": lambda x: checkpoint(model, x, use_reentrant=False),
    "one in each of 4 parts": lambda x: checkpoint_sequential(model, 4, x, use_reentrant=False),
}.items():
    calls, gradient = one_step(forward)
    gradients.append(gradient)
    print(f"checkpoints: {name:24}keeps {kept(forward, x):4.1f} MiB, runs {calls:2} linear layers")
print("the same gradient:", all(torch.allclose(gradients[0], other) for other in gradients))

# %% random [markdown]
# ## What about random numbers?
#
# The second time has to draw the same ones. A checkpoint notes the state of the generators, and
# puts it back for the recomputation. If you switch that off, dropout zeroes *other* elements the
# second time: the gradient does not belong to the result, and torch raises nothing.


# %% random-run
def dropped(**options):
    torch.manual_seed(0)
    x = torch.ones(64, requires_grad=True)
    out = checkpoint(lambda h: nn.functional.dropout(h * h), x, use_reentrant=False, **options)
    out.sum().backward()
    return torch.equal(out == 0, x.grad == 0)


print("the gradient is 0 where the result is 0:      ", dropped())
print("the same with preserve_rng_state=False:       ", dropped(preserve_rng_state=False))

# %% differs [markdown]
# ## What if the second time is different?
#
# A part that looks at the time, at a counter or at a global flag may do something else. torch
# compares how many tensors are saved, and their shapes, types and devices, and raises. Other values
# of the same shape it does not notice.

# %% differs-card-run
with gradviz.expect_error() as error:
    calls = []

    def changing(h):
        calls.append(1)
        return h.exp() if len(calls) == 1 else h + 1

    x = torch.tensor([0.5, 1.0], requires_grad=True)
    out = checkpoint(changing, x, use_reentrant=False)
    out.sum().backward()
error

# %% reentrant [markdown]
# ## `use_reentrant=False`
#
# Write it always. The older kind calls a `backward()` inside backward. With it the input has to
# require grad, or the part gets no gradient at all, and torch only warns:

# %% reentrant-run claims=["X5"]
x = torch.ones(8, 512)
for flag in (False, True):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = checkpoint(model, x, use_reentrant=flag)
    heard = "torch warns" if caught else "no warning"
    print(f"use_reentrant={flag!s:6} result requires grad: {out.requires_grad!s:6} {heard}")
