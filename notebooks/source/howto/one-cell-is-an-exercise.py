# %% title [markdown]
# # One cell is an exercise
#
# A question about a program usually goes out of date: somebody writes the program, somebody writes
# the answer, and one of the two changes. Here both are one cell. `gradviz.predict` decorates the
# program, runs it once, and what it returns is the answer.
#
# A learner answers in the output: *Check*, a second try, then torch's answer, a sentence on what
# was wrong, and the recording of that very run, step by step. None of it needs a kernel any more.

# %% setup
import tempfile
from pathlib import Path

import torch

import gradviz

# %% choose-words [markdown]
# ## One of several options
#
# Each option has the sentence that is shown when it was chosen. The function returns the right one;
# its other lines are the program of the question. A `return` at its end is not shown, so what turns
# the result into an option goes there.


# %% choose
@gradviz.predict(
    "`a` is 2. What is `a.grad` after both calls of backward?",
    choose={
        "3": "One call brings 3, and a second gradient is added, not put in its place.",
        "6": "Each call adds 3 to `a.grad`: the leaf accumulates.",
        "None": "`a` is a leaf that requires grad, so it gets a gradient.",
    },
)
def adds_up():
    a = torch.tensor(2.0, requires_grad=True)
    (a * 3).backward()
    (a * 3).backward()
    return f"{a.grad:g}"


# %% error-words [markdown]
# The program may fail: then the answer is the option that names the type of the error. If no option
# does, the cell says so, and no question is shown.


# %% error
@gradviz.predict(
    "`exp` saves its result for backward. Which call needs what is no longer there?",
    choose={
        "none: both calls work": "The first call freed what `ExpBackward0` had saved.",
        "the second raises RuntimeError": "What it needs was freed by the first call.",
        "the first raises TypeError": "Before the first call nothing was freed.",
    },
)
def twice():
    out = torch.ones(2, requires_grad=True).exp().sum()
    out.backward()
    out.backward()


# %% tick-words [markdown]
# ## All that hold
#
# With `tick` the function returns a list or a set. A last row, *none of these*, is always there.


# %% tick
@gradviz.predict(
    "Which of these tensors are leaves?",
    tick={
        "`w`": "A person made it.",
        "`frozen`": "What does not require grad is a leaf, whoever made it.",
        "`out`": "An operation made it, and it requires grad.",
    },
)
def leaves():
    w = torch.ones(2, requires_grad=True)
    frozen = torch.ones(2) * 3
    out = w * frozen
    return [f"`{n}`" for n, t in {"w": w, "frozen": frozen, "out": out}.items() if t.is_leaf]


# %% table-words [markdown]
# ## A table to fill in
#
# Rows and their columns, each a flag, or with choices of your own. Sentences in `wrong` are for a
# row, a column, or one cell. After the answer the table shows itself corrected.


# %% table
@gradviz.predict(
    "Fill in what torch says after backward.",
    table={
        "a": {"is_leaf": (True, False), ".grad": ("None", "a tensor")},
        "out": {"is_leaf": (True, False), ".grad": ("None", "a tensor")},
    },
    wrong={"out .grad": "Gradients of results are thrown away, unless `retain_grad()` asks."},
)
def flags():
    a = torch.tensor(2.0, requires_grad=True)
    out = a * a
    out.retain_grad()
    out.backward()
    rows = {"a": a, "out": out}
    return {n: [t.is_leaf, "None" if t.grad is None else "a tensor"] for n, t in rows.items()}


# %% typed-words [markdown]
# ## A number, typed
#
# A number, a list, a tensor or `None`; `1/3` and `tensor([1., 2.])` can be typed too. Numbers are
# compared as `torch.testing` does. `wrong` has sentences for the values that people try.


# %% typed
@gradviz.predict(
    "`a` is used twice. What is its gradient?",
    typed="a.grad",
    wrong={"1": "One path brings 1.", "4": "The other path brings 4."},
    why="Gradients of all paths are added up: 2 × 2 and 1.",
)
def two_paths():
    a = torch.tensor(2.0, requires_grad=True)
    out = a * a + a
    out.backward()
    return a.grad


# %% order-words [markdown]
# ## Steps in order
#
# List them in another order than the right one, since the cell may be read. They are shown
# shuffled, and moved by buttons or by the arrow keys. The function returns the right order, here
# from hooks that note which node runs.


# %% order
@gradviz.predict(
    "In which order does backward run these nodes?",
    order={
        "`ExpBackward0`": "Its gradient has to arrive from `SumBackward0` first.",
        "`AccumulateGrad`": "It is the end of the path: the leaf.",
        "`SumBackward0`": "",
    },
)
def engine():
    a = torch.ones(2, requires_grad=True)
    out = a.exp().sum()
    ran = []
    total = out.grad_fn
    exp = total.next_functions[0][0]
    leaf = exp.next_functions[0][0]
    total.register_hook(lambda *_: ran.append("`SumBackward0`"))
    exp.register_hook(lambda *_: ran.append("`ExpBackward0`"))
    leaf.register_hook(lambda *_: ran.append("`AccumulateGrad`"))
    out.backward()
    return ran


# %% click-words [markdown]
# ## A click in the picture
#
# The picture is that of the graph before what is asked, without what would give the answer away.
# With `click="node"` the function returns the node; if it raises in backward, the answer is the
# node that raised. `"nodes"`, `"tensor"` and `"tensors"` are the others.


# %% click
@gradviz.predict(
    "Backward raises. At which node? Click it.",
    click="node",
    wrong={"SinBackward0": "It saved its input, `h`, after the write.", "SumBackward0": ""},
    why="`ExpBackward0` saved its result, `h`, and `mul_` wrote to that.",
)
def raises():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    h = a.exp()
    h.mul_(2)
    h.sin().sum().backward()


# %% edges-words [markdown]
# ## Gradients on the edges
#
# `edges="all"`, or a list of edges, each as a node and where it passes its gradient. The key is
# what backward passed; the function returns nothing.


# %% edges
@gradviz.predict(
    "`a` is 2, `b` is 3. Which gradients travel along these edges?",
    edges=["MulBackward0 -> a", "AddBackward0 -> a"],
    wrong={"MulBackward0 -> a": "The derivative of `a * b` for `a` is `b`."},
)
def travels():
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    out = a * b + a
    out.backward()


# %% repair-words [markdown]
# ## A program to repair
#
# `gradviz.repair` runs what the learner has typed with each `given`, and compares returned values,
# gradients and parameters with those of `solution`: every program that does it is right. It looks
# at no text. A wrong fix that people try has a sentence of its own, and is known by what it does.


# %% repair-with
def solution(x):
    h = x.exp()
    (h + 1).log().sum().backward()


def hidden(x):
    h = x.exp()
    h.data.add_(1)
    h.log().sum().backward()


# %% repair
@gradviz.repair(
    goal="`x.grad` is the gradient of the sum of log(1 + exp(x)).",
    given=[
        {"x": torch.tensor([0.0, 1.0], requires_grad=True)},
        {"x": torch.tensor([-1.0, 2.0], requires_grad=True)},
    ],
    solution=solution,
    hints=[
        "Which node has saved the tensor that `add_` writes?",
        "`ExpBackward0` needs its result as it was.",
        "Let the addition make a new tensor.",
    ],
    wrong={hidden: "`.data` hides the write from the version; the gradient is wrong."},
)
def program(x):
    h = x.exp()
    h.add_(1)
    h.log().sum().backward()


# %% repair-after [markdown]
# Whoever reads these cells reads the solution. For learners, put `solution` and the wrong fixes
# into a file of your own beside the notebook, and import them.

# %% check-words [markdown]
# ## A check
#
# `gradviz.check` asks short questions, for a cell, a test of pytest, otter-grader or nbgrader. A
# check that holds says so. One that does not hold raises an `AssertionError` with what was found,
# why, and what to type.

# %% check
x = torch.tensor([0.0, 1.0], requires_grad=True)
loss = x.exp().sum()
print(gradviz.check.gets_grad(loss, x))
try:
    gradviz.check.is_leaf(loss)
except gradviz.CheckFailed as failed:
    print(failed)

# %% after-words [markdown]
# ## What you can do with it
#
# The name of the function is now the question. It judges answers in Python by the same rules, has
# the recording, and can be saved as a page that works offline.

# %% after
print(two_paths.question.judge("4"))
print(two_paths.question.recording.graph["n0"].name)
with tempfile.TemporaryDirectory() as folder:
    two_paths.save(Path(folder, "question.html"))

# %% secret [markdown]
# **What is stored.** This notebook stores the question and a digest of torch's answer, not the
# answer: `pytest --nbval` fails as soon as torch answers otherwise. Where a page is open, the
# browser judges without a kernel; so the answer is in that page, encoded, not secret.
#
# What was answered is kept by the browser, never in the notebook. *Start again* forgets one
# answer; `gradviz.predict.reset()` shows a button that forgets all of them. After
# `%load_ext gradviz` and `%gradviz answers` each question stores its answer and all sentences: an
# edition for teachers.
