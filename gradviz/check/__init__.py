"""Checks for exercises: each asks one question about autograd, and says what to type next.

A check reads live tensors as :func:`gradviz.snapshot` does and changes nothing. If it holds, it
returns a short text that prints itself and is true, the same on every run; else it raises
:class:`gradviz.CheckFailed`, an ``AssertionError``: what was found, what was expected, why, and
what to type. What torch does not show is a failure that says so, never a guess. So a check is a
line of a notebook, of a test of pytest, of a cell of otter-grader or nbgrader.

>>> import torch, gradviz
>>> w = torch.ones(2, requires_grad=True)
>>> loss = (w * 3).sum()
>>> gradviz.check.gets_grad(loss, w)
passed: w gets a gradient from loss
"""

from gradviz.check.differences import derivative
from gradviz.check.flags import (
    does_not_require_grad,
    hooks,
    is_leaf,
    is_not_leaf,
    requires_grad,
    retains_grad,
    shares_memory,
    shares_no_memory,
    version,
)
from gradviz.check.gradients import grad_is, same_grad
from gradviz.check.leak import no_leak
from gradviz.check.paths import gets_grad, gets_no_grad, no_path, path, same_graph
from gradviz.check.raising import raises
from gradviz.check.saved_tensors import freed, held, modified, saved
from gradviz.check.training import does_not_learn, learns
from gradviz.check.verdict import Passed
from gradviz.model import CheckFailed

__all__ = [
    "CheckFailed",
    "Passed",
    "derivative",
    "does_not_learn",
    "does_not_require_grad",
    "freed",
    "gets_grad",
    "gets_no_grad",
    "grad_is",
    "held",
    "hooks",
    "is_leaf",
    "is_not_leaf",
    "learns",
    "modified",
    "no_leak",
    "no_path",
    "path",
    "raises",
    "requires_grad",
    "retains_grad",
    "same_grad",
    "same_graph",
    "saved",
    "shares_memory",
    "shares_no_memory",
    "version",
]
