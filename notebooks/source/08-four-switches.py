# %% title-riddle [markdown]
# # 8. Four switches that are not the same
#
# Two people validate one model. The first calls `model.eval()`: the numbers are right, and memory
# fills up as in training. The second writes `with torch.no_grad():`; memory is free, and the
# accuracy differs from run to run.
#
# Both have switched training off. Or what have they switched off?

# %% setup-run
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

import gradviz

torch.manual_seed(1)
# %load_ext gradviz

# %% riddle-show claims=["C19", "C22", "C23"]
w = torch.tensor([1.0, 2.0], requires_grad=True)
z = w * 2
with torch.no_grad():
    q = w * 2
print("z requires grad:", z.requires_grad, "  q requires grad:", q.requires_grad)
gradviz.show(z, names={"w": w, "z": z, "q": q}, hide=["saved", "versions"])

# %% riddle-picture [markdown]
# The second person's switch first. Twice the same product, and only one node: `z` has it, `q` is a
# leaf. What becomes of `w`, if both are in a loss?


# %% block-predict tags=["hide-input"] claims=["C19", "C23", "D33"]
@gradviz.predict(
    "What is `w.grad` after `loss.backward()`?",
    typed="w.grad",
    wrong={
        "[4, 4]": "So it should be if all of `loss` were recorded. The way through `q` was not.",
        "[0, 0]": "The way through `z` was recorded, and it is open.",
        "None": "The block does not change `w`: it still requires grad, and `z` leads to it.",
        "[2, 4]": "The gradient is the factor, whatever the values of `w` are.",
    },
    why="Both products are in `loss`, and one of them is not in the graph. Nothing is raised: a "
    "gradient that is half of the right one.",
    player_hide=["versions"],
)
def half():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    z = w * 2
    with torch.no_grad():
        q = w * 2
    loss = (z + q).sum()
    loss.backward()
    return w.grad


# %% table [markdown]
# ## Four switches, four questions
#
# Now all four, each alone, on a layer with dropout behind it:
#
# - Is there a **graph** behind the result?
# - What is the **flag** of the weight, `weight.requires_grad`, while forward runs?
# - Does dropout **drop**?
# - May a node **save** the result later, outside of the block? (Column `saves`.)
#
# Guess where you do not know. You will fill in this table in your head for years.


# %% table-predict tags=["hide-input"] claims=["D33", "D37", "D38", "D39"]
@gradviz.predict(
    "One forward pass with each switch; `frozen` is `requires_grad_(False)`. What do you find?",
    table={
        "eval": {
            "graph": ("yes", "no"),
            "flag": ("True", "False"),
            "drops": ("yes", "no"),
            "saves": ("yes", "no"),
        },
        "no_grad": {
            "graph": ("yes", "no"),
            "flag": ("True", "False"),
            "drops": ("yes", "no"),
            "saves": ("yes", "no"),
        },
        "inference_mode": {
            "graph": ("yes", "no"),
            "flag": ("True", "False"),
            "drops": ("yes", "no"),
            "saves": ("yes", "no"),
        },
        "frozen": {
            "graph": ("yes", "no"),
            "flag": ("True", "False"),
            "drops": ("yes", "no"),
            "saves": ("yes", "no"),
        },
    },
    wrong={
        "eval graph": "`eval()` does not know autograd: the graph is made as ever, and it takes "
        "the memory.",
        "eval drops": "This is what `eval()` is for: dropout and BatchNorm compute something else.",
        "no_grad graph": "In the block nothing is recorded.",
        "no_grad drops": "`no_grad()` knows no layers: dropout drops as ever.",
        "inference_mode graph": "In the block nothing is recorded.",
        "inference_mode drops": "`inference_mode()` knows no layers: dropout drops as ever.",
        "inference_mode saves": "Its results have no version, so nobody would notice a "
        "write to them: no node may save them.",
        "frozen graph": "Neither weight nor input requires grad, so there is nothing to record.",
        "frozen flag": "This switch turns the flag itself, and it stays turned.",
        "frozen drops": "A flag of a weight is nothing to dropout.",
        "flag": "A flag belongs to a tensor. Only `requires_grad_(False)` touches it.",
        "saves": "It is a tensor like any other.",
    },
    step=2,
    player_hide=["versions"],
)
def four():
    def forward(is_training=True, mode=torch.enable_grad, flag=True):
        model = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5))
        model.train(is_training).requires_grad_(flag)
        with mode():
            return model(torch.ones(8, 4)), model[0].weight.requires_grad

    evaluated = forward(is_training=False)
    not_recorded = forward(mode=torch.no_grad)
    inferred = forward(mode=torch.inference_mode)
    frozen = forward(flag=False)
    return {
        switch: [
            "yes" if h.grad_fn is not None else "no",
            flag,
            "yes" if (h == 0).any() else "no",
            "no" if h.is_inference() else "yes",
        ]
        for switch, (h, flag) in {
            "eval": evaluated,
            "no_grad": not_recorded,
            "inference_mode": inferred,
            "frozen": frozen,
        }.items()
    }


# %% watch [markdown]
# **Watch.** One multiplication, four times. Open *Tensors* and go *Forward*: which result has a
# node, and in which line does the flag of `w` change?

# %% watch-show claims=["C23", "D33", "D38"]
# %%gradviz --step 2 --hide versions --hide saved --hide source
w = torch.tensor([1.0, 2.0], requires_grad=True)
trained = w * 2
with torch.no_grad():
    validated = w * 2
with torch.inference_mode():
    inferred = w * 2
w.requires_grad_(False)
frozen = w * 2

# %% watch-explain [markdown]
# **In a sentence:** `eval()` changes layers, `requires_grad_(False)` changes tensors, and the two
# blocks change what torch records; `inference_mode` also says that nobody will need the results.
#
# That solves the riddle: the first has a graph that nobody needs, the second has dropout.
# Validation takes both switches.
#
# ## Frozen, or not recorded?
#
# Three layers, and the middle one is not to be trained. Freeze it, or compute it in a block?


# %% frozen-predict tags=["hide-input"] claims=["D33", "E5"]
@gradviz.predict(
    "Which weights get a gradient: with `middle` frozen, and with `middle` in the block?",
    choose={
        "first and last, first and last": "The block cuts the way: what comes before it is not "
        "reached.",
        "first and last, only last": "A gradient passes a frozen layer, on its way to `first`. "
        "Where nothing was recorded it ends, and nothing is raised.",
        "only last, first and last": "It is the other way round: the flag leaves the way open.",
        "only last, only last": "A gradient passes a frozen layer: the flag says only that the "
        "weight itself gets none.",
    },
    step="backward:2",
    player_hide=["versions"],
)
def middle():
    def learning(middle_requires_grad, recorded):
        first, last = (torch.ones(3, 3, requires_grad=True) for _ in range(2))
        middle = torch.ones(3, 3, requires_grad=middle_requires_grad)
        h = torch.ones(2, 3) @ first
        with torch.set_grad_enabled(recorded):
            h = h @ middle
        (h @ last).sum().backward()
        weights = {"first": first, "middle": middle, "last": last}
        return [name for name, weight in weights.items() if weight.grad is not None]

    return ", ".join(
        f"only {names[0]}" if len(names) == 1 else " and ".join(names)
        for names in (learning(False, recorded=True), learning(True, recorded=False))
    )


# %% repair [markdown]
# ## Repair
#
# A finished model makes features, and a new layer on top of it learns. Nothing has to be recorded
# for the finished part, so somebody took the strongest switch.


# %% repair-try claims=["D37"]
@gradviz.repair("features-for-a-new-layer")
def program(finished, top, x):
    with torch.inference_mode():
        features = finished(x)
    loss = top(features).sum()
    loss.backward()
    return loss


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild:** "`no_grad` changes `requires_grad` of the tensors to False, computes, and
# then turns the same tensors back to True." Would you bet on it? Then another thread would see it.


# %% bet-predict tags=["hide-input"] claims=["C20", "D32", "D34"] refutes=["C20", "D34"]
@gradviz.predict(
    "This thread is in the block, another one computes beside it. What is True?",
    tick={
        "w.requires_grad, here": "No tensor is touched, so the flag stays: the statement is false.",
        "(w * 2).requires_grad, here": "In the block nothing is recorded.",
        "torch.is_grad_enabled(), here": "This is what the block switches, and nothing else.",
        "(w * 2).requires_grad, in the other thread": "Each thread has its own switch, and the "
        "flag of `w` is as it was: the statement is false.",
    },
    player_hide=["versions"],
)
def who_is_switched():
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad(), ThreadPoolExecutor() as other:
        beside = other.submit(lambda: w * 2).result()
        here = w.requires_grad, (w * 2).requires_grad, torch.is_grad_enabled()
    return [
        option
        for option, is_true in {
            "w.requires_grad, here": here[0],
            "(w * 2).requires_grad, here": here[1],
            "torch.is_grad_enabled(), here": here[2],
            "(w * 2).requires_grad, in the other thread": beside.requires_grad,
        }.items()
        if is_true
    ]


# %% remember [markdown]
# ## Remember
#
# Ask what is to change: what layers compute (`eval()`), what is recorded (`no_grad()`, or
# `inference_mode()` for results that nobody trains with), or which tensors get a gradient
# (`requires_grad_(False)`). To freeze leaves the way open for gradients; a block closes it.

# %% own-code [markdown]
# ## Try it in your own code
#
# In your validation, print `model.training` and `torch.is_grad_enabled()`. Both should be `False`,
# and after it both `True` again.
#
# **Next:** [9. Taking a value out](09-taking-a-value-out.ipynb). More:
# [which switch?](howto/which-switch.ipynb),
# [audit and compare](howto/audit-and-compare.ipynb).
