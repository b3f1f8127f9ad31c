# %% title [markdown]
# # 3. backward(): who gets a gradient?
#
# `z` requires grad, and `y` gets its gradient through `z`. Still, `z.grad` is `None`. You will
# follow a gradient from node to node, see where it is written down, and catch it on its way.
#
# **After it you can**
#
# - say which tensors have a `.grad` after `backward()`, and why the others have none,
# - keep, watch or change a gradient in the middle of a graph,
# - start backward from a result that is not a single number.
#
# **You need** lessons [1](01-which-tensors-remember.ipynb) and [2](02-reading-the-graph.ipynb).
# About 20 minutes.

# %% setup [markdown]
# From here on cells can be *recorded*. A cell that begins with `%%gradviz` runs as always, and
# below it you can step through what torch did: line by line, and node by node inside backward.

# %% setup-run
import warnings
import weakref

import torch
from lesson_tools import choose, tick
from torch.nn.functional import binary_cross_entropy_with_logits

import gradviz

# %load_ext gradviz

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% recall [markdown]
# ## Recall: three things from lessons 1 and 2


# %% recall-end tags=["hide-input"]
# question
def end_of_the_path():
    node = torch.ones(2, requires_grad=True).exp().sum().grad_fn
    while node.next_functions:
        node = node.next_functions[0][0]
    return type(node).__name__


choose(
    "You follow `next_functions` from a loss as far as they go. Which node is the last?",
    {
        "AccumulateGrad": "There is one for each leaf that requires grad.",
        "SumBackward0": "That is a root: the way begins there.",
        "ExpBackward0": "It leads on to its input.",
    },
    right=end_of_the_path(),
)


# %% recall-order tags=["hide-input"]
# question
def first_to_run():
    order = []
    p = torch.ones(2, requires_grad=True)
    product = 2 * p
    out = product.exp()
    for name, t in {"2 * p": product, "exp": out}.items():
        t.grad_fn.register_hook(lambda *_, name=name: order.append(name))
    out.sum().backward()
    return order[0]


choose(
    "`out = (2 * p).exp()`. Which of the two operations comes first in backward?",
    {
        "2 * p": "It was computed first, so its turn is last.",
        "exp": "Backward starts at the root: what was computed last comes first.",
    },
    right=first_to_run(),
)

# %% recall-none tags=["hide-input"]
# question
choose(
    "`w` requires grad and `x` does not. What stands for `x` in the `next_functions` of `w * x`?",
    {
        "(None, 0)": "No gradient has to travel there.",
        "(AccumulateGrad, 0)": "A leaf has that node only if it requires grad.",
        "nothing": "Each input has an entry, also one that needs no gradient.",
    },
    right=(torch.ones(1, requires_grad=True) * torch.ones(1)).grad_fn.next_functions[1],
)

# %% before [markdown]
# ## Look before backward
#
# A leaf, a result, and a sum. Nobody has called `backward()` yet. The table has a column for a
# warning: torch may warn when you read `.grad`.


# %% before-program
def read_grad(tensor):
    """The .grad of a tensor as plain numbers, and whether torch warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        grad = tensor.grad
    return None if grad is None else grad.tolist(), "yes" if caught else "no"


def print_grads(**tensors):
    print("        requires_grad  grad_fn        torch warns  .grad")
    for name, t in tensors.items():
        made_by = None if t.grad_fn is None else t.grad_fn.name()
        grad, warned = read_grad(t)
        print(f"{name:8}{t.requires_grad!s:15}{made_by!s:15}{warned:13}{grad}")


# %% before-run claims=["B5", "B11", "B12"]
y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device, requires_grad=True)
z = 2 * y + 1
out = z.sum()
print_grads(y=y, z=z, out=out)
out


# %% backward [markdown]
# ## Send a gradient through
#
# The same four lines, and now `out.backward()`. **Predict** the last column.


# %% backward-predict tags=["hide-input"]
# question
def have_a_grad():
    y = torch.ones(2, 2, requires_grad=True)
    z = 2 * y + 1
    out = z.sum()
    out.backward()
    return [name for name, t in {"y": y, "z": z, "out": out}.items() if read_grad(t)[0] is not None]


tick(
    "Which of the three have a `.grad` after `out.backward()`?",
    {
        "y": "A leaf that requires grad has an AccumulateGrad node, which writes .grad.",
        "z": "A gradient passes here, and no node writes it down.",
        "out": "The 1 that backward starts with is handed on, and not written down.",
    },
    right=have_a_grad(),
)

# %% backward-show tags=["hide-output"] claims=["C1", "C31", "E18"]
# %%gradviz --step 4
y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device, requires_grad=True)
z = 2 * y + 1
out = z.sum()
out.backward()
print("Torch's answer:")

# %% backward-watch [markdown]
# **Watch.** This is a *player*, and it stands where backward begins; the words `--step 4` say so.
# Press **Back** to see how the lines built the graph. Press **Forward** to go through
# `out.backward()` node by node. This is all of back propagation, with which nearly every network is
# trained:
#
# - `SumBackward0` is given a 1, and hands on a 1 for each number of `z`,
# - `AddBackward0` hands on what it gets,
# - `MulBackward0` multiplies by 2,
# - `AccumulateGrad` writes the result into `y.grad`. No other node writes anything.

# %% backward-run tags=["hide-output"] claims=["A14", "B13", "D24"]
print("Torch's answer:")
print_grads(y=y, z=z, out=out)

# %% backward-explain [markdown]
# **In a sentence:** every node is given a gradient and hands one on, but only `AccumulateGrad`
# keeps it, and only a leaf that requires grad has one.
#
# torch warns when you read `.grad` of a result: you are about to see a `None` that means "not
# kept". And the graph is still there: `z.grad_fn` and `out.grad_fn` are what they were.

# %% half [markdown]
# ## Three half-truths
#
# Back to the five numbers of lesson 1: `out1 = a * b` and `out2 = out1 + c`.


# %% half-program
def five(flag_of_a_and_b=True):
    a = torch.tensor(2.0, device=device, requires_grad=flag_of_a_and_b)
    b = torch.tensor(3.0, device=device, requires_grad=flag_of_a_and_b)
    c = torch.tensor(5.0, device=device, requires_grad=True)
    out1 = a * b
    out2 = out1 + c
    return {"a": a, "b": b, "c": c, "out1": out1, "out2": out2}


def five_after_backward(flag_of_a_and_b=True):
    tensors = five(flag_of_a_and_b)
    tensors["out2"].backward()
    return tensors


# %% half-predict tags=["hide-input"]
# question
choose(
    "All three numbers require grad. What are `a.grad`, `b.grad`, `c.grad`?",
    {
        "2.0, 3.0, 5.0": "These are the values. A gradient says how fast out2 follows.",
        "3.0, 2.0, 1.0": "a moves out2 at the rate b, and b at the rate a; c moves it one to one.",
        "1.0, 1.0, 1.0": "1 arrives at a * b. From there a gets 1 times b.",
    },
    right=", ".join(str(read_grad(five_after_backward()[name])[0]) for name in "abc"),
)

# %% half-run tags=["hide-output"] claims=["A3", "A5", "A13", "C32"]
print("Torch's answer:")
print("a, b and c require grad")
print_grads(**five_after_backward(True))
print("\nonly c requires grad")
print_grads(**five_after_backward(False))

# %% half-explain [markdown]
# **Heard in the wild, and half right.** Find the row that says no.
#
# - "`requires_grad` means that the gradient will be stored." Not for `out1` in the first table. It
#   means that operations are recorded.
# - "To save memory, gradients are stored only in the final leaf." There is no final leaf: `a`, `b`
#   and `c` all get one in the first table. In the second table four tensors are leaves, and three
#   of those get nothing.
# - "`backward()` accumulates the gradients in each tensor's `.grad`." Only where the first column
#   says True *and* the second says None.

# %% retain [markdown]
# ## Keep a gradient in the middle
#
# `z.retain_grad()` asks torch to keep the gradient of a result. **Predict** what it will be.


# %% retain-predict tags=["hide-input"]
# question
def gradient_of_z():
    y = torch.ones(2, requires_grad=True)
    z = 2 * y + 1
    z.retain_grad()
    z.sum().backward()
    return f"{int(z.grad[0])} everywhere"


choose(
    "`z = 2 * y + 1` and `out = z.sum()`. With `z.retain_grad()`: what is `z.grad`?",
    {
        "1 everywhere": "Each number of z goes into the sum once.",
        "2 everywhere": "That is the gradient of y: the 2 is applied further on.",
        "3 everywhere": "That is the value of 2 * y + 1 where y is 1.",
    },
    right=gradient_of_z(),
)

# %% retain-show tags=["hide-output"] claims=["A16"]
# %%gradviz --step 5
y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device, requires_grad=True)
z = 2 * y + 1
z.retain_grad()
out = z.sum()
out.backward()
print("Torch's answer:")

# %% retain-watch [markdown]
# **Watch.** The third line changes a flag of `z`, `retains_grad`, and no node. During backward two
# tensors get a `.grad` now: first `z`, then `y`.
#
# When does `retain_grad()` help, and when not?


# %% retain-when claims=["A16"]
def grad_of_out1(before=False, after=False, times=1):
    tensors = five()
    if before:
        tensors["out1"].retain_grad()
    for _ in range(times):
        tensors["out2"].backward(retain_graph=True)  # lesson 4 is about this switch
    if after:
        tensors["out1"].retain_grad()
    return read_grad(tensors["out1"])[0]


print("called before backward: ", grad_of_out1(before=True))
print("two backwards: it adds up", grad_of_out1(before=True, times=2))
print("called after backward:  ", grad_of_out1(after=True))

# %% retain-where claims=["A16"]
a = five()["a"]
a.retain_grad()
print("on a leaf it does nothing, retains_grad is", a.retains_grad)
try:
    torch.ones(2).retain_grad()
except RuntimeError as error:
    print("where requires_grad is False it raises", type(error).__name__)

# %% retain-graph [markdown]
# **Heard in the wild, and false:** "to accumulate gradients in the middle, set `.retain_graph` to
# True." That is the name of something else. Python lets you put any attribute on a tensor, and
# torch does not look at it:

# %% retain-graph-run claims=["D25"] refutes=["D25"]
tensors = five()
tensors["out1"].retain_graph = True
tensors["out2"].backward(retain_graph=True)
print("retains_grad:", tensors["out1"].retains_grad, "  .grad:", read_grad(tensors["out1"])[0])

# %% hook [markdown]
# ## Watch a gradient pass
#
# `register_hook` gives torch a function of yours. Backward calls it with the gradient, on the way.
#
# **Predict.** Here the function returns something, ten times the gradient.


# %% hook-program
def tenfold(gradient):
    return gradient * 10


# %% hook-predict tags=["hide-input"]
# question
def grads_with_a_hook():
    tensors = five()
    tensors["out1"].register_hook(tenfold)
    tensors["out2"].backward()
    return "a.grad {:.0f}, c.grad {:.0f}".format(*(tensors[name].grad for name in "ac"))


choose(
    "`out1.register_hook(tenfold)`, then `out2.backward()`. What do the leaves get?",
    {
        "a.grad 3, c.grad 1": "A hook that returns a gradient replaces the one that passes.",
        "a.grad 30, c.grad 1": "What the hook returns travels on to a and b. c is on another way.",
        "a.grad 30, c.grad 10": "c is not behind out1: its gradient does not pass the hook.",
    },
    right=grads_with_a_hook(),
)

# %% hook-show tags=["hide-output"] claims=["A18", "A20"]
# %%gradviz --step 7
a = torch.tensor(2.0, device=device, requires_grad=True)
b = torch.tensor(3.0, device=device, requires_grad=True)
c = torch.tensor(5.0, device=device, requires_grad=True)
out1 = a * b
out1.register_hook(tenfold)
out2 = out1 + c
out2.backward()
print("Torch's answer:")

# %% hook-watch [markdown]
# **Watch.** A pin appears on `out1` when the hook is registered. During backward the hook fires
# just before `MulBackward0` runs, which is then given 10.
#
# **Heard in the wild, and half right:** "a hook takes the gradient before it is thrown away." It
# may *look*, as the first one here, and it may *replace*. It stores nothing.


# %% hook-run claims=["A18", "A19", "A20", "A21", "A22"]
seen = []


def look(gradient):
    seen.append(gradient.item())


tensors = five()
handle = tensors["out1"].register_hook(look)
tensors["out2"].backward(retain_graph=True)
print("register_hook returned: ", type(handle).__name__)
print("the hook was given:     ", seen)
print("out1.grad, torch warns: ", *read_grad(tensors["out1"]))
handle.remove()
tensors["out2"].backward()
print("after handle.remove():  ", seen)

# %% hook-keep [markdown]
# To keep what a hook has made, ask for it: `retain_grad` keeps the gradient as it is after the
# hooks.

# %% hook-keep-run claims=["A22"]
tensors = five()
tensors["out1"].retain_grad()
tensors["out1"].register_hook(tenfold)
tensors["out2"].backward()
print("out1.grad:", read_grad(tensors["out1"])[0])

# %% gone [markdown]
# What happens to a gradient that nobody keeps? A weak reference knows a tensor and does not hold
# it. Here the hooks write down weak references only, one for each gradient in the middle of a
# longer graph:

# %% gone-run claims=["A17", "B14"]
x = torch.ones(3, device=device, requires_grad=True)
steps = [x.exp()]
for operation in (torch.sin, torch.tanh, torch.sigmoid, torch.sum):
    steps.append(operation(steps[-1]))
passed = []
for t in steps:
    t.register_hook(lambda gradient: passed.append(weakref.ref(gradient)))
steps[-1].backward()
print("gradients that passed:", len(passed))
print("of these still there: ", sum(gradient() is not None for gradient in passed))
print("x.grad is there:      ", x.grad is not None)

# %% gone-explain [markdown]
# Each gradient is used and thrown away at once. That is on purpose, to save memory: a network has
# many results in the middle, and an optimizer needs the leaves only.

# %% order [markdown]
# ## Hook kinds, in their order
#
# There are hooks on tensors, on nodes and on modules. Each writes down its name when it fires.


# %% order-run claims=["X6"]
log = []
p = torch.tensor(2.0, device=device, requires_grad=True)
h = p * 3
out = h * 5
h.retain_grad()
h.grad_fn.register_hook(lambda leaving, arriving: log.append("node"))
h.grad_fn.register_prehook(lambda arriving: log.append(f"node pre, h.grad is {h.grad}"))
h.register_hook(lambda gradient: log.append(f"tensor h, h.grad is {read_grad(h)[0]}"))
p.register_post_accumulate_grad_hook(lambda leaf: log.append(f"post accumulate, {leaf.grad}"))
p.register_hook(lambda gradient: log.append(f"tensor p, p.grad is {p.grad}"))
out.backward()
print(*log, sep="\n")

layer = torch.nn.Linear(2, 2, device=device)
layer.register_full_backward_hook(
    lambda m, leaving, arriving: print("module", arriving[0].tolist())
)
layer(torch.ones(2, 2, device=device, requires_grad=True)).sum().backward()

# %% order-explain [markdown]
# The order is not the order of registering: it is the way of the gradient. It arrives (tensor hook,
# then `retain_grad`), the node runs (pre, then post), and at a leaf it is accumulated. A module has
# a hook of its own, given what arrives at its output.

# %% start [markdown]
# ## Start somewhere else
#
# So far backward started at a single number. `z` has four.


# %% start-predict tags=["hide-input"]
# question
def backward_from_four():
    y = torch.ones(2, 2, requires_grad=True)
    try:
        (2 * y + 1).backward()
    except RuntimeError:
        return "it raises an error"
    return "it gives y.grad all 2"


choose(
    "`z = 2 * y + 1` has shape (2, 2). What does `z.backward()` do?",
    {
        "it gives y.grad all 2": "So it would for z.sum(). For four numbers torch does not guess.",
        "it raises an error": "For one number torch starts with 1. For four it does not guess.",
    },
    right=backward_from_four(),
)


# %% start-run tags=["hide-output"] claims=["B9", "B10", "C31"]
def start(how, shape, *gradient):
    y = torch.ones(4, device=device, requires_grad=True)
    z = 2 * y if shape == (4,) else (2 * y).sum().view(shape)
    try:
        z.backward(*gradient)
        print(f"{how:34}y.grad {y.grad.tolist()}")
    except RuntimeError as error:
        print(f"{how:34}{type(error).__name__}")


print("Torch's answer:")
for shape in ((), (1,), (1, 1), (4,)):
    start(f"shape {shape}", shape)
start("shape (4,), with four gradients", (4,), torch.tensor([1.0, 1.0, 0.0, 5.0], device=device))
start("shape (4,), with two gradients", (4,), torch.ones(2, device=device))

# %% start-explain [markdown]
# One number, of whatever shape, starts with 1. For anything else *you* say what arrives at the
# start: a gradient of the same shape as the tensor. It is a weight for each number, so
# `z.backward(v)` gives what `(z * v).sum().backward()` would.
#
# **Heard in the wild, and half right:** "backward starts when it is called on the root." It starts
# at the tensor it is called on, the end of the graph or not; here at `z`.
#
# Why are weights all one can ask for? Because that is what travels: a gradient, not a table of all
# derivatives. The table, the *Jacobian*, has a row for each output; one backward with a 1 in one
# place gives one row.


# %% jacobian-run claims=["X1"]
def two_outputs(x):
    return torch.stack([x.sum(), (x * x).sum()])


x = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
rows = [
    torch.autograd.grad(two_outputs(x), x, one)[0].tolist() for one in torch.eye(2, device=device)
]
print("row by row: ", rows)
units = torch.eye(2, device=device)
at_once = torch.autograd.grad(two_outputs(x), x, units, is_grads_batched=True)[0]
print("all at once:", at_once.tolist() == rows)
print("jacrev:     ", torch.func.jacrev(two_outputs)(x.detach()).tolist() == rows)

# %% end [markdown]
# ## End somewhere else
#
# By the chain rule a gradient goes to *all* leaves that require grad, unless you name those you
# want. `inputs=` limits `backward()`; `torch.autograd.grad` returns gradients and writes none.


# %% end-predict tags=["hide-input"]
# question
def after_backward_with_inputs():
    w, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (w * 3 + b).sum().backward(inputs=[b])
    return [name for name, t in {"w": w, "b": b}.items() if t.grad is not None]


tick(
    "Which leaves have a `.grad` after `(w * 3 + b).sum().backward(inputs=[b])`?",
    {
        "w": "It is a leaf that requires grad, but not one of the inputs asked for.",
        "b": "It is asked for.",
    },
    right=after_backward_with_inputs(),
)

# %% end-show tags=["hide-output"] claims=["C33", "X20"]
# %%gradviz --step 4
w = torch.tensor(2.0, device=device, requires_grad=True)
b = torch.tensor(1.0, device=device, requires_grad=True)
out = w * 3 + b
out.backward(inputs=[b], retain_graph=True)
out.backward()
print("Torch's answer:")

# %% end-watch [markdown]
# **Watch.** In the first backward the part of the graph that leads to `w` does not run at all. In
# the second one, without `inputs=`, everything runs; `b` has got two gradients by then.
#
# And if you ask for a gradient where no path leads?

# %% end-run claims=["D2", "X14"] refutes=["D2"]
x = torch.tensor(4.0, device=device)  # does not require grad
unused = torch.tensor(5.0, device=device, requires_grad=True)


def ask(how, wanted, **options):
    try:
        gradients = torch.autograd.grad(w * x, wanted, **options)
        print(f"{how:34}", [None if g is None else g.item() for g in gradients])
    except RuntimeError as error:
        print(f"{how:34}", type(error).__name__)


ask("w", [w])
ask("w and unused", [w, unused])
ask("the same with allow_unused", [w, unused], allow_unused=True)
ask("the same with materialize_grads", [w, unused], materialize_grads=True)
ask("x", [x])
print("MulBackward0 hands on             ", (w * x).grad_fn(torch.ones_like(w)))

# %% end-explain [markdown]
# **Heard in the wild, and false:** "`requires_grad=False` does not always mean that no gradient is
# computed." For torch's own operations it means just that: the last line is what `MulBackward0`
# computes for `w` and for `x`, and for `x` it is `None`. Asking for it is an error.

# %% layer [markdown]
# ## The loss of a layer
#
# The layer of lesson 2, where the loss is the usual start. Here the gradients can be computed by
# hand: that of `b` is `(sigmoid(z) - y) / 3`.

# %% layer-show claims=["C15"]
# %%gradviz --step 7
torch.manual_seed(1)
x = torch.ones(5, device=device)
y = torch.zeros(3, device=device)
w = torch.randn(5, 3).to(device).requires_grad_()
b = torch.randn(3).to(device).requires_grad_()
loss = binary_cross_entropy_with_logits(x @ w + b, y)
loss.backward()

# %% layer-run claims=["C15", "C16"]
with torch.no_grad():
    by_hand = (torch.sigmoid(x @ w + b) - y) / 3
print("b.grad:", [round(number, 4) for number in b.grad.tolist()])
print("the same by hand:                ", torch.allclose(b.grad, by_hand))
print("each row of w.grad is b.grad:    ", torch.allclose(w.grad, b.grad.expand(5, 3)))
print("all between 0 and 1/3:           ", bool(((b.grad > 0) & (b.grad < 1 / 3)).all()))

# %% layer-explain [markdown]
# The rows are equal because `x` is all ones. With other random numbers the gradients are other
# numbers, and these three lines stay true.
#
# **Heard in the wild, and half right:** "back propagation adjusts the parameters." `backward()`
# writes `.grad` and nothing else. An optimizer does the adjusting:

# %% layer-step claims=["C3"]
before = b.detach().clone()
binary_cross_entropy_with_logits(x @ w + b, y).backward()
print("b was changed by backward():", not torch.equal(b, before))
torch.optim.SGD([w, b], lr=0.1).step()
print("b was changed by step():    ", not torch.equal(b, before))

# %% shape [markdown]
# A gradient has the shape of its leaf, always. Where forward *repeats* a leaf to fit, backward has
# to *add up*:

# %% shape-run claims=["X2"]
bias = torch.zeros(3, device=device, requires_grad=True)
(torch.ones(4, 3, device=device) + bias).sum().backward()
print("a bias for 4 rows gets", bias.grad.tolist())

predicted = torch.tensor([[1.0], [2.0], [3.0]], device=device, requires_grad=True)
target = torch.tensor([1.0, 2.0, 3.0], device=device)
difference = predicted - target
(difference**2).mean().backward()
print("a perfect prediction: difference has shape", tuple(difference.shape))
print("its gradient:", [round(number, 2) for (number,) in predicted.grad.tolist()])

# %% shape-explain [markdown]
# The second half is a famous bug: (3, 1) minus (3,) is (3, 3), every prediction is compared with
# every target, and a perfect model is pushed away from the truth. Nothing raises. Look at the shape
# of a difference before you trust a loss.

# %% what-if [markdown]
# ## What if?
#
# Change the numbers and the switches, one at a time. Before each change say what the leaves and
# `out1` will get.


# %% what-if-explore
def middle(a, b, retain_grad=False, hook=False):
    out1 = a * b
    if retain_grad:
        out1.retain_grad()
    if hook:
        out1.register_hook(tenfold)
    out2 = out1 + a
    out2.backward()
    return {"out1": out1, "out2": out2}


gradviz.explore(middle, a=2.0, b=3.0)

# %% repair [markdown]
# ## Repair a broken program
#
# Somebody wants to see the loss of each sample, and then train. The second wish fails. The player
# opens where it happened.

# %% repair-broken
x = torch.ones(4, 5, device=device)
y = torch.zeros(4, 3, device=device)
try:
    with gradviz.record() as recording:
        scores = x @ w + b
        loss = (scores - y) ** 2
        loss.backward()
except RuntimeError as error:
    print("backward raised:", type(error).__name__)
    print("speaks of a scalar:", "scalar" in str(error))
gradviz.show(recording)

# %% repair-predict tags=["hide-input"]
# question
choose(
    "What is `loss`?",
    {
        "torch.Size([])": "That would be one number. Nothing here adds the numbers up.",
        "torch.Size([4])": "Each sample has three scores, and nothing adds these up either.",
        "torch.Size([4, 3])": "A number for each score: torch does not know how to weigh the 12.",
    },
    right=((x @ w + b - y) ** 2).shape,
)

# %% repair-ask [markdown]
# **Your turn.** Change the first line so that every sample counts the same.

# %% repair-try
loss = (x @ w + b - y) ** 2

b.grad = None
try:
    loss.backward()
    print("repaired: b.grad has shape", tuple(b.grad.shape))
except RuntimeError:
    print("not yet: loss has shape", tuple(loss.shape))

# %% repair-solution [markdown]
# The next cell holds a solution. Click its `…` to open it, or press
# <kbd>Shift</kbd>+<kbd>Enter</kbd> here and then <kbd>Enter</kbd>.

# %% repair-solution-run tags=["hide-input"]
# solution
# Keep the 12 numbers under their own name if you want to look at them.
loss = ((x @ w + b - y) ** 2).mean()

b.grad = None
loss.backward()
print("b.grad has shape", tuple(b.grad.shape))

# %% others [markdown]
# ## True or false?
#
# **Heard in the wild,** in many a tutorial: "Only leaves that require grad have a `grad`. For all
# other nodes in the graph, gradients cannot be had."
#
# If that were so, there would be no way to get at the gradient of `z`. Here are three.

# %% others-run claims=["C17"] refutes=["C17"]
x, y = torch.ones(5, device=device), torch.zeros(3, device=device)
w.grad = b.grad = None
seen = []
with gradviz.record() as recording:
    z = x @ w + b
    loss = binary_cross_entropy_with_logits(z, y)
    (returned,) = torch.autograd.grad(loss, z, retain_graph=True)
    z.retain_grad()
    z.register_hook(seen.append)
    loss.backward()
ways = {"autograd.grad": returned, "retain_grad": z.grad, "a hook": seen[0]}
for way, gradient in ways.items():
    print(f"{way:14}", [round(number, 4) for number in gradient.tolist()])

# %% others-show refutes=["C17"]
gradviz.show(recording, step=3)

# %% others-explain [markdown]
# **False.** They can be had, if you ask before backward runs. That torch keeps only those of leaves
# is a matter of memory, not of principle.
#
# Step through the two passes. The first, `torch.autograd.grad`, stops as soon as it has the
# gradient of `z`, and writes no `.grad`. The second goes on to `w` and `b`.

# %% exercise [markdown]
# ## On your own
#
# `x` is (1, 2, 3), and `y` is `[sum of x, sum of x * x]`. What does `y.backward` with the gradient
# (1, 10) write into `x.grad`? Three numbers, separated by blanks.


# %% exercise-try
def check_gradient(mine):
    x = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    two_outputs(x).backward(torch.tensor([1.0, 10.0], device=device))
    truth = [f"{number:g}" for number in x.grad.tolist()]
    right = sum(m == t for m, t in zip(mine.split(), truth))
    print(right, "of", len(truth), "right")


check_gradient("? ? ?")

# %% exercise-solution tags=["hide-input"]
# solution
check_gradient("21 41 61")

# %% construct [markdown]
# Now build one. `None` and 0 are not the same: change `out` so that `q.grad` becomes 0 after
# backward, not `None`, and `p.grad` stays 1.

# %% construct-try
p = torch.tensor(2.0, device=device, requires_grad=True)
q = torch.tensor(3.0, device=device, requires_grad=True)
out = p + 1

out.backward()
grads = [None if t.grad is None else t.grad.item() for t in (p, q)]
print("p.grad, q.grad:", grads)
print("done" if grads == [1, 0] else "not yet")

# %% summary [markdown]
# ## In two sentences
#
# Backward gives every node on its way a gradient, and each hands one on; it is written down only at
# leaves that require grad, and at results you have called `retain_grad()` on. In between a hook may
# look at it or replace it, and then it is gone.
#
# **Next:** [4. Twice through the same graph](04-twice-through-the-same-graph.ipynb) asks what else
# is gone.
