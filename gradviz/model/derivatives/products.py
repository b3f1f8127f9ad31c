"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Mapping

from gradviz.model.derivatives.case import Rule, Rules
from gradviz.model.derivatives.expression import GRAD, Expression, named

SELF, ALPHA, BETA = named("self"), named("alpha"), named("beta")


def _plus_product(first: str, second: str) -> Mapping[str, Rule]:
    """``beta × self + alpha × first @ second``."""
    return {
        "self": (GRAD * BETA).apply("to input"),
        first: ALPHA * (GRAD @ named(second).mT),
        second: ALPHA * (named(first).mT @ GRAD),
    }


def _outer(left: Expression, right: Expression) -> Expression:
    return Expression("outer", (left, right))


PRODUCTS: Rules = {
    "Mm": {"self": GRAD @ named("mat2").mT, "mat2": SELF.mT @ GRAD},
    "Bmm": {"self": GRAD @ named("mat2").mT, "mat2": SELF.mT @ GRAD},
    "Mv": {"self": _outer(GRAD, named("vec")), "vec": SELF.mT @ GRAD},
    "Dot": {"self": GRAD * named("tensor"), "tensor": GRAD * SELF},
    "Vdot": {"self": GRAD * named("other"), "other": GRAD * SELF},
    "Addmm": _plus_product("mat1", "mat2"),
    "Baddbmm": _plus_product("batch1", "batch2"),
    "Addbmm": _plus_product("batch1", "batch2"),
    "Addmv": {
        "self": (GRAD * BETA).apply("to input"),
        "mat": ALPHA * _outer(GRAD, named("vec")),
        "vec": ALPHA * (named("mat").mT @ GRAD),
    },
    "Addr": {
        "self": (GRAD * BETA).apply("to input"),
        "vec1": ALPHA * (GRAD @ named("vec2")),
        "vec2": ALPHA * (GRAD.mT @ named("vec1")),
    },
}
"""Trees of the gradients of factors."""
