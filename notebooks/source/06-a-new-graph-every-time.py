# %% title [markdown]
# # 6. A new graph every time: loops, branches, two losses, a leak
#
# A training loop makes a graph in every pass. By which line? And when does the old one go? If you
# know both, you know why a loop with an `if` in it can be differentiated, and why memory sometimes
# grows until the program dies.
#
# **After it you can**
#
# - point at the line that makes a graph, and at the line that lets it go,
# - say what the graph of a loop or of a branch will be,
# - run backward for two losses without guessing at `retain_graph`,
# - find the line that keeps every graph alive.
#
# **You need** lessons [4](04-twice-through-the-same-graph.ipynb) and
# [5](05-gradients-add-up.ipynb). About 20 minutes.

# %% setup-run
import weakref

import torch
from lesson_tools import choose, tick
from torch import nn

import gradviz

# %load_ext gradviz

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% recall [markdown]
# ## Recall: three things from lessons 2, 4 and 5


# %% recall-when tags=["hide-input"]
# question
def when_is_it_there():
    w = torch.ones(1, requires_grad=True)
    z = w * 2
    return "while w * 2 is computed" if z.grad_fn is not None else "while backward runs"


choose(
    "`z = w * 2`, then `z.backward()`. When is the node `MulBackward0` made?",
    {
        "while w * 2 is computed": "The result comes with its grad_fn.",
        "while backward runs": "Backward uses nodes that are there already.",
    },
    right=when_is_it_there(),
)


# %% recall-left tags=["hide-input"]
# question
def what_is_left():
    w = torch.ones(1, requires_grad=True)
    z = w.exp()
    node = z.grad_fn
    z.backward()
    left = ["the node"] if z.grad_fn is node else []
    left += ["its arrow to AccumulateGrad"] if node.next_functions[0][0] is not None else []
    try:
        node._saved_result
        left.append("its saved tensor")
    except RuntimeError:
        pass
    return left


tick(
    "`z = w.exp()`, then `z.backward()`. What is left of `ExpBackward0` while `z` lives?",
    {
        "the node": "z.grad_fn holds it.",
        "its arrow to AccumulateGrad": "Backward frees saved tensors, and no arrows.",
        "its saved tensor": "It was freed when the node had run.",
    },
    right=what_is_left(),
)


# %% recall-adds tags=["hide-input"]
# question
def grad_of_two_losses():
    w = torch.ones(1, requires_grad=True)
    (2 * w).backward()
    (5 * w).backward()
    return f"{w.grad.item():g}"


choose(
    "`(2 * w).backward()`, then `(5 * w).backward()`. What is `w.grad`?",
    {
        "2": "The second backward writes too.",
        "5": "The second backward adds to what is there.",
        "7": "Two graphs, one leaf: every backward adds to its .grad.",
    },
    right=grad_of_two_losses(),
)

# %% life [markdown]
# ## Watch a graph come and go
#
# A loop with two passes, and two lines in each. **Predict.** In the second pass the graph of the
# first one is no longer of use.


# %% life-predict tags=["hide-input"]
# question
def where_the_old_one_goes():
    w = torch.ones(1, requires_grad=True)
    loss = w * w + 1
    loss.backward()
    old = weakref.ref(loss)
    if old() is None:
        return "at loss.backward(), in the first pass"
    loss = w * w + 1
    return "at loss = ..." if old() is None else "at loss.backward(), in the second pass"


choose(
    "Which line lets the graph of the first pass go?",
    {
        "at loss.backward(), in the first pass": "It frees saved tensors. The nodes stay.",
        "at loss = ...": "Only the name loss held it, and now the name means the new one.",
        "at loss.backward(), in the second pass": "The old one is gone by then.",
    },
    right=where_the_old_one_goes(),
)

# %% life-show tags=["hide-output"] claims=["E19"]
# %%gradviz --step 8
w = torch.tensor(3.0, device=device, requires_grad=True)
for _ in range(2):
    loss = w * w + 1
    loss.backward()
print("Torch's answer:")

# %% life-watch [markdown]
# **Watch.** The player opens after the first pass. When line 4 has run for the second time, two new
# nodes are there, and the two of the first pass are gone. One box takes part in both passes: the
# leaf `w` with its `AccumulateGrad`.
#
# **In a sentence:** forward makes the graph, node by node; it lives as long as somebody holds its
# end, here the name `loss`.
#
# **Heard in the wild, and half right:** "the graph is made from scratch; after each `backward()`
# autograd starts to fill a new one." The first half is right. But backward starts nothing:


# %% life-run claims=["C34", "E19"]
def accumulator(node):
    while node.next_functions:
        node = node.next_functions[0][0]
    return node


w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
first, second = (w * 2).sum(), (w * w).sum()  # two graphs, and no backward yet
print("two graphs:           ", first.grad_fn is not second.grad_fn)
same = accumulator(first.grad_fn) is accumulator(second.grad_fn)
print("one AccumulateGrad:   ", same)
second.backward()
first.backward()
print("in any order:  w.grad ", w.grad.tolist())
later = first * 3  # after backward, and still the old graph is continued
print("continues the old one:", later.grad_fn.next_functions[0][0] is first.grad_fn)

# %% life-peak [markdown]
# One more thing happens inside line 4. While its *right* side runs for the second time, the name
# `loss` still means the old loss, with its whole graph. For a moment there are two. `del loss` at
# the end of a pass avoids that.


# %% life-peak-run claims=["E19"]
def is_old_one_there(with_del):
    w = torch.ones(1, device=device, requires_grad=True)
    loss = w * w + 1
    old = weakref.ref(loss)
    if with_del:
        del loss

    def forward():
        return w * w + 1, old() is not None

    loss, was_there = forward()
    return was_there


print("while forward runs again, the old one is there:", is_old_one_there(with_del=False))
print("the same with del loss before it:              ", is_old_one_there(with_del=True))

# %% loop [markdown]
# ## Unroll a loop
#
# The graph is recorded while your code runs. So it knows no loops: each turn leaves nodes of its
# own. That is why the number of turns may change from pass to pass, and shapes and operations too.


# %% loop-program
def power(w, turns=3):
    y = w
    for _ in range(turns):
        y = y * w
    return y


def count_nodes(result):
    return len(gradviz.snapshot(result).nodes)


# %% loop-predict tags=["hide-input"]
# question
choose(
    "`y = w`, then five turns of `y = y * w`. How many nodes does the graph of `y` have?",
    {
        "2": "That would be one MulBackward0 for all five turns. But every turn leaves one.",
        "5": "One more: the AccumulateGrad of w.",
        "6": "Five MulBackward0, one for each turn, and one AccumulateGrad.",
        "10": "w is used six times, but it has one AccumulateGrad.",
    },
    right=count_nodes(power(torch.tensor(2.0, requires_grad=True), turns=5)),
)

# %% loop-run tags=["hide-output"] claims=["C35"]
print("Torch's answer:")
for turns in (1, 2, 5):
    w = torch.tensor(2.0, device=device, requires_grad=True)
    y = power(w, turns)
    print(f"turns {turns}   nodes {count_nodes(y)}", end="")
    y.backward()
    print(f"   y = {y.item():g}   w.grad = {w.grad.item():g}")

# %% loop-while [markdown]
# How often a `while` turns may depend on the numbers themselves. Another shape in each pass is
# no trouble either:

# %% loop-while-run claims=["C35", "E20"]
w = torch.tensor(2.0, device=device, requires_grad=True)
for limit in (3, 5, 9):
    y = w
    while y < limit:
        y = y * w
    (gradient,) = torch.autograd.grad(y, w)
    print(f"while y < {limit}: y = {y.item():g}", end="")
    print(f"   gradient {gradient.item():g}   nodes {count_nodes(y)}")
for size in (1, 10, 1000):
    (gradient,) = torch.autograd.grad((torch.ones(size, device=device) * w).sum(), w)
    print(f"{size:4} numbers: gradient {gradient.item():g}")

# %% loop-what-if [markdown]
# **What if?** Change the number and the turns. Say before each change what the graph will be.

# %% loop-explore
gradviz.explore(power, w=2.0, turns=3)

# %% branch [markdown]
# ## Take a branch
#
# What you run is what you differentiate. An `if` leaves no node: only the branch that was taken is
# in the graph.


# %% branch-run claims=["E21"]
def branch(x):
    return 3 * x if x > 0 else x**2


for number in (1.0, -1.0):
    x = torch.tensor(number, device=device, requires_grad=True)
    out = branch(x)
    print(f"x = {number:4}: {out.grad_fn.name()}", end="")
    out.backward()
    print(f"   x.grad = {x.grad.item():g}")

# %% branch-where [markdown]
# `torch.where` looks like an `if`, and is none: it gets *both* sides, computed, and chooses between
# the numbers. **Predict.** The root of 0 is 0, but there the slope of the root is infinite.


# %% branch-predict tags=["hide-input"]
# question
def gradient_at_zero():
    x = torch.tensor(0.0, requires_grad=True)
    torch.where(x > 0, x.sqrt(), 0.0).backward()
    return str(x.grad.item())


choose(
    "`x` is 0, and `out = torch.where(x > 0, x.sqrt(), 0.0)`. After backward, `x.grad` is",
    {
        "0.0": "The side with the 0 is chosen. But the other side is in the graph as well.",
        "inf": "The slope of the root there is inf. But it is multiplied by something.",
        "nan": "The root gets a gradient of 0, and 0 times infinity is nan.",
    },
    right=gradient_at_zero(),
)

# %% branch-show tags=["hide-output"] claims=["E21"]
# %%gradviz --step 4
x = torch.tensor(0.0, device=device, requires_grad=True)
root = x.sqrt()
out = torch.where(x > 0, root, 0.0)
out.backward()
print("Torch's answer:")

# %% branch-watch [markdown]
# **Watch** backward. `WhereBackward0` sends 0 to the side that was not chosen, and `SqrtBackward0`
# makes a nan of it.
#
# The fix is to keep the dangerous number away from the function, not from the result:

# %% branch-safe claims=["E21"]
x = torch.tensor([4.0, 0.0], device=device, requires_grad=True)
safe = torch.where(x > 0, x, 1.0)
torch.where(x > 0, safe.sqrt(), 0.0).sum().backward()
print("x.grad:", x.grad.tolist())

# %% losses [markdown]
# ## Two losses
#
# Two heads on one trunk: `h` is computed once, and used by two losses.


# %% losses-program
def outcome(shared, run):
    w = nn.Parameter(torch.tensor([1.0, 2.0], device=device))
    h = w * w
    other = h if shared else w * w
    try:
        run(w, h.sum(), (3 * other).sum())
        return [round(v, 2) for v in w.grad.tolist()]
    except RuntimeError as error:
        was_changed = "modified by an inplace operation" in str(error)
        return "error: w was changed" if was_changed else "error: w was freed"


def separate(w, loss1, loss2, retain_graph=False):
    loss1.backward(retain_graph=retain_graph)
    loss2.backward()


# %% losses-program-more
def separate_with_step(w, loss1, loss2):
    loss1.backward(retain_graph=True)
    torch.optim.SGD([w], lr=0.1).step()
    loss2.backward()


WAYS = {
    "one after the other": separate,
    "the first with retain_graph": lambda w, *losses: separate(w, *losses, retain_graph=True),
    "their sum": lambda w, *losses: sum(losses).backward(),
    "a step in between": separate_with_step,
}

# %% losses-predict tags=["hide-input"]
# question
tick(
    "`h = w * w`, `loss1 = h.sum()`, `loss2 = (3 * h).sum()`. Which ways run without an error?",
    {
        "one after the other": "The first backward frees w, saved for h, and the second needs it.",
        "the first with retain_graph": "The first call keeps what the second one needs.",
        "their sum": "One backward: the node of h runs once, with the sum of both gradients.",
        "a step in between": "step writes w in place, and w is what was saved for h.",
    },
    right=[name for name, way in WAYS.items() if isinstance(outcome(True, way), list)],
)

# %% losses-run tags=["hide-output"] claims=["C44"]
print("Torch's answer:")
for shared in (True, False):
    print("the losses share h" if shared else "each loss has an h of its own")
    for name, way in WAYS.items():
        print(f"  {name:29}{outcome(shared, way)}")

# %% losses-show claims=["C44"]
# %%gradviz --step 5 --hide formula
w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
h = w * w
loss1 = h.sum()
loss2 = (3 * h).sum()
loss1.backward(retain_graph=True)
loss2.backward()

# %% losses-watch [markdown]
# **Watch.** The `MulBackward0` of `h = w * w` runs in both backwards. The first leaves `w` in its
# pockets, since it was told to, and the second empties them. `w.grad` is added to twice. Now the
# sum:

# %% losses-sum-show claims=["C44"]
# %%gradviz --step 4 --hide formula
w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
h = w * w
loss = h.sum() + (3 * h).sum()
loss.backward()

# %% losses-explain [markdown]
# One backward. At `h` two gradients meet, 1 and 3; the node of `h` waits for both, and runs once,
# with 4. The gradient of `w` is the same.
#
# **Heard in the wild, and half right:** "for several losses use `retain_graph=True`." Only if they
# share saved tensors, and the sum is the better way even then: the trunk runs once.

# %% leak [markdown]
# ## Find the leak
#
# Somebody wants to print the mean loss of five passes, and adds up. **Predict** what hangs on
# `total` in the end.


# %% leak-program
def five_losses(add, backward=True):
    w = torch.tensor(2.0, device=device, requires_grad=True)
    total = 0.0
    for _ in range(5):
        loss = w * w + 1
        if backward:
            loss.backward()
        total = add(total, loss)
    return total


def what_is_alive(total):
    if not isinstance(total, torch.Tensor) or total.grad_fn is None:
        return 0, 0
    nodes = gradviz.snapshot(total).nodes
    return len(nodes), sum(slot.state == "held" for node in nodes for slot in node.saved)


# %% leak-predict tags=["hide-input"]
# question
choose(
    "`total = total + loss`, five times, with a `loss.backward()` in each pass. What hangs on it?",
    {
        "nothing": "Backward frees saved tensors only, and total has a grad_fn.",
        "the last graph": "The sum of before is an input of the new sum.",
        "the nodes of all five graphs": "Each addition points to the one before, and to a loss.",
        "all five graphs with their saved tensors": "Backward has freed those, one by one.",
    },
    right=(
        "the nodes of all five graphs"
        if what_is_alive(five_losses(torch.add))[0] > 5
        and what_is_alive(five_losses(torch.add))[1] == 0
        else "nothing"
    ),
)

# %% leak-run tags=["hide-output"] claims=["X10"]
print("Torch's answer:")
ADD = {
    "total + loss": lambda total, loss: total + loss,
    "total + loss.detach()": lambda total, loss: total + loss.detach(),
    "total + loss.item()": lambda total, loss: total + loss.item(),
}
for backward in (False, True):
    print("with backward:" if backward else "without backward:")
    for how, add in ADD.items():
        nodes, saved = what_is_alive(five_losses(add, backward))
        print(f"  {how:24}{nodes:3} nodes alive, {saved:2} saved tensors held")

# %% leak-show claims=["X10"]
# %%gradviz --step -2 --hide formula
w = torch.tensor(3.0, device=device, requires_grad=True)
total = 0.0
for _ in range(3):
    loss = w * w + 1
    loss.backward()
    total = total + loss

# %% leak-watch [markdown]
# **Watch** the graph. The player opens at the end; go back, and see the chain get shorter. In the
# first section the old nodes went when `loss` got a new value. Here they stay: the `AddBackward0`
# of `total` holds them. With 3 passes that is nothing; with 100,000 it is the end.
#
# A list does the same: `losses.append(loss)` keeps every graph. And without backward, as in a
# validation loop that forgot `torch.no_grad()`, the saved tensors stay as well.
#
# **In a sentence:** whatever outlives a pass should be a number, or detached.

# %% repair [markdown]
# ## Repair a broken program
#
# A *state* `h` is handed from one pass to the next, as in a recurrent network. The second pass
# fails. The player opens where it happened.

# %% repair-broken
u = torch.tensor(0.5, device=device, requires_grad=True)
try:
    with gradviz.record() as recording:
        h = torch.zeros((), device=device)
        for x in (1.0, 2.0):
            h = u * h + x
            loss = h * h
            loss.backward()
except RuntimeError as error:
    print("backward raised", type(error).__name__)
gradviz.show(recording)


# %% repair-watch [markdown]
# **Watch.** The second backward begins with the new nodes. Then it follows `h` into those of the
# first pass, and there `MulBackward0` finds its pockets empty.


# %% repair-program
def run_states(hand_over, passes=4, retain_graph=False):
    """The number of nodes that each backward goes through."""
    u = torch.tensor(0.5, device=device, requires_grad=True)
    h = torch.zeros((), device=device)
    sizes = []
    for _ in range(passes):
        h = u * h + 1
        loss = h * h
        sizes.append(count_nodes(loss))
        loss.backward(retain_graph=retain_graph)
        h = hand_over(h)
    return sizes


# %% repair-predict tags=["hide-input"]
# question
def growth():
    sizes = run_states(torch.clone, retain_graph=True)
    return "grows" if sizes == sorted(set(sizes)) else "is the same"


choose(
    "Someone adds `retain_graph=True`. The error goes. The work of each backward, in nodes,",
    {
        "is the same": "It would be, if each pass began with a new state.",
        "grows": "h leads into all earlier passes, and each backward does them again.",
    },
    right=growth(),
)

# %% repair-run tags=["hide-output"] claims=["X11"]
print("Torch's answer:")
print("h as it is, with retain_graph:", run_states(torch.clone, retain_graph=True))
print("h.detach(), no flag:          ", run_states(torch.detach))

# %% repair-ask [markdown]
# **Your turn.** In the first line, `clone` hands over the state together with its graph. Change it.

# %% repair-try
hand_over = torch.clone

try:
    print("repaired:", run_states(hand_over))
except RuntimeError as error:
    print("not yet:", type(error).__name__)

# %% repair-solution [markdown]
# The next cell holds a solution. Click its `…` to open it, or press
# <kbd>Shift</kbd>+<kbd>Enter</kbd> here and then <kbd>Enter</kbd>.

# %% repair-solution-run tags=["hide-input"]
# solution
hand_over = torch.detach
# The state goes on, its history does not: *truncated* back propagation through time. Whoever needs
# some history detaches every 10 or 50 passes, and calls backward once for the sum of their losses.

print(run_states(hand_over))

# %% repair-cost [markdown]
# Cutting has a price: the gradient is another one. Here is one backward for the last loss of four
# passes, with a cut after so many of them:


# %% repair-cost-run claims=["X11"]
def gradient_with_cut_after(cut):
    u = torch.tensor(0.5, device=device, requires_grad=True)
    h = torch.ones((), device=device)
    for number in range(1, 5):
        h = u * h + 1
        if number == cut:
            h = h.detach()
    (h * h).backward()
    return f"{u.grad.item():g}"


for cut in (0, 1, 2, 3):
    print("no cut:     " if cut == 0 else f"cut after {cut}:", gradient_with_cut_after(cut))

# %% new-data [markdown]
# ## True or false?
#
# **Heard in the wild:** "In a training loop `retain_graph` is not needed, because `X` and `y` are
# defined anew in each pass, and so the graph is new."
#
# Then a loop with one and the same `X` should fail, and one with a new `X` should run. Let torch
# answer.

# %% new-data-run claims=["C51"] refutes=["C51"]
w = torch.tensor(2.0, device=device, requires_grad=True)
X = torch.tensor(3.0, device=device)
for _ in range(3):
    loss = (w * X) ** 2
    loss.backward()
print("same X, forward in the loop:    three backwards, no error")

try:
    with gradviz.record() as recording:
        loss = (w * X) ** 2
        for _ in range(3):
            X = torch.tensor(3.0, device=device)
            loss.backward()
except RuntimeError as error:
    print("new X, forward before the loop:", type(error).__name__)

# %% new-data-show refutes=["C51"]
gradviz.show(recording)

# %% new-data-explain [markdown]
# **False.** The second backward fails, at the node that saved a tensor for the square. The new `X`
# has nothing to do with the graph: nothing leads to it. A graph is made when the forward *runs*,
# with old data or new. So if a loop stops with "backward through the graph a second time", look
# for a forward, or a state, that was computed outside of it.

# %% exercise [markdown]
# ## On your own
#
# `w` is 2 and requires grad. `y = w`, then `while y < 20: y = y * w`. Write three numbers, with
# blanks between them: `y`, the gradient `w.grad` after `y.backward()`, and the number of nodes in
# the graph of `y`.


# %% exercise-try
def check_while(mine):
    w = torch.tensor(2.0, device=device, requires_grad=True)
    y = w
    while y < 20:
        y = y * w
    nodes = count_nodes(y)
    y.backward()
    truth = [f"{y.item():g}", f"{w.grad.item():g}", str(nodes)]
    print(sum(m == t for m, t in zip(mine.split(), truth)), "of", len(truth), "right")


check_while("? ? ?")

# %% exercise-solution tags=["hide-input"]
# solution
check_while("32 80 5")

# %% construct [markdown]
# Now build one. `total` should be a *tensor* with the sum of the three losses, and no graph on it.
# Each loss should still reach `w`.

# %% construct-try
w = torch.tensor(2.0, device=device, requires_grad=True)
total = torch.zeros((), device=device)
for factor in (1, 2, 3):
    loss = factor * w
    loss.backward()
    total = total + loss

print("total:", total.item(), "  w.grad:", w.grad.item(), "  graph:", total.grad_fn is not None)
print("done" if (total, w.grad) == (12, 6) and total.grad_fn is None else "not yet")

# %% summary [markdown]
# ## In two sentences
#
# Forward makes a new graph whenever it runs, of just what ran; leaves and their `.grad` go on.
# The old graph goes when nobody holds its end any more, so let nothing that has a `grad_fn`
# outlive its pass.
#
# **Next:** [7. What forward keeps for backward](07-what-forward-keeps.ipynb) looks into the pockets
# of a graph, and counts.
