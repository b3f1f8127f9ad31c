# %% title-riddle [markdown]
# # 6. A new graph every time: loops, branches, a leak
#
# A loop adds up its losses, to print their mean at the end. Every pass calls `backward()`, and that
# frees what was saved. Still, memory grows with every pass, until the program is killed.
#
# What is kept, and who keeps it?

# %% setup-run
import contextlib

import torch

import gradviz

# %load_ext gradviz

# %% riddle-show
w = torch.tensor(2.0, requires_grad=True)
loss = w * w + 1
gradviz.show(loss, names={"w": w})

# %% riddle-picture [markdown]
# This is the graph of one pass. Forward made it, node by node, while the line ran. Five passes make
# five of them. Where do they go?


# %% riddle-predict tags=["hide-input"] claims=["X10"] confusions=[7]
@gradviz.predict(
    "After the loop, what does `total` keep in memory?",
    choose={
        "only a number": "`total` is computed from losses that have a `grad_fn`, so it has one.",
        "the graph of the last pass": "Each sum has the sum before it as input, so the last one "
        "leads to all of them.",
        "the nodes of all five graphs": "Each `AddBackward0` points to the one before, and to a "
        "loss. Backward has freed the saved tensors, and no node.",
        "all five graphs with their saved tensors": "Backward has freed these, pass by pass. "
        "Without backward, as in a validation loop, they would be kept too.",
    },
    player_hide=["versions"],
)
def five_passes():
    w = torch.tensor(2.0, requires_grad=True)
    total = 0.0
    for _ in range(5):
        loss = w * w + 1
        loss.backward()
        total = total + loss
    return (
        "only a number"
        if total.grad_fn is None
        else "the graph of the last pass"
        if len(gradviz.snapshot(total).nodes) < 10
        else "all five graphs with their saved tensors"
        if any(s.state == "held" for node in gradviz.snapshot(total).nodes for s in node.saved)
        else "the nodes of all five graphs"
    )


# %% watch [markdown]
# **Watch.** A loop that does not leak. Step through two passes: which line makes nodes, and at
# which line are the old ones gone? One box takes part in both passes.

# %% watch-show claims=["E19"] confusions=[7]
# %%gradviz --step 3
w = torch.tensor(2.0, requires_grad=True)
for _ in range(2):
    loss = w * w + 1
    loss.backward()

# %% watch-explain [markdown]
# The old graph goes when `loss` gets its new value: nobody holds its end any more. The leaf `w` and
# its `AccumulateGrad` stay.
#
# **In a sentence:** forward makes the graph of what has just run, and it is there as long as
# somebody holds its end. In the riddle, `total` does; `total + loss.item()` would not.
#
# ## What ran is what is there
#
# A graph knows no loops: each turn leaves nodes of its own.


# %% loop-predict tags=["hide-input"] claims=["C35", "E20"]
@gradviz.predict(
    "What are `y`, `w.grad` and `nodes`? The `AccumulateGrad` of `w` is a node too.",
    typed="[y, w.grad, nodes]",
    wrong={
        "[32, 80, 4]": "Four products, and one node more: the `AccumulateGrad` of `w`.",
        "[32, 80, 2]": "One `MulBackward0` for all turns would not do: each saves other values.",
        "[32, 80, 9]": "`w` is used five times, but it has one `AccumulateGrad`.",
        "[16, 32, 4]": "16 is still below 20, so there is one more turn.",
        "[32, 16, 5]": "`w` is used five times. Each use sends a gradient of 16, and they add up.",
    },
    why="Four turns leave four `MulBackward0`. The result is `w` to the power of 5, and its "
    "gradient is 5 times `w` to the power of 4. How often a `while` turns may depend on the "
    "numbers.",
    player_hide=["versions"],
)
def turns():
    w = torch.tensor(2.0, requires_grad=True)
    y = w
    while y < 20:
        y = y * w
    nodes = len(gradviz.snapshot(y).nodes)
    y.backward()
    return [y, w.grad, nodes]


# %% branch [markdown]
# An `if` leaves no node. Only the branch that was taken is in the graph:


# %% branch-run claims=["E21"]
def branch(x):
    return 3 * x if x > 0 else x**2


for number in (1.0, -1.0):
    x = torch.tensor(number, requires_grad=True)
    print(f"x = {number:4}: {branch(x).grad_fn.name()}")

# %% state [markdown]
# ## A state
#
# `h` is handed from pass to pass, as in a recurrent network. The second backward raises.


# %% state-predict tags=["hide-input"] claims=["X11"]
@gradviz.predict(
    "At which node does the second backward raise? Click it.",
    click="node",
    wrong={
        "n4": "This product is new: no backward has been here before.",
        "n5": "An addition saves nothing, and this one is new.",
        "n6": "The square of the second pass is new: no backward has been here before.",
        "n1": "An addition saves nothing, so the second backward finds nothing missing here.",
        "u": "`AccumulateGrad` saves nothing, so it can run any number of times.",
    },
    why="The second backward begins with the new nodes. Then it follows `h` into the first pass, "
    "and there the first backward has freed what the `MulBackward0` had saved.",
    player_hide=["versions"],
)
def state():
    u = torch.tensor(0.5, requires_grad=True)
    h = torch.zeros(())
    for x in (1.0, 2.0):
        h = u * h + x
        loss = h * h
        loss.backward()


# %% repair [markdown]
# ## Repair
#
# The same program, for any number of passes. The value of the state should go from pass to pass,
# and each loss should send its gradient through its own pass only.


# %% repair-try claims=["X11"]
@gradviz.repair("keep-the-state")
def program(u, inputs):
    h = torch.zeros(())
    for x in inputs:
        h = u * h + x
        loss = h * h
        loss.backward()
    return h


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild:** "In a training loop `retain_graph` is not needed, because `X` and `y` are
# defined anew in each pass, and so the graph is new." Would you bet on it? The first loop keeps its
# `X`, the second defines it anew.


# %% bet-predict tags=["hide-input"] claims=["C51"] refutes=["C51"]
@gradviz.predict(
    "What is `done` after the two loops?",
    typed="done",
    wrong={
        "6": "Then both loops would run to their end. The second uses one graph three times.",
        "3": "Forward runs once more before the second loop, so one backward finds a new graph.",
        "1": "So it would be if the same `X` meant the same graph. The forward in the loop makes a "
        "new one each time.",
        "0": "The first loop runs: its forward makes a new graph in each pass.",
    },
    why="The statement is false: a graph is new because forward runs anew, with old data or new. "
    "The second loop has a new `X` and no forward in it. So after this error look for a "
    "forward, or a state, that was computed outside of the pass.",
    player_hide=["versions"],
)
def new_data():
    w, X = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    done = 0
    with contextlib.suppress(RuntimeError):
        for _ in range(3):
            loss = (w * X) ** 2
            loss.backward()
            done += 1
        loss = (w * X) ** 2
        for _ in range(3):
            X = torch.tensor(3.0)
            loss.backward()
            done += 1
    return done


# %% remember [markdown]
# ## Remember
#
# A recorded forward makes a new graph whenever it runs, of just what ran, and the graph is there as
# long as somebody holds its end. What you take from one pass to the next (a total, a list, a state)
# should be a number, or detached, unless backward is to go through it.

# %% own-code [markdown]
# ## Try it in your own code
#
# Which names of your training loop are still there after a pass? Print the `grad_fn` of each. One
# that is not `None` keeps a graph.
#
# **Next:** [7. What forward keeps for backward](07-what-forward-keeps.ipynb). More:
# [what keeps a graph](howto/what-keeps-a-graph.ipynb),
# [loops and branches](howto/loops-and-branches.ipynb),
# [several losses](howto/several-losses.ipynb).
