"""Captions of what happens inside backward."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.model.derivatives import gradient_of, shapes_behind
from gradviz.model.events import (
    Accumulated,
    BackwardStarted,
    Event,
    Freed,
    HookFired,
    NodeRan,
)
from gradviz.model.records import SavedTensor, ValueSummary
from gradviz.model.sentence import Sentence, joined, listed, say
from gradviz.view import formatting
from gradviz.view.captions.calculation import calculation
from gradviz.view.captions.state import MOST, CaptionState
from gradviz.view.text import clean

ROOM = 44
"""Cells of a gradient inside a sentence."""


def started(event: BackwardStarted, state: CaptionState) -> Sentence:
    """Where backward starts, with which gradient, and whether saved tensors are freed."""
    roots = [_root(root, state) for root in event.roots]
    given = [gradient(one) for one in event.gradients] or ["1.0"]
    what = "backward" if event.accumulates else "autograd.grad"
    number = f" {event.number}" if event.number > 1 else ""
    if not roots:
        return Sentence(f"{what}{number} was called without a graph")
    start, ones = listed(roots, MOST), ", ".join(given)
    words = [say("{}{} starts at {} with gradient {}", what, number, start, ones)]
    if event.inside is not None:
        words.append(say(", called inside {}", state.node(event.inside)))
    if event.inputs:
        inputs = [state.tensor(key) for key in event.inputs]
        words.append(say(", only for {}", listed(inputs, MOST)))
    if not event.accumulates:
        words.append(Sentence("; it returns the gradients and changes no .grad"))
    return Sentence(*words, "; ", _kept(event))


def _kept(event: BackwardStarted) -> str:
    if event.create_graph:
        kept = "keep" if event.retain_graph else "free"
        return f"its operations are recorded (create_graph), nodes {kept} their saved tensors"
    if event.retain_graph:
        return "nodes keep their saved tensors (retain_graph)"
    return "each node that runs frees its saved tensors"


def node_ran(events: list[Event], state: CaptionState) -> Sentence:
    """What a node did: its hooks, the gradients it computed, what it accumulated and freed.

    Args:
        events: The events at the node, those of its sub-steps included.
        state: The step after the node.
    """
    key = state.step.node or ""
    node = state.node_row(key)
    ran = next((e for e in events if isinstance(e, NodeRan) and e.node == key), None)
    kept = [accumulated(e, state) for e in events if isinstance(e, Accumulated) and e.node == key]
    if node is not None and node.variable is not None:
        words = kept or [say("AccumulateGrad of {} ran", state.node(key))]
    elif ran is None:
        words = [say("{} ran", state.node(key))]
    else:
        words = [_computed(ran, state), *kept]
    hooks = [event for event in events if isinstance(event, HookFired)]
    first = [event for event in hooks if event.hook.kind in ("tensor", "node_pre")]
    after = [event for event in hooks if event not in first]
    parts = [*(fired(e, state, short=True) for e in first), *words]
    parts += [fired(e, state, short=True) for e in after]
    if any(isinstance(event, Freed) and event.node == key for event in events):
        parts.append(Sentence("the node freed its saved tensors"))
    return joined(parts, "; ")


def about_to_run(state: CaptionState) -> Sentence:
    """Which saved tensors a node is about to read."""
    key = state.step.node or ""
    node = state.node_row(key)
    if node is None or node.variable is not None:
        return say("a gradient has arrived at {}", state.node(key))
    slots = _existing(node.saved)
    words = say("gradients have arrived at {}, which ", state.node(key))
    if not slots:
        return Sentence(words, "saved nothing")
    if any(slot.state == "freed" for slot in slots):
        names = listed([clean(slot.name) for slot in slots], 3)
        are = "is" if len(slots) == 1 else "are"
        return say("{}needs its saved {}, which {} already freed", words, names, are)
    return say("{}reads saved {}", words, listed([state.slot(slot) for slot in slots], 3))


def accumulated(event: Accumulated, state: CaptionState) -> Sentence:
    """How ``.grad`` changed."""
    name, now = state.tensor(event.tensor), gradient(event.after)
    if event.retained:
        if event.before is None:
            return say("retain_grad set {}.grad to {}", name, now)
        before = gradient(event.before)
        return say("retain_grad added to {}.grad: {} became {}", name, before, now)
    if event.before is None:
        return say("{}.grad was None and became {}", name, now)
    before = gradient(event.before)
    if not event.gradient:
        return say("{}.grad was {} and became {}", name, before, now)
    added = gradient(event.gradient)
    return say("gradient {} was added to {}.grad: {} became {}", added, name, before, now)


def fired(event: HookFired, state: CaptionState, short: bool = False) -> Sentence:
    """Which hook ran, and how it changed the gradient."""
    words = Sentence(formatting.hook(event.hook, 60))
    if event.tensor is not None:
        words = say("{} of {}", words, state.tensor(event.tensor))
    elif event.node is not None:
        words = say("{} at {}", words, state.node(event.node))
    if event.raised:
        return Sentence(words, " raised")
    if event.returned is not None:
        return say("{} replaced the gradient with {}", words, gradient(event.returned))
    # Only of a tensor's hook is what it returned recorded.
    unchanged = event.hook.kind == "tensor" and not short
    return Sentence(words, " ran and did not change the gradient" if unchanged else " ran")


def freed(event: Freed, state: CaptionState) -> Sentence:
    """Which saved tensors a node freed."""
    names = " and ".join(map(clean, event.slots[:4])) or "tensors"
    size = f", {formatting.size(event.nbytes)}" if event.nbytes else ""
    return say("{} freed its saved {}{}", state.node(event.node), names, size)


def gradient(found: ValueSummary | None) -> str:
    """A gradient in a sentence."""
    return formatting.gradient_words(found, ROOM)


def _computed(ran: NodeRan, state: CaptionState) -> Sentence:
    slots = _existing(ran.used)
    words, lead = state.node(ran.node), " saved nothing: "
    if slots:
        used = listed([state.slot(slot) for slot in slots], 3, "saved tensor")
        words, lead = say("{} used saved {}", words, used), ": "
    parts = [*_passed_on(ran, state)]
    arrived = [gradient(one) for one in ran.grad_outputs]
    came = ("gradient " if len(arrived) == 1 else "gradients ") + " and ".join(arrived[:4])
    if not parts:
        return say("{}: {}", words, f"{came} arrived" if arrived else "it ran")
    return Sentence(words, lead, f"{came} arrived, " if arrived else "", listed(parts, MOST))


def _passed_on(ran: NodeRan, state: CaptionState) -> Iterator[Sentence]:
    """Which gradient goes to each entry of ``next_functions``."""
    node = state.node_row(ran.node)
    if node is None:
        return
    shapes = shapes_behind(node, state.node_row)
    for place, (entry, result) in enumerate(zip(node.next_functions, ran.grad_inputs)):
        if entry is None:
            continue
        value = "no gradient"
        if result is not None:
            tree = gradient_of(node, place, shapes).tree
            value = calculation(tree, ran, result, state) or gradient(result)
        yield say("{} went to {}", value, state.node(entry[0]))


def _existing(slots: tuple[SavedTensor, ...]) -> list[SavedTensor]:
    return [slot for slot in slots if slot.state != "none"]


def _root(root: tuple[str, int], state: CaptionState) -> Sentence:
    history, step = state.history, state.step.index
    for key in history.outputs_of(root[0], step, root[1]):
        info = history.tensor_at(key, step)
        if info is not None and (info.node, info.output_nr) == root and info.name:
            return state.tensor(key)
    return state.node(root[0])
