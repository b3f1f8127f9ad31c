"""Changes to the gradients that the backward of a custom Function returns."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from gradviz.analysis.code.statements import (
    Span,
    Statement,
    TextChange,
    end_of,
    start_of,
    statements_of,
)
from gradviz.analysis.explain.fixes.rewriting import called
from gradviz.model.explanation import Fix
from gradviz.model.recording import Code
from gradviz.model.sentence import Sentence, say

_TRANSPOSES: Final = ("t", "T", "mT")


def returns_of(codes: Iterable[Code], name: str) -> list[Statement]:
    """Each ``return`` of the backward of a custom Function, by the name of its class."""
    return [
        statement
        for code in codes
        for statement in statements_of(code)
        if isinstance(statement.node, ast.Return) and _is_inside(statement, code, name)
    ]


def _is_inside(statement: Statement, code: Code, name: str) -> bool:
    around = statement.around
    places = [n for n, one in enumerate(around) if isinstance(one, ast.FunctionDef)]
    if not places or getattr(around[places[-1]], "name", "") != "backward":
        return False
    outer = around[places[-1] - 1] if places[-1] else None
    if isinstance(outer, ast.ClassDef):
        return outer.name == name
    return is_backward_of(code, name) or code.name.rpartition(": ")[2] == "backward"


def is_backward_of(code: Code, name: str) -> bool:
    """Whether a text is that of the backward of a class alone."""
    return f".{code.name.rpartition(': ')[2]}".endswith(f".{name}.backward")


def entries_of(returned: Statement) -> list[ast.expr]:
    """The gradients that a ``return`` has, one by one."""
    value = returned.node.value if isinstance(returned.node, ast.Return) else None
    if isinstance(value, ast.Tuple):
        return list(value.elts)
    return [] if value is None else [value]


def of_number(
    returned: Statement, owed: int, given: int, needed: tuple[bool, ...], may_vary: bool
) -> Iterator[Fix]:
    """One gradient per argument of forward, and ``None`` for those that need none.

    Args:
        returned: The line that returns them.
        owed: The number of arguments.
        given: The number of gradients.
        needed: Which arguments need one.
        may_vary: Whether other calls may give forward as many arguments as there are gradients.
    """
    entries = entries_of(returned)
    if len(needed) != owed or len(entries) != given:
        return
    texts = [returned.segment(one) for one in entries]
    if any(isinstance(one, ast.Starred) for one in entries):
        return
    is_grad = [not (isinstance(one, ast.Constant) and one.value is None) for one in entries]
    if owed < given and may_vary and all(is_grad[n] for n in range(owed) if needed[n]):
        yield from _of_this_call(returned, texts)
        return
    kept = iter([text for text, is_one in zip(texts, is_grad, strict=True) if is_one])
    if is_grad[:owed] == list(needed)[:given]:
        new = [*texts[:owed], *["None"] * (owed - given)]  # the places are right
        if any(needed[given:]):
            return
    elif sum(is_grad) == sum(needed) and (owed < given or sum(needed) == 1):
        # Of several that are fewer than the arguments either may be missing: a None, or a gradient.
        new = [next(kept) if is_needed else "None" for is_needed in needed]
    elif given < owed and not any(needed[given:]):
        new = [*texts, *["None"] * (owed - given)]
    else:
        return
    does = say("returns None for arguments of forward that need no gradient")
    if given > owed:
        does = say("returns one gradient per argument of forward")
    code = returned.edited([_all(entries, ", ".join(new))])
    yield Fix(does, code, "instead", returned.at)


def _of_this_call(returned: Statement, texts: list[str]) -> Iterator[Fix]:
    """A gradient for each argument that the call gave to forward, which has defaults for others;
    other calls may give them all."""
    function = returned.function
    names = [] if function is None else [one.arg for one in function.args.args]
    if names:
        new = f"({', '.join(texts)})[:len({names[0]}.needs_input_grad)]"
        does = say("returns one gradient per argument that the call gave to forward")
        code = returned.edited([_all(entries_of(returned), new)])
        yield Fix(does, code, "instead", returned.at)


def of_list(returned: Statement, owed: int) -> Iterator[Fix]:
    """A tuple in place of a list with one gradient per argument."""
    value = entries_of(returned)
    if len(value) == 1 and isinstance(value[0], ast.List) and len(value[0].elts) == owed > 1:
        new = ", ".join(returned.segment(one) for one in value[0].elts)
        does = say("returns a tuple; a list counts as one gradient")
        yield Fix(does, returned.edited([(value[0], new)]), "instead", returned.at)


def of_array(returned: Statement) -> Iterator[Fix]:
    """A tensor in place of the only gradient, which is an array."""
    value = entries_of(returned)
    if len(value) == 1 and not isinstance(value[0], (ast.List, ast.Starred)):
        new = f"torch.from_numpy({returned.segment(value[0])})"
        does = say("returns the array as a tensor")
        yield Fix(does, returned.edited([(value[0], new)]), "instead", returned.at)


def without(returned: Statement, place: int) -> Iterator[Fix]:
    """``None`` in place of one gradient."""
    entries = entries_of(returned)
    if len(entries) > 1 and place < len(entries):
        does = say("returns None for an argument of forward that is no tensor")
        code = returned.edited([(entries[place], "None")])
        yield Fix(does, code, "instead", returned.at)


def _all(entries: list[ast.expr], new: str) -> TextChange:
    return Span(start_of(entries[0]), end_of(entries[-1])), new


def of_shape(
    statement: Statement,
    value: ast.expr,
    got: tuple[int, ...],
    wanted: tuple[int, ...],
    given: Sentence,
) -> Iterator[Fix]:
    """The transposed product, or a dimension of size 1 more or less.

    Args:
        statement: The line that computes the gradient.
        value: The gradient in it.
        got: Its shape.
        wanted: The shape it must have.
        given: The tensor it is the gradient of.
    """
    changes: list[TextChange] = []
    does = say("the gradient has the shape of {}", given)
    if len(got) == 2 and got == wanted[::-1] and got != wanted:
        does = say("transposes the product, which then has the shape of {}", given)
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.MatMult):
            left, right = (_transposed(one, statement) for one in (value.left, value.right))
            changes = [(value, f"{right} @ {left}")]
    elif len(got) + 1 == len(wanted) and (at := _between(got, wanted)) is not None:
        changes = called(value, f"unsqueeze({at})")
    elif len(got) == len(wanted) + 1 and (at := _between(wanted, got)) is not None:
        changes = called(value, f"squeeze({at})")
    if changes:
        yield Fix(does, statement.edited(changes), "instead", statement.at)


def _between(short: tuple[int, ...], long: tuple[int, ...]) -> int | None:
    """The one dimension of size 1 that the longer shape has besides."""
    found = [n for n in range(len(long)) if long[n] == 1 and long[:n] + long[n + 1 :] == short]
    return found[-1] if found else None


def _transposed(value: ast.expr, statement: Statement) -> str:
    inner = value.func if isinstance(value, ast.Call) and not value.args else value
    if isinstance(inner, ast.Attribute) and inner.attr in _TRANSPOSES:
        return statement.segment(inner.value)
    text = statement.segment(value)
    is_simple = isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return f"{text}.t()" if is_simple else f"({text}).t()"
