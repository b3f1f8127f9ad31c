"""Parameters that a loop over names froze with others, because a part of a name was compared."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    loops_around,
    names_bound,
    statement_of,
    statements_of,
)
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.silent.sentences import few_of
from gradviz.analysis.explain.silent.training_steps import training_steps
from gradviz.model.events import FlagChanged, LoopVariable
from gradviz.model.explanation import Cause
from gradviz.model.history import EventPlace, History
from gradviz.model.sentence import say


@dataclass
class _Loop:
    """A line in a loop over names, that froze parameters."""

    place: EventPlace
    statement: Statement
    variable: str
    """The variable that has the name."""
    frozen: dict[str, str] = field(default_factory=dict)
    """Names that the loop gave to the parameters which it froze, by their ids."""
    names: set[str] = field(default_factory=set)
    """All names of the loop."""


def frozen_by_name(history: History) -> Iterator[Finding]:
    """Parameters that a comparison with names froze beside those whose name it has in full; or
    that it left frozen, since no name begins with what it asks for."""
    steps = [*training_steps(history)]
    if history.counted or not steps:
        return
    for loop in _loops(history):
        still = {
            key: name
            for key, name in loop.frozen.items()
            if history.switched_off(key, steps[-1].place[0]) is not None
        }
        for text, keys, case in _accidents(loop, still, history):
            yield _finding(loop, text, keys, case, history)


def _loops(history: History) -> Iterator[_Loop]:
    events: list[tuple[EventPlace, LoopVariable | FlagChanged]] = [
        *history.told(LoopVariable),
        *history.told(FlagChanged),
    ]
    found: dict[object, _Loop] = {}
    last: dict[str, str] = {}
    names: dict[str, set[str]] = defaultdict(set)
    for place, event in sorted(events, key=lambda one: one[0]):
        if isinstance(event, LoopVariable):
            if event.value.shape is None and event.value.text[:1] in ("'", '"'):
                last[event.name] = event.value.text[1:-1]
                names[event.name].add(last[event.name])
            continue
        statement = statement_of(history, place)
        if event.flag != "requires_grad" or event.after is not False or statement is None:
            continue
        variable = _variable(statement)
        if variable in last and variable is not None:
            one = found.setdefault(
                (statement.code.name, statement.line), _Loop(place, statement, variable)
            )
            one.frozen[event.tensor] = last[variable]
            one.names = names[variable]
    yield from found.values()


def _variable(statement: Statement) -> str | None:
    """The variable of a loop over names and parameters around a line."""
    loop = next(iter(reversed([*loops_around(statement)])), None)
    if not isinstance(loop, ast.For) or "named_parameters" not in ast.unparse(loop.iter):
        return None
    target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
    return target.id if isinstance(target, ast.Name) else None


def _accidents(
    loop: _Loop, frozen: dict[str, str], history: History
) -> Iterator[tuple[str, list[str], str]]:
    """Texts that are compared with names, parameters that this froze too, and how."""
    tests = [one.test for one in loop.statement.around if isinstance(one, ast.If)]
    value = loop.statement.node.value if isinstance(loop.statement.node, ast.Assign) else None
    parts = [part for one in (*tests, *filter(None, [value])) for part in ast.walk(one)]
    asked = {
        one.value
        for part in parts
        if isinstance(part, ast.Call) and ast.unparse(part.func) == f"{loop.variable}.startswith"
        for one in part.args
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value
    }
    for text in sorted(asked):
        keys = [key for key, name in frozen.items() if f".{text}" in name]
        if keys and not any(name.startswith(text) for name in loop.names):
            yield text, keys, "start"
    others = _texts(parts) or _given_texts(parts, loop.statement, history)
    having = {name for name in loop.names if any(text in name for text in others)}
    if asked or having != {*loop.frozen.values()}:
        return
    for text in sorted(others):
        owner = text.rstrip(".")
        whole = {name for name in having if name.startswith(f"{owner}.")}
        keys = [key for key, name in frozen.items() if _is_beside(name, text, others)]
        if whole and keys:
            yield text, keys, ""


def _texts(parts: Iterable[ast.AST]) -> set[str]:
    values = (part.value for part in parts if isinstance(part, ast.Constant))
    return {value for value in values if isinstance(value, str) and value}


def _given_texts(parts: list[ast.AST], statement: Statement, history: History) -> set[str]:
    """Texts that the variables of a test were bound to, or that its function was called with."""
    read = {part.id for part in parts if isinstance(part, ast.Name)}
    functions = [one.name for one in statement.around if isinstance(one, ast.FunctionDef)]
    found: set[str] = set()
    for code in history.recording.codes:
        for one in statements_of(code):
            if isinstance(one.node, ast.Assign) and read & {*names_bound(one)}:
                found |= _texts(ast.walk(one.node.value))
            for call in calls_in(one, *functions[-1:]):
                found |= _texts(ast.walk(call))
    return found


def _is_beside(name: str, text: str, others: set[str]) -> bool:
    """Whether a name has a text, but not as the name of a module; ``bn1`` has ``bn`` as one of
    several."""
    owner = text.rstrip(".")
    if text not in name or any(f".{one.rstrip('.')}." in f".{name}." for one in others):
        return False
    rest = name.partition(text)[2][:1]
    return not rest.isdigit() or owner[-1:].isdigit()


def _finding(loop: _Loop, text: str, keys: list[str], case: str, history: History) -> Finding:
    step, line = loop.place[0], history.line(loop.place)
    names = few_of(keys, step, history)
    return Finding(
        history=history,
        step=step,
        noticed=line,
        case=case,
        words={
            "line": history.line_term(line),
            "names": names,
            "text": repr(text),
            "variable": loop.variable,
        },
        variables=tuple(history.name(key, step) for key in keys),
        causes=(Cause("other", say("froze {}", names), line),),
    )
