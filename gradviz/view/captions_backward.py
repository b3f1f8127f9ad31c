"""Captions of what happens inside backward."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.model.events import (
    Accumulated,
    BackwardStarted,
    Event,
    Freed,
    HookFired,
    NodeRan,
)
from gradviz.model.facts import SavedTensor, ValueSummary
from gradviz.model.recording import Step
from gradviz.view import phrases
from gradviz.view.progress import gradient_words
from gradviz.view.story import Story, Words, listed
from gradviz.view.text import clean

ROOM = 44
"""Cells of a gradient inside a sentence."""


def started(event: BackwardStarted, story: Story) -> Words:
    """Where backward starts, with which gradient, and what becomes of the graph."""
    roots = [_root(root, story) for root in event.roots]
    given = [gradient(one) for one in event.gradients] or ["1.0"]
    what = "backward" if event.accumulates else "autograd.grad"
    number = f" {event.number}" if event.number > 1 else ""
    if not roots:
        return (f"{what}{number} was called where there is no graph",)
    words = [f"{what}{number} starts at ", *listed(roots), f" with gradient {', '.join(given)}"]
    if event.inside is not None:
        words += [", called inside ", *story.node(event.inside)]
    if event.inputs:
        words += [", only for ", *listed([story.tensor(key) for key in event.inputs])]
    if not event.accumulates:
        words.append("; gradients are returned, no .grad changes")
    if event.create_graph:
        words.append("; backward itself is recorded (create_graph)")
    elif event.retain_graph:
        words.append("; the graph is kept (retain_graph)")
    else:
        words.append("; the graph is not kept: each node frees what it saved")
    return tuple(words)


def node_ran(step: Step, events: list[Event], story: Story) -> Words:
    """What a node did, of everything that happened at it.

    Args:
        step: The step after the node.
        events: What happened at it, the parts of the node included.
        story: What is known.
    """
    key = step.node or ""
    node = story.nodes.get(key)
    ran = next((e for e in events if isinstance(e, NodeRan) and e.node == key), None)
    kept = [e for e in events if isinstance(e, Accumulated) and e.node == key]
    if node is not None and node.variable is not None:
        words = _joined([accumulated(event, story) for event in kept])
        words = words or ("AccumulateGrad of ", *story.node(key), " ran")
    elif ran is None:
        words = (*story.node(key), " ran")
    else:
        words = _computed(ran, story)
        words += tuple(w for e in kept for w in ("; ", *accumulated(e, story)))
    hooks = [event for event in events if isinstance(event, HookFired)]
    first = [event for event in hooks if event.hook.kind in ("tensor", "node_pre")]
    after = [event for event in hooks if event not in first]
    words = tuple(w for e in first for w in (*fired(e, story, short=True), "; ")) + words
    words += tuple(w for e in after for w in ("; ", *fired(e, story, short=True)))
    if any(isinstance(event, Freed) and event.node == key for event in events):
        words += ("; what it saved is freed",)
    return words


def about_to_run(step: Step, story: Story) -> Words:
    """Which saved tensors a node is about to read."""
    node = story.nodes.get(step.node or "")
    if node is None or node.variable is not None:
        return ("a gradient has arrived at ", *story.node(step.node or ""))
    slots = _there(node.saved)
    words: Words = ("gradients have arrived at ", *story.node(node.id))
    if not slots:
        return (*words, ", which saved nothing")
    if any(slot.state == "freed" for slot in slots):
        names = listed([(clean(slot.name),) for slot in slots], 3)
        return (*words, ", which needs saved ", *names, f", but {_is(slots)} freed")
    return (*words, ", which reads saved ", *listed([story.slot(slot) for slot in slots], 3))


def accumulated(event: Accumulated, story: Story) -> Words:
    """How ``.grad`` changed."""
    name = story.tensor(event.tensor)
    if event.retained:
        return ("retain_grad keeps ", *name, f".grad = {gradient(event.after)}")
    if event.before is None:
        return (*name, f".grad was None and became {gradient(event.after)}")
    added = f", gradient {gradient(event.gradient)} was added" if event.gradient else ""
    return (
        *name,
        f".grad was {gradient(event.before)}{added} and it became {gradient(event.after)}",
    )


def fired(event: HookFired, story: Story, short: bool = False) -> Words:
    """Which hook ran, and what it did to the gradient."""
    words: Words = (phrases.hook(event.hook, 60),)
    if event.tensor is not None:
        words += (" of ", *story.tensor(event.tensor))
    elif event.node is not None:
        words += (" at ", *story.node(event.node))
    if event.raised:
        return (*words, " raised")
    if event.hook.kind == "post_accumulate_grad":
        return (*words, " ran")
    if event.returned is not None:
        return (*words, f" made the gradient {gradient(event.returned)}")
    return words + ((" ran",) if short else (" ran and left the gradient as it is",))


def freed(event: Freed, story: Story) -> Words:
    """Which saved tensors are gone."""
    names = " and ".join(map(clean, event.slots[:4])) or "what it saved"
    size = f", {phrases.size(event.nbytes)}" if event.nbytes else ""
    return (*story.node(event.node), f" freed its saved {names}{size}")


def gradient(found: ValueSummary | None) -> str:
    """A gradient in a sentence."""
    return gradient_words(found, ROOM)


def _computed(ran: NodeRan, story: Story) -> Words:
    slots = _there(ran.used)
    words = story.node(ran.node)
    if slots:
        words += (" used saved ", *listed([story.slot(slot) for slot in slots], 3, "saved tensor"))
    parts = [*_handed_on(ran, slots, story)]
    arrived = [gradient(one) for one in ran.grad_outputs]
    came = ("gradient " if len(arrived) == 1 else "gradients ") + " and ".join(arrived[:4])
    if not parts:
        return (*words, f": {came} came in") if arrived else (*words, ": it ran")
    lead = ": " if slots else " saved nothing: "
    return (*words, lead, *([f"{came} came in, "] if arrived else []), *listed(parts, 4))


def _handed_on(ran: NodeRan, slots: list[SavedTensor], story: Story) -> Iterator[Words]:
    """What went to each producer."""
    node = story.nodes.get(ran.node)
    if node is None:
        return
    for entry, result in zip(node.next_functions, ran.grad_inputs, strict=False):
        if entry is None:
            continue
        said = "no gradient" if result is None else _product(ran, result, slots, story)
        yield (f"{said or gradient(result)} goes to ", *story.node(entry[0]))


def _product(
    ran: NodeRan, result: ValueSummary, slots: list[SavedTensor], story: Story
) -> str | None:
    """``1.0 × 3.0 = 3.0`` if that is what multiplying by a saved number of ``mul`` gives."""
    if not ran.node or not story.nodes[ran.node].name.startswith("MulBackward"):
        return None
    came = _number(ran.grad_outputs[0].values) if ran.grad_outputs and ran.grad_outputs[0] else None
    went = _number(result.values)
    for slot in slots:
        info = story.tensors.get(slot.tensor or "")
        if info is None or info.version != slot.saved_version:
            continue
        factor = _number(info.values)
        if None not in (came, went, factor) and came * factor == went:  # type: ignore[operator]
            words = map(phrases.number, (came, factor, went))  # type: ignore[arg-type]
            return "{} × {} = {}".format(*words)
    return None


def _number(values: tuple[object, ...] | None) -> float | None:
    one = values[0] if values is not None and len(values) == 1 else None
    return one if isinstance(one, float) else None


def _is(slots: list[SavedTensor]) -> str:
    return "it is" if len(slots) == 1 else "they are"


def _there(slots: tuple[SavedTensor, ...]) -> list[SavedTensor]:
    return [slot for slot in slots if slot.state != "none"]


def _root(root: tuple[str, int], story: Story) -> Words:
    for info in story.tensors.values():
        if info.id in story.alive and (info.node, info.output_nr) == root and info.name:
            return story.tensor(info.id)
    return story.node(root[0])


def _joined(parts: list[Words]) -> Words:
    return tuple(w for place, part in enumerate(parts) for w in (("; ",) if place else ()) + part)
