"""What a loop carries from one pass to the next, and with it the graph of all passes."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradviz.analysis.code.statements import loops_around
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import made_in_frame, reachable, root_nodes
from gradviz.model.events import BackwardEnded, BackwardStarted


@dataclass(frozen=True, slots=True)
class Carried:
    """Variables that are carried from pass to pass, and nodes of this pass that used them.

    Args:
        names: The variables.
        tensors: The tensors that they are, in the same order.
        users: Ids of the nodes.
        is_complete: Whether everything that is carried has a name.
    """

    names: tuple[str, ...]
    tensors: tuple[str, ...]
    users: tuple[str, ...]
    is_complete: bool


def carried_by(node: str, context: ErrorContext) -> Carried | None:
    """Variables through which the graph of an earlier pass is still there.

    Args:
        node: A node that the backward which raised was to run.
        context: The error.

    Returns:
        Them in the order of their names, or ``None`` if the node was made in this pass, or this
        line has not run backward before.
    """
    history = context.history
    ended, born = _earlier_pass(context), history.born(node)
    if ended is None or born is None or born > ended:
        return None
    if not _is_in_loop(node, context):
        return None
    own = reachable(root_nodes(context), context)
    old = {k for k, n in own.items() if n.variable is None and (history.born(k) or 0) <= ended}
    if old >= {key for key in own if own[key].variable is None}:
        return None  # nothing of it was made in this pass: the loss itself is an old one
    found: dict[str, str] = {}
    users: dict[str, None] = {}
    is_complete = True
    for user in own.values():
        for entry in user.next_functions if user.id not in old else ():
            if entry is not None and entry[0] in old:
                key = history.output_of(entry[0], context.step, entry[1])
                name = context.name(key)
                is_complete &= name is not None
                if key is not None and name is not None:
                    found.setdefault(name, key)
                users[user.id] = None
    names = sorted(found)
    return Carried(tuple(names), tuple(found[n] for n in names), tuple(users), is_complete)


def _is_in_loop(node: str, context: ErrorContext) -> bool:
    """Whether a node was made in the loop in which backward is called, as far as that is known."""
    made = made_in_frame(node, context)[0]
    noticed = context.statement
    if made is None or noticed is None or made.code != noticed.code:
        return True
    functions = {id(s) for s in made.around if isinstance(s, ast.FunctionDef)}
    if not functions <= {id(s) for s in noticed.around}:
        return True
    around = {id(loop) for loop in loops_around(made)}
    return any(id(loop) in around for loop in loops_around(noticed))


def _earlier_pass(context: ErrorContext) -> int | None:
    """Step at which the last backward of the line that raised had ended."""
    noticed = context.noticed
    if context.backward is None or noticed is None:
        return None
    history, found = context.history, None
    for step, started in history.events(BackwardStarted, context.backward[0] - 1):
        line = history.line(step)
        if line is not None and (line.line, line.code) == (noticed.line, noticed.code):
            ends = history.events(BackwardEnded, context.step, step)
            found = next((s for s, e in ends if e.number == started.number), found)
    return found
