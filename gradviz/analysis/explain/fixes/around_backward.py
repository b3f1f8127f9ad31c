"""Changes around backwards: keep the graph, compute the loss again, move the update."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence

from gradviz.analysis.code.sites import Site
from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    same_block,
    start_of,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import lines_that_made, reachable, root_nodes
from gradviz.analysis.explain.errors.backward_root import called_root
from gradviz.analysis.explain.errors.operands import named
from gradviz.analysis.explain.fixes.move_line import moved
from gradviz.analysis.explain.fixes.rewriting import together, with_keyword
from gradviz.analysis.explain.rerun_safety import can_repeat, was_written
from gradviz.model.events import OptimizerStepped, ZeroedGrad
from gradviz.model.explanation import Fix
from gradviz.model.reachability import leading_to
from gradviz.model.sentence import Sentence, listed, say


def keep_graph(first: Site | None, since: int, context: ErrorContext) -> Fix | None:
    """``retain_graph=True`` for an earlier backward, and for others before the last one.

    Args:
        first: The earlier backward.
        since: Step at which it had ended.
        context: The error of the later one.
    """
    call = None if first is None else first.call_of("backward", "grad")
    if first is None or call is None or was_written(since, root_nodes(context), context):
        return None
    calls = [(first.statement, call), *_later_calls(call, context)[:-1]]
    does = say("keeps the saved tensors; they stay in memory as long as the graph")
    return together(does, [with_keyword(s, one, "retain_graph", "True") for s, one in calls])


def _later_calls(first: ast.Call, context: ErrorContext) -> list[tuple[Statement, ast.Call]]:
    """Backwards in the block of the one that raised, from itself on, if it is a later one."""
    root, noticed = called_root(context), context.statement
    noticed = noticed if root is None else root.statement
    if noticed is None or start_of(first) >= start_of(noticed.node if root is None else root.call):
        return []
    start = start_of(noticed.node if root is None else root.call)
    return [
        (s, call)
        for s in statements_of(noticed.code)
        if same_block(s, noticed)
        for call in calls_in(s, "backward", "grad")
        if start_of(call) >= start
    ]


def _later_backwards(noticed: Statement) -> list[Statement]:
    """Backwards in the block of a statement, from itself on."""
    return [
        s
        for s in statements_of(noticed.code)
        if s.line >= noticed.line and same_block(s, noticed) and calls_in(s, "backward", "grad")
    ]


def compute_again(
    stale: Sequence[str],
    after: Statement | None,
    context: ErrorContext,
    why: str,
    renewed: Collection[str] = (),
) -> Fix | None:
    """Run the lines of the forward again whose nodes cannot be used any more.

    Args:
        stale: Nodes that cannot be run again, or parameters' nodes that were written.
        after: Statement that made them so, if it is known.
        context: The error.
        why: The end of the sentence.
        renewed: Variables whose other values are meant; see :func:`can_repeat`.
    """
    noticed = context.statement
    if noticed is None:
        return None
    nodes = reachable(root_nodes(context), context)
    made = lines_that_made(leading_to(stale, nodes), noticed, context)
    if (
        made is None
        or not made[0]
        or not can_repeat(leading_to(stale, nodes), made[0], context, renewed)
    ):
        return None
    lines, fits = made
    place = noticed
    if after is not None and same_block(after, noticed) and after.line < noticed.line:
        lines = [one for one in lines if one.line < after.line]
        place = _next(after, noticed)
    targets = [t for one in lines if isinstance(one.node, ast.Assign) for t in one.node.targets]
    names = [named(ast.unparse(target), context).words for target in targets]
    does = say("computes {} again{}", listed(list(dict.fromkeys(names))), why)
    code = "\n".join(line.text for line in lines)
    if not fits:
        return Fix(does, code, "elsewhere", noticed.at)
    if not lines or any(line.line >= noticed.line for line in lines):
        return None
    return Fix(does, code, "before", place.at)


def _next(after: Statement, noticed: Statement) -> Statement:
    """The statement that follows another in the block of a third."""
    later = [s for s in statements_of(after.code) if s.line > after.line and same_block(s, noticed)]
    return later[0] if later else noticed


def move_behind(statement: Statement | None, context: ErrorContext, does: Sentence) -> Fix | None:
    """Move a statement behind the backward that raised."""
    noticed = context.statement
    if statement is None or noticed is None or statement.line >= noticed.line:
        return None
    if _clears_between(statement, context):
        return None
    return moved(statement, noticed, "after", does)


def _clears_between(statement: Statement, context: ErrorContext) -> bool:
    """Whether gradients are cleared between a statement and the error."""
    steps = [
        i
        for i, step in enumerate(context.recording.records[: context.step])
        if step.line == statement.line and step.kind == "line"
    ]
    since = steps[-1] if steps else 0
    return any(context.history.events(ZeroedGrad, context.step, since))


def add_up(
    earlier: Statement | None, since: int, roots: Iterable[str], context: ErrorContext
) -> Fix | None:
    """One backward of the sum in place of two backwards.

    Args:
        earlier: The line of the earlier one.
        since: Step at which it had ended.
        roots: Nodes at which it started.
        context: The error of the later one.
    """
    noticed = context.statement
    if earlier is None or noticed is None or not same_block(earlier, noticed):
        return None
    first, second = _plain_backward(earlier), _plain_backward(noticed)
    if first is None or second is None or first == second or earlier.line >= noticed.line:
        return None
    if not earlier.is_alone:
        return None
    changed = (ZeroedGrad, OptimizerStepped)
    if any(any(context.history.events(kind, context.step, since)) for kind in changed):
        return None
    if was_written(since, [*roots, *root_nodes(context)], context):
        return None
    if _speaks_of_grad(earlier, noticed) or len(_later_backwards(noticed)) > 1:
        return None
    gone = Fix(Sentence(), "", "instead", earlier.at)
    code = f"({first} + {second}).backward()"
    does = say("runs one backward of the sum: gradients add up, the shared part runs once")
    return Fix(does, code, "instead", noticed.at, (gone,))


def _speaks_of_grad(earlier: Statement, noticed: Statement) -> bool:
    """Whether ``.grad`` is read between two statements."""
    between = [s for s in statements_of(noticed.code) if earlier.line < s.line < noticed.line]
    return any(isinstance(p, ast.Attribute) and p.attr == "grad" for s in between for p in s.parts)


def _plain_backward(statement: Statement) -> str | None:
    """``"loss"`` of ``loss.backward()``."""
    node = statement.node
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return None
    call = node.value
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward" or call.args:
        return None
    if any(k.arg not in ("retain_graph", "create_graph") for k in call.keywords):
        return None
    return statement.segment(call.func.value) if isinstance(call.func.value, ast.Name) else None
