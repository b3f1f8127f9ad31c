# %% title [markdown]
# # How-to: add up on purpose
#
# A big batch in small parts, clipping, and a step inside backward: what else reads `.grad`. The
# idea behind it is in [lesson 5](../05-gradients-add-up.ipynb).

# %% setup-run
import torch
from torch import nn

import gradviz

torch.manual_seed(0)
x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)

# %% parts [markdown]
# ## A batch that does not fit into memory
#
# Take four *micro-batches* of 2 in place of a batch of 8. Call `backward` for each, and `step`
# once; no `retain_graph` is needed, since each has its own graph. Each takes the mean of its
# losses, so the sum is four times too long. Divide each loss by 4.


# %% parts-program
def loss_of(part):
    return ((x[part] @ w - y[part]) ** 2).mean()


def compared_with_big_batch(parts, factors):
    w.grad = None
    for part, factor in zip(parts, factors):
        (loss_of(part) * factor).backward()
    (big,) = torch.autograd.grad(loss_of(range(8)), w)
    return [f"{ratio:.2f}" for ratio in (w.grad / big).tolist()]


# %% parts-run claims=["X8"]
fours = [[0, 1], [2, 3], [4, 5], [6, 7]]
print("four micro-batches:    ", *compared_with_big_batch(fours, [1] * 4))
print("each loss divided by 4:", *compared_with_big_batch(fours, [1 / 4] * 4))

# %% unequal [markdown]
# ## Parts of different size
#
# Dividing by their number is not enough: sample 7 then counts 1/6, and in the big batch 1/8. Give
# each part its share of the samples. Or add up sums in place of means, and divide by 8 once. For
# texts count tokens, not rows.

# %% unequal-run claims=["X8"]
unequal = [[0, 1, 2], [3, 4, 5], [6, 7]]
shares = [len(part) / 8 for part in unequal]
print("divided by their number:", *compared_with_big_batch(unequal, [1 / 3] * 3))
print("by share of the samples:", *compared_with_big_batch(unequal, shares))

# %% clip [markdown]
# ## Clipping
#
# It makes a long gradient shorter, so it comes when the gradient is complete: after the last
# `backward`, before `step`. What it returns is the length *before* clipping.

# %% clip-run claims=["X9"]
q = nn.Parameter(torch.tensor([3.0, 4.0]))
print("before backward:", nn.utils.clip_grad_norm_([q], max_norm=1.0).item(), "  q.grad:", q.grad)
(q * q / 2).sum().backward()
print("after backward: ", nn.utils.clip_grad_norm_([q], max_norm=1.0).item(), end="  ")
print(" q.grad:", [round(v, 4) for v in q.grad.tolist()])

# %% inside [markdown]
# ## A step inside backward
#
# A step can be taken as soon as a gradient is complete. Then the gradient can be dropped at once,
# and the gradients of a large network are never in memory together. In the recording, look for the
# moment at which `p` changes: `q` has no gradient yet.

# %% inside-show claims=["X7"]
p, q = (nn.Parameter(torch.ones(1)) for _ in range(2))
for parameter in (p, q):
    optimizer = torch.optim.SGD([parameter], lr=0.1)

    def step_and_drop(parameter, optimizer=optimizer):
        optimizer.step()
        optimizer.zero_grad()

    parameter.register_post_accumulate_grad_hook(step_and_drop)

with gradviz.record() as recording:
    loss = 3 * q * p
    loss.backward()

print("p, q:", round(p.item(), 4), round(q.item(), 4), "  gradients:", p.grad, q.grad)
gradviz.show(recording, step=2)

# %% zero [markdown]
# ## Gradients that add up to 0
#
# Two backwards may cancel. Then `.grad` is a real 0, not `None`, and nobody has cleared it.

# %% zero-run
v = torch.tensor(1.0, requires_grad=True)
(2 * v).backward()
(-2 * v).backward()
print("v.grad:", v.grad.item())
