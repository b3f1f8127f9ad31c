"""Changes after which a later backward does not reach the graph that an earlier one has freed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from gradviz.analysis.code.frames import frames_of, parting
from gradviz.analysis.code.scopes import stored
from gradviz.analysis.code.statements import (
    Statement,
    last_name,
    loops_around,
    names_bound,
    names_read,
    same_block,
    start_of,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import reachable, root_nodes
from gradviz.analysis.explain.errors.reused_value import (
    Reused,
    added_to,
    is_sum,
    targets_of,
    use_in_closure,
)
from gradviz.analysis.explain.fixes import earlier_value
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called, together
from gradviz.analysis.explain.fixes.stored_values import (
    cleared_after_backward,
    stored_without_graph,
)
from gradviz.analysis.explain.rerun_safety import draws, draws_inside
from gradviz.model import reachability
from gradviz.model.events import OptimizerStepped
from gradviz.model.explanation import Fix
from gradviz.model.freed import EarlierBackward
from gradviz.model.history import History
from gradviz.model.records import Node
from gradviz.model.sentence import Sentence, say

_REDUCING: Final = frozenset(
    {
        "AmaxBackward0", "AminBackward0", "LinalgVectorNormBackward0", "MaxBackward1",
        "MeanBackward0", "MeanBackward1", "MedianBackward0", "MinBackward1", "NormBackward1",
        "StdBackward0", "SumBackward0", "SumBackward1", "VarBackward0",
    }
)  # fmt: skip
"""Nodes that make a statistic of values."""
_OUT: Final = "out"
"""Name for what a function returns, if it has none."""


def without_reuse(
    values: Sequence[Reused], earlier: EarlierBackward, context: ErrorContext
) -> Iterator[Fix]:
    """Changes for the values that are reused.

    Args:
        values: All of them.
        earlier: The backward that freed their graph.
        context: The error.
    """
    kinds = {one.kept for one in values}
    keepers = {one.keeper for one in values}
    if len(kinds) > 1 or not values:
        return
    one = values[0]
    fix = None
    if one.kept == "before":
        if earlier_value.is_computed_alike(values, context):
            fix = earlier_value.detached(values, context)
            fix = fix or stored_without_graph(values, earlier, context)
        else:
            fix = _in_the_loop(values, context) or stored_without_graph(values, earlier, context)
            fix = fix or _in_the_closure(values, context)
    elif one.kept == "once" and len(keepers) == 1:
        fix = _each_time(one, context)
    elif one.kept == "state":
        fix = _states_end(values, context)
        if fix is None and len(keepers) == 1:
            fix = stored_without_graph(values, earlier, context)
    elif one.kept == "stored":
        fix = stored_without_graph(values, earlier, context)
    elif one.kept == "total" and len(keepers) == 1:
        fix = _only_this_loss(one, context)
    elif one.kept == "statistic" and len(keepers) == 1:
        fix = _constant_average(one, context)
    elif one.kept == "list":
        fix = (
            _cleared(one, earlier, context)
            or stored_without_graph(values, earlier, context)
            or cleared_after_backward(one, earlier, context)
        )
    elif one.kept == "outside":
        fix = _in_the_closure(values, context)
    elif one.kept == "again" and len(values) == 1:
        fix = _detached_first(one, earlier, context) or _detached_later(one, earlier, context)
    if fix is not None:
        yield fix


# --- computed before the loop ----------------------------------------------------------------


def _in_the_loop(values: Sequence[Reused], context: ErrorContext) -> Fix | None:
    """The lines that computed it move into the loop."""
    history, one = context.history, values[0]
    steps = _steps_that_made(values, context)
    lines = [context.statement_at(history.line(step)) for step in steps]
    user = _line_of_use(one, context)
    loop = None if user is None or one.turn is None else _loop_at(one.turn.line, user)
    moved = [line for line in lines if line is not None]
    if user is None or loop is None or len(moved) < len(lines) or not moved:
        return None
    place = _in_body(loop, user)
    head = next(s for s in statements_of(user.code) if s.node is loop)
    if place is None or not place.is_first or not all(same_block(m, head) for m in moved):
        return None
    if not _may_run_again(steps, moved, context):
        return None
    names = [name for line in moved for name in stored(line.node)]
    between = [
        s
        for s in statements_of(user.code)
        if moved[0].line < s.line < head.line and s not in moved and s.line not in _lines(moved)
    ]
    is_read = any(set(names) & set(names_read(s.node)) for s in between)
    gone = () if is_read else tuple(Fix(Sentence(), "", "instead", m.at) for m in moved)
    if not all(m.is_alone for m in moved):
        gone = ()
    does = say(
        "computes {} again in each turn, with a new graph for each backward",
        next(name for line in reversed(moved) for name in names_bound(line)),
    )
    return Fix(does, "\n".join(m.text for m in moved), "before", place.at, gone)


def _lines(statements: Sequence[Statement]) -> set[int]:
    return {s.line for s in statements}


def _steps_that_made(values: Sequence[Reused], context: ErrorContext) -> list[int]:
    """The lines before the loop in which nodes of the values were made, in their order."""
    history, one = context.history, values[0]
    found = set()
    for value in values:
        for key in value.nodes:
            frames = frames_of(history.birth(key)[0], history)
            found.add(frames[min(one.place, len(frames) - 1)])
    return sorted(found)


def _line_of_use(one: Reused, context: ErrorContext) -> Statement | None:
    """The line of the loop that uses it: in the turn before, if an error has left it since."""
    history, records = context.history, context.recording.records
    code = records[one.made[one.place]].code
    for frames in (one.used, one.first):
        if one.place < len(frames):
            facts = records[frames[one.place]]
            if facts.kind != "error" and facts.code == code:
                return context.statement_at(history.line(frames[one.place]))
    if one.place < len(one.used) and records[one.used[one.place]].code == code:
        return context.statement_at(history.line(one.used[one.place]))
    return None


def _loop_at(line: int, user: Statement) -> ast.For | ast.While | None:
    shift = user.line - user.node.lineno
    return next((o for o in loops_around(user) if o.lineno + shift == line), None)


def _in_body(loop: ast.For | ast.While, user: Statement) -> Statement | None:
    """The statement of a loop's body that a statement is, or is part of."""
    inside = [s for s in (*user.around, user.node) if any(s is one for one in loop.body)]
    return next((s for s in statements_of(user.code) if inside and s.node is inside[0]), None)


def _may_run_again(steps: Sequence[int], lines: Sequence[Statement], context: ErrorContext) -> bool:
    """Whether lines can be run in each turn: they only bind variables, draw no random numbers,
    make no parameters, and read what has the same value then."""
    history, bound = context.history, set[str]()
    if len({line.line for line in lines}) != len(steps):
        return False
    for step, line in zip(steps, lines, strict=True):
        node = line.node
        if not isinstance(node, ast.Assign) or draws(line) or _makes_leaves(step, history):
            return False
        if draws_inside(step, context):
            return False
        own = {
            name for p in ast.walk(node) if isinstance(p, ast.comprehension) for name in stored(p)
        }
        if (set(names_read(node)) - bound - own) & _bound_later(step, line, context):
            return False
        bound |= stored(node)
    return True


def _makes_leaves(step: int, history: History) -> bool:
    """Whether a line, or a function that it called, made a leaf that requires grad, or an
    optimizer ran."""
    inside = range(history.recording.numbers.starts[step], step + 1)
    for key in history.tensor_ids:
        row = history.tensor(key, step)
        if row is not None and row.is_leaf and row.requires_grad and history.born(key) in inside:
            return True
    return any(True for _ in history.events(OptimizerStepped, step, inside.start))


def _bound_later(step: int, line: Statement, context: ErrorContext) -> set[str]:
    """Variables of the same code that are bound from a step on."""
    records, found = context.recording.records, set[str]()
    for later in range(step, context.step):
        facts = records[later]
        if facts.kind == "line" and (facts.code, facts.depth) == (
            records[step].code,
            records[step].depth,
        ):
            other = context.statement_at(context.history.line(later))
            found |= set() if other is None else set(names_bound(other))
    return found


# --- computed outside a closure ---------------------------------------------------------------


def _in_the_closure(values: Sequence[Reused], context: ErrorContext) -> Fix | None:
    """The lines that computed it move into the function that is called again and again."""
    history = context.history
    steps = _steps_that_made(values, context)
    moved = [s for step in steps if (s := context.statement_at(history.line(step))) is not None]
    if len(moved) < len(steps) or not moved or not all(same_block(m, moved[0]) for m in moved):
        return None
    user, function = use_in_closure(values[0].used, moved[0], context)
    if user is None or function is None or not _may_run_again(steps, moved, context):
        return None
    inside = [s for s in (*user.around, user.node) if any(s is one for one in function.body)]
    place = next((s for s in statements_of(user.code) if inside and s.node is inside[0]), None)
    names = [name for line in moved for name in stored(line.node)]
    if place is None or not place.is_first:
        return None
    gone = tuple(Fix(Sentence(), "", "instead", m.at) for m in moved)
    own = (s for s in statements_of(moved[0].code) if not user.code.has(s.line))
    if moved[0].code == user.code or not all(m.is_alone for m in moved):
        gone = ()  # a cell's variables may be read in other cells
    elif any(set(names) & set(names_read(s.node)) for s in own if not s.is_compound):
        gone = ()
    does = say(
        "computes {} again at each call, with a new graph for each backward",
        next(name for line in reversed(moved) for name in names_bound(line)),
    )
    return Fix(does, "\n".join(m.text for m in moved), "before", place.at, gone)


# --- computed in the first turn only ----------------------------------------------------------


def _each_time(one: Reused, context: ErrorContext) -> Fix | None:
    """The line that fills a cache runs always."""
    line = context.statement_at(context.history.line(one.keeper))
    outer = None if line is None or not line.around else line.around[-1]
    if line is None or not isinstance(outer, ast.If) or outer.orelse or len(outer.body) > 1:
        return None
    tested = {ast.unparse(n) for n in ast.walk(outer.test) if isinstance(n, ast.expr)}
    kept = [t.value if isinstance(t, ast.Subscript) else t for t in targets_of(line)]
    named = [t.attr for t in kept if isinstance(t, ast.Attribute)]
    is_tested = any(ast.unparse(t) in tested or repr(n) in tested for t, n in zip(kept, named))
    head = next(s for s in statements_of(line.code) if s.node is outer)
    if not is_tested or not head.is_first or not line.is_alone:
        return None
    does = say("computes {} at each call, with a new graph for each backward", named[0])
    return Fix(does, line.text, "instead", head.at, (Fix(Sentence(), "", "instead", line.at),))


# --- a state ----------------------------------------------------------------------------------


def _states_end(values: Sequence[Reused], context: ErrorContext) -> Fix | None:
    """States of an object are detached where the function that computes them ends."""
    groups: dict[int, list[Reused]] = {}
    for one in values:
        groups.setdefault(one.keeper, []).append(one)
    lines, codes = list[Statement](), dict[str, None]()
    for keeper, kept in groups.items():
        line = context.statement_at(context.history.line(keeper))
        code = None if line is None else _detached_state(line, kept)
        if line is None or code is None:
            return None
        lines.append(line)
        codes[code] = None
    functions = [s for s in lines[0].around if isinstance(s, ast.FunctionDef)]
    if not functions or any(functions[-1] not in line.around for line in lines):
        return None
    return _at_the_end(functions[-1], "\n".join(codes), lines[0])


def _detached_state(line: Statement, values: Sequence[Reused]) -> str | None:
    kept = [t for t in targets_of(line) if isinstance(t, ast.Attribute)]
    if len(kept) != 1 or any(one.times > 1 for one in values):
        return None
    if any(s in line.around for s in loops_around(line)):
        return None
    return _detached(ast.unparse(kept[0]), kept[0], line, values)


def _at_the_end(function: ast.FunctionDef, code: str, line: Statement) -> Fix | None:
    """Lines put where a function ends."""
    inside = [s for s in statements_of(line.code) if function in s.around]
    returns = [s for s in inside if isinstance(s.node, ast.Return)]
    last = next((s for s in inside if s.node is function.body[-1]), None)
    if last is None or last.is_compound or not last.is_alone:
        return None
    does = say("ends the graph here: each turn trains on its own part (truncated backpropagation)")
    if not returns:
        return Fix(does, code, "after", last.at)
    value = last.node.value if isinstance(last.node, ast.Return) else None
    if len(returns) > 1 or value is None:
        return None
    if isinstance(value, ast.Name):
        return Fix(does, code, "before", last.at)
    out = next(n for n in (_OUT, "result", "returned") if n not in _names(inside))
    text = f"{out} = {last.segment(value)}\n{code}\nreturn {out}"
    return Fix(does, text, "instead", last.at)


def _names(statements: Sequence[Statement]) -> set[str]:
    return {p.id for s in statements for p in ast.walk(s.node) if isinstance(p, ast.Name)}


def _detached(
    typed: str, target: ast.Attribute, line: Statement, values: Sequence[Reused]
) -> str | None:
    """The line that detaches an attribute, or the tensors of the tuple that it is."""
    value = getattr(line.node, "value", None)
    is_element = any(f".{target.attr}[" in name for one in values for name in one.names)
    if is_element or (isinstance(value, ast.Tuple) and target in getattr(line.node, "targets", ())):
        return f"{typed} = tuple(one.detach() for one in {typed})"
    return f"{typed} = {typed}.detach()" if len(values) == 1 else None


# --- totals and averages ----------------------------------------------------------------------


def _only_this_loss(one: Reused, context: ErrorContext) -> Fix | None:
    """The total takes the number, and backward starts at the loss of this turn."""
    line, noticed = context.statement_at(context.history.line(one.keeper)), context.statement
    if line is None or noticed is None or line.code != noticed.code:
        return None
    node, targets = line.node, targets_of(line)
    term: ast.expr | None = None
    if len(targets) == 1 and isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        term = node.value
    elif len(targets) == 1 and isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        sides = [node.value.left, node.value.right]
        others = [s for s in sides if ast.unparse(s) != ast.unparse(targets[0])]
        term = others[0] if len(others) == 1 and isinstance(node.value.op, ast.Add) else None
    roots = [
        c.func.value
        for c in noticed.parts
        if isinstance(c, ast.Call)
        and isinstance(c.func, ast.Attribute)
        and c.func.attr == "backward"
    ]
    total = ast.unparse(targets[0]) if targets else ""
    if term is None or len(roots) != 1 or ast.unparse(roots[0]) != total:
        return None
    used = [
        n
        for s in statements_of(line.code)
        for n in s.parts
        if isinstance(n, ast.Attribute) and ast.unparse(n.value) == total and n.attr != "backward"
    ]
    method = "detach()" if used else "item()"
    does = say("{} keeps the value only; backward starts at the loss of this turn", total)
    if isinstance(term, ast.Name):
        kept, loss = Rewriting(line, tuple(called(term, method))), term.id
    else:
        loss = next(n for n in ("loss", "term", "one") if n not in _names(statements_of(line.code)))
        first = (start_of(node), f"{loss} = {line.segment(term)}\n")
        kept = Rewriting(line, (first, (term, f"{loss}.{method}")))
    return together(does, [kept, Rewriting(noticed, ((roots[0], loss),))])


def _constant_average(one: Reused, context: ErrorContext) -> Fix | None:
    """The average is detached where it is kept, if the loss has another path, and the average is
    of a statistic, which is no term of the loss: other gradients through it may be meant."""
    line = context.statement_at(context.history.line(one.keeper))
    if line is None or len(targets_of(line)) != 1 or not _has_other_path(one, context):
        return None
    if not _is_statistic(one, context):
        return None
    typed = ast.unparse(targets_of(line)[0])
    does = say("{} is a number for the losses: no gradient goes through it", typed)
    if isinstance(line.node, ast.Assign):
        return Rewriting(line, tuple(called(line.node.value, "detach()"))).fix(does)
    return Fix(does, f"{typed} = {typed}.detach()", "after", line.at)


def _has_other_path(one: Reused, context: ErrorContext) -> bool:
    """Whether the loss reaches leaves by a path without the line that kept a value."""
    made = _made_by_keeper(one, reachable(root_nodes(context), context), context)
    return _reaches_leaf(root_nodes(context), {one.node.id, *made}, context)


def _made_by_keeper(one: Reused, own: dict[str, Node], context: ErrorContext) -> set[str]:
    """Nodes of the loss that the line that kept a value made, in any turn."""
    history, kept = context.history, context.history.line(one.keeper)
    return {
        k for k, n in own.items()
        if n.variable is None and kept is not None
        and (at := history.made_at(n)) is not None
        and (at.line, at.code) == (kept.line, kept.code)
    }  # fmt: skip


def _is_statistic(one: Reused, context: ErrorContext) -> bool:
    """Whether the line that kept a value takes the statistic of something in this turn, and the
    loss is no sum of which the value is a term."""
    own = reachable(root_nodes(context), context)
    made = _made_by_keeper(one, own, context) - {one.node.id, *one.nodes}
    into = {k for key in made for k in reachability.entries(own[key])}
    given = into - {*made, one.node.id, *one.nodes}
    reduced = any(own[key].name in _REDUCING for key in made) or (
        bool(given) and all(own[key].name in _REDUCING for key in given if key in own)
    )
    return reduced and not any(is_sum(root, one.node.id, own) for root in root_nodes(context))


def _reaches_leaf(roots: Sequence[str], without: set[str], context: ErrorContext) -> bool:
    history, step = context.history, context.step

    def after(key: str) -> list[str]:
        into = reachability.entries(history.node(key, step))
        return [k for k in into if k not in without]

    keys = reachability.reachable([r for r in roots if r not in without], after)
    rows = (history.node(key, step) for key in keys)
    return any(row is not None and row.variable is not None for row in rows)


# --- a list that grows ------------------------------------------------------------------------


def _cleared(one: Reused, earlier: EarlierBackward, context: ErrorContext) -> Fix | None:
    """The list is cleared where another one of the same object is, or after backward."""
    line = context.statement_at(context.history.line(one.keeper))
    kept = None if line is None else added_to(line)
    if line is None or kept is None:
        return None
    base, dot, _ = kept.rpartition(".")
    does = say("{} keeps nothing of earlier turns", kept)
    seen = {}
    for step in range(earlier.step, context.step):
        other = context.statement_at(context.history.line(step))
        text = None if other is None else _emptied(other)
        if other is None or text is None or text == kept or not dot:
            continue
        if text.rpartition(".")[0] == base and _are_together(kept, text, context):
            seen[other.at] = other
    if len(seen) == 1:
        return Fix(does, f"{kept}.clear()", "after", next(iter(seen)))
    return None


def _emptied(statement: Statement) -> str | None:
    """The list that a line empties."""
    node = statement.node
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Attribute) and last_name(call.func) == "clear":
            return ast.unparse(call.func.value)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) and not node.value.elts:
        return ast.unparse(node.targets[0])
    return None


def _are_together(one: str, other: str, context: ErrorContext) -> bool:
    """Whether a line, or a function, speaks of two attributes of one object."""
    return any(one in code.text and other in code.text for code in context.recording.codes)


# --- used by two losses -----------------------------------------------------------------------


def _detached_first(one: Reused, earlier: EarlierBackward, context: ErrorContext) -> Fix | None:
    """It is detached where the earlier loss used it."""
    place = parting(one.first, one.used)
    line = None if place is None else context.statement_at(context.history.line(one.first[place]))
    read = None if line is None else _read_once(line, one, context)
    if line is None or read is None:
        return None
    if one.turn is None and not _is_left_alone(one, earlier, context):
        return None
    root = [key for key, _ in earlier.started.roots]
    if not _reaches_leaf(root, {one.node.id}, context):
        return None
    does = say(
        "the loss of backward {} takes {} as a constant: it gives no gradient to what computed it",
        earlier.number,
        read.id,
    )
    return Rewriting(line, tuple(called(read, "detach()"))).fix(does)


def _detached_later(one: Reused, earlier: EarlierBackward, context: ErrorContext) -> Fix | None:
    """It is detached where the later loss uses it, if optimizers have updated by then all that it
    was computed from, and the later loss has another path to leaves."""
    leaves, updated = _leaves_and_updated(one, earlier, context)
    if one.turn is not None or not leaves or not leaves <= updated:
        return None
    place = parting(one.used, one.first)
    line = None if place is None else context.statement_at(context.history.line(one.used[place]))
    read = None if line is None else _read_once(line, one, context)
    if line is None or read is None or not _has_own_leaves(one, leaves, context):
        return None
    does = say(
        "this loss takes {} as a constant: backward {} has given its gradient to what computed it",
        read.id,
        earlier.number,
    )
    return Rewriting(line, tuple(called(read, "detach()"))).fix(does)


def _has_own_leaves(one: Reused, leaves: set[str], context: ErrorContext) -> bool:
    """Whether the loss reaches leaves without a value, and they are none of those behind it."""
    own = reachable(root_nodes(context), context)
    without = {one.node.id}
    keys = reachability.reachable(
        [r for r in root_nodes(context) if r not in without],
        lambda k: [n for n in reachability.entries(own.get(k)) if n not in without],
    )
    others = {row.variable for k in keys if (row := own.get(k)) is not None and row.variable}
    return bool(others) and not others & leaves


def _read_once(line: Statement, one: Reused, context: ErrorContext) -> ast.Name | None:
    """Where a line reads a value, if it does so at one place."""
    if line.is_compound:
        return None
    reads = [p for p in line.parts if isinstance(p, ast.Name) and p.id in _names_of(one, context)]
    return reads[0] if len(reads) == 1 and isinstance(reads[0].ctx, ast.Load) else None


def _names_of(one: Reused, context: ErrorContext) -> set[str]:
    """The variable that the value was bound to where it was made, else all names it had."""
    line = context.statement_at(context.history.line(one.made[one.place]))
    bound = [] if line is None else targets_of(line)
    own = {bound[0].id} if len(bound) == 1 and isinstance(bound[0], ast.Name) else set()
    return own or {*one.names}


def _is_left_alone(one: Reused, earlier: EarlierBackward, context: ErrorContext) -> bool:
    """Whether optimizers ran after the earlier backward, and none updated what the value was
    computed from."""
    leaves, updated = _leaves_and_updated(one, earlier, context)
    return bool(leaves) and bool(updated) and not leaves & updated


def _leaves_and_updated(
    one: Reused, earlier: EarlierBackward, context: ErrorContext
) -> tuple[set[str], set[str]]:
    """The leaves that a value was computed from, and what optimizers have updated since the
    earlier backward."""
    history, step = context.history, context.step
    leaves = {row.variable for k in reachability.reachable(
        [one.node.id], lambda k: reachability.entries(history.node(k, step)))
        if (row := history.node(k, step)) is not None and row.variable is not None}  # fmt: skip
    updated = {
        key for _, e in history.events(OptimizerStepped, step, earlier.since) for key in e.updated
    }
    return leaves, updated
