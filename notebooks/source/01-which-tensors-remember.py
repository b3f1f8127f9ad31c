# %% title [markdown]
# # 1. Which tensors remember?
#
# You will take one line of arithmetic, `a * b + c`, and find out which of its five tensors
# autograd keeps a record for, and why.
#
# **After it you can**
#
# - say what `requires_grad`, `is_leaf` and `grad_fn` will be before you run a line,
# - read your first autograd graph,
# - repair the most common reason why `x.grad` is `None`.
#
# **You need** plain tensor arithmetic. About 15 minutes.
#
# Before most cells there is a question. Answer it before you run the cell: a wrong guess helps
# you remember what really happens.

# %% setup [markdown]
# Run this cell first. A cell runs with <kbd>Shift</kbd>+<kbd>Enter</kbd>. The lesson is the same
# on a CPU and on a GPU.

# %% setup-run
import warnings

import torch
from lesson_tools import choose, tick, what_if

import gradviz

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% recall [markdown]
# ## Recall: three things about plain tensors
#
# Nothing here needs autograd. It is used below.

# %% recall-shape tags=["hide-input"]
# question
choose(
    "What is the shape of `torch.ones(5) @ torch.ones(5, 3)`?",
    {
        "torch.Size([1, 3])": "A row would need two dimensions; torch.ones(5) has one.",
        "torch.Size([3])": "The 5 is summed away and nothing else is left.",
        "torch.Size([5, 3])": "That is what * with a column would give; @ sums over the 5.",
        "an error": "It would be one for a column of shape (5, 1), but this is 1-D.",
    },
    right=(torch.ones(5) @ torch.ones(5, 3)).shape,
)

# %% recall-dtype tags=["hide-input"]
# question
choose(
    "What is the dtype of `torch.tensor([1, 2])`?",
    {
        "torch.float32": "It would be with [1.0, 2.0]. Without a point, numbers are integers.",
        "torch.int64": "Python integers give an integer tensor. Integers have no gradient.",
    },
    right=torch.tensor([1, 2]).dtype,
)

# %% recall-double tags=["hide-input"]
# question
choose(
    "`x` is a float32 tensor, and `y = x.double()`. Are they the same tensor object?",
    {
        "yes": "A new dtype needs new memory, so a new tensor is made.",
        "no": "y is a new tensor, computed from x. Remember this: it returns at the end.",
    },
    right="yes" if (x := torch.ones(3)).double() is x else "no",
)

# %% one-dimension [markdown]
# **Heard in the wild, and false:** "`torch.ones(n)` counts as a row of length *n*."
#
# A row could stand on the left of a matrix only. This tensor stands on either side, because it
# has one dimension and is neither a row nor a column.

# %% one-dimension-run tags=["hide-output"] claims=["C7", "C8"] refutes=["C8"]
print("Torch's answer:")
x = torch.ones(5)
w = torch.ones(5, 3)
print("x.shape, w.shape      ", tuple(x.shape), tuple(w.shape))
print("(x @ w).shape         ", tuple((x @ w).shape))
print("(ones(3, 5) @ x).shape", tuple((torch.ones(3, 5) @ x).shape))

# %% default [markdown]
# ## Meet the flag
#
# Every tensor has a flag, `requires_grad`. It answers one question: should torch record what is
# computed from me?


# %% default-program
def first_tensors():
    t = torch.ones(3, requires_grad=True)
    return {
        "torch.ones(3)": torch.ones(3),
        "torch.zeros(3)": torch.zeros(3),
        "torch.tensor(2.0)": torch.tensor(2.0),
        "torch.scalar_tensor(2.0)": torch.scalar_tensor(2.0),
        "torch.zeros_like(t), where t requires grad": torch.zeros_like(t),
        "torch.nn.Parameter(torch.ones(3))": torch.nn.Parameter(torch.ones(3)),
        "running_mean of a BatchNorm": torch.nn.BatchNorm1d(2).running_mean,
    }


# %% default-ask [markdown]
# **Predict** before you run the next code cell.

# %% default-predict tags=["hide-input"]
# question
tick(
    "Which of these start with `requires_grad=True`? Tick them all.",
    {
        "torch.ones(3)": "A tensor you make yourself starts with False.",
        "torch.zeros(3)": "A tensor you make yourself starts with False.",
        "torch.tensor(2.0)": "A tensor you make yourself starts with False.",
        "torch.scalar_tensor(2.0)": "A tensor you make yourself starts with False.",
        "torch.zeros_like(t), where t requires grad": "It takes the shape of t, not the flag.",
        "torch.nn.Parameter(torch.ones(3))": "A parameter is made to be learned.",
        "running_mean of a BatchNorm": "It is a buffer: it is updated, but not by a gradient.",
    },
    right=[how for how, tensor in first_tensors().items() if tensor.requires_grad],
)

# %% default-run tags=["hide-output"] claims=["A2", "D19"]
print("Torch's answer:")
for how, tensor in first_tensors().items():
    print(f"{how:44}{tensor.requires_grad}")

# %% default-explain [markdown]
# False is the default. `torch.nn.Parameter` is the exception, and only that spelling exists: some
# texts write `nn.parameters()` or `nn.Parameters`, which torch does not have.

# %% parameter-spelling claims=["D19"]
for name in ("Parameter", "Parameters", "parameters"):
    print(f"torch.nn.{name:12}exists: {hasattr(torch.nn, name)}")

# %% switch [markdown]
# ## Switch it on
#
# You can set the flag when you make the tensor, `requires_grad=True`, or later with
# `requires_grad_()`. The underscore at the end means: changes the tensor in place.


# %% switch-program
def before_and_after():
    x = torch.ones(1, device=device)
    y = torch.ones(1, device=device)
    before = x + y
    x.requires_grad_()
    after = x + y
    return before.requires_grad, after.requires_grad


# %% switch-ask [markdown]
# **Predict.** The program computes the same sum twice, before and after the switch.

# %% switch-predict tags=["hide-input"]
# question
choose(
    "What is `before.requires_grad`, after `x.requires_grad_()` was called?",
    {
        "True, because x requires grad now": "The addition is over. Nobody goes back to it.",
        "False, as it was": "The flag of x is read while the operation runs, and only then.",
    },
    right=("True, because x requires grad now" if before_and_after()[0] else "False, as it was"),
)

# %% switch-run tags=["hide-output"] claims=["B1", "B2", "C11"]
print("Torch's answer:")
before, after = before_and_after()
print("before.requires_grad:", before)
print("after.requires_grad: ", after)

# %% switch-explain [markdown]
# The flag is read at the moment an operation runs. What was computed earlier stays as it was.
#
# Only floating point and complex tensors can have the flag. And beware of a spelling mistake:
# Python lets you put any attribute on a tensor, so a typo raises nothing and does nothing.

# %% switch-limits claims=["C11"]
try:
    torch.tensor([1, 2]).requires_grad_()
except RuntimeError as error:
    print("integers refused:", type(error).__name__)

typo = torch.ones(2)
typo.require_grad = True  # no s: a new attribute, not the flag
print("flag after the typo:", typo.requires_grad)

# %% printed [markdown]
# ## Tell a source from a result
#
# A tensor that requires grad shows it when printed, in one of two ways. Look at the end of each
# line.

# %% printed-source claims=["B3"]
y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device, requires_grad=True)
y

# %% printed-result claims=["B4"]
z = 2 * y + 1
z

# %% printed-leaf [markdown]
# `y` was made by you: it only has the flag. `z` was made by an operation, and carries the record
# of it in `z.grad_fn`. A tensor without a `grad_fn` is called a **leaf**.

# %% printed-leaf-run claims=["B15", "D4"]
for name, tensor in {"y": y, "z": z}.items():
    print(name, " is_leaf:", tensor.is_leaf, " grad_fn is None:", tensor.grad_fn is None)

# %% one-flag [markdown]
# ## Five tensors, one flag
#
# Here is the line of arithmetic, in two steps. Each of the three numbers has a switch; as it
# stands, only `c` requires grad.


# %% one-flag-program
def five(a_flag=False, b_flag=False, c_flag=True):
    a = torch.tensor(2.0, device=device, requires_grad=a_flag)
    b = torch.tensor(3.0, device=device, requires_grad=b_flag)
    c = torch.tensor(5.0, device=device, requires_grad=c_flag)
    out1 = a * b
    out2 = out1 + c
    return {"a": a, "b": b, "c": c, "out1": out1, "out2": out2}


# %% one-flag-ask [markdown]
# **Predict.** Try to fill in the whole table on paper first: five tensors, two columns.

# %% one-flag-predict-grad tags=["hide-input"]
# question
tick(
    "Which of the five require grad?",
    {
        "a": "Nobody set its flag.",
        "b": "Nobody set its flag.",
        "c": "It was made with requires_grad=True.",
        "out1": "Neither a nor b requires grad, so their product does not.",
        "out2": "One input that requires grad is enough, and c does.",
    },
    right=[name for name, tensor in five().items() if tensor.requires_grad],
)

# %% one-flag-predict-leaf tags=["hide-input"]
# question
tick(
    "Which of the five are leaves?",
    {
        "a": "No operation made it, so it has no grad_fn.",
        "b": "No operation made it, so it has no grad_fn.",
        "c": "No operation made it, so it has no grad_fn. The flag makes no difference.",
        "out1": "An operation made it, but it was not recorded: no grad_fn.",
        "out2": "It has a grad_fn, AddBackward0.",
    },
    right=[name for name, tensor in five().items() if tensor.is_leaf],
)


# %% one-flag-run tags=["hide-output"] claims=["A4", "A6", "A7", "A10", "D22"]
def print_flags(tensors):
    print("tensor  requires_grad  is_leaf  grad_fn")
    for name, t in tensors.items():
        grad_fn = None if t.grad_fn is None else t.grad_fn.name()
        print(f"{name:8}{t.requires_grad!s:15}{t.is_leaf!s:9}{grad_fn}")


print("Torch's answer:")
print_flags(five())

# %% one-flag-watch [markdown]
# **Watch.** This is the graph torch keeps behind `out2`. Select a box to see what torch holds
# there.

# %% one-flag-show claims=["A4", "A10"]
tensors = five()
gradviz.show(tensors["out2"], names=tensors)

# %% one-flag-explain [markdown]
# `out1` has no node. Torch computed 2 × 3 and kept nothing of it, so in the graph the 6 is a
# constant: the place for it in `AddBackward0` is empty.
#
# **In a sentence:** a result is recorded when an input requires grad; a result that is not
# recorded is a leaf, like the tensors you make yourself.
#
# Now run backward. Four of the five are leaves, but only one of them gets a gradient.

# %% one-flag-backward claims=["A4", "D1"]
tensors["out2"].backward()
for name in ("a", "b", "c", "out1"):
    print(f"{name}.grad:", None if tensors[name].grad is None else tensors[name].grad.item())

# %% three-flags [markdown]
# ## Five tensors, three flags
#
# Now `a`, `b` and `c` all require grad. Nothing else changes.

# %% three-flags-predict tags=["hide-input"]
# question
tick(
    "With all three flags on: which of the five are leaves now?",
    {
        "a": "Still made by you, so no grad_fn.",
        "b": "Still made by you, so no grad_fn.",
        "c": "Still made by you, so no grad_fn.",
        "out1": "Its inputs require grad now, so the product is recorded: grad_fn is MulBackward0.",
        "out2": "It has a grad_fn, as before.",
    },
    right=[name for name, t in five(True, True, True).items() if t.is_leaf],
)

# %% three-flags-run tags=["hide-output"] claims=["A11", "A12", "D5"]
print("Torch's answer:")
print_flags(five(True, True, True))

# %% three-flags-show claims=["A11", "A12"]
tensors = five(True, True, True)
gradviz.show(tensors["out2"], names=tensors)

# %% three-flags-explain [markdown]
# The empty place is filled: `MulBackward0` stands there, and leads on to `a` and `b`. Each leaf
# that requires grad ends in an `AccumulateGrad` node, which will write its `.grad`.
#
# `out1` went from a leaf without the flag to a result with it. Nobody touched `out1`; its inputs
# decided.

# %% flags-what-if [markdown]
# ## What if?
#
# Try the eight combinations. Before each click, say which boxes will come or go. With all three
# off there is no graph, and gradviz says why.


# %% flags-what-if-run
def graph_of_five(a_requires_grad, b_requires_grad, c_requires_grad):
    tensors = five(a_requires_grad, b_requires_grad, c_requires_grad)
    return gradviz.snapshot(tensors["out2"], names=tensors)


what_if(graph_of_five, a_requires_grad=True, b_requires_grad=False, c_requires_grad=False)

# %% travel [markdown]
# ## See how far the flag travels
#
# The flag goes from inputs to outputs, never back. One input that has it is enough.

# %% travel-run claims=["A8", "E3", "E6"]
torch.manual_seed(0)
x = torch.randn(5, 5).to(device)
y = torch.randn(5, 5).to(device)
z = torch.randn(5, 5).to(device).requires_grad_()
a = x + y
b = a + z
print("a = x + y:", a.requires_grad, "  b = a + z:", b.requires_grad, "  x still:", x.requires_grad)


# %% travel-program
def results_of_w():
    w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    results = {
        "w * 2": w * 2,
        "w > 0": w > 0,
        "w.argmax()": w.argmax(),
        "w.max(0).values": w.max(0).values,
        "w.max(0).indices": w.max(0).indices,
    }
    with torch.no_grad():
        results["w * 2 under torch.no_grad()"] = w * 2
    return results


# %% travel-ask [markdown]
# **Predict.** `w` requires grad in all six rows.

# %% travel-predict tags=["hide-input"]
# question
tick(
    "Which of these results require grad?",
    {
        "w * 2": "A multiplication by a constant is recorded.",
        "w > 0": "The result is bool. It cannot have a gradient.",
        "w.argmax()": "The result is an integer, a position. It cannot have a gradient.",
        "w.max(0).values": "The largest value depends smoothly on w, so it is recorded.",
        "w.max(0).indices": "Same call, but positions: integers have no gradient.",
        "w * 2 under torch.no_grad()": "Recording is switched off there, whatever the flags say.",
    },
    right=[how for how, t in results_of_w().items() if t.requires_grad],
)

# %% travel-limits [markdown]
# The official note on autograd says that an output does not require grad *only if* all its inputs
# do not. **That is half the truth.** In all six rows the input `w` requires grad:

# %% travel-limits-run tags=["hide-output"] claims=["A8", "D20", "E4"]
print("Torch's answer:")
for how, tensor in results_of_w().items():
    print(f"{how:30}requires_grad: {tensor.requires_grad!s:7}is_leaf: {tensor.is_leaf}")

# %% travel-explain [markdown]
# **In a sentence:** an operation is recorded when recording is on, an input requires grad, and the
# result is of a kind that can have a gradient.
#
# In every row, `requires_grad` and `is_leaf` are opposites. That is not a law: a leaf that requires
# grad is both. The law is the other one, which you have seen: *leaf* means *no `grad_fn`*.

# %% choose-flags [markdown]
# ## Choose what to learn
#
# In a layer, the weights are to be learned and the data is not. So the weights get the flag.

# %% choose-flags-run claims=["C10", "D1"]
torch.manual_seed(1)
x, y = torch.ones(5, device=device), torch.zeros(3, device=device)
w = torch.randn(5, 3).to(device).requires_grad_()
b = torch.randn(3).to(device).requires_grad_()
unused = torch.ones(3, device=device, requires_grad=True)

((x @ w + b - y) ** 2).sum().backward()
for name, t in {"x": x, "y": y, "w": w, "b": b, "unused": unused}.items():
    print(f"{name:8}requires_grad: {t.requires_grad!s:7}has a gradient: {t.grad is not None}")

# %% choose-flags-explain [markdown]
# The flag asks for a gradient. `unused` has it and still got none, because no path leads from the
# loss to it.
#
# Switching the flag off takes a whole part out of the graph. Here the first layer of a small
# network is frozen:


# %% frozen-run claims=["E2"]
def graph_of_network(freeze_first_layer):
    x = torch.ones(2, 4, device=device)
    first = torch.ones(4, 4, device=device, requires_grad=not freeze_first_layer)
    second = torch.ones(4, 1, device=device, requires_grad=True)
    out = ((x @ first).relu() @ second).sum()
    return gradviz.snapshot(out)


for freeze in (False, True):
    graph = graph_of_network(freeze)
    print(f"first layer frozen: {freeze!s:7}{len(graph)} nodes, {len(graph.leaves)} leaves")

# %% frozen-what-if
what_if(graph_of_network, freeze_first_layer=True)

# %% repair [markdown]
# ## Repair a broken program
#
# Someone sets the flag, then changes the dtype. After backward the gradient is missing. Moving to
# a GPU with `.cuda()` or `.to(device)` after setting the flag does the same.

# %% repair-predict tags=["hide-input"]
# question
choose(
    "`x = torch.ones(3, requires_grad=True).double()`: what is `x`?",
    {
        "a leaf that requires grad": "The leaf is the float32 tensor. x is another tensor.",
        "a leaf that does not require grad": "The input requires grad, so the result does.",
        "a result: not a leaf": ".double() is an operation like any other. It was recorded.",
    },
    right=(
        "a leaf that requires grad"
        if torch.ones(3, requires_grad=True).double().is_leaf
        else "a result: not a leaf"
    ),
)

# %% repair-broken tags=["hide-output"]
print("Torch's answer:")
x = torch.ones(3, device=device, requires_grad=True).double()
(x * x).sum().backward()

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print("x.grad:", x.grad)
print("torch warned:", [warning.category.__name__ for warning in caught])

# %% repair-watch [markdown]
# **Watch.** Find `x` in the picture, and find the leaf. They are not the same box.

# %% repair-show claims=["E1"]
out = (x * x).sum()
gradviz.show(out)

# %% repair-explain [markdown]
# The gradient did arrive, at a leaf that has no name any more: the picture can only number it. `x`
# is the result of `ToCopyBackward0`.
#
# You do not need to know the graph to train a network. You do need it here: the message is only a
# `None`, and the picture says where the gradient went.
#
# **Your turn.** Change the first line so that `x` is a float64 leaf and gets its gradient.

# %% repair-try
x = torch.ones(3, device=device, requires_grad=True).double()

(x * x).sum().backward()
if x.is_leaf and x.dtype == torch.float64 and x.grad is not None:
    print("repaired: x.grad =", x.grad.tolist())
else:
    print("not yet: x.is_leaf is", x.is_leaf)

# %% repair-solution [markdown]
# The next cell holds a solution. Click its `…` to open it, or press
# <kbd>Shift</kbd>+<kbd>Enter</kbd> here and then <kbd>Enter</kbd>.

# %% repair-solution-run tags=["hide-input"]
# solution
# Change the dtype first and set the flag last; or make the tensor as it should be at once:
# torch.ones(3, device=device, dtype=torch.float64, requires_grad=True)
x = torch.ones(3, device=device).double().requires_grad_()

(x * x).sum().backward()
print("x is a leaf:", x.is_leaf, "  x.grad:", x.grad.tolist())

# %% last-flag [markdown]
# ## True or false?
#
# **Heard in the wild:** "If `a` and `b` do not require grad, the *last* place where
# `requires_grad` is True becomes the leaf."
#
# That would make one leaf, and it would be `out2`, the last tensor with the flag. Let torch answer.

# %% last-flag-run claims=["A9", "D4"] refutes=["A9"]
tensors = five(False, False, True)
with_flag = [name for name, t in tensors.items() if t.requires_grad]
leaves = [name for name, t in tensors.items() if t.is_leaf]
print("last tensor with the flag:", with_flag[-1])
print("leaves:                   ", leaves)
print("leaf means no grad_fn:    ", all(t.is_leaf == (t.grad_fn is None) for t in tensors.values()))

# %% last-flag-explain [markdown]
# **False.** There are four leaves, and `out2` is the one tensor that is not. Nothing is decided by
# being last: whether a tensor is a leaf can be read from that tensor alone.

# %% exercise [markdown]
# ## On your own
#
# `x = torch.ones(3)` and `w = torch.ones(3, requires_grad=True)`. Fill in both rows for
#
# `x * 2`, `w * 2`, `w > 0`, `(w > 0) * w`, `w.detach() * x`, `w.argmax()`
#
# with `T` or `F`, then run the cell. `w.detach()` is `w` without its record.


# %% exercise-try
def check_flags(my_requires_grad, my_is_leaf):
    x = torch.ones(3, device=device)
    w = torch.ones(3, device=device, requires_grad=True)
    results = [x * 2, w * 2, w > 0, (w > 0) * w, w.detach() * x, w.argmax()]
    for name, mine in {"requires_grad": my_requires_grad, "is_leaf": my_is_leaf}.items():
        truth = ["FT"[getattr(t, name)] for t in results]
        right = sum(m == t for m, t in zip(mine.split(), truth))
        print(f"{name}: {right} of {len(truth)} right")


check_flags(my_requires_grad="? ? ? ? ? ?", my_is_leaf="? ? ? ? ? ?")

# %% exercise-solution tags=["hide-input"]
# solution
check_flags(my_requires_grad="F T F T F F", my_is_leaf="T F T F T T")

# %% construct [markdown]
# Now build one. Write an `out` from three tensors that all require grad, such that the graph has
# **three** leaves but backward would leave one of *your* names without a gradient. (Hint: what
# did `.double()` do?)

# %% construct-try
p = torch.ones(2, device=device, requires_grad=True)
q = torch.ones(2, device=device, requires_grad=True)
r = torch.ones(2, device=device, requires_grad=True)
out = (p * q + r).sum()

leaves = len(gradviz.snapshot(out).leaves)
not_leaf = [name for name, t in {"p": p, "q": q, "r": r}.items() if not t.is_leaf]
print("leaves in the graph:", leaves, "  your names that are no leaf:", not_leaf)
print("done" if leaves == 3 and len(not_leaf) == 1 else "not yet")

# %% summary [markdown]
# ## In two sentences
#
# A result remembers how it was made when an input requires grad: it has a `grad_fn`. A tensor with
# no `grad_fn` is a leaf, and the leaves with the flag on are where gradients arrive.
#
# **Next:** [2. Reading the graph](02-reading-the-graph.ipynb) walks along the nodes you saw here.
