# %% title [markdown]
# # The ledger: statements about autograd, and torch's answer
#
# Sixty-nine statements that people read about autograd and that do not hold, or hold in part only.
# Each one is run here. A cell prints torch's answer, and an `assert` or a `check` fails if torch
# ever answers otherwise. To find a statement, search this page for one of its words.
#
# - **False**: torch does something else.
# - **Half true**: it holds in some cases, or for another reason.
# - **Out of date**: it held in an older torch.
# - **Not from this code**: what was printed is not what the code prints.
# - **Unfinished**: it breaks off.

# %% contents [markdown]
# ## Contents
#
# - [Flags and leaves](#Flags-and-leaves)
# - [What the graph is made of](#What-the-graph-is-made-of)
# - [Who gets a gradient](#Who-gets-a-gradient)
# - [Backward twice](#Backward-twice)
# - [Gradients in a training loop](#Gradients-in-a-training-loop)
# - [A new graph every time](#A-new-graph-every-time)
# - [What forward keeps](#What-forward-keeps)
# - [Switches](#Switches)
# - [Taking a value out](#Taking-a-value-out)
# - [Writing in place](#Writing-in-place)
# - [Parameters and optimizers](#Parameters-and-optimizers)
# - [What can be differentiated](#What-can-be-differentiated)

# %% setup-run
import contextlib
import weakref

import torch
from torch import nn

import gradviz
from gradviz import check

torch.set_default_device("cpu")  # NumPy reads the memory of the CPU


# %% setup-helpers
def leaf(*values):
    """A tensor of one dimension that requires grad."""
    return torch.tensor(values, requires_grad=True)


def works(attempt, *arguments):
    """Whether torch lets it run."""
    try:
        attempt(*arguments)
    except RuntimeError:
        return False
    return True


# %% leaf [markdown]
# ## Flags and leaves
#
# **False:** "If `a` and `b` do not require grad, the last place where `requires_grad` is `True`
# becomes the leaf." A tensor without `grad_fn` is a leaf, wherever it is made. Here the last one
# is the only one that is not a leaf. [Lesson 1](01-which-tensors-remember.ipynb)

# %% leaf-run claims=["A9"]
a, b, c = torch.tensor(2.0), torch.tensor(3.0), torch.tensor(5.0, requires_grad=True)
out1 = a * b
out2 = out1 + c
print(check.is_leaf(a, b, c, out1))
print(check.is_not_leaf(out2))

# %% default [markdown]
# **Half true:** "`requires_grad` is `False` by default, and `True` in what is wrapped in
# `nn.parameters()`." The wrapper is called `nn.Parameter`, and a buffer of a module stays `False`.
# [Leaves and flags](howto/leaves-and-flags.ipynb)

# %% default-run claims=["D19"]
plain, wrapped, norm = torch.ones(2), nn.Parameter(torch.ones(2)), nn.BatchNorm1d(2)
print("nn.parameters exists:", hasattr(nn, "parameters"))
print(check.requires_grad(wrapped, norm.weight))
print(check.does_not_require_grad(plain, norm.running_mean))
assert not hasattr(nn, "parameters")

# %% any [markdown]
# **Half true:** "If any input requires grad, all outputs get a grad function." Outputs of whole
# numbers get none.
#
# **Half true:** "Only if no input requires grad, the output does not either." The same outputs
# do not, though their input does; nor does anything that is computed under `no_grad`.
# [Leaves and flags](howto/leaves-and-flags.ipynb)

# %% any-run claims=["D20", "E4"]
w = leaf(3.0, 1.0, 2.0)
largest, place = w.max(dim=0)
place_again = w.argmax()
with torch.no_grad():
    doubled = w * 2
print(check.requires_grad(w, largest))
print(check.does_not_require_grad(place, place_again, doubled))

# %% row [markdown]
# **False:** "`torch.ones(n)` counts as a row of length *n*." It has one dimension, and is neither
# row nor column: it can stand on both sides of a matrix.
# [Leaves and flags](howto/leaves-and-flags.ipynb)

# %% row-run claims=["C8"]
x, matrix = torch.ones(5), torch.ones(5, 3)
print("shape of x:", tuple(x.shape))
print("x @ matrix:", tuple((x @ matrix).shape), "  matrix.T @ x:", tuple((matrix.T @ x).shape))
assert x.shape == (5,)
assert (x @ matrix).shape == (matrix.T @ x).shape == (3,)

# %% picture [markdown]
# ## What the graph is made of
#
# **Half true:** "The code of this layer defines a graph of `x`, `w`, `b`, `y` and the loss." torch
# records no node for `x` and `y`: they require no grad.
#
# **False:** "The calculation runs from `x` and `w` to `b`, then to `z`, `y` and the loss." Neither
# `b` nor `y` is computed from anything: each comes in from the side.
# [Lesson 2](02-reading-the-graph.ipynb)

# %% picture-run claims=["C9", "C40"]
x, y = torch.ones(2), torch.zeros(1)
w, b = torch.ones(2, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
z = x @ w + b
loss = nn.functional.binary_cross_entropy_with_logits(z, y)
print(check.gets_grad(loss, w, b))
print(check.no_path(loss, x, y))
print("b and y are computed from nothing:", b.grad_fn is None and y.grad_fn is None)
assert b.grad_fn is None
assert y.grad_fn is None

# %% all [markdown]
# **Half true:** "autograd keeps a record of the data and of all operations." Only of operations
# with an input that requires grad; and of the data only what a derivative needs, here the 7.
#
# **Half true:** "It records all operations that created the data, with the inputs as leaves." The
# `3` came in by two operations, and no node tells of it.
# [Nodes and edges](howto/nodes-and-edges.ipynb)

# %% all-run claims=["C28", "E14"]
w = leaf(2.0)
out = (torch.tensor(3.0) * 2 + 1) * w
graph = gradviz.snapshot(out)
print("three operations, recorded:", [node.name for node in graph.nodes])
print("kept of the data:", out.grad_fn._saved_self.item(), "and", out.grad_fn._saved_other)
assert [node.name for node in graph.nodes] == ["MulBackward0", "AccumulateGrad"]
assert out.grad_fn._saved_self == 7
assert out.grad_fn._saved_other is None

# %% records [markdown]
# **Half true:** "A tensor with `requires_grad=True` records every operation that is done with it."
# The record is in the *results*: `w` itself has no `grad_fn`. And some results have none.
# [Nodes and edges](howto/nodes-and-edges.ipynb)

# %% records-run claims=["C6"]
w = leaf(2.0)
results = {"w * 2": w * 2, "w > 0": w > 0, "w.detach()": w.detach()}
print("w.grad_fn:", w.grad_fn)
print("recorded:", [how for how, t in results.items() if t.grad_fn is not None])
assert w.grad_fn is None
assert [t.grad_fn is not None for t in results.values()] == [True, False, False]

# %% edge [markdown]
# **Half true:** "The nodes of the graph are functions, and its edges are tensors." An edge is a
# node and a number: it stays when its tensor is gone.
# [Nodes and edges](howto/nodes-and-edges.ipynb)

# %% edge-run claims=["D9"]
h = leaf(2.0) + 1
node, seen = h.grad_fn, weakref.ref(h)
out = h + 1
del h
print("the tensor is gone:", seen() is None)
print("the edge is there: ", out.grad_fn.next_functions[0] == (node, 0))
assert seen() is None
assert out.grad_fn.next_functions[0] == (node, 0)

# %% function [markdown]
# **Half true:** "The loss function is an object of class `Function` that knows forward and
# backward." It is a plain Python function. What knows the backward is the node that it leaves.
#
# **Half true:** "Inside there is a graph of `Function` objects that can be `apply()`-ed." The nodes
# of torch are *called*. Only a node of a Function of one's own has `apply`.
# [Nodes and edges](howto/nodes-and-edges.ipynb)

# %% function-run claims=["C12", "E16"]
loss = nn.functional.mse_loss(leaf(3.0), torch.ones(1))
print("mse_loss is a", type(nn.functional.mse_loss).__name__)
print("the node is a Node:    ", isinstance(loss.grad_fn, torch.autograd.graph.Node))
print("the node is a Function:", isinstance(loss.grad_fn, torch.autograd.Function))
handed_on, _ = loss.grad_fn(torch.tensor(1.0))
print("it has apply:", hasattr(loss.grad_fn, "apply"), "  called, it gives", handed_on.tolist())
assert not isinstance(nn.functional.mse_loss, type)
assert isinstance(loss.grad_fn, torch.autograd.graph.Node)
assert not isinstance(loss.grad_fn, torch.autograd.Function)
assert not hasattr(loss.grad_fn, "apply")

# %% address [markdown]
# **Not from this code:** "`z.grad_fn`, printed twice, has two addresses." In an old torch each look
# made a new wrapper. Now a node has one Python object as long as it exists.
# [Nodes and edges](howto/nodes-and-edges.ipynb)

# %% address-run claims=["B6"]
z = leaf(2.0) + 1
print("objects in 20 looks:", len({id(z.grad_fn) for _ in range(20)}))
assert len({id(z.grad_fn) for _ in range(20)}) == 1

# %% stored [markdown]
# ## Who gets a gradient
#
# **Half true:** "`requires_grad` means that the gradient will be stored." It means that operations
# are recorded. `out1` requires grad, and its gradient is not stored.
#
# **Half true:** "To save memory, gradients are stored only in the final leaf." In every leaf that
# requires grad; `k` is a leaf too, and gets none.
#
# **Half true:** "Backward accumulates the gradients in each tensor's `.grad`." In these leaves, and
# in tensors that were asked to retain it. [Lesson 3](03-who-gets-a-gradient.ipynb)

# %% stored-run claims=["A3", "A5", "C32"]
a, b, k = leaf(2.0), leaf(3.0), torch.ones(1)
out1 = a * b
out2 = out1 * k
out2.retain_grad()
out2.backward()
print(check.requires_grad(out1))
print(check.is_leaf(a, b, k))
grads = {"a": a.grad, "b": b.grad, "k": k.grad, "out2": out2.grad}
print({name: grad and grad.item() for name, grad in grads.items()})
assert list(grads.values()) == [3, 2, None, 1]
assert not out1.retains_grad

# %% adjusts [markdown]
# **Half true:** "Back propagation adjusts the parameters according to the gradient." Backward only
# fills `.grad`. The parameter changes in `step()`. [Lesson 3](03-who-gets-a-gradient.ipynb)

# %% adjusts-run claims=["C3"]
w = leaf(2.0)
optimizer = torch.optim.SGD([w], lr=0.1)
(w * 3).backward()
print("after backward:", w.item(), "  its gradient:", w.grad.item())
assert (w.item(), w.grad.item()) == (2, 3)
optimizer.step()
print("after step:    ", round(w.item(), 2))
assert abs(w.item() - 1.7) < 1e-6

# %% starts [markdown]
# **Half true:** "Backward starts when it is called on the root, the loss." It starts at any tensor
# that requires grad; one that is no scalar needs a gradient to begin with.
# [Start and end of backward](howto/start-and-end-of-backward.ipynb)

# %% starts-run claims=["C31"]
w = leaf(1.0, 2.0)
z = w * 3
loss = z.sum()
z.backward(torch.tensor([1.0, 10.0]))
print("from z, not from the loss:", w.grad.tolist())
print(check.grad_is(w, [3.0, 30.0]))

# %% others [markdown]
# **False:** "Only leaves that require grad have a gradient; those of other nodes cannot be had."
# They can, in three ways. [Watch gradients](howto/watch-gradients.ipynb)
#
# **False:** "To accumulate gradients in intermediate results, set `.retain_graph` to `True`." That
# makes an attribute that nobody reads. The method is `retain_grad()`.
# [Lesson 3](03-who-gets-a-gradient.ipynb)
#
# **Half true:** "A hook takes the gradient before it is thrown away." It may also *replace* it.
# [Watch gradients](howto/watch-gradients.ipynb)

# %% others-run claims=["C17", "D25", "A18"]
a = leaf(2.0)
kept, attribute, hooked = a * 3, a * 3, a * 3
loss = kept + attribute + hooked
(asked,) = torch.autograd.grad(loss, kept, retain_graph=True)
kept.retain_grad()
attribute.retain_graph = True
seen = []
hooked.register_hook(lambda gradient: seen.append(gradient.item()) or gradient * 10)
loss.backward()
print("retain_grad():", kept.grad.item(), "  autograd.grad:", asked.item(), "  hook:", seen)
print("retain_graph = True retains:", attribute.retains_grad)
print("with the hook a gets 3 + 3 + 30:", a.grad.item())
assert (kept.grad.item(), asked.item(), seen) == (1, 1, [1])
assert not attribute.retains_grad
assert a.grad.item() == 36

# %% cut [markdown]
# ## Backward twice
#
# **False:** "While it computes gradients, backward cuts the edges of the graph; that is the gain in
# memory." No edge is cut. The nodes let go of what they had saved.
#
# **False:** "`loss.backward()` erases the values of `w`, `z` and the loss." All three have the same
# numbers as before.
#
# **False:** "When the *second* backward runs, the saved values are freed." The first has done it.
# [Freed and retained](howto/freed-and-retained.ipynb)
#
# **Unfinished:** "After `backward()` the graph …" Here the sentence breaks off. One true end: …
# keeps its nodes and edges as long as somebody holds a result, but not its saved tensors.
# [Lesson 4](04-twice-through-the-same-graph.ipynb)

# %% cut-run claims=["A23", "C41", "C38", "D11"]
w = leaf(1.0, 2.0)
z = w * w
loss = z.sum()
edges = [loss.grad_fn.next_functions, z.grad_fn.next_functions]
values = [t.tolist() for t in (w, z, loss)]
print(check.held(loss))
loss.backward()
print(check.freed(loss))
print("the same edges: ", edges == [loss.grad_fn.next_functions, z.grad_fn.next_functions])
print("the same values:", values == [t.tolist() for t in (w, z, loss)])
assert edges == [loss.grad_fn.next_functions, z.grad_fn.next_functions]
assert values == [t.tolist() for t in (w, z, loss)]
with check.raises("saved tensor read after freeing") as error:
    z.grad_fn._saved_self
print("to read what was saved raises", error.raised)

# %% twice [markdown]
# **Half true:** "The graph is broken after backward, so a second one is impossible."
#
# **Half true:** "For performance, backward can be called only once on a graph."
#
# **Half true:** "*Only once* means that `loss.backward()` cannot be called twice in a row."
#
# The reason of all three is memory: saved tensors are freed. A second call raises where a node on
# its way had saved one, and only there. [Lesson 4](04-twice-through-the-same-graph.ipynb)

# %% twice-run claims=["A25", "C18", "C36"]
ways = ("x * 2", "x * x", "x.exp()", "x.relu()", "x + 1", "x.view(2, 1)", "x - x.mean()", "-x")
outcomes = {True: [], False: []}
for code in ways:
    x = leaf(1.0, 2.0)
    loss = eval(code).sum()
    loss.backward()
    outcomes[works(loss.backward)].append(code)
print("a second backward raises:", outcomes[False])
print("a second backward works: ", outcomes[True])
assert outcomes == {False: list(ways[:4]), True: list(ways[4:])}

# %% retain [markdown]
# **Half true:** "If backward is needed twice, set `retain_graph=True`." On the first call, or on
# every call but the last. On the second it comes too late.
#
# **Half true:** "`retain_graph=True` keeps the intermediate values and the graph." It keeps what is
# *saved*. The graph stays either way.
#
# **False:** "`retain_graph=True` restores the graph that vanished, and does not touch the stored
# gradients." It restores nothing, and each call adds to them.
# [Freed and retained](howto/freed-and-retained.ipynb)

# %% retain-run claims=["C39", "C42", "C55"]
w = leaf(1.0)
loss = (w * w).exp()
loss.backward(retain_graph=True)
print(check.held(loss), "  w.grad", round(w.grad.item(), 2))
loss.backward()
print(check.freed(loss), " w.grad", round(w.grad.item(), 2))
assert abs(w.grad.item() - 4 * 2.718282) < 1e-4
with check.raises("graph freed") as error:
    loss.backward(retain_graph=True)
print("and retain_graph=True raises", error.raised)

# %% failed [markdown]
# **Not from this code:** "`out1.retain_grad()`, and the gradients are 3, 2, 2, 1." These are the
# numbers after a second call that *raised*, which the page does not show.
#
# **Half true:** "Backward did not happen, so there is no gradient." An error comes on the way: what
# was reached before has its gradient already, as `c` and `out1` here.
# [Lesson 4](04-twice-through-the-same-graph.ipynb)

# %% failed-run claims=["A15", "B31"]
a, b, c = leaf(2.0), leaf(3.0), leaf(5.0)
out1 = a * b
out2 = out1 + c
out2.backward()
out1.retain_grad()
print("a, b, c:", [t.grad.item() for t in (a, b, c)], "  out1:", out1.grad)
assert out1.grad is None
with check.raises("graph freed"):
    out2.backward()
found = [t.grad.item() for t in (a, b, c, out1)]
print("after a call that raised:", found[:3], "  out1:", found[3])
assert found == [3, 2, 2, 1]

# %% zero [markdown]
# ## Gradients in a training loop
#
# **Out of date:** "`zero_grad()` sets all gradients to 0." To `None`, since torch 2.0, and only
# those of the parameters that it holds.
#
# **Out of date:** "`zero_grad(set_to_none=True)` is faster than `zero_grad()`." By now the two are
# the same call. [Clear gradients](howto/clear-gradients.ipynb)

# %% zero-run claims=["D52", "A28"]
w, other = leaf(1.0), leaf(1.0)
optimizer = torch.optim.SGD([w], lr=0.1)
for options in ({}, {"set_to_none": True}, {"set_to_none": False}):
    (w * other).backward()
    optimizer.zero_grad(**options)
    print(options or "default", " w.grad:", w.grad if w.grad is None else w.grad.tolist())
    assert (w.grad is None) == options.get("set_to_none", True)
print("of one that it does not hold:", other.grad.item())
assert other.grad.item() == 3

# %% between [markdown]
# **Half true:** "With `zero_grad()` between `backward` and `step` the gradients are 0, so the
# parameters do not change." With `None` they do not. With zeros it depends on the optimizer: Adam
# and momentum remember. [Clear gradients](howto/clear-gradients.ipynb)


# %% between-run claims=["D54"]
def is_moved(set_to_none, optimizer_class, **options):
    w = leaf(1.0)
    optimizer = optimizer_class([w], lr=0.1, **options)
    (w * 2).backward()
    optimizer.step()
    before = w.item()
    optimizer.zero_grad(set_to_none=set_to_none)
    optimizer.step()
    return w.item() != before


SGD, Adam = torch.optim.SGD, torch.optim.Adam
kinds = ((SGD, {}), (SGD, {"momentum": 0.9}), (Adam, {}))
print("None moves: ", [is_moved(True, kind, **options) for kind, options in kinds])
print("zeros move: ", [is_moved(False, kind, **options) for kind, options in kinds])
assert not any(is_moved(True, kind, **options) for kind, options in kinds)
assert [is_moved(False, kind, **options) for kind, options in kinds] == [False, True, True]

# %% no-step [markdown]
# **Not from this code:** a table of gradients "without `step()`" that change from row to row. Where
# nothing moves, the gradient is the same in every row. The line had been left in.
# [The sandal in tables](howto/the-sandal-in-tables.ipynb)


# %% no-step-run claims=["C54"]
def rows(with_step):
    w, gradients = leaf(1.0), []
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        (w * w).backward()
        gradients.append(round(w.grad.item(), 3))
        if with_step:
            optimizer.step()
    return gradients


print("without step:", rows(False), "  with step:", rows(True))
assert rows(False) == [2.0] * 4
assert rows(True) == [2.0, 1.6, 1.28, 1.024]

# %% seed [markdown]
# **Half true:** "With `manual_seed` the same code gives the same result." The same calls in the
# same order do, on one kind of device and one release of torch.
# [The sandal in tables](howto/the-sandal-in-tables.ipynb)


# %% seed-run claims=["C57"]
def numbers(*sizes):
    torch.manual_seed(1)
    return torch.cat([torch.randn(size, device="cpu") for size in sizes])


print("16 twice:    ", torch.equal(numbers(16), numbers(16)))
print("16 and 8 + 8:", torch.equal(numbers(16), numbers(8, 8)))
assert torch.equal(numbers(16), numbers(16))
assert not torch.equal(numbers(16), numbers(8, 8))

# %% scratch [markdown]
# ## A new graph every time
#
# **Half true:** "The graph is made from scratch; after each `backward()` autograd starts to fill a
# new one." It is made from scratch, by *forward*. Backward starts nothing: here two graphs stand
# side by side before any backward, and an old one is continued after it.
# [What keeps a graph](howto/what-keeps-a-graph.ipynb)

# %% scratch-run claims=["C34"]
w = leaf(1.0)
first, second = w * 2, w * w
print("two graphs before any backward:", first.grad_fn is not second.grad_fn)
first.backward()
later = first * 3
print("continued after backward:", later.grad_fn.next_functions[0][0] is first.grad_fn)
assert first.grad_fn is not second.grad_fn
assert later.grad_fn.next_functions[0][0] is first.grad_fn

# %% anew [markdown]
# **False:** "In a training loop `retain_graph` is not needed, because `X` and `y` are made anew."
# Because the *model* is called anew: that makes the graph.
# [Lesson 6](06-a-new-graph-every-time.ipynb)


# %% anew-run claims=["C51"]
def loop(forward_inside):
    w, x = leaf(1.0), torch.ones(1)
    loss = (w * w * x).sum()
    for _ in range(2):
        x = x if forward_inside else torch.ones(1)
        loss = (w * w * x).sum() if forward_inside else loss
        loss.backward()


print("data made once, forward in the loop:", "works" if works(loop, True) else "raises")
print("data made anew, forward before it:  ", "works" if works(loop, False) else "raises")
assert works(loop, True)
assert not works(loop, False)

# %% tasks [markdown]
# **Half true:** "For several losses: `loss1.backward(retain_graph=True)`, then `loss2.backward()`."
# Needed only where the losses share saved tensors, and their sum gives the same gradient in one
# pass. [Several losses](howto/several-losses.ipynb)


# %% tasks-run claims=["C44"]
def gradient(shared, together, **options):
    w = leaf(3.0)
    h = w * w
    loss1, loss2 = h * 2, (h if shared else w * w) * 5
    if together:
        (loss1 + loss2).backward()
    else:
        loss1.backward(**options)
        loss2.backward()
    return w.grad.item()


print("one after the other, retained:", gradient(True, False, retain_graph=True))
print("their sum:                    ", gradient(True, True))
print("each with a graph of its own: ", gradient(False, False))
assert gradient(True, False, retain_graph=True) == gradient(True, True) == 42
assert gradient(False, False) == 42
assert not works(gradient, True, False)

# %% ctx [markdown]
# ## What forward keeps
#
# **Half true:** "The inputs that are needed are saved beside the node, under the name `ctx`."
# Outputs are saved as well, and the nodes of torch have no `ctx`: their attributes begin with
# `_saved_`. [What a node saves](howto/what-a-node-saves.ipynb)

# %% ctx-run claims=["D12"]
x = leaf(1.0, 2.0)
y = x.exp()
names = [name for name in dir(y.grad_fn) if name.startswith("_saved_")]
print("ExpBackward0 has", names, "  ctx:", hasattr(y.grad_fn, "ctx"))
result = y.grad_fn._saved_result
print(check.shares_memory(result, y))
assert names == ["_saved_result"]
assert not hasattr(y.grad_fn, "ctx")

# %% inverse [markdown]
# **False:** "In `y = x.pow(2)`, `x` is needed for dx/dy." It is needed for dy/dx, which is 2x: at 3
# it is 6, and dx/dy would be 1/6. [What a node saves](howto/what-a-node-saves.ipynb)

# %% inverse-run claims=["D18"]
x = leaf(3.0)
y = x.pow(2)
print("x is saved:", y.grad_fn._saved_self is x)
assert y.grad_fn._saved_self is x
y.backward()
print(check.grad_is(x, [6.0]))

# %% side [markdown]
# **Half true:** "For `f(a, b)`, where only `a` requires grad, only `b` is saved." So it is for
# products. A convolution saves both. [What a node saves](howto/what-a-node-saves.ipynb)

# %% side-run claims=["D21"]
a, b = torch.ones(1, 1, 3, 3, requires_grad=True), torch.ones(1, 1, 3, 3)
product, convolution = (a * b).grad_fn, nn.functional.conv2d(a, b).grad_fn
print("a * b saves a:", product._saved_self is not None, "  b:", product._saved_other is not None)
print("conv2d saves a:", convolution._saved_input is a, " b:", convolution._saved_weight is b)
assert product._saved_self is None
assert product._saved_other is b
assert convolution._saved_input is a
assert convolution._saved_weight is b

# %% flips [markdown]
# ## Switches
#
# **False:** "`no_grad` takes all tensors as `requires_grad=False`, computes, and turns them back."
#
# **False:** "The code with `no_grad` changes `requires_grad` to `False`."
#
# Neither: no flag of a tensor changes. One switch is off, and the *result* comes without a graph.
# [Lesson 8](08-four-switches.ipynb)

# %% flips-run claims=["D34", "C20"]
w = leaf(1.0)
with torch.no_grad():
    z = w * 2
    print(check.requires_grad(w))
    print("recording:", torch.is_grad_enabled())
    assert not torch.is_grad_enabled()
print(check.does_not_require_grad(z))

# %% nothing [markdown]
# **Half true:** "Under `no_grad` no `grad_fn` is recorded, no graph is drawn." So it is; but a view
# of a leaf says that it requires grad all the same, and no gradient passes it.
# [Which switch](howto/which-switch.ipynb)

# %% nothing-run claims=["D7"]
w = leaf(1.0, 2.0)
with torch.no_grad():
    view = w.view(2, 1)
print(check.requires_grad(view))
print(check.is_leaf(view))
loss = (view * 3).sum()
print(check.no_path(loss, w))

# %% same [markdown]
# **Half true:** after `no_grad`, "only the *same* tensor keeps `True`; another one of the same name
# does not." So it is, but nothing was turned back: `w = w - 1` made a new tensor, unrecorded.
# [Which switch](howto/which-switch.ipynb)

# %% same-run claims=["D35"]
w = written = leaf(1.0)
with torch.no_grad():
    written -= 1
    w = w - 1
print(check.requires_grad(written))
print(check.does_not_require_grad(w))
assert w is not written

# %% inference [markdown]
# **Half true:** "What was computed in inference mode can never be part of a graph." It can never be
# *saved* by one. An addition saves nothing, and takes it. [Which switch](howto/which-switch.ipynb)

# %% inference-run claims=["D37"]
w = leaf(1.0)
with torch.inference_mode():
    t = w * 2
added = t + w
cloned = t.clone() * w
print(check.requires_grad(added, cloned))
with check.raises("inference tensor saved") as error:
    t * w
print("t * w raises", error.raised)

# %% numpy [markdown]
# ## Taking a value out
#
# **Half true:** "A tensor on the graph cannot be made into an array." What counts is that it
# requires grad while torch records: a leaf is refused too, and under `no_grad` nothing is.
#
# **Out of date:** "So one of `.detach()` and `.data` must be used." `detach()`, or
# `numpy(force=True)`; `.data` hides later writes. [Ways out](howto/ways-out.ipynb)

# %% numpy-run claims=["B19", "B20"]
w = leaf(1.0, 2.0)
z = w * 2
ways = {
    "w.numpy()": lambda: w.numpy(),
    "z.numpy()": lambda: z.numpy(),
    "z.numpy() under no_grad": lambda: torch.no_grad()(z.numpy)(),
    "z.numpy(force=True)": lambda: z.numpy(force=True),
    "z.detach().numpy()": lambda: z.detach().numpy(),
    "z.tolist()": lambda: z.tolist(),
}
for how, way in ways.items():
    print(f"{how:25}{'works' if works(way) else 'refused'}")
assert [works(way) for way in ways.values()] == [False, False, True, True, True, True]

# %% data [markdown]
# **False:** "What is done to a `.data` tensor cannot change the gradient." It cannot be *noticed*.
# The gradient is another one, and wrong. [Lesson 9](09-taking-a-value-out.ipynb)

# %% data-run claims=["B32"]
a = leaf(1.0, 2.0)
b = a.exp()
b.data.zero_()
b.sum().backward()
print("a.grad:", a.grad.tolist(), "  right would be", [round(v, 2) for v in a.exp().tolist()])
print(check.grad_is(a, [0.0, 0.0]))

# %% detach [markdown]
# **Half true:** "`no_grad` and `detach()` come to the same." The flag does. But `detach()` comes
# when everything has been recorded and saved, and leaves that alone.
#
# **Half true:** "`detach()` copies a new tensor without the graph, so the graph remains." It does
# remain. The new tensor is no copy: it has the same memory. [Ways out](howto/ways-out.ipynb)

# %% detach-run claims=["C24", "D28"]
h = leaf(1.0, 2.0).exp()
d = h.detach()
with torch.no_grad():
    unrecorded = leaf(1.0, 2.0).exp()
print(check.does_not_require_grad(d, unrecorded))
print("the graph of h remains:", h.grad_fn.name(), "  bytes:", gradviz.snapshot(h).saved_bytes)
print(check.shares_memory(d, h))
assert gradviz.snapshot(h).saved_bytes == 8
assert unrecorded.grad_fn is None
d.zero_()
print("h after d.zero_():", h.tolist())
assert h.tolist() == [0, 0]

# %% safety [markdown]
# ## Writing in place
#
# **Half true:** "For safety, in-place operations on a leaf that requires grad are refused." While
# torch records; under `no_grad` they work.
#
# **Half true:** "Under `no_grad` it is allowed, because `requires_grad` is made `False`." The flag
# stays `True`. It is the *recording* that is off.
#
# **Half true:** "The conflict with saved tensors is one reason why leaves are refused." `add_`
# saves nothing, and is refused: the leaf would become a result.
# [Views and in-place](howto/views-and-in-place.ipynb)

# %% safety-run claims=["D6", "D43", "D49"]
w = leaf(1.0, 2.0)
with check.raises("leaf written") as error:
    w.add_(1)
print("w.add_(1) raises", error.raised)
print("an addition saves", gradviz.snapshot(w + 1).saved_bytes, "bytes")
assert gradviz.snapshot(w + 1).saved_bytes == 0
with torch.no_grad():
    w.add_(1)
    print(check.requires_grad(w))
print("under no_grad it works:", w.tolist())
assert w.tolist() == [2, 3]

# %% changed [markdown]
# **Half true:** "A saved tensor must not be changed: that is an error." The write raises nothing;
# backward does, by the version, even if the old value was put back.
#
# **False:** "An in-place operation on an intermediate result gives no error." Not at the write; in
# backward, if a node had saved what was written. [Lesson 10](10-writing-in-place.ipynb)

# %% changed-run claims=["D14", "D47"]
a = leaf(1.0, 2.0)
saved, not_saved = a.exp(), a * 2
saved.add_(1)
saved.sub_(1)
not_saved.add_(1)
print("the writes raise nothing")
not_saved.sum().backward()
print(check.grad_is(a, [2.0, 2.0]))
with check.raises("saved tensor written") as error:
    saved.sum().backward()
print("saved.sum().backward() raises", error.raised)

# %% clone [markdown]
# **Half true:** "PyTorch solves the conflict: it clones the input and saves the clone." For the
# operation that *writes*. For one that came before nobody clones.
# [Views and in-place](howto/views-and-in-place.ipynb)

# %% clone-run claims=["D48"]
h = leaf(3.0) * 1
h.pow_(2)
print("h is", h.item(), "  saved is", h.grad_fn._saved_self.item())
old_h = h.grad_fn._saved_self
print(check.shares_no_memory(old_h, h))
assert old_h.item() == 3
h = leaf(3.0) * 1
y = h.pow(2)
h.add_(1)
with check.raises("saved tensor written") as error:
    y.backward()
print("where h.pow(2) came before h.add_(1), backward raises", error.raised)

# %% creator [markdown]
# **Half true:** "In-place changes the creator of all inputs to the function of this operation." Of
# the tensor that is written, and of its views. The other input keeps its own.
#
# **False:** "An in-place function raises an error if the storage is referenced by any other
# tensor." Three others refer to it here. Refused are views that one call has made together, and
# views of a leaf. [Views and in-place](howto/views-and-in-place.ipynb)

# %% creator-run claims=["E28", "E29"]
a = torch.ones(2, 2, requires_grad=True)
h, k = a * 1, a * 5
row, transposed, detached = h[0], h.t(), h.detach()
before = {"h": h.grad_fn, "row": row.grad_fn, "k": k.grad_fn}
h.mul_(k)
after = {"h": h.grad_fn, "row": row.grad_fn, "k": k.grad_fn}
print("new creators:", [name for name in after if after[name] is not before[name]])
assert [after[name] is not before[name] for name in ("h", "row", "k")] == [True, True, False]
print(check.shares_memory(h, row))
assert transposed.max() == detached.max() == 5
h.sum().backward()
print(check.grad_is(a, [[10.0, 10.0], [10.0, 10.0]]))

# %% frozen-middle [markdown]
# ## Parameters and optimizers
#
# **Half true:** "Stop tracking to freeze some parameters." With `requires_grad_(False)`, yes.
# `no_grad()` around a part also cuts off everything *before* it.
# [Lesson 11](11-who-owns-the-parameters.ipynb)

# %% frozen-middle-run claims=["C26"]
first, middle, last = (nn.Linear(1, 1) for _ in range(3))
h = first(torch.ones(1))
with torch.no_grad():
    h = middle(h)
cut_off = last(h)
print(check.gets_no_grad(cut_off, first.weight))
middle.requires_grad_(False)
loss = last(middle(first(torch.ones(1))))
print(check.gets_grad(loss, first.weight))
print(check.gets_no_grad(loss, middle.weight))

# %% stale [markdown]
# **False:** "If `requires_grad` is `False`, `.grad` is always `None`." An old gradient stays, and
# `step()` uses it. [Lesson 11](11-who-owns-the-parameters.ipynb)

# %% stale-run claims=["D3"]
w = leaf(1.0)
optimizer = torch.optim.SGD([w], lr=0.1)
(w * 2).backward()
w.requires_grad_(False)
optimizer.step()
print(check.does_not_require_grad(w))
print("w.grad:", w.grad.item(), "  w after step:", round(w.item(), 2))
assert w.grad.item() == 2
assert w.item() < 1

# %% freeze [markdown]
# **Half true:** "To keep a model from learning, set `requires_grad` to `False` on its parameters,
# with `module.requires_grad_(False)`." The statistics of a BatchNorm still move in training; and
# without the underscore nothing is frozen.
# [Fine-tune a ResNet-18](howto/fine-tune-a-resnet-18.ipynb)

# %% freeze-run claims=["D30"]
norm = nn.BatchNorm1d(1)
norm.requires_grad = False
print(check.requires_grad(norm.weight))
norm.requires_grad_(False)
print(check.does_not_require_grad(norm.weight))
norm(torch.tensor([[1.0], [3.0]]))
print("running mean of the frozen layer:", round(norm.running_mean.item(), 2))
assert norm.running_mean.item() > 0

# %% rebind [markdown]
# **Not from this code:** "A parameter that was replaced does not learn; one that was written in
# place does." The second half of that comparison also made a *new optimizer*. Either is enough.
# [Lesson 11](11-who-owns-the-parameters.ipynb)


# %% rebind-run claims=["D46"]
def is_trained(in_place, new_optimizer):
    layer = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    if in_place:
        nn.init.constant_(layer.weight, 0.5)
    else:
        layer.weight = nn.Parameter(torch.full((1, 1), 0.5))
    if new_optimizer:
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.ones(1)).backward()
    optimizer.step()
    return layer.weight.item() != 0.5


found = [is_trained(*how) for how in ((False, False), (False, True), (True, False), (True, True))]
print("replaced: ", found[0], "  and with a new optimizer:", found[1])
print("in place: ", found[2], "  and with a new optimizer:", found[3])
assert found == [False, True, True, True]

# %% parameters [markdown]
# **Half true:** "Parameters of a model must be `nn.Parameter()`, a wrapper of a tensor; and
# `parameters()` gathers them as a generator." It is a *subclass* of tensor. A plain tensor and a
# list of layers are not gathered. [What the optimizer holds](howto/what-the-optimizer-holds.ipynb)

# %% parameters-run claims=["D50"]
model = nn.Module()
model.scale = nn.Parameter(torch.ones(1))
model.shift = torch.zeros(1, requires_grad=True)
model.layers = [nn.Linear(1, 1)]
gathered = [name for name, _ in model.named_parameters()]
print("a subclass:", issubclass(nn.Parameter, torch.Tensor), "  gathered:", gathered)
assert issubclass(nn.Parameter, torch.Tensor)
assert gathered == ["scale"]
generator = model.parameters()
print("gathered once:", len(list(generator)), "  and once more:", len(list(generator)))
with contextlib.suppress(ValueError):
    torch.optim.SGD(generator, lr=0.1)
    raise AssertionError("an optimizer of no parameters")

# %% any-program [markdown]
# ## What can be differentiated
#
# **Half true:** "`torch.autograd` differentiates any computational graph automatically." Any graph
# of operations that have a derivative. A comparison or a number of Python leaves no graph; rounding
# leaves one, with a gradient of 0. [Lesson 12](12-hunting-in-real-code.ipynb)

# %% any-program-run claims=["C2"]
w = leaf(0.2, 0.9)
is_large, numbers = w > 0.5, torch.tensor(w.tolist())
print(check.does_not_require_grad(is_large, numbers))
w.round().sum().backward()
print(check.grad_is(w, [0.0, 0.0]))
