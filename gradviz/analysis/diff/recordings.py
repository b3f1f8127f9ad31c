"""What differs between two recordings besides their graphs: backward, and what lines did."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from gradviz.analysis.diff.events import event_words
from gradviz.analysis.diff.pairing import NodePairs
from gradviz.analysis.diff.values import both, same
from gradviz.model.diff import Difference
from gradviz.model.events import NodeRan
from gradviz.model.formatting import plural
from gradviz.model.graph import Graph
from gradviz.model.recording import Recording, StepRecord


def graph_of(recording: Recording) -> Graph:
    """Every node and tensor of a recording as last seen; roots are those that nothing uses."""
    graph = recording.graph
    used = {edge.target for edge in graph.edges}
    return Graph.of(
        list(graph.nodes), [root for root in graph.roots if root[0] not in used], graph.tensors
    )


def recording_differences(
    before: Recording, after: Recording, pairs: NodePairs
) -> Iterator[Difference]:
    """Backward, then lines.

    Args:
        before: The recording before.
        after: The recording after.
        pairs: Their graphs, as :func:`graph_of` reads them.
    """
    yield from _backward(_ran(before), _ran(after), pairs)
    yield from _lines(before, after, pairs)


def _ran(recording: Recording) -> list[NodeRan]:
    return [event for _, event in recording.history.node_order]


def _backward(
    before: list[NodeRan], after: list[NodeRan], pairs: NodePairs
) -> Iterator[Difference]:
    """How often nodes of both graphs ran, the first place where the order is another, and the
    first node at which other gradients arrived."""
    then = [event for event in before if event.node in pairs.after]
    now = [event for event in after if event.node in pairs.nodes]
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for event in then:
        counts[pairs.after[event.node]][0] += 1
    for event in now:
        counts[event.node][1] += 1
    for node, (old, new) in counts.items():
        if old != new:
            yield _at(node, pairs, "ran in backward", plural(old, "time"), plural(new, "time"))
    if all(old == new for old, new in counts.values()):
        for one, other in zip(then, now):
            if pairs.after[one.node] != other.node:
                name = pairs.new.node_name(pairs.after[one.node])
                words = (name, pairs.new.node_name(other.node))
                told = words[1] if words[0] != words[1] else f"another {words[1]}"
                yield _at(other.node, pairs, "order: ran next", name, told)
                break
    yield from _first_other_gradient(then, now, pairs)


def _first_other_gradient(
    before: list[NodeRan], after: list[NodeRan], pairs: NodePairs
) -> Iterator[Difference]:
    waiting: dict[str, list[NodeRan]] = defaultdict(list)
    for event in reversed(before):
        waiting[pairs.after[event.node]].append(event)
    for event in after:
        if not waiting[event.node]:
            continue
        was = waiting[event.node].pop()
        for nr, (one, other) in enumerate(zip(was.grad_outputs, event.grad_outputs)):
            if not same(one, other):
                place = f" of output {nr}" if nr else ""
                fact = f"first other gradient that arrived{place}"
                yield _at(event.node, pairs, fact, *both(one, other))
                return


def _at(node: str, pairs: NodePairs, fact: str, before: str, after: str) -> Difference:
    name = pairs.new.node_name(node)
    return Difference("changed", "backward", name, fact, before, after, pairs.nodes[node], node)


@dataclass(frozen=True, slots=True)
class _Line:
    """One time that a line ran."""

    text: str
    steps: tuple[StepRecord, ...]
    """The line's own step and those inside it."""


def _lines(before: Recording, after: Recording, pairs: NodePairs) -> Iterator[Difference]:
    """Lines that ran in one only, and what the same line did in one only; what happened several
    times once, with how often."""
    found = Counter(_line_by_line(before, after, pairs))
    for line, count in found.items():
        yield replace(line, fact=f"{line.fact} ({count} times)") if count > 1 else line


def _line_by_line(before: Recording, after: Recording, pairs: NodePairs) -> Iterator[Difference]:
    for one, other in _matched(_read(before), _read(after)):
        if one is None and other is not None:
            yield Difference("new", "line", other.text, "ran", "no", "yes")
        elif other is None and one is not None:
            yield Difference("gone", "line", one.text, "ran", "yes", "no")
        elif one is not None and other is not None:
            if one.text != other.text:
                yield Difference("changed", "line", other.text, "text", one.text, other.text)
            else:
                yield from _events(one, other, pairs)


def _events(one: _Line, other: _Line, pairs: NodePairs) -> Iterator[Difference]:
    def name(key: str | None) -> str:
        return pairs.new.thing_name(key)

    def name_before(key: str | None) -> str:
        return (
            name(pairs.after[key])
            if key is not None and key in pairs.after
            else pairs.old.thing_name(key)
        )

    then, now = event_words(one.steps, name_before), event_words(other.steps, name)
    gone, new = [w for w in then if w not in now], [w for w in now if w not in then]
    for was, is_now in zip_longest(gone, new, fillvalue="nothing"):
        yield Difference("changed", "line", other.text, "did", was, is_now)


def _read(recording: Recording) -> list[_Line]:
    """Lines in the order in which they ran, with the steps inside them."""
    lines, first = recording.history.lines, 0
    found: list[_Line] = []
    for last in lines:
        steps = recording.records[first : last + 1]
        if steps[-1].kind != "start":
            found.append(_Line(_text(recording, last), steps))
        first = last + 1
    return found


def _text(recording: Recording, step: int) -> str:
    line = recording.history.line(step)
    if line is None:
        return recording.records[step].kind
    return line.text or f"line {line.line}"


def _matched(
    before: list[_Line], after: list[_Line]
) -> Iterator[tuple[_Line | None, _Line | None]]:
    """Lines by their text and how often it has run; those between in their order."""
    there = {key: place for place, key in enumerate(_keys(before))}
    partner = {i: there[key] for i, key in enumerate(_keys(after)) if key in there}
    taken = set(partner.values())
    # What is left over stands after the line before it that has a partner.
    gaps: dict[int, tuple[list[_Line], list[_Line]]] = defaultdict(lambda: ([], []))
    last = -1
    for place, line in enumerate(before):
        last = place if place in taken else last
        if place not in taken:
            gaps[last][0].append(line)
    last = -1
    for place, line in enumerate(after):
        last = partner.get(place, last)
        if place not in partner:
            gaps[last][1].append(line)
    yield from zip_longest(*gaps.pop(-1, ([], [])))
    for place, line in enumerate(after):
        if place in partner:
            yield before[partner[place]], line
            yield from zip_longest(*gaps.pop(partner[place], ([], [])))


def _keys(lines: list[_Line]) -> list[tuple[str, int]]:
    seen: dict[str, int] = defaultdict(int)
    keys = []
    for line in lines:
        keys.append((line.text, seen[line.text]))
        seen[line.text] += 1
    return keys
