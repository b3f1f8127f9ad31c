"""Where a value left the graph: followed back from a tensor that has none, call by call."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.statements import Statement, names_bound, names_read
from gradviz.model.events import BackwardEnded, BackwardStarted, FlagChanged, Operation
from gradviz.model.explanation import CodeLine

FROM_VALUES: Final = frozenset(
    {"tensor", "as_tensor", "asarray", "from_numpy", "FloatTensor", "Tensor"}
)
"""Functions that make a tensor of values, which know nothing of a graph."""
_END: Final = 1 << 30
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Cut:
    """A call after which the graph did not go on."""

    reason: str
    """As :class:`~gradviz.model.events.Operation` gives it; ``"create_graph"`` for a gradient
    that has no graph, ``"requires_grad"`` for a flag that was set to ``False``."""
    call: str
    """Name of the function."""
    step: int
    at: CodeLine | None
    tensors: tuple[str, ...] = ()
    """Ids of the tensors that were on the graph; of one without a name, of those before it."""
    node: str | None = None
    """Id of the node that made a tensor without a name."""
    made: tuple[str, ...] = ()
    """Keys of what it made."""
    of_list: bool = False
    """Whether the call was given a list of tensors."""
    wrapped: CodeLine | None = None
    """Line that made a tensor again of the value after it had left torch."""
    through: tuple[CodeLine, ...] = ()
    """Lines of Python that the value went through, the last one first."""
    event: Operation | BackwardStarted | None = None
    """The call itself, if the recording saw it."""


@dataclass
class Trail:
    """What was found on the way back."""

    cuts: list[Cut] = field(default_factory=list)
    """In the order in which they ran."""
    origins: dict[str, int] = field(default_factory=dict)
    """Tensors that no call has made, with the steps at which they were needed."""
    is_lost: bool = False
    """Whether a part of the way is not known."""


@dataclass(frozen=True, slots=True)
class _Need:
    """A tensor object whose making is looked for."""

    key: str
    step: int
    place: int
    """Only calls before this one can have made it."""
    wrapped: CodeLine | None = None
    through: tuple[CodeLine, ...] = ()


def follow(keys: Iterable[str], evidence: Evidence) -> Trail:
    """Follow tensor objects back to where they were cut off, or made."""
    return _Follower(evidence).follow(keys)


class _Follower:
    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._history = evidence.history
        self._trail = Trail()
        self._cuts: dict[tuple[int, str], Cut] = {}
        self._calls = [
            (step, event)
            for step, event in self._history.events(Operation, evidence.step)
            if not event.recomputed
        ]
        self._made: dict[str, list[int]] = {}
        for place, (_, event) in enumerate(self._calls):
            for key in event.made:
                self._made.setdefault(key, []).append(place)

    def follow(self, keys: Iterable[str]) -> Trail:
        todo = [_Need(key, self._evidence.step, _END) for key in keys]
        seen: set[tuple[str, int]] = set()
        while todo and len(seen) < _MOST:
            need = todo.pop()
            if (need.key, need.place) not in seen:
                seen.add((need.key, need.place))
                todo += self._makers(need)
        self._trail.is_lost |= bool(todo)
        # Freezing parameters is often meant; what cut the way to others is told first.
        by_tensor = sorted(self._cuts.values(), key=lambda cut: [int(k[1:]) for k in _flagged(cut)])
        in_order = sorted(by_tensor, key=lambda cut: cut.step)
        self._trail.cuts = sorted(in_order, key=lambda cut: cut.reason == "requires_grad")
        return self._trail

    def _makers(self, need: _Need) -> list[_Need]:
        """What a tensor was made from; a cut ends the way."""
        places = [place for place in self._made.get(need.key, ()) if place < need.place]
        if not places:
            return self._without_call(need)
        step, event = self._calls[places[-1]]
        if need.key in event.required and event.name != "detach_":
            return self._without_call(need)  # a leaf, whose flag has changed since
        if event.required and not event.recorded:
            self._cut(event, step, need)
            return []
        if not event.reads:
            is_wrapped = event.name in FROM_VALUES
            return self._from_python(need, step) if is_wrapped else self._without_call(need)
        line = self._history.line(step)
        if event.name in FROM_VALUES and line is not None:  # it copies, once more
            need = replace(need, through=(*need.through, line))
        return [replace(need, key=key, step=step, place=places[-1]) for key in event.reads]

    def _cut(self, event: Operation, step: int, need: _Need) -> None:
        tensors, node = self._sources(event.required)
        line = self._history.line(step)
        texts = [operand.text for operand in event.inputs[:1]]
        of_list = any(text.startswith(("list of", "tuple of")) for text in texts)
        where = need.wrapped, need.through
        made = event.made
        cut = Cut(event.reason, event.name, step, line, tensors, node, made, of_list, *where, event)
        self._cuts.setdefault((step, event.name), cut)

    def _sources(self, keys: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
        """Known tensors that these are, or were computed from, and the last node on the way."""
        found: dict[str, None] = {}
        node = None
        todo, seen = list(keys), set()
        while todo:
            key = todo.pop(0)
            if key in seen:
                continue
            seen.add(key)
            places = self._made.get(key, ())
            if key.startswith("t"):
                found[key] = None
            elif places:
                event = self._calls[places[0]][1]
                node = node or event.node
                todo += event.required
        return tuple(found), node

    def _without_call(self, need: _Need) -> list[_Need]:
        """A tensor that no call of torch returned: a leaf, a gradient, or one from numpy."""
        born = self._history.born(need.key) if need.key.startswith("t") else need.step
        if born and self._history.is_partial(born):
            self._trail.is_lost = True
            return []
        found = self._switched_off(need.key) or (self._gradient(born) if born else None)
        if found is not None:
            # One line may set the flags of several tensors.
            self._cuts.setdefault((found.step, " ".join((found.call, *found.tensors))), found)
            return []
        statement = self._evidence.statement_at(self._history.line(born)) if born else None
        if born and statement is not None and _makes_of_values(statement):
            return self._from_python(need, born)
        self._trail.origins.setdefault(need.key, need.step)
        return []

    def _switched_off(self, key: str) -> Cut | None:
        """The line that set ``requires_grad`` to ``False``."""
        off = [
            step
            for step, event in self._history.events(FlagChanged, self._evidence.step)
            if event.tensor == key and event.flag == "requires_grad" and not event.after
        ]
        if not off:
            return None
        return Cut("requires_grad", "requires_grad", off[-1], self._history.line(off[-1]), (key,))

    def _gradient(self, born: int) -> Cut | None:
        """The line whose ``autograd.grad`` gave a tensor."""
        ended = {e.number for _, e in self._history.events(BackwardEnded, born, born)}
        for _, started in self._history.events(BackwardStarted, born):
            if started.number in ended and not started.accumulates and not started.create_graph:
                line = self._history.line(born)
                return Cut("create_graph", "grad", born, line, event=started)
        return None

    # --------------------------------------------------------- values in Python

    def _from_python(self, need: _Need, step: int) -> list[_Need]:
        """A tensor was made of values: find out where these had come from."""
        line = self._history.line(step)
        statement = self._evidence.statement_at(line)
        need = replace(need, wrapped=line)
        found = self._leaving(step, need)
        if found is None and statement is None:
            self._trail.is_lost = True
        if statement is None:
            return found or []
        needed = set(names_read(_value_of(statement)))
        for earlier, other in [] if found is not None else self._lines_before(step):
            if not _changes(other, needed):
                continue
            at = self._history.line(earlier)
            need = replace(need, through=(*need.through, *([at] if at else [])))
            found = self._leaving(earlier, need)
            if found is not None:
                break
            if isinstance(other.node, ast.Assign):
                needed -= set(names_bound(other))
            needed |= set(names_read(_value_of(other)))
        if found is None:
            self._trail.origins.setdefault(need.key, step)
        return found or []

    def _lines_before(self, step: int) -> Iterator[tuple[int, Statement]]:
        for earlier in range(step - 1, 0, -1):
            if self._evidence.recording.facts[earlier].kind == "line":
                statement = self._evidence.statement_at(self._history.line(earlier))
                if statement is not None:
                    yield earlier, statement

    def _leaving(self, step: int, need: _Need) -> list[_Need] | None:
        """Calls of a step that led a value out of torch; ``None`` if there are none."""
        found: list[_Need] | None = None
        for place, (at, event) in enumerate(self._calls):
            if at != step or event.made:
                continue
            found = found or []
            if event.required:
                self._cut(event, step, need)
            else:
                found += [replace(need, key=k, step=step, place=place) for k in event.reads]
        return found


def _flagged(cut: Cut) -> tuple[str, ...]:
    """Tensors whose flags a line has set, which are told in their order."""
    return cut.tensors if cut.reason == "requires_grad" else ()


def _makes_of_values(statement: Statement) -> bool:
    return any(isinstance(p, ast.Attribute) and p.attr in FROM_VALUES for p in statement.parts)


def _value_of(statement: Statement) -> ast.AST:
    node = statement.node
    return getattr(node, "value", None) or node


def _changes(statement: Statement, needed: set[str]) -> bool:
    """Whether a statement changes one of these variables: binds it, adds to it, appends to it."""
    if needed & set(names_bound(statement)):
        return True
    node = statement.node
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        owner = call.func.value
        return isinstance(owner, ast.Name) and owner.id in needed
    return False
