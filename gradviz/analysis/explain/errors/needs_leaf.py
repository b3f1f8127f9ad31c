"""Calls that need a leaf and were given the result of an operation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gradviz.analysis.code.bindings import bound_before
from gradviz.analysis.code.statements import is_expression, is_named
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand, given, line_of, named
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import kept_results, new_leaf, refused_calls
from gradviz.analysis.explain.fixes.refused_methods import is_loop_variable
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Term, say

_NOTHING: Final = GivenOperand(None, None, None)


@dataclass(frozen=True, kw_only=True)
class LeafNeeded(Finding):
    """The result for which a call raised an error."""

    context: ErrorContext
    operand: GivenOperand


def flag(context: ErrorContext) -> Iterator[LeafNeeded]:
    """``requires_grad`` was set on the result of an operation: the line that sets it is wrong."""
    for found in non_leaf(context):
        sets = Cause("other", say("sets the flag of {}", found.operand.words), context.noticed)
        variables = (*found.variables, _loop_variable(context))
        yield replace(found, causes=(sets, *found.causes), variables=variables)


def _loop_variable(context: ErrorContext) -> str | None:
    """The variable of a loop over tensors whose flag the line sets."""
    parts = () if context.statement is None else context.statement.parts
    for part in parts:
        is_flag = isinstance(part, ast.Attribute) and part.attr in (
            "requires_grad",
            "requires_grad_",
        )
        if is_flag and isinstance(part.value, ast.Name) and context.statement is not None:  # type: ignore[attr-defined]
            name = part.value.id  # type: ignore[attr-defined]
            return name if is_loop_variable(context.statement, name) else None
    return None


def non_leaf(context: ErrorContext, found: GivenOperand | None = None) -> Iterator[LeafNeeded]:
    """A call that needs a leaf was made on the result of an operation."""
    found = found or next(iter(given(context)), _NOTHING)
    node = context.node_of(found.info)
    made = line_of(found.key, context) or _line_in_text(found, context)
    cause = say("{} was made by an operation", found.words)
    yield LeafNeeded(
        history=context.history,
        step=context.step,
        words={
            "it": found.words,
            "made": "" if node is None else say(" (its grad_fn is {})", Term(node.id, node.name)),
        },
        variables=(found.name,),
        node=node,
        causes=() if made is None else (Cause("other", cause, made),),
        targets={"it": [None if found.info is None else found.info.id]},
        context=context,
        operand=found,
    )


def sent(context: ErrorContext) -> Iterator[LeafNeeded]:
    """A result would be sent to another process."""
    tensors = given(context) or [
        one for name in _names(context) if (one := named(name, context)).info is not None
    ]
    tensors = [one for one in tensors if one.info is not None and _has_graph(one.info)]
    operand = tensors[0] if len(tensors) == 1 else _NOTHING
    for found in non_leaf(context, operand):
        here = say("{} would be sent from here", operand.words)
        unknown = () if tensors else (say("which tensor it is. Detach what is sent"),)
        causes = (Cause("other", here, context.noticed), *found.causes)
        yield replace(found, causes=causes, unknown=unknown)


def _names(context: ErrorContext) -> list[str]:
    """Variables and paths that the line reads."""
    parts = () if context.statement is None else context.statement.parts
    typed = (one for one in parts if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)))
    return list(dict.fromkeys(map(ast.unparse, typed)))


def _has_graph(info: TensorInfo) -> bool:
    return info.requires_grad and not info.is_leaf


def without_graph(found: LeafNeeded) -> Iterator[Fix]:
    """``detach()`` where the line types the result."""
    statement, name = found.context.statement, found.operand.name
    if statement is None or statement.is_compound or name is None:
        return
    reads = [part for part in statement.parts if is_named(part, name)]
    if len(reads) == 1 and isinstance(reads[0], ast.expr):
        does = say("sends the values without the graph")
        yield Rewriting(statement, tuple(called(reads[0], "detach()"))).fix(does)


def _line_in_text(found: GivenOperand, context: ErrorContext) -> CodeLine | None:
    """The line that made a result, where the text shows it and no recording does."""
    statement, name = context.statement, found.name
    if context.is_recorded or statement is None or name is None or not is_expression(name):
        return None
    bound = bound_before(name, statement)
    is_plain = bound is not None and isinstance(bound.node, ast.Assign)
    if bound is None or not is_plain or not is_named(bound.node.targets[0], name):  # type: ignore[attr-defined]
        return None
    return bound.at


def without_flag(found: LeafNeeded) -> Iterator[Fix]:
    """A tensor outside the graph in place of the flag."""
    yield from refused_calls.of_flag(found.operand.name, found.context)


def cloned(found: LeafNeeded) -> Iterator[Fix]:
    """``clone``, inside or outside the graph; of a module, a result kept without its graph."""
    yield from kept_results.without_graph(found.operand, found.context)
    yield from refused_calls.of_deepcopy(found.operand.name, found.context)


def made_leaf(found: LeafNeeded) -> Iterator[Fix]:
    """A new leaf at the line that made the result."""
    yield from new_leaf.where_made(found.operand, found.context)
    line = _line_in_text(found.operand, found.context)
    yield from new_leaf.of_line(found.operand, found.context.statement_at(line))
