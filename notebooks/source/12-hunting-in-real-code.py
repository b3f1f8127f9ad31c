# %% title-riddle [markdown]
# # 12. Hunting in real code
#
# A training loop as people write it. The data lie on a line, which any network can learn. Nothing
# is raised and nothing warns, but after 100 steps the loss is far too high, and it stays there.
#
# Three lines are at fault. How do you find them?

# %% setup-run
import torch
from torch import nn

import gradviz

# %load_ext gradviz

torch.manual_seed(0)
x = torch.linspace(-1, 1, 8).double().unsqueeze(1)  # float64: the same digits on every machine
y = 3 * x.squeeze(1) + 1
encoder, head = nn.Linear(1, 4).double(), nn.Linear(4, 1).double()
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)

# %% riddle-show claims=["X2"]
spread = 0
for _ in range(100):
    optimizer.zero_grad()
    features = encoder(x).relu().data
    loss = ((head(features) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    spread = spread + head(features).std()  # for the log
print(f"loss: {loss:.2f}")
gradviz.show(loss, density="compact", hide=["saved", "versions"])

# %% riddle-picture [markdown]
# The picture is a witness already. Two layers have four parameters: how many leaves do you see?


# %% learned-predict tags=["hide-input"] claims=["X2"]
@gradviz.predict(
    "`y` goes from -2 to 4. What does the trained network predict for the eight values of `x`?",
    choose={
        "about y": "Then the loss would be near 0.",
        "about 1 for all of them": "The shapes are (8, 1) and (8,), and the difference of the two "
        "is (8, 8): each prediction is compared with all eight targets. The best that can be "
        "learned so is their mean.",
        "about half of y": "Nothing makes it half. Look at the shapes in the line of the loss.",
        "nan": "The loss is a number, so they are numbers.",
    },
)
def learned():
    prediction = head(encoder(x).relu()).squeeze(1)
    return next(
        name
        for name, far in {
            "about y": prediction - y,
            "about 1 for all of them": prediction - 1,
            "about half of y": prediction - y / 2,
            "nan": torch.zeros(1),
        }.items()
        if far.abs().max() < 0.5
    )


# %% watch [markdown]
# ## Ask for the culprit
#
# **Watch.** Record one step. A mark on the timeline says: no error, but wrong. Then
# `gradviz.explain()` lists everything that is known of the last recording.

# %% watch-show claims=["X2"]
# %%gradviz --step backward --hide source
optimizer.zero_grad()
features = encoder(x).relu().data
loss = ((head(features) - y) ** 2).mean()
loss.backward()
optimizer.step()

# %% explain-run claims=["X2"]
gradviz.explain()

# %% audit [markdown]
# That was the line of the loss, and the line with `.data`. `gradviz.audit` asks the same of live
# tensors: which parameter gets a gradient, and which does the optimizer change? What tensors do not
# show it calls unknown.

# %% audit-run
gradviz.audit(loss, {"encoder": encoder, "head": head}, optimizer)

# %% memory [markdown]
# The third fault changes no number. `gradviz.memory` asks of a tensor which bytes its graph keeps.
# After 100 steps `spread` keeps those of all 100; `.item()` would keep none.

# %% memory-run
gradviz.memory(spread)

# %% sentence [markdown]
# **In a sentence:** ask a recording what happened, a loss who gets no gradient, a tensor what it
# keeps. Each fault is seen by one of the three.
#
# ## No tool knows it? Place a hook
#
# A hook looks at one place of backward: at the gradient of a tensor, at a node before it runs
# (*pre-hook*) or after, or at a leaf whose `.grad` has been written (*post accumulate*).


# %% hooks-predict tags=["hide-input"] claims=["X6"] confusions=[8]
@gradviz.predict(
    "In which order do these hooks run?",
    order={
        "w: post accumulate": "It runs when `w.grad` has been written: last of all.",
        "w: tensor hook": "The gradient has to arrive at `w`, through the node of `h`.",
        "node of h: hook": "It sees what the node hands on, so the node has run.",
        "node of h: pre-hook": "It sees what the node is given, after the hooks of the tensor.",
        "h: tensor hook": "`h` is nearest to the loss: its gradient is there first.",
    },
    why="In the order in which the gradient passes, whatever was registered first: tensor, "
    "pre-hook, node, hook; and at a leaf tensor, `.grad`, post accumulate.",
    step="MulBackward0",
)
def order():
    log = []
    w = torch.tensor(2.0, requires_grad=True)
    h = w * 3
    w.register_post_accumulate_grad_hook(lambda leaf: log.append("w: post accumulate"))
    w.register_hook(lambda gradient: log.append("w: tensor hook"))
    h.grad_fn.register_hook(lambda leaving, arriving: log.append("node of h: hook"))
    h.grad_fn.register_prehook(lambda arriving: log.append("node of h: pre-hook"))
    h.register_hook(lambda gradient: log.append("h: tensor hook"))
    h.backward()
    return log


# %% nan [markdown]
# ## Where does the nan come from?
#
# The square root of what is positive, and 0 elsewhere. `y` is [0, 2], as it should be, and `w.grad`
# is [nan, 0.25].


# %% nan-predict tags=["hide-input"] claims=["X13"]
@gradviz.predict(
    "Which node makes the nan?",
    click="node",
    wrong={
        "WhereBackward0": "It sends 0 to the arm that was not chosen. That is right, and no nan.",
        "SumBackward0": "It hands on a 1 for each element.",
        "w": "It adds up what arrives, and a nan has arrived.",
    },
    why="The slope of a root at 0 is infinite, and 0 times infinity is nan. `where` has chosen "
    "another value, but backward goes through both arms. So choose before the root too: "
    "`torch.where(w > 0, torch.where(w > 0, w, 1).sqrt(), 0)`. In torch's anomaly mode backward "
    "raises at the first such node: `%%gradviz --anomaly`.",
    step="SqrtBackward0",
)
def nan():
    w = torch.tensor([0.0, 4.0], requires_grad=True)
    y = torch.where(w > 0, w.sqrt(), 0)
    y.sum().backward()
    return next(
        t.grad_fn.name()
        for t in (torch.where(w > 0, w, 0), w.sqrt())
        if "nan" in str(t.grad_fn(torch.tensor([0.0, 1.0])))
    )


# %% repair [markdown]
# ## Repair
#
# Another loop, and three faults again. Hunt them one by one: change something, run the cell, and
# read what is still wrong.


# %% repair-try
@gradviz.repair("three-culprits")
def program(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = 0
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        loss.backward()
        optimizer.step()
        average = average + loss / 3
    return average


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild:** "`torch.autograd` differentiates any computational graph automatically."
# Would you bet that each line of Python has a gradient?


# %% bet-predict tags=["hide-input"] claims=["C2"]
@gradviz.predict(
    "Through which of these does a gradient other than 0 reach `w`?",
    tick={
        "w.round()": "There is a node, and its gradient is 0 everywhere: a step is flat.",
        "(w > 0.5).float()": "A comparison has no derivative. The result has no graph.",
        "w.clamp(max=0.5)": "Where nothing is clamped, the gradient passes.",
        "torch.tensor(w.tolist())": "Numbers of Python have no graph.",
        "w.sort().values": "Each value is one of `w`, and its gradient goes back to its place.",
    },
    why="The statement is half right, and false for a whole program: autograd differentiates "
    "operations of torch that have a derivative, and that is 0 for some.",
    step="RoundBackward0",
)
def reached():
    w = torch.tensor([0.2, 0.9], requires_grad=True)
    return [
        name
        for name, t in {
            "w.round()": w.round(),
            "(w > 0.5).float()": (w > 0.5).float(),
            "w.clamp(max=0.5)": w.clamp(max=0.5),
            "torch.tensor(w.tolist())": torch.tensor(w.tolist()),
            "w.sort().values": w.sort().values,
        }.items()
        if t.requires_grad and torch.autograd.grad(t.sum(), w)[0].any()
    ]


# %% remember [markdown]
# ## Remember
#
# No error does not mean no fault: record a step and ask `gradviz.explain()`, ask `gradviz.audit`
# who gets no gradient, and `gradviz.memory` what is kept. Where no tool has an answer, a hook shows
# the gradient that passes one place, and anomaly mode names the first node that hands on a nan.

# %% own-code [markdown]
# ## Try it in your own code
#
# Put `%%gradviz` above one step of your training, and `gradviz.explain()` below. It takes two
# lines. Has it anything to say?
#
# More: [hooks of every kind](howto/hooks-of-every-kind.ipynb),
# [a Function of your own, and gradcheck](howto/custom-function-and-gradcheck.ipynb),
# [double backward](howto/double-backward.ipynb), [Jacobians](howto/jacobians.ipynb),
# [autograd on a GPU](howto/cuda.ipynb).
