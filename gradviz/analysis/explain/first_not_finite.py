"""The first nan or inf of a recording as a finding: what made it, of which numbers, and why."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Final

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import (
    Statement,
    is_expression,
    last_name,
    names_read,
    statement_of,
)
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.not_finite import (
    First,
    FirstGiven,
    FirstGradient,
    FirstValue,
    Word,
    call_that_made,
)
from gradviz.model.events import HookFired, Operation
from gradviz.model.explanation import Cause, CauseKind, CodeLine
from gradviz.model.formatting import not_finite, summary
from gradviz.model.history import EventPlace, History
from gradviz.model.operations import operation_of
from gradviz.model.reachability import reachable
from gradviz.model.records import Node, SavedTensor, ValueSummary
from gradviz.model.sentence import Sentence, Term, listed, say

_VALUES: Final[Mapping[str, str]] = {
    "log": "the logarithm of 0 is -inf, and of a negative number it is nan",
    "sqrt": "the square root of a negative number is nan",
    "rsqrt": "1 / sqrt(0) is inf, and the square root of a negative number is nan",
    "reciprocal": "1 / 0 is inf",
    "div": "a number divided by 0 is inf, and 0 / 0 is nan",
    "pow": "0 to a negative power is inf, and a negative number to a fractional power is nan",
    "acos": "arc cosine and arc sine exist between -1 and 1 only",
    "softmax": "softmax of a row in which all is -inf divides 0 by 0",
    "sub": "inf - inf is nan",
    "add": "inf - inf is nan",
    "mul": "0 times inf is nan",
    "std": "the unbiased variance of one number divides 0 by 0",
    "mean": "the mean of no numbers divides 0 by 0",
}
"""Why an operation returns nan or inf, by family."""
_GRADIENTS: Final[Mapping[str, str]] = {
    "sqrt": "the derivative of sqrt is infinite at 0; times a gradient of 0 that is nan",
    "pow": "the derivative of a power below 1 is infinite at 0; times a gradient of 0 that is nan",
    "log": "the derivative of log is infinite at 0; times a gradient of 0 that is nan",
    "div": "the derivative of a quotient is infinite where the divisor is 0",
    "acos": "the derivatives of arc cosine and arc sine are infinite at -1 and 1",
}
"""Why a node returns a gradient that is nan or inf, by family."""
_POLES: Final[Mapping[str, tuple[float, ...]]] = {
    "sqrt": (0.0,),
    "pow": (0.0,),
    "acos": (1.0, -1.0),
}
"""Numbers at which the derivative of a function is infinite, and the function is not."""
_WITHOUT_POLE: Final = frozenset({"add", "mul", "sub"})
"""Families that return an inf for finite numbers only where the result is too large."""
_OF_TWO: Final = frozenset({"div", "pow"})
"""Families that compute with a second number, which may be 0 and no tensor."""
_TOO_LARGE: Final = "the result is larger than its dtype can hold, so it is inf"
_TOO_LARGE_OR_GIVEN: Final = (
    "the result is larger than its dtype can hold, or one of the numbers that it is computed from "
    "is inf"
)
_ELSE: Final = "nan and inf spread to everything that is computed from them, gradients too"
_FAMILIES: Final[Mapping[str, str]] = {
    "arccos": "acos",
    "arcsin": "acos",
    "asin": "acos",
    "divide": "div",
    "float_power": "pow",
    "log10": "log",
    "log2": "log",
    "log_softmax": "softmax",
    "nanmean": "mean",
    "rdiv": "div",
    "rpow": "pow",
    "rtruediv": "div",
    "rsub": "sub",
    "subtract": "sub",
    "true_divide": "div",
    "truediv": "div",
    "var": "std",
}
REVERSED: Final = frozenset({"rdiv", "rpow", "rsub", "rtruediv"})
"""Operations that get the right operand first."""
_BRANCHED: Final = "WhereBackward0"
_SHORT: Final = 40
_MODULES: Final = frozenset(
    {"torch", "th", "torch.special", "torch.nn.functional", "F", "functional"}
)


@dataclass(frozen=True)
class Maker:
    """The operation that made the first nan or inf, or whose node did.

    Args:
        family: Its name, the same for all that fail in the same way.
        name: What it is called in a sentence.
        at: Its line.
        statement: That line as syntax.
        node: Its expression there, if it is known.
        call: The call, if a recording saw it.
        graph_node: Its node, if it has one.
        is_gradient: Whether it was the node, and not the value.
        operands: What it read, or had saved, with the numbers as far as they are known.
    """

    family: str
    name: str
    at: CodeLine | None
    statement: Statement | None
    node: ast.expr | ast.AugAssign | None
    call: Operation | None
    graph_node: Node | None
    is_gradient: bool
    word: Word
    operands: tuple[tuple[Sentence, ValueSummary], ...] = ()
    filled: tuple[EventPlace, Operation] | None = None
    """The call that filled in the inf of which it made nan, if one did."""


@dataclass(frozen=True, kw_only=True)
class NotFiniteFound(Finding):
    """Where the first nan or inf was made."""

    maker: Maker | None = None


def plain_name(name: str) -> str:
    """What an operation is called.

    Examples:
        >>> plain_name("__pow__"), plain_name("add_")
        ('pow', 'add_')
    """
    return name[2:-2] if name.startswith("__") and name.endswith("__") else name


def family_of(name: str) -> str:
    """What fails in the same way has the same family.

    Examples:
        >>> family_of("__rtruediv__"), family_of("log2"), family_of("sqrt_")
        ('div', 'log', 'sqrt')
    """
    plain = name.strip("_")
    return _FAMILIES.get(plain, plain)


def finding(
    first: First | None,
    harm: Sentence,
    history: History,
    step: int,
    names: Iterable[str | None] = (),
    key: str | None = None,
) -> NotFiniteFound:
    """The finding for the first nan or inf.

    Args:
        first: What made it; ``None`` if that is not known.
        harm: Where it was noticed, in a sentence.
        history: The recording.
        step: The step at which it was noticed.
        names: Variables it was noticed in.
        key: The tensor it was noticed in.
    """
    maker, words, causes, variables = None, Sentence(), [], list(names)
    if isinstance(first, FirstValue) and first.source is not None:
        source = history.tensor_term(first.source, first.place[0], "a tensor")
        by, at = plain_name(first.call.name), history.line(first.place)
        words = say("{} had {} before a recorded call computed with it; ", source, first.word)
        words += say("{} in {} was the first that did", by, history.line_term(at))
        causes = [Cause("other", say("{} computed with {}", by, source), at)]
        variables.insert(0, history.name(first.source, first.place[0]))
    elif isinstance(first, FirstValue):
        maker, causes = _value(first, history)
        line = history.line_term(maker.at)
        words = say("{} in {} returned the first {}", maker.name, line, maker.word)
        words += _told(" from {}", maker)
        if maker.call is not None and not maker.call.reads:
            made = next(iter(maker.call.made), None)
            term = history.tensor_term(made, step)
            words = say("{} made {} with {} in {}", maker.name, term, maker.word, line)
            variables.insert(0, history.name(made, step))
    elif isinstance(first, FirstGradient):
        maker = _gradient(first, history)
        causes = [_made(maker)]
        line, node = history.line_term(maker.at), _node_term(first.node)
        words = say("{} of {} in {} got finite gradients and ", node, maker.name, line)
        words += say("returned the first {}", first.word)
        words += _told("; {}", maker)
    elif isinstance(first, FirstGiven) and isinstance(first.event, HookFired):
        words = say("the hook {} returned {}", first.event.hook.name, first.word)
    elif isinstance(first, FirstGiven):
        words = say("the gradient given to backward has {}", first.word)
        causes = [Cause("other", words, history.line(first.place))]
    return NotFiniteFound(
        history=history,
        step=step,
        noticed=history.line(step),
        case="" if words else "not known",
        words={"first": words, "harm": harm, "why": _ELSE if maker is None else _why(maker)},
        variables=(*(() if maker is None else _names(maker, history)), *variables),
        node=None if maker is None else maker.graph_node,
        causes=tuple(causes),
        targets={**_targets(maker), "it": [key]},
        unknown=() if words else (say("which operation returned the first nan or inf"),),
        maker=maker,
    )


def of_node(node: Node, harm: Sentence, history: History, step: int, how: str) -> NotFiniteFound:
    """The finding for a node that returned nan, where no recording saw what it got.

    Args:
        node: The node.
        harm: That it returned nan, in a sentence.
        history: What is known.
        step: The step at which it was noticed.
        how: How to find out what is not known.
    """
    maker = maker_of_node(node, history, "nan")
    if maker.family == "log" and _has_zero(maker.operands[:1]):  # forward has made -inf of it
        maker = replace(maker, is_gradient=False, word="inf", operands=maker.operands[:1])
    is_known = not maker.is_gradient or is_at_a_pole(maker)
    words = say("{} made the node in {}", maker.name, history.line_term(maker.at))
    words += _told("; {}", maker)
    unknown = say("whether a value of forward was nan before{}", how)
    return NotFiniteFound(
        history=history,
        step=step,
        noticed=history.line(step),
        words={"first": words, "harm": harm, "why": _why(maker) if is_known else _ELSE},
        variables=tuple(_names(maker, history)) if is_known else (),
        node=maker.graph_node if is_known else None,
        node_name=node.name if is_known else None,
        causes=(_made(maker, "other" if is_known else "save"),) if maker.at is not None else (),
        targets=_targets(maker if is_known else None),
        unknown=() if is_known else (unknown,),
        maker=maker if is_known else None,
    )


def of_line(
    line: Statement, name: str, harm: Sentence, history: History, step: int
) -> NotFiniteFound:
    """The finding for a line whose result is not finite, where no recording saw it run.

    Args:
        line: The line.
        name: What it bound.
        harm: That a node returned nan, in a sentence.
        history: What is known.
        step: The step at which it was noticed.
    """
    known = {info.name: info for info in history.tensors(step)}
    names = dict.fromkeys((*names_read(line.node), name))
    told = []
    for one in names:
        info = known.get(one)
        if info is not None and info.values is not None:
            values = _summary(info.shape, info.dtype, info.values)
            told.append((history.tensor_term(info.id, step), values))
    *read, (it, result) = told
    word: Word = "nan" if result.has_nan else "inf"
    words = say("{} computed the first {}", history.line_term(line.at), word)
    words += say(", {}", _operands([*read[:2], (it, result)]))
    logs = _expression("log", line)
    operand = None if logs is None else operand_of(logs, "log", 0)
    given = [one for one in read if operand is not None and one[0] == ast.unparse(operand)]
    maker = None
    if _has_zero(given):
        maker = Maker("log", "log", line.at, line, logs, None, None, False, "inf", tuple(given))
    return NotFiniteFound(
        history=history,
        step=step,
        noticed=history.line(step),
        words={"first": words, "harm": harm, "why": _ELSE if maker is None else _why(maker)},
        variables=tuple(str(one) for one, _ in read),
        causes=(Cause("other", say("computed {} with {}", it, word), line.at),),
        targets={"node": [None]},
        maker=maker,
    )


def maker_of_node(node: Node, history: History, word: Word) -> Maker:
    """The operation that made a node."""
    made = call_that_made(node, history)
    at, step = history.made_at(node), len(history.recording.records)
    if made is not None:
        name, site = made[1].name, site_of(history, *made)
        statement, expression = (None, None) if site is None else (site.statement, site.node)
        saved = tuple(_saved(node.saved, history, made[0][0]))
        operands = tuple(_around(node, history, made[0][0])) or saved
        call = made[1]
    else:
        name, call, operands = operation_of(node), None, tuple(_around(node, history, step))
        statement = statement_of(history, at)
        expression = None if statement is None else _expression(name, statement)
    return Maker(
        family_of(name), plain_name(name), at, statement, expression, call, node, True, word,
        operands,
    )  # fmt: skip


def is_at_a_pole(maker: Maker) -> bool:
    """Whether the numbers of an operation show that its derivative is infinite, while what it
    computed is finite."""
    for _, values in maker.operands:
        if values.has_nan or values.has_inf or values.values is None:
            return False
    if maker.family == "pow" and not is_root(maker.graph_node):
        return False
    found = [n for _, values in maker.operands for n in values.values or ()]
    return any(pole in found for pole in _POLES.get(maker.family, ()))


def is_root(node: Node | None) -> bool:
    """Whether a node is of a power between 0 and 1."""
    exponent = dict(() if node is None else node.attributes).get("exponent")
    return isinstance(exponent, float) and 0 < exponent < 1


def where_node(maker: Maker, history: History) -> Node | None:
    """The node of the ``torch.where`` that reads the result, itself or through a few others."""
    if maker.graph_node is None:
        return None

    def readers(way: tuple[str, int]) -> Iterator[tuple[str, int]]:
        key, depth = way
        if depth < 4:
            for reader in history.readers(key):
                yield reader.id, depth + 1

    for key, _ in reachable([(maker.graph_node.id, 0)], readers):
        node = history.node(key, len(history.recording.records))
        if node is not None and node.name == _BRANCHED:
            return node
    return None


# ------------------------------------------------------------------------------- what it was


def _value(first: FirstValue, history: History) -> tuple[Maker, list[Cause]]:
    """The call that made the first inf or nan, and the one that made nan of the inf."""
    begun = first.infinite
    begun = begun if begun is not None and begun.source is None else None
    one = first if begun is None or begun.is_filled_in else begun
    call, place = one.call, one.place
    made = history.node(call.node, place[0])
    line = (None if made is None else history.made_at(made)) or history.line(place)
    site = site_of(history, place, call)
    statement, node = (None, None) if site is None else (site.statement, site.node)
    name = plain_name(call.name)
    maker = Maker(
        family_of(call.name),
        name,
        line,
        statement,
        node,
        call,
        made,
        False,
        one.word,
        tuple(_read(one, node, statement, history)),
        (begun.place, begun.call) if begun is not None and begun.is_filled_in else None,
    )
    causes = [Cause("other", say("{} returned the first {}", name, one.word), line)]
    if one is not first:
        what = say("{} made nan of the inf", plain_name(first.call.name))
        causes.append(Cause("other", what, history.line(first.place)))
    elif begun is not None:
        what = say("{} filled in the inf", plain_name(begun.call.name))
        causes.append(Cause("other", what, history.line(begun.place)))
    return maker, causes


def _read(
    one: FirstValue,
    node: ast.expr | ast.AugAssign | None,
    statement: Statement | None,
    history: History,
) -> Iterator[tuple[Sentence, ValueSummary]]:
    """What a call read, by name, else as it is typed."""
    family, told = family_of(one.call.name), set()
    places = [n for n, operand in enumerate(one.call.inputs) if operand.shape is not None]
    for at, (key, values) in enumerate(zip(one.call.reads, one.call.read_values)):
        if values is None or key in one.call.made or key in told:
            continue
        told.add(key)
        place = places[at] if at < len(places) else at
        if one.call.name.strip("_") in REVERSED:
            place = 1 - place
        typed = None if node is None else operand_of(node, family, place)
        name = history.name(key, one.place[0])
        text = None if typed is None or statement is None else statement.segment(typed)
        is_short = text is not None and len(text) <= _SHORT and "\n" not in text
        if name is None and text is not None and is_short:
            yield Sentence(text), values
        else:
            yield history.tensor_term(key, one.place[0], "a tensor"), values


def operand_of(node: ast.AST, family: str, place: int) -> ast.expr | None:
    """An operand of an expression, as it is typed.

    Args:
        node: The expression.
        family: The operation that it is.
        place: Which operand; 0 is what a method is called on.
    """
    if isinstance(node, ast.BinOp):
        return (node.left, node.right)[place] if place in (0, 1) else None
    if isinstance(node, ast.AugAssign):
        return node.value if place == 1 else None
    if not isinstance(node, ast.Call) or family_of(last_name(node.func)) != family:
        return None
    if any(isinstance(one, ast.Starred) for one in node.args):
        return None
    given = list(node.args)
    if isinstance(node.func, ast.Attribute) and not is_module(node.func.value):
        given.insert(0, node.func.value)
    return given[place] if place < len(given) else None


def is_module(value: ast.expr) -> bool:
    """Whether an expression is one of torch's modules of functions."""
    return ast.unparse(value) in _MODULES


def _gradient(first: FirstGradient, history: History) -> Maker:
    """The operation whose node made it."""
    found = maker_of_node(first.node, history, first.word)
    used = tuple(_saved(first.ran.used, history, first.place[0]))
    return replace(found, operands=found.operands or used)


def _made(maker: Maker, kind: CauseKind = "other") -> Cause:
    return Cause(kind, say("{} made the node", maker.name), maker.at)


def _has_zero(operands: Iterable[tuple[Sentence, ValueSummary]]) -> bool:
    """Whether finite numbers have 0 among them, and none below."""
    return any(
        0.0 in (values.values or ()) and values.min == 0.0 and not_finite(values) == ""
        for _, values in operands
    )


def _told(template: str, maker: Maker) -> Sentence:
    """The numbers of operands in a sentence, as far as they are known."""
    operands = maker.operands[:2]
    return say(template, _operands(operands)) if operands else Sentence()


def _operands(operands: Iterable[tuple[Sentence, ValueSummary]]) -> Sentence:
    return listed(
        [
            say("{}: {}" if " " in name else "{} = {}", name, summary(values))
            for name, values in operands
        ]
    )


def _targets(maker: Maker | None) -> dict[str, list[str | None]]:
    node = None if maker is None else maker.graph_node
    return {"node": [None if node is None else node.id]}


def _around(node: Node, history: History, step: int) -> Iterator[tuple[Sentence, ValueSummary]]:
    """Numbers of the tensors that an operation read and returned, of which few are named."""
    entries = [entry for entry in node.next_functions if entry is not None]
    for key, output in (*entries, (node.id, 0)):
        behind = history.node(key, step)
        known = behind.variable if behind is not None else None
        known = known or history.output_of(key, step, output)
        info = history.tensor(known, step)
        if info is not None and info.values is not None and info.name is not None:
            term = history.tensor_term(known, step)
            yield term, _summary(info.shape, info.dtype, info.values)


def _why(maker: Maker) -> str:
    if maker.is_gradient and maker.family == "pow" and not is_root(maker.graph_node):
        return _ELSE
    if maker.is_gradient:
        return _GRADIENTS.get(maker.family, _ELSE)
    if maker.word == "inf" and maker.family in _WITHOUT_POLE:
        return _TOO_LARGE if _are_all_known(maker) else _TOO_LARGE_OR_GIVEN
    is_far = not any(map(_may_have_zero, maker.operands))
    if maker.word == "inf" and is_far and (maker.family not in _OF_TWO or _are_all_known(maker)):
        return _TOO_LARGE
    return _VALUES.get(maker.family, _ELSE)


def _are_all_known(maker: Maker) -> bool:
    """Whether an operator got tensors, which are its operands, and finite constants other than 0
    only: of ``float("inf")`` or a variable with a number nothing is known."""
    node = maker.node
    pair = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    pair = [node.target, node.value] if isinstance(node, ast.AugAssign) else pair
    given = [one.value for one in pair if isinstance(one, ast.Constant)]
    are_finite = all(isinstance(one, int | float) and one and isfinite(one) for one in given)
    return bool(pair) and are_finite and len(pair) - len(given) == len(maker.operands)


def _may_have_zero(operand: tuple[Sentence, ValueSummary]) -> bool:
    least, most = operand[1].min, operand[1].max
    are_known = isinstance(least, (int, float)) and isinstance(most, (int, float))
    return not are_known or least <= 0 <= most  # type: ignore[operator]


def _names(maker: Maker, history: History) -> Iterator[str]:
    """Variables that the operands are, or are computed from."""
    for name, _ in maker.operands:
        if name.terms:
            yield from (term.text for term in name.terms if is_expression(term.text))
        else:
            yield from (one for one in _read_in(name) if one in history.texts)


def _read_in(text: str) -> list[str]:
    try:
        return names_read(ast.parse(text, mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _node_term(node: Node) -> Term:
    return Term(node.id, node.name)


def _saved(
    slots: Iterable[SavedTensor], history: History, step: int
) -> Iterator[tuple[Sentence, ValueSummary]]:
    """What a node has saved, with its values where they are few."""
    for slot in slots:
        info = history.tensor(slot.tensor, step)
        values = slot.values if info is None else info.values
        if values is None or slot.shape is None or slot.dtype is None:
            continue
        name = history.tensor_term(slot.tensor, step, f"its {slot.name}")
        yield name, _summary(slot.shape, slot.dtype, values)


def _summary(shape: tuple[int, ...], dtype: str, values: tuple[Any, ...]) -> ValueSummary:
    """A summary of all numbers of a tensor."""
    words = [str(value) for value in values]
    plain = [value for value in values if isinstance(value, (int, float))]
    is_plain = len(plain) == len(values) and bool(plain)
    return ValueSummary(
        shape, dtype, values,
        min=min(plain) if is_plain else None,
        max=max(plain) if is_plain else None,
        has_nan="nan" in words,
        has_inf=any(word.strip("-") == "inf" for word in words),
    )  # fmt: skip


def _expression(operation: str, statement: Statement) -> ast.expr | None:
    """The only expression of a line that calls an operation."""
    family, found = family_of(operation), []
    for part in statement.parts:
        is_division = isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div)
        is_power = isinstance(part, ast.BinOp) and isinstance(part.op, ast.Pow)
        is_call = isinstance(part, ast.Call) and family_of(last_name(part.func)) == family
        fits = is_call or (is_division and family == "div") or (is_power and family == "pow")
        if fits and isinstance(part, ast.expr):
            found.append(part)
    return found[0] if len(found) == 1 else None
