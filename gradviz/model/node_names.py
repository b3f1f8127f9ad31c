"""What sentences call a node: torch's name, and what tells it from others with that name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from gradviz.model.history import UNKNOWN, History
from gradviz.model.records import Node

MOST: Final = 24
"""Characters of an expression in the name of a node."""


@dataclass(frozen=True, slots=True)
class NodeName:
    """The name of a node, the same in all sentences about a recording."""

    name: str
    """torch's name."""
    line: str = ""
    """``line 4``, where nodes of other lines have the same name too."""
    turn: str = ""
    """``turn 2`` of a loop, where that tells it from others of its line."""
    detail: str = ""
    """What else tells it from them: ``y``, ``model.0``, ``a * b``, ``1st of 2``, ``n7``."""

    @property
    def words(self) -> str:
        """``MulBackward0 of line 4 (y)``."""
        line = f" of {self.line}" if self.line else ""
        return f"{self.name}{line}{_in_brackets(self.turn, self.detail)}"

    @property
    def words_in_its_line(self) -> str:
        """The same in the caption of the line, and turn, that made it."""
        return f"{self.name}{_in_brackets(self.detail)}"


Group: TypeAlias = "list[Node]"
Detail: TypeAlias = "tuple[str, str]"
"""Turn and detail of a name."""


def _in_brackets(*words: str) -> str:
    found = ", ".join(filter(None, words))
    return f" ({found})" if found else ""


def node_names(history: History) -> Mapping[str, NodeName]:
    """The names of all nodes of a recording but ``AccumulateGrad``, by id.

    A name that only one node has needs nothing else. Where nodes of several lines have it, all say
    their line. Where nodes of one graph and one line have it, all of these say more.

    Args:
        history: The recording.

    Examples:
        >>> import torch, gradviz
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     y = x * 3
        ...     z = y.sin() * y
        >>> names = node_names(recording.history)
        >>> sorted(name.words for name in names.values())
        ['MulBackward0 of line 2', 'MulBackward0 of line 3', 'SinBackward0']
    """
    recording, found = history.recording, dict[str, NodeName]()
    turns = _turns(history)
    nodes = [n for n in history.nodes(len(recording.records) - 1) if n.variable is None]
    graphs = _graphs(nodes)
    for same in _groups(nodes, lambda node: node.name):
        lines = {node.id: _line(node, history) for node in same}
        is_many = len(set(lines.values())) > 1
        for rivals in _groups(same, lambda node: (graphs[node.id], lines[node.id])):  # noqa: B023 (called here)
            details = _details(rivals, history, turns) if len(rivals) > 1 else [("", "")]
            for node, (turn, detail) in zip(rivals, details, strict=True):
                line = lines[node.id] if is_many else ""
                found[node.id] = NodeName(node.name, line, turn, detail)
    return found


def _groups(nodes: Iterable[Node], key: Callable[[Node], object]) -> Iterable[Group]:
    found: dict[object, Group] = defaultdict(list)
    for node in nodes:
        found[key(node)].append(node)
    return found.values()


def _graphs(nodes: Iterable[Node]) -> dict[str, str]:
    """For each node one of those that it is connected with, leaves apart."""
    above = {node.id: node.id for node in nodes}

    def top(key: str) -> str:
        while above[key] != key:
            above[key] = above[above[key]]
            key = above[key]
        return key

    for node in nodes:
        for entry in node.next_functions:
            if entry is not None and entry[0] in above:
                above[top(node.id)] = top(entry[0])
    return {key: top(key) for key in above}


def _line(node: Node, history: History) -> str:
    """``line 4``, with the name of its code unless it is the recorded code itself."""
    made = history.made_at(node)
    if made is None or made.line is None:
        return ""
    return str(history.line_term(made))


def _details(rivals: Group, history: History, turns: Mapping[int, str]) -> list[Detail]:
    """What tells apart the nodes of one line: the first that differs for all of them."""
    rounds = [turns.get(history.born(node.id) or 0, "") for node in rivals]
    values = [_value(node, history) for node in rivals]
    modules = [node.module or "" for node in rivals]
    calls = [_expression(node, history) for node in rivals]
    none = [""] * len(rivals)
    choices = ((none, values), (rounds, none), (none, modules), (none, calls))
    for turn, words in (*choices, (rounds, calls), (rounds, modules)):
        found = list(zip(turn, words, strict=True))
        if all(map(any, found)) and len(set(found)) == len(found):
            return found
    return [("", place) for place in _places_in_order(rivals, history)]


def _places_in_order(rivals: Group, history: History) -> list[str]:
    """``1st of 2``, where it is known which was made first; else their ids."""
    births = [history.birth(node.id) for node in rivals]
    if len(set(births)) < len(births) or any(at == UNKNOWN for _, at in births):
        return [node.id for node in rivals]
    order = sorted(births)
    return [f"{_ordinal(order.index(birth) + 1)} of {len(births)}" for birth in births]


def _ordinal(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number // 10 % 10 == 1 else ends.get(number % 10, 'th')}"


def _value(node: Node, history: History) -> str:
    """The name of the tensor that is, or was, its output."""
    for key in history.outputs_of(node.id, len(history.recording.records)):
        rows = history.tensor_rows(key, len(history.recording.records))
        name = next((row.name for row in rows if row.node == node.id and row.name), None)
        if name is not None:
            return name
    return ""


def _expression(node: Node, history: History) -> str:
    """The text of the call that made it, if that is short: ``a * b``."""
    step, at = history.birth(node.id)
    events = history.recording.records[step].events
    event = events[at] if at != UNKNOWN and at < len(events) else None
    place = getattr(event, "position", None)
    if getattr(event, "node", None) != node.id or place is None or place.line != place.end_line:
        return ""
    where = history.code_place(history.line(step))
    if where is None or not history.recording.codes[where].has(place.line):
        return ""
    code = history.recording.codes[where]
    text = code.text.split("\n")[place.line - code.first_line]
    part = text.encode()[place.column : place.end_column].decode(errors="ignore")
    return part if len(part) <= MOST and place.ordinal == 0 else ""


def _turns(history: History) -> dict[int, str]:
    """For each step the turns of the loops that it is part of, the outermost first, if they are
    known."""
    found: dict[int, list[int | None]] = defaultdict(list)
    for turn in sorted(history.recording.turns, key=lambda turn: turn.level):
        for step in range(turn.first, turn.last + 1):
            if history.span(step) is None:  # of counted steps it is not known in which turn
                found[step].append(turn.number)
    return {
        step: f"turn {'.'.join(map(str, numbers))}"
        for step, numbers in found.items()
        if None not in numbers
    }
