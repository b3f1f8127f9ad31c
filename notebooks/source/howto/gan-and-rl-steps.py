# %% title [markdown]
# # How-to: GAN and RL steps
#
# Where a gradient must not go: two players, targets, copies of networks, rounding. The idea behind
# it is in [lesson 9](../09-taking-a-value-out.ipynb).

# %% setup-run
import copy

import torch
from torch import nn

import gradviz

# %% gan [markdown]
# ## Two players: cut between them
#
# A generator makes `fake`, a discriminator scores it. When the discriminator is trained, the
# generator should stay as it is. Backward does not know whose turn it is: it goes wherever the
# graph leads. An audit says so before backward, and names the line.


# %% gan-program
class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Linear(2, 3)
        self.discriminator = nn.Linear(3, 1)
        for parameter in self.parameters():
            nn.init.constant_(parameter, 0.5)

    def forward(self, noise, cut):
        fake = self.generator(noise)
        if cut:
            fake = fake.detach()
        return self.discriminator(fake).mean()


# %% gan-run claims=["X12"]
for cut in (False, True):
    model = Pair()
    model(torch.ones(4, 2), cut).backward()
    have = [name for name, part in model.named_children() if part.weight.grad is not None]
    print(f"cut={cut!s:6} a gradient for", " and ".join(have))

# %% gan-show claims=["X12"]
model = Pair()
with gradviz.record(into=Pair.forward) as recording:
    loss = model(torch.ones(4, 2), cut=True)
gradviz.audit(loss, model, recording=recording)

# %% gan-explain [markdown]
# Is the `detach()` needed, if only the discriminator's optimizer steps? Without it, backward goes
# through the whole generator for nothing, and leaves gradients there, which are *added* to those of
# the generator's own turn unless somebody clears them.
#
# ## Two players: a forward pass for each turn
#
# The discriminator takes its step, then the generator learns from the same `score`. torch speaks of
# a tensor of shape `[3, 1]`, made by an operation that is not in the code: the transposed weight of
# the discriminator. The card says whose it is, and who wrote it. It is at version 3, not 1: the
# layer has set its own weight, and we have set it again.

# %% turns-run claims=["X25"]
with gradviz.expect_error() as error:
    noise, model = torch.ones(4, 2), Pair()
    optimizer = torch.optim.SGD(model.discriminator.parameters(), lr=0.1)
    score = model(noise, cut=False)
    score.backward(retain_graph=True)
    optimizer.step()
    generator_loss = -score
    generator_loss.backward()
error

# %% turns-repair [markdown]
# Repair it: `retain_graph=True` is not the fix, it only turned one error into another.


# %% turns-repair-try
@gradviz.repair("two-players")
def program(generator, judge, optimizer, noise):
    fake = generator(noise)
    score = judge(fake).mean()
    score.backward(retain_graph=True)
    optimizer.step()
    generator_loss = -score
    generator_loss.backward()


# %% target [markdown]
# ## A target that is computed: detach it
#
# In temporal-difference learning the target is made with the network that learns. The prediction
# should move towards the target, and the target should stay. Both programs have the same loss.


# %% target-run claims=["D27"]
def gradients(cut):
    value, value_next = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    target = 1 + 0.5 * value_next
    loss = (value - (target.detach() if cut else target)) ** 2
    loss.backward()
    return value.grad, value_next.grad


for cut in (False, True):
    value, value_next = gradients(cut)
    print(f"cut={cut!s:6} value {value:g}   value_next {value_next}")

# %% advantage [markdown]
# The same in a policy gradient: the advantage weighs the logarithm of the probability, and is
# data. Without the cut the policy's loss would also train the critic, to make the loss small.


# %% advantage-run claims=["D27"]
for cut in (False, True):
    logits = torch.zeros(2, requires_grad=True)
    critic = torch.tensor(0.5, requires_grad=True)
    advantage = 2.0 - critic
    loss = -torch.distributions.Categorical(logits=logits).log_prob(torch.tensor(0))
    loss = loss * (advantage.detach() if cut else advantage)
    loss.backward()
    print(
        f"cut={cut!s:6} policy {logits.grad.tolist()}   critic",
        critic.grad and round(critic.grad.item(), 4),
    )

# %% deepcopy [markdown]
# ## A target network: copy leaves, not results
#
# A leaf is copied deeply, with its flag. A result is not: its graph cannot be copied with it. One
# result that is kept in a module is enough. Keep `b.detach().clone()` in its place.

# %% deepcopy-run claims=["X21"]
model = Pair()
target = copy.deepcopy(model).requires_grad_(False)
print("the copy has a memory of its own:", end=" ")
print(target.generator.weight.data_ptr() != model.generator.weight.data_ptr())
with gradviz.expect_error() as error:
    a = torch.ones(2, requires_grad=True)
    b = a.exp()
    best = copy.deepcopy(b)
error

# %% deepcopy-fix-run claims=["X21"]
best = b.detach().clone()
print("best has a grad_fn:", best.grad_fn is not None, "  a copy:", best.data_ptr() != b.data_ptr())
print("a leaf keeps its flag:", copy.deepcopy(a).requires_grad)

# %% through [markdown]
# ## Rounding: a cut in the backward only
#
# Rounding has slope 0 nearly everywhere, so no gradient comes through. In the sum below the bracket
# has a value and no gradient: the value is rounded, the gradient passes as if nothing had happened.
# This is called a *straight-through* estimator, and is used to train with rounded weights.

# %% through-show claims=["X17"]
w = torch.tensor([0.2, 1.7], requires_grad=True)
w.round().sum().backward()
print("round:            w.grad", w.grad.tolist())
w.grad = None
out = w + (w.round() - w).detach()
out.sum().backward()
print("straight-through: w.grad", w.grad.tolist(), "  out", out.tolist())
gradviz.show(out)

# %% ten [markdown]
# The same trick gives a value one gradient and another value: here 9, with a gradient ten times as
# long as that of `w * w`.

# %% ten-run claims=["D27"]
w = torch.tensor(3.0, requires_grad=True)
square = w * w
out = 10 * square - (9 * square).detach()
out.backward()
print("out", out.item(), "  w.grad", w.grad.item())
