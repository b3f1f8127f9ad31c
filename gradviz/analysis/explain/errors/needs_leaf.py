"""Calls that need a leaf and were given the result of an operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand, given, line_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import kept_results, new_leaf, refused_calls
from gradviz.model.explanation import Cause, Fix
from gradviz.model.sentence import Term, say


@dataclass(frozen=True, kw_only=True)
class LeafNeeded(Finding):
    """The result for which a call raised an error."""

    context: ErrorContext
    operand: GivenOperand


def flag(context: ErrorContext) -> Iterator[LeafNeeded]:
    """``requires_grad`` was set on the result of an operation: the line that sets it is wrong."""
    for found in non_leaf(context):
        sets = Cause("other", say("sets the flag of {}", found.operand.words), context.noticed)
        yield replace(found, causes=(sets, *found.causes))


def non_leaf(context: ErrorContext) -> Iterator[LeafNeeded]:
    """A call that needs a leaf was made on the result of an operation."""
    found = next(iter(given(context)), GivenOperand(None, None, None))
    node = context.node_of(found.info)
    made = line_of(found.key, context)
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
