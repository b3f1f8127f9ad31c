"""Captions of what a line did: one part of the sentence per event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from gradviz.model.cut_reasons import CALLS_THAT_CUT, REASONS
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
from gradviz.model.ids import number_of
from gradviz.model.records import Node, SavedTensor, TensorInfo
from gradviz.model.sentence import Sentence, listed, say
from gradviz.view import formatting
from gradviz.view.captions.blocks import of_grad_mode
from gradviz.view.captions.state import FEW, MOST, CaptionState, gradient
from gradviz.view.captions.writes import writes
from gradviz.view.graph.cut_stubs import call_words
from gradviz.view.text import clean


def made(state: CaptionState) -> Iterator[Sentence]:
    """Nodes and leaves that are new."""
    nodes = _new_nodes(state)
    if len(nodes) > FEW:
        yield Sentence(f"made {len(nodes)} nodes", _result(nodes, state))
    elif len(nodes) == 1:
        yield Sentence("made ", _with_saved(nodes[0], ", which saved ", state))
    elif nodes:
        yield Sentence("made ", listed([state.node(node.id) for node in nodes]))
        yield from (_with_saved(node, " saved ", state) for node in nodes if _kept(node))
    told = {info.id for info, _ in _rebound(state)}
    rows = [state.row(key) for key in state.fresh if key[0] == "t" and key not in told]
    leaves = [info for info in rows if info and info.is_leaf and info.name]
    for is_new, requires in product((True, False), repeat=2):
        same = [
            info
            for info in leaves
            if info.requires_grad is requires and state.is_made(info.id) is is_new
        ]
        if same:
            names = listed([state.tensor(info.id) for info in same], MOST)
            yield say("{} {}", names, _LEAVES[is_new, requires][len(same) > 1])


_LEAVES: Final = {
    (True, True): ("is a new leaf that requires grad", "are new leaves that require grad"),
    (True, False): ("is new and does not require grad", "are new and do not require grad"),
    (False, True): ("is a leaf that requires grad", "are leaves that require grad"),
    (False, False): ("does not require grad", "do not require grad"),
}
"""What leaves are: by whether the step made them, and whether they require grad; of one, of many.
"""


def rebound(state: CaptionState) -> Iterator[Sentence]:
    """Names of leaves that require grad that another tensor has by now, which is none."""
    for info, old in _rebound(state):
        name, earlier = state.tensor(info.id), state.tensor(old.id)
        if info.requires_grad:
            yield say(
                "{} is now a result, no leaf: backward accumulates into .grad of {}, "
                "not of {}", name, earlier, name
            )  # fmt: skip
        else:
            yield say(
                "{} is now a tensor that does not require grad; {} is a leaf that does",
                name, earlier,
            )  # fmt: skip


def _rebound(state: CaptionState) -> Iterator[tuple[TensorInfo, TensorInfo]]:
    """New tensors that have the name of a leaf by now, and the leaves."""
    for key in state.fresh:
        info, leaf = state.row(key), state.history.leaf_before(key, state.step.index)
        if info is not None and leaf is not None:
            yield info, leaf


def names_new_nodes(state: CaptionState) -> bool:
    """Whether :func:`made` begins with the names of nodes, as the end of ``y = a * b made …``."""
    return 0 < len(_new_nodes(state)) <= FEW


def _new_nodes(state: CaptionState) -> list[Node]:
    fresh = [key for key in state.fresh if key[0] == "n" and state.is_made(key)]
    nodes = [state.node_row(key) for key in fresh]
    return [node for node in nodes if node is not None and node.variable is None]


def of_events(events: Sequence[Event], state: CaptionState) -> Iterator[Sentence]:
    """One part of the sentence per event of a line."""
    yield from of_grad_mode(events)
    yield from rebound(state)
    yield from _unrecorded(events, state)
    yield from writes(events, state)
    for event in events:
        if isinstance(event, FlagChanged):
            yield say("{}.{} is now {}", state.tensor(event.tensor), event.flag, event.after)
        elif isinstance(event, HookChanged):
            yield _hook_changed(event, state)
        elif isinstance(event, OptimizerStepped):
            yield from _stepped(event, state)
        elif isinstance(event, ZeroedGrad):
            yield _zeroed(event, state)
        elif isinstance(event, Clipped):
            yield _clipped(event, state)
        elif isinstance(event, Note):
            yield Sentence(clean(event.text))
    yield from _died(events, state)


def assigned(events: Sequence[Event], state: CaptionState) -> Iterator[Sentence]:
    """Each ``.grad`` that has changed although nothing that is recorded has changed it."""
    told: set[str | None] = set()
    for event in events:
        if isinstance(event, Accumulated):
            told.add(event.tensor)
        elif isinstance(event, (ZeroedGrad, Clipped)):
            told.update(event.tensors)
        elif isinstance(event, Write):
            told.add(event.grad_of)
    for key in state.changed:
        was, now = state.row_before(key), state.row_now(key)
        if was is None or now is None or key in told or was.grad == now.grad:
            continue
        name, before = state.tensor(key), gradient(was.grad)
        yield say("{}.grad was {} and is {} now", name, before, gradient(now.grad))


def _hook_changed(event: HookChanged, state: CaptionState) -> Sentence:
    where = Sentence()
    if event.tensor:
        where = say(" on {}", state.tensor(event.tensor))
    elif event.node:
        where = say(" at {}", state.node(event.node))
    done = "registered" if event.registered else "removed"
    return say("{} is {}{}", formatting.hook(event.hook, 60), done, where)


def ran_backward(events: Sequence[Event], state: CaptionState) -> Iterator[Sentence]:
    """The result of a backward, for the line that called it."""
    ran = sum(isinstance(event, NodeRan) for event in events)
    ended = sum(event.nodes for event in events if isinstance(event, BackwardEnded))
    if not ran and not any(isinstance(event, BackwardEnded) for event in events):
        return
    yield Sentence(f"backward ran {formatting.plural(max(ran, ended), 'node')}")
    reached = dict.fromkeys(e.tensor for e in events if isinstance(e, Accumulated))
    # As they are now: a hook may have set what was accumulated to None.
    rows = [state.row(key) for key in reached if key is not None and state.is_alive(key)]
    grads = [
        say("{}.grad is {}", state.tensor(info.id), gradient(info.grad)) for info in rows if info
    ]
    if grads:
        yield listed(grads, MOST, ".grad")
    empty = sum(event.times for event in events if isinstance(event, Freed))
    if empty:
        their = "its" if empty == 1 else "their"
        yield Sentence(f"{formatting.plural(empty, 'node')} freed {their} saved tensors")


def raised(event: Raised, state: CaptionState) -> Sentence:
    """Which error, and at which node."""
    words = Sentence(clean(event.type))
    if state.node_row(event.node) is None:
        return words
    return say("{} while {} ran", words, state.node(event.node or ""))


def why_raised(event: Raised, state: CaptionState) -> Sentence:
    """The reason as the graph shows it; empty if it shows none."""
    node = state.node_row(event.node)
    if node is None:
        return Sentence()
    modified = next((slot for slot in node.saved if slot.state == "modified"), None)
    if modified is not None:
        by = state.writer(modified, node)
        more = (modified.current_version or 0) - (modified.saved_version or 0) > 1
        writer = say(": {} wrote it{}", by, " first" if more else "") if by else by
        now = formatting.at_version(modified.current_version)
        return say("it had saved {}, now {}{}", state.slot(modified), now, writer)
    if node.state == "freed" or any(slot.state == "freed" for slot in node.saved):
        freed_by = state.freed_by(node.id, event)
        if not freed_by:
            return Sentence("its saved tensors were freed")
        return say("{} freed its saved tensors", freed_by)
    return Sentence()


def _kept(node: Node) -> list[SavedTensor]:
    return [slot for slot in node.saved if slot.state in ("held", "modified", "packed")]


def _with_saved(node: Node, verb: str, state: CaptionState) -> Sentence:
    slots, words = _kept(node), state.node(node.id)
    return Sentence(words, verb, state.slots(slots)) if slots else words


def _result(nodes: list[Node], state: CaptionState) -> Sentence:
    """Which tensor is the output of many new nodes."""
    made = {node.id for node in nodes}
    rows = map(state.row, state.history.changed(state.step.index))
    infos = [info for info in rows if info and info.node in made and info.name]
    if not infos:
        return Sentence()
    last = min(infos, key=lambda info: number_of(info.id))
    return say("; {} is the output of {}", state.tensor(last.id), state.node(last.node or ""))


def _unrecorded(events: Sequence[Event], state: CaptionState) -> Iterator[Sentence]:
    """Operations that made no node although one could expect it, each reason once."""
    reasons: dict[str, list[Operation]] = {}
    for event in events:
        if isinstance(event, Operation) and event.reason and not event.recomputed:
            reasons.setdefault(event.reason, []).append(event)
    for reason, found in reasons.items():
        first, more = found[0], len(found) - 1
        others = f" and {formatting.plural(more, 'other call')}" if more else ""
        verb = "are" if more else "is"
        if reason == "inside vmap":
            if any(key.startswith("n") for key in state.history.changed(state.step.index)):
                continue  # vmap has returned: the nodes are there
            yield Sentence(
                f"what {clean(first.name)}{others} recorded is shown when vmap returns: "
                "inside it torch shows no node"
            )
        elif reason in ("no input requires grad", "unknown"):
            if len(reasons) == 1 and not state.fresh and not _writes(events):
                why = REASONS[reason].short if reason in REASONS else reason
                yield Sentence(f"{clean(first.name)}{others} {verb} not recorded: {why}")
        elif reason in CALLS_THAT_CUT:
            made = {operand.tensor for operand in first.outputs}
            read = [o.tensor for o in first.inputs if o.tensor not in made]
            source = next((say(" of {}", state.tensor(k)) for k in read if state.row(k)), "")
            words = f"{others} {verb} not recorded: {REASONS[reason].short}"
            yield Sentence(call_words(first), source, words)


def _writes(events: Sequence[Event]) -> bool:
    return any(isinstance(event, (Write, Clipped)) for event in events)


def _stepped(event: OptimizerStepped, state: CaptionState) -> Iterator[Sentence]:
    name = f"{clean(event.name)}.step()"
    updated = listed([state.tensor(key) for key in event.updated], MOST)
    yield say("{} updated {}", name, updated or "no parameter")
    if event.skipped:
        names = listed([state.tensor(key) for key in event.skipped], MOST)
        yield say("it skipped {}, whose .grad is None", names)


def _grads(tensors: Iterable[str], state: CaptionState) -> Sentence:
    return listed([say("{}.grad", state.tensor(key)) for key in tensors], MOST)


def _zeroed(event: ZeroedGrad, state: CaptionState) -> Sentence:
    call, names = f"{clean(event.name)}.zero_grad()", _grads(event.tensors, state)
    if not names:
        return Sentence(call, " changed no .grad")
    if event.set_to_none:
        return say("{} set {} to None", call, names)
    return say("{} filled {} with 0", call, names)


def _clipped(event: Clipped, state: CaptionState) -> Sentence:
    name = clean(event.name)
    found = _grads((key for key in event.tensors if key not in event.without), state)
    verb = "is" if len(event.without) == 1 else "are"
    empty = say("{} {} None", _grads(event.without, state), verb) if event.without else ""
    if found:
        return Sentence(f"{name} ran on ", found, "; " if empty else "", empty)
    return Sentence(f"{name} clipped nothing", ": " if empty else "", empty)


def _died(events: Sequence[Event], state: CaptionState) -> Iterator[Sentence]:
    dead, unseen = [event for event in events if isinstance(event, Died)], state.unseen
    gone = [key for event in dead for key in event.tensors if key not in unseen]
    tensors = [info for info in map(state.row, gone) if info]
    named = [state.tensor(info.id) for info in tensors if info.name]
    gone = [key for event in dead for key in event.nodes if key not in unseen]
    nodes = [node for node in map(state.node_row, gone) if node]
    inner = [node for node in nodes if node.variable is None]
    if named:
        verb = "exists" if len(named) == 1 else "exist"
        yield say("{} no longer {}", listed(named, MOST), verb)
    if inner:
        verb = "exists" if len(inner) == 1 else "exist"
        yield say("{} no longer {}", _counted(inner, state), verb)


def _counted(nodes: Sequence[Node], state: CaptionState) -> Sentence:
    """Nodes by name, those with the same name as a count: ``3 AddBackward0``."""
    names: dict[str, list[Node]] = {}
    for node in nodes:
        names.setdefault(node.name, []).append(node)
    words = [
        state.node(same[0].id) if len(same) == 1 else Sentence(f"{len(same)} {clean(name)}")
        for name, same in names.items()
    ]
    return listed(words, MOST, "name")
