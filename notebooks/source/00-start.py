# %% title [markdown]
# # gradviz: lessons on autograd
#
# PyTorch computes gradients for you, and hides how. These lessons show it: every picture here is
# read from the objects torch itself made, at that moment, in this notebook.
#
# **Start with** [lesson 1](01-which-tensors-remember.ipynb). Each lesson builds on the one before.
#
# | lesson | you will |
# |---|---|
# | [1. Which tensors remember?](01-which-tensors-remember.ipynb) | repair a `None` gradient |
# | [2. Reading the graph](02-reading-the-graph.ipynb) | find the place where a graph was cut |
# | [3. backward(): who gets a gradient?](03-who-gets-a-gradient.ipynb) | step through backward |
# | [4. Twice through the same graph](04-twice-through-the-same-graph.ipynb) | see what is freed |
# | [5. Gradients add up](05-gradients-add-up.ipynb) | put three lines of training in order |
# | [6. A new graph every time](06-a-new-graph-every-time.ipynb) | find what holds old graphs |
# | [7. What forward keeps for backward](07-what-forward-keeps.ipynb) | count what is kept |
# | [8. Four switches that are not the same](08-four-switches.ipynb) | choose one of four switches |
# | [9. Taking a value out](09-taking-a-value-out.ipynb) | cut a graph, and notice what is written |
# | [10. Writing in place](10-writing-in-place.ipynb) | read versions, and find who wrote |

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
#
# What you select is known to Python: `picture = gradviz.show(loss)`, then `picture.selected`.
#
# ## Step through a cell
#
# With `%%gradviz` above it, a cell is recorded while it runs. Below it stands a player: **Forward**
# and back, line by line, and node by node inside `backward()`.

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
# *Recall* something, *predict* what a few lines will do, *run* them, *watch* the graph, *explain*
# it in a sentence, *repair* a broken program, and meet a statement from the wild that is not true.
#
# The answers to the questions are not written down anywhere: torch computes them when the cell
# runs. A wrong prediction costs nothing and helps you remember.
#
# Cells depend on the ones above them. When something looks odd, choose *Run → Restart Kernel and
# Run up to Selected Cell*.
#
# ## Your own code
#
# `gradviz.show(loss)` works in any notebook, with any `loss` you computed, and so does `%%gradviz`
# above a cell, once `%load_ext gradviz` has been run.
