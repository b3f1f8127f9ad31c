# %% title [markdown]
# # 10. Writing in place: the version counter and the moving arrow
#
# `h.add_(1)` writes into a result that is already there. Sometimes nothing happens, sometimes
# backward raises much later, and sometimes the write itself is refused. You will see what a write
# does to the graph, and predict which of the three it will be.
#
# **After it you can**
#
# - say of a write whether it bites, and when: never, at backward, or at once,
# - read the two versions in an error, and find the line that wrote,
# - repair a training step in which an optimizer writes too early.
#
# **You need** lessons [7](07-what-forward-keeps.ipynb), [8](08-four-switches.ipynb) and
# [9](09-taking-a-value-out.ipynb). About 25 minutes.

# %% setup-run
import torch
from lesson_tools import choose, tick
from torch import nn
from torch.autograd.graph import allow_mutation_on_saved_tensors

import gradviz

# %load_ext gradviz

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% recall [markdown]
# ## Recall: three things from lessons 7, 8 and 9


# %% recall-counter tags=["hide-input"]
# question
def counter_moved_by():
    moved = []
    for name, take in {"detach()": torch.Tensor.detach, ".data": lambda b: b.data}.items():
        b = torch.ones(2, requires_grad=True).exp()
        take(b).zero_()
        moved += [name] if b._version else []
    return " and ".join(moved) or "neither"


choose(
    "You write zeros into `b.detach()`, or into `b.data`. After which is the version of `b` 1?",
    {
        "detach()": "It shares the memory of b, and its counter.",
        ".data": "It shares the memory of b, and counts for itself.",
        "detach() and .data": "They share the memory. One of them has a counter of its own.",
        "neither": "A write to shared memory is counted where the counter is shared.",
    },
    right=counter_moved_by(),
)


# %% recall-keeps tags=["hide-input"]
# question
def keep_their_result():
    x = torch.ones(2, requires_grad=True)
    results = {"exp": x.exp(), "pow": x.pow(2), "sin": x.sin(), "relu": x.relu()}
    return [how for how, out in results.items() if hasattr(out.grad_fn, "_saved_result")]


tick(
    "Which of these nodes keep their result for backward?",
    {
        "exp": "The derivative of exp is its result.",
        "pow": "It keeps its input: the derivative of x ** 2 is 2 * x.",
        "sin": "It keeps its input: the derivative is cos(x).",
        "relu": "Where the result is above 0, the gradient passes.",
    },
    right=keep_their_result(),
)


# %% recall-step tags=["hide-input"]
# question
def after_a_step():
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        w -= 0.1
    said = {"w requires grad": w.requires_grad, "w is a leaf": w.is_leaf}
    return [what for what, true in (said | {"w is 1": w[0].item() == 1}).items() if true]


tick(
    "Under `no_grad` you run `w -= 0.1` on a leaf that requires grad. What is true afterwards?",
    {
        "w requires grad": "The block flips no flag.",
        "w is a leaf": "Nothing was recorded, so no node made it.",
        "w is 1": "The numbers are changed, whether it is recorded or not.",
    },
    right=after_a_step(),
)

# %% place [markdown]
# ## What "in place" means
#
# Here are five ways to change `x`. Each line is run as it stands.


# %% place-program
LINES = ("x = x + 5", "x += 5", "x.add_(5)", "x[0] = 5", "torch.exp(x, out=x)")


def run(code, **names):
    """Run a piece of code and return its variables."""
    names["torch"] = torch
    exec(code, names)
    return names


def is_the_same_tensor(code):
    x = torch.ones(3, device=device)
    memory = x.data_ptr()
    after = run(code, x=x)["x"]
    return after is x, after.data_ptr() == memory, x._version


# %% place-predict tags=["hide-input"]
# question
tick(
    "After which of these is `x` still the same object, on the same memory?",
    {
        "x = x + 5": "A new tensor, and the name goes over to it.",
        "x += 5": "For a tensor it is the same as add_.",
        "x.add_(5)": "The underscore says: in place.",
        "x[0] = 5": "It writes into a part of what is there.",
        "torch.exp(x, out=x)": "The result is written where you say.",
    },
    right=[code for code in LINES if is_the_same_tensor(code)[0]],
)

# %% place-run tags=["hide-output"] claims=["D40"]
print("Torch's answer:")
print("                     same object  same memory  version of the old x")
for code in LINES:
    same, memory, version = is_the_same_tensor(code)
    print(f"{code:21}{same!s:13}{memory!s:13}{version}")

# %% place-explain [markdown]
# **In a sentence:** a write in place keeps object and memory, and adds 1 to the *version* of what
# lies there. Everything that follows is about who had a look at that memory before.

# %% arrow [markdown]
# ## The arrow moves
#
# `h = w * 2` has a node. Then `h.mul_(3)`. **Predict.**


# %% arrow-predict tags=["hide-input"]
# question
def nodes_behind_h():
    w = torch.ones(2, requires_grad=True)
    h = w * 2
    old = h.grad_fn
    h.mul_(3)
    if h.grad_fn is old:
        return "the old node"
    return "a new node on the old one" if h.grad_fn.next_functions[0][0] is old else "a new node"


choose(
    "What is `h.grad_fn` after `h.mul_(3)`?",
    {
        "the old node": "Then the gradient could know nothing of the 3.",
        "a new node": "Then the way to w would be lost.",
        "a new node on the old one": "The write is recorded like every operation.",
    },
    right=nodes_behind_h(),
)

# %% arrow-show tags=["hide-output"] claims=["D41", "E26"]
# %%gradviz --step 3
w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
h = w * 2
h.mul_(3)
h.sum().backward()
print("Torch's answer:")

# %% arrow-watch [markdown]
# **Watch** lines 3 and 4. First `h` comes out of one product. After the write it comes out of
# another, which stands on top of the first: the name has stayed, the arrow has moved. The graph is
# right, and so is the gradient: 2 times 3.
#
# Out of place, nothing moves: `h` keeps its node, and a new tensor gets the new one. Both graphs
# stay, as long as both tensors do.

# %% arrow-new-run claims=["E26", "E27"]
w = torch.ones(2, device=device, requires_grad=True)
h = w * 2
old = h.grad_fn
k = h + 1
print("k = h + 1:  h has its old node:", h.grad_fn is old, "  k stands on it:", end=" ")
print(k.grad_fn.next_functions[0][0] is old)
h.add_(1)
print("h.add_(1):  h has its old node:", h.grad_fn is old, "  h stands on it:", end=" ")
print(h.grad_fn.next_functions[0][0] is old)

# %% arrow-compare [markdown]
# With `exp` in place of the product, and the two programs compared, out of place before and in
# place after:


# %% arrow-compare-show claims=["D14", "E25"]
def squares(add):
    w = torch.ones(2, device=device, requires_grad=True)
    h = w.exp()
    h = add(h, 1)
    out = (h * h).sum()
    return gradviz.snapshot(out, names={"w": w, "h": h, "out": out})


gradviz.compare(squares(torch.Tensor.add), squares(torch.Tensor.add_))

# %% arrow-compare-watch [markdown]
# **Watch.** The same nodes and the same edges. The product has saved `h` at version 1, which is
# fine: that is the `h` it has multiplied. But `ExpBackward0` has saved its result at version 0, and
# that is gone. Its pocket is marked, and backward has not even begun.

# %% eight [markdown]
# ## Never, at backward, or at once
#
# Eight programs. `a` is a leaf that requires grad, with three numbers; in the end backward is
# called on what the last column names. **Predict** for each: does it raise at the write, at
# backward, or never?


# %% eight-program
EIGHT = {
    "h = a * 2; h.add_(1)": "h",
    "h = a.sigmoid(); h.mul_(2)": "h",
    "a.add_(1)": "a",
    "h = a * 2; y = h.pow(2); h.add_(1)": "y",
    "h = a * 2; h.pow_(2)": "h",
    "h = a * 2; h[0] = 5": "h",
    "h = a * 2; p, q, r = h.unbind(); p.mul_(3)": "h",
    "x = torch.ones(3); x.mul_(a)": "x",
}


# %% eight-raises-program
def raises(code, root):
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    try:
        out = run(code, a=a)[root].sum()
    except RuntimeError:
        return "at the write"
    try:
        out.backward()
    except RuntimeError:
        return "at backward"
    return "never"


# %% eight-predict tags=["hide-input"]
# question
tick(
    "Which of these raise at backward?",
    {
        "h = a * 2; h.add_(1)": "The product keeps the 2 only, and nobody writes to that.",
        "h = a.sigmoid(); h.mul_(2)": "A sigmoid keeps its result, which is h.",
        "a.add_(1)": "It does not come to that: the write is refused.",
        "h = a * 2; y = h.pow(2); h.add_(1)": "pow keeps its input, which is h.",
        "h = a * 2; h.pow_(2)": "pow_ needs the old h, and has made a copy of it first.",
        "h = a * 2; h[0] = 5": "The gradient of the first number is 0 now. Nothing kept is needed.",
        "h = a * 2; p, q, r = h.unbind(); p.mul_(3)": "The write is refused.",
        "x = torch.ones(3); x.mul_(a)": "x is a leaf without a gradient, and becomes a result.",
    },
    right=[code for code, root in EIGHT.items() if raises(code, root) == "at backward"],
)

# %% eight-predict-write tags=["hide-input"]
# question
tick(
    "And which are refused at once, at the write?",
    {
        "h = a * 2; h.add_(1)": "h is a result. Its arrow may move.",
        "a.add_(1)": "a is where gradients are collected. It has to stay a leaf.",
        "h = a * 2; h[0] = 5": "A part of a result may be written to.",
        "h = a * 2; p, q, r = h.unbind(); p.mul_(3)": "p is one of three views of one call.",
        "x = torch.ones(3); x.mul_(a)": "x is a leaf too, but nobody wants a gradient for it.",
    },
    right=[code for code, root in EIGHT.items() if raises(code, root) == "at the write"],
)

# %% eight-run tags=["hide-output"] claims=["D6", "D14", "D42", "D47", "E25"] refutes=["D47"]
print("Torch's answer:")
for code, root in EIGHT.items():
    print(f"{code:44}{root}   {raises(code, root)}")

# %% eight-explain [markdown]
# **Heard in the wild, and false:** "an in-place operation on an intermediate gives no error." Two
# of these do, and not where they write, but at backward. Here is one more, with `exp`:

# %% eight-card-run claims=["B29", "D14", "D47"]
with gradviz.expect_error() as error:
    a = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    h = a.exp()
    h.add_(1)
    h.sum().backward()
error

# %% eight-card-watch [markdown]
# torch itself tells the two versions, a shape, and an operation whose output the tensor is now. For
# a saved *result* that is the one that saved; for a saved *input* it may be the one that wrote. It
# knows no line and no name of a variable. Here read its sentence so: "the result of `Exp` was saved
# at version 0; look for what wrote to that tensor *afterwards*."
#
# The same error without a name in sight: the write goes through `c`.

# %% eight-alias-run claims=["B29", "B30"]
with gradviz.expect_error() as error:
    a = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    b = a.exp()
    c = b.detach()
    c.zero_()
    b.sum().backward()
print("node:", error.node_name, "  slot:", error.saved)
print("versions:", error.saved_version, "saved,", error.current_version, "found")
print("written in line", error.line, "  variables:", " and ".join(error.variables))
print("a.grad:", a.grad)

# %% counter [markdown]
# ## It counts writes, not changes
#
# The 1 is added, and taken away again. The numbers are what they were, to the last bit.
# **Predict.**


# %% counter-predict tags=["hide-input"]
# question
choose(
    "`h = a.exp()`, then `h.mul_(2)` and `h.div_(2)`. Does backward on `h` raise?",
    {
        "at backward": "Versions are compared, not numbers: that would take too long.",
        "never": "The numbers are right, but torch does not look at them.",
        "at the write": "h is a result, and may be written to.",
    },
    right=raises("h = a.exp(); h.mul_(2); h.div_(2)", "h"),
)

# %% counter-show tags=["hide-output"] claims=["D14"]
print("Torch's answer:")
with gradviz.expect_error() as error:
    a = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    h = a.exp()
    h.mul_(2)
    h.div_(2)
    h.sum().backward()
gradviz.show(error)

# %% counter-explain [markdown]
# **Watch** the version of `h` in the table: 0, 1, 2.
#
# **Heard in the wild, and half right:** "A saved tensor must not be changed, or you get an error."
# The write raises nothing; backward does, even if the old numbers are back; and it does only if a
# node that has to run had saved the tensor.

# %% own [markdown]
# ## What the write keeps for itself
#
# `pow` keeps its input. `pow_` overwrites just that. How can its backward work? **Predict.**


# %% own-predict tags=["hide-input"]
# question
def what_pow_keeps():
    h = torch.full((2,), 3.0, requires_grad=True) * 1
    h.pow_(2)
    kept = h.grad_fn._saved_self
    if kept.data_ptr() == h.data_ptr():
        return "h itself"
    return f"a copy, with the values {kept[0]:g}"


choose(
    "`h` is 3, then `h.pow_(2)`. What does `PowBackward0` keep?",
    {
        "h itself": "That is 9 now, and the gradient is computed with 3.",
        "a copy, with the values 3": "Made before the write, since it will be needed.",
        "a copy, with the values 9": "9 is the result. The gradient is computed with the input.",
    },
    right=what_pow_keeps(),
)

# %% own-run tags=["hide-output"] claims=["D48", "D55"]
print("Torch's answer:")
h = torch.full((2,), 3.0, device=device, requires_grad=True) * 1
h.pow_(2)
x1 = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
x2 = torch.tensor([5.0, 10.0], device=device, requires_grad=True) * 1
x2 *= x1
for name, t in {"h.pow_(2)": h, "x2 *= x1": x2}.items():
    kept = t.grad_fn._saved_self
    print(f"{name:10} keeps {kept.tolist()}, made by {kept.grad_fn.name()}", end="")
    print(", in the same memory:", kept.data_ptr() == t.data_ptr())

# %% own-ask [markdown]
# **Heard in the wild, and half right:** "PyTorch solves the conflict: it clones the input and saves
# the clone." It does so for the operation that *writes*. Nobody clones for an operation that came
# before, and not for the second factor:

# %% own-limits-run claims=["D48"]
for code, root in {
    "h = a * 2; h.pow_(2)": "h",
    "h = a * 2; y = h.pow(2); h.add_(1)": "y",
    "h = a * 2; h.mul_(h)": "h",
}.items():
    print(f"{code:36}{raises(code, root)}")

# %% views [markdown]
# ## Writing where others look
#
# `h` has many friends on its memory: a row, a transpose, a detached tensor, an array, a second
# name. (An array needs the CPU, so we are there.) Then `h` is written to. **Predict.**


# %% views-program
def write_among_friends():
    a = torch.ones(2, 2, device="cpu", requires_grad=True)
    h = a * 1
    k = a * 5
    friends = {"row": h[0], "transpose": h.t(), "detached": h.detach(), "name": h}
    friends["array"] = h.detach().numpy()
    nodes = {"k": k.grad_fn, "row": friends["row"].grad_fn}
    h.mul_(k)
    return a, h, k, friends, nodes


# %% views-predict tags=["hide-input"]
# question
def outcome():
    try:
        a, h, *_ = write_among_friends()
    except RuntimeError:
        return "the write is refused"
    try:
        h.sum().backward()
    except RuntimeError:
        return "backward raises"
    return f"no error, and a.grad is {a.grad[0, 0]:g}"


choose(
    "`h = a * 1`, `k = a * 5`, `h.mul_(k)`: a * a * 5, while others look at h. What happens?",
    {
        "the write is refused": "torch does not ask who else looks at the memory.",
        "backward raises": "Nobody had saved what was overwritten.",
        "no error, and a.grad is 10": "The derivative of 5 * a * a at 1.",
        "no error, and a.grad is 5": "That would be the derivative of k.",
    },
    right=outcome(),
)

# %% views-run tags=["hide-output"] claims=["E28", "E29"] refutes=["E29"]
print("Torch's answer:")
a, h, k, friends, nodes = write_among_friends()
print("every friend sees the 5:", all(f[0][0].item() == 5 for f in friends.values() if f.ndim == 2))
print("the row sees it too:    ", friends["row"].tolist())
print("k has its old node:     ", k.grad_fn is nodes["k"])
print("the row:                ", nodes["row"].name(), "->", friends["row"].grad_fn.name())
h.sum().backward()
print("a.grad:                 ", a.grad.tolist())

# %% views-explain [markdown]
# **Heard in the wild, and false:** "An in-place function raises an error if the storage is
# referenced by any other tensor." Five others refer to it, and nothing is raised.
#
# **Also there, and half right:** "it changes the creator of *all inputs*." `k` has kept its own.
# What gets a new node is the tensor that was written, and its views: the row was made by a
# `SelectBackward0`, and is now cut out of the new `h`.
#
# The other direction is the interesting one: write to a *view*, and look at the base.

# %% views-show claims=["E28"]
# %%gradviz --step 4
a = torch.ones(2, 2, device=device, requires_grad=True)
h = a * 1
row = h[0]
row.mul_(5)
h.sum().backward()

# %% views-watch [markdown]
# **Watch.** You wrote to `row`, and `h` has got a new node: `CopySlices` says that a slice of what
# came before was replaced. `row` is cut out of the new `h` now, by an `AsStridedBackward0`; the
# `SelectBackward0` that made it before is still there, and nothing uses it. The gradient of the two
# numbers in the row is 5, that of the others 1.
#
# What *is* refused: one of several views that one call has made. They share one node, and it cannot
# be changed for one of them alone.

# %% views-card-run claims=["E29"]
with gradviz.expect_error() as error:
    a = torch.ones(2, 2, device=device, requires_grad=True)
    h = a * 1
    top, bottom = h.unbind()
    top.mul_(5)
error

# %% leaf [markdown]
# ## A leaf must stay a leaf
#
# A write moves the arrow of what is written. From a leaf it would have to move away.

# %% leaf-card-run claims=["D6", "D42", "D44"]
with gradviz.expect_error() as error:
    w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    w += 5
error

# %% leaf-ask [markdown]
# **Heard in the wild, and half right:** "For safety, in-place operations on a leaf that requires
# grad are refused." Whenever torch records. **Predict** which of these are refused all the same.


# %% leaf-program
UNDER = "with torch.no_grad(): "
WRITES = ("w += 5", "w[0] = 5", UNDER + "w += 5", UNDER + "w[0] = 5", "w.detach().add_(5)")


def refused(code):
    w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    try:
        run(code, w=w)
    except RuntimeError:
        return True, w
    return False, w


# %% leaf-predict tags=["hide-input"]
# question
tick(
    "`w` is a leaf that requires grad. Which of these writes are refused?",
    {
        "w += 5": "It would be recorded, and w would be the result of an addition.",
        "w[0] = 5": "It would be recorded: a part of w, replaced.",
        "with torch.no_grad(): w += 5": "Nothing is recorded, so no arrow moves.",
        "with torch.no_grad(): w[0] = 5": "Nothing is recorded, so no arrow moves.",
        "w.detach().add_(5)": "The detached tensor requires no grad. The numbers are those of w.",
    },
    right=[code for code in WRITES if refused(code)[0]],
)

# %% leaf-run tags=["hide-output"] claims=["D6", "D43", "D44"]
print("Torch's answer:")
print("                                refused  requires_grad  is_leaf  version  w")
for code in WRITES:
    no, w = refused(code)
    print(f"{code:32}{no!s:9}{w.requires_grad!s:15}{w.is_leaf!s:9}{w._version:<9}{w.tolist()}")

# %% leaf-explain [markdown]
# **Heard in the wild, and half right:** "Under `no_grad` it is allowed, because `requires_grad` is
# made False." It is allowed. The flag is True in every row; it is the *recording* that is off.
#
# "One reason to refuse is the conflict with saved tensors." Half right as well: `+= 5` saves
# nothing, and is refused. The reason is the arrow. A leaf that requires no grad may become a
# result:

# %% leaf-becomes-run claims=["D42", "D49"]
w = torch.ones(2, device=device, requires_grad=True)
x = torch.ones(2, device=device)
print("before: x is a leaf:", x.is_leaf, "  requires grad:", x.requires_grad)
x.add_(w)
print("after:  x is a leaf:", x.is_leaf, "  requires grad:", x.requires_grad)
print("add_ has saved:", gradviz.snapshot(x).saved_bytes, "bytes")

# %% leaf-counter [markdown]
# And `no_grad` does not stop the counter. If an earlier forward has kept `w`, it is missed:

# %% leaf-counter-card-run claims=["D43"]
with gradviz.expect_error() as error:
    w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    loss = (w * w).sum()
    with torch.no_grad():
        w += 5
    loss.backward()
error

# %% hooks [markdown]
# ## Hooks and a write
#
# A hook is registered on `h`, then `h.mul_(3)`, then another. In the end `h.sum().backward()`.
# **Predict** which gradients they see.


# %% hooks-program
def seen_by_hooks():
    seen = {"before": None, "after": None}
    w = torch.ones(1, device=device, requires_grad=True)
    h = w * 2
    h.register_hook(lambda grad: seen.update(before=grad.item()))
    h.mul_(3)
    h.register_hook(lambda grad: seen.update(after=grad.item()))
    h.retain_grad()
    h.sum().backward()
    return {**seen, "h.grad": h.grad.item()}


# %% hooks-predict tags=["hide-input"]
# question
seen = seen_by_hooks()
choose(
    "What do the two hooks see, the one from before the write and the one from after it?",
    {
        "1 and 1": "The first belongs to the h of before, which is multiplied by 3 afterwards.",
        "3 and 1": "Each sees the gradient of the h that it was registered on.",
        "3 and 3": "The second belongs to the h of after, and a sum sends it a 1.",
    },
    right=f"{seen['before']:g} and {seen['after']:g}",
)

# %% hooks-run tags=["hide-output"] claims=["X29"]
print("Torch's answer:")
for name, gradient in seen_by_hooks().items():
    print(f"{name:8}{gradient:g}")

# %% hooks-explain [markdown]
# A hook stays with the *node* that `h` had, and does not move with the arrow. (`retain_grad` does
# move: what it keeps is the gradient of `h` as it is in the end.)

# %% allow [markdown]
# ## A context that copies for you
#
# If a program that you cannot change writes to saved tensors, torch can make copies: when somebody
# writes to what was saved, the old values are set aside.

# %% allow-run claims=["X27"]
with allow_mutation_on_saved_tensors():
    a = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    h = a.exp()
    h.add_(1)
    h.sum().backward()
print("a.grad:   ", [round(value, 4) for value in a.grad.tolist()])
print("should be:", [round(value, 4) for value in a.detach().exp().tolist()])

# %% advice [markdown]
# **Heard in the wild, and right:** "Writing in place is hard to support, and discouraged in most
# cases." And: "unless memory presses, you may never need it." What would be gained, for a product
# and a sum?


# %% advice-run claims=["E22", "E24"]
def kept_bytes(code):
    a = torch.ones(1024, device=device, requires_grad=True)
    return gradviz.snapshot(run(code, a=a)["h"]).saved_bytes


for code in ("h = a.sin(); h = h * 3; h = h + 1", "h = a.sin(); h.mul_(3); h.add_(1)"):
    print(f"{code:36}{kept_bytes(code):5} bytes kept for backward")
parameter = nn.Parameter(torch.ones(2, device=device))
parameter.grad = torch.ones(2, device=device)
torch.optim.SGD([parameter], lr=0.1).step()
print("version of a parameter after one step:", parameter._version)

# %% advice-explain [markdown]
# Nothing is gained for backward. The place for writes is where nothing is recorded: every optimizer
# writes its parameters in place, under `no_grad`. The program to repair is about that.

# %% what-if [markdown]
# ## What if?
#
# `h` is the result of `exp`, and a `b` is added to it. Say what `in_place` will change, then switch
# it on, and read what torch says, in its own words.


# %% what-if-explore
def program(a, b, in_place=False):
    h = a.exp()
    out = h.add_(b) if in_place else h.add(b)
    out.backward()
    return {"h": h, "out": out}


gradviz.explore(program, a=1.0, b=3.0)

# %% repair [markdown]
# ## Repair a broken program
#
# The two players of lesson 9. The discriminator learns to say a low score, takes its step, and then
# the generator learns to get a high one. The forward pass is done once, to save time.


# %% repair-program
def players():
    parts = nn.Linear(2, 3, device=device), nn.Linear(3, 1, device=device)
    for parameter in (*parts[0].parameters(), *parts[1].parameters()):
        nn.init.constant_(parameter, 0.5)
    return *parts, torch.optim.SGD(parts[1].parameters(), lr=0.1)


noise = torch.ones(4, 2, device=device)

# %% repair-broken
generator, discriminator, optimizer = players()
with gradviz.expect_error() as error:
    fake = generator(noise)
    score = discriminator(fake).mean()
    score.backward(retain_graph=True)
    optimizer.step()
    generator_loss = -score
    generator_loss.backward()
print("raised:", error.raised)

# %% repair-predict tags=["hide-input"]
# question
choose(
    "torch says that a tensor is at version 3, and version 2 was expected. Which line wrote it?",
    {
        "fake = generator(noise)": "That makes new tensors.",
        "score.backward(retain_graph=True)": "It reads what was saved, and writes .grad only.",
        "optimizer.step()": "It writes the weights, in place.",
        "generator_loss = -score": "That makes a new tensor.",
    },
    right=error.cause.at.text,
)

# %% repair-card tags=["hide-output"] claims=["X25"]
print("Torch's answer:")
error

# %% repair-card-watch [markdown]
# **Read** the card. torch speaks of a tensor of shape `[3, 1]`, made by an operation that does not
# stand in the code: the transposed weight of the discriminator. The card says whose it is, and who
# wrote it. (Version 2, not 0: the layer has set its own weight, and we have set it again. Each was
# a write.)

# %% repair-show tags=["hide-output"] claims=["X25"]
print("Torch's answer:")
gradviz.show(error)

# %% repair-ask [markdown]
# **Your turn.** Change the plan in the first line, so that the generator gets its gradient from the
# discriminator as it is *after* its step. (`retain_graph=True` is not the fix. It is what turned
# one error into another.)

# %% repair-try
plan = ["forward", "judge", "step", "deceive"]

generator, discriminator, optimizer = players()
try:
    for name in plan:
        if name == "forward":
            score = discriminator(generator(noise)).mean()
        elif name == "step":
            optimizer.step()
        else:
            (score if name == "judge" else -score).backward(retain_graph=True)
    last = plan.index("step") < plan.index("deceive")
    print("repaired:" if last else "not yet: the step comes last", " ".join(plan))
except RuntimeError:
    print("not yet: the score was computed with weights that are gone")

# %% repair-solution [markdown]
# The next cell holds a solution. Click its `…` to open it, or press
# <kbd>Shift</kbd>+<kbd>Enter</kbd> here and then <kbd>Enter</kbd>.

# %% repair-solution-run tags=["hide-input"]
# solution
plan = ["forward", "judge", "step", "forward", "deceive"]
# Each turn has a forward pass of its own, and no call needs retain_graph=True.

# In the first of them the generator need not be in the graph: detach() cuts it off.
generator, discriminator, optimizer = players()
discriminator(generator(noise).detach()).mean().backward()
optimizer.step()
(-discriminator(generator(noise)).mean()).backward()
print("the generator has a gradient:", generator.weight.grad is not None)

# %% broken [markdown]
# ## True or false?
#
# **Heard in the wild:** "Every in-place operation breaks autograd. `y = x * 2`, then `y.add_(1)`:
# the backward raises."
#
# It is easily tried, for twelve operations at once. Each result is written to, and nothing else is
# done with it.


# %% broken-run claims=["D41", "D47"]
OPERATIONS = ("x * 2", "x + 1", "x - 1", "x.sin()", "x.cos()", "x ** 2", "x.log()", "x.sum(0)")
OPERATIONS += ("x.exp()", "x.sqrt()", "x.tanh()", "x.relu()")
verdicts = {op: raises(f"x = a; y = {op}; y.add_(1)", "y") for op in OPERATIONS}
for verdict in ("never", "at backward"):
    print(f"{verdict:12}", "  ".join(op for op in OPERATIONS if verdicts[op] == verdict))

# %% broken-explain [markdown]
# **False.** It breaks where the node has kept its *result*, which these four in the second row do.
# What the others keep is their input, or nothing, and nobody has written to that.

# %% exercise [markdown]
# ## On your own
#
# For each program: does it raise at the `write`, at `backward`, or `never`? `a` has three numbers
# and requires grad.
#
# - `one`: `h = a.tanh(); h += 1; h -= 1`, backward on `h`,
# - `two`: `h = a.sin(); h.mul_(2)`, backward on `h`,
# - `three`: `h = a * 2; y = h * a; h.zero_()`, backward on `y`,
# - `four`: `h = a * 2; y = h * 2; h.zero_()`, backward on `y`,
# - `five`: `h = (a * 1).expand(2, 3); h.mul_(2)`, backward on `h`,
# - `six`: `h = a * 2; h.detach().zero_()`, backward on `h`.


# %% exercise-try
def check_writes(**answers):
    codes = {
        "one": ("h = a.tanh(); h += 1; h -= 1", "h"),
        "two": ("h = a.sin(); h.mul_(2)", "h"),
        "three": ("h = a * 2; y = h * a; h.zero_()", "y"),
        "four": ("h = a * 2; y = h * 2; h.zero_()", "y"),
        "five": ("h = (a * 1).expand(2, 3); h.mul_(2)", "h"),
        "six": ("h = a * 2; h.detach().zero_()", "h"),
    }
    for name, mine in answers.items():
        right = raises(*codes[name]).split()[-1] == mine
        print(f"{name}: {right:d} of 1 right")


check_writes(one="?", two="?", three="?", four="?", five="?", six="?")

# %% exercise-solution tags=["hide-input"]
# solution
check_writes(one="backward", two="never", three="backward", four="never", five="write", six="never")

# %% construct [markdown]
# Now build one: an `h` that has been written to three times, its version is 3, and through which
# backward goes without an error.

# %% construct-try
x = torch.ones(3, device=device, requires_grad=True)
h = x.exp()
h.add_(1).mul_(2).sub_(1)

try:
    h.sum().backward()
    goes = True
except RuntimeError:
    goes = False
print("version:", h._version, "  backward goes through:", goes)
print("done" if goes and h._version == 3 else "not yet")

# %% summary [markdown]
# ## In two sentences
#
# A write in place adds 1 to the version of the memory, and, if it is recorded, moves the arrow of
# what was written to a new node; a node that had saved an older version raises when backward comes
# to it. A leaf may not be moved, so write to it under `no_grad` only, and never between a forward
# and its backward.
#
# [Back to the overview](00-start.ipynb)
