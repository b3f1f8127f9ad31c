"""Operations that move numbers: views, copies of parts, and what joins parts."""

from __future__ import annotations

from math import prod
from typing import Literal

from gradviz.model.derivatives.case import Case, NotKnownError, Rule, Rules, Shape, dim_of
from gradviz.model.derivatives.expression import GRAD, Expression, grad_of, named, where


def _reshaped(case: Case) -> Expression:
    return GRAD.apply("reshaped", case.shape) if case.shape != case.grad_shape else GRAD


def _expanded(case: Case) -> Expression:
    return GRAD.apply("summed to", case.shape) if case.shape != case.grad_shape else GRAD


def _permuted(case: Case) -> Expression:
    ndim = len(case.shape)
    dims = [dim_of(dim, ndim) for dim in case.sizes("dims")]
    back = tuple(dims.index(dim) for dim in range(ndim))
    if back == (*range(ndim - 2), ndim - 1, ndim - 2):
        return GRAD.mT
    return GRAD.apply("permuted", *back) if back != tuple(range(ndim)) else GRAD


def _swapped(case: Case) -> Expression:
    ndim = len(case.shape)
    first, second = sorted(dim_of(case.number(name), ndim) for name in ("dim0", "dim1"))
    if first == second or ndim == 0:
        return GRAD
    return (
        GRAD.mT if (first, second) == (ndim - 2, ndim - 1) else GRAD.apply("swapped", first, second)
    )


def _select(case: Case) -> Expression:
    shape = case.shape
    dim = dim_of(case.number("dim"), len(shape))
    index = case.number("index")
    return GRAD.apply("placed", shape, dim, index)


def _slice(case: Case) -> Expression:
    shape = case.shape
    dim = dim_of(case.number("dim"), len(shape))
    start, end = (case.attribute(name) for name in ("start", "end"))
    step = case.number("step")
    bounds = slice(start, end, step).indices(shape[dim])
    return GRAD if bounds == (0, shape[dim], 1) else GRAD.apply("placed", shape, dim, bounds)


def _joined_part(case: Case) -> Expression | str:
    """What of the gradient belongs to one of the joined tensors.

    torch shows no shape of those that need no gradient, so the place is counted from the side on
    which all shapes are known.
    """
    shape, ndim = case.shape, len(case.grad_shape)
    dim = dim_of(case.number("dim"), ndim)
    if len(shape) != ndim:
        return "nothing, it is empty"  # torch lets tensors of shape (0,) join any others
    before = _length(case.shapes[: case.place], dim)
    after = _length(case.shapes[case.place + 1 :], dim)
    if before is None and after is None:
        return f"its part of grad along dim {dim}"
    whole, length = case.grad_shape[dim], shape[dim]
    start = whole - (after or 0) - length if before is None else before
    return GRAD.apply("part", ndim, dim, (start, start + length, 1))


def _length(shapes: tuple[Shape | None, ...], dim: int) -> int | None:
    """Length of joined tensors along a dimension, ``None`` if one of them is not known."""
    known = [shape for shape in shapes if shape is not None]
    whole = sum(shape[dim] for shape in known if dim < len(shape) and shape != (0,))
    return whole if len(known) == len(shapes) else None


def _stacked_part(case: Case) -> Expression:
    ndim = len(case.grad_shape)
    return GRAD.apply("part", ndim, dim_of(case.number("dim"), ndim), case.index)


def _grads(case: Case) -> tuple[Expression, ...]:
    return tuple(grad_of(place) for place in range(len(case.node.output_shapes)))


def _joined(case: Case) -> Expression:
    return Expression("joined", _grads(case), (dim_of(case.number("dim"), len(case.shape)),))


def _stacked(case: Case) -> Expression:
    return Expression("stacked", _grads(case), (dim_of(case.number("dim"), len(case.shape)),))


def _repeated(case: Case) -> Expression:
    """The copies of each number are added."""
    shape, repeats = case.shape, case.sizes("repeats")
    if 0 in repeats:
        raise NotKnownError
    sizes = (1,) * (len(repeats) - len(shape)) + shape
    parts = tuple(size for pair in zip(repeats, sizes, strict=True) for size in pair)
    if prod(repeats) == 1:
        return _reshaped(case)
    dims = tuple(range(0, 2 * len(repeats), 2))
    return GRAD.apply("reshaped", parts).apply("sum", dims, False).apply("reshaped", shape)


def _along(case: Case) -> tuple[int, Shape]:
    return dim_of(case.number("dim"), len(case.shape)), case.shape


def _gathered(case: Case) -> Expression:
    dim, shape = _along(case)
    return Expression("scattered", (GRAD, named("index")), (dim, shape))


def _rows(index: str) -> Rule:
    """Rows that were chosen by an index get their gradients back, added where several are one."""

    def rule(case: Case) -> Expression:
        dim, shape = _along(case)
        return Expression("added at", (GRAD, named(index)), (dim, shape))

    return rule


def _embedding(case: Case) -> Expression | str:
    if case.attribute("scale_grad_by_freq") or case.attribute("sparse"):
        return "grad added to the rows of weight that indices name"
    padding = case.number("padding_idx")
    rows = named("indices")
    tree = Expression("added at", (GRAD, rows), (0, case.shape))
    if padding < 0:
        return tree
    kept = where(rows.equals(padding).apply("with dims", -1), 0, GRAD)
    return Expression("added at", (kept, rows), (0, case.shape))


def _rolled(case: Case) -> Expression:
    shifts = case.sizes("shifts")
    dims = case.attribute("dims")
    if not dims:
        raise NotKnownError
    return GRAD.apply("rolled", tuple(-n for n in shifts), case.sizes("dims"))


def _diagonal(case: Case) -> Expression:
    ndim = len(case.shape)
    dims = tuple(dim_of(case.number(name), ndim) for name in ("dim1", "dim2"))
    return GRAD.apply("on diagonal", case.shape, case.number("offset"), *dims)


def selected_by_value(case: Case) -> Expression:
    """One number of each row went on; its gradient goes back to where it was."""
    dim, shape = _along(case)
    kept = GRAD if case.attribute("keepdim", True) else GRAD.apply("with dims", dim)
    index = named("indices")
    index = index if case.attribute("keepdim", True) else index.apply("with dims", dim)
    if not shape:
        return GRAD
    return Expression("scattered", (kept, index), (dim, shape))


def _triangle(operator: Literal["lower", "upper"]) -> Rule:
    return lambda case: GRAD.apply(operator, case.number("diagonal"))


def _index_put(case: Case) -> Expression | str:
    return GRAD if case.attribute("accumulate") else "grad, 0 where the indices point"


def _picked(case: Case) -> Expression:
    return Expression(
        "gathered", (GRAD, named("index")), (dim_of(case.number("dim"), len(case.shape)),)
    )


_VIEW = {"self": _reshaped}

MOVEMENTS: Rules = {
    **dict.fromkeys(("View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze"), _VIEW),
    "T": {"self": lambda case: GRAD.mT if len(case.shape) == 2 else GRAD},
    "Transpose": {"self": _swapped},
    "Permute": {"self": _permuted},
    "Expand": {"self": _expanded},
    "Repeat": {"self": _repeated},
    "Select": {"self": _select},
    "Slice": {"self": _slice},
    "Cat": {"tensors": _joined_part},
    "Stack": {"tensors": _stacked_part},
    "Split": {"self": _joined},
    "SplitWithSizes": {"self": _joined},
    "Unbind": {"self": _stacked},
    "Gather": {"self": _gathered},
    "IndexSelect": {"self": _rows("index")},
    "Embedding": {"weight": _embedding},
    "Flip": {"self": lambda case: GRAD.apply("flipped", *case.sizes("dims"))},
    "Roll": {"self": _rolled},
    "Tril": {"self": _triangle("lower")},
    "Triu": {"self": _triangle("upper")},
    "Diagonal": {"self": _diagonal},
    "Sort": {"self": selected_by_value},
    "Topk": {"self": selected_by_value},
    "Index": {"self": "grad added where the indices point, else 0"},
    "IndexPut": {"self": _index_put, "values": "grad where the indices point"},
    "Scatter": {
        "self": "grad, 0 where index points",
        "src": _picked,
    },
    "MaskedSelect": {"self": "grad where mask is true, in order, else 0"},
    "ConstantPadNd": {"self": "grad without the padding"},
    "Unfold": {"self": "grad of all windows, added where they overlap"},
}
"""Trees of the gradients of what was moved; words where an index has no simple form."""
