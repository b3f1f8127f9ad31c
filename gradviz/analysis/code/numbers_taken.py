"""Which arguments of a call of torch are numbers on which its result depends."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from gradviz.analysis.code.statements import Statement, last_name
from gradviz.analysis.cuts import FROM_VALUES
from gradviz.model.calls import RecordedCall

_ALL_WORDS: Final = (
    "__setitem__ add addcdiv addcmul as_tensor asarray atan2 celu clamp clamp_max clamp_min "
    "clip div divide dot elu fill float_power fmod hardshrink hardtanh hypot ldexp leaky_relu "
    "lerp maximum minimum mul multiply nan_to_num new_tensor pow remainder rsub scalar_tensor "
    "softplus softshrink sub subtract tensor threshold true_divide xlogy"
)
_ALL: Final = frozenset(_ALL_WORDS.split())
"""Functions that take numbers as they take tensors."""
_SOME: Final[Mapping[str, tuple[tuple[int, ...], frozenset[str]]]] = {
    "full": ((1,), frozenset({"fill_value"})),
    "full_like": ((1,), frozenset({"fill_value"})),
    "new_full": ((1,), frozenset({"fill_value"})),
    "masked_fill": ((1, 2), frozenset({"value"})),
    "where": ((1, 2), frozenset({"input", "other"})),
    "linspace": ((0, 1), frozenset({"start", "end"})),
    "huber_loss": ((), frozenset({"delta"})),
    "smooth_l1_loss": ((), frozenset({"beta"})),
    "index_fill": ((2,), frozenset({"value"})),
}
"""Functions that take sizes, dimensions or indices as well: places and names of the numbers."""
_MEANT_OTHERWISE: Final = frozenset(
    {"dim", "dtype", "device", "out", "requires_grad", "rounding_mode", "keepdim", "inplace"}
)
_ARRAYS: Final = frozenset({"from_numpy", "Tensor", "FloatTensor", "DoubleTensor", "from_dlpack"})


def numbers_of(call: RecordedCall, node: ast.AST, statement: Statement) -> Iterator[ast.expr]:
    """Expressions of numbers that went into a call and are in its result.

    Args:
        call: The call.
        node: Its expression, as :class:`~gradviz.analysis.code.sites.Site` gives it.
        statement: The line.
    """
    operation = call.operation
    if operation is None and call.name != "__setitem__":
        return
    if operation is not None and all(one.shape is not None for one in operation.inputs):
        return
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.AugAssign):
        yield node.value
    elif call.name == "__setitem__":
        value = getattr(statement.node, "value", None)
        if isinstance(value, ast.expr):
            yield value
    elif isinstance(node, ast.Call) and _is_of(node, call):
        yield from _arguments(node, call.name.strip("_"))


def takes_array(node: ast.Call) -> bool:
    """Whether a call makes a tensor of values and is none that is recorded."""
    return last_name(node.func) in _ARRAYS


def _is_of(node: ast.Call, call: RecordedCall) -> bool:
    """Whether the call is the one that is written there, not one inside a function of a library."""
    return last_name(node.func).strip("_") == call.name.strip("_")


def _arguments(node: ast.Call, name: str) -> Iterator[ast.expr]:
    if name in _SOME:
        places, names = _SOME[name]
        yield from (one for place, one in enumerate(node.args) if place in places)
        yield from (one.value for one in node.keywords if one.arg in names)
    elif name in _ALL or name in FROM_VALUES:
        is_one = name in FROM_VALUES
        yield from node.args[:1] if is_one else node.args
        if not is_one:
            yield from (k.value for k in node.keywords if k.arg not in _MEANT_OTHERWISE)
