"""Leaves that a module has and does not give as parameters, so that no optimizer updates them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import Statement, calls_in, last_name, statements_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.silent.training_steps import TrainingStep, is_empty, training_steps
from gradviz.model.events import Accumulated, OptimizerStepped, Unregistered
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.formatting import plural
from gradviz.model.history import History
from gradviz.model.sentence import Term, say

_ROUNDS = 2
"""Steps that must have left them out: one alone may be followed by their own."""


@dataclass(frozen=True, kw_only=True)
class NotRegistered(Finding):
    """The line that sets the attribute."""

    statement: Statement | None


def unregistered(history: History) -> Iterator[NotRegistered]:
    """Leaves in an attribute of a module that the same backwards reach as parameters which an
    optimizer updates, and that nothing ever updates."""
    for event, left, one in _found(history):
        yield _finding(event, left, one)


def left_out(history: History) -> set[str]:
    """The leaves of these findings."""
    return {key for _, left, _ in _found(history) for key in left}


def _found(history: History) -> Iterator[tuple[Unregistered, list[str], TrainingStep]]:
    if history.counted:
        return
    everywhere = {key for _, event in history.told(OptimizerStepped) for key in event.parameters}
    seen: set[tuple[str, str]] = set()
    for _, event in history.told(Unregistered):
        left = [key for key in event.tensors if key not in everywhere]
        left = [key for key in left if not _is_updated(key, history)]
        rounds = [one for one in training_steps(history) if _left_out(one, left)]
        if len(rounds) < _ROUNDS or (event.module, event.attribute) in seen:
            continue
        seen.add((event.module, event.attribute))
        yield event, [key for key in left if key in _left_out(rounds[0], left)], rounds[0]


def _is_updated(key: str, history: History) -> bool:
    """Whether anything wrote a leaf after it had got a gradient."""
    info = history.tensor(key, len(history.recording.records))
    came = (place for place, event in history.told(Accumulated) if event.tensor == key)
    first = next(came, None)
    acts = [] if info is None else history.acts[info.storage]
    return first is not None and any(not act.is_before(first) for act in acts)


def _left_out(one: TrainingStep, keys: list[str]) -> set[str]:
    """Those that got a gradient before a step, from a backward that reached what it updated."""
    mine = {event.backward for _, event in one.accumulated}
    found: set[str] = set()
    for place, event in one.history.told(Accumulated):
        is_new = (one.start is None or place > one.start) and place < one.place
        is_reached = is_new and event.backward in mine and event.gradient is not None
        if is_reached and event.tensor in keys and not is_empty(event.gradient):
            found.add(event.tensor)
    return found


def _finding(event: Unregistered, left: list[str], one: TrainingStep) -> NotRegistered:
    history, step = one.history, one.place[0]
    statement = _assignment(event, history)
    attribute = f"self.{event.attribute}"
    at = None
    if statement is not None:
        at = CodeLine(statement.line, statement.text, statement.code.name)
    own = history.name(left[0], step) or f"a tensor of {attribute}"
    it = Term(left[0], attribute if event.is_tensor else own)
    what = say("sets {} of {}, which registers nothing in it", attribute, event.type)
    return NotRegistered(
        history=history,
        step=step,
        noticed=history.line(one.place),
        case="" if event.is_tensor else "list" if _is_made_there(statement, event) else "given",
        words={
            "it": it,
            "tensors": plural(len(left), "tensor"),
            "are": "are" if len(left) > 1 else "is",
            "parameters": "parameters" if len(left) > 1 else "parameter",
            "attribute": attribute,
            "label": one.label,
            "module": event.module,
        },
        variables=(attribute if event.is_tensor else history.name(left[0], step), attribute),
        causes=(Cause("other", what, at),),
        targets={"left": left},
        unknown=()
        if at is not None
        else (say("which line sets {}: search the class {} for it", attribute, event.type),),
        statement=statement,
    )


def _is_made_there(statement: Statement | None, event: Unregistered) -> bool:
    """Whether the class makes what is in the list, to train it; one that is put into a list alone,
    or that is made elsewhere, may be hidden from the module on purpose."""
    if statement is None or not isinstance(statement.node, ast.Assign):
        return False
    value = statement.node.value
    if isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) == 1:
        return False
    added = [
        call
        for one in statements_of(statement.code)
        for call in calls_in(one, "append", "extend", "insert")
        if ast.unparse(call.func).startswith(f"self.{event.attribute}.")
    ]
    return any(
        isinstance(part, ast.Call) and last_name(part.func)[:1].isupper()
        for node in (value, *added)
        for part in ast.walk(node)
    )


def _assignment(event: Unregistered, history: History) -> Statement | None:
    """The one line of the class that assigns the attribute."""
    found = [
        statement
        for code in history.recording.codes
        for statement in statements_of(code)
        if _sets(statement, event.attribute) and _is_of_class(statement, code.name, event.type)
    ]
    return found[0] if len(found) == 1 else None


def _sets(statement: Statement, attribute: str) -> bool:
    node = statement.node
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    return isinstance(target, ast.Attribute) and ast.unparse(target) == f"self.{attribute}"


def _is_of_class(statement: Statement, code: str, kind: str) -> bool:
    classes = [one.name for one in statement.around if isinstance(one, ast.ClassDef)]
    own = kind.rpartition(".")[2]
    return classes[-1:] == [own] if classes else code.rpartition(": ")[2] == f"{own}.__init__"


def registered(found: NotRegistered) -> Iterator[Fix]:
    """``nn.ModuleList``, ``nn.ParameterList`` or ``nn.Parameter``."""
    statement = found.statement
    node = None if statement is None else statement.node
    if statement is None or not isinstance(node, ast.Assign):
        return
    value, nn = node.value, _nn_in(statement)
    if nn is None:
        return
    if isinstance(value, (ast.List, ast.ListComp)):
        parts = value.elts if isinstance(value, ast.List) else [value.elt]
        kinds = {_makes(part, nn) for part in parts}
        if len(kinds) != 1 or "" in kinds:
            return
        name = kinds.pop()
        does = say("registers what is in the list as a part of the module")
    elif isinstance(value, ast.Call) and _requires_grad(value):
        name, does = "Parameter", say("makes it a parameter of the module")
    else:
        return
    code = statement.edited([(value, f"{nn}.{name}({statement.segment(value)})")])
    yield Fix(does, code, "instead", statement.at)


def _makes(part: ast.expr, nn: str) -> str:
    """The list for what an expression makes."""
    function = part.func if isinstance(part, ast.Call) else None
    if not isinstance(function, ast.Attribute) or ast.unparse(function.value) != nn:
        return ""
    return "ParameterList" if function.attr == "Parameter" else "ModuleList"


def _requires_grad(call: ast.Call) -> bool:
    return any(one.arg == "requires_grad" for one in call.keywords)


def _nn_in(statement: Statement) -> str | None:
    """How the line types ``torch.nn``, or can."""
    names = {
        ast.unparse(part) for part in statement.parts if isinstance(part, (ast.Name, ast.Attribute))
    }
    for one in ("nn", "torch.nn"):
        if one in names:
            return one
    return "torch.nn" if "torch" in names else None
