"""``gradcheck`` found that a formula and numerical differences disagree, or could not compare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    last_name,
    names_read,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import called
from gradviz.model.explanation import Cause, Fix
from gradviz.model.formatting import number
from gradviz.model.sentence import Sentence, Term, say

_CALLS: Final = ("gradcheck", "gradgradcheck")
_MISMATCH: Final = re.compile(
    r"for output (\d+) with respect to input (\d+),\s*numerical:tensor\((.*?)\)\s*"
    r"analytical:tensor\((.*?)\)\s*$",
    re.DOTALL,
)
_OTHERS: Final = (
    (
        r"not multiplied by grad_output",
        "backward does not multiply with the gradient that it gets",
        "the gradient of an input is the derivative times the gradient of the output",
    ),
    (
        r"not reentrant",
        "backward returned other gradients the second time",
        "with the same input and the same gradient, backward must return the same",
    ),
    (
        r"at least one input tensor to require gradient|no Tensors requiring grad",
        "no input requires grad",
        "gradcheck compares the gradients of inputs that require grad, and there is none",
    ),
    (
        r"dtype mismatch|incorrect (size|type|device|layout)",
        "backward returned a gradient of another shape, dtype or device than its input",
        "the gradient of a tensor has its shape, dtype and device",
    ),
    (r"", "gradcheck could not compare the gradients", "its message says why"),
)
"""torch's words about what is no mismatch of entries, what happened, and why."""


@dataclass(frozen=True)
class Mismatch:
    """The entry in which the two Jacobians differ most.

    Args:
        output: Which output.
        input: Which input.
        row: Element of the input.
        column: Element of the output.
        numerical: The difference quotient.
        analytical: What backward returned.
        ratio: ``analytical / numerical``, if it is the same for all entries that differ.
    """

    output: int
    input: int
    row: int
    column: int
    numerical: float
    analytical: float
    ratio: float | None


@dataclass(frozen=True, kw_only=True)
class GradcheckFailed(Finding):
    """The call, and the input it is about."""

    statement: Statement | None
    """The line that has the input, if that is to be changed."""
    value: ast.expr | None
    is_rough: bool
    returned: Statement | None
    """The ``return`` of the backward that is checked."""
    unused: str | None
    """The gradient that this backward gets and does not read."""
    is_frozen: bool
    """Whether the input does not require grad."""


def failed(context: ErrorContext) -> Iterator[GradcheckFailed]:
    """The entry, what backward returned and what differences give, and the input."""
    message, statement = context.raised.message, context.statement
    calls = [] if statement is None else calls_in(statement, *_CALLS)
    call = calls[0] if len(calls) == 1 else None
    function = _function(call, statement)
    mismatch = mismatch_in(message)
    where, value = _input_of(call, mismatch.input if mismatch is not None else 0, context)
    info = None
    if value is not None:
        info = context.tensor_named(ast.unparse(value))
    it: Sentence | Term = Sentence("the input" if value is None else ast.unparse(value))
    if info is not None and value is not None:
        it = Term(info.id, ast.unparse(value))
    words: dict[str, object] = {"function": function or "the function", "it": it}
    case, dtype = "", None if info is None else info.dtype
    if mismatch is not None:
        words |= {
            "input": mismatch.input,
            "row": mismatch.row,
            "column": mismatch.column,
            "analytical": number(mismatch.analytical),
            "numerical": number(mismatch.numerical),
            "why": _why(mismatch, dtype),
        }
    else:
        _, what, why = next(one for one in _OTHERS if re.search(one[0], message))
        case = "other"
        words |= {"what": what, "why": why}
    line = _backward_of(function, context) if mismatch is not None else None
    is_rough = mismatch is not None and _is_rough(mismatch, dtype)
    takes_any = call is not None and bool(call.args) and _takes_any_dtype(call.args[0])
    unused = None if line is None else _unused_gradient(line)
    if unused is not None:
        words["why"] = f"backward does not multiply with {unused}, the gradient that it gets"
    causes = [Cause("other", say("gradcheck is called here"), context.noticed)]
    if line is not None and not is_rough:
        causes.insert(0, Cause("other", say("{}.backward returns it", function or ""), line.at))
    yield GradcheckFailed(
        history=context.history,
        step=context.step,
        case=case,
        words=words,
        variables=(None if value is None else ast.unparse(value), function),
        causes=tuple(causes),
        targets={"it": [None if info is None else info.id]},
        statement=where if (is_rough and takes_any) or case == "other" else None,
        value=value,
        is_rough=is_rough,
        returned=line,
        unused=unused,
        is_frozen=info is not None and not info.requires_grad and case == "other",
    )


def _takes_any_dtype(function: ast.expr) -> bool:
    """Whether a function has no tensors of its own, which would be of another dtype."""
    if isinstance(function, ast.Attribute):
        return function.attr == "apply" or ast.unparse(function.value) in ("torch", "F")
    if not isinstance(function, ast.Lambda):
        return False
    own = {one.arg for one in function.args.args} | {"torch", "F", "math"}
    return set(names_read(function.body)) <= own


def _is_rough(mismatch: Mismatch, dtype: str | None) -> bool:
    """Whether the difference may be one of precision alone."""
    far = abs(mismatch.numerical - mismatch.analytical)
    return dtype == "float32" and far < 0.05 * max(abs(mismatch.numerical), 1.0)


def mismatch_in(message: str) -> Mismatch | None:
    r"""The entry of a message in which the Jacobians differ most.

    Examples:
        >>> mismatch_in("Jacobian mismatch for output 0 with respect to input 1,\n"
        ...             "numerical:tensor([[3., 0.]])\nanalytical:tensor([[2., 0.]])\n")
        Mismatch(output=0, input=1, row=0, column=0, numerical=3.0, analytical=2.0, ratio=None)
    """
    found = _MISMATCH.search(message.partition("The above quantities")[0].rstrip())
    if found is None:
        return None
    numerical, analytical = _entries(found[3]), _entries(found[4])
    if not numerical or list(map(len, numerical)) != list(map(len, analytical)):
        return None
    pairs = [
        (abs(n - a), row, column, n, a)
        for row, (ns, as_) in enumerate(zip(numerical, analytical, strict=True))
        for column, (n, a) in enumerate(zip(ns, as_, strict=True))
    ]
    worst = max(pairs, key=lambda pair: (pair[0] == pair[0], pair[0]), default=None)
    if worst is None:
        return None
    _, row, column, n, a = worst
    odd = [(x, y) for _, _, _, x, y in pairs if abs(x - y) > 1e-3 * max(abs(x), abs(y))]
    ratios = [y / x for x, y in odd if x]
    same = len(ratios) > 1 and max(ratios) - min(ratios) < 1e-2 * abs(ratios[0])
    ratio = ratios[0] if same and len(ratios) == len(odd) else None
    return Mismatch(int(found[1]), int(found[2]), row, column, n, a, ratio)


def _entries(text: str) -> list[list[float]]:
    """The rows of a printed matrix; empty if torch left some out."""
    numbers = text[: text.rfind("]") + 1].replace("nan", "None").replace("inf", "1e999")
    try:
        found = ast.literal_eval(numbers)
    except (ValueError, SyntaxError):
        return []
    rows = found if isinstance(found, list) and found and isinstance(found[0], list) else []
    return [[float("nan") if n is None else float(n) for n in row] for row in rows]


def _why(mismatch: Mismatch, dtype: str | None) -> str:
    if _is_rough(mismatch, dtype):
        return "differences in float32 are too rough to compare; gradcheck needs inputs of float64"
    if mismatch.analytical == 0:
        return "backward returned 0 where the output does change with the input"
    if mismatch.numerical == 0:
        return "backward returned a gradient where the output does not change with the input"
    if mismatch.ratio is not None:
        factor = number(round(mismatch.ratio, 4))
        return f"all that differ are {factor} times what differences give: a factor in backward"
    return "the formula in backward is not the derivative of what forward computes"


def _function(call: ast.Call | None, statement: Statement | None) -> str | None:
    """Name of the custom Function that is checked, or of the function."""
    given = call.args[0] if call is not None and call.args else None
    if isinstance(given, ast.Attribute) and given.attr == "apply":
        return last_name(given.value) or None
    return None if given is None else last_name(given) or None


def _input_of(
    call: ast.Call | None, place: int, context: ErrorContext
) -> tuple[Statement | None, ast.expr | None]:
    """An input of the call, and the line that has it; gradcheck counts the tensors."""
    given = call.args[1] if call is not None and len(call.args) > 1 else None
    where = context.statement
    if isinstance(given, ast.Name) and where is not None:
        bound = [
            one
            for one in statements_of(where.code)
            if isinstance(one.node, ast.Assign)
            and ast.unparse(one.node.targets[0]) == given.id
            and isinstance(one.node.value, ast.Tuple)
        ]
        if len(bound) == 1 and isinstance(bound[0].node, ast.Assign):
            where, given = bound[0], bound[0].node.value
    if isinstance(given, (ast.Tuple, ast.List)):
        inputs = [one for one in given.elts if not isinstance(one, ast.Constant)]
        return where, inputs[place] if place < len(inputs) else None
    return where, given if place == 0 else None


def _backward_of(function: str | None, context: ErrorContext) -> Statement | None:
    """The only ``return`` of the backward of a class."""
    found = [
        one
        for code in context.recording.codes
        for one in statements_of(code)
        if isinstance(one.node, ast.Return)
        and any(isinstance(s, ast.FunctionDef) and s.name == "backward" for s in one.around)
        and any(isinstance(s, ast.ClassDef) and s.name == function for s in one.around)
    ]
    return found[0] if len(found) == 1 else None


def in_double(found: GradcheckFailed) -> Iterator[Fix]:
    """Inputs of float64, where they are float32 and the Jacobians are nearly the same."""
    statement, value = found.statement, found.value
    if statement is None or value is None or not found.is_rough:
        return
    changes = called(value, "detach().double().requires_grad_()")
    does = say("gradcheck gets float64, in which differences are exact enough")
    yield Fix(does, statement.edited(changes), "instead", statement.at)


def multiplied(found: GradcheckFailed) -> Iterator[Fix]:
    """The derivative times the gradient that backward gets, where it returns one."""
    line, unused = found.returned, found.unused
    value = line.node.value if line is not None and isinstance(line.node, ast.Return) else None
    if line is None or unused is None or value is None or isinstance(value, ast.Tuple):
        return
    text = line.segment(value)
    is_product = isinstance(value, (ast.Name, ast.Call, ast.Attribute, ast.Subscript))
    new = f"{unused} * {text}" if is_product else f"{unused} * ({text})"
    does = say("multiplies with the gradient of the output")
    yield Fix(does, line.edited([(value, new)]), "instead", line.at)


def requiring(found: GradcheckFailed) -> Iterator[Fix]:
    """An input that requires grad, where none does."""
    statement, value = found.statement, found.value
    if statement is None or value is None or not found.is_frozen:
        return
    does = say("gradcheck has an input to check")
    yield Fix(does, statement.edited(called(value, "requires_grad_()")), "instead", statement.at)


def _unused_gradient(returned: Statement) -> str | None:
    """The gradient that a backward gets, if nothing in it reads it."""
    function = returned.function
    arguments = [] if function is None else function.args.args
    if len(arguments) != 2:
        return None
    name = arguments[1].arg
    lines = [one for one in statements_of(returned.code) if function in one.around]
    return None if any(name in names_read(one.node) for one in lines) else name
