"""What ``optimizer.step()`` does to a parameter, and from which gradient."""

from __future__ import annotations

from typing import Final

from gradviz.model.audit import GraphState, ParameterAudit
from gradviz.model.audit_input import Gradient, OptimizerFacts, ParameterFacts

SCALED: Final = frozenset(
    {"SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta"}
)
"""Optimizers that multiply all they do by ``lr``."""
TAKES_SPARSE: Final = frozenset({"SGD", "SparseAdam", "Adagrad"})
NEEDS_CLOSURE: Final = "LBFGS"

Update = tuple["bool | None", str]


def update_of(
    row: ParameterAudit,
    facts: ParameterFacts,
    optimizer: OptimizerFacts | None,
    state: GraphState,
    seen: str = "",
) -> Update:
    """Whether a step changes the parameter, and the words for it.

    If backward has still to run, it is the step after it. If the step has already run and its
    gradients were cleared, it is that step.

    Args:
        row: What was found about the parameter.
        facts: What was read of it.
        optimizer: The optimizer.
        state: Whether backward can run.
        seen: The recorded step that updated it, ``""`` if there was none.
    """
    if optimizer is None:
        return None, ""
    if facts.group is None:
        return False, _not_in(row, optimizer)
    if optimizer.name == NEEDS_CLOSURE:
        return None, "step(closure) computes new gradients"
    if not optimizer.is_known:
        return None, f"what {optimizer.name}.step() does is not known"
    group = optimizer.groups[facts.group]
    still = optimizer.name in SCALED and group.get("lr") in (0, 0.0)
    can_run = state in ("holds", "saves nothing")
    if can_run and row.gets_gradient:
        if still:
            return False, "lr is 0"
        return True, "backward()" if row.grad is None else _sum(row.grad)
    if row.grad is None:
        if can_run and row.gets_gradient is None:
            return None, "if backward() computes a gradient"
        if seen and row.gets_gradient is not False:
            return True, f"{seen}; its .grad was cleared afterwards"
        return False, ".grad is None"
    return _from_grad(row, row.grad, facts, optimizer.name, still)


def _not_in(row: ParameterAudit, optimizer: OptimizerFacts) -> str:
    for stranger in optimizer.strangers:
        if stranger.stands_for in row.names:
            return "rebound: not in the optimizer"
    return "not in the optimizer"


def _sum(grad: Gradient) -> str:
    return ".grad + backward()" if not grad.is_zero else "backward()"


def _from_grad(
    row: ParameterAudit, grad: Gradient, facts: ParameterFacts, name: str, still: bool
) -> Update:
    """A step from ``.grad`` as it is now."""
    which = ".grad"
    if not row.requires_grad:
        which = ".grad of a frozen parameter"
    elif row.stale:
        which = "stale .grad"
    if grad.numbers == 0:
        return False, "it has no elements"
    is_sparse = grad.layout != "strided"
    refuses = name not in TAKES_SPARSE if is_sparse else name == "SparseAdam"
    if refuses:
        kind = "sparse" if is_sparse else "dense"
        return False, f"{name} refuses a {kind} .grad"
    if grad.is_finite is False:
        return True, f"{which} with nan or inf"
    if still:
        return False, "lr is 0"
    if grad.is_unread:
        return None, f"{which}, which is not read"
    if not grad.is_zero:
        return True, which
    if facts.is_moving is None:
        return None, f"{which} is all zeros; the state of the optimizer decides"
    if facts.is_moving:
        return True, "weight decay or momentum"
    return False, ".grad is all zeros"
