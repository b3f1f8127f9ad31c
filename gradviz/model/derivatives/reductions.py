"""Operations that make few numbers of many, and running sums."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod

from gradviz.model.derivatives.case import Case, NotKnownError, Rules, all_dims, dim_of
from gradviz.model.derivatives.expression import GRAD, Expression, function, named, where
from gradviz.model.derivatives.movements import selected_by_value

SELF, RESULT = named("self"), named("result")


def dims_of(case: Case) -> tuple[int, ...]:
    """The dimensions that were reduced; all where none was named."""
    value = case.attribute("dim")
    if not case.shape:
        return ()
    return all_dims(() if value in (None, ()) else case.sizes("dim"), len(case.shape))


def restored(case: Case, reduced: Expression) -> Expression:
    """A reduced tensor with the dimensions that the reduction left out, each of size 1."""
    dims = dims_of(case)
    is_whole = len(dims) == len(case.shape)  # a tensor without dimensions is broadcast as it is
    dropped = not case.attribute("keepdim", False) and not is_whole
    return reduced.apply("with dims", *dims) if dropped else reduced


def spread(case: Case, tree: Expression) -> Expression:
    """The same gradient for every number that was reduced to one."""
    if case.grad_shape == case.shape:
        return tree
    dims = dims_of(case)
    along = () if len(dims) == len(case.shape) else dims
    keep = bool(case.attribute("keepdim", False)) or not along
    return tree.apply("expanded", case.shape, along, keep)


def _sum(case: Case) -> Expression:
    return spread(case, GRAD)


def _mean(case: Case) -> Expression:
    shape = case.shape
    count = prod(shape[dim] for dim in dims_of(case))
    return spread(case, case.resolved(GRAD / count))


def _deviations(case: Case) -> tuple[Expression, int]:
    """Distance of each number from the mean, and the number that a variance divides by."""
    dims, shape = dims_of(case), case.shape
    correction = case.attribute("correction")
    count = prod(shape[dim] for dim in dims) - (1 if correction is None else correction)  # type: ignore[operator]
    if not isinstance(count, (int, float)) or count <= 0:
        raise NotKnownError
    along = () if len(dims) == len(shape) else dims
    return SELF - SELF.apply("mean", along, bool(along)), int(count) if count == int(
        count
    ) else count  # type: ignore[return-value]


def _var(case: Case) -> Expression:
    away, count = _deviations(case)
    return restored(case, GRAD) * 2 * away / count


def _std(case: Case) -> Expression:
    away, count = _deviations(case)
    result = restored(case, RESULT)
    return where(result.above(0), restored(case, GRAD) * away / (count * result), 0)


def _var_mean(case: Case) -> Expression:
    away, count = _deviations(case)
    var, mean = (restored(case, Expression("grad", options=(place,))) for place in (0, 1))
    size = prod(case.shape[dim] for dim in dims_of(case))
    return var * 2 * away / count + mean / size


def _extreme(case: Case) -> Expression:
    """``max`` and ``min`` of one dimension, or of all numbers."""
    return selected_by_value(case) if case.has("indices") else _amax(case)


def _amax(case: Case) -> Expression:
    """Equal parts for all that are the largest (or smallest)."""
    dims = dims_of(case)
    along = () if len(dims) == len(case.shape) else dims
    same = SELF.equals(restored(case, RESULT))
    share = restored(case, GRAD) / same.apply("count", along, bool(along))
    return where(same, share, 0)


def _norm(power: str) -> Callable[[Case], Expression]:
    def rule(case: Case) -> Expression:
        p = case.attribute(power)
        p = 2 if p is None else p
        grad, result = restored(case, GRAD), restored(case, RESULT)
        if not isinstance(p, (int, float)) or p in (inf, -inf) or 0 < p < 1:
            raise NotKnownError
        if p == 0:
            return 0 * grad
        if p == 1:
            return grad * function("sign", SELF)
        if p == 2:
            return where(result.equals(0), 0, grad * SELF / result)
        raise NotKnownError

    return rule


def _prod(case: Case) -> Expression:
    along = (dim_of(case.number("dim"), len(case.shape)),) if case.has("dim") else ()
    kept = GRAD.apply("with dims", *along) if along and not case.attribute("keepdim") else GRAD
    if not case.shape:
        return GRAD
    return kept * SELF.apply("product of others", along)


def _logsumexp(case: Case) -> Expression:
    return restored(case, GRAD) * function("exp", SELF - restored(case, RESULT))


def _along(case: Case) -> int:
    return dim_of(case.number("dim"), len(case.shape))


def _softmax(case: Case) -> Expression:
    if not case.shape:
        raise NotKnownError
    return RESULT * (GRAD - (GRAD * RESULT).apply("sum", (_along(case),), True))


def _log_softmax(case: Case) -> Expression:
    if not case.shape:
        raise NotKnownError
    return GRAD - function("exp", RESULT) * GRAD.apply("sum", (_along(case),), True)


def _cumsum(case: Case) -> Expression:
    return GRAD.apply("sum onward", _along(case)) if case.shape else GRAD


def _trace(case: Case) -> Expression:
    return GRAD.apply("expanded", (min(case.shape),), (), True).apply(
        "on diagonal", case.shape, 0, 0, 1
    )


REDUCTIONS: Rules = {
    "Sum": {"self": _sum},
    "Mean": {"self": _mean},
    "Var": {"self": _var},
    "Std": {"self": _std},
    "VarMean": {"self": _var_mean},
    "Max": {"self": _extreme},
    "Min": {"self": _extreme},
    "Amax": {"self": _amax},
    "Amin": {"self": _amax},
    "Norm": {"self": _norm("p")},
    "LinalgVectorNorm": {"self": _norm("ord")},
    "Prod": {"self": _prod},
    "Logsumexp": {"self": _logsumexp},
    "Softmax": {"self": _softmax},
    "LogSoftmax": {"self": _log_softmax},
    "Cumsum": {"self": _cumsum},
    "Trace": {"self": _trace},
}
"""Trees of the gradients of what was reduced."""
