"""Code read a saved tensor that backward had freed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import (
    Statement,
    is_expression,
    names_bound,
    statements_at,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.freed_sentences import (
    backward_that_freed,
    by_words,
    call_of,
    targets_of,
    unknown_of,
)
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import around_backward
from gradviz.analysis.explain.fixes.move_line import moved
from gradviz.model.explanation import Cause, Fix
from gradviz.model.freed import EarlierBackward
from gradviz.model.records import Node
from gradviz.model.sentence import Sentence, Term, say


def reading_of(context: ErrorContext) -> tuple[Statement, ast.Attribute] | None:
    """The expression that read a saved tensor: ``y.grad_fn._saved_result``, and its statement."""
    found = [
        (statement, part)
        for statement in statements_at(context.history, context.noticed)
        for part in statement.parts
        if isinstance(part, ast.Attribute)
        and part.attr.startswith(("_saved_", "saved_tensors", "saved_variables"))
    ]
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True, kw_only=True)
class SavedRead(Finding):
    """A line that read what a node had saved, and the backward that had freed it."""

    context: ErrorContext
    earlier: EarlierBackward | None


def saved_read(context: ErrorContext) -> Iterator[SavedRead]:
    """Code read a saved tensor of a node that backward had run."""
    found = reading_of(context) if context.backward is None else None
    if found is None:
        return
    statement, reading = found
    slot = reading.attr.removeprefix("_saved_")
    owner, when = _tensor_read(reading, statement, context)
    node = context.history.node(_node_of(owner, when, context), context.step)
    earlier = None if node is None else backward_that_freed(node, context)
    where = "" if earlier is None else say(
        " in backward {}, {}", earlier.number, context.at(earlier.at)
    )  # fmt: skip
    causes = () if earlier is None else (
        Cause("backward", say("backward {} freed it", earlier.number), earlier.at),
    )  # fmt: skip
    yield SavedRead(
        history=context.history,
        step=context.step,
        words={
            "node": "the node" if node is None else Term(node.id, node.name),
            "slot": slot,
            "where": where,
            "by": by_words(earlier, context),
        },
        variables=(owner,),
        node=node,
        saved=slot,
        causes=causes,
        targets={} if node is None else targets_of(node),
        unknown=_unknown(node, earlier, context),
        context=context,
        earlier=earlier,
    )


def fixes(found: SavedRead) -> Iterator[Fix]:
    """Keep the graph, or read before the backward."""
    context, earlier, statement = found.context, found.earlier, found.context.statement
    first = None if earlier is None else context.statement_at(earlier.at)
    if earlier is None or statement is None:
        return
    keep = around_backward.keep_graph(call_of(earlier, context), earlier.step, context)
    if keep is not None:
        yield keep
    if first is not None and first.line < statement.line:
        sooner = moved(statement, first, "before", say("reads it before it is freed"))
        yield from () if sooner is None else (sooner,)


def _unknown(
    node: Node | None, earlier: EarlierBackward | None, context: ErrorContext
) -> tuple[Sentence, ...]:
    if node is not None:
        return tuple(unknown_of(node, earlier, context))
    return (say("which node it was{}", context.how_to_know),)


def _tensor_read(
    reading: ast.Attribute, statement: Statement, context: ErrorContext
) -> tuple[str | None, int]:
    """``"y"`` of ``y.grad_fn._saved_result``, and the step at which ``grad_fn`` was read."""
    node = reading.value
    step = context.step
    if isinstance(node, ast.Name):  # f = y.grad_fn, some lines before
        for earlier in range(context.step - 1, 0, -1):
            other = context.statement_at(context.history.line(earlier))
            if other is not None and node.id in names_bound(other):
                value = getattr(other.node, "value", None)
                statement, step = other, earlier
                node = value if isinstance(value, ast.expr) else node
                break
    if isinstance(node, ast.Attribute) and node.attr == "grad_fn":
        name = statement.segment(node.value)
        return (name if is_expression(name) else None), step
    return None, step


def _node_of(name: str | None, step: int, context: ErrorContext) -> str | None:
    """The node behind the tensor that had a name at a step."""
    for info in context.history.tensors(step):
        if name is not None and info.name == name and context.history.is_alive(info.id, step):
            return info.node
    return None
