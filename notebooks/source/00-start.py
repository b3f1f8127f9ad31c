# %% title [markdown]
# # gradviz: lessons on autograd
#
# PyTorch computes gradients for you, and hides how. These lessons show it: every picture here is
# read from the objects torch itself made, at that moment, in this notebook. Twelve lessons of about
# fifteen minutes each; every one begins with a riddle.

# %% lessons-here tags=["hide-input"]
from gradviz.course.delivery import news

print(news())

# %% which [markdown]
# ## Which lesson answers your question?
#
# **New to autograd?** Start with [lesson 1](01-which-tensors-remember.ipynb) and go on from there.
# With a question of your own, go to its lesson; a lesson uses the words of those before it.
#
# - Why is this `.grad` `None`?
#   [1. Which tensors remember?](01-which-tensors-remember.ipynb)
# - How do I read a graph, and where was mine cut?
#   [2. Reading the graph](02-reading-the-graph.ipynb)
# - What does `backward()` do, node by node, and who gets a `.grad`?
#   [3. backward(): who gets a gradient?](03-who-gets-a-gradient.ipynb)
# - Why can `backward()` not run twice, and when can it?
#   [4. Twice through the same graph](04-twice-through-the-same-graph.ipynb)
# - Where does `zero_grad()` belong in a training loop?
#   [5. Gradients add up](05-gradients-add-up.ipynb)
# - Which line makes a graph, and what keeps old ones in memory?
#   [6. A new graph every time](06-a-new-graph-every-time.ipynb)
# - What takes so much memory in forward?
#   [7. What forward keeps for backward](07-what-forward-keeps.ipynb)
# - `no_grad`, `inference_mode`, `eval()` or `requires_grad_(False)`?
#   [8. Four switches that are not the same](08-four-switches.ipynb)
# - `detach()`, `.data`, `item()` or `numpy()`: how does a value leave the graph?
#   [9. Taking a value out](09-taking-a-value-out.ipynb)
# - Why does an in-place write raise in `backward()`, and which line wrote?
#   [10. Writing in place](10-writing-in-place.ipynb)
# - Why does a weight not move, or a frozen one move?
#   [11. Who owns the parameters?](11-who-owns-the-parameters.ipynb)
# - Nothing is raised, and my network learns nothing: where do I look?
#   [12. Hunting in real code](12-hunting-in-real-code.ipynb)
#
# What goes further is in the folder `howto`: short pages, which the lessons name where they end.

# %% more [markdown]
# Beside the lessons:
#
# - Which of the things that I have read about autograd do not hold?
#   [The ledger](ledger.ipynb) runs sixty-nine of them.
# - Could I write `backward()` myself? [In 25 lines](howto/write-backward.ipynb).
# - How do I pay for memory with time? [Checkpointing](howto/checkpointing.ipynb)
#
# **How much do you know already?** [Thirteen questions](inventory.ipynb), to be asked before the
# course and after it.

# %% see [markdown]
# ## See one
#
# Click the next cell and press <kbd>Shift</kbd>+<kbd>Enter</kbd>. It runs the cell and goes to the
# next one.

# %% see-run
import torch

import gradviz

w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
gradviz.show(loss)

# %% use [markdown]
# ## Use a picture
#
# - Click a box to see what torch holds there: shapes, values, saved tensors, hooks.
# - With the keyboard: <kbd>Tab</kbd> into the graph, arrow keys along the edges,
#   <kbd>Enter</kbd> to select, <kbd>Esc</kbd> to let go, <kbd>?</kbd> for all keys.
# - The outline says the same as a table, for reading aloud or for searching.
# - Data flows from top to bottom, as in the code. Backward runs the other way along the same lines.
# - *Legend* names every mark. You need not know them yet: each lesson brings a few.
#
# What you select is known to Python: `picture = gradviz.show(loss)`, then `picture.selected`.
#
# ## Step through a cell
#
# With `%%gradviz` above it, a cell is recorded while it runs. Below it stands a player: *Forward*
# and *Back*, line by line, and node by node inside `backward()`. `--step` says where it opens, and
# `--hide` what its picture leaves out.

# %% record
# %load_ext gradviz

# %% record-run
# %%gradviz --step 3
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
loss.backward()

# %% form [markdown]
# ## How a lesson goes
#
# A *riddle* first. *Predict* what a few lines will do, *run* them, *watch* the graph, *explain* it
# in a sentence, *repair* a broken program, and *bet*: is a statement from the wild true?
#
# torch computes the answer to a question when its cell runs. You see it after your second try at
# the latest, with a sentence on each answer that you gave. A wrong prediction costs nothing and
# helps you remember. In a repair you change the program itself, and ask for hints one at a time.
#
# Cells depend on the ones above them. When something looks odd, choose *Run → Restart Kernel and
# Run up to Selected Cell*.
#
# ## Your own code
#
# `gradviz.show(loss)` works in any notebook, with any `loss` you computed, and so does `%%gradviz`
# above a cell, once `%load_ext gradviz` has been run.
