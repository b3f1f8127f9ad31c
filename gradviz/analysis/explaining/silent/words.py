"""Words and marks that explanations of silent faults have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradviz.analysis.explaining.words import line_words, listed
from gradviz.model.events import Operation
from gradviz.model.explanation import Cause, CodeLine
from gradviz.model.history import Act, History, Place
from gradviz.model.marks import Mark


@dataclass(frozen=True, slots=True)
class Way:
    """How memory was reached that a tensor of the graph has."""

    words: str
    """``".data"``, ``"detach()"``, ``"numpy()"`` or ``""``."""
    call: str = ""
    """Name of the call that gave the other object: ``"data"``."""
    at: CodeLine | None = None
    """Line of that call."""


def way_of(act: Act, history: History) -> Way:
    """By which way a write came to the memory."""
    if act.is_assignment:
        return Way("")
    if not act.is_exact:
        found = _array_of(act, history)
        return Way("numpy()", "numpy", found) if found is not None else Way("")
    for place, made in history.aliases(act.written):
        if made.name in ("data", "detach"):
            words = ".data" if made.name == "data" else "detach()"
            return Way(words, made.name, history.line(place))
    return Way("")


def _array_of(act: Act, history: History) -> CodeLine | None:
    """The line that gave the memory to numpy."""
    found: Place | None = None
    for place, event in history.told(Operation):
        if event.name not in ("numpy", "__array__"):
            continue
        if place[0] > act.place[0]:
            break
        key = next(iter(event.reads), None)
        roots = {key, *(k for _, made in history.aliases(key) for k in made.reads)}
        if roots & set(act.event.tensors):
            found = place
    return None if found is None else history.line(found)


def write_words(act: Act, name: str, history: History) -> str:
    """Who wrote what, and by which way."""
    way = way_of(act, history).words
    through = f" through {way}" if way else ""
    if act.is_assignment:
        return f"an assignment to {name}.data gave it other memory"
    if act.is_exact:
        by = "an assignment to a part" if act.event.by == "__setitem__" else act.event.by
        return f"{by} wrote {name}{through}"
    if act.event.by.endswith(".step"):
        return f"{act.event.by} wrote {name}"
    return f"a write that torch did not see changed {name}{through}"


def write_cause(act: Act, name: str, history: History) -> Cause:
    """A write as a cause."""
    return Cause("write", write_words(act, name, history), history.line(act.place))


def at(line: CodeLine | None, history: History) -> str:
    """``line 4``."""
    codes = history.recording.codes
    return line_words(line, codes[0].name if codes else "")


def marked(marks: Iterable[Mark], history: History, step: int) -> tuple[Mark, ...]:
    """Those marks whose things are in the graph at a step, each once."""
    graph = history.recording.graph_at(step)
    tensors = {info.id for info in graph.tensors}
    edges = {f"{edge.source}.{edge.slot}" for edge in graph.edges}
    found: dict[str, Mark] = {}
    for mark in marks:
        node, _, rest = mark.id.partition(".")
        if rest.startswith("saved."):
            place = graph.place_of(node)
            known = place is not None and int(rest[6:]) < len(graph.nodes[place].saved)
        else:
            known = mark.id in edges or mark.id in tensors or graph.place_of(mark.id) is not None
        if known:
            found.setdefault(mark.id, mark)
    return tuple(found.values())


def few(names: Sequence[str], most: int = 3) -> str:
    """``a, b and 4 others``."""
    if len(names) <= most + 1:
        return listed(names) or "a tensor"
    return listed([*names[:most], f"{len(names) - most} others"])
