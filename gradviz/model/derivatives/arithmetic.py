"""The numbers of an expression, computed in Python from the few numbers that a page shows."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from gradviz.model.derivatives.case import Shape
from gradviz.model.derivatives.expression import Expression

MOST: Final = 64
"""Numbers of a part; larger ones are not computed."""


class NotComputedError(Exception):
    """An operation that is not computed here, or a number that is not known."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """All numbers of a small tensor, in row-major order."""

    values: tuple[float, ...]
    shape: Shape

    def __post_init__(self) -> None:
        if len(self.values) != math.prod(self.shape) or len(self.values) > MOST:
            raise NotComputedError

    def at(self, place: Sequence[int]) -> float:
        """The number at a place; dimensions of size 1, or missing ones, are broadcast."""
        number, index = 0, place[len(place) - len(self.shape) :]
        for size, where in zip(self.shape, index, strict=True):
            number = number * size + (where if size > 1 else 0)
        return self.values[number]


def numbers_of(tree: Expression, leaf: Callable[[Expression], Numbers | None]) -> Numbers | None:
    """The numbers of an expression; ``None`` where it cannot be computed from what is known.

    Args:
        tree: The expression.
        leaf: Numbers of a gradient or saved tensor, ``None`` where they are not known.

    Examples:
        >>> from gradviz.model.derivatives.expression import GRAD, saved
        >>> known = {"grad": Numbers((1.0, 1.0), (2,)), "saved": Numbers((3.0, 4.0), (2,))}
        >>> tree = (GRAD * saved("other")).apply("summed to", ())
        >>> numbers_of(tree, lambda part: known[part.operator])
        Numbers(values=(7.0,), shape=())
    """
    try:
        return _numbers(tree, leaf)
    except (NotComputedError, ArithmeticError, ValueError):
        return None


def _numbers(tree: Expression, leaf: Callable[[Expression], Numbers | None]) -> Numbers:
    if tree.operator in ("grad", "saved"):
        found = leaf(tree)
        if found is None:
            raise NotComputedError
        return found
    if tree.operator == "number":
        return Numbers((float(tree.options[0]),), ())  # type: ignore[arg-type]
    operands = [_numbers(part, leaf) for part in tree.operands]
    if tree.operator in _EACH:
        return _each(_EACH[tree.operator], *operands)
    if tree.operator == "function":
        return _each(_FUNCTIONS[str(tree.options[0])], *operands)
    if tree.operator not in _WHOLE:
        raise NotComputedError
    return _WHOLE[tree.operator](*operands, *tree.options)


def _each(compute: Callable[..., float], *operands: Numbers) -> Numbers:
    """Number by number, broadcast."""
    shape = _broadcast([one.shape for one in operands])
    places = list(_places(shape))
    return Numbers(tuple(float(compute(*(one.at(p) for one in operands))) for p in places), shape)


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    ndim = max(map(len, shapes))
    rows = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    sizes = [{size for size in column if size != 1} or {1} for column in zip(*rows, strict=True)]
    if any(len(found) > 1 for found in sizes):
        raise NotComputedError
    return tuple(found.pop() for found in sizes)


def _places(shape: Shape) -> Iterator[tuple[int, ...]]:
    if math.prod(shape) > MOST:
        raise NotComputedError
    return product(*map(range, shape))


def _made(shape: Shape, number: Callable[[tuple[int, ...]], float]) -> Numbers:
    return Numbers(tuple(number(place) for place in _places(shape)), shape)


def _matmul(left: Numbers, right: Numbers) -> Numbers:
    rows, columns = (
        left.shape[:-1][-1:],
        right.shape[1:] if len(right.shape) < 2 else right.shape[-1:],
    )
    batch = _broadcast([left.shape[:-2], right.shape[:-2]])
    inner = left.shape[-1]

    def number(place: tuple[int, ...]) -> float:
        start, row = place[: len(batch)], place[len(batch) : len(batch) + len(rows)]
        column = place[len(batch) + len(rows) :]
        return math.fsum(
            left.at((*start, *row, k)) * right.at((*start, k, *column)) for k in range(inner)
        )

    return _made((*batch, *rows, *columns), number)


def _outer(left: Numbers, right: Numbers) -> Numbers:
    return _made((*left.shape, *right.shape), lambda p: left.at(p[:1]) * right.at(p[1:]))


def _permuted(one: Numbers, *dims: int) -> Numbers:
    back = [dims.index(dim) for dim in range(len(dims))]
    shape = tuple(one.shape[dim] for dim in dims)
    return _made(shape, lambda place: one.at([place[dim] for dim in back]))


def _swapped(one: Numbers, first: int, second: int) -> Numbers:
    dims = list(range(len(one.shape)))
    dims[first], dims[second] = dims[second], dims[first]
    return _permuted(one, *dims)


def _transposed(one: Numbers) -> Numbers:
    ndim = len(one.shape)
    return one if ndim < 2 else _swapped(one, ndim - 2, ndim - 1)


def _sum(one: Numbers, dims: Shape, keep: bool = False) -> Numbers:
    dims = dims or tuple(range(len(one.shape)))
    kept = tuple(1 if dim in dims else size for dim, size in enumerate(one.shape))
    ranges = [range(size) if dim in dims else None for dim, size in enumerate(one.shape)]

    def number(place: tuple[int, ...]) -> float:
        all_of = (r if r is not None else (at,) for r, at in zip(ranges, place, strict=True))
        return math.fsum(one.at(p) for p in product(*all_of))

    found = _made(kept, number)
    shape = kept if keep else tuple(size for dim, size in enumerate(kept) if dim not in dims)
    return Numbers(found.values, shape)


def _mean(one: Numbers, dims: Shape, keep: bool = False) -> Numbers:
    total = _sum(one, dims, keep)
    return _each(operator.truediv, total, Numbers((len(one.values) / len(total.values),), ()))


def _summed_to(one: Numbers, shape: Shape) -> Numbers:
    wide = (1,) * (len(one.shape) - len(shape)) + shape
    dims = tuple(d for d, (n, size) in enumerate(zip(wide, one.shape, strict=True)) if n != size)
    return Numbers((_sum(one, dims, True) if dims else one).values, shape)


def _with_dims(one: Numbers, *dims: int) -> Numbers:
    ndim = len(one.shape) + len(dims)
    added, sizes = {dim % ndim for dim in dims}, iter(one.shape)
    return Numbers(one.values, tuple(1 if dim in added else next(sizes) for dim in range(ndim)))


def _expanded(one: Numbers, sizes: Shape, dims: Shape, keep: bool) -> Numbers:
    return _made(sizes, (one if keep else _with_dims(one, *dims)).at)


def _flipped(one: Numbers, *dims: int) -> Numbers:
    ends = {dim % len(one.shape) for dim in dims}
    return _made(
        one.shape,
        lambda place: one.at(
            [one.shape[d] - 1 - at if d in ends else at for d, at in enumerate(place)]
        ),
    )


def _part(one: Numbers, ndim: int, dim: int, index: Any) -> Numbers:
    if isinstance(index, int):
        shape = one.shape[:dim] + one.shape[dim + 1 :]
        at = index % one.shape[dim]
        return _made(shape, lambda place: one.at((*place[:dim], at, *place[dim:])))
    start, stop, step = index
    chosen = range(start, stop, step)
    shape = (*one.shape[:dim], len(chosen), *one.shape[dim + 1 :])
    return _made(shape, lambda p: one.at((*p[:dim], chosen[p[dim]], *p[dim + 1 :])))


def _placed(one: Numbers, shape: Shape, dim: int, index: Any) -> Numbers:
    if isinstance(index, int):
        one, at = _with_dims(one, dim), index % shape[dim]
        index = (at, at + 1, 1)
    chosen = range(*index)

    def number(place: tuple[int, ...]) -> float:
        if place[dim] not in chosen:
            return 0.0
        return one.at((*place[:dim], chosen.index(place[dim]), *place[dim + 1 :]))

    return _made(shape, number)


def _sum_onward(one: Numbers, dim: int) -> Numbers:
    def number(place: tuple[int, ...]) -> float:
        following = range(place[dim], one.shape[dim])
        return math.fsum(one.at((*place[:dim], at, *place[dim + 1 :])) for at in following)

    return _made(one.shape, number)


def _product_of_others(one: Numbers, dims: Shape) -> Numbers:
    dims = dims or tuple(range(len(one.shape)))

    def number(place: tuple[int, ...]) -> float:
        others = (
            p
            for p in _places(one.shape)
            if p != place and all(p[d] == place[d] for d in range(len(p)) if d not in dims)
        )
        return math.prod(one.at(p) for p in others)

    return _made(one.shape, number)


def _joined(*parts: Any) -> Numbers:
    *several, dim = parts
    owners = [(one, at) for one in several for at in range(one.shape[dim])]
    first = several[0].shape
    shape = (*first[:dim], len(owners), *first[dim + 1 :])

    def number(place: tuple[int, ...]) -> float:
        one, at = owners[place[dim]]
        return float(one.at((*place[:dim], at, *place[dim + 1 :])))

    return _made(shape, number)


def _stacked(*parts: Any) -> Numbers:
    *several, dim = parts
    return _joined(*(_with_dims(one, dim) for one in several), dim)


def _triangle(keeps: Callable[[int, int], bool]) -> Callable[[Numbers, int], Numbers]:
    def run(one: Numbers, start: int) -> Numbers:
        return _made(one.shape, lambda p: one.at(p) if keeps(p[-1] - p[-2], start) else 0.0)

    return run


def _unless_equal(compare: Callable[[float, float], bool]) -> Callable[[float, float], bool]:
    """At the limit torch until 2.13 passes the gradient on, and from 2.14 on it does not."""

    def run(one: float, limit: float) -> bool:
        if one == limit:
            raise NotComputedError
        return compare(one, limit)

    return run


_EACH: Final[dict[str, Callable[..., float]]] = {
    "neg": operator.neg,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
    "maximum": max,
    "greater": operator.gt,
    "less": operator.lt,
    "over limit": _unless_equal(operator.gt),
    "under limit": _unless_equal(operator.lt),
    "at least": operator.ge,
    "at most": operator.le,
    "equal": operator.eq,
    "and": lambda one, other: bool(one and other),
    "not": operator.not_,
    "where": lambda condition, yes, no: yes if condition else no,
}
_FUNCTIONS: Final[dict[str, Callable[[float], float]]] = {
    **{name: getattr(math, name) for name in ("exp", "log", "sin", "cos", "sinh", "cosh", "sqrt")},
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "cdf": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)),
    "pdf": lambda x: math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
}
_WHOLE: Final[dict[str, Callable[..., Numbers]]] = {
    "matmul": _matmul,
    "outer": _outer,
    "transposed": _transposed,
    "sum": _sum,
    "mean": _mean,
    "count": _sum,
    "product of others": _product_of_others,
    "sum onward": _sum_onward,
    "summed to": _summed_to,
    "expanded": _expanded,
    "reshaped": lambda one, shape: Numbers(one.values, shape),
    "permuted": _permuted,
    "swapped": _swapped,
    "with dims": _with_dims,
    "flipped": _flipped,
    "lower": _triangle(operator.le),
    "upper": _triangle(operator.ge),
    "part": _part,
    "placed": _placed,
    "joined": _joined,
    "stacked": _stacked,
    "let": lambda one, name: one,
}
