"""Captions of what happens inside backward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gradviz.model.arrivals import arrivals
from gradviz.model.derivatives import gradient_of, shapes_behind
from gradviz.model.events import (
    Accumulated,
    BackwardStarted,
    Event,
    Freed,
    HookFired,
    NodeRan,
    NodeReady,
    ZeroedGrad,
)
from gradviz.model.records import Node, SavedTensor
from gradviz.model.sentence import Sentence, joined, listed, say
from gradviz.view import formatting
from gradviz.view.captions.calculation import calculation
from gradviz.view.captions.checkpoints import computed_again, recomputed
from gradviz.view.captions.state import MOST, CaptionState, gradient
from gradviz.view.captions.sums import accumulated_sum, arrived, got, times
from gradviz.view.text import clean

BEFORE: Final = ("tensor", "node_pre")
"""Kinds of hooks that run before their node."""


def started(event: BackwardStarted, state: CaptionState) -> Sentence:
    """Where backward starts, with which gradient, and whether saved tensors are freed."""
    roots = [_root(root, state) for root in event.roots]
    what = "backward" if event.accumulates else "autograd.grad"
    if event.number > 1:
        what = f"backward {event.number}" + ("" if event.accumulates else f" ({what})")
    if not roots:
        return Sentence(f"{what} was called without a graph")
    given = [None if one is None else gradient(one) for one in event.gradients]
    given += [None] * (len(roots) - len(given))
    starts = [
        say("at {} with gradient {}", root, words or "1.0")
        for root, words in zip(roots, given, strict=False)
    ]
    words = [say("{} starts {}", what, listed(starts, MOST, "root"))]
    if event.inside is not None:
        again = recomputed(event.inside, state.step.events, state)
        words.insert(0, again)
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
    """What a node did: its hooks, the gradients that met at it, those that it computed, what it
    accumulated and freed.

    Args:
        events: The events at the node, those of its sub-steps included.
        state: The step after the node.
    """
    key = state.step.node or ""
    hooks = [event for event in events if isinstance(event, HookFired)]
    first = [event for event in hooks if event.hook.kind in BEFORE]
    after = [event for event in hooks if event not in first]
    ran = next((e for e in events if isinstance(e, NodeRan) and e.node == key), None)
    parts = []
    if ran is not None and (first or (_is_leaf(key, state) and _meets(ran, state))):
        came = arrived(ran, state, hooked=bool(first))
        parts += [say("{} arrived", came)] if came else []
    parts += [fired(event, state, short=True) for event in first]
    parts += _did(events, ran, state)
    parts += [fired(event, state, short=True) for event in after]
    if any(isinstance(event, Freed) and event.node == key for event in events):
        parts.append(Sentence("the node freed its saved tensors"))
    elif ran is not None and not _existing(ran.used) and _is_marked_freed(key, state):
        parts.append(Sentence("torch marks the node as freed all the same"))
    return joined(parts, "; ")


def _did(events: list[Event], ran: NodeRan | None, state: CaptionState) -> list[Sentence]:
    """What a node itself did, between its hooks."""
    key = state.step.node or ""
    kept = [accumulated(e, state) for e in events if isinstance(e, Accumulated) and e.node == key]
    if _is_leaf(key, state):
        return kept or [say("AccumulateGrad of {} ran", state.node(key))]
    if ran is None:
        return [say("{} ran", state.node(key))]
    hooked = any(isinstance(e, HookFired) and e.hook.kind in BEFORE for e in events)
    again = computed_again(events, ran.used)
    return [*kept, *([again] if again else []), _computed(ran, hooked, state)]


def _meets(event: NodeRan, state: CaptionState) -> bool:
    return len(arrivals(state.history, event.backward, event.node)) > 1


def about_to_run(events: list[Event], state: CaptionState) -> Sentence:
    """Which gradients have arrived at a node, and which saved tensors it is about to read.

    Args:
        events: The events at the node so far.
        state: The step before the node runs.
    """
    key = state.step.node or ""
    node, name = state.node_row(key), state.node(key)
    ready = next((e for e in events if isinstance(e, NodeReady) and e.node == key), None)
    hooked = any(isinstance(event, HookFired) for event in events)
    if ready is None:
        came = say("a gradient has arrived at {}", name)
    elif hooked:
        came = say("{} arrived at {} after its hooks", got(ready), name)
    else:
        came = say("{} arrived at {}", arrived(ready, state), name)
    if node is None or node.variable is not None:
        return came
    slots = _existing(node.saved)
    if not slots:
        return say("{}, which {}", came, _saved_nothing(node))
    if any(slot.state == "freed" for slot in slots):
        names = listed([clean(slot.name) for slot in slots], 3)
        are = "is" if len(slots) == 1 else "are"
        return say("{}, which needs its saved {}, which {} already freed", came, names, are)
    return say("{}, which reads saved {}", came, state.slots(slots))


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
    if words := accumulated_sum(event):
        return say("the gradient was added to {}.grad: {}", name, words)
    came = gradient(event.gradient)
    return say("gradient {} was added to {}.grad: {} became {}", came, name, before, now)


def fired(event: HookFired, state: CaptionState, short: bool = False) -> Sentence:
    """Which hook ran, and how it changed the gradient, or the ``.grad``."""
    words = hook = Sentence(formatting.hook(event.hook, 60))
    if event.tensor is not None:
        words = say("{} of {}", words, state.tensor(event.tensor))
    elif event.node is not None:
        words = say("{} at {}", words, state.node(event.node))
    if event.raised:
        return Sentence(words, " raised")
    if event.hook.kind == "post_accumulate_grad" and event.tensor is not None:
        name = state.tensor(event.tensor)
        return say("{} ran after {}.grad was written{}", hook, name, _changed_grad(event, state))
    if event.returned is not None:
        return say("{} replaced the gradient with {}", words, gradient(event.returned))
    # Only of a tensor's hook is what it returned recorded.
    unchanged = event.hook.kind == "tensor" and not short
    return Sentence(words, " ran and did not change the gradient" if unchanged else " ran")


def _changed_grad(event: HookFired, state: CaptionState) -> Sentence:
    """How a hook changed the ``.grad`` of its tensor, where the recording has seen it."""
    history, key = state.history, event.tensor
    step = next((s for s, e in history.events(HookFired, state.step.index) if e is event), None)
    if step is None:
        return Sentence()
    before, now = history.tensor_at(key, step - 1), history.tensor_at(key, step)
    zeroed = (e for e in history.recording.records[step].events if isinstance(e, ZeroedGrad))
    if before is None or now is None or before.grad == now.grad:
        return Sentence()
    if now.grad is None and any(key in e.tensors for e in zeroed):
        return Sentence()  # said as what zero_grad did
    return say(" and changed it: {} became {}", gradient(before.grad), gradient(now.grad))


def freed(event: Freed, state: CaptionState) -> Sentence:
    """Which saved tensors a node freed."""
    names = " and ".join(map(clean, event.slots[:4])) or "tensors"
    size = f", {formatting.size(event.nbytes)}" if event.nbytes else ""
    return say("{} freed its saved {}{}", state.node(event.node), names, size)


def _computed(ran: NodeRan, hooked: bool, state: CaptionState) -> Sentence:
    """What a node used, what it got and what it handed on.

    Args:
        ran: The node.
        hooked: Whether hooks ran before it; then what met was said before them.
        state: The step after the node.
    """
    slots = _existing(ran.used)
    words, lead = state.node(ran.node), f" {_saved_nothing(state.node_row(ran.node))}: "
    if slots:
        words, lead = say("{} used saved {}", words, state.slots(slots)), ": "
    parts = [*_passed_on(ran, state)]
    came = Sentence()
    if hooked:
        came = say("it got {}", got(ran))
    elif ran.grad_outputs:
        came = say("{} arrived", arrived(ran, state))
    if not parts:
        return say("{}: {}", words, came or "it ran")
    return Sentence(words, lead, came, ", " if came else "", listed(parts, MOST))


def _saved_nothing(node: Node | None) -> str:
    """That a node has no saved tensors; of a custom Function, what is known instead."""
    if node is None or not is_custom(node):
        return "saved no tensors"
    words = "saved no tensors with save_for_backward"
    names = [clean(name) for name, _ in node.attributes]
    return f"{words}, but has ctx.{' and ctx.'.join(names)}" if names else words


def is_custom(node: Node) -> bool:
    """Whether a node is of a custom Function: torch's own have a number at the end, or none of
    the derivatives of its table."""
    return node.name.endswith("Backward") and node.formula is None


def _is_leaf(key: str, state: CaptionState) -> bool:
    node = state.node_row(key)
    return node is not None and node.variable is not None


def _is_marked_freed(key: str, state: CaptionState) -> bool:
    node = state.node_row(key)
    return node is not None and node.state == "freed"


def _passed_on(ran: NodeRan, state: CaptionState) -> Iterator[Sentence]:
    """Which gradient goes to each entry of ``next_functions``."""
    node = state.node_row(ran.node)
    if node is None:
        return
    shapes, counts = shapes_behind(node, state.node_row), dict[tuple[str, str], int]()
    for place, (entry, result) in enumerate(zip(node.next_functions, ran.grad_inputs)):
        if entry is None:
            continue
        value = "no gradient"
        if result is not None:
            tree = gradient_of(node, place, shapes).tree
            value = calculation(tree, ran, result, state) or gradient(result)
        counts[value, entry[0]] = counts.get((value, entry[0]), 0) + 1
    for (value, target), count in counts.items():
        yield say("{} went to {}{}", value, state.node(target), times(count))


def _existing(slots: tuple[SavedTensor, ...]) -> list[SavedTensor]:
    return [slot for slot in slots if slot.state != "none"]


def _root(root: tuple[str, int], state: CaptionState) -> Sentence:
    history, step = state.history, state.step.index
    for key in history.outputs_of(root[0], step, root[1]):
        info = history.tensor_at(key, step)
        if info is not None and (info.node, info.output_nr) == root and info.name:
            return state.tensor(key)
    return state.node(root[0])
