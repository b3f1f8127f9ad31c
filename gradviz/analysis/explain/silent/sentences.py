"""Words that explanations of silent faults have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradviz.analysis.explain.written_as import through_other_name
from gradviz.model.events import Operation
from gradviz.model.explanation import Cause
from gradviz.model.history import EventPlace, History, WriteEvent
from gradviz.model.sentence import Sentence, Term, listed, say


@dataclass(frozen=True, slots=True)
class AliasRoute:
    """How a write reached the storage of a tensor of the graph."""

    words: str
    """``".data"``, ``"detach()"``, ``"numpy()"`` or ``""``."""
    made: tuple[EventPlace, Operation] | None = None
    """The call that made the other object."""


def alias_route(act: WriteEvent, history: History) -> AliasRoute:
    """How a write reached the storage."""
    if act.is_assignment:
        return AliasRoute("")
    if not act.is_exact:
        found = _array_of(act, history)
        if found is None:
            return AliasRoute("")
        return AliasRoute("numpy()", found)
    for place, made in history.aliases(act.written):
        if made.name in ("data", "detach"):
            words = ".data" if made.name == "data" else "detach()"
            return AliasRoute(words, (place, made))
    return AliasRoute("")


def _array_of(act: WriteEvent, history: History) -> tuple[EventPlace, Operation] | None:
    """The call that made a NumPy array on the storage."""
    found: tuple[EventPlace, Operation] | None = None
    for place, event in history.told(Operation):
        if event.name not in ("numpy", "__array__"):
            continue
        if place[0] > act.place[0]:
            break
        key = next(iter(event.reads), None)
        roots = {key, *(k for _, made in history.aliases(key) for k in made.reads)}
        if roots & set(act.event.tensors):
            found = place, event
    return found


def write_words(act: WriteEvent, name: str, key: str | None, history: History) -> Sentence:
    """A write in a sentence: what wrote which tensor, and how.

    Args:
        act: The write.
        name: Variable that was written, or a description.
        key: The tensor that it is, if it is known.
        history: The recording.
    """
    way = alias_route(act, history).words
    through = f" through {way}" if way else ""
    thing = name if key is None else Term(key, name)
    if act.is_assignment:
        return say("an assignment to {}.data replaced its storage", thing)
    if act.is_exact:
        by = "an indexed assignment" if act.event.by == "__setitem__" else act.event.by
        other = "" if way else through_other_name(history, act.place, act.event, key)
        return say("{} wrote {}{}{}", by, thing, through, other)
    if act.event.agent == "optimizer":
        return say("{} wrote {}", act.event.by, thing)
    return say("a write that torch did not see changed {}{}", thing, through)


def write_cause(act: WriteEvent, name: str, key: str | None, history: History) -> Cause:
    """A write as a cause."""
    return Cause("write", write_words(act, name, key, history), history.line(act.place))


def few(things: Sequence[str | Term], most: int = 3) -> Sentence:
    """``a, b, c and 4 more``."""
    return listed(things, most) if things else Sentence("a tensor")


def few_of(keys: Iterable[str], step: int, history: History) -> Sentence:
    """Tensors with a name, as :func:`few` lists them."""
    return few([Term(key, name) for key in keys if (name := history.name(key, step))])
