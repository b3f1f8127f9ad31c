# %% title [markdown]
# # How-to: the sandal in tables
#
# Ten passes over one picture, with and without `zero_grad()` and `step()`, in all digits, and when
# two runs give the same digits at all. The idea behind it is in
# [lesson 5](../05-gradients-add-up.ipynb).

# %% setup-run
import torch
from torch import nn

import gradviz
from gradviz.course import fashion

sandal = fashion.drawn("sandal")
print(fashion.as_text(sandal), tuple(sandal.shape))


# %% passes [markdown]
# ## Ten passes
#
# The picture was drawn for this course, in the size of the data set FashionMNIST, where a sandal is
# class 5. After each backward six gradients in the middle of the network are written down.


# %% passes-program
def ten_passes(image, label, zero_grad=True, step=True):
    model, rows = fashion.network(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
    for _ in range(10):
        scores = model(fashion.as_input(image))
        loss = nn.functional.cross_entropy(scores, torch.tensor([label]))
        if zero_grad:
            optimizer.zero_grad()
        loss.backward()
        rows.append(model[3].bias.grad[:6].tolist())
        if step:
            optimizer.step()
    return rows


def print_rows(rows):
    for number, row in enumerate(rows):
        print(f"pass {number}:", *(f"{value:7.4f}" for value in row))


# %% without [markdown]
# **Without `zero_grad()`** each backward adds to what is there. The weights move in between, so the
# tenth row is not quite ten times the first:

# %% without-run claims=["C49", "C52", "C53"]
rows = ten_passes(sandal, 5, zero_grad=False)
print_rows(rows)
print(f"pass 9 is {rows[9][3] / rows[0][3]:.2f} times pass 0, in the fourth column")

# %% with [markdown]
# **With `zero_grad()`** there is one gradient at a time, and it changes slowly while the network
# learns:

# %% with-run claims=["C50"]
with_step = ten_passes(sandal, 5)
print_rows(with_step)

# %% no-step [markdown]
# **Without `step()`** nothing moves. A page that we found prints the table above under this
# heading, since the line had been left in. You can tell from the table alone: if the weights stay
# where they are, the gradient stays the same to the last bit.

# %% no-step-run claims=["C54"]
without_step = ten_passes(sandal, 5, step=False)
print_rows(without_step)
print("all ten the same, without step:", all(row == without_step[0] for row in without_step))
print("all ten the same, with step:   ", all(row == with_step[0] for row in with_step))

# %% real [markdown]
# ## A real sandal
#
# Do you have FashionMNIST? Put its files into `data/FashionMNIST/raw` beside this notebook, where
# torchvision puts them too. Then this cell shows the first two tables for picture 1012: without
# `zero_grad()` its last column goes from 0.0447 to 0.4461, not to 0.4470. Nothing is downloaded.

# %% real-run
fashion.RealSandal(ten_passes)

# %% exact [markdown]
# ## Does it add exactly?
#
# Two backwards through one graph, against twice the gradient of one. The layer is that of
# [lesson 2](../02-reading-the-graph.ipynb), with its random numbers:


# %% exact-run claims=["C45", "C46", "C47", "C48"]
def bias_grad(times):
    torch.manual_seed(1)
    x, y = torch.ones(5), torch.zeros(3)
    w = torch.randn(5, 3, requires_grad=True)
    b = torch.randn(3, requires_grad=True)
    loss = nn.functional.binary_cross_entropy_with_logits(x @ w + b, y)
    for _ in range(times):
        loss.backward(retain_graph=True)
    return b.grad


once, twice = bias_grad(1), bias_grad(2)
print("once:     ", *(f"{v:.4f}" for v in once.tolist()))
print("twice:    ", *(f"{v:.4f}" for v in twice.tolist()))
print("once * 2: ", *(f"{v:.4f}" for v in (once * 2).tolist()))
print("bit for bit the same:", torch.equal(twice, once * 2))

# %% exact-show claims=["C48"]
with gradviz.record() as recording:
    w = torch.tensor(1.0, requires_grad=True)
    for _ in range(2):
        loss = 2 * w
        loss.backward()

gradviz.show(recording, step="backward:2")

# %% exact-watch [markdown]
# The same with one number. Each `loss = 2 * w` makes a `MulBackward0`; the `AccumulateGrad` of `w`
# stays. In the first backward it finds `None` and puts 2 there; in the second it finds 2, and adds.

# %% seed [markdown]
# ## Does the same seed give the same numbers?
#
# To compare two runs we needed the same random numbers. **Heard in the wild, and half right:**
# "with `manual_seed`, the same code gives the same result." The same *calls in the same order* do,
# on one kind of device and one version of torch. Sixteen numbers at once are not twice eight:


# %% seed-run claims=["C57"]
def numbers(*sizes):
    torch.manual_seed(1)
    return torch.cat([torch.randn(size) for size in sizes])


print("16 and 16:   ", torch.equal(numbers(16), numbers(16)))
print("16 and 8 + 8:", torch.equal(numbers(16), numbers(8, 8)))
