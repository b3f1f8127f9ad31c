# %% title-riddle [markdown]
# # 5. Gradients add up: zero_grad, step, and the order of three lines
#
# A network looks at one sandal ten times, and learns a little each time. In the first pass a
# gradient in its middle is 0.0180. Nobody calls `zero_grad()`.
#
# What is it in the tenth pass: 0.0180, 0.1801, or neither?

# %% setup-run
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import gradviz
from gradviz.course import fashion

# %load_ext gradviz

# %% riddle-show claims=["C49"]
sandal = fashion.drawn("sandal")
print(fashion.as_text(sandal))
image, label = fashion.as_input(sandal), torch.tensor([5])
model = fashion.network()
loss = cross_entropy(model(image), label)
gradviz.show(loss, density="compact", hide=["formula", "saved"])

# %% riddle-picture [markdown]
# This is the graph of one pass: three layers, six parameters. A sandal is class 5 of 10. Each pass
# makes a new graph; the parameters stay.


# %% riddle-predict tags=["hide-input"] claims=["C52", "C53"]
@gradviz.predict(
    "In the first pass the gradient is 0.0180. What is it in the tenth?",
    choose={
        "0.0180 again": "So it would be if each backward replaced the gradient. It adds to it.",
        "ten times 0.0180": "Ten gradients are added. But `step()` moves the weights in between.",
        "something near ten times 0.0180": "Ten gradients are added, each for slightly other "
        "weights. `.grad` belongs to the parameter, and the parameter stays from pass to pass.",
        "something near 0.0180": "So it would be with `zero_grad()`: one gradient at a time, for "
        "slightly other weights.",
    },
    player_hide=["versions"],
)
def tenth():
    model = fashion.network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
    gradients = []
    for _ in range(10):
        loss = cross_entropy(model(image), label)
        loss.backward()
        gradients.append(model[3].bias.grad[3].item())
        optimizer.step()
    return (
        "0.0180 again"
        if gradients[9] == gradients[0]
        else "ten times 0.0180"
        if abs(gradients[9] / gradients[0] - 10) < 0.01
        else "something near ten times 0.0180"
        if gradients[9] > 9 * gradients[0]
        else "something near 0.0180"
    )


# %% step [markdown]
# ## With one number
#
# `nn.Parameter` makes a leaf that requires grad. `q` is 1, and its gradient is 2 whatever `q` is.
# `step()` takes a tenth of `q.grad` off `q`.


# %% step-predict tags=["hide-input"] claims=["D53"] confusions=[4]
@gradviz.predict(
    "What are the three `values`?",
    typed="values",
    wrong={
        "[0.8, 0.6, 0.4]": "So it would be if each step saw the gradient of its own pass only.",
        "[0.8, 0.4, 0.0]": "The third step sees three gradients of 2, and takes 0.6 off.",
        "[0.8, 0.4, -0.4]": "The gradients are 2, 4 and 6: each pass adds 2, it does not double.",
        "[1.2, 1.6, 2.2]": "A step goes against the gradient: it takes off, and does not add.",
        "[1, 1, 1]": "`step()` reads `q.grad` and writes `q`.",
    },
    why="The steps see 2, then 4, then 6. `step()` reads the gradient and leaves it as it is, and "
    "the next backward adds to it.",
    player_hide=["versions"],
)
def without():
    q = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([q], lr=0.1)
    values = []
    for _ in range(3):
        (2 * q).sum().backward()
        optimizer.step()
        values.append(q.item())
    return values


# %% watch [markdown]
# **Watch.** The same with `zero_grad()`. Step through two passes, and look at the gradient of `q`
# after each line. Who writes it, who only reads it, and what does `zero_grad()` leave there?

# %% watch-show claims=["C56", "D53"] confusions=[4]
# %%gradviz --step backward --hide versions --hide source
q = nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([q], lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = (2 * q).sum()
    loss.backward()
    optimizer.step()

# %% watch-explain [markdown]
# It leaves `None`: since torch 2.0 the gradient is dropped, and backward makes a new one. Older
# pages say that it becomes 0.
#
# **In a sentence:** every backward adds to `.grad`, `step()` only reads it, and `zero_grad()`
# alone takes it away.


# %% order-predict tags=["hide-input"] claims=["D53"]
@gradviz.predict(
    "With which orders does `q` go 0.8, 0.6, 0.4 in three passes?",
    tick={
        "zero_grad, backward, step": "Each step sees the gradient of its own pass.",
        "backward, zero_grad, step": "When `step()` comes, the gradient is gone: `q` stays 1.",
        "backward, step, zero_grad": "The same circle, entered at another place.",
        "zero_grad, step, backward": "When `step()` comes, the gradient is gone: `q` stays 1. "
        "After a backward, `zero_grad()` must not come before `step()`.",
    },
    player_hide=["versions"],
)
def orders():
    def three_passes(order):
        q = nn.Parameter(torch.ones(1))
        optimizer = torch.optim.SGD([q], lr=0.1)
        for line in order.split(", ") * 3:
            if line == "backward":
                (2 * q).sum().backward()
            else:
                getattr(optimizer, line)()
        return round(q.item(), 4)

    return [
        order
        for order in (
            "zero_grad, backward, step",
            "backward, zero_grad, step",
            "backward, step, zero_grad",
            "zero_grad, step, backward",
        )
        if three_passes(order) == 0.4
    ]


# %% repair [markdown]
# ## Repair
#
# A loop whose author does without an optimizer. Each step should follow the gradient of its own
# batch. Change the program and run the cell again.


# %% repair-try
@gradviz.repair("zero-grad")
def program(w, batches):
    for x, y in batches:
        loss = (w * x - y) ** 2
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    return w


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild:** a page prints ten rows of gradients, one for each pass over a sandal, with
# `zero_grad()`. They drift a little. Then it prints "the same without `optimizer.step()`", and
# these are the same ten rows, digit for digit. Would you bet on the second table?


# %% bet-predict tags=["hide-input"] claims=["C54"]
@gradviz.predict(
    "No `step()` here. How do the ten rows go?",
    choose={
        "they drift a little, as with step()": "What would make them drift? Nothing here writes "
        "a weight.",
        "they are all the same, bit for bit": "The same weights and the same picture give the same "
        "gradient. So the second table is false: its program had still called `step()`.",
        "they grow by the same amount each time": "So it would be without `zero_grad()`.",
        "they are all None": "`zero_grad()` comes before backward, and backward makes a new "
        "gradient.",
    },
    step="backward:2",
    player_hide=["versions"],
)
def no_step():
    model, rows = fashion.network(), []
    for _ in range(10):
        loss = cross_entropy(model(image), label)
        model.zero_grad()
        loss.backward()
        rows.append(model[3].bias.grad[:6].tolist())
    return (
        "they are all the same, bit for bit"
        if all(row == rows[0] for row in rows)
        else "they drift a little, as with step()"
    )


# %% remember [markdown]
# ## Remember
#
# Backward adds to `.grad` of the leaf and never clears it; `step()` reads it and never clears it.
# So call `zero_grad()` once per step: after `step()`, or before the first backward.

# %% own-code [markdown]
# ## Try it in your own code
#
# Find the three lines in a training loop of yours, and say what is in `.grad` after each. Is
# there a backward more than once per step? Then somebody adds up on purpose.
#
# **Next:** [6. A new graph every time](06-a-new-graph-every-time.ipynb). More:
# [the sandal in tables](howto/the-sandal-in-tables.ipynb),
# [clear gradients](howto/clear-gradients.ipynb),
# [add up on purpose](howto/add-up-on-purpose.ipynb).
