# %% title [markdown]
# # 8. Four switches that are not the same: no_grad, inference_mode, eval, requires_grad_(False)
#
# All four stand in the same places of training code, and all four have something to do with "not
# training now". Each does something else. You will put the same forward pass through all of them,
# and look at what is different: in the graph, in the flags, in the numbers.
#
# **After it you can**
#
# - say for each switch what it changes, and what it leaves as it is,
# - choose the one you need, for validation, for a frozen part, for a finished model,
# - repair a loss that has lost its graph to one of them.
#
# **You need** lessons [3](03-who-gets-a-gradient.ipynb), [5](05-gradients-add-up.ipynb) and
# [7](07-what-forward-keeps.ipynb). About 25 minutes.

# %% setup-run
import threading

import torch
from lesson_tools import choose, tick
from torch import nn

import gradviz

# %load_ext gradviz

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% recall [markdown]
# ## Recall: three things from lessons 1, 5 and 6


# %% recall-flag tags=["hide-input"]
# question
def results_that_require_grad():
    x, w = torch.ones(2), torch.ones(2, requires_grad=True)
    results = {"x * 2": x * 2, "w * 2": w * 2, "w * x": w * x, "w > 0": w > 0}
    return [how for how, result in results.items() if result.requires_grad]


tick(
    "`w` requires grad, `x` does not. Which of these results require grad?",
    {
        "x * 2": "No input requires grad.",
        "w * 2": "An input requires grad.",
        "w * x": "One input that requires grad is enough.",
        "w > 0": "True and False cannot have a gradient.",
    },
    right=results_that_require_grad(),
)


# %% recall-step tags=["hide-input"]
# question
def value_after_step():
    q = nn.Parameter(torch.ones(1))
    torch.optim.SGD([q], lr=0.1).step()
    return "stays as it is" if q.item() == 1 else "moves"


choose(
    "`q.grad` is `None`. What does `optimizer.step()` do with `q`?",
    {
        "stays as it is": "None says that there is no gradient: the parameter is passed by.",
        "moves": "It would, if there were a gradient, of this pass or of an earlier one.",
    },
    right=value_after_step(),
)


# %% recall-kept tags=["hide-input"]
# question
def first_layer_keeps():
    layer = nn.Linear(2, 2)
    node = gradviz.snapshot(layer(torch.ones(1, 2))).nodes[0]
    kept = sorted(slot.name for slot in node.saved if slot.state == "held")
    return {"mat1": "its input", "mat2": "its weight"}[" ".join(kept)]


choose(
    "A linear layer is the first of a model. What does it keep for backward?",
    {
        "its input": "The gradient of the weight is made with it.",
        "its weight": "The gradient of the input would be made with it. Nobody asks for that.",
        "both": "One of them would be for the gradient of the input. Nobody asks for that.",
    },
    right=first_layer_keeps(),
)

# %% flag [markdown]
# ## Ask the tensor
#
# `w` requires grad. **Predict** what it says itself, inside the block.


# %% flag-predict tags=["hide-input"]
# question
def flag_inside():
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        return w.requires_grad


choose(
    "Inside `with torch.no_grad():`, what is `w.requires_grad`?",
    {
        "True": "A flag belongs to a tensor, and the block does not touch any tensor.",
        "False": "It is so for what is computed inside, and w was not computed inside.",
    },
    right=flag_inside(),
)

# %% flag-run tags=["hide-output"] claims=["C19", "C20", "C22", "C23", "D32"] refutes=["C20"]
print("Torch's answer:")
w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)


def ask(where):
    z = w * 2
    made_by = None if z.grad_fn is None else z.grad_fn.name()
    print(f"{where:8}{w.requires_grad!s:18}{z.requires_grad!s:18}{made_by!s:14}", end="")
    print(torch.is_grad_enabled())


print("        w.requires_grad   z.requires_grad   z.grad_fn     torch.is_grad_enabled()")
ask("before")
with torch.no_grad():
    ask("inside")
ask("after")

# %% flag-explain [markdown]
# **Heard in the wild, and false:** "By default, tensors with `requires_grad=True` are tracked. The
# code below changes `requires_grad` to False, with `torch.no_grad()`." The first sentence is right.
# But the flag of `w` is True in all three rows. What changes stands in the last column: a switch
# of torch. While it is off, operations run as ever, and *record nothing*.

# %% flag-show claims=["C19", "C23", "D33"]
# %%gradviz --step -1
w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
z = w * 2
with torch.no_grad():
    q = w * 2
loss = (z + q).sum()

# %% flag-watch [markdown]
# **Watch.** Twice the same product. `z` is the result of a node; `q` is a leaf, with no node behind
# it, and the player shows where the way was cut. In the sum both are added, but only `z` will send
# a gradient to `w`.

# %% thread [markdown]
# ## Whose switch is it?
#
# If no tensor is touched, who remembers that recording is off? Let somebody look from outside:
# another *thread*, which runs while this one is in the block. **Predict** what it gets.


# %% thread-program
def seen_by_another_thread():
    w = torch.ones(2, device=device, requires_grad=True)
    seen = {}

    def look():
        seen["w.requires_grad"] = w.requires_grad
        seen["(w * 2).requires_grad"] = (w * 2).requires_grad
        seen["torch.is_grad_enabled()"] = torch.is_grad_enabled()

    with torch.no_grad():
        other = threading.Thread(target=look)
        other.start()
        other.join()
    return seen


# %% thread-predict tags=["hide-input"]
# question
choose(
    "This thread is in `no_grad`. Another one computes `w * 2`. Does that result require grad?",
    {
        "True": "The switch is this thread's, and the flag of w was never off.",
        "False": "So it would be, if the block had turned the flag of w off.",
    },
    right=seen_by_another_thread()["(w * 2).requires_grad"],
)

# %% thread-run tags=["hide-output"] claims=["D32", "D34"] refutes=["D34"]
print("Torch's answer:")
for what, seen in seen_by_another_thread().items():
    print(f"{what:26}{seen}")

# %% thread-explain [markdown]
# **Heard in the wild, and false:** "`no_grad` takes all tensors as `requires_grad=False`, computes,
# and then turns the same tensors back to True." Then `w` would have been False for the other thread
# too. Nothing is turned, and nothing is turned back: each thread has one switch. (So a server that
# answers in threads needs a block in each of them.)
#
# The same tutorial goes on: "only the *same* tensor keeps True; another tensor, of the same name,
# does not." Half right: here are the two ways to take a step by hand.

# %% thread-names-run claims=["D35"]
w = torch.ones(2, device=device, requires_grad=True)
leaf = w
with torch.no_grad():
    w -= 0.1
print("w -= 0.1    ", "requires grad:", w.requires_grad, "  the leaf of before:", w is leaf)
with torch.no_grad():
    w = w - 0.1
print("w = w - 0.1 ", "requires grad:", w.requires_grad, "  the leaf of before:", w is leaf)

# %% thread-names-explain [markdown]
# What it says about the flags is true; the reason is not. The first line writes into the leaf, and
# no flag of it changes. The second makes a new tensor, without recording, and gives it the name.

# %% leaves [markdown]
# ## No node, no gradient
#
# **Heard in the wild, and half right:** "under `no_grad` nothing is recorded, so only leaves come
# out." Mostly. **Predict** which of these, made in the block, say that they require grad.


# %% leaves-program
def made_under_no_grad():
    w = torch.ones(2, device=device, requires_grad=True)
    with torch.no_grad():
        return {
            "w * 2": w * 2,
            "w.clone()": w.clone(),
            "w.view(1, 2)": w.view(1, 2),
            "w[0]": w[0],
            "torch.ones(2, requires_grad=True)": torch.ones(2, requires_grad=True),
            "nn.Parameter(torch.ones(2))": nn.Parameter(torch.ones(2)),
        }


# %% leaves-predict tags=["hide-input"]
# question
tick(
    "Which of these, made under `no_grad`, say `requires_grad=True`?",
    {
        "w * 2": "A computed result: nothing is recorded.",
        "w.clone()": "A copy is computed as well.",
        "w.view(1, 2)": "It is w itself, seen in another shape, with the flag of w.",
        "w[0]": "A view again: the memory of w, and the flag of w.",
        "torch.ones(2, requires_grad=True)": "Here you have asked for it.",
        "nn.Parameter(torch.ones(2))": "A Parameter asks for it by itself.",
    },
    right=[how for how, tensor in made_under_no_grad().items() if tensor.requires_grad],
)

# %% leaves-run tags=["hide-output"] claims=["C23", "D7", "D33"]
print("Torch's answer:")
print("                                   requires_grad  is_leaf  grad_fn")
for how, t in made_under_no_grad().items():
    print(f"{how:35}{t.requires_grad!s:15}{t.is_leaf!s:9}{t.grad_fn}")

# %% leaves-view [markdown]
# The views are the strange ones: they require grad, and there is no `grad_fn` that would lead to
# `w`. So where does a gradient go that comes to such a view?

# %% leaves-view-show claims=["D7"]
# %%gradviz --step -1
w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
with torch.no_grad():
    v = w.view(1, 2)
loss = (v * 3).sum()
loss.backward()

# %% leaves-view-watch [markdown]
# **Watch.** Nowhere. `loss` has a `grad_fn`, `backward()` runs without an error, and the way ends
# at the view: no `AccumulateGrad`, no gradient for `w`, none for `v`. So do not carry a view out of
# such a block.
#
# The other way round it is worse. Here the *result of a node* is written to inside the block.
# **Predict.**


# %% leaves-write-predict tags=["hide-input"]
# question
def gradient_after_the_write():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    d = a + 1
    with torch.no_grad():
        d *= 10
    d.sum().backward()
    return f"{a.grad[0]:g} and {a.grad[1]:g}"


choose(
    "`d = a + 1`, and under `no_grad` `d *= 10`. Then `d.sum().backward()`. What is `a.grad`?",
    {
        "10 and 10": "So it should be: d is 10 * (a + 1) now. But that was not recorded.",
        "1 and 1": "The graph knows of the addition only, and the numbers of d are others.",
    },
    right=gradient_after_the_write(),
)

# %% leaves-write-run tags=["hide-output"] claims=["D36"]
print("Torch's answer:")
a = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
c = d = a + 1
with torch.no_grad():
    c = c + 5
    d *= 10
print("c = c + 5:", c.grad_fn)
print("d *= 10:  ", d.grad_fn.name(), "as before, and d is", d.tolist())
d.sum().backward()
print("a.grad:   ", a.grad.tolist())

# %% leaves-write-explain [markdown]
# `c` is a new tensor, without a node. `d` is the old one, with the node it had, and that one knows
# nothing of the write. So the gradient is wrong, and torch raises nothing. gradviz tells you all
# the same, if it has recorded the lines:

# %% leaves-write-card claims=["D36"]
with gradviz.expect_error() as error:
    a = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    d = a + 1
    with torch.no_grad():
        d *= 10
    d.sum().backward()
error

# %% inference [markdown]
# ## inference_mode
#
# `torch.inference_mode()` goes further: what is computed inside has no version counter, and so
# autograd cannot watch over it. **Predict.** `t` was computed inside, `w` requires grad, and now we
# are outside again.


# %% inference-program
def attempts():
    w = torch.ones(2, device=device, requires_grad=True)
    with torch.inference_mode():
        t = torch.ones(2, device=device) * 2
    return {
        "t + w": lambda: t + w,
        "t * w": lambda: t * w,
        "t.clone() * w": lambda: t.clone() * w,
        "t.add_(1)": lambda: t.add_(1),
        "t.requires_grad_()": lambda: t.requires_grad_(),
        "t._version": lambda: t._version,
    }


def works(attempt):
    try:
        attempt()
    except RuntimeError:
        return False
    return True


# %% inference-predict tags=["hide-input"]
# question
tick(
    "Which of these work, outside of `inference_mode`?",
    {
        "t + w": "An addition keeps nothing, so it may have any input.",
        "t * w": "The gradient of w is made with t: t would have to be kept.",
        "t.clone() * w": "A copy that is made outside is a tensor like any other.",
        "t.add_(1)": "It has no version counter that could tell.",
        "t.requires_grad_()": "Only inside can an inference tensor be made to require grad.",
        "t._version": "There is none.",
    },
    right=[how for how, attempt in attempts().items() if works(attempt)],
)

# %% inference-run tags=["hide-output"] claims=["D37", "D38"]
print("Torch's answer:")
for how, attempt in attempts().items():
    print(f"{how:20}{'works' if works(attempt) else 'RuntimeError'}")


@torch.inference_mode()
def double(w):
    return w * 2


t = double(torch.ones(2, device=device, requires_grad=True))
print("as a decorator:", "requires_grad", t.requires_grad, "  inference tensor", t.is_inference())

# %% inference-explain [markdown]
# **Heard in the wild, and half right:** "what was computed in inference mode can never be in a
# graph." It can never be *kept* by one. `t + w` keeps nothing, and works, with a graph.
#
# **In a sentence:** `no_grad` makes tensors that may be used everywhere later; `inference_mode`
# makes tensors for looking at.

# %% parentheses [markdown]
# ## With or without parentheses
#
# The same switch can stand above a function. **Predict.** Inside of which functions is nothing
# recorded?


# %% parentheses-program
@torch.no_grad()
def usual(w):
    return w * 2


@torch.no_grad
def bare(w):
    return w * 2


def statement(w):
    torch.no_grad()
    return w * 2


def until_the_end(w):
    torch.set_grad_enabled(False)
    return w * 2


# %% parentheses-predict tags=["hide-input"]
# question
def records_nothing(function):
    with torch.enable_grad():
        return not function(torch.ones(1, requires_grad=True)).requires_grad


tick(
    "In which of the four is nothing recorded?",
    {
        "usual": "As it is mostly written.",
        "bare": "torch sees that it was given a function, and takes it as meant.",
        "statement": "This makes an object and throws it away. Nothing is switched.",
        "until_the_end": "This one switches at once, and nobody switches back.",
    },
    right=[
        function.__name__
        for function in (usual, bare, statement, until_the_end)
        if records_nothing(function)
    ],
)

# %% parentheses-run tags=["hide-output"] claims=["X30"]
print("Torch's answer:")
w = torch.ones(1, device=device, requires_grad=True)
for function in (usual, bare, statement):
    print(f"{function.__name__:10} requires_grad {function(w).requires_grad}")
until_the_end(w)
print("after until_the_end() torch records:", torch.is_grad_enabled())
torch.set_grad_enabled(True)
print("and from now on again:              ", torch.is_grad_enabled())

# %% evaluate [markdown]
# ## model.eval()
#
# A small model, with the two layers that `eval()` is for. (It stays on the CPU: on a GPU, BatchNorm
# and dropout have nodes of other names.) **Predict.**


# %% evaluate-program
def network():
    torch.manual_seed(0)
    with torch.device("cpu"):
        layers = nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1)
    return nn.Sequential(*layers)


def batch():
    torch.manual_seed(1)
    return torch.randn(16, 3, device="cpu")


# %% evaluate-program-look
def looked_at(model):
    """What can be seen of a forward pass with this model."""
    norm_before = model[1].running_mean.clone()
    h = model[:3](batch())
    return {
        "dropout sets numbers to 0": bool((h == 0).any()),
        "BatchNorm goes on averaging": not torch.equal(model[1].running_mean, norm_before),
        "a graph is made": h.grad_fn is not None,
        "the weights require grad": all(p.requires_grad for p in model.parameters()),
    }


# %% evaluate-predict tags=["hide-input"]
# question
training, evaluating = looked_at(network().train()), looked_at(network().eval())
tick(
    "Which of these change when you call `model.eval()`?",
    {
        "dropout sets numbers to 0": "It hands on what it gets.",
        "BatchNorm goes on averaging": "It uses the averages that it has, and leaves them alone.",
        "a graph is made": "eval() does not know autograd. The graph is made as ever.",
        "the weights require grad": "No flag of a tensor is touched.",
    },
    right=[what for what in training if training[what] != evaluating[what]],
)

# %% evaluate-run tags=["hide-output"] claims=["D39"]
print("Torch's answer:")
print("                             train()  eval()")
for what in training:
    print(f"{what:29}{training[what]!s:9}{evaluating[what]}")

# %% evaluate-compare [markdown]
# The two graphs, compared node by node:

# %% evaluate-compare-show claims=["D39"]
x = batch()
trained = gradviz.snapshot(network().train()(x).sum())
evaluated = gradviz.snapshot(network().eval()(x).sum())
gradviz.compare(trained, evaluated)

# %% evaluate-watch [markdown]
# **Watch.** Dropout has a node as long as it drops: a product, with zeros in it. In evaluation it
# has none. The node of BatchNorm is the same, with another switch in it, and keeps less. All other
# nodes and edges, and all the flags, are what they were.

# %% freeze [markdown]
# ## requires_grad_(False)
#
# The fourth switch *freezes*: it does turn a flag, of the tensors that you name. Here a model in
# three parts, and the one in the middle is not to be trained. Somebody freezes it, somebody else
# computes it under `no_grad`. Is that the same? **Predict.**


# %% freeze-program
class Parts(nn.Module):
    def __init__(self, middle_under_no_grad):
        super().__init__()
        self.first, self.middle, self.last = (nn.Linear(3, 3, bias=False) for _ in range(3))
        self.middle_under_no_grad = middle_under_no_grad

    def forward(self, x):
        h = self.first(x)
        with torch.set_grad_enabled(not self.middle_under_no_grad):
            h = self.middle(h)
        return self.last(h)


def loss_with(how):
    torch.manual_seed(0)
    model = Parts(middle_under_no_grad=how == "no_grad").to(device)
    model.middle.requires_grad_(how != "frozen")
    return model(torch.ones(2, 3, device=device)).sum(), model


# %% freeze-predict tags=["hide-input"]
# question
def gets_a_gradient(how):
    loss, model = loss_with(how)
    loss.backward()
    return [name for name, layer in model.named_children() if layer.weight.grad is not None]


tick(
    "The middle layer runs under `no_grad`. Whose weights get a gradient?",
    {
        "first": "It would, if the middle were frozen: gradients pass a frozen layer.",
        "middle": "Nothing was recorded there.",
        "last": "It comes after the block.",
    },
    right=gets_a_gradient("no_grad"),
)

# %% freeze-run tags=["hide-output"] claims=["E5"]
print("Torch's answer:")
for how in ("nothing", "frozen", "no_grad"):
    print(f"{how:9}", "a gradient for", ", ".join(gets_a_gradient(how)))

# %% freeze-compare [markdown]
# Compared with the model in which all is trained, what has the frozen layer lost?

# %% freeze-compare-show claims=["E5"]
loss, model = loss_with("nothing")
trained = gradviz.snapshot(loss, model)
loss, model = loss_with("frozen")
gradviz.compare(trained, gradviz.snapshot(loss, model))

# %% freeze-compare-no-grad [markdown]
# **Watch.** One leaf is gone, and the node through which it was reached; the way from top to bottom
# is open. And now with `no_grad` in the middle:

# %% freeze-compare-no-grad-show claims=["D33", "E5"]
loss, model = loss_with("no_grad")
gradviz.compare(trained, gradviz.snapshot(loss, model))

# %% freeze-audit [markdown]
# **Watch.** Everything before the block is gone.
#
# In a large model nobody wants to look for that in a picture. An *audit* asks for every parameter
# whether it gets a gradient, and if not, why. You may ask before you call backward. First the model
# with the frozen layer:

# %% freeze-audit-show claims=["E5"]
loss, model = loss_with("frozen")
gradviz.audit(loss, model)

# %% freeze-no-grad [markdown]
# And with the middle under `no_grad`. What cut the way is not in the graph: it is what is *not*
# there. A recording of the forward has seen it.

# %% freeze-no-grad-show claims=["D33", "E5"]
_, model = loss_with("no_grad")
with gradviz.record(into=Parts.forward) as recording:
    loss = model(torch.ones(2, 3, device=device)).sum()
gradviz.audit(loss, model, recording=recording)

# %% freeze-explain [markdown]
# **Watch** the column `reason`, and in the picture the place where the graph ends too early.
#
# **In a sentence:** a flag is turned off for one parameter, and the way through its layer stays
# open; `no_grad` closes the way for all that comes before.
#
# Where nobody on the way requires grad, there is no node, and backward never comes there. A
# Function of our own can tell whether its backward was called:


# %% freeze-calls-run claims=["E5"]
class Told(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, gradient):
        called.append("backward")
        return gradient * 3


for flag in (True, False):
    called = []
    x = torch.ones(2, device=device, requires_grad=flag)
    w = torch.ones(2, device=device, requires_grad=True)
    (Told.apply(x) + w).sum().backward()
    print(f"its input requires grad: {flag!s:6} its backward was called {len(called)} times")

# %% lanes [markdown]
# ## Five lanes
#
# One forward pass, five times: in training, with `eval()`, under `no_grad`, in `inference_mode`,
# and with all parameters frozen. Five questions to each. First **predict** one row.


# %% lanes-program
LANES = ("train", "eval", "no_grad", "inference_mode", "frozen")
MODES = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode}


def lane(*switches):
    model, norm = network(), network()[1].running_mean
    model.train("eval" not in switches).requires_grad_("frozen" not in switches)
    mode = next((MODES[name] for name in switches if name in MODES), torch.enable_grad)
    with mode():
        h = model[:3](batch())
        flag = model[0].weight.requires_grad
    w = torch.ones(1, device="cpu", requires_grad=True)
    return {
        "a graph is made": h.grad_fn is not None,
        "the weight's flag": flag,
        "dropout is active": bool((h == 0).any()),
        "BatchNorm moves": not torch.equal(model[1].running_mean, norm),
        "can be kept later": works(lambda: h * w),
    }


# %% lanes-predict tags=["hide-input"]
# question
tick(
    "In which lanes is no graph made?",
    {
        "train": "The usual case.",
        "eval": "It is about dropout and BatchNorm only.",
        "no_grad": "Nothing is recorded.",
        "inference_mode": "Nothing is recorded, and there are no versions either.",
        "frozen": "Neither the weights nor the input require grad: nothing is to be recorded.",
    },
    right=[name for name in LANES if not lane(name)["a graph is made"]],
)

# %% lanes-run tags=["hide-output"] claims=["C23", "D33", "D37", "D39"]
print("Torch's answer:")
rows = {name: lane(name) for name in LANES}
print(" " * 18, *(f"{name:15}" for name in LANES))
for question in rows["train"]:
    print(f"{question:18}", *(f"{'yes' if rows[name][question] else 'no':15}" for name in LANES))

# %% lanes-explain [markdown]
# No two columns are the same. The flag of the weight is off in one lane only, the frozen one. And
# the last row tells what a result is still good for.
#
# Four of the five in one player, for a single multiplication:

# %% lanes-show claims=["C23", "D33", "D38"]
# %%gradviz --step -1
w = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
trained = w * 2
with torch.no_grad():
    validated = w * 2
with torch.inference_mode():
    inferred = w * 2
w.requires_grad_(False)
frozen = w * 2

# %% lanes-watch [markdown]
# **Watch** the table of tensors. `trained` comes out of the node, the others stand alone. `w` says
# True until you turn its flag off yourself, in line 8. And `inferred` has no version: nobody will
# notice when it is written to, so nobody may keep it.

# %% faster [markdown]
# ## Is it faster?
#
# **Heard in the wild, and right:** "one stops the tracking to make forward faster." What is left
# out?


# %% faster-run claims=["C27"]
def recorded(mode):
    w = torch.ones(4, device=device, requires_grad=True)
    with mode():
        out = (w * w).exp().sum()
    if out.grad_fn is None:
        return 0, 0
    graph = gradviz.snapshot(out)
    return len(graph.nodes), graph.saved_bytes


for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
    nodes, saved = recorded(mode)
    print(f"{mode.__name__:15} {nodes} nodes made, {saved:2} bytes kept")

# %% faster-explain [markdown]
# To make a node takes less than a microsecond. On one machine a small operation took 4.6 µs with
# recording, 4.0 under `no_grad` and 3.3 in `inference_mode`; for two large matrix products there
# was no difference. The memory counts more: what is not kept makes room for a larger batch. To
# measure on your machine, take the `#` away:


# %% faster-program
def microseconds(mode, size, times=1000):
    from timeit import timeit

    w = torch.ones(size, size, device=device, requires_grad=True)
    with mode():
        return timeit(lambda: w * w, number=times) / times * 1e6


# print([microseconds(mode, 1) for mode in (torch.enable_grad, torch.no_grad)])

# %% what-if [markdown]
# ## What if?
#
# `no_grad` covers the product only. Switch it, and the flags of `a` and `b`, and say each time what
# is left of the graph.


# %% what-if-explore
def program(a, b, no_grad=False):
    with torch.set_grad_enabled(not no_grad):
        product = a * b
    out = product * b
    return {"product": product, "out": out}


gradviz.explore(program, a=2.0, b=3.0)

# %% repair [markdown]
# ## Repair a broken program
#
# A finished model makes features of a picture, and a new layer on top of it is to be trained. The
# finished part is not to be recorded, so somebody chose the strongest switch.


# %% repair-program
def two_parts():
    finished, top = nn.Linear(4, 3).to(device), nn.Linear(3, 1).to(device)
    for parameter in (*finished.parameters(), *top.parameters()):
        nn.init.constant_(parameter, 0.5)
    return finished, top


# %% repair-broken
finished, top = two_parts()
with gradviz.expect_error() as error:
    picture = torch.ones(2, 4, device=device)
    with torch.inference_mode():
        features = finished(picture)
    loss = top(features).sum()
    loss.backward()
print("raised:", error.raised)

# %% repair-predict tags=["hide-input"]
# question
lines = {
    5: "features = finished(picture)",
    6: "loss = top(features).sum()",
    7: "loss.backward()",
}
choose(
    "Which line did torch stop at?",
    {
        lines[5]: "That is what the block is made for.",
        lines[6]: "The new layer has to keep its input, and may not.",
        lines[7]: "It does not come to that: there is no graph yet.",
    },
    right=lines[error.noticed.line],
)

# %% repair-card tags=["hide-output"] claims=["D37"]
print("Torch's answer:")
error

# %% repair-card-watch [markdown]
# **Read** the card. The culprit is the line that made `features`; torch could refuse only where
# somebody wanted to keep them. Two fixes are offered. Which of them copies numbers, and which
# does not?

# %% repair-show tags=["hide-output"] claims=["D37"]
print("Torch's answer:")
gradviz.show(error)

# %% repair-ask [markdown]
# **Your turn.** Change the first line.

# %% repair-try
mode = torch.inference_mode

finished, top = two_parts()
with mode():
    features = finished(torch.ones(2, 4, device=device))
try:
    top(features).sum().backward()
    only_top = finished.weight.grad is None
    print("repaired: the top has a gradient" if only_top else "not yet: so has the finished part")
except RuntimeError:
    print("not yet: the top layer may not keep its input")

# %% repair-solution [markdown]
# The next cell holds a solution. Click its `…` to open it, or press
# <kbd>Shift</kbd>+<kbd>Enter</kbd> here and then <kbd>Enter</kbd>.

# %% repair-solution-run tags=["hide-input"]
# solution
mode = torch.no_grad
# Nothing is recorded for the finished part, and its result is a tensor like any other.

# To turn the flags off does it as well: no node is made where nothing requires grad.
finished.requires_grad_(False)
features = finished(torch.ones(2, 4, device=device))
print("features require grad:", features.requires_grad)
print("the top may keep them:", works(lambda: top(features)))

# %% evaluated [markdown]
# ## True or false?
#
# **Heard in the wild:** "`model.eval()` turns gradients off for some operations, so validation does
# not need `no_grad`."
#
# Then there should be less of a graph, and parameters without a gradient.

# %% evaluated-run claims=["D39"]
model = network().eval()
loss = model(batch()).sum()
graph = gradviz.snapshot(loss, model)
loss.backward()
print("nodes:", len(graph.nodes), "  bytes kept for backward:", graph.saved_bytes)
print("parameters without a gradient:", sum(p.grad is None for p in model.parameters()))

# %% evaluated-explain [markdown]
# **False.** Every parameter has its gradient, and the memory was kept. For validation you want
# both: `eval()` for the numbers, `no_grad` or `inference_mode` for the memory.

# %% exercise [markdown]
# ## On your own
#
# Switches can be combined. For each pair answer the five questions of the table, in its order, with
# `yes` or `no`: graph? flag of the weight? dropout? BatchNorm moves? can be kept later?


# %% exercise-try
def check_pairs(**answers):
    for name, mine in answers.items():
        truth = ["yes" if answer else "no" for answer in lane(*name.split("_and_")).values()]
        print(f"{name}: {sum(m == t for m, t in zip(mine.split(), truth))} of {len(truth)} right")


check_pairs(
    eval_and_no_grad="? ? ? ? ?",
    frozen_and_eval="? ? ? ? ?",
    frozen_and_inference_mode="? ? ? ? ?",
)

# %% exercise-solution tags=["hide-input"]
# solution
check_pairs(
    eval_and_no_grad="no yes no no yes",
    frozen_and_eval="no no no no yes",
    frozen_and_inference_mode="no no yes yes no",
)

# %% construct [markdown]
# Now set the switches for this: you want to know which numbers of the *input* matter for the
# result. So the input gets a gradient, no parameter gets one, dropout is off, and BatchNorm stays
# as it is.

# %% construct-try
model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
x = torch.randn(16, 3, requires_grad=True)
model.train()

norm = model[1].running_mean.clone()
model(x).sum().backward()
parameters = sum(p.grad is not None for p in model.parameters())
moved = not torch.equal(model[1].running_mean, norm)
print("x has a gradient:", x.grad is not None, "  parameters with one:", parameters)
print("done" if x.grad is not None and parameters == 0 and not moved else "not yet")

# %% summary [markdown]
# ## In two sentences
#
# `no_grad` and `inference_mode` switch off the recording in this thread, and the second also what
# would allow to use the results later; `requires_grad_(False)` turns the flags of some tensors, and
# lets gradients pass; `eval()` changes what dropout and BatchNorm compute, and nothing else.
# Ask which of the four things you want, and you know the switch.
#
# **Next:** [9. Taking a value out](09-taking-a-value-out.ipynb) goes through the doors by which a
# value leaves a graph.
