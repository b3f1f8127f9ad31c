"""The value through which a backward reaches nodes that an earlier one has run, and how it was
kept until then."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeGuard

from gradviz.analysis.code.frames import frames_of, parting, same_lines, turn_between
from gradviz.analysis.code.statements import Statement, calls_in, names_read
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import reachable, root_nodes
from gradviz.analysis.explain.errors.stored_value import Store, store_of
from gradviz.model import reachability
from gradviz.model.freed import EarlierBackward
from gradviz.model.ids import by_number
from gradviz.model.recording import Code
from gradviz.model.records import Node
from gradviz.model.turns import Turn

Kept: TypeAlias = Literal[
    "before", "outside", "once", "state", "stored", "total", "statistic", "list", "again"
]
"""How a value came to be used by two backwards: computed before the loop; outside of the function
that runs each backward; in the first turn only; a state that each turn computes from that of the
turn before; stored for a later turn; a total of losses that goes backward; an average or another
sum that is no function of parameters but of its terms; an element of a list that grows; computed
once and used again."""
_NUMBERS: Final = frozenset({"bool", "float", "int", "len", "print", "repr", "round", "str"})
"""Functions that give no tensor."""
_SUMMING: Final = frozenset({"AddBackward0", "SubBackward0", "DivBackward0", "MulBackward0"})


@dataclass(frozen=True)
class Reused:
    """A value of a graph that an earlier backward has run.

    Args:
        kept: How it was kept.
        node: The node that made it.
        key: The tensor, if it is known.
        names: All names it ever had.
        made: Steps of the lines that made it, the outermost first.
        used: Those of the line of the later graph that uses it first.
        place: The outermost place at which these differ.
        keeper: Step of the line that kept it.
        turn: The turn in which it is used, if it was made before that turn.
        first: Steps of the lines that used it first in the earlier graph.
        nodes: The nodes of the earlier graph that backward would have to run again.
        times: How often its line made a value of this kind in this turn.
        is_sure: Whether it is what the keeping line gives, or has a name.
    """

    kept: Kept
    node: Node
    key: str | None
    names: tuple[str, ...]
    made: tuple[int, ...]
    used: tuple[int, ...]
    place: int
    keeper: int
    turn: Turn | None
    first: tuple[int, ...]
    nodes: tuple[str, ...]
    times: int = 0
    is_sure: bool = True
    store: Store | None = None
    """The line that put it into an attribute or a container, if it is known."""


def reused_values(earlier: EarlierBackward, context: ErrorContext) -> list[Reused]:
    """The values at which the later graph enters what earlier backwards have run."""
    history, until = context.history, context.step
    own = reachable(root_nodes(context), context)
    ran = {event.node for step, event in history.node_order if step <= earlier.step}
    old = {
        key
        for key, row in own.items()
        if row.variable is None and history.birth(key)[0] <= earlier.step
    }
    leading = reachability.leading_to(ran, own)
    users: dict[tuple[str, int], list[str]] = {}
    for user in own.values():
        for entry in user.next_functions if user.id not in old else ():
            if entry is not None and entry[0] in old and entry[0] in leading:
                users.setdefault(entry, []).append(user.id)
    found: list[Reused] = []
    seen: list[tuple[str, int, int]] = []
    order = {key: place for place, key in enumerate(by_number(old))}
    for node, output in sorted(users, key=lambda e: (order[e[0]], e[1])):
        born = min(history.birth(user)[0] for user in users[node, output])
        row, made = history.node(node, until), history.birth(node)[0]
        if row is None or not made or _is_like(row.name, output, made, seen, context):
            continue  # elements of a list are told by the first
        seen.append((row.name, output, made))
        one = _reused(row, output, born, own, ran, context)
        found += [] if one is None else [one]
    return found


def _is_like(
    name: str, output: int, made: int, seen: list[tuple[str, int, int]], context: ErrorContext
) -> bool:
    """Whether the same lines made another value like it in another turn."""
    return any(
        (name, output) == (other, number)
        and step != made
        and same_lines(step, made, context.history)
        for other, number, step in seen
    )


def _reused(
    node: Node, output: int, born: int, own: dict[str, Node], ran: set[str], context: ErrorContext
) -> Reused | None:
    history, until = context.history, context.step
    made, used = frames_of(history.birth(node.id)[0], history), frames_of(born, history)
    place = parting(made, used)
    if place is None:
        return None
    key = history.output_of(node.id, until, output)
    names = {n for row in history.tensor_rows(key, until) for n in row.names} if key else set()
    readers = [r.id for r in history.readers(node.id) if (node.id, output) in r.next_functions]
    firsts = sorted(history.birth(r)[0] for r in readers if r in ran)
    turn = turn_between(made[-1], used[-1], history)
    store = store_of(names, history.birth(node.id)[0], used[-1], context)
    keeper = _keeper(node, made, place, used[-1], context)
    if store is not None:
        keeper = _giver(store, made, context)
    again = [*_made_again(node, context)]
    depending = [n for n in again if _depends(n.id, node.id, context)]
    outside = _outside_of_closure(made, used, context) if turn is None else None
    if outside is not None:
        kept: Kept = "outside"
        place, keeper = outside, made[outside]
    elif turn is None:
        kept = "again"
    elif not turn[1]:
        kept = "before"
    elif depending:
        kept = _recurrent(node, depending[0], own, context)
        again = [n for n in again if turn[0].first <= history.birth(n.id)[0]]
    elif _list_of(keeper, context) is not None or (store is not None and store.is_list):
        kept = "list"
    elif again:
        kept = "again" if store is None else "stored"
    else:
        kept = "once"
    nodes = tuple(by_number(k for k in _behind(node.id, own) if own[k].variable is None))
    return Reused(
        kept=kept,
        node=node,
        key=key,
        names=tuple(sorted(names)),
        made=made,
        used=used,
        place=place,
        keeper=keeper,
        turn=None if turn is None else turn[0],
        first=frames_of(firsts[0], history) if firsts else (),
        nodes=nodes,
        times=len(again),
        is_sure=bool(names) or _is_last(node, keeper, context),
        store=store,
    )


def _outside_of_closure(
    made: tuple[int, ...], used: tuple[int, ...], context: ErrorContext
) -> int | None:
    """Place of the line that made a value in a function inside of which a function uses it."""
    for place, step in enumerate(made):
        line = context.statement_at(context.history.line(step))
        if line is not None and use_in_closure(used, line, context)[1] is not None:
            return place
    return None


def use_in_closure(
    used: tuple[int, ...], made: Statement, context: ErrorContext
) -> tuple[Statement | None, ast.FunctionDef | None]:
    """The line of a function inside of another one, or of a cell, that uses what that computed.

    Args:
        used: Steps of the lines that use it, the outermost first.
        made: The line that computed it.
        context: The error.
    """
    for step in reversed(used):
        user = context.statement_at(context.history.line(step))
        functions = [] if user is None else [s for s in user.around if _is_function(s)]
        if user is None or not functions:
            continue
        function = functions[-1]
        is_beside = user.code == made.code and not any(s is function for s in made.around)
        if is_beside or _is_inside(user.code, made.code):
            return user, function
    return None, None


def _is_inside(inner: Code, outer: Code) -> bool:
    """Whether the text of a function is a part of that of another one."""
    files = {code.name.partition(":")[0] for code in (inner, outer)}
    last = inner.first_line + inner.text.rstrip().count("\n")
    return len(files) == 1 and inner != outer and outer.has(inner.first_line) and outer.has(last)


def _is_function(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef)


def _giver(store: Store, made: tuple[int, ...], context: ErrorContext) -> int:
    """The line that stores a value; of one that computed it as an argument of the call of the
    function that stores it, that line."""
    around = frames_of(store.step, context.history)
    both = [step for step in made if step in around and step != store.step]
    statement = context.statement_at(context.history.line(both[-1])) if both else None
    name = _function_name(store.statement.code)
    calls = [] if statement is None else calls_in(statement, name)
    is_given = any(isinstance(one, ast.Call) for call in calls for one in call.args)
    return both[-1] if is_given else store.step


def _behind(key: str, own: dict[str, Node]) -> list[str]:
    return reachability.reachable([key], lambda k: reachability.entries(own.get(k)))


def _depends(key: str, on: str, context: ErrorContext) -> bool:
    def after(one: str) -> Iterator[str]:
        return reachability.entries(context.history.node(one, context.step))

    return on in reachability.reachable([key], after)


def _made_again(node: Node, context: ErrorContext) -> Iterator[Node]:
    """Nodes that the same lines made since."""
    history, born = context.history, context.history.birth(node.id)[0]
    for row in history.nodes(context.step):
        step = history.birth(row.id)[0]
        is_later = row.name == node.name and born < step <= context.step
        if is_later and row.variable is None and same_lines(born, step, history):
            yield row


def _recurrent(node: Node, later: Node, own: dict[str, Node], context: ErrorContext) -> Kept:
    """Whether a value that is computed from the one before it is a sum of terms, or a state."""
    if later.id not in own or not is_sum(later.id, node.id, own):
        return "state"
    roots = root_nodes(context)
    return "total" if len(roots) == 1 and is_sum(roots[0], later.id, own, True) else "statistic"


def is_sum(key: str, of: str, own: dict[str, Node], is_only: bool = False) -> bool:
    """Whether one value is another one, scaled, plus others.

    Args:
        key: The node of the value.
        of: The node of the other one.
        own: The graph.
        is_only: Whether there may be nothing else.
    """
    while key != of:
        row = own[key]
        into = [entry[0] for entry in row.next_functions if entry is not None]
        leading = [k for k in into if of in _behind(k, own)]
        if row.name not in _SUMMING or len(leading) != 1:
            return False
        if len(into) > 1 and (is_only or row.name not in ("AddBackward0", "SubBackward0")):
            return False
        key = leading[0]
    return True


def typed_name(one: Reused, context: ErrorContext) -> str | None:
    """Its name, or how the line that kept it types it; of an element the list."""
    statement = context.statement_at(context.history.line(one.keeper))
    kept = None if statement is None else added_to(statement)
    if kept is not None and one.kept == "list":
        return kept
    name = context.name(one.key)
    if name is not None:
        return name
    targets = [] if statement is None else targets_of(statement)
    objects = [ast.unparse(t) for t in targets if isinstance(t, ast.Attribute)]
    if len(objects) == 1 and len(targets) == 1:
        return objects[0]
    return ast.unparse(targets[0]) if len(targets) == 1 else None


# --- which line keeps it ---------------------------------------------------------------------


def _keeper(
    node: Node, made: tuple[int, ...], place: int, until: int, context: ErrorContext
) -> int:
    """The line that put the value where the later one found it: into an attribute, a list, or a
    variable of the code in which both are."""
    for step in reversed(made[place:]):
        statement = context.statement_at(context.history.line(step))
        if statement is None or not _is_last(node, step, context):
            break
        if _outlives(statement):
            return step
        later = _handed_on(statement, step, until, context)
        if later is not None:
            return later
    return made[place]


def _is_last(node: Node, step: int, context: ErrorContext) -> bool:
    """Whether no node was made after it until a line had ended: what the line gives is its
    result, as far as that is known."""
    births = context.history.births
    since = births[node.id]
    return not any(since < place and place[0] <= step for place in births.values())


def _handed_on(statement: Statement, since: int, until: int, context: ErrorContext) -> int | None:
    """A later line of the same call that puts what a line has bound into an object or list."""
    names = {t.id for t in targets_of(statement) if isinstance(t, ast.Name)}
    numbers, history = context.recording.numbers, context.history
    for step in range(since + 1, until):
        facts = context.recording.records[step]
        if numbers.containers[step] != numbers.containers[since] or facts.kind != "line":
            continue
        other = context.statement_at(history.line(step))
        if other is None or other.code != statement.code:
            continue
        value = getattr(other.node, "value", None)
        if _outlives(other) and value is not None and names & set(names_read(value)):
            return step if _is_plain(value) and names & _kept_by(value) else None
        if names & {t.id for t in targets_of(other) if isinstance(t, ast.Name)}:
            return None
    return None


def _is_plain(value: ast.AST) -> bool:
    """Whether an expression is a variable, a tuple of them, or a call that keeps one."""
    if isinstance(value, ast.Call):
        return all(_is_plain(arg) for arg in value.args)
    if isinstance(value, (ast.Tuple, ast.List)):
        return all(_is_plain(one) for one in value.elts)
    return isinstance(value, ast.Name)


def _kept_by(value: ast.AST) -> set[str]:
    """Variables that an expression keeps: ``seen.append(total.item())`` and ``float(total)`` take
    the number only."""
    if isinstance(value, ast.Name):
        return {value.id}
    if isinstance(value, ast.Call):
        is_number = isinstance(value.func, ast.Name) and value.func.id in _NUMBERS
        return set() if is_number else {n for arg in value.args for n in _kept_by(arg)}
    if isinstance(value, (ast.Tuple, ast.List)):
        return {name for one in value.elts for name in _kept_by(one)}
    return set()


def _outlives(statement: Statement) -> bool:
    """Whether a line keeps something when its function returns: in an object, or in a list."""
    if added_to(statement) is not None:
        return True
    return any(not isinstance(target, ast.Name) for target in targets_of(statement))


def targets_of(statement: Statement) -> list[ast.expr]:
    """What an assignment binds, the elements of tuples one by one."""
    node = statement.node
    if isinstance(node, ast.Assign):
        todo = list(node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        todo = [node.target]
    else:
        return []
    found: list[ast.expr] = []
    while todo:
        one = todo.pop(0)
        if isinstance(one, (ast.Tuple, ast.List)):
            todo = [*one.elts, *todo]
        else:
            found.append(one)
    return found


def _list_of(step: int, context: ErrorContext) -> str | None:
    statement = context.statement_at(context.history.line(step))
    return None if statement is None else added_to(statement)


def added_to(statement: Statement) -> str | None:
    """The list that a line appends to."""
    value = statement.node.value if isinstance(statement.node, ast.Expr) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    is_adding = value.func.attr in ("append", "appendleft", "extend", "insert")
    return ast.unparse(value.func.value) if is_adding else None


def _function_name(code: Code) -> str:
    """``"put"`` of ``"pool.py: put"``."""
    return code.name.rpartition(": ")[2]
