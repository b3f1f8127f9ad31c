# %% title-riddle [markdown]
# # 4. Twice through the same graph: what is thrown away?
#
# Call `backward()` a second time, and most programs raise an error. `x + 1` goes through backward
# three times without a word.
#
# What does the one graph lose that the other never had?

# %% setup-run
import contextlib

import torch

import gradviz

# %load_ext gradviz

# %% riddle-show claims=["C18"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
kept = {"x + 1": (x + 1).sum(), "x * 2": (x * 2).sum()}
for _ in range(3):
    kept["x + 1"].backward()
gradviz.show(*kept.values(), names={"x": x, **kept})

# %% riddle-picture [markdown]
# New in the picture: the blue field of `MulBackward0`. To multiply the gradient by 2, the node has
# **saved** the 2, as a tensor. `AddBackward0` hands a gradient on as it is, and saves nothing.


# %% twice-predict tags=["hide-input"] claims=["A24", "B16", "C36", "C37"] confusions=[2]
@gradviz.predict(
    "Now through the product, twice. What does the second call do?",
    choose={
        "it works, and y.grad is [4, 4]": "So it would be if nothing had been thrown away.",
        "it works, and y.grad is [2, 2]": "A second gradient would be added to the first.",
        "it raises, and y.grad is [2, 2]": "The first call has freed what `MulBackward0` had "
        "saved. The second finds it missing.",
        "it raises, and y.grad is None": "The first call did its work, and that stays.",
    },
    player_hide=["versions"],
)
def second_call():
    y = torch.tensor([1.0, 2.0], requires_grad=True)
    out = (2 * y).sum()
    out.backward()
    try:
        out.backward()
        happened = "it works"
    except RuntimeError:
        happened = "it raises"
    return f"{happened}, and y.grad is {y.grad.int().tolist()}"


# %% who [markdown]
# ## Who can go twice?
#
# A node that has saved no tensor has nothing to lose. So ask of each operation: which numbers does
# its derivative need?


# %% who-predict tags=["hide-input"] claims=["A25", "C18"] confusions=[2]
@gradviz.predict(
    "Through which of these can backward go twice, without any switch?",
    tick={
        "x * x": "The derivative is 2 * x: `x` is needed, and saved.",
        "x.exp()": "The result is its own derivative, so the result is saved.",
        "x.relu()": "The gradient passes where the result is above 0, so the result is saved.",
        "x.view(2, 1)": "Only the shape is needed, and a shape is no tensor.",
        "x - x.mean()": "A mean needs the shape, a difference needs a sign: no tensor is saved.",
        "torch.cat([x, x])": "Only the sizes of the pieces are needed.",
    },
    player_hide=["versions"],
)
def who():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    results = [x * x, x.exp(), x.relu(), x.view(2, 1), x - x.mean(), torch.cat([x, x])]
    works = []
    for result in results:
        out = result.sum()
        out.backward()
        try:
            out.backward()
            works.append(True)
        except RuntimeError:
            works.append(False)
    return [
        name
        for name, twice in zip(
            ("x * x", "x.exp()", "x.relu()", "x.view(2, 1)", "x - x.mean()", "torch.cat([x, x])"),
            works,
        )
        if twice
    ]


# %% watch [markdown]
# **Watch.** `retain_graph=True` tells one call not to free. Here are three calls, and the last does
# not keep. Step through them: look at what `MulBackward0` has saved, and at `a.grad`.

# %% watch-show claims=["A26", "A27", "B17", "C43"] confusions=[2]
# %%gradviz --step backward --hide source
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
c = torch.tensor(5.0, requires_grad=True)
out2 = a * b + c
for keep in (True, True, False):
    out2.backward(retain_graph=keep)

# %% watch-explain [markdown]
# **In a sentence:** a node frees what it has saved as soon as it has run, so that memory is given
# back while backward is still running; the switch keeps it for one more call, with its memory.
#
# ## A call that fails half-way
#
# Backward runs once. Then somebody asks to keep the gradient of `out1`, and tries again. A tutorial
# printed the four gradients, and nobody could explain them.


# %% half-way-predict tags=["hide-input"] claims=["A15", "B31"]
@gradviz.predict(
    "The second call raises. What are `a.grad`, `b.grad`, `c.grad` and `out1.grad` then?",
    typed="[a.grad, b.grad, c.grad, out1.grad]",
    wrong={
        "[3, 2, 1, None]": "So it would be if a call that raises had done nothing.",
        "[3, 2, 1, 1]": "`AddBackward0` gives `c` a gradient before `MulBackward0` raises.",
        "[6, 4, 2, 1]": "So it would be if the second call had gone all the way.",
        "[None, None, None, None]": "An error does not clear what was accumulated before.",
    },
    why="`AddBackward0` runs first: it has saved nothing. `c` gets its second 1, `out1` keeps a 1, "
    "and then `MulBackward0` finds its saved tensors freed. Nothing is undone: after an error in "
    "backward, clear every `.grad`.",
    player_hide=["versions"],
)
def half_way():
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    c = torch.tensor(5.0, requires_grad=True)
    out1 = a * b
    out2 = out1 + c
    out2.backward()
    out1.retain_grad()
    with contextlib.suppress(RuntimeError):
        out2.backward()
    return [a.grad, b.grad, c.grad, out1.grad]


# %% repair [markdown]
# ## Repair
#
# Two losses share a part of the graph. The second backward raised; somebody read the message and
# put the switch on the call that had raised. Change as little as you can.


# %% repair-try claims=["C39", "C42"]
@gradviz.repair("two-losses")
def program(w):
    trunk = w * w
    loss1 = trunk.sum()
    loss2 = (trunk + 1).square().sum()
    loss1.backward()
    loss2.backward(retain_graph=True)
    return loss1, loss2


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild:** "While it computes gradients, backward cuts the edges of the graph," and
# "`backward()` erases the values of `x`, `w`, `b`, `z`, `y` and `loss`." Would you bet on either?


# %% bet-predict tags=["hide-input"] claims=["A23", "C41", "D11"] refutes=["A23", "C41"]
@gradviz.predict(
    "What is different after `out2.backward()`?",
    tick={
        "the nodes": "They are there as long as somebody holds `out2`.",
        "the edges": "`next_functions` is what it was: the first statement is false.",
        "the values of the tensors": "They belong to your tensors, and backward only reads them: "
        "the second statement is false.",
        "the saved tensors": "What a node has saved is freed as soon as the node has run.",
    },
    player_hide=["versions"],
)
def different():
    out2 = a * b + c
    before = gradviz.snapshot(out2)
    out2.backward()
    after = gradviz.snapshot(out2)
    return [
        part
        for part, of in {
            "the nodes": lambda graph: [node.name for node in graph.nodes],
            "the edges": lambda graph: graph.edges,
            "the values of the tensors": lambda graph: [t.values for t in graph.tensors],
            "the saved tensors": lambda graph: [s.state for n in graph.nodes for s in n.saved],
        }.items()
        if of(before) != of(after)
    ]


# %% remember [markdown]
# ## Remember
#
# Backward frees what a node had saved as soon as the node has run; a second backward fails at the
# first node that needs what is gone, and what it did before stays done. `retain_graph=True` frees
# nothing in that one call, at the price of the memory; so does `create_graph=True`.

# %% own-code [markdown]
# ## Try it in your own code
#
# Search your code for `retain_graph=True`, and take it out. If nothing raises, it only cost memory;
# if something does, `gradviz.explain()` names the node and the two lines that meet there.
#
# **Next:** [5. Gradients add up](05-gradients-add-up.ipynb), as every call so far has done with
# `.grad`. More: [freed and retained](howto/freed-and-retained.ipynb).
