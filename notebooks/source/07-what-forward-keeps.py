# %% title [markdown]
# # 7. What forward keeps for backward
#
# Training a network takes far more memory than using it. The difference is what forward keeps for
# backward. You will see it node by node, count it, find its owner, and make it smaller. And you
# will meet the error that comes when somebody writes into it.
#
# **After it you can**
#
# - say what a node keeps: an input, its result, or nothing,
# - count what a forward pass keeps, in two ways, and say when it is most,
# - choose between freezing, checkpointing and packing, and know what each of them costs.
#
# **You need** lessons [4](04-twice-through-the-same-graph.ipynb) and
# [6](06-a-new-graph-every-time.ipynb). About 25 minutes.

# %% setup-run
import warnings
import weakref

import torch
from lesson_tools import choose, tick
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

import gradviz

# %load_ext gradviz

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% recall [markdown]
# ## Recall: three things from lessons 2, 4 and 6


# %% recall-freed tags=["hide-input"]
# question
def bytes_after(retain_graph):
    w = torch.ones(4, requires_grad=True)
    out = w.exp().sum()
    out.backward(retain_graph=retain_graph)
    return gradviz.snapshot(out).saved_bytes


choose(
    "Backward has run through a graph. Where are the tensors that its nodes had saved?",
    {
        "still there": "They would be, after backward(retain_graph=True).",
        "freed": "Each node lets go of them as soon as it has run.",
    },
    right="freed" if bytes_after(False) == 0 < bytes_after(True) else "still there",
)


# %% recall-alive tags=["hide-input"]
# question
def keep_the_graph():
    w = torch.ones(1, requires_grad=True)
    loss = (w * w).sum()
    kept = {"loss": loss, "loss.detach()": loss.detach(), "loss.item()": loss.item()}
    return [how for how, value in kept.items() if getattr(value, "grad_fn", None) is not None]


tick(
    "A list keeps one of these for each pass of a loop. Which of them keep the graphs alive too?",
    {
        "loss": "It has a grad_fn, and from there everything can be reached.",
        "loss.detach()": "It is a tensor without a grad_fn.",
        "loss.item()": "It is a number of Python.",
    },
    right=keep_the_graph(),
)


# %% recall-leaf tags=["hide-input"]
# question
def holder_of_the_leaf():
    w = torch.ones(2, requires_grad=True)
    (node,) = (n for n in gradviz.snapshot(w.exp()).nodes if n.variable is not None)
    return node.name


choose(
    "A leaf `w` requires grad; `w.exp()` is computed. Which node knows `w`, to write w.grad?",
    {
        "AccumulateGrad": "It holds the leaf as long as it lives.",
        "ExpBackward0": "It sends a gradient on to the AccumulateGrad of w.",
        "none": "Then nobody could write w.grad.",
    },
    right=holder_of_the_leaf(),
)

# %% product [markdown]
# ## Where does the old b go?
#
# `a` and `b` have 1024 × 1024 numbers each, which are 4 MiB. The line `b = a * b` gives the name
# `b` to the product. What becomes of the old `b`?
#
# On a GPU the function below asks torch's allocator. On the CPU, where nobody counts, it counts
# which of the three tensors are alive.


# %% product-program
def large(requires_grad):
    w = torch.ones((), device=device, requires_grad=requires_grad)
    return torch.zeros(1024, 1024, device=device) + w  # an addition saves nothing


def mib_in_use(a_requires_grad, b_requires_grad, make=large):
    before = torch.cuda.memory_allocated() if device == "cuda" else 0
    a, b = make(a_requires_grad), make(b_requires_grad)
    tensors = [weakref.ref(a), weakref.ref(b)]
    b = a * b
    tensors.append(weakref.ref(b))
    if device == "cuda":
        return (torch.cuda.memory_allocated() - before) // 2**20
    return 4 * sum(tensor() is not None for tensor in tensors)


# %% product-predict tags=["hide-input"]
# question
choose(
    "MiB in use after `b = a * b`: if only `a` requires grad, and if only `b` does?",
    {
        "8 and 8": "a and the product, that is sure. But one of the two keeps a third tensor.",
        "8 and 12": "The gradient of b is made with a, and a is there anyway.",
        "12 and 8": "The gradient of a is made with the old b: somebody has to keep it.",
        "12 and 12": "If only b requires grad, no gradient will be made with the old b.",
    },
    right=f"{mib_in_use(True, False)} and {mib_in_use(False, True)}",
)

# %% product-run tags=["hide-output"] claims=["D23"]
print("Torch's answer:")
print("only a requires grad:", mib_in_use(True, False), "MiB")
print("only b requires grad:", mib_in_use(False, True), "MiB")
print("neither:             ", mib_in_use(False, False), "MiB")

# %% product-show claims=["D21", "D23"]
# %%gradviz --step -1
w = torch.ones((), device=device, requires_grad=True)
a = torch.zeros(1024, 1024, device=device) + w
b = torch.zeros(1024, 1024, device=device)
b = a * b

# %% product-watch [markdown]
# **Watch** the last line. The old `b` has lost its name, the table calls it `t2`. But the pocket
# `other` of `MulBackward0` holds it: the gradient of `a` will be made with it. A pocket `self`, for
# `a`, is not there, since nobody needs the gradient of `b`.
#
# And if only `b` requires grad? Then it is the other pocket that is filled, with `a`; the old `b`
# can die.

# %% product-other-show claims=["D21", "D23"]
# %%gradviz --step -1
w = torch.ones((), device=device, requires_grad=True)
a = torch.zeros(1024, 1024, device=device)
b = torch.zeros(1024, 1024, device=device) + w
b = a * b

# %% product-explain [markdown]
# **In a sentence:** a node keeps what the gradients of its inputs will be made with, and only for
# the inputs that need one.
#
# Here the two were results. A *leaf* that requires grad does not die so easily: its
# `AccumulateGrad` holds it, whatever the pockets say.


# %% product-leaf-run claims=["D23"]
def leaf(requires_grad):
    return torch.zeros(1024, 1024, device=device, requires_grad=requires_grad)


print("leaves, only a requires grad:", mib_in_use(True, False, make=leaf), "MiB")
print("leaves, only b requires grad:", mib_in_use(False, True, make=leaf), "MiB")

# %% pockets [markdown]
# ## Input or result?
#
# Some derivatives are made with the input of an operation, some with its result, some with neither.
# **Predict.** You need no formula sheet: which of the two would you rather have?


# %% pockets-program
def ten(x):
    return {
        "x ** 2": x**2,
        "x.sin()": x.sin(),
        "x.log()": x.log(),
        "x.exp()": x.exp(),
        "x.relu()": x.relu(),
        "x.sigmoid()": x.sigmoid(),
        "x.softmax(0)": x.softmax(0),
        "x + 1": x + 1,
        "x.sum()": x.sum(),
        "x.max()": x.max(),
    }


def kept_by(out, x):
    """What the node of out keeps: its input x, its result, or both."""
    node = gradviz.snapshot(out, names={"input": x, "result": out}).nodes[0]
    names = {t.id: t.name for t in gradviz.snapshot(out, names={"input": x, "result": out}).tensors}
    return {slot.name: names[slot.tensor] for slot in node.saved if slot.state == "held"}


# %% pockets-predict tags=["hide-input"]
# question
x = torch.ones(4, requires_grad=True)
tick(
    "Which of these keep their result?",
    {
        "x ** 2": "The slope is 2 * x: it keeps x.",
        "x.sin()": "The slope is the cosine of x. The sine of x does not even tell its sign.",
        "x.exp()": "The slope is the result itself.",
        "x.relu()": "The gradient passes where the result is above 0.",
        "x.sigmoid()": "The slope is s * (1 - s), where s is the result.",
        "x + 1": "The slope is 1, so nothing is needed.",
        "x.max()": "The gradient goes to those x that are equal to the result: it needs both.",
    },
    right=[
        how
        for how, out in ten(x).items()
        if "result" in kept_by(out, x).values() and how not in ("x.softmax(0)", "x.log()")
    ],
)

# %% pockets-run tags=["hide-output"] claims=["D12", "D16"]
print("Torch's answer:")
x = torch.ones(4, device=device, requires_grad=True)
for how, out in ten(x).items():
    kept = ", ".join(f"{slot} (its {what})" for slot, what in kept_by(out, x).items())
    print(f"{how:14}{out.grad_fn.name():18}keeps {kept or 'no tensor'}")

# %% pockets-how [markdown]
# How is it kept? The node has an attribute for each of its pockets. Is what you find there a copy?

# %% pockets-same-run claims=["D13", "D16", "D17"]
x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
y, z = x.pow(2), x.exp()
print("PowBackward0 has", [name for name in dir(y.grad_fn) if name.startswith("_saved_")])
print("its self is x:   ", y.grad_fn._saved_self is x)
kept = z.grad_fn._saved_result
print("the result kept by ExpBackward0 is z:", kept is z, end=", ")
print("in the same memory:", kept.data_ptr() == z.data_ptr())

# %% pockets-ctx [markdown]
# No copy: an input is the very same tensor, and a result is another tensor on the same memory.
# (Were it the same one, node and result would hold each other, and live for ever.) That is why
# keeping takes no time, and why what is kept should not be written to.
#
# **Heard in the wild, and half right:** "the input tensors that are needed are saved beside the
# node, under the name `ctx`." Results are kept as well, as you have seen. And the nodes that come
# with torch have no `ctx`. That is what you call the node in a Function of your own:


# %% pockets-ctx-run claims=["D12"]
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        Square.ctx = ctx
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2 * x


out = Square.apply(x)
print("ctx is the node:            ", Square.ctx is out.grad_fn)
print("it keeps x itself:          ", out.grad_fn.saved_tensors[0] is x)
print("PowBackward0 has ctx:       ", hasattr(y.grad_fn, "ctx"))

# %% pockets-freed [markdown]
# After backward the pockets are empty. Who looks into one now gets an error, and here you see for
# the first time what gradviz makes of an error: it reads the graph, and says in its own words, the
# same on every release of torch, what has happened.

# %% pockets-freed-run claims=["D17"]
with gradviz.expect_error() as error:
    x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = x.pow(2)
    y.sum().backward()
    y.grad_fn._saved_self
print(error)

# %% which [markdown]
# **Heard in the wild, and false:** a tutorial writes beside `y = x.pow(2)`: "`x` is needed to
# obtain dx/dy." It is needed for dy/dx, which is 2·x. Where is the difference? At `x = 3` one is 6,
# the other 1/6, and for dx/dy torch would have to record another operation, which keeps no `x` at
# all:

# %% which-run claims=["D18"] refutes=["D18"]
x = torch.tensor(3.0, device=device, requires_grad=True)
y = x.pow(2)
dy_dx = torch.autograd.grad(y, x, retain_graph=True)[0].item()
print(f"dy/dx = {dy_dx:.4f}   {y.grad_fn.name()} keeps its", *kept_by(y, x).values())

y = torch.tensor(9.0, device=device, requires_grad=True)
x = y.sqrt()
dx_dy = torch.autograd.grad(x, y, retain_graph=True)[0].item()
print(f"dx/dy = {dx_dy:.4f}   {x.grad_fn.name()} keeps its", *kept_by(x, y).values())

# %% sides [markdown]
# ## Only what is needed?
#
# `a * b` kept one of its inputs where one gradient was asked for. Do all operations with two inputs
# do so? **Predict.**


# %% sides-program
PAIRS = {
    "a * b": (lambda a, b: a * b, (2, 2), (2, 2)),
    "a @ b": (lambda a, b: a @ b, (2, 2), (2, 2)),
    "linear": (nn.functional.linear, (2, 2), (2, 2)),
    "a / b": (lambda a, b: a / b, (2, 2), (2, 2)),
    "conv2d": (nn.functional.conv2d, (1, 1, 3, 3), (1, 1, 2, 2)),
    "layer_norm": (lambda a, b: nn.functional.layer_norm(a, (2,), b), (2, 2), (2,)),
    "maximum": (torch.maximum, (2, 2), (2, 2)),
    "mse_loss": (nn.functional.mse_loss, (2, 2), (2, 2)),
}


def inputs_kept(how, a_requires_grad, b_requires_grad):
    function, *shapes = PAIRS[how]
    flags = (a_requires_grad, b_requires_grad)
    a, b = (torch.ones(s, device=device, requires_grad=f) for s, f in zip(shapes, flags))
    out = function(a, b)
    graph = gradviz.snapshot(out, names={"a": a, "b": b})
    ids = {slot.storage for slot in graph.nodes[0].saved if slot.state == "held"}
    return "".join(sorted(t.name for t in graph.tensors if t.storage in ids and t.name in "ab"))


# %% sides-predict tags=["hide-input"]
# question
tick(
    "Only `a` requires grad. Which operations keep `b` and nothing of `a`?",
    {
        "a * b": "The gradient of a is made with b.",
        "a @ b": "So it is here.",
        "a / b": "The slope is 1 / b.",
        "conv2d": "It keeps both, whoever needs a gradient.",
        "maximum": "To know where a is the larger one it takes both.",
        "mse_loss": "The slope is 2 * (a - b): it takes both.",
    },
    right=[
        how
        for how in PAIRS
        if inputs_kept(how, True, False) == "b" and how not in ("linear", "layer_norm")
    ],
)

# %% sides-run tags=["hide-output"] claims=["D21"]
print("Torch's answer:")
print("requires grad:  only a  only b  both")
for how in PAIRS:
    kept = [inputs_kept(how, *flags) for flags in ((True, False), (False, True), (True, True))]
    print(f"{how:16}{kept[0]:8}{kept[1]:8}{kept[2]}")

# %% sides-explain [markdown]
# **Heard in the wild, and half right:** "for `f(a, b)`, where only `a` requires grad, only `b` is
# kept." For products it is so, and a linear layer is a product. Convolutions, normalizations and
# losses keep both sides, whether they are needed or not. (`a / b` really needs both, if `b`
# requires grad: the slope is -a / b².)

# %% count [markdown]
# ## Count it
#
# Eight times a linear layer with 512 × 512 weights (1 MiB) and a ReLU. A batch of 256 goes in; it
# has 256 × 512 numbers (half a MiB), and so has the result of each layer. (From here on all of it
# runs on the CPU. A GPU keeps the same; its allocator just tells of more.)


# %% count-program
def mlp():
    torch.manual_seed(0)
    layers = (layer for _ in range(8) for layer in (nn.Linear(512, 512), nn.ReLU()))
    return nn.Sequential(*layers)


def batch(requires_grad=False):
    return torch.ones(256, 512, requires_grad=requires_grad)


# %% count-program-hook
def kept(forward, *inputs, pack=lambda tensor: tensor):
    """Storages that forward keeps and their MiB, counted by a hook that torch calls for each."""
    sizes = {}

    def hook(tensor):
        packed = pack(tensor)
        storage = packed.untyped_storage()
        if storage.nbytes():
            sizes[storage.data_ptr()] = storage.nbytes()
        return packed

    with saved_tensors_hooks(hook, lambda packed: packed.float()):
        out = forward(*inputs)
    return len(sizes), sum(sizes.values()) / 2**20, out


# %% count-predict tags=["hide-input"]
# question
choose(
    "How much does `mlp()(batch())` keep for backward, in MiB?",
    {
        "0.5": "That is the last result alone.",
        "4.5": "So much are the activations: what goes into each layer, and the last result.",
        "8.0": "So much are the weights. The first of them is not needed.",
        "11.5": "9 activations and 7 weights: the first weight is for the gradient of the input.",
        "16.5": "A ReLU keeps its result, and the next layer its input: that is one tensor.",
    },
    right=str(kept(mlp(), batch())[1]),
)

# %% count-show tags=["hide-output"] claims=["C21"]
print("Torch's answer:")
model, x = mlp(), batch()
gradviz.memory(model(x), model)

# %% count-watch [markdown]
# **Watch.** The figure shows the same bytes again and again, from left to right: all of them, by
# kind, by module, by node, by saved tensor. The seven weights are kept by reference, and would be
# there without a graph. So would the batch, which the graph did not compute. The eight activations
# are what training costs. Sort the table by `parameters`: which linear layer keeps no weight?
#
# Do not take our word for it. torch calls a *hook* of yours for every tensor that it saves, if you
# ask for it, and this one adds up the bytes of each piece of memory once:

# %% count-run claims=["C21", "X26"]
storages, mib, _ = kept(model, x)
print(f"forward keeps        {storages:2} storages, {mib:4.1f} MiB")
with torch.no_grad():
    storages, mib, _ = kept(model, x)
print(f"forward under no_grad {storages:1} storages, {mib:4.1f} MiB")

# %% peak [markdown]
# ## When is it most?
#
# One step of training, with three layers this time, one operation in a line. **Predict.** At which
# moment is the most memory kept for backward? (On the CPU: on a GPU you would read what torch's
# allocator has given out.)

# %% peak-program
torch.manual_seed(0)
with torch.device("cpu"):
    first, second, last = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 1)
    images, targets = torch.ones(256, 64), torch.zeros(256, 1)

with gradviz.record() as recording:
    h = first(images)
    h = torch.tanh(h)
    h = second(h)
    h = torch.tanh(h)
    scores = last(h)
    loss = nn.functional.mse_loss(scores, targets)
    loss.backward()

# %% peak-predict tags=["hide-input"]
# question
held = [step.saved_bytes for step in recording.all_steps]
moments = {
    "at the end of forward": next(s.index for s in recording.all_steps if s.kind == "backward"),
    "in the middle of backward": len(held) * 2 // 3,
    "at the end of backward": len(held) - 1,
}
choose(
    "When do the saved tensors take the most memory?",
    {
        "at the end of forward": "Each operation adds to it. Then backward takes it away again.",
        "in the middle of backward": "Each node lets go of what it kept, as soon as it has run.",
        "at the end of backward": "Then all of it is freed: gradients are what is left.",
    },
    right=max(moments, key=lambda moment: held[moments[moment]]),
)

# %% peak-show tags=["hide-output"] claims=["C21"]
print("Torch's answer:")
gradviz.memory(recording)

# %% peak-watch [markdown]
# **Watch** the upper curve: up with the lines of forward, and down again, node by node, in
# backward. (One layer adds little: the result of `tanh` that goes into it is kept already. And the
# last results are small.) At the end nothing is kept: what is left of the step are the gradients,
# and the results that have a name. This is why the size of a batch is what decides whether training
# fits into memory: activations grow with it, and weights do not.

# %% freeze [markdown]
# ## Freeze nine tenths
#
# To *fine-tune* a network, most of it is frozen. Here is a small residual network of ten layers
# with weights. Only some of them are trainable.


# %% freeze-program
class Block(nn.Module):
    """A residual block: what it computes is added to what came in."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(x)))


# %% freeze-program-strip
def strip(trainable, blocks=8):
    """A residual network; of its layers only those of the slice are trainable."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 8, 3, padding=1), *(Block() for _ in range(blocks)), nn.Linear(8, 10)]
    for layer in layers:
        layer.requires_grad_(False)
    for layer in layers[trainable]:
        layer.requires_grad_(True)
    return nn.Sequential(*layers[:-1], nn.AdaptiveAvgPool2d(1), nn.Flatten(), layers[-1])


def pictures(requires_grad=False):
    return torch.ones(8, 3, 32, 32, requires_grad=requires_grad)


ALL, FIRST, LAST = slice(None), slice(1), slice(-1, None)

# %% freeze-predict tags=["hide-input"]
# question
mib = {
    "the first nine": kept(strip(LAST), pictures())[1],
    "the last nine": kept(strip(FIRST), pictures())[1],
}
choose(
    "You freeze nine of the ten layers. Which nine, if forward is to keep as little as possible?",
    {
        "the first nine": "No gradient goes back beyond the last layer: nothing is kept before.",
        "the last nine": "Gradients have to pass all of them, to get back to the first layer.",
        "it is the same": "The same number of weights, but not the same way for the gradient.",
    },
    right=(
        "it is the same"
        if mib["the first nine"] == mib["the last nine"]
        else min(mib, key=lambda which: mib[which])
    ),
)

# %% freeze-run tags=["hide-output"] claims=["E8"]
print("Torch's answer:")
for what, trainable, flag in (
    ("all layers", ALL, False),
    ("only the last layer", LAST, False),
    ("only the first layer", FIRST, False),
    ("the last layer and the input", LAST, True),
):
    storages, mib, out = kept(strip(trainable), pictures(flag))
    nodes = len(gradviz.snapshot(out).nodes)
    print(f"{what:30}{mib:5.2f} MiB in {storages:2} storages, {nodes:2} nodes")

# %% freeze-last-show claims=["E8"]
model = strip(LAST, blocks=2)
gradviz.show(model(pictures()))

# %% freeze-watch [markdown]
# **Watch.** This is the whole graph when only the last layer is trainable, here with two blocks:
# one pocket is filled, with what goes into the last layer. Of the blocks there is no trace. And
# when only the *first* layer is trainable?

# %% freeze-first-show claims=["E8"]
model = strip(FIRST, blocks=2)
gradviz.memory(model(pictures()), model)

# %% freeze-explain [markdown]
# The gradient has to pass all the frozen ones on its way back to the first layer, and so they keep
# nearly everything.
#
# **In a sentence:** what counts is not how many layers are frozen, but whether a gradient has to
# pass them. An input that requires grad makes it pass them all.
#
# For a ResNet-18 of torchvision, with four pictures of 96 × 96, the numbers are 15.58 MiB of
# activations and 132 nodes for all layers, and 0.01 MiB and 4 nodes for the last layer alone.
#
# One thing goes on in a frozen layer all the same: a BatchNorm in training mode goes on averaging.

# %% freeze-norm-run claims=["E8"]
model = strip(LAST)
before = model[1].norm.running_mean.clone()
model(pictures())
print("a frozen BatchNorm has moved:", not torch.equal(model[1].norm.running_mean, before))

# %% inplace [markdown]
# ## Write in place?
#
# `nn.ReLU(inplace=True)` writes its result over its input. That should save memory. **Predict.**


# %% inplace-program
def conv(*more):
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), *more)


MODELS = {
    "conv, norm, ReLU": lambda inplace: conv(nn.BatchNorm2d(16), nn.ReLU(inplace)),
    "conv, ReLU": lambda inplace: conv(nn.ReLU(inplace)),
    "conv, SiLU": lambda inplace: conv(nn.SiLU(inplace)),
}


def kept_mib(name, inplace):
    return kept(MODELS[name](inplace), torch.ones(8, 16, 32, 32))[1]


# %% inplace-predict tags=["hide-input"]
# question
choose(
    "A convolution, then `ReLU()` or `ReLU(inplace=True)`. With `inplace` forward keeps",
    {
        "less": "The input of a ReLU is not kept in any case: its result is.",
        "the same": "The input of the ReLU, which goes, was not kept before either.",
        "more": "For a ReLU there is nothing that would have to be copied first.",
    },
    right=("the same" if kept_mib("conv, ReLU", True) == kept_mib("conv, ReLU", False) else "less"),
)

# %% inplace-run tags=["hide-output"] claims=["E23"]
print("Torch's answer:")
print("                      out of place   in place")
for name in MODELS:
    print(f"{name:22}{kept_mib(name, False):8.2f} MiB{kept_mib(name, True):7.2f} MiB")

# %% inplace-explain [markdown]
# What is gained is a moment: without `inplace`, input and result of the ReLU are there together for
# a while. Then torch frees what nobody keeps, and uses that memory again. (A SiLU needs its input
# later: in place it makes a copy first.) So writing in place rarely gains much. What it may cost,
# you will see in the program to repair.

# %% checkpoint [markdown]
# ## Compute it again
#
# A *checkpoint* keeps only what goes into a part of the model, and nothing of what is computed
# inside. But backward needs that all the same. **Predict** what it costs, for the eight linear
# layers.


# %% checkpoint-program
def one_step(forward):
    """How often a linear layer runs in one step of training, and a gradient."""
    calls = []
    handles = [m.register_forward_pre_hook(lambda *_: calls.append(1)) for m in model[::2]]
    model.zero_grad()
    forward(model, x[:8]).sum().backward()
    for handle in handles:
        handle.remove()
    return len(calls), model[0].weight.grad


def plain(model, x):
    return model(x)


def checkpointed(model, x):
    return checkpoint(model, x, use_reentrant=False)


model, x = mlp(), batch()

# %% checkpoint-predict tags=["hide-input"]
# question
choose(
    "All eight layers are in one checkpoint. How many linear layers run in a step of training?",
    {
        "8": "So it is without a checkpoint.",
        "16": "Eight in forward, and eight more when backward needs what was not kept.",
        "44": "No layer begins again by itself: the whole part runs again once.",
    },
    right=one_step(checkpointed)[0],
)

# %% checkpoint-run tags=["hide-output"] claims=["X5"]
print("Torch's answer:")
gradients = []
for how in (plain, checkpointed):
    storages, mib, _ = kept(how, model, x)
    calls, gradient = one_step(how)
    gradients.append(gradient)
    print(f"{how.__name__:13}keeps {mib:4.1f} MiB, runs {calls:2} linear layers")
print("the same gradient:", torch.allclose(*gradients))

# %% checkpoint-explain [markdown]
# Memory is paid for with time. A single checkpoint around everything gains little in the end, since
# backward then makes all of it again at once; one around each of several parts does.
#
# `use_reentrant` has to be given. `False` is the newer kind. With the older one, the input has to
# require grad, or the part gets no gradient at all, and torch only warns:

# %% checkpoint-reentrant-run claims=["X5"]
for flag in (False, True):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = checkpoint(model, x, use_reentrant=flag)
    told = "torch warns" if caught else "no warning"
    print(f"use_reentrant={flag!s:6} result requires grad: {out.requires_grad!s:6} {told}")

# %% pack [markdown]
# ## Keep it elsewhere, keep it smaller
#
# The hook that has counted for us may also *change* what is kept: what it returns is kept in place
# of the tensor, and a second function makes a tensor of it when backward asks. Here it is written
# with half the precision.
#
# **Predict.** Each tensor takes half of the memory now.

# %% pack-predict tags=["hide-input"]
# question
choose(
    "Kept so far: 11.5 MiB. And with every saved tensor turned into half precision?",
    {
        "5.75": "That is the half. But some of the saved tensors were one and the same.",
        "7.5": "A ReLU and the next layer kept one tensor in common. Now each packs its own.",
        "11.5": "Each packed tensor is smaller: 2 bytes in place of 4 for a number.",
    },
    right=kept(model, x, pack=torch.Tensor.half)[1],
)

# %% pack-run tags=["hide-output"] claims=["X26"]
print("Torch's answer:")
gradients = []
for name, pack in (("as it is", lambda t: t), ("half precision", torch.Tensor.half)):
    storages, mib, out = kept(model, x, pack=pack)
    gradients.append(torch.autograd.grad(out.sum(), model[0].weight)[0])
    print(f"{name:16}{mib:5.2f} MiB in {storages} storages")
error = (gradients[1] - gradients[0]).abs().max() / gradients[0].abs().max()
print("the gradient is off by", "less than 1 %" if error < 0.01 else "more")

# %% pack-cpu [markdown]
# `save_on_cpu` is such a pair of functions, made by torch: what is saved goes from the GPU to the
# memory of the computer, and comes back when it is needed. A picture does not unpack what somebody
# has packed. It only says that there is something:

# %% pack-cpu-show claims=["X26"]
x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
with save_on_cpu():
    loss = x.exp().sin().sum()
gradviz.show(loss)

# %% what-if [markdown]
# ## What if?
#
# Switch the flags of `a` and `b`, one after the other. Say each time which pockets will be empty.


# %% what-if-explore
def mixed(a, b):
    product = a * b
    out = product.exp() + a
    return {"product": product, "out": out}


gradviz.explore(mixed, a=2.0, b=0.5)

# %% repair [markdown]
# ## Repair a broken program
#
# Somebody computes log(1 + e^x), and writes the addition in place, to save memory. The first three
# lines run. Backward does not.

# %% repair-broken
with gradviz.expect_error() as error:
    x = torch.tensor([0.0, 1.0], device=device, requires_grad=True)
    e = x.exp()
    e.add_(1)
    loss = e.log().sum()
    loss.backward()
print("backward raised:", error.raised)

# %% repair-predict tags=["hide-input"]
# question
choose(
    "Three nodes lie on the way. Which one found that what it keeps had been changed?",
    {
        "ExpBackward0": "It keeps its result, and `add_` has written into just that.",
        "AddBackward0": "It keeps nothing, so nothing of it can be changed.",
        "LogBackward0": "It keeps its input. But that was saved after the write.",
    },
    right=error.node_name,
)

# %% repair-card tags=["hide-output"] claims=["B28"]
print("Torch's answer:")
error

# %% repair-card-watch [markdown]
# **Read** the card from the top: what happened, why that is an error, who wrote, who had saved. The
# versions are the evidence: every write in place adds one, and a node remembers which version it
# has saved. (More of that in lesson 10.)

# %% repair-show tags=["hide-output"] claims=["B28"]
print("Torch's answer:")
gradviz.show(error)

# %% repair-explain [markdown]
# **Watch.** The player opens where it happened. Go back to line 4, where `e` is written to: at once
# the pocket of `ExpBackward0` says that it holds something else than it saved. torch looks at it
# only when that node has to run. Then it is too late to say who has written; the recording knows.
#
# The same write does no harm where nobody keeps what is written to:

# %% repair-add-run claims=["B28"]
x = torch.tensor([0.0, 1.0], device=device, requires_grad=True)
b = x + 1
b.mul_(3)
b.sum().backward()
print("x.grad:", x.grad.tolist())

# %% repair-ask [markdown]
# **Your turn.** Change the first line, so that backward runs.

# %% repair-try
add = torch.Tensor.add_

x = torch.tensor([0.0, 1.0], device=device, requires_grad=True)
e = x.exp()
e = add(e, 1)
loss = e.log().sum()
try:
    loss.backward()
    print("repaired:", [round(value, 4) for value in x.grad.tolist()])
except RuntimeError:
    print("not yet: what ExpBackward0 keeps was written to")

# %% repair-solution [markdown]
# The next cell holds a solution. Click its `…` to open it, or press
# <kbd>Shift</kbd>+<kbd>Enter</kbd> here and then <kbd>Enter</kbd>.

# %% repair-solution-run tags=["hide-input"]
# solution
add = torch.Tensor.add
# A new tensor, so the result of exp stays what it was. It takes memory: two tensors are kept.

# An operation that does all of it at once keeps only its input:
x = torch.tensor([0.0, 1.0], device=device, requires_grad=True)
print("log(1 + e^x):", kept(lambda x: x.exp().add(1).log(), x)[0], "storages kept")
print("softplus(x): ", kept(nn.functional.softplus, x)[0], "storage kept")

# %% frozen [markdown]
# ## True or false?
#
# **Heard in the wild:** "A frozen layer keeps nothing for backward, since it has no gradient to
# compute."
#
# Then it would not matter what comes before it. Here a convolution is frozen. What goes into it is
# the result of a linear layer, which is frozen too, or is trainable.


# %% frozen-run claims=["E8"]
def kept_by_frozen_convolution(trainable_before):
    before, frozen = nn.Linear(4, 4), nn.Conv1d(1, 1, 1)
    before.requires_grad_(trainable_before)
    frozen.requires_grad_(False)
    return kept(frozen, before(torch.ones(1, 4)))[0]


print("all before it is frozen:       ", kept_by_frozen_convolution(False), "storages kept")
print("a layer before it is trainable:", kept_by_frozen_convolution(True), "storages kept")

# %% frozen-explain [markdown]
# **False,** if a gradient has to pass it: for the gradient of its input it needs its weight, and a
# convolution keeps its input as well. True only before the first thing that requires grad.

# %% exercise [markdown]
# ## On your own
#
# The model of eight layers again, and the batch of 256: an activation takes half a MiB, a weight
# 1 MiB. For each case write two numbers: how many storages are kept, and how many MiB.
#
# - `input_too`: the input requires grad as well,
# - `first_frozen`: the first four linear layers are frozen,
# - `last_frozen`: the last four are frozen,
# - `checkpoint`: all of it is in one checkpoint.


# %% exercise-try
def check_kept(**answers):
    for name, mine in answers.items():
        model, x = mlp(), batch(requires_grad=name == "input_too")
        frozen = {"first_frozen": slice(0, 8), "last_frozen": slice(8, 16)}.get(name, slice(0))
        model[frozen].requires_grad_(False)
        forward = checkpointed if name == "checkpoint" else plain
        storages, mib, _ = kept(forward, model, x)
        truth = [str(storages), f"{mib:g}"]
        right = sum(m == t for m, t in zip(mine.split(), truth))
        print(f"{name}: {right} of {len(truth)} right")


check_kept(input_too="? ?", first_frozen="? ?", last_frozen="? ?", checkpoint="? ?")

# %% exercise-solution tags=["hide-input"]
# solution
check_kept(input_too="17 12.5", first_frozen="8 5.5", last_frozen="16 11.5", checkpoint="1 0.5")

# %% construct [markdown]
# Now build one: an `out` in which at least three nodes keep a tensor, and all of them the same one.

# %% construct-try
x = torch.ones(4, device=device, requires_grad=True)
out = x.exp().tanh().log()

graph = gradviz.snapshot(out)
held = [slot for node in graph.nodes for slot in node.saved if slot.state == "held"]
nodes = sum(node.state == "holds" for node in graph.nodes)
storages = len({slot.storage for slot in held})
print("nodes that keep a tensor:", nodes, "  storages:", storages)
print("done" if nodes >= 3 and storages == 1 else "not yet")

# %% summary [markdown]
# ## In two sentences
#
# A node keeps the inputs or the result that gradients will be made with, without a copy, from
# forward until backward has passed, and only where a gradient has to pass. Freezing from the front,
# checkpoints and packing make it less; each has its price, and writing in place is rarely a gain.
#
# **Next:** [8. Four switches that are not the same](08-four-switches.ipynb) asks what keeps a
# forward pass from recording anything at all.
