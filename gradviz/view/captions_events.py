"""Captions of what a line did: one part of a sentence per thing that happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gradviz.model.events import (
    Accumulated,
    BackwardEnded,
    Clipped,
    Died,
    Event,
    FlagChanged,
    Freed,
    HookChanged,
    NodeRan,
    Note,
    Operation,
    OptimizerStepped,
    Raised,
    Write,
    ZeroedGrad,
)
from gradviz.model.facts import Node, SavedTensor
from gradviz.view import phrases
from gradviz.view.captions_backward import gradient
from gradviz.view.cuts import CALLS, call_words
from gradviz.view.story import Story, Words, listed
from gradviz.view.text import clean

FEW: Final = 3
WHY: Final = {
    "no_grad": "no_grad is on",
    "inference mode": "inference mode is on",
    "detach": "the graph ends here",
    ".data": "the graph ends here",
    "not differentiable": "it has no derivative",
    "left torch": "the value left torch",
}
"""Why an operation on a tensor that requires grad is not recorded."""


def made(story: Story) -> Iterator[Words]:
    """Nodes and leaves that are new."""
    nodes = [story.nodes[key] for key in story.fresh if key[0] == "n"]
    nodes = [node for node in nodes if node.variable is None]
    if len(nodes) > FEW:
        yield (f"made {len(nodes)} nodes", *_result(nodes, story))
    elif len(nodes) == 1:
        yield ("made ", *_with_saved(nodes[0], ", which saved ", story))
    elif nodes:
        yield ("made ", *listed([story.node(node.id) for node in nodes]))
        yield from (_with_saved(node, " saved ", story) for node in nodes if _kept(node))
    infos = [story.tensors[key] for key in story.fresh if key[0] == "t"]
    for requires, words in ((True, "a new leaf that requires grad"), (False, "new and does not")):
        news = [i for i in infos if i.is_leaf and i.requires_grad is requires and i.name]
        if news:
            names = listed([story.tensor(info.id) for info in news], 4)
            state = words if requires else "new, no grad required"
            plural = "new leaves that require grad" if requires else "new, no grad required"
            yield (*names, f" is {state}") if len(news) == 1 else (*names, f" are {plural}")


def told(events: list[Event], story: Story) -> Iterator[Words]:
    """What the events of a line say."""
    yield from _unrecorded(events, story)
    clips = any(isinstance(event, Clipped) for event in events)
    for event in events:
        if isinstance(event, Write):
            # How clipping writes the gradients says no more than that it clipped.
            if event.tensors or not clips:
                yield _written(event, story)
        elif isinstance(event, FlagChanged):
            yield (*story.tensor(event.tensor), f".{event.flag} is now {event.after}")
        elif isinstance(event, HookChanged):
            verb = "registered" if event.registered else "removed"
            where = (
                (" on ", *story.tensor(event.tensor))
                if event.tensor
                else (" at ", *story.node(event.node))
                if event.node
                else ()
            )
            yield (f"{phrases.hook(event.hook, 60)} is {verb}", *where)
        elif isinstance(event, OptimizerStepped):
            yield from _stepped(event, story)
        elif isinstance(event, ZeroedGrad):
            yield from _zeroed(event, story)
        elif isinstance(event, Clipped):
            yield _clipped(event, story)
        elif isinstance(event, Note):
            yield (clean(event.text),)
    yield from _died(events, story)


def ran_backward(events: list[Event], story: Story) -> Iterator[Words]:
    """The sum of a backward, after the line that called it."""
    ran = sum(isinstance(event, NodeRan) for event in events)
    ended = [event for event in events if isinstance(event, BackwardEnded)]
    if not ran and not ended:
        return
    yield (f"backward ran {phrases.plural(ran or sum(e.nodes for e in ended), 'node')}",)
    reached = dict.fromkeys(
        e.tensor for e in events if isinstance(e, Accumulated) and e.tensor in story.alive
    )
    # As they are now: a hook may have taken away what was accumulated.
    grads = [
        (*story.tensor(key), f".grad is {gradient(story.tensors[key].grad)}")
        for key in reached
        if key is not None
    ]
    if grads:
        yield listed(grads, 4, "other .grad")
    empty = sum(isinstance(event, Freed) for event in events)
    if empty:
        they = "it" if empty == 1 else "they"
        yield (f"{phrases.plural(empty, 'node')} freed what {they} saved",)


def raised(event: Raised, story: Story) -> Words:
    """Which error, at which node, and what the graph says about why."""
    words: Words = (clean(event.type),)
    node = story.nodes.get(event.node or "")
    if node is None:
        return words
    words += (" while ", *story.node(node.id), " ran")
    modified = next((slot for slot in node.saved if slot.state == "modified"), None)
    if modified is not None:
        by = story.writer(modified)
        more = (modified.current_version or 0) - (modified.saved_version or 0) > 1
        writer = (" wrote it first" if more else " wrote it", " and ")
        now = f"it is at v{modified.current_version} now"
        who = (*by, *writer, now) if by else (now,)
        return (*words, ": it had saved ", *story.slot(modified), "; ", *who)
    if node.state == "freed" or any(slot.state == "freed" for slot in node.saved):
        freed_by = story.freed.get(node.id)
        by = (" by ", *freed_by) if freed_by else ()
        return (*words, ": what it saved was freed", *by)
    return words


def _kept(node: Node) -> list[SavedTensor]:
    return [slot for slot in node.saved if slot.state in ("held", "modified", "packed")]


def _with_saved(node: Node, verb: str, story: Story) -> Words:
    slots = [story.slot(slot) for slot in _kept(node)]
    words = story.node(node.id)
    return (*words, verb, *listed(slots, FEW, "saved tensor")) if slots else words


def _result(nodes: list[Node], story: Story) -> Words:
    """Which tensor came out of many nodes."""
    made = {node.id for node in nodes}
    infos = [story.tensors[key] for key in {*story.fresh, *story.earlier} if key[0] == "t"]
    infos = [info for info in infos if info.node in made and info.name]
    if not infos:
        return ()
    last = min(infos, key=lambda info: int(info.id[1:]))
    return ("; ", *story.tensor(last.id), " is the output of ", *story.node(last.node or ""))


def _unrecorded(events: list[Event], story: Story) -> Iterator[Words]:
    """Operations that left no node although one could expect it, each reason once."""
    reasons: dict[str, list[Operation]] = {}
    for event in events:
        if isinstance(event, Operation) and event.reason and not event.recomputed:
            reasons.setdefault(event.reason, []).append(event)
    for reason, found in reasons.items():
        first, more = found[0], len(found) - 1
        others = f" and {phrases.plural(more, 'other call')}" if more else ""
        if reason in ("no input requires grad", "unknown"):
            if len(reasons) == 1 and not story.fresh and not _writes(events):
                why = "no input requires grad" if reason[0] == "n" else "torch does not say why"
                verb = "are" if more else "is"
                yield (f"{clean(first.name)}{others} {verb} not recorded: {why}",)
        elif reason in CALLS:
            made = {operand.tensor for operand in first.outputs}
            from_ = [o for o in first.inputs if o.tensor in story.tensors and o.tensor not in made]
            source = (" of ", *story.tensor(from_[0].tensor)) if from_ else ()
            verb = "are" if more else "is"
            yield (call_words(first), *source, f"{others} {verb} not recorded: {WHY[reason]}")


def _writes(events: list[Event]) -> bool:
    return any(isinstance(event, (Write, Clipped)) for event in events)


def _savers(event: Write, story: Story) -> Words:
    """Nodes that had saved what was written."""
    found: list[Words] = []
    for key in story.changed:
        node = story.nodes[key]
        for slot in node.saved:
            known = slot.tensor or slot.view_of
            if slot.state == "modified" and known in event.tensors:
                found.append((*story.node(key), f" had saved it at v{slot.saved_version}"))
                break
    return ("; ", *listed(found, FEW, "other node")) if found else ()


def _written(event: Write, story: Story) -> Words:
    through = f" through {event.through}" if event.through else ""
    words: Words = (f"{clean(event.by)} wrote {clean(event.name)} in place{through}",)
    if event.before is not None and event.after is not None and event.before != event.after:
        words += (f": version {event.before} became {event.after}",)
    others = [key for key in event.tensors if key in story.tensors]
    others = [key for key in others if story.tensors[key].name != event.name]
    unaware = [key for key in others if _same_version(key, story)]
    aware = [key for key in others if key not in unaware]
    if aware:
        names = listed([story.tensor(key) for key in aware])
        words += ("; ", *names, f" share{'s' * (len(aware) == 1)} that memory and version")
    if unaware:
        names = listed([story.tensor(key) for key in unaware])
        verb = "shares that memory but keeps its version" if len(unaware) == 1 else (
            "share that memory but keep their version")  # fmt: skip
        words += ("; ", *names, f" {verb}: backward cannot notice")
    elif event.before is not None and event.before == event.after:
        words += (f"; the version stays {event.after}: backward cannot notice",)
    return words + _savers(event, story)


def _same_version(key: str, story: Story) -> bool:
    """Whether the last step left the version of a tensor as it was."""
    earlier = story.earlier.get(key)
    return key not in story.fresh and (
        earlier is None or earlier.version == story.tensors[key].version
    )


def _stepped(event: OptimizerStepped, story: Story) -> Iterator[Words]:
    name = f"{clean(event.name)}.step()"
    if event.updated:
        yield (f"{name} updated ", *listed([story.tensor(key) for key in event.updated]))
    else:
        yield (f"{name} updated nothing",)
    if event.skipped:
        names = listed([story.tensor(key) for key in event.skipped])
        whose = "whose .grad is None"
        yield ("it passed over ", *names, f", {whose}")


def _zeroed(event: ZeroedGrad, story: Story) -> Iterator[Words]:
    names = [(*story.tensor(key), ".grad") for key in event.tensors]
    if not names:
        yield (f"{clean(event.name)}.zero_grad() found no .grad to take away",)
    elif event.set_to_none:
        yield (f"{clean(event.name)}.zero_grad() set ", *listed(names), " to None")
    else:
        yield (f"{clean(event.name)}.zero_grad() filled ", *listed(names), " with 0")


def _clipped(event: Clipped, story: Story) -> Words:
    name = clean(event.name)
    found = [(*story.tensor(k), ".grad") for k in event.tensors if k not in event.without]
    empty = [(*story.tensor(k), ".grad") for k in event.without]
    none: Words = (*listed(empty), f" {'is' if len(empty) == 1 else 'are'} None") if empty else ()
    if found:
        return (f"{name} looked at ", *listed(found), *((", but ", *none) if none else ()))
    return (f"{name} found no .grad to clip", *((": ", *none) if none else ()))


def _died(events: list[Event], story: Story) -> Iterator[Words]:
    dead = [event for event in events if isinstance(event, Died)]
    tensors = [key for event in dead for key in event.tensors if key in story.tensors]
    named = [story.tensor(key) for key in tensors if story.tensors[key].name]
    nodes = [key for event in dead for key in event.nodes if key in story.nodes]
    inner = [key for key in nodes if story.nodes[key].variable is None]
    if named:
        old = ("an earlier ",) if _is_bound_again(tensors, story) else ()
        yield (*old, *listed(named), " died")
    if inner:
        verb = "died too" if named else "died"
        yield (*listed([story.node(key) for key in inner], FEW, "other node"), f" {verb}")


def _is_bound_again(tensors: list[str], story: Story) -> bool:
    names = {story.tensors[key].name for key in tensors}
    return any(story.tensors[k].name in names for k in story.alive if k in story.tensors)
