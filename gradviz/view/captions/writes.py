"""Captions of writes in place: who wrote what, from which values to which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gradviz.model.events import Clipped, Event, Write
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, Term, joined, listed, say
from gradviz.view import formatting
from gradviz.view.captions.state import FEW, MOST, CaptionState
from gradviz.view.text import clean

ROOM: Final = 44
"""Cells of values inside a sentence."""


def writes(events: Sequence[Event], state: CaptionState) -> Iterator[Sentence]:
    """One part of the sentence per write, one for all buffers of a module."""
    # That clipping writes the gradients is part of the clipping.
    clips = any(isinstance(event, Clipped) for event in events)
    found = [e for e in events if isinstance(e, Write) and (e.tensors or e.grad_of or not clips)]
    found = [e for e in found if not (clips and e.grad_of)]
    modules = dict.fromkeys(e.buffer_of for e in found if e.buffer_of is not None)
    for module in modules:
        yield _buffers(module, [e for e in found if e.buffer_of == module], state)
    others = [event for event in found if event.buffer_of is None]
    last = {_target(event): event for event in others}
    for event in others:
        yield _written(event, state, last[_target(event)] is event)


def _target(event: Write) -> tuple[str | None, str]:
    return event.grad_of, event.name


def _buffers(module: str, events: Sequence[Write], state: CaptionState) -> Sentence:
    """Which of its buffers a module has updated."""
    names: dict[str, Sentence] = {}
    for event in events:
        key = next(iter(event.tensors), None)
        short = clean(event.name.rpartition(".")[2])
        known = state.row(key) is not None and key is not None
        names[event.name] = Sentence(Term(key, short)) if known and key else Sentence(short)
    which = "its buffer" if len(names) == 1 else "its buffers"
    return say("{} updated {} {}", clean(module), which, listed(list(names.values()), MOST))


def _written(event: Write, state: CaptionState, is_last: bool) -> Sentence:
    through = f" through {event.through}" if event.through else ""
    lead = say("{} wrote {} in place{}", _by(event), _thing(event, state), through)
    if event.agent == "assignment":
        lead = say("{} gave {} another storage", clean(event.by), _thing(event, state))
    elif event.agent == "unseen":
        lead = say("{} changed {}", clean(event.by), _thing(event, state))
    parts = [*_values(event, state)] if is_last else []
    if event.before is not None and event.after is not None and event.before != event.after:
        parts.append(Sentence(f"version {event.before} became {event.after}"))
    words = say("{}: {}", lead, joined(parts, "; ")) if parts else lead
    return Sentence(words, _sharing(event, state), _savers(event, state))


def _by(event: Write) -> str:
    return "an indexed assignment" if event.by == "__setitem__" else clean(event.by)


def _thing(event: Write, state: CaptionState) -> Sentence:
    """What was written, by its name."""
    if event.grad_of is not None:
        return say("{}.grad", state.tensor(event.grad_of))
    return Sentence(clean(event.name))


def _values(event: Write, state: CaptionState) -> Iterator[Sentence]:
    """What was there before the line, and what is there after it, if that is few numbers."""
    if event.grad_of is not None:
        key = event.grad_of
    else:
        keys = (key for key in event.tensors if (row := state.row(key)) and row.name == event.name)
        key = next(keys, "")
    was, now = state.row_before(key), state.row_now(key)
    if was is None or now is None:
        return
    if event.grad_of is not None:
        pair = [(one.grad.values, one.grad.shape) for one in (was, now) if one.grad is not None]
    else:
        pair = [(one.values, one.shape) for one in (was, now)]
    words = [formatting.numbers(v, shape, ROOM) for v, shape in pair if v is not None]
    if len(words) == 2:
        same = words[0] == words[1]
        yield Sentence(f"it is {words[1]} as before" if same else f"{words[0]} → {words[1]}")


def _sharing(event: Write, state: CaptionState) -> Sentence:
    """Which other tensors lie in the memory, and whether their version has changed too."""
    words: list[str | Sentence] = []
    others = [info for info in map(state.row, event.tensors) if info and info.name != event.name]
    own_version = [state.tensor(info.id) for info in others if _same_version(info, state)]
    same_version = [state.tensor(info.id) for info in others if not _same_version(info, state)]
    if same_version:
        verb = "shares" if len(same_version) == 1 else "share"
        words.append(say("; {} {} its storage and version", listed(same_version, MOST), verb))
    if own_version:
        verb = "shares its storage but has its own version" if len(own_version) == 1 else (
            "share its storage but have their own versions")  # fmt: skip
        words.append(
            say("; {} {}: backward cannot detect the write", listed(own_version, MOST), verb)
        )
    elif event.before is not None and event.before == event.after:
        words.append(f"; the version stays {event.after}: backward cannot detect the write")
    return Sentence(*words)


def _same_version(info: TensorInfo, state: CaptionState) -> bool:
    """Whether the step left the version of a tensor as it was."""
    before = state.history.tensor_at(info.id, state.step.index - 1)
    if before is None:
        return not state.is_alive(info.id)
    return before.version == info.version


def _savers(event: Write, state: CaptionState) -> Sentence:
    """Nodes that saved the written tensor before."""
    found: list[Sentence] = []
    fresh = state.fresh
    for key in state.history.changed(state.step.index):
        node = None if key in fresh else state.node_row(key)
        for slot in node.saved if node else ():
            known = slot.tensor or slot.view_of
            if slot.state == "modified" and known in event.tensors:
                saved = formatting.at_version(slot.saved_version)
                found.append(say("{} had saved it {}", state.node(key), saved))
                break
    return say("; {}", listed(found, FEW, "node")) if found else Sentence()
