"""How a box computes what it sends: the derivatives of its nodes as one formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gradviz.model.derivatives import words_of
from gradviz.model.derivatives.expression import Expression
from gradviz.model.derivatives.wording import name_of
from gradviz.model.records import Node, SavedTensor
from gradviz.view import formatting
from gradviz.view.captions.names import CaptionNames
from gradviz.view.captions.state import CaptionState
from gradviz.view.text import cells, clean

ROOM: Final = 30
"""Cells of a formula; a longer one is left to the details of its node."""
_NAME: Final = 10
"""Cells of a name in it; instead of a longer one it has the name of the argument."""


def formula(
    node: Node,
    place: int,
    used: Sequence[SavedTensor],
    target: str,
    names: CaptionNames,
    state: CaptionState,
) -> str:
    """How the gradient that goes to a node is computed, empty if it is not known or too long.

    Args:
        node: The node that computes it.
        place: Which entry of its ``next_functions``.
        used: The saved tensors that it used.
        target: The first node outside the box that the gradient goes to.
        names: The boxes.
        state: The step.
    """
    tree = _through(node, place, used, target, names, state)
    if tree is None or tree.operator == "grad":
        return ""
    words = words_of(_simpler(tree))
    return words if cells(words) <= ROOM else ""


def _through(
    node: Node,
    place: int,
    used: Sequence[SavedTensor],
    target: str,
    names: CaptionNames,
    state: CaptionState,
) -> Expression | None:
    """The tree of an entry, followed inside the box to the target."""
    tree = names.derivative(node, place)
    entry = node.next_functions[place]
    if tree is None or entry is None:
        return None
    tree = _named(tree, node, used, names, state)
    if entry[0] == target:
        return tree
    inner = state.node_row(entry[0])
    if inner is None or entry[1]:
        return None
    for at, leads_to in names.targets(inner.id, state.step.index):
        if leads_to == target:
            rest = _through(inner, at, inner.saved, target, names, state)
            return None if rest is None else _with_grad(rest, tree)
    return None


def _with_grad(tree: Expression, grad: Expression) -> Expression:
    """A tree whose gradient is computed by another one."""
    if tree.operator == "grad":
        return grad
    return replace(tree, operands=tuple(_with_grad(one, grad) for one in tree.operands))


def _named(
    tree: Expression,
    node: Node,
    used: Sequence[SavedTensor],
    names: CaptionNames,
    state: CaptionState,
) -> Expression:
    """A tree with the names of tensors that nodes saved; of a transposed matrix that of the matrix,
    transposed."""
    if tree.operator != "saved":
        inner = (_named(one, node, used, names, state) for one in tree.operands)
        return replace(tree, operands=tuple(inner))
    slot = next((slot for slot in used if slot.name == tree.options[0]), None)
    known = None if slot is None else state.row(slot.tensor or slot.view_of)
    if slot is not None and slot.shape == () and slot.values and known is None:
        return replace(tree, options=(formatting.number(slot.values[0]),))
    if slot is None or known is None or not known.name:
        return tree
    name = clean(known.name)
    short = name.rpartition(".")[2] if name.rpartition(".")[0] == node.module else name
    if cells(short) > _NAME:
        return tree
    if slot.tensor is not None:
        return replace(tree, options=(short,))
    is_transposed = _is_transposed(node, slot, known.id, names, state)
    return replace(tree, options=(short,)).mT if is_transposed else tree


def _is_transposed(
    node: Node, slot: SavedTensor, tensor: str, names: CaptionNames, state: CaptionState
) -> bool:
    """Whether a saved view is the transposed tensor itself: its node turns the gradient of the one
    into that of the other, and is all that is between."""
    for name, entry in zip(node.arguments, node.next_functions):
        view = state.node_row(entry[0]) if entry is not None and name == slot.name else None
        leads = view.next_functions if view is not None else ()
        if view is not None and len(leads) == 1 and leads[0] is not None:
            behind = state.node_row(leads[0][0])
            tree = names.derivative(view, 0)
            is_of_it = behind is not None and behind.variable == tensor
            return is_of_it and tree == Expression("transposed", (Expression("grad"),))
    return False


def _simpler(tree: Expression) -> Expression:
    """The same without a matrix that is transposed twice: ``(a @ b)ᵀ`` is ``bᵀ @ aᵀ``."""
    tree = replace(tree, operands=tuple(map(_simpler, tree.operands)))
    (inner,) = tree.operands if tree.operator == "transposed" else (tree,)
    if tree.operator != "transposed":
        return tree
    if inner.operator == "transposed":
        return inner.operands[0]
    if inner.operator == "matmul":
        left, right = inner.operands
        return _simpler(right.mT) @ _simpler(left.mT)
    return tree


def passes(tree: Expression | None) -> bool:
    """Whether the gradient goes on as it came."""
    return tree is not None and tree.operator == "grad"


def condition(tree: Expression | None) -> str:
    """Where a gradient goes on as it came, if it is 0 everywhere else; else empty."""
    if tree is None or tree.operator != "where":
        return ""
    where, kept, otherwise = tree.operands
    is_mask = passes(kept) and otherwise == Expression("number", (), (0,))
    is_mask = is_mask and not _has_limit(where)  # what holds at a limit is not known
    holds = " holds" if where.operator == "saved" else ""
    return words_of(where, _as_own) + holds if is_mask else ""


def _has_limit(tree: Expression) -> bool:
    is_limit = tree.operator in ("over limit", "under limit")
    return is_limit or any(map(_has_limit, tree.operands))


def _as_own(part: Expression) -> str:
    """A saved tensor as what the node itself has: ``self`` is its first input."""
    name = name_of(part)
    return f"its {'input' if name in ('self', 'input') else name}"
