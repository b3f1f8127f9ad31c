"""Losses and layers of networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from gradviz.model.derivatives.case import Case, NotKnownError, Rule, Rules, Shape
from gradviz.model.derivatives.expression import (
    GRAD,
    Expression,
    function,
    let,
    maximum,
    named,
    where,
)

SELF, TARGET, WEIGHT, INPUT = named("self"), named("target"), named("weight"), named("input")
NONE, MEAN = 0, 1
"""What torch saves for ``reduction``."""


def averaged(case: Case, tree: Expression, *operands: str) -> Expression:
    """A gradient per number, divided by how many there are where the loss is their mean."""
    if case.attribute("reduction") == MEAN:
        tree = tree / prod(_broadcast(case, operands))
    return tree.apply("summed to", case.shape) if _broadcast(case, operands) != case.shape else tree


def _broadcast(case: Case, operands: tuple[str, ...]) -> Shape:
    """Shape of all numbers of a loss; once its operands are freed, that of its argument."""
    if case.attribute("reduction") == NONE:
        return case.grad_shape
    shapes = [case.shape_of(name) or () for name in operands] + [case.shape]
    ndim = max(map(len, shapes))
    rows = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    return tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*rows, strict=True))


def _of_difference(slope: Callable[[Case, Expression], Expression]) -> Mapping[str, Rule]:
    """A loss of ``self - target``, which has the same shape for both."""

    def of(one: Expression, other: Expression) -> Callable[[Case], Expression]:
        return lambda case: averaged(case, slope(case, one - other), "self", "target")

    return {"self": of(SELF, TARGET), "target": of(TARGET, SELF)}


def _mse(case: Case, difference: Expression) -> Expression:
    return GRAD * 2 * difference


def _smooth_l1(case: Case, difference: Expression) -> Expression:
    beta = named("beta")
    if case.attribute("beta") == 0:
        return GRAD * function("sign", difference)
    near = function("abs", difference).below(beta)
    return where(near, GRAD * difference / beta, GRAD * function("sign", difference))


def _huber(case: Case, difference: Expression) -> Expression:
    delta = named("delta")
    near = function("abs", difference).at_most(delta)
    return where(near, GRAD * difference, GRAD * delta * function("sign", difference))


def _weighted(case: Case, tree: Expression) -> Expression:
    return tree * WEIGHT if case.has("weight") else tree


def _bce(case: Case) -> Expression:
    below = maximum(SELF * (1 - SELF), 1e-12)
    tree = _weighted(case, GRAD * (SELF - TARGET) / below)
    return averaged(case, tree, "self", "target", "weight")


def _bce_target(case: Case) -> Expression:
    slope = function("log", 1 - SELF) - function("log", SELF)
    return averaged(case, _weighted(case, GRAD * slope), "self", "target", "weight")


def _bce_with_logits(case: Case) -> Expression:
    chance = function("sigmoid", SELF)
    slope = chance - TARGET
    if case.has("pos_weight"):
        positive = named("pos_weight")
        slope = (positive * TARGET + 1 - TARGET) * chance - positive * TARGET
    return averaged(case, _weighted(case, GRAD * slope), "self", "target", "weight", "pos_weight")


def _bce_with_logits_target(case: Case) -> Expression:
    if case.has("pos_weight"):
        raise NotKnownError
    return averaged(case, _weighted(case, -GRAD * SELF), "self", "target", "weight")


def _nll(case: Case) -> Expression:
    ignored = case.number("ignore_index")
    tree = -GRAD
    if case.has("weight"):
        tree = tree * Expression("of target", (WEIGHT, TARGET), ("row", ignored))
    if case.attribute("reduction") == MEAN:
        tree = tree / named("total_weight")
    return Expression("of target", (tree, TARGET), ("at", ignored, case.shape))


# --- layers ---------------------------------------------------------------------------------


def _grad_per_channel(case: Case) -> Expression:
    """The gradient of a bias: all but the channels are summed."""
    dims = tuple(dim for dim in range(len(case.grad_shape)) if dim != 1)
    return GRAD.apply("sum", dims, False) if dims else GRAD


def _unnormalized(
    case: Case, mean: Expression, inverse: Expression, scale: Expression | None, dims: Shape
) -> Expression:
    """The gradient of what was normalized: each number moves mean and deviation too."""
    x = let("x", (INPUT - mean) * inverse)
    g = GRAD if scale is None else let("g", GRAD * scale)
    return inverse * (g - g.apply("mean", dims, True) - x * (g * x).apply("mean", dims, True))


def _standing(case: Case, name: str, ndim: int) -> Expression:
    """A tensor per channel with dimensions of size 1 for the others."""
    if ndim <= 1:
        return named(name)
    return named(name).apply("with dims", *(dim for dim in range(ndim) if dim != 1))


def _layer_norm(case: Case) -> Expression:
    scale = WEIGHT if case.has("weight") else None
    ndim, count = len(case.grad_shape), len(case.sizes("normalized_shape"))
    dims = tuple(range(ndim - count, ndim))
    return _unnormalized(case, named("result1"), named("result2"), scale, dims)


def _layer_norm_weight(case: Case) -> Expression:
    tree = GRAD * (INPUT - named("result1")) * named("result2")
    return tree.apply("summed to", case.shape) if case.shape != case.grad_shape else tree


def _layer_norm_bias(case: Case) -> Expression:
    return GRAD.apply("summed to", case.shape) if case.shape != case.grad_shape else GRAD


def _batch_norm(case: Case) -> Expression:
    ndim = len(case.grad_shape)
    scale = _standing(case, "weight", ndim) if case.has("weight") else None
    if not case.attribute("training"):
        tree = GRAD if scale is None else GRAD * scale
        return tree / function("sqrt", _standing(case, "running_var", ndim) + named("eps"))
    mean, inverse = (_standing(case, name, ndim) for name in ("result1", "result2"))
    dims = tuple(dim for dim in range(ndim) if dim != 1)
    return _unnormalized(case, mean, inverse, scale, dims)


def _batch_norm_weight(case: Case) -> Expression:
    ndim = len(case.grad_shape)
    dims = tuple(dim for dim in range(ndim) if dim != 1)
    if case.attribute("training"):
        mean, inverse = (_standing(case, name, ndim) for name in ("result1", "result2"))
        tree = GRAD * (INPUT - mean) * inverse
    else:
        mean, var = (_standing(case, f"running_{name}", ndim) for name in ("mean", "var"))
        tree = GRAD * (INPUT - mean) / function("sqrt", var + named("eps"))
    return tree.apply("sum", dims, False)


_ATTENTION = {
    "query": "softmax's gradient by the scores, × key",
    "key": "softmax's gradient by the scores, × query",
    "value": "the attention weights, transposed, @ grad",
}
_MAX_POOL = {"self": "grad of each window at its maximum, else 0"}
_AVG_POOL = {"self": "grad of each window in equal parts, added where they overlap"}

NETWORKS: Rules = {
    "MseLoss": _of_difference(_mse),
    "SmoothL1Loss": _of_difference(_smooth_l1),
    "HuberLoss": _of_difference(_huber),
    "BinaryCrossEntropy": {"self": _bce, "target": _bce_target},
    "BinaryCrossEntropyWithLogits": {"self": _bce_with_logits, "target": _bce_with_logits_target},
    "NllLoss": {"self": _nll},
    "NllLoss2D": {"self": _nll},
    "NativeLayerNorm": {
        "input": _layer_norm,
        "weight": _layer_norm_weight,
        "bias": _layer_norm_bias,
    },
    "NativeBatchNorm": {
        "input": _batch_norm,
        "weight": _batch_norm_weight,
        "bias": _grad_per_channel,
    },
    "NativeGroupNorm": {
        "input": "grad × weight, without what moves the mean and deviation of each group",
        "weight": "grad × normalized input, summed to its shape",
        "bias": _grad_per_channel,
    },
    "Convolution": {
        "input": "grad convolved with weight, turned around",
        "weight": "input correlated with grad",
        "bias": _grad_per_channel,
    },
    **dict.fromkeys(
        (
            "MaxPool2DWithIndices",
            "MaxPool3DWithIndices",
            "AdaptiveMaxPool2D",
            "AdaptiveMaxPool3D",
        ),
        _MAX_POOL,
    ),
    **dict.fromkeys(
        ("AvgPool2D", "AvgPool3D", "AdaptiveAvgPool2D", "AdaptiveAvgPool3D"), _AVG_POOL
    ),
    **{
        f"ScaledDotProduct{kind}": _ATTENTION
        for kind in (
            "FlashAttentionForCpu",
            "FlashAttention",
            "EfficientAttention",
            "CudnnAttention",
        )
    },
    "CtcLoss": {"log_probs": "grad × how likely each symbol is at each time, given targets"},
}
"""Trees, or words where there is no short tree."""
