# %% title [markdown]
# # 2. Reading the graph
#
# You will follow the graph behind a loss from its root to its leaves, first in a picture, then
# with six lines of Python, and in the end with a pencil.
#
# **After it you can**
#
# - say which of your tensors are in the graph, and which are not,
# - read `next_functions`: what each entry, each number and each `None` means,
# - find the place where a graph was cut.
#
# **You need** [lesson 1](01-which-tensors-remember.ipynb). About 20 minutes.

# %% setup-run
import weakref

import torch
from lesson_tools import choose, tick, what_if
from torch.nn.functional import binary_cross_entropy_with_logits

import gradviz

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% recall [markdown]
# ## Recall: three things from lesson 1


# %% recall-leaf tags=["hide-input"]
# question
def sign_of_a_leaf():
    v = torch.ones(2, requires_grad=True)
    return "t.grad_fn is None" if v.is_leaf and not (v * 2).is_leaf else "t.requires_grad is True"


choose(
    "How can you tell that `t` is a leaf, looking at `t` alone?",
    {
        "t.requires_grad is True": "Results of recorded operations have the flag too.",
        "t.grad_fn is None": "A leaf is a tensor that no recorded operation made.",
        "t.grad is not None": "Before backward nothing has a gradient, but there are leaves.",
    },
    right=sign_of_a_leaf(),
)


# %% recall-moment tags=["hide-input"]
# question
def flag_of_the_old_sum():
    x, y = torch.ones(1), torch.ones(1)
    z = x + y
    y.requires_grad_()
    return "yes" if z.requires_grad else "no"


choose(
    "`z = x + y` is computed, then `y.requires_grad_()` is called. Does `z` require grad?",
    {
        "yes": "z was finished before; the flag is read while the operation runs.",
        "no": "The flag is read while the operation runs, and only then.",
    },
    right=flag_of_the_old_sum(),
)

# %% recall-double tags=["hide-input"]
# question
choose(
    "`x = torch.ones(3, requires_grad=True).double()`. Which node made `x`?",
    {
        "none: x is a leaf": "The leaf is the float32 tensor that .double() was called on.",
        "ToCopyBackward0": "Changing the dtype is an operation, and it was recorded.",
        "AccumulateGrad": "That node belongs to the float32 leaf.",
    },
    right=torch.ones(3, requires_grad=True).double().grad_fn.name(),
)

# %% loss [markdown]
# ## Draw the graph of a loss
#
# A layer with three outputs, and a loss that compares them with a target. It is the smallest
# network there is.

# %% loss-program claims=["C5"]
torch.manual_seed(1)
x = torch.ones(5, device=device)
y = torch.zeros(3, device=device)
w = torch.randn(5, 3).to(device).requires_grad_()
b = torch.randn(3).to(device).requires_grad_()

z = x @ w + b
loss = binary_cross_entropy_with_logits(z, y)
print(f"loss: {loss.item():.4f}   shape: {tuple(loss.shape)}")

# %% loss-ask [markdown]
# A *computational graph* is a calculation drawn as a graph: a box for each step, a line wherever a
# result is used. Many tutorials draw this one with `x`, `y`, `w`, `b`, `z` and `loss`.
#
# **Predict.** Autograd keeps a graph of its own.

# %% loss-predict tags=["hide-input"]
# question
tick(
    "Which of the four inputs are in the graph that autograd keeps?",
    {
        "x": "x does not require grad, so no gradient has to travel to it.",
        "y": "y does not require grad, so no gradient has to travel to it.",
        "w": "w requires grad: the gradient has to get there.",
        "b": "b requires grad: the gradient has to get there.",
    },
    right=[leaf.name for leaf in gradviz.snapshot(loss, names={"w": w, "b": b}).leaves],
)

# %% loss-show tags=["hide-output"] claims=["C4", "C9"]
print("Torch's answer:")
gradviz.show(loss, names={"x": x, "y": y, "w": w, "b": b})

# %% loss-explain [markdown]
# The drawing in the tutorials is **half right**. The graph ends in `w` and `b` only. `x` and `y`
# stand outside. They are needed all the same, as *saved tensors*: the gradient of `w` is computed
# from `x`, so `MmBackward0` keeps it (as a row of shape (1, 5)), and the loss keeps `y`.
#
# `x @ w` left two nodes, not one. `x` has one dimension, so torch multiplies matrices (`Mm`) and
# then takes the extra dimension away (`Squeeze`). The graph shows what torch did, not what you
# wrote.

# %% loss-what-if [markdown]
# **What if?** Decide which of the four require grad, and see which part of the graph is there
# for each of them.


# %% loss-what-if-run
def graph_of_loss(x_requires_grad, y_requires_grad, w_requires_grad, b_requires_grad):
    torch.manual_seed(1)
    x = torch.ones(5).to(device).requires_grad_(x_requires_grad)
    y = torch.zeros(3).to(device).requires_grad_(y_requires_grad)
    w = torch.randn(5, 3).to(device).requires_grad_(w_requires_grad)
    b = torch.randn(3).to(device).requires_grad_(b_requires_grad)
    loss = binary_cross_entropy_with_logits(x @ w + b, y)
    return gradviz.snapshot(loss, names={"x": x, "y": y, "w": w, "b": b})


what_if(
    graph_of_loss,
    x_requires_grad=True,
    y_requires_grad=False,
    w_requires_grad=True,
    b_requires_grad=False,
)

# %% record [markdown]
# ## See when the graph is made
#
# Nobody has called `backward()` yet. Still, each result came with its node.

# %% record-run claims=["C14", "C30", "E17"]
for name, t in {"z": z, "loss": loss}.items():
    print(f"{name:5}shape {tuple(t.shape)!s:5}grad_fn {t.grad_fn.name()}")

# %% record-explain [markdown]
# The forward pass computes a result and records the node for it in the same moment. `grad_fn` is
# the door to the graph.
#
# **Heard in the wild, and half right:** "autograd keeps a record of the data and of *all*
# operations." It records an operation only if an input requires grad, and of the data only what
# a derivative needs:

# %% record-some claims=["C28", "E14"]
constant = torch.tensor(3.0, device=device)
v = torch.tensor(2.0, device=device, requires_grad=True)
result = (constant * 2 + 1) * v
print("operations written:  3")
print(
    "operations recorded:", [n.name for n in gradviz.snapshot(result).nodes if n.variable is None]
)

# %% record-where [markdown]
# **Also half right:** "a tensor with `requires_grad=True` records everything that is done with
# it." The record is not in `v`. It hangs on the *results*, and some results have none.

# %% record-where-run claims=["C6"]
with torch.no_grad():
    under_no_grad = v * 2
done = {"v": v, "v * 2": v * 2, "v > 0": v > 0, "v.detach()": v.detach(), "no_grad": under_no_grad}
for how, t in done.items():
    print(f"{how:12}grad_fn: {None if t.grad_fn is None else t.grad_fn.name()}")

# %% next [markdown]
# ## Follow the arrows
#
# A node knows where its gradients go: `next_functions`. There is one entry for each input of the
# operation. An entry is a pair, or `(None, 0)` where no gradient is needed.


# %% next-program
def arrows(node):
    return [(None if n is None else type(n).__name__, number) for n, number in node.next_functions]


m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device, requires_grad=True)
out = 2 * m + 1

# %% next-predict tags=["hide-input"]
# question
choose(
    "`out = 2 * m + 1`. What are the `next_functions` of `out.grad_fn`?",
    {
        "[('AccumulateGrad', 0), (None, 0)]": "The product comes first, then the leaf.",
        "[('MulBackward0', 0)]": "The addition has two inputs, so there are two entries.",
        "[('MulBackward0', 0), (None, 0)]": "One entry per input: the product, the constant.",
        "[('MulBackward0', 0), ('AccumulateGrad', 0)]": "The constant needs no gradient.",
    },
    right=arrows(out.grad_fn),
)

# %% next-run tags=["hide-output"] claims=["B7", "B8"]
print("Torch's answer:")
add = out.grad_fn
mul = add.next_functions[0][0]
end = mul.next_functions[0][0]
print("add ->", arrows(add))
print("mul ->", arrows(mul))
print("end ->", arrows(end), "  its variable is m:", end.variable is m)

# %% next-number [markdown]
# The number in the pair says *which output* of the next node was used. It is 0 nearly always.
# Here it is not: `unbind` makes two tensors with one node.

# %% next-number-run claims=["B7"]
first, second = torch.ones(2, device=device, requires_grad=True).unbind()
print("first * 2  ->", arrows((first * 2).grad_fn))
print("second * 2 ->", arrows((second * 2).grad_fn))

# %% same-node [markdown]
# Old texts print `z.grad_fn` twice and find two addresses, as if there were two nodes. That was
# the Python wrapper, made anew at each look. Today a node has one Python object while it lives:

# %% same-node-run claims=["B6"]
print("different objects in 20 looks:", len({id(out.grad_fn) for _ in range(20)}))

# %% walk [markdown]
# ## Walk the graph yourself
#
# Six lines are enough to print any graph: name the node, then go to each node it points to.


# %% walk-program
def walk(node, depth=0):
    lines = ["  " * depth + type(node).__name__]
    for following, _ in node.next_functions:
        if following is not None:
            lines += walk(following, depth + 1)
    return lines


# %% walk-ask [markdown]
# **Predict.** Write down what `walk(loss.grad_fn)` prints for the loss above. Then say how often
# `AccumulateGrad` is on your list.

# %% walk-predict tags=["hide-input"]
# question
choose(
    "How many `AccumulateGrad` nodes does the walk meet?",
    {
        "1": "Each leaf that requires grad has its own.",
        "2": "One for w, one for b.",
        "3": "There are three lines in the sum x @ w + b, but x does not require grad.",
        "4": "x and y do not require grad, so nothing accumulates there.",
    },
    right=sum("AccumulateGrad" in line for line in walk(loss.grad_fn)),
)

# %% walk-run tags=["hide-output"] claims=["C9"]
print("Torch's answer:")
print("\n".join(walk(loss.grad_fn)))

# %% walk-compare [markdown]
# Compare it with the picture above. gradviz reads the same objects, so the same names come out:

# %% walk-compare-run
mine = sorted(line.strip() for line in walk(loss.grad_fn))
print(
    "same nodes as in the picture:",
    mine == sorted(node.name for node in gradviz.snapshot(loss).nodes),
)

# %% slot [markdown]
# ## Fill an empty place
#
# `BinaryCrossEntropyWithLogitsBackward0` has two entries, and the one for `y` is `(None, 0)`. Now
# `y` is switched on, *after* the loss was computed.

# %% slot-predict tags=["hide-input"]
# question
choose(
    "`y.requires_grad_()` is called. What happens to the `(None, 0)` of the existing loss?",
    {
        "it becomes AccumulateGrad": "Only a loss that is computed afterwards gets that entry.",
        "it stays (None, 0)": "A node is finished when its operation has run.",
    },
    right=(
        "it stays (None, 0)"
        if arrows(loss.grad_fn)[1] == (None, 0)
        else "it becomes AccumulateGrad"
    ),
)

# %% slot-run tags=["hide-output"]
print("Torch's answer:")
y.requires_grad_()
new_loss = binary_cross_entropy_with_logits(x @ w + b, y)
print("old loss ->", arrows(loss.grad_fn))
print("new loss ->", arrows(new_loss.grad_fn))
y.requires_grad_(False)

# %% fan-out [markdown]
# ## Count edges and leaves
#
# What if a leaf is used more than once? In `v * v + v` it is used three times.


# %% fan-out-program
def fan_out(v):
    graph = gradviz.snapshot(v * v + v)
    into_leaf = [edge for edge in graph.edges if graph[edge.target].name == "AccumulateGrad"]
    return len(into_leaf), len(graph.leaves)


# %% fan-out-predict tags=["hide-input"]
# question
choose(
    "`v * v + v`: how many edges end in how many `AccumulateGrad` nodes?",
    {
        "3 edges in 3 nodes": "A leaf has one AccumulateGrad, however often it is used.",
        "3 edges in 1 node": "Each use is an edge; the gradients are added up in one place.",
        "1 edge in 1 node": "Each use sends a gradient of its own, so each use is an edge.",
    },
    right="{} edges in {} node{}".format(
        *(n := fan_out(torch.ones(2, requires_grad=True))), "" if n[1] == 1 else "s"
    ),
)

# %% fan-out-run tags=["hide-output"] claims=["X16"]
print("Torch's answer:")
edges, nodes = fan_out(v)
print(edges, "edges end in", nodes, "AccumulateGrad node")

# %% fan-out-show claims=["X16"]
out = v * v + v
gradviz.show(out)

# %% edge [markdown]
# ## Look at an edge
#
# **Heard in the wild, and half right:** "the nodes are functions and the edges are tensors." An
# edge is a pair, a node and a number. It does not hold the tensor that was passed along: here the
# tensor `h` is deleted, and the edge is still there.

# %% edge-run claims=["D9"]
h = v + 1
node_of_h = h.grad_fn
out = h + 1
watcher = weakref.ref(h)
del h
print("h is gone:       ", watcher() is None)
print("the edge is there:", out.grad_fn.next_functions[0] == (node_of_h, 0))

# %% node [markdown]
# ## Call a node
#
# **Heard in the wild, and half right:** "`binary_cross_entropy_with_logits` is an object of class
# `Function` that knows its forward and backward." It is a plain Python function. The object that
# knows the backward is the node in `loss.grad_fn`, and its class is
# `torch.autograd.graph.Node`. Older texts, and some official ones, say `Function`.

# %% node-kind claims=["C12", "C13", "E16"]
print("the loss is a", type(binary_cross_entropy_with_logits).__name__)
print("its node is a Node:    ", isinstance(loss.grad_fn, torch.autograd.graph.Node))
print("its node is a Function:", isinstance(loss.grad_fn, torch.autograd.Function))
print("its node has apply:    ", hasattr(loss.grad_fn, "apply"))

# %% node-call [markdown]
# A node can be called. Give it the gradient that arrives, and it returns the gradients that leave.
# For this loss you can check it by hand: the gradient of `z` is `(sigmoid(z) - y) / 3`.

# %% node-call-run claims=["C13", "E16"]
one = torch.tensor(1.0, device=device)
with torch.no_grad():
    by_node, for_y = loss.grad_fn(one)
    by_hand = (torch.sigmoid(z) - y) / 3
print("the same:", torch.allclose(by_node, by_hand), "  for y:", for_y)

# %% chain [markdown]
# ## Go from the root to a leaf
#
# Backward is no more than this: call the first node with 1, give what comes out to the next one,
# and go on until a leaf is reached. That is the chain rule, applied from the end; *reverse-mode*
# automatic differentiation.

# %% chain-program
p = torch.tensor(1.0, device=device, requires_grad=True)
out = (2 * p).exp()

# %% chain-predict tags=["hide-input"]
# question
choose(
    "In which order will backward run the nodes of `out = (2 * p).exp()`?",
    {
        "Mul, Exp, AccumulateGrad": "You computed in that order; backward starts at the root.",
        "Exp, Mul, AccumulateGrad": "What was computed last is differentiated first.",
        "AccumulateGrad, Mul, Exp": "AccumulateGrad writes the result, so it is the last one.",
    },
    right=", ".join(line.strip().removesuffix("Backward0") for line in walk((2 * p).exp().grad_fn)),
)

# %% chain-by-hand tags=["hide-output"] claims=["C29", "E15", "E16", "D8", "E13"]
print("Torch's answer:")
exp = out.grad_fn
mul = exp.next_functions[0][0]
accumulate = mul.next_functions[0][0]
with torch.no_grad():
    gradient = exp(torch.ones_like(out))
    print(f"Exp  gives {gradient.item():.4f}")
    gradient, for_the_2 = mul(gradient)
    print(f"Mul  gives {gradient.item():.4f}  and {for_the_2} for the constant")
    accumulate(gradient)
print(f"p.grad    {p.grad.item():.4f}")

# %% chain-backward [markdown]
# `backward()` does the same. Two hooks write down what passes: the gradient that arrives at a node
# and the one that leaves it. What was the output of the forward pass is where backward begins, and
# what was its input is where backward ends.

# %% chain-backward-run claims=["C29", "D8", "D10", "E13", "E15"]
log = []
for node in (exp, mul):
    node.register_hook(
        lambda leaving, arriving, node=node: log.append((node, arriving[0], leaving[0]))
    )
p.grad = None
out.backward()
for node, arriving, leaving in log:
    print(f"{type(node).__name__:13}arrives {arriving.item():8.4f}   leaves {leaving.item():8.4f}")
print(f"p.grad       {p.grad.item():.4f}")

# %% repair [markdown]
# ## Repair a broken program
#
# Training runs, the loss is a number, nothing raises; but `w` never learns. Look at the graph:
# what is missing?

# %% repair-broken
scores = torch.tensor((x @ w).tolist(), device=device)
loss = ((scores + b - y) ** 2).mean()
gradviz.show(loss)

# %% repair-predict tags=["hide-input"]
# question
choose(
    "Where was the graph cut?",
    {
        "at x @ w": "That product was recorded: (x @ w).grad_fn is there.",
        "at .tolist()": "A list holds plain numbers, and torch.tensor() makes a new leaf.",
        "at ** 2": "PowBackward0 is in the picture, so the square was recorded.",
    },
    right=(
        "at .tolist()"
        if (x @ w).grad_fn is not None and torch.tensor((x @ w).tolist()).grad_fn is None
        else "at x @ w"
    ),
)

# %% repair-ask [markdown]
# **Your turn.** Change the first line so that the graph reaches `w`.

# %% repair-try
scores = torch.tensor((x @ w).tolist(), device=device)

loss = ((scores + b - y) ** 2).mean()
reached = sorted(leaf.name for leaf in gradviz.snapshot(loss, names={"w": w, "b": b}).leaves)
print(
    "repaired: the graph ends in" if reached == ["b", "w"] else "not yet: the graph ends in",
    reached,
)

# %% repair-solution [markdown]
# The next cell holds a solution. Click its `…` to open it, or press
# <kbd>Shift</kbd>+<kbd>Enter</kbd> here and then <kbd>Enter</kbd>.

# %% repair-solution-run tags=["hide-input"]
# solution
scores = x @ w  # stay in torch: no list, no .item(), no numpy between input and loss

loss = ((scores + b - y) ** 2).mean()
print(
    "leaves:", sorted(leaf.name for leaf in gradviz.snapshot(loss, names={"w": w, "b": b}).leaves)
)

# %% order [markdown]
# ## True or false?
#
# **Heard in the wild:** "The calculation runs `x`, `w` → `b` → `z` → `y` → `loss`."
#
# If it did, there would be a way from `y` back to `z`, and from `z` back to `b` and on to `w`. Ask
# the graph with all four switched on: a path for each leaf.


# %% order-run claims=["C40"] refutes=["C40"]
def paths(node, so_far=()):
    here = (*so_far, type(node).__name__.split("Backward")[0])
    if hasattr(node, "variable"):
        name = next(name for name, t in four.items() if t is node.variable)
        print(f"{name}:", " <- ".join((*here[:-1], name)))
    for following, _ in node.next_functions:
        if following is not None:
            paths(following, here)


four = {name: t.detach().clone().requires_grad_() for name, t in zip("xywb", (x, y, w, b))}
z = four["x"] @ four["w"] + four["b"]
loss = binary_cross_entropy_with_logits(z, four["y"])
paths(loss.grad_fn)

# %% order-show refutes=["C40"]
gradviz.show(loss, names=four)

# %% order-explain [markdown]
# **False.** `b` does not come between `w` and `z`: `b` and the product meet in the addition, side
# by side. `y` does not follow `z`: the two meet in the loss. A calculation is a graph because
# several ways run together; written as one line, that is lost.

# %% exercise [markdown]
# ## On your own
#
# `x` has shape (5,), and `w` and `b` require grad. Write the walk over `(x @ w + b).relu().sum()`:
# the names in order, without `Backward0`, separated by blanks.


# %% exercise-try
def check_walk(my_walk):
    nodes = [line.strip() for line in walk((x @ w + b).relu().sum().grad_fn)]
    names = [name.split("Backward")[0] for name in nodes]
    right = sum(m == t for m, t in zip(my_walk.split(), names))
    print(right, "of", len(names), "right")


check_walk("Sum ? ? ? ? ? ?")

# %% exercise-solution tags=["hide-input"]
# solution
check_walk("Sum Relu Add Squeeze Mm AccumulateGrad AccumulateGrad")

# %% construct [markdown]
# Now build one: an `out` with a single leaf in its graph, and *four* edges that end in it.

# %% construct-try
q = torch.ones(2, device=device, requires_grad=True)
out = (q * q).sum()

graph = gradviz.snapshot(out)
ends = sum(graph[edge.target].name == "AccumulateGrad" for edge in graph.edges)
print("leaves:", len(graph.leaves), "  edges into them:", ends)
print("done" if len(graph.leaves) == 1 and ends == 4 else "not yet")

# %% summary [markdown]
# ## In two sentences
#
# The graph that autograd keeps is made of nodes, recorded while the forward pass runs, only where
# a gradient has to travel. Each node points to the nodes of its inputs with `next_functions`, from
# the root down to one `AccumulateGrad` for each leaf.
#
# **Next:** [3. backward(): who gets a gradient?](03-who-gets-a-gradient.ipynb) sends a gradient
# along these nodes.
