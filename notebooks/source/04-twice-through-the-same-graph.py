# %% title [markdown]
# # 4. Twice through the same graph: what is thrown away?
#
# Call `backward()` a second time, and torch complains that saved tensors were freed. Then why does
# `x + 1` run backward three times without a word?
#
# **After it you can**
#
# - say before you run it whether a second backward works,
# - pass `retain_graph=True` to the call that needs it, and leave it out elsewhere,
# - read what a backward that failed has left behind.
#
# **You need** [lesson 3](03-who-gets-a-gradient.ipynb). About 15 minutes.

# %% setup-run
import contextlib

import torch
from lesson_tools import choose, tick

import gradviz

# %load_ext gradviz

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% recall [markdown]
# ## Recall: three things from lessons 1 to 3


# %% recall-keep tags=["hide-input"]
# question
def what_keeps_the_gradient():
    y = torch.ones(2, requires_grad=True)
    z = 2 * y
    z.retain_grad()
    z.sum().backward()
    return "z.retain_grad()" if z.grad is not None else "nothing"


choose(
    "`z` is a result. Which call, before backward, makes torch keep `z.grad`?",
    {
        "z.retain_grad()": "It asks torch to keep the gradient that passes.",
        "z.requires_grad_()": "z requires grad already; that did not help in lesson 3.",
        "backward(retain_graph=True)": "A similar name. It is about something else: this lesson.",
        "nothing": "There is one call that does.",
    },
    right=what_keeps_the_gradient(),
)


# %% recall-saved tags=["hide-input"]
# question
def what_exp_saves():
    (slot,) = gradviz.snapshot(torch.ones(2, requires_grad=True).exp())["n0"].saved
    return slot.name


choose(
    "A box of the graph can hold saved tensors. What does `ExpBackward0` hold?",
    {
        "self": "The input would do, but the derivative of exp is its own result.",
        "result": "The derivative of exp(x) is exp(x), which is there already.",
        "nothing": "Then exp would have to be computed again in backward.",
    },
    right=what_exp_saves(),
)


# %% recall-fan-out tags=["hide-input"]
# question
def grad_of_three_uses():
    v = torch.tensor(2.0, requires_grad=True)
    (v * v + v).backward()
    return f"{v.grad:.0f}"


choose(
    "`v` is 2, and three edges of `v * v + v` end in it. What is `v.grad` after backward?",
    {
        "1": "That is what the last edge brings. The other two bring 2 each.",
        "3": "There are three edges, but not each of them brings 1.",
        "5": "Three gradients arrive, 2 and 2 and 1, and they are added up.",
    },
    right=grad_of_three_uses(),
)

# %% twice [markdown]
# ## Do it twice
#
# The four numbers of lesson 3, summed. Backward is called twice in a row.


# %% twice-predict tags=["hide-input"]
# question
def call_twice():
    y = torch.ones(2, requires_grad=True)
    out = (2 * y).sum()
    out.backward()
    try:
        out.backward()
    except RuntimeError:
        return f"it raises, and y.grad is all {y.grad[0]:.0f}"
    return f"it works, and y.grad is all {y.grad[0]:.0f}"


choose(
    "`out = (2 * y).sum()`, then `out.backward()` twice. What does the second call do?",
    {
        "it works, and y.grad is all 2": "A second gradient would be added to the first.",
        "it works, and y.grad is all 4": "So it would be if nothing had been thrown away.",
        "it raises, and y.grad is all 2": "The first call did its work, the second one cannot.",
    },
    right=call_twice(),
)

# %% twice-run tags=["hide-output"] claims=["A24", "B16", "C37"]
print("Torch's answer:")
y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device, requires_grad=True)
try:
    with gradviz.record() as recording:
        out = (2 * y).sum()
        out.backward()
        out.backward()
except RuntimeError as error:
    print("the second call raised:", type(error).__name__)
    print("says what to do:       ", "retain_graph=True" in str(error))
print("y.grad:                ", y.grad.tolist())

# %% twice-show tags=["hide-output"] claims=["A24", "B16", "C37"]
print("Torch's answer:")
gradviz.show(recording)

# %% twice-watch [markdown]
# **Watch.** The player opens where it went wrong. Go to the first line and forward from there:
# `MulBackward0` has a pocket. In it is `other`, the number 2 as a tensor, which it needs in order
# to multiply. As soon as the node has run, the pocket is *freed*. The second time the node is
# there, its arrows are there, and the pocket is empty.
#
# The message says which remedy torch knows: `retain_graph=True`. Before you use it, see what it
# does.

# %% thrown [markdown]
# ## What is thrown away
#
# Two snapshots of the graph behind `out2`, from before and after one backward.


# %% thrown-program
def five():
    a = torch.tensor(2.0, device=device, requires_grad=True)
    b = torch.tensor(3.0, device=device, requires_grad=True)
    c = torch.tensor(5.0, device=device, requires_grad=True)
    out1 = a * b
    out2 = out1 + c
    return {"a": a, "b": b, "c": c, "out1": out1, "out2": out2}


def parts(tensors):
    """What the graph behind out2 is made of, and the five values."""
    graph = gradviz.snapshot(tensors["out2"], names=tensors)
    return {
        "the nodes": [node.name for node in graph.nodes],
        "the edges": list(graph.edges),
        "the values of the five tensors": [t.item() for t in tensors.values()],
        "the saved tensors": [slot.state for node in graph.nodes for slot in node.saved],
    }


# %% thrown-predict tags=["hide-input"]
# question
def lost_by_backward():
    tensors = five()
    before = parts(tensors)
    tensors["out2"].backward()
    after = parts(tensors)
    return [part for part in before if before[part] != after[part]]


tick(
    "Which of these are gone after `out2.backward()`?",
    {
        "the nodes": "They live as long as somebody holds out2.",
        "the edges": "next_functions is not touched.",
        "the values of the five tensors": "They belong to your tensors. Backward only reads them.",
        "the saved tensors": "What a node has saved is freed as soon as the node has run.",
    },
    right=lost_by_backward(),
)

# %% thrown-run tags=["hide-output"] claims=["A23", "C41", "D11"] refutes=["A23", "C41"]
print("Torch's answer:")
tensors = five()
before = parts(tensors)
tensors["out2"].backward()
after = parts(tensors)
for part in before:
    print(f"{part:32}", "the same" if before[part] == after[part] else "CHANGED")
print("saved tensors before and after: ", before["the saved tensors"], after["the saved tensors"])

# %% thrown-show tags=["hide-output"] refutes=["A23", "C41"]
print("Torch's answer:")
gradviz.show(tensors["out2"], names=tensors)

# %% thrown-explain [markdown]
# **Heard in the wild, and false:** "While it computes gradients, backward cuts the edges of the
# graph." And: "`backward()` erases the values of `x`, `w`, `b`, `z`, `y` and `loss`." Nothing is
# cut and no value is erased. What goes is what the *nodes* had saved.
#
# **In a sentence:** after `backward()` the graph is still there, with empty pockets.

# %% when [markdown]
# ## When is it thrown away?
#
# **Heard in the wild, and false:** "When the second backward runs, the saved values are freed."
# Then they would be there between the two calls. Look at the bytes that the graph holds, step by
# step:

# %% when-run claims=["C38"] refutes=["C38"]
x = torch.zeros(1024, device=device, requires_grad=True)
with gradviz.record() as recording:
    out = x.exp().tanh().sum()
    out.backward()
for step in recording:
    ran = step.graph[step.node].name if step.node else ""
    print(f"{step.kind:9}{ran:15}{step.saved_bytes:6} bytes saved")

# %% when-explain [markdown]
# They go *during the first* backward, node by node, and none is left at its end. A second call only
# finds them missing. That is the whole point: memory is given back while backward is still running.

# %% who [markdown]
# ## Who can go twice?
#
# A node that has saved nothing has nothing to lose. Here are eight operations on a vector `x`, each
# followed by a sum.


# %% who-program
def eight(x):
    return {
        "x + 1": x + 1,
        "x * 2": x * 2,
        "x * x": x * x,
        "x.exp()": x.exp(),
        "x.relu()": x.relu(),
        "x.view(2, 2)": x.view(2, 2),
        "x - x.mean()": x - x.mean(),
        "torch.cat([x, x])": torch.cat([x, x]),
    }


# %% who-times-program
def goes(how, times):
    """Whether backward runs so many times through one graph."""
    out = eight(torch.ones(4, device=device, requires_grad=True))[how].sum()
    try:
        for _ in range(times):
            out.backward()
    except RuntimeError:
        return False
    return True


# %% who-ask [markdown]
# **Predict.** Which numbers does the derivative need? Where it needs none, nothing is saved.

# %% who-predict tags=["hide-input"]
# question
tick(
    "Through which of these can backward go twice, without any switch?",
    {
        "x + 1": "The gradient is handed on as it is.",
        "x * 2": "The 2 is needed, and it was saved as a tensor.",
        "x * x": "x is needed: the derivative is 2 * x.",
        "x.exp()": "The result is needed: it is its own derivative.",
        "x.relu()": "The result is needed: the gradient passes where it is above 0.",
        "x.view(2, 2)": "Only the shape is needed, and a shape is no tensor.",
        "x - x.mean()": "The shape is all that a mean needs, and a difference needs a sign.",
        "torch.cat([x, x])": "Only the sizes of the pieces are needed.",
    },
    right=[how for how in eight(torch.ones(4)) if goes(how, times=2)],
)

# %% who-run tags=["hide-output"] claims=["A25", "C18", "C36"]
print("Torch's answer:")
for how, out in eight(torch.ones(4, device=device, requires_grad=True)).items():
    slots = [slot for node in gradviz.snapshot(out).nodes for slot in node.saved]
    saved = ", ".join(slot.name for slot in slots if slot.state == "held") or "nothing"
    print(f"{how:19}saves {saved:13}", "goes twice" if goes(how, times=2) else "raises")
print("x + 1 three times: ", goes("x + 1", times=3))

# %% who-explain [markdown]
# **Heard in the wild, and half right:**
#
# - "The graph is broken, so two backwards are impossible." The graph is whole. They are impossible
#   if a node on the way had saved a tensor.
# - "For performance reasons `backward()` can be called only once on a graph." The reason is memory,
#   and a graph that saved nothing runs again.
# - "*Only once* means: you cannot call it twice in a row." Half of the rows do.
#
# In practice nearly every loss saves something. But now you know what the error is about.

# %% retain [markdown]
# ## Keep the saved tensors
#
# `retain_graph=True` tells this one call not to free. **Predict.** `out2 = a * b + c`, with 2, 3
# and 5, and three times `out2.backward(retain_graph=True)`.


# %% retain-predict tags=["hide-input"]
# question
def grads_of_three_calls():
    tensors = five()
    for _ in range(3):
        tensors["out2"].backward(retain_graph=True)
    return ", ".join(f"{tensors[name].grad:.0f}" for name in "abc")


choose(
    "What are `a.grad`, `b.grad` and `c.grad` after the third call?",
    {
        "3, 2, 1": "These are the gradients of one call. AccumulateGrad adds.",
        "9, 6, 3": "Each call adds 3, 2 and 1.",
        "27, 8, 1": "Gradients of several calls are added, not multiplied.",
    },
    right=grads_of_three_calls(),
)

# %% retain-show tags=["hide-output"] claims=["A26"]
# %%gradviz --step 6
a = torch.tensor(2.0, device=device, requires_grad=True)
b = torch.tensor(3.0, device=device, requires_grad=True)
c = torch.tensor(5.0, device=device, requires_grad=True)
out1 = a * b
out2 = out1 + c
out2.backward(retain_graph=True)
out2.backward(retain_graph=True)
out2.backward(retain_graph=True)
print("Torch's answer:")

# %% retain-watch [markdown]
# **Watch.** The pockets of `MulBackward0` are full from the first step to the last, and so is the
# memory they hold. The gradients grow: 3, 6, 9 for `a`.
#
# Which call needs the switch? The flags below are those of the first call, the second, and so on.


# %% retain-when claims=["A27", "B17", "C39", "C43"]
def call(*flags):
    y = torch.ones(2, 2, device=device, requires_grad=True)
    out = (2 * y).sum()
    for number, flag in enumerate(flags, 1):
        try:
            out.backward(retain_graph=flag)
        except RuntimeError:
            return f"call {number} raises"
    return f"works, y.grad is all {y.grad[0, 0]:.0f}"


for flags in ((False, True), (True, False), (True, True, False), (True, False, True)):
    print(f"{flags!s:21}{call(*flags)}")

# %% retain-explain [markdown]
# **Heard in the wild, and half right:** "if backward is needed twice, set `retain_graph=True`." Set
# it on *every call but the last*. On the call that raised it comes too late.
#
# **Also half right:** "it keeps the intermediate values and the graph." It keeps the saved tensors,
# with the memory they take. The graph stays either way:


# %% retain-memory claims=["C42"]
def after_backward(retain_graph):
    x = torch.zeros(1024, 1024, device=device, requires_grad=True)
    out = x.exp().sum()
    out.backward(retain_graph=retain_graph)
    graph = gradviz.snapshot(out)
    slots = [slot for node in graph.nodes for slot in node.saved if slot.state == "held"]
    return len(graph.edges), sum(slot.nbytes for slot in slots) // 2**20


for flag in (False, True):
    edges, saved = after_backward(flag)
    print(f"retain_graph={flag!s:6} {edges} edges, {saved} MiB of saved tensors")

# %% half-way [markdown]
# ## A call that fails half-way
#
# This program stood in a tutorial, with the printed gradients 3, 2, 2, 1 that nobody could explain.
# Backward runs once. Then somebody asks to keep the gradient of `out1`, and tries again; the second
# call raises.


# %% half-way-predict tags=["hide-input"]
# question
def grads_after_failure():
    tensors = five()
    tensors["out2"].backward()
    tensors["out1"].retain_grad()
    with contextlib.suppress(RuntimeError):
        tensors["out2"].backward()
    grads = [tensors[name].grad for name in ("a", "b", "c", "out1")]
    return ", ".join("None" if grad is None else f"{grad:.0f}" for grad in grads)


choose(
    "After the failed call: `a.grad`, `b.grad`, `c.grad`, `out1.grad`?",
    {
        "3, 2, 1, None": "So it would be if a call that raises had done nothing.",
        "3, 2, 2, 1": "What came before the empty pocket was done, and it stays done.",
        "6, 4, 2, 1": "So it would be if the second call had gone all the way.",
    },
    right=grads_after_failure(),
)

# %% half-way-run tags=["hide-output"] claims=["A15"]
print("Torch's answer:")
try:
    with gradviz.record() as recording:
        a = torch.tensor(2.0, device=device, requires_grad=True)
        b = torch.tensor(3.0, device=device, requires_grad=True)
        c = torch.tensor(5.0, device=device, requires_grad=True)
        out1 = a * b
        out2 = out1 + c
        out2.backward()
        out1.retain_grad()
        out2.backward()
except RuntimeError as error:
    print("the second call raised:", type(error).__name__)
for name, t in {"a": a, "b": b, "c": c, "out1": out1}.items():
    print(f"{name:5}.grad {t.grad.item()}")

# %% half-way-show tags=["hide-output"] claims=["A15"]
print("Torch's answer:")
gradviz.show(recording)

# %% half-way-watch [markdown]
# **Watch** the second backward, from its first node. `AddBackward0` runs: it has no pocket. So `c`
# is given its second 1, and `out1`, on the way to the product, keeps a 1. Only then `MulBackward0`
# looks into its pockets, and there the call ends. Nothing is undone.
#
# **Heard in the wild, and half right:** "backward did not happen, so `a` has no gradient." It may
# have happened in part. In the next program `b` is overwritten (lesson 10 is about that), and
# backward raises:

# %% half-way-other claims=["B31"]
a = torch.ones(3, device=device, requires_grad=True)
d = torch.ones(3, device=device, requires_grad=True)
b = a.exp()
b.zero_()
try:
    (b.sum() + d.sum()).backward()
except RuntimeError as error:
    print("backward raised:", type(error).__name__)
print("a.grad:", a.grad, "  d.grad:", d.grad.tolist())

# %% half-way-explain [markdown]
# **In a sentence:** after an error in backward, do not trust any `.grad`: clear them all before you
# go on.

# %% what-if [markdown]
# ## What if?
#
# Backward runs twice through `a * b + a`. First say where `a.grad` comes from. Then take the switch
# off, and read what torch says, in its own words.


# %% what-if-explore
def again(a, b, retain_graph=False):
    out1 = a * b
    out2 = out1 + a
    out2.backward(retain_graph=retain_graph)
    out2.backward()
    return {"out1": out1, "out2": out2}


gradviz.explore(again, a=2.0, b=3.0, retain_graph=True)

# %% repair [markdown]
# ## Repair a broken program
#
# Two losses share a part of the graph. The second backward raised, somebody read the message, and
# put the switch on the call that had raised. It still raises.

# %% repair-broken
w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
try:
    with gradviz.record() as recording:
        trunk = w * w
        loss1 = trunk.sum()
        loss2 = (trunk + 1).sum()
        loss1.backward()
        loss2.backward(retain_graph=True)
except RuntimeError as error:
    print("the second backward raised:", type(error).__name__)
gradviz.show(recording)

# %% repair-predict tags=["hide-input"]
# question
choose(
    "Which node found its pocket empty?",
    {
        "SumBackward0": "Each loss has one of its own, and a sum saves no tensor.",
        "AddBackward0": "Only loss2 goes through it, and an addition saves no tensor.",
        "MulBackward0": "Both losses go through the trunk. The first one emptied it.",
    },
    right=recording.graph[recording.at_error.events[-1].node].name,
)

# %% repair-ask [markdown]
# **Your turn.** Change the first line so that both calls work, and no more is kept than is needed.

# %% repair-try
first, second = False, True  # retain_graph of the first call, and of the second

w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
trunk = w * w
loss1, loss2 = trunk.sum(), (trunk + 1).sum()
try:
    loss1.backward(retain_graph=first)
    loss2.backward(retain_graph=second)
    full = any(node.state == "holds" for node in gradviz.snapshot(loss2).nodes)
    print("not yet: the pockets are still full" if full else f"repaired: {w.grad.tolist()}")
except RuntimeError:
    print("not yet: a call raised")

# %% repair-solution [markdown]
# The next cell holds a solution. Click its `…` to open it, or press
# <kbd>Shift</kbd>+<kbd>Enter</kbd> here and then <kbd>Enter</kbd>.

# %% repair-solution-run tags=["hide-input"]
# solution
first, second = True, False

# Better, if you need no more than the sum: one backward, no switch, and the trunk runs once.
w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
trunk = w * w
(trunk.sum() + (trunk + 1).sum()).backward()
print("w.grad:", w.grad.tolist())

# %% repair-fresh [markdown]
# You may also read that gradient accumulation or clipping needs the switch. It does not: each
# forward pass makes a new graph, and clipping does not touch the graph at all.

# %% repair-fresh-run
w.grad = None
for sample in (1.0, 2.0):
    loss = (w * sample).square().sum()  # a new graph each time
    loss.backward()
print("w.grad:", w.grad.tolist())
torch.nn.utils.clip_grad_norm_([w], max_norm=1.0)
print("norm after clipping:", round(w.grad.norm().item(), 4))

# %% restore [markdown]
# ## True or false?
#
# **Heard in the wild:** "`retain_graph=True` restores the graph that vanished after the gradients
# were computed, and it does not touch stored gradients."
#
# If it restored anything, it would help on the second call. If it touched no gradient, `y.grad`
# would be the same after two calls as after one.

# %% restore-run claims=["C55"] refutes=["C55"]
y = torch.ones(2, 2, device=device, requires_grad=True)
out = (2 * y).sum()
out.backward()
print("snapshot after backward: ", [n.state for n in gradviz.snapshot(out).nodes][:2])
try:
    out.backward(retain_graph=True)
except RuntimeError as error:
    print("retain_graph=True now:   ", type(error).__name__)
print("one call that retains:   ", call(True))
print("two calls that retain:   ", call(True, True))

# %% restore-explain [markdown]
# **False,** twice. The switch prevents the freeing and restores nothing: what is freed can only
# come back by running forward again. And every backward adds to `.grad`, with the switch or
# without.

# %% exercise [markdown]
# ## On your own
#
# `w` is (1, 2). There are two losses, `h.sum()` and `(h + 1).sum()`, and backward runs from each.
# Once `h` is the product `w * w`, once it is the sum `w + w`. For both, say whether
# `retain_graph=True` is needed (`yes` or `no`), and the two numbers of `w.grad` at the end.


# %% exercise-try
def check_two_losses(**answers):
    for name, mine in answers.items():
        w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
        h = w * w if name == "product" else w + w
        needed = any(node.state == "holds" for node in gradviz.snapshot(h).nodes)
        h.sum().backward(retain_graph=needed)
        (h + 1).sum().backward()
        truth = ["yes" if needed else "no", *(f"{number:g}" for number in w.grad.tolist())]
        print(f"{name}:", [m == t for m, t in zip(mine.split(), truth)].count(True), "of 3 right")


check_two_losses(product="? ? ?", sum="? ? ?")

# %% exercise-solution tags=["hide-input"]
# solution
check_two_losses(product="yes 4 8", sum="no 4 4")

# %% construct [markdown]
# Now build one: an `out` with at least five nodes, the `AccumulateGrad` included, through which
# backward goes twice without any switch.

# %% construct-try
x = torch.ones(4, device=device, requires_grad=True)
out = (x * 3).exp().sum()

nodes = len(gradviz.snapshot(out).nodes)
try:
    out.backward()
    out.backward()
    twice = True
except RuntimeError:
    twice = False
print("nodes:", nodes, "  goes twice:", twice)
print("done" if twice and nodes >= 5 else "not yet")

# %% summary [markdown]
# ## In two sentences
#
# Backward leaves nodes, edges and your tensors alone, and frees what each node had saved as soon as
# it has run; so a second backward fails at the first empty pocket, and what it did before stays
# done. `retain_graph=True` on a call keeps the pockets full, at the price of their memory, for one
# more call.
#
# **Next:** [5. Gradients add up](05-gradients-add-up.ipynb), as every call so far has done with
# `.grad`.
