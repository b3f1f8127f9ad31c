"""Operations number by number; the gradient of an operand that was broadcast is summed."""

from __future__ import annotations

from collections.abc import Mapping
from math import log, pi, sqrt

from gradviz.model.derivatives.case import Case, NotKnownError, Rule, Rules
from gradviz.model.derivatives.expression import (
    GRAD,
    Expression,
    expression,
    function,
    named,
    where,
)

SELF, OTHER, RESULT, ALPHA = named("self"), named("other"), named("result"), named("alpha")
ZERO = expression(0)


def _rounded_or(tree: Expression) -> Rule:
    """A quotient that is rounded has no slope."""
    return lambda case: tree if case.attribute("rounding_mode") is None else ZERO


def _power(case: Case) -> Expression:
    exponent = case.attribute("exponent")
    if exponent == 0:
        return ZERO
    if isinstance(exponent, (int, float)):
        return GRAD * exponent * SELF ** (exponent - 1)
    exponents = named("exponent")
    return where(exponents.equals(0), 0, GRAD * exponents * SELF ** (exponents - 1))


def _power_by_exponent(case: Case) -> Expression:
    base = case.attribute("self")
    if isinstance(base, (int, float)):
        return GRAD * RESULT * log(base) if base > 0 else _of_power_of_zero(base)
    slope = GRAD * RESULT * function("log", SELF)
    return where(SELF.equals(0) & named("exponent").at_least(0), 0, slope)


def _of_power_of_zero(base: float) -> Expression:
    if base < 0:
        raise NotKnownError
    return where(
        named("exponent").at_least(0), 0, GRAD * RESULT * function("log", expression(base))
    )


def _clamp(case: Case) -> Expression:
    inside = [SELF.over_limit(named("min"))] if case.has("min") else []
    inside += [SELF.under_limit(named("max"))] if case.has("max") else []
    if not inside:
        return GRAD
    return where(inside[0] if len(inside) == 1 else inside[0] & inside[1], GRAD, 0)


def _gelu(case: Case) -> Expression | str:
    if case.attribute("approximate") == "tanh":
        return "grad × the slope of gelu's tanh approximation at self"
    return GRAD * (function("cdf", SELF) + SELF * function("pdf", SELF))


def _softplus(case: Case) -> Expression:
    scaled = SELF * named("beta")
    return where(scaled.above(named("threshold")), GRAD, GRAD * function("sigmoid", scaled))


def _elu(case: Case) -> Expression:
    scale, alpha, inner = (named(name) for name in ("scale", "alpha", "input_scale"))
    if case.has("result"):  # in place, self is gone
        return where(RESULT.above(0), GRAD * scale, GRAD * inner * (RESULT + alpha * scale))
    slope = GRAD * alpha * scale * inner * function("exp", SELF * inner)
    return where(SELF.above(0), GRAD * scale, slope)


def _leaky_relu(case: Case) -> Expression:
    kept = RESULT if case.has("result") else SELF
    return where(kept.above(0), GRAD, GRAD * named("negative_slope"))


def _equal_share(larger: bool) -> Mapping[str, Rule]:
    """The gradient goes to the larger (or smaller) one, half of it to each where they are equal."""

    def of(one: Expression, other: Expression) -> Expression:
        wins = one.above(other) if larger else one.below(other)
        return where(one.equals(other), GRAD / 2, where(wins, GRAD, 0))

    return {"self": of(SELF, OTHER), "other": of(OTHER, SELF)}


def _dropout(case: Case) -> Expression:
    share = case.attribute("p")
    if not isinstance(share, (int, float)) or share == 1 or case.attribute("train") is False:
        raise NotKnownError
    return GRAD * named("result1") / (1 - share)


_SIGMOID = function("sigmoid", SELF)
_FLAT = {"self": ZERO}
_SAME = {"self": GRAD}

ELEMENTWISE: Rules = {
    "Add": {"self": GRAD, "other": GRAD * ALPHA},
    "Sub": {"self": GRAD, "other": -GRAD * ALPHA},
    "Rsub": {"self": -GRAD * ALPHA, "other": GRAD},
    "Mul": {"self": GRAD * OTHER, "other": GRAD * SELF},
    "Div": {
        "self": _rounded_or(GRAD / OTHER),
        "other": _rounded_or(-GRAD * SELF / OTHER**2),
    },
    "Neg": {"self": -GRAD},
    "Pow": {"self": _power, "exponent": _power_by_exponent},
    "Atan2": {
        "self": GRAD * OTHER / (SELF**2 + OTHER**2),
        "other": -GRAD * SELF / (SELF**2 + OTHER**2),
    },
    "Addcmul": {
        "self": GRAD,
        "tensor1": GRAD * named("tensor2") * named("value"),
        "tensor2": GRAD * named("tensor1") * named("value"),
    },
    "Addcdiv": {
        "self": GRAD,
        "tensor1": GRAD * named("value") / named("tensor2"),
        "tensor2": -GRAD * named("value") * named("tensor1") / named("tensor2") ** 2,
    },
    "Lerp": {
        "self": GRAD * (1 - named("weight")),
        "end": GRAD * named("weight"),
        "weight": GRAD * (named("end") - SELF),
    },
    "Where": {
        "self": where(named("condition"), GRAD, 0),
        "other": where(named("condition"), 0, GRAD),
    },
    "MaskedFill": {"self": where(named("mask"), 0, GRAD), "value": where(named("mask"), GRAD, 0)},
    "Maximum": _equal_share(larger=True),
    "Minimum": _equal_share(larger=False),
    "Exp": {"self": GRAD * RESULT},
    "Exp2": {"self": GRAD * RESULT * log(2)},
    "Expm1": {"self": GRAD * (RESULT + 1)},
    "Log": {"self": GRAD / SELF},
    "Log1P": {"self": GRAD / (SELF + 1)},
    "Log2": {"self": GRAD / (SELF * log(2))},
    "Log10": {"self": GRAD / (SELF * log(10))},
    "Sqrt": {"self": GRAD / (2 * RESULT)},
    "Rsqrt": {"self": -GRAD * RESULT**3 / 2},
    "Reciprocal": {"self": -GRAD * RESULT**2},
    "Sin": {"self": GRAD * function("cos", SELF)},
    "Cos": {"self": -GRAD * function("sin", SELF)},
    "Tan": {"self": GRAD * (1 + RESULT**2)},
    "Asin": {"self": GRAD / function("sqrt", 1 - SELF**2)},
    "Acos": {"self": -GRAD / function("sqrt", 1 - SELF**2)},
    "Atan": {"self": GRAD / (1 + SELF**2)},
    "Sinh": {"self": GRAD * function("cosh", SELF)},
    "Cosh": {"self": GRAD * function("sinh", SELF)},
    "Tanh": {"self": GRAD * (1 - RESULT**2)},
    "Asinh": {"self": GRAD / function("sqrt", 1 + SELF**2)},
    "Acosh": {"self": GRAD / function("sqrt", SELF**2 - 1)},
    "Atanh": {"self": GRAD / (1 - SELF**2)},
    "Erf": {"self": GRAD * (2 / sqrt(pi)) * function("exp", -(SELF**2))},
    "Erfc": {"self": -GRAD * (2 / sqrt(pi)) * function("exp", -(SELF**2))},
    "Sigmoid": {"self": GRAD * RESULT * (1 - RESULT)},
    "LogSigmoid": {"self": GRAD * (1 - _SIGMOID)},
    "Relu": {"self": where(RESULT.above(0), GRAD, 0)},
    "Threshold": {"self": where(SELF.above(named("threshold")), GRAD, 0)},
    "LeakyRelu": {"self": _leaky_relu},
    "PreluKernel": {
        "self": where(SELF.above(0), GRAD, GRAD * named("weight")),
        "weight": where(SELF.above(0), 0, GRAD * SELF),
    },
    "Elu": {"self": _elu},
    "Gelu": {"self": _gelu},
    "Silu": {"self": GRAD * _SIGMOID * (1 + SELF * (1 - _SIGMOID))},
    "Softplus": {"self": _softplus},
    "Hardtanh": {
        "self": where(SELF.above(named("min_val")) & SELF.below(named("max_val")), GRAD, 0)
    },
    "Hardsigmoid": {"self": where(SELF.above(-3) & SELF.below(3), GRAD / 6, 0)},
    "Hardswish": {
        "self": where(SELF.above(3), GRAD, where(SELF.above(-3), GRAD * (SELF / 3 + 0.5), 0))
    },
    "Clamp": {"self": _clamp},
    "ClampMin": {"self": where(SELF.over_limit(named("min")), GRAD, 0)},
    "ClampMax": {"self": where(SELF.under_limit(named("max")), GRAD, 0)},
    "Abs": {"self": GRAD * function("sign", SELF)},
    "Sign": _FLAT,
    "Floor": _FLAT,
    "Ceil": _FLAT,
    "Round": _FLAT,
    "Trunc": _FLAT,
    "Clone": _SAME,
    "Alias": _SAME,
    "ToCopy": _SAME,
    "NativeDropout": {"input": _dropout},
    "Fill": {"self": ZERO, "value": GRAD},
    "Zero": _FLAT,
}
"""Trees of the gradients that arrive number by number; they are summed to the argument's shape."""
