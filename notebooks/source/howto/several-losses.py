# %% title [markdown]
# # How-to: several losses
#
# Two heads on one trunk: `h` is computed once, and used by two losses. How to call backward. The
# ideas behind it are in [lesson 4](../04-twice-through-the-same-graph.ipynb) and
# [lesson 6](../06-a-new-graph-every-time.ipynb).

# %% setup-run
import torch
from torch import nn

import gradviz

# %% sum [markdown]
# ## Add them up
#
# One backward. At `h` two gradients meet, 1 and 3; the node of `h` waits for both, and runs once,
# with 4.

# %% sum-show claims=["C44"]
with gradviz.record() as recording:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * w
    loss = h.sum() + (3 * h).sum()
    loss.backward()

gradviz.show(recording, step="backward", hide=["formula"])

# %% two [markdown]
# ## One after the other
#
# The `MulBackward0` of `h = w * w` runs in both backwards. The first keeps what it has saved, since
# it was told to, and the second frees it. `w.grad` is added to twice, and is the same in the end.

# %% two-show claims=["C44"]
with gradviz.record() as recording:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * w
    loss1 = h.sum()
    loss2 = (3 * h).sum()
    loss1.backward(retain_graph=True)
    loss2.backward()

gradviz.show(recording, step="backward", hide=["formula"])

# %% ways [markdown]
# ## Which ways work?
#
# **Heard in the wild, and half right:** "for several losses use `retain_graph=True`." Only if they
# share saved tensors, and the sum is the better way even then: the trunk runs once. A step in
# between works in neither case: it writes `w` in place, and `w` is what both forwards had saved.


# %% ways-program
def outcome(shared, run):
    w = nn.Parameter(torch.tensor([1.0, 2.0]))
    h = w * w
    other = h if shared else w * w
    try:
        run(w, h.sum(), (3 * other).sum())
        return [round(v, 2) for v in w.grad.tolist()]
    except RuntimeError as error:
        was_changed = "modified by an inplace operation" in str(error)
        return "error: w was changed" if was_changed else "error: w was freed"


# %% ways-calls
def separate(w, loss1, loss2, retain_graph=False):
    loss1.backward(retain_graph=retain_graph)
    loss2.backward()


def separate_with_step(w, loss1, loss2):
    loss1.backward(retain_graph=True)
    torch.optim.SGD([w], lr=0.1).step()
    loss2.backward()


# %% ways-run claims=["C44"]
WAYS = {
    "one after the other": separate,
    "the first with retain_graph": lambda w, *losses: separate(w, *losses, retain_graph=True),
    "their sum": lambda w, *losses: sum(losses).backward(),
    "a step in between": separate_with_step,
}
for shared in (True, False):
    print("the losses share h" if shared else "each loss has an h of its own")
    for name, way in WAYS.items():
        print(f"  {name:29}{outcome(shared, way)}")
