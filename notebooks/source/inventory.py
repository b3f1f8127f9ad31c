# %% title [markdown]
# # Thirteen questions about autograd
#
# For each of the thirteen things that people most often get wrong there is one question. Take the
# test before the course, and again after it. It takes about twenty minutes.
#
# - Choose *Run → Run All Cells* first.
# - Read each program, and answer by thinking: run nothing else. A guess is an answer, too.
# - Nothing is judged before the end, and an answer can be changed until then.

# %% setup-run tags=["hide-input"]
import warnings

import torch
from torch import nn

import gradviz

warnings.filterwarnings("ignore", "The .grad attribute")
torch.manual_seed(0)


def error_of(call):
    """What a call raises, as text; nothing if it works."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return ""


def works(call):
    return error_of(call) == ""


def fitting(text, options):
    return next(option for sign, option in options.items() if sign in text)


def after_backward(loss, w):
    w.grad = None
    is_run = works(loss.backward)
    return "raises" if not is_run else "w gets none" if w.grad is None else "w gets a gradient"


def after_write(code, w):
    names = {"torch": torch, "w": w.detach().clone().requires_grad_()}
    return "works" if works(lambda: exec(code, names)) else "raises"


def is_twice(w, numbers):
    return w.grad is not None and w.grad.tolist() == [2 * number for number in numbers]


# %% two-batches tags=["hide-input"] confusions=[4]
@gradviz.predict(
    "What is `w.grad` at the end?",
    typed="w.grad",
    wrong={
        "2": "So it would be if each backward replaced the gradient. It adds to it.",
        "12": "So it would be if nothing had been cleared in between.",
        "7": "`w.grad = None` takes both away, the 3 and the 5.",
    },
    why="Every backward adds to `.grad`, and `None` clears it: 2 and 2 are left.",
    test="inventory",
    about="Backward adds to `.grad`. Who clears it, and when?",
    see="05-gradients-add-up",
)
def two_batches():
    w = torch.tensor(1.0, requires_grad=True)
    (3 * w).backward()
    (5 * w).backward()
    w.grad = None
    (2 * w).backward()
    (2 * w).backward()
    return w.grad


# %% own-step tags=["hide-input"] confusions=[3]
@gradviz.predict(
    "A step by hand, and backward again. What is `x.grad` then?",
    typed="x.grad",
    wrong={
        "1.6": "The gradient is 1.6 at that place. But the name `x` belongs to a result now.",
        "3.6": "So it would be if `x` were still the leaf. The name belongs to a result now.",
        "2": "The leaf has this 2, and it has no name any more.",
    },
    why="`x - 0.1 * x.grad` was recorded. `x` is its result, and a result keeps no gradient.",
    test="inventory",
    about="Which tensor is the leaf? A gradient is kept there, and not at a result.",
    see="01-which-tensors-remember",
)
def own_step():
    x = torch.tensor(1.0, requires_grad=True)
    (x * x).backward()
    x = x - 0.1 * x.grad
    (x * x).backward()
    return x.grad


# %% three-ways tags=["hide-input"] confusions=[10]
@gradviz.predict(
    "What does backward do, of each of the three alone?",
    table={
        "loss1": {"backward": ("raises", "w gets a gradient", "w gets none")},
        "loss2": {"backward": ("raises", "w gets a gradient", "w gets none")},
        "loss3": {"backward": ("raises", "w gets a gradient", "w gets none")},
    },
    wrong={
        "loss1": "`stack` is an operation and was recorded.",
        "loss2": "Numbers of Python remember nothing, and the new tensor does not require grad: "
        "there is no graph.",
        "loss3": "There is a graph again, and it ends at the new leaf. Nothing is raised, and `w` "
        "learns nothing.",
    },
    test="inventory",
    about="Some calls take numbers out of the graph, and no later flag brings the path back.",
    see="02-reading-the-graph",
)
def three_ways():
    w = torch.tensor(2.0, requires_grad=True)
    a, b = w * 3, w * w
    numbers = [a.item(), b.item()]
    loss1 = torch.stack([a, b]).sum()
    loss2 = torch.tensor(numbers).sum()
    loss3 = torch.tensor(numbers, requires_grad=True).sum()
    return {
        name: [after_backward(loss, w)]
        for name, loss in {"loss1": loss1, "loss2": loss2, "loss3": loss3}.items()
    }


# %% next-node tags=["hide-input"] confusions=[13]
@gradviz.predict(
    "Where does `e.grad_fn.next_functions` lead? Click that node.",
    click="node",
    wrong={
        "SumBackward0": "Forward went there next. `next_functions` leads to where a gradient goes.",
        "ExpBackward0": "That is `e.grad_fn` itself.",
        "w": "The leaf is one node further.",
    },
    test="inventory",
    about="Which way the arrows of the graph point, and what they lead to.",
    see="02-reading-the-graph",
)
def next_node():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    e = h.exp()
    loss = e.sum()
    return loss.grad_fn.next_functions[0][0].next_functions[0][0]


# %% several-numbers tags=["hide-input"] confusions=[11]
@gradviz.predict(
    "`y` has three elements. What is `x.grad`?",
    typed="x.grad",
    wrong={
        "[2, 4, 6]": "So it would be with `torch.ones(3)`: a 1 for each element.",
        "[1, 0, 10]": "That is what arrives at `y`. From there it goes through the square.",
        "[2, 0, 6]": "The numbers are multiplied with, they do not choose elements.",
        "None": "`x` is a leaf that requires grad, and backward reaches it.",
    },
    why="Backward begins with the numbers that it is given, and multiplies each by the slope, 2x.",
    test="inventory",
    about="What backward begins with, and what the gradient that it is given does.",
    see="03-who-gets-a-gradient",
)
def several_numbers():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    y.backward(gradient=torch.tensor([1.0, 0.0, 10.0]))
    return x.grad


# %% once-more tags=["hide-input"] confusions=[2]
@gradviz.predict(
    "Two calls of backward have run. Which of these work now?",
    tick={
        "loss1.backward()": "`ExpBackward0` has run, and what it had saved is freed.",
        "loss2.backward()": "Another loss, and the same `trunk`: `ExpBackward0` is in both graphs.",
        "loss3.backward()": "Here `exp` ran a second time: another node, with its own result.",
        "plus.backward()": "Nothing was saved, so nothing is missing.",
    },
    test="inventory",
    about="What backward frees, and which losses share it.",
    see="04-twice-through-the-same-graph",
)
def once_more():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    trunk = w.exp()
    loss1 = trunk.sum()
    loss2 = (trunk * 3).sum()
    loss3 = (w.exp() * 3).sum()
    plus = (w + 1).sum()
    loss1.backward()
    plus.backward()
    return [
        f"{name}.backward()"
        for name, loss in {"loss1": loss1, "loss2": loss2, "loss3": loss3, "plus": plus}.items()
        if works(loss.backward)
    ]


# %% for-the-log tags=["hide-input"] confusions=[7]
@gradviz.predict(
    "Each of these could end a pass of a long loop. Which keep the graphs of all passes in memory?",
    tick={
        "losses.append(loss)": "The list holds each loss, and each loss its graph.",
        "losses.append(loss.item())": "A number of Python has no graph.",
        "losses.append(loss.detach())": "A tensor with the same value, and without the graph.",
        "total = total + loss": "`total` is a result, and leads to every loss that went into it.",
        "total = total + loss.item()": "A number of Python has no graph.",
    },
    test="inventory",
    about="A graph is there as long as somebody holds its end: a list, a total, a state.",
    see="06-a-new-graph-every-time",
)
def for_the_log():
    w = torch.tensor(2.0, requires_grad=True)
    loss = (w * 3 - 1) ** 2
    return [
        line
        for line, kept in {
            "losses.append(loss)": loss,
            "losses.append(loss.item())": loss.item(),
            "losses.append(loss.detach())": loss.detach(),
            "total = total + loss": 0 + loss,
            "total = total + loss.item()": 0 + loss.item(),
        }.items()
        if getattr(kept, "grad_fn", None) is not None
    ]


# %% keeps-x tags=["hide-input"] confusions=[9]
@gradviz.predict(
    "Which of these operations keep `x` until backward?",
    tick={
        "x + 1": "The gradient is handed on as it is: nothing is saved.",
        "x * 2": "The slope is 2: the 2 is saved, and not `x`.",
        "x.exp()": "The slope is the result, so the result is saved.",
        "x.sin()": "The slope is the cosine of `x`.",
        "x ** 3": "The slope is made of `x`.",
        "x.sum()": "The shape is enough.",
    },
    test="inventory",
    about="What an operation saves: its input, its result, or nothing.",
    see="07-what-forward-keeps",
)
def keeps_x():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return [
        code
        for code, result in {
            "x + 1": x + 1,
            "x * 2": x * 2,
            "x.exp()": x.exp(),
            "x.sin()": x.sin(),
            "x ** 3": x**3,
            "x.sum()": x.sum(),
        }.items()
        if getattr(result.grad_fn, "_saved_self", None) is x
    ]


# %% taken-out tags=["hide-input"] confusions=[5]
@gradviz.predict(
    "`b` is a result with a graph. What is true of what each line makes of it?",
    table={
        "b.detach()": {"memory of b": ("shared", "copied"), "gradient": ("passes", "ends")},
        "b.clone()": {"memory of b": ("shared", "copied"), "gradient": ("passes", "ends")},
        "b.data": {"memory of b": ("shared", "copied"), "gradient": ("passes", "ends")},
        "b.detach().clone()": {"memory of b": ("shared", "copied"), "gradient": ("passes", "ends")},
    },
    wrong={
        "b.detach() memory of b": "`detach()` copies nothing: it is another tensor on the same "
        "memory.",
        "b.clone() gradient": "`clone()` is an operation, and it is recorded.",
        "b.clone() memory of b": "To clone is to copy.",
        "b.data memory of b": "`.data` copies nothing, and torch does not hear of writes to it.",
        "b.detach().clone() memory of b": "To clone is to copy.",
        "gradient": "What is taken out is a leaf: no gradient passes it.",
    },
    test="inventory",
    about="Two questions of each way out of the graph: whose memory, and does a gradient pass?",
    see="09-taking-a-value-out",
)
def taken_out():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a * 2
    return {
        line: [
            "shared" if t.data_ptr() == b.data_ptr() else "copied",
            "passes" if t.requires_grad else "ends",
        ]
        for line, t in {
            "b.detach()": b.detach(),
            "b.clone()": b.clone(),
            "b.data": b.data,
            "b.detach().clone()": b.detach().clone(),
        }.items()
    }


# %% step-between tags=["hide-input"] confusions=[1]
@gradviz.predict(
    "Then `loss2.backward()` is called. What does it do?",
    choose={
        "it gives the gradient at the old w": "`MulBackward0` has saved `w`, and no copy of it.",
        "it gives the gradient at the new w": "torch does not mix the forward of the old `w` with "
        "the backward of the new one: it compares versions.",
        "it raises, as w was written since": "`step()` writes in place. `MulBackward0` had saved "
        "`w` at version 0, and finds version 1.",
        "it raises, as loss1 freed the graph": "The two losses share a leaf and no node: nothing "
        "of `loss2` was freed.",
    },
    test="inventory",
    about="A write in place between forward and backward: which node had saved what was written?",
    see="10-writing-in-place",
)
def step_between():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    loss1, loss2 = (3 * w).sum(), (w * w).sum()
    loss1.backward()
    optimizer.step()
    w.grad = None
    return fitting(
        error_of(loss2.backward),
        {
            "modified": "it raises, as w was written since",
            "freed": "it raises, as loss1 freed the graph",
            "": f"it gives the gradient at the {'old' if is_twice(w, [1, 2]) else 'new'} w",
        },
    )


# %% four-writes tags=["hide-input"] confusions=[12]
@gradviz.predict(
    "`w` is a leaf that requires grad. What does each line do?",
    table={
        "w += 1": {"line": ("raises", "works")},
        "w[0] = 5": {"line": ("raises", "works")},
        "w = w + 1": {"line": ("raises", "works")},
        "with torch.no_grad(): w += 1": {"line": ("raises", "works")},
    },
    wrong={
        "w += 1": "A write in place to a leaf that requires grad is refused at once.",
        "w[0] = 5": "`w[0]` is a view of the leaf: it is the same memory.",
        "w = w + 1": "A new tensor gets the name. Nothing is written.",
        "with torch.no_grad(): w += 1": "Nothing is recorded in the block, so the leaf stays one.",
    },
    test="inventory",
    about="Which writes to a leaf torch refuses, and why.",
    see="10-writing-in-place",
)
def four_writes():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    return {
        code: [after_write(code, w)]
        for code in ("w += 1", "w[0] = 5", "w = w + 1", "with torch.no_grad(): w += 1")
    }


# %% frozen-step tags=["hide-input"] confusions=[6]
@gradviz.predict(
    "The layer in the middle is frozen. Which weights has the step changed?",
    tick={
        "first.weight": "A gradient passes a frozen layer, on its way to those before it.",
        "middle.weight": "It has no gradient, so `step()` skips it, though the optimizer holds it.",
        "last.weight": "Its gradient comes from the loss, whatever is frozen before it.",
    },
    test="inventory",
    about="What freezing stops: the gradient of a parameter, or the way to others; and what the "
    "optimizer does with it.",
    see="11-who-owns-the-parameters",
)
def frozen_step():
    first, middle, last = nn.Linear(1, 1), nn.Linear(1, 1), nn.Linear(1, 1)
    net = nn.Sequential(first, middle, last)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    middle.requires_grad_(False)
    before = [layer.weight.item() for layer in net]
    net(torch.ones(1, 1)).sum().backward()
    optimizer.step()
    return [
        f"{name}.weight"
        for name, layer, old in zip(("first", "middle", "last"), net, before)
        if layer.weight.item() != old
    ]


# %% calls tags=["hide-input"] confusions=[8]
@gradviz.predict(
    "In which order are these four called?",
    order={
        "w: gradient arrives": "It has to pass `h` first.",
        "w: .grad is written": "This comes after all hooks that may change the gradient.",
        "h: first hook": "Of two hooks of one tensor, that which was registered first.",
        "h: second hook": "It gets what the first hook has returned.",
    },
    test="inventory",
    about="In which order hooks run: as the gradient passes, and not as they were registered.",
    see="12-hunting-in-real-code",
)
def calls():
    log = []
    w = torch.tensor(2.0, requires_grad=True)
    w.register_post_accumulate_grad_hook(lambda leaf: log.append("w: .grad is written"))
    w.register_hook(lambda gradient: log.append("w: gradient arrives"))
    h = w * 3
    h.register_hook(lambda gradient: log.append("h: first hook"))
    h.register_hook(lambda gradient: log.append("h: second hook"))
    (h * h).backward()
    return log


# %% end [markdown]
# ## The score
#
# It says how many answers are right, which confusion a wrong one points at, and which lesson helps.
# It shows no answer, so that the test is worth taking again. If your teacher asks for your answers,
# save them as a file and hand it in; there is no name in it.

# %% score
gradviz.predict.score("inventory")
