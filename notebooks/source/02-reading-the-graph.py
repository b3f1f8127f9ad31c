# %% title-riddle [markdown]
# # 2. Reading the graph
#
# A small network. The loss falls, `b` learns, and nothing is raised. But `w` never changes.
#
# Which line is to blame? One look at the graph is enough, once you can read it.

# %% setup-run
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

import gradviz

torch.manual_seed(1)
x, y = torch.ones(5), torch.zeros(3)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)

# %% riddle-show claims=["C6"]
product = x @ w
scores = torch.tensor(product.tolist())
z = scores + b
loss = ((z - y) ** 2).mean()
gradviz.show(loss, density="compact")

# %% riddle-picture [markdown]
# Read it from the bottom, where the loss is, upwards. There is one leaf, `b`. Where is `w`?


# %% cut-predict tags=["hide-input"] claims=["C6"] confusions=[10]
@gradviz.predict(
    "Go from `w` down to the loss. Which of these is the first without a `grad_fn`?",
    choose={
        "product": "`w` requires grad, so `x @ w` was recorded: `product.grad_fn` is there.",
        "scores": "A list has plain numbers, which remember nothing. `torch.tensor()` makes a new "
        "leaf of them, and the graph is cut.",
        "z": "`b` requires grad, so the sum was recorded. That is why `b` learns.",
        "none of them": "Then the graph would lead to `w`, and it ends before.",
    },
    player_hide=["formula", "source", "hooks", "saved", "versions"],
)
def cut():
    product = x @ w
    scores = torch.tensor(product.tolist())
    z = scores + b
    loss = ((z - y) ** 2).mean()
    return next(
        (
            name
            for name, t in {"product": product, "scores": scores, "z": z, "loss": loss}.items()
            if t.grad_fn is None
        ),
        "none of them",
    )


# %% arrows [markdown]
# ## Follow the arrows
#
# The graph begins at `loss.grad_fn`: forward computed the loss and recorded that node in the same
# moment. A node knows where its gradients go. Its `next_functions` has an entry for each input
# of the operation: a pair of the next node and a number (which of its outputs was used).


# %% arrows-predict tags=["hide-input"] claims=["B7", "B8", "C13", "E17"] confusions=[13]
@gradviz.predict(
    "What are the `next_functions` of `out.grad_fn`, with the names of the nodes?",
    choose={
        "[('MulBackward0', 0)]": "The addition has two inputs, so there are two entries.",
        "[('AccumulateGrad', 0), (None, 0)]": "The leaf comes after the product: one step further.",
        "[('MulBackward0', 0), (None, 0)]": "An entry for the product, and one for the 1, which "
        "needs no gradient.",
        "[('MulBackward0', 0), ('AccumulateGrad', 0)]": "A constant is no leaf that requires grad, "
        "so nothing accumulates there.",
    },
    player_hide=["formula", "source", "hooks", "saved", "versions"],
)
def arrows():
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    out = 2 * m + 1
    return str([(node and node.name(), number) for node, number in out.grad_fn.next_functions])


# %% walk [markdown]
# ## Walk
#
# Now you can go through any graph: name the node, then go to each node that it points to. Where the
# way ends there is a leaf, or rather the node that will write its gradient: `AccumulateGrad`, which
# knows the leaf as its `variable`.


# %% walk-run claims=["C14", "C30", "E14"]
def walk(node):
    leaf = getattr(node, "variable", None)
    names = [node.name() if leaf is None else f"leaf {tuple(leaf.shape)}"]
    for following, _ in node.next_functions:
        if following is not None:
            names += walk(following)
    return names


print(walk(loss.grad_fn))


# %% walk-predict tags=["hide-input"] claims=["C9"] confusions=[13]
@gradviz.predict(
    "`x` is a vector, so for `x @ w` torch makes a matrix of it, multiplies (`mm`), and takes the "
    "extra dimension away again (`squeeze`). What does `walk(out.grad_fn)` return?",
    order=[
        "leaf (5, 3)",
        "MmBackward0",
        "SumBackward0",
        "AddBackward0",
        "leaf (3,)",
        "SqueezeBackward4",
        "ReluBackward0",
    ],
    wrong={
        "SumBackward0": "The sum was computed last, so its node is `out.grad_fn`, the first.",
        "MmBackward0": "The product of matrices was computed first of all.",
        "SqueezeBackward4": "Squeezed is the product, so forward does it after `mm`. The walk "
        "comes from the other end.",
        "leaf (3,)": "`walk` follows the first entry of `AddBackward0` to its end, and then the "
        "second, which is `b`.",
    },
    why="The way begins with what was computed last, and goes down one branch after the other. "
    "`x` is not on it: it does not require grad.",
    player_hide=["formula", "source", "hooks", "saved", "versions"],
)
def whole_walk():
    out = (x @ w + b).relu().sum()
    return walk(out.grad_fn)


# %% watch [markdown]
# **Watch.** Many tutorials draw this loss with six circles: `x`, `y`, `w`, `b`, `z` and `loss`.
# Autograd keeps less, and more. Which of the six has it, and what does it have that no circle
# shows?

# %% watch-show claims=["C4", "C5", "C9"]
z = x @ w + b
loss = cross_entropy(z, y)
gradviz.show(loss, names={"x": x, "y": y, "w": w, "b": b}, hide=["formula", "saved"])

# %% watch-explain [markdown]
# `x` and `y` are dotted: they are outside, and no gradient goes there. And `x @ w` is two nodes.
# The graph shows what torch did, not what you wrote.
#
# **In a sentence:** the graph is made of nodes, recorded while forward runs, and each points to the
# nodes of its inputs, down to the leaves that require grad.

# %% repair [markdown]
# ## Repair
#
# Another program in which `w` learns nothing. Change it and run the cell again, as often as you
# like; `gradviz.hint()` helps.


# %% repair-try
@gradviz.repair("losses-in-a-list")
def program(w, samples):
    losses = []
    for sample in samples:
        loss = (w * sample - 3) ** 2
        losses.append(loss.item())
    mean = torch.tensor(losses).mean()
    mean.backward()
    return mean


# %% bet [markdown]
# ## Bet
#
# **Heard in the wild,** of the loss above: "The calculation runs `x`, `w` → `b` → `z` → `y` →
# `loss`." Would you bet on it? Then the node of `loss` would point to `y`, and to nothing else.


# %% bet-predict tags=["hide-input"] claims=["C40"] refutes=["C40"]
@gradviz.predict(
    "All four inputs require grad now. To which of these does the node of `loss` point directly?",
    tick={
        "x": "`x` meets `w` in the product, two steps before the loss.",
        "w": "`w` meets `x` in the product, two steps before the loss.",
        "b": "`b` meets the product in the addition, side by side with it.",
        "z": "`z` is an input of the loss.",
        "y": "`y` is an input of the loss, beside `z` and not after it: the statement is false. "
        "Several ways run together, which one line cannot say.",
    },
    player_hide=["formula", "source", "hooks", "saved", "versions"],
)
def one_line():
    x, y = torch.ones(5, requires_grad=True), torch.zeros(3, requires_grad=True)
    w, b = torch.ones(5, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    z = x @ w + b
    loss = cross_entropy(z, y)
    return [
        name
        for name, t in {"x": x, "w": w, "b": b, "z": z, "y": y}.items()
        for node, _ in loss.grad_fn.next_functions
        if node is t.grad_fn or getattr(node, "variable", None) is t
    ]


# %% remember [markdown]
# ## Remember
#
# Forward records nodes where a gradient has to pass, and the `grad_fn` of a result leads to them.
# Follow `next_functions` from the loss: a leaf that you do not reach gets no gradient from it,
# unless code that runs in backward gives it one.

# %% own-code [markdown]
# ## Try it in your own code
#
# Print `len(gradviz.snapshot(loss).leaves)` for a loss of your own. Is there one for each of
# `model.parameters()`? (`walk` takes each way anew: too many where ways meet, as at residuals, and
# too deep for a long recurrence.)
#
# **Next:** [3. backward(): who gets a gradient?](03-who-gets-a-gradient.ipynb). More on nodes and
# edges: [how-to page](howto/nodes-and-edges.ipynb).
