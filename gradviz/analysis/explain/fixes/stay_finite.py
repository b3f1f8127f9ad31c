"""Changes after which an operation gets no number at which its derivative is not finite."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import (
    Statement,
    TextChange,
    end_of,
    last_name,
    start_of,
)
from gradviz.analysis.explain.first_not_finite import (
    REVERSED,
    Maker,
    NotFiniteFound,
    is_module,
    is_root,
    maker_of_node,
    operand_of,
    where_node,
)
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called, together
from gradviz.analysis.explain.not_finite import call_that_made
from gradviz.model.events import Operation
from gradviz.model.explanation import Fix
from gradviz.model.history import History
from gradviz.model.reachability import entries, reachable
from gradviz.model.records import ValueSummary
from gradviz.model.sentence import say

_HALF: Final = "float16"
_SAFE: Final = {"log": "ones", "sqrt": "ones", "rsqrt": "ones", "pow": "ones", "acos": "zeros"}
"""A number at which a function and its derivative are finite."""
_MINUS_INF: Final = ("float('-inf')", "-float('inf')", "-torch.inf", "-math.inf", "-np.inf")
_LOGS: Final = {"softmax": "log_softmax", "sigmoid": "logsigmoid"}


def fixes(found: NotFiniteFound) -> Iterator[Fix]:
    """What is known to keep the operation finite: a branch that is chosen before it, a function
    that computes both steps at once, a lower limit."""
    maker = found.maker
    if maker is None or maker.statement is None or maker.node is None:
        return
    yield from _branch_first(maker, found.history)
    if maker.family == "log" and not maker.is_gradient:
        yield from _log(maker)
    elif maker.family in ("sqrt", "rsqrt") or (maker.family == "pow" and _is_root(maker)):
        yield from _root(maker)
    elif maker.family == "acos":
        yield from _arc(maker)
    elif maker.family == "div" and not maker.is_gradient:
        yield from _divisor(maker, found.history)
    elif maker.filled is not None:
        yield from _mask(maker, found.history)


# ------------------------------------------------------------------------------- the operand


def _operand(maker: Maker, place: int) -> ast.expr | None:
    return None if maker.node is None else operand_of(maker.node, maker.family, place)


def _numbers(maker: Maker, place: int) -> ValueSummary | None:
    """Numbers of an operand of the call, or of what the node has saved of it."""
    if maker.call is not None and maker.call.read_values:
        tensors = [o.shape is not None for o in maker.call.inputs]
        if place < len(tensors) and tensors[place]:
            at = sum(tensors[:place])
            values = maker.call.read_values
            return values[at] if at < len(values) else None
        return None
    saved = maker.operands
    return saved[0][1] if len(saved) == 1 else None


def _least(values: ValueSummary | None) -> float | None:
    """The smallest number, if all are finite."""
    if values is None or values.has_nan is not False or values.has_inf is not False:
        return None
    return float(values.min) if isinstance(values.min, (int, float)) else None


def _is_half(maker: Maker) -> bool:
    made = () if maker.call is None else maker.call.outputs
    dtypes = {one.dtype for one in made} | {values.dtype for _, values in maker.operands}
    return _HALF in dtypes


def _is_known_float(maker: Maker) -> bool:
    return maker.call is not None or bool(maker.operands)


# ------------------------------------------------------------------------------------- fixes


def _branch_first(maker: Maker, history: History) -> Iterator[Fix]:
    """``torch.where`` in the argument: the branch that is not used gets a number that is finite."""
    if maker.family not in _SAFE or not maker.is_gradient:
        return
    node, operand = where_node(maker, history), _operand(maker, 0)
    made = None if node is None else call_that_made(node, history)
    site = None if made is None else site_of(history, *made)
    call = None if site is None else site.call_of("where")
    if node is None or made is None or site is None or call is None or operand is None:
        return
    is_function = isinstance(call.func, ast.Attribute) and is_module(call.func.value)
    if not is_function or len(call.args) != 3 or maker.statement is None:
        return
    if site.statement.code != maker.statement.code:
        return
    shapes = [one.shape for one in made[1].inputs[:1]]
    own = None if maker.call is None else next(iter(maker.call.inputs), None)
    if own is None or own.shape is None or shapes != [own.shape]:
        return
    branch = _branch(maker, call, history)
    if branch is None:
        return
    condition = site.statement.segment(call.args[0])
    text = maker.statement.segment(operand)
    safe = f"torch.{_SAFE[maker.family]}_like({text})"
    chosen = f"{text}, {safe}" if branch == 0 else f"{safe}, {text}"
    new = f"torch.where({condition}, {chosen})"
    does = say("{} gets only numbers that are used, so that its derivative is finite", maker.name)
    yield Rewriting(maker.statement, ((operand, new),)).fix(does)


def _branch(maker: Maker, call: ast.Call, history: History) -> int | None:
    """Which branch of ``torch.where`` an operation is in: 0 for the first."""
    inside = [any(part is maker.node for part in ast.walk(branch)) for branch in call.args[1:]]
    if any(inside):
        return inside.index(True)
    node = where_node(maker, history)
    if node is None or maker.graph_node is None:
        return None
    two, goal = node.next_functions, maker.graph_node.id
    found = [n for n, one in enumerate(two) if one and _leads_to(one[0], goal, history)]
    return found[0] if len(found) == 1 and len(two) == 2 else None


def _leads_to(start: str, goal: str, history: History) -> bool:
    last = len(history.recording.records)
    return goal in set(reachable([start], lambda key: entries(history.node(key, last))))


def _log(maker: Maker) -> Iterator[Fix]:
    statement, node = maker.statement, maker.node
    operand, least = _operand(maker, 0), _least(_numbers(maker, 0))
    if statement is None or node is None or operand is None or least is None or least < 0:
        return
    yield from _log_at_once(maker, operand, statement)
    limit = "1e-4" if _is_half(maker) else "1e-8"
    does = say("{} gets no number below {}", maker.name, limit)
    yield Rewriting(statement, tuple(called(operand, f"clamp(min={limit})"))).fix(does)


def _log_at_once(maker: Maker, operand: ast.expr, statement: Statement) -> Iterator[Fix]:
    """``log_softmax`` for ``softmax`` and ``log``."""
    if maker.name != "log" or maker.node is None or not isinstance(operand, ast.Call):
        return
    name, func = last_name(operand.func), operand.func
    if name not in _LOGS or not isinstance(func, ast.Attribute):
        return
    row, column = end_of(func)
    whole = statement.segment(operand)
    if name == "softmax":
        place = (row, column - len(name))
        new = statement.segment(operand, [(place, "log_")])
    elif is_module(func.value) and operand.args:
        new = f"torch.nn.functional.logsigmoid({statement.segment(operand.args[0])})"
    elif not operand.args:
        new = f"torch.nn.functional.logsigmoid({statement.segment(func.value)})"
    else:
        return
    if new != whole:
        does = say("computes {} and log at once, which is finite", name)
        yield Rewriting(statement, ((maker.node, new),)).fix(does)


def _is_root(maker: Maker) -> bool:
    """Whether the exponent is a positive number below 1."""
    return maker.family == "pow" and is_root(maker.graph_node)


def _root(maker: Maker) -> Iterator[Fix]:
    """A small number below the root, where the operand has 0 and no negative number."""
    changed = _below_the_root(maker)
    if changed is not None:
        does = say("adds a small number below the root, where its derivative is finite")
        yield changed.fix(does)


def _below_the_root(maker: Maker) -> Rewriting | None:
    statement, operand = maker.statement, _operand(maker, 0)
    if statement is None or operand is None or not _has_no_negative(maker):
        return None
    changes = _added(operand, maker, "1e-6" if _is_half(maker) else "1e-12")
    return Rewriting(statement, changes) if changes else None


def _has_no_negative(maker: Maker) -> bool:
    """Whether the operand is known to have no negative number: of a root that is finite."""
    least = _least(_numbers(maker, 0))
    if least is not None:
        return least >= 0
    if maker.call is None or not maker.is_gradient:
        return False
    return not maker.call.made_values  # in forward all was finite, so it had none


def _added(operand: ast.expr, maker: Maker, small: str) -> tuple[TextChange, ...]:
    node = maker.node
    is_argument = isinstance(node, ast.Call) and operand in node.args
    arithmetic = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.Pow)
    is_sum = isinstance(operand, ast.BinOp) and isinstance(operand.op, arithmetic)
    if isinstance(operand, (ast.Name, ast.Call, ast.Attribute, ast.Subscript)):
        if is_argument:
            return ((end_of(operand), f" + {small}"),)
        return ((start_of(operand), "("), (end_of(operand), f" + {small})"))
    return ((end_of(operand), f" + {small}"),) if is_sum else ()


def _arc(maker: Maker) -> Iterator[Fix]:
    statement, operand = maker.statement, _operand(maker, 0)
    if statement is None or operand is None or not _is_known_float(maker):
        return
    limit = "1e-3" if _is_half(maker) else "1e-6"
    does = say("{} gets no number at which its derivative is infinite", maker.name)
    new = f"clamp(-1 + {limit}, 1 - {limit})"
    yield Rewriting(statement, tuple(called(operand, new))).fix(does)


def _divisor(maker: Maker, history: History) -> Iterator[Fix]:
    """A lower limit for the divisor; below a root, where its own derivative is infinite too."""
    statement, operand, call = maker.statement, _operand(maker, 1), maker.call
    if statement is None or operand is None or call is None:
        return
    place = 0 if call.name.strip("_") in REVERSED else 1
    values = _numbers(maker, place)
    if values is None or _least(values) != 0:
        return
    roots = _roots_in(call, place, history)
    if roots:  # the derivative of a root is infinite there, too
        found = [_below_the_root(one) for one in roots]
        fix = together(say("adds a small number below each root"), found)
        if fix is not None:
            yield fix
        return
    is_count = not values.dtype.startswith(("float", "bfloat"))
    limit = "1" if is_count else "1e-4" if values.dtype == _HALF else "1e-8"
    does = say("the divisor is at least {}", limit)
    yield Rewriting(statement, tuple(called(operand, f"clamp(min={limit})"))).fix(does)


def _roots_in(call: Operation, place: int, history: History) -> list[Maker]:
    """The roots from which an operand is computed."""
    at = sum(one.shape is not None for one in call.inputs[:place])
    key = call.reads[at] if at < len(call.reads) else None

    def before(key: str) -> tuple[str, ...]:
        made = history.makers.get(key)
        return () if made is None else made[1].reads

    made = [history.makers.get(one) for one in reachable([key] if key else [], before)]
    nodes = {one[1].node for one in made if one is not None and one[1].node is not None}
    found = [
        node for one in sorted(nodes) if (node := history.node(one, len(history.recording.records)))
    ]
    makers = [maker_of_node(node, history, "nan") for node in found]
    return [one for one in makers if one.family == "sqrt" or _is_root(one)]


def _mask(maker: Maker, history: History) -> Iterator[Fix]:
    """The smallest number of the dtype in place of -inf: softmax of a whole row of it is finite."""
    if maker.family != "softmax" or maker.filled is None or not maker.operands:
        return
    site, dtype = site_of(history, *maker.filled), maker.operands[0][1].dtype
    call = None if site is None else site.call_of("masked_fill", "masked_fill_")
    if site is None or call is None or not dtype.startswith(("float", "bfloat")):
        return
    value = call.args[-1] if call.args else None
    if value is None or ast.unparse(value) not in _MINUS_INF:
        return
    does = say("a row that is masked throughout gets equal weights, not nan")
    new = f"torch.finfo(torch.{dtype}).min"
    yield Rewriting(site.statement, ((value, new),)).fix(does)
