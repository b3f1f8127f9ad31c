"""Which values that left torch came into which calls of torch, read from the lines that ran.

NOTE [Numbers between two calls of torch]
A number has no identity that a recording could note, so the lines that ran are followed once more,
in their order: what each of them read, computed and bound. Values are followed through what has a
derivative: arithmetic, ``math``, NumPy, lists, attributes, the user's functions. They are not
followed through comparisons, indices, lengths, conditions and texts, which have none: a loss that
was printed, compared or has chosen a branch did not come into anything.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from gradviz.analysis.code.arguments import arguments_of
from gradviz.analysis.code.expressions_followed import (
    Expressions,
    comprehensions_around,
    targets_of,
)
from gradviz.analysis.code.followed_values import LeftValue, Value, together
from gradviz.analysis.code.frames import frames_of
from gradviz.analysis.code.numbers_taken import numbers_of, takes_array
from gradviz.analysis.code.sites import Site, site_of
from gradviz.analysis.code.statements import (
    Statement,
    end_of,
    last_name,
    statements_at,
    statements_of,
)
from gradviz.model.calls import RecordedCall
from gradviz.model.events import Event, Note, Operation, Write
from gradviz.model.history import UNKNOWN, EventPlace, History

_Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LEAVING: Final = frozenset({"item", "tolist", "numpy", "__float__", "__int__", "__array__"})


@dataclass(frozen=True, slots=True)
class Arrival:
    """A call of torch that got values which had left torch, or a tensor that was made of them."""

    call: RecordedCall
    values: tuple[LeftValue, ...]


def arrivals(history: History, calls: Sequence[RecordedCall]) -> list[Arrival]:
    """The calls into which values came that had left torch, in the order in which they ran.

    Args:
        history: The recording.
        calls: All its calls of torch.

    Returns:
        Nothing if no value left torch, or lines are not known one by one.
    """
    left = [call for call in calls if not call.made and call.operation is not None]
    notes = (note.about for _, note in history.placed(Note))
    if not left or "lines from calls" in notes:
        return []
    follower = _Follower(history, calls, left[0].step)
    return [*follower.run()] if follower.may_arrive() else []


@dataclass(eq=False)
class _Frame:
    """A call of a function whose lines are followed."""

    follower: _Follower
    function: ast.AST | None
    """``None`` for the recorded cell or block itself."""
    outer: _Frame | None
    names: dict[str, Value] = field(default_factory=dict)
    line: _Line | None = None
    """The line that runs."""

    def name(self, name: str) -> Value:
        """What a variable refers to; one of the functions around it, if it is not its own."""
        frame: _Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.outer
        found = self.names[name] = Value()
        return found

    def bind(self, name: str, value: Value) -> None:
        """Let a variable refer to something else."""
        self.names[name] = value

    def made(self, node: ast.expr) -> Value | None:
        """The result of a call of torch that was recorded at an expression."""
        return None if self.line is None else self.line.made.get(id(node))

    def returned(self, node: ast.Call) -> Value | None:
        """What a function returned to a call; ``None`` if no line of it was recorded."""
        return None if self.line is None else self.line.returned(node)

    def is_users(self, node: ast.Call) -> bool:
        """Whether a call may be of a function of the user."""
        name = last_name(node.func)
        is_plain = isinstance(node.func, ast.Name) and not hasattr(builtins, name)
        return is_plain and name[:1].islower()


@dataclass(eq=False)
class _Line:
    """A line while it runs."""

    step: int
    """The step with which it ends."""
    made: dict[int, Value] = field(default_factory=dict)
    """What calls of torch gave, by the ``id()`` of their expressions."""
    calls: list[tuple[RecordedCall, ast.AST, Statement]] = field(default_factory=list)
    begun: dict[str, list[Value]] = field(default_factory=lambda: defaultdict(list))
    """Results of the functions that it called, by their names, in the order of the calls."""
    statements: Sequence[Statement] = ()

    def called(self, *names: str) -> list[ast.Call]:
        """The calls that it makes, of functions with these names if there are any."""
        return [
            one
            for statement in self.statements
            for one in statement.parts
            if isinstance(one, ast.Call) and (not names or last_name(one.func) in names)
        ]

    def returned(self, node: ast.Call) -> Value | None:
        """What a function returned to a call of the line."""
        name = last_name(node.func)
        found = self.begun.get(name)
        if not found:
            return None
        nodes = self.called(name)
        if len(nodes) == 1:
            return found[0] if len(found) == 1 else together(found)
        if len(nodes) != len(found):
            return Value()
        return found[sorted(nodes, key=end_of).index(node)]


class _Follower:
    """Follows the lines of a recording once.

    Args:
        history: The recording.
        calls: All its calls of torch.
        first: Step at which the first value left torch.
    """

    def __init__(self, history: History, calls: Sequence[RecordedCall], first: int) -> None:
        self._history = history
        self._calls = calls
        self._first = first
        self._sites: dict[object, Site | None] = {}
        self._by_line: dict[int, list[RecordedCall]] = defaultdict(list)
        self._stacks: dict[int, tuple[int, ...]] = {}
        self._made = {key for call in calls for key in call.made}
        for call in calls:
            self._by_line[self._stack(call.step)[-1]].append(call)
        self._frames: dict[tuple[object, ...], _Frame] = {}
        self._lines: dict[int, _Line] = {}
        self._starts: list[int] = []
        """The first steps of the calls of functions that are running."""

    def _stack(self, step: int) -> tuple[int, ...]:
        if step not in self._stacks:
            self._stacks[step] = frames_of(step, self._history)
        return self._stacks[step]

    def may_arrive(self) -> bool:
        """Whether a line has a call that takes a number which is not written there as such."""
        for call in self._calls:
            site = self._site(call)
            if site is not None and call.made and call.step >= self._first:
                numbers = numbers_of(call, site.node, site.statement)
                if any(not isinstance(one, ast.Constant) for one in numbers):
                    return True
        codes = self._history.recording.codes
        parts = (part for code in codes for one in statements_of(code) for part in one.parts)
        return any(isinstance(part, ast.Call) and takes_array(part) for part in parts)

    def _site(self, call: RecordedCall) -> Site | None:
        """The expression of a call."""
        record = self._history.recording.records[call.step]
        event = _event_of(call, record.events)
        position = None if event is None else event.position
        if position is None:
            return None
        key = record.code, record.line, replace(position, ordinal=0)
        if key not in self._sites:
            self._sites[key] = site_of(self._history, call.place, event)
        return self._sites[key]

    def run(self) -> Iterator[Arrival]:
        """All arrivals."""
        records = self._history.recording.records
        for step, record in enumerate(records):
            if record.kind != "line" or record.line is None:
                continue
            self._enter(step)
            if record.times is not None:
                self._counted(step)
                continue
            stack = self._stack(step)
            frame = self._frame(stack)
            if stack[-1] == step and (step >= self._first or self._is_about_names(step)):
                line = self._line(step)
                frame.line = line
                for statement in line.statements:
                    yield from self._statement(statement, frame, line)
                yield from self._arrays(frame, line)
                frame.line = None

    def _is_about_names(self, step: int) -> bool:
        """Whether a line before the first value left torch gives an object another name."""
        return any(isinstance(s.node, ast.Assign) for s in statements_at(self._history, step))

    def _line(self, end: int) -> _Line:
        if end not in self._lines:
            line = self._lines[end] = _Line(end, statements=statements_at(self._history, end))
            for call in self._by_line.get(end, ()):
                site = self._site(call)
                if site is None or site.statement not in line.statements:
                    continue
                line.calls.append((call, site.node, site.statement))
                given = line.made.setdefault(id(site.node), Value())
                if not call.made and _gives_number(site.node):
                    given.own[call.place] = LeftValue(call)
        return self._lines[end]

    # ------------------------------------------------------------------ functions

    def _frame(self, stack: tuple[int, ...]) -> _Frame:
        """The call of a function whose line a step is the end of; it is begun if it is new."""
        records = self._history.recording.records
        caller = stack[-2] if len(stack) > 1 else None
        statements = statements_at(self._history, stack[-1])
        function = _function_of(statements[0]) if statements else None
        start = 0 if caller is None else self._starts[len(stack) - 1]
        key = caller, records[stack[-1]].code, id(function), start
        if key not in self._frames:
            outer = None if caller is None else self._frame(stack[:-1])
            frame = self._frames[key] = _Frame(self, function, self._around(function, outer))
            if caller is not None and outer is not None and function is not None:
                self._begin(frame, function, outer, caller)
        return self._frames[key]

    def _enter(self, step: int) -> None:
        """Note where the call of the function began whose line a step is."""
        depth = self._history.recording.records[step].depth
        del self._starts[depth + 1 :]
        self._starts += [step] * (depth + 1 - len(self._starts))

    def _around(self, function: ast.AST | None, outer: _Frame | None) -> _Frame | None:
        """The call of the function in whose text another one is: its variables are seen there."""
        frame = outer
        while frame is not None:
            is_around = frame.function is None or (
                function is not None and any(one is function for one in ast.walk(frame.function))
            )
            if is_around:
                return frame
            frame = frame.outer
        return None

    def _begin(self, frame: _Frame, function: ast.AST, outer: _Frame, caller: int) -> None:
        """Bind the arguments of a call, where it is known which call of the line it is."""
        if not isinstance(function, _FUNCTIONS[:2]):
            return
        line = self._line(caller)
        results = line.begun[function.name]
        results.append(Value())
        frame.names["return"] = results[-1]
        nodes = sorted(line.called(function.name), key=end_of)
        place = 0 if len(nodes) == 1 else len(results) - 1
        if place >= len(nodes):
            self._of_module(frame, function, line, outer)
            return
        node, before, outer.line = nodes[place], outer.line, line
        expressions = Expressions(outer)
        names = arguments_of(function)
        values = [expressions.value(one) for one in node.args if not isinstance(one, ast.Starred)]
        is_method = isinstance(node.func, ast.Attribute) and names[:1] == ["self"]
        if is_method and isinstance(node.func, ast.Attribute):
            values.insert(0, expressions.value(node.func.value))
        frame.names.update(zip(names, values))
        for one in node.keywords:
            if one.arg is not None:
                frame.names[one.arg] = expressions.value(one.value)
        outer.line = before

    def _of_module(self, frame: _Frame, function: _Function, line: _Line, outer: _Frame) -> None:
        """Find the object whose ``forward`` it is: the one that is called, if it is the only one.

        A container calls many: each of these has attributes of its own.
        """
        if function.name not in ("forward", "__call__") or not function.args.args:
            return
        nodes = [one for one in line.called() if id(one) not in line.made]
        module = self._module().rpartition(".")[2]
        named = [one for one in nodes if last_name(one.func) == module]
        nodes = named or nodes
        count = len(line.begun[function.name])
        if len(nodes) == 1:
            before, outer.line = outer.line, line
            owner = Expressions(outer).value(nodes[0].func)
            outer.line = before
            if count > 1:
                owner = owner.parts.setdefault(f".({count})", Value())
            frame.names[function.args.args[0].arg] = owner

    def _module(self) -> str:
        """Path of the module whose ``forward`` begins, ``""`` if no call of it shows it."""
        for record in self._history.recording.records[self._starts[-1] :]:
            for event in record.events:
                if isinstance(event, Operation):
                    return event.module or ""
        return ""

    # ----------------------------------------------------------------- statements

    def _counted(self, step: int) -> None:
        """A step that stands for many: what its line bound is not known any more."""
        frame = self._frame(self._stack(step))
        for statement in statements_at(self._history, step):
            for target in targets_of(statement.node):
                Expressions(frame).bind(target, Value())

    def _statement(self, statement: Statement, frame: _Frame, line: _Line) -> Iterator[Arrival]:
        node, expressions = statement.node, Expressions(frame)
        value = getattr(node, "value", None)
        found = expressions.value(value) if isinstance(value, ast.expr) else Value()
        if isinstance(node, (ast.If, ast.While)):
            expressions.value(node.test)
        for call, at, own in line.calls:
            if own is statement and call.made:
                given = list(numbers_of(call, at, statement))
                if not given:
                    continue
                around = comprehensions_around(at, node)
                arrived = together(expressions.within(around, one) for one in given).whole()
                if arrived:
                    yield Arrival(call, tuple(arrived.values()))
        if isinstance(node, ast.AugAssign):
            before = expressions.value(node.target)
            is_state = isinstance(node.target, ast.Attribute)
            found = together([before, found]) if id(node) not in line.made else Value()
            found = found.changed(is_state=True) if is_state else found
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            found = expressions.item(node.iter)
        elif isinstance(node, ast.Return):
            frame.names.get("return", Value()).add(found)
            if "return" in frame.names:
                frame.names["return"].parts.update(found.parts)
        elif isinstance(node, ast.Assign) and _reads_itself(node):
            found = found.changed(is_state=True)
        for target in targets_of(node):
            expressions.bind(target, found.passed(line.step))
        for item in getattr(node, "items", ()):
            if item.optional_vars is not None:
                expressions.bind(item.optional_vars, expressions.value(item.context_expr))

    def _arrays(self, frame: _Frame, line: _Line) -> Iterator[Arrival]:
        """Tensors that a line makes of values in a call that is not recorded: ``from_numpy``."""
        nodes = [one for one in line.called() if takes_array(one) and id(one) not in line.made]
        if len(nodes) != 1 or not nodes[0].args:
            return
        values = Expressions(frame).value(nodes[0].args[0]).whole()
        if not values:
            return
        left = tuple(values.values())
        read = {
            key
            for call in self._by_line.get(line.step, ())
            for key in call.reads
            if key not in self._made and not key.startswith("t")
        }
        born = [one for one in self._history.begun(line.step) if one.startswith("t")]
        keys = [*read, *(one for one in born if one not in self._made)]
        if len(keys) != 1:
            return
        place: EventPlace = line.step, UNKNOWN
        first = next((c for c in self._by_line.get(line.step, ()) if keys[0] in c.reads), None)
        if first is not None:
            place = first.step, first.place[1] - 1
        yield Arrival(RecordedCall(last_name(nodes[0].func), place, (), (keys[0],)), left)


def _event_of(call: RecordedCall, events: Sequence[Event]) -> Operation | Write | None:
    """The event of a call, which is a write where a number was put into a part of a tensor."""
    event = events[call.place[1]] if 0 <= call.place[1] < len(events) else None
    return event if isinstance(event, (Operation, Write)) else None


def _function_of(statement: Statement) -> ast.AST | None:
    found = [one for one in statement.around if isinstance(one, _FUNCTIONS)]
    return found[-1] if found else None


def _gives_number(node: ast.AST) -> bool:
    """Whether the value of an expression is the number that a call in it took out of torch."""
    if not isinstance(node, ast.Call):
        return False
    return last_name(node.func) in _LEAVING or Expressions.is_numeric(node)


def _reads_itself(node: ast.Assign) -> bool:
    """Whether what an attribute gets is computed from what it was."""
    paths = [ast.unparse(one) for one in node.targets if isinstance(one, ast.Attribute)]
    return any(
        isinstance(part, ast.Attribute) and ast.unparse(part) in paths
        for part in ast.walk(node.value)
    )
