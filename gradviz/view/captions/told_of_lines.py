"""What a line of code did, in one sentence: what says most first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gradviz.model.cut_reasons import CALLS_THAT_CUT
from gradviz.model.events import (
    Accumulated,
    BackwardEnded,
    Clipped,
    Event,
    FlagChanged,
    GradModeChanged,
    HookChanged,
    LoopVariable,
    Note,
    Operation,
    OptimizerStepped,
    Raised,
    Write,
    ZeroedGrad,
)
from gradviz.model.records import Node
from gradviz.model.sentence import Sentence, listed, say
from gradviz.view import formatting
from gradviz.view.captions.catalogue import sentence
from gradviz.view.captions.rows import CELL, NUMBERS, Row, row, summary_cells, value_words
from gradviz.view.captions.told import Said, Told
from gradviz.view.text import cells, clean

CUTS: Final = CALLS_THAT_CUT - {"custom Function"}
"""Why a call is not recorded, where that cuts the graph."""


class ToldOfLine(Told):
    """A line in few words."""

    def said(self, events: Sequence[Event]) -> Said:
        """The first of what a line did that counts, and what it made."""
        found = next(self._did(events), None)
        if found is None:
            return sentence("nothing"), []
        return found

    def _did(self, events: Sequence[Event]) -> Iterator[Said]:
        """What a line did, what says most first."""
        for event in events:
            if isinstance(event, Raised):
                yield sentence("raises", error=clean(event.type)), []
        yield from self._turn(events)
        yield from self._writes(events)
        yield from self._stepped(events)
        if ended := [event for event in events if isinstance(event, BackwardEnded)]:
            rows = [*self._grads(events), *self.tensors(self._fresh_results())]
            yield sentence("backward", count=sum(event.nodes for event in ended)), rows
        yield from self._gradients(events)
        yield from self._rebound()
        if nodes := self._new_nodes():
            names = self._boxes_of(nodes)
            rows = [*self._made(nodes), *(row("cuts", name) for name in self._cut_from(events))]
            yield sentence("nodes", names=names, count=len(nodes)), rows
        yield from self._cuts(events)
        yield from self._new_tensors()
        yield from self._changes(events)
        for event in events:
            if isinstance(event, Write):
                yield sentence("changes", name=clean(event.name)), []
        if gone := self._gone():
            yield sentence("gone", what=gone), []
        for event in events:
            if isinstance(event, Note) and event.about == "calls a function":
                yield sentence("calls", name=clean(event.text.removeprefix("the line calls "))), []

    def _turn(self, events: Sequence[Event]) -> Iterator[Said]:
        head = self.state.history.recording.heads.get(self.step.index)
        if head is None:
            return
        bound = [e for e in events if isinstance(e, LoopVariable) and e.name.strip("_")]
        rows = [self._bound(event) for event in bound]
        if head.role == "turn" and head.number is not None:
            number = f"{head.number} of {head.count}" if head.count else f"{head.number}"
            yield sentence("turn", number=number), rows
        elif head.role == "loop ended" and head.number is not None:
            yield sentence("loop ends", count=head.number), []

    def _bound(self, event: LoopVariable) -> Row:
        value, info = event.value, self.state.row(event.value.tensor)
        words = clean(value.text) if value.shape is None else formatting.shape(value.shape)
        return row("", clean(event.name), words if info is None else value_words(info))

    def _writes(self, events: Sequence[Event]) -> Iterator[Said]:
        """What a write changed that was there before, and that a person has named."""
        state = self.state
        steppers = (OptimizerStepped, ZeroedGrad, Clipped)
        if any(isinstance(event, steppers) for event in events):
            return
        fresh = set(state.fresh)
        for event in events:
            if not isinstance(event, Write) or event.buffer_of is not None or event.grad_of:
                continue
            there = [key for key in event.tensors if state.row(key) and key not in fresh]
            named = [key for key in there if (info := state.row(key)) and info.name]
            own = [key for key in named if (info := state.row(key)) and info.name == event.name]
            known = next(iter((*own, *named)), None)
            if known is None:
                continue
            name, rows = self.tensor(known), [*self._values(known)]
            if nodes := self._new_nodes():
                rows.append(row("makes", listed(self._boxes_of(nodes), NUMBERS)))
            savers = [key for key in state.changed if self._has_changed_save(key, event)]
            if savers and not fresh.intersection(savers):
                node = self.names.title(savers[0])
                yield sentence("in place, saved", name=name, node=node), rows
            elif any(map(self._is_unseen, named)):
                yield sentence("in place, unseen", name=name), rows
            elif event.agent == "assignment":
                yield sentence("changes", name=name), rows
            else:
                yield sentence("in place", name=name), rows

    def _is_unseen(self, key: str) -> bool:
        """Whether the line has left the version of a tensor as it was."""
        was, now = self.state.row_before(key), self.state.row_now(key)
        return was is not None and now is not None and was.version == now.version is not None

    def _has_changed_save(self, key: str, event: Write) -> bool:
        node = self.state.node_row(key)
        slots = node.saved if node is not None else ()
        known = set(event.tensors)
        return any(s.state == "modified" and {s.tensor, s.view_of} & known for s in slots)

    def _values(self, key: str) -> Iterator[Row]:
        """What was there before the line and is there now."""
        was, now = self.state.row_before(key), self.state.row_now(key)
        if was is None or now is None or None in (was.values, now.values):
            return
        if was.values != now.values:
            yield row("was", value_words(was))
            yield row("is", value_words(now))

    def _stepped(self, events: Sequence[Event]) -> Iterator[Said]:
        """What optimizers did, where they changed something."""
        stepped = [event for event in events if isinstance(event, OptimizerStepped)]
        keys = list(dict.fromkeys(key for event in stepped for key in event.updated))
        skipped = list(dict.fromkeys(key for event in stepped for key in event.skipped))
        rows = [*self._updated(keys)]
        if skipped:
            names = listed([self.tensor(key) for key in skipped], NUMBERS)
            rows.append(row("skips", names, "without .grad"))
        if stepped:
            form = sentence("step", count=len(keys)) if keys else sentence("nothing")
            yield form, rows

    def _gradients(self, events: Sequence[Event]) -> Iterator[Said]:
        """What set, filled or clipped gradients."""
        for event in events:
            if isinstance(event, ZeroedGrad) and event.tensors:
                form = "none" if event.set_to_none else "zero"
                yield sentence(form, count=len(event.tensors)), []
            elif isinstance(event, Clipped) and not event.only_measures:
                keys = [key for key in event.tensors if key not in event.without]
                if changed := [key for key in keys if self._has_other_grad(key)]:
                    yield sentence("clips", count=len(changed)), [*self._clipped(changed)]

    def _has_other_grad(self, key: str) -> bool:
        was, now = self.state.row_before(key), self.state.row_now(key)
        return was is not None and now is not None and was.grad != now.grad

    def _clipped(self, keys: Iterable[str]) -> Iterator[Row]:
        """Gradients before and after they were clipped."""
        for key in keys:
            was, now = self.state.row_before(key), self.state.row_now(key)
            if was is not None and now is not None:
                numbers = [summary_cells(one.grad)[-1] for one in (was, now)]
                yield row("", say("{}.grad", self.tensor(key)), " → ".join(filter(None, numbers)))

    def _updated(self, keys: Sequence[str]) -> Iterator[Row]:
        """Parameters before and after a step of the optimizer where that is few numbers; others are
        counted."""
        shown = 0
        for key in keys:
            was, now = self.state.row_before(key), self.state.row_now(key)
            if was is None or now is None or not was.values or not now.values:
                continue
            both = [formatting.nested(one.values or (), one.shape) for one in (was, now)]
            if cells(words := " → ".join(both)) <= CELL:
                shown += 1
                yield row("", self.tensor(key), words)
        if 0 < shown < len(keys):
            yield row("", f"and {len(keys) - shown} more")

    def _boxes_of(self, nodes: Iterable[Node]) -> list[Sentence]:
        """What nodes are called on cards, in the order of the forward."""
        order = sorted(nodes, key=lambda node: self.names.order.get(node.id, 0))
        return self.names.of_nodes([node.id for node in order], self.step.index)

    def _new_nodes(self) -> list[Node]:
        """New nodes, without those of leaves."""
        fresh = [key for key in self.state.fresh if key[0] == "n" and self.state.is_made(key)]
        nodes = (self.state.node_row(key) for key in fresh)
        return [node for node in nodes if node is not None and node.variable is None]

    def _fresh_results(self) -> list[str]:
        """New tensors that have a name."""
        return [key for key in self.state.fresh if key[0] == "t" and self.state.is_made(key)]

    def _made(self, nodes: Sequence[Node]) -> Iterator[Row]:
        """The results that have a name, and what is saved."""
        made = {node.id for node in nodes}
        rows = map(self.state.row, self.state.history.changed(self.step.index))
        for info in [info for info in rows if info and info.node in made and info.name]:
            yield row("", self.tensor(info.id), value_words(info))
        for label, states in (("saves", ("held", "modified")), ("packs", ("packed",))):
            count = sum(slot.state in states for node in nodes for slot in node.saved)
            if count:
                yield row(label, formatting.plural(count, "tensor"))

    def _cut_from(self, events: Iterable[Event]) -> Iterator[Sentence]:
        """What calls that cut the graph were given."""
        for event in events:
            if isinstance(event, Operation) and event.reason in CUTS and not event.recomputed:
                keys = [operand.tensor for operand in event.inputs if operand.tensor]
                for key in dict.fromkeys(keys):
                    info = self.state.row(key)
                    if info is not None and info.requires_grad and info.name:
                        yield self.tensor(key)

    def _cuts(self, events: Sequence[Event]) -> Iterator[Said]:
        for event in events:
            if isinstance(event, Operation) and event.reason in CUTS:
                read = {operand.tensor for operand in event.inputs}
                made = (self.state.row(o.tensor) for o in event.outputs if o.tensor not in read)
                cut = next((info for info in made if info and not info.requires_grad), None)
                if cut is not None and not event.recomputed:
                    yield sentence("cut", name=self.tensor(cut.id)), []

    def _rebound(self) -> Iterator[Said]:
        """Names of leaves that a result has by now."""
        for key in self.state.fresh:
            info, leaf = self.state.row(key), self.state.history.leaf_before(key, self.step.index)
            if info is not None and leaf is not None and info.requires_grad:
                rows = [row("", self.tensor(key), value_words(info))]
                yield sentence("rebound", name=self.tensor(key)), rows

    def _new_tensors(self) -> Iterator[Said]:
        state = self.state
        infos = [row for key in state.fresh if key[0] == "t" and (row := state.row(key))]
        leaves = [info for info in infos if info.is_leaf and info.name]
        for form, requires in (("leaves", True), ("constants", False)):
            keys = [info.id for info in leaves if info.requires_grad is requires]
            if keys:
                names = [self.tensor(key) for key in keys]
                yield sentence(form, names=names, count=len(keys)), [*self.tensors(keys)]

    def tensors(self, keys: Iterable[str]) -> Iterator[Row]:
        """Tensors that have a name, with their numbers."""
        for info in (self.state.row(key) for key in keys if key[0] == "t"):
            if info is not None and info.name:
                yield row("", self.tensor(info.id), value_words(info))

    def _changes(self, events: Sequence[Event]) -> Iterator[Said]:
        for event in events:
            if isinstance(event, HookChanged):
                hook = formatting.hook(event.hook, 40)
                yield sentence("hook added" if event.registered else "hook removed", hook=hook), []
        flags = [event for event in events if isinstance(event, FlagChanged)]
        if flags:
            names = [say("{}.{}", self.tensor(event.tensor), event.flag) for event in flags]
            rows = [row("was", str(flags[0].before)), row("is", str(flags[0].after))]
            yield sentence("changes", name=names), rows
        modes = [event for event in events if isinstance(event, GradModeChanged)]
        if modes:
            yield sentence("mode on" if modes[-1].after == "on" else "mode off"), []
        buffers = [e for e in events if isinstance(e, Write) and e.buffer_of is not None]
        if buffers:
            short = list(dict.fromkeys(clean(e.name.rpartition(".")[2]) for e in buffers))
            yield sentence("buffers", names=short, module=clean(buffers[0].buffer_of or "")), []
        for key in self.state.changed:
            was, now = self.state.row_before(key), self.state.row_now(key)
            if was is not None and now is not None and was.grad != now.grad:
                rows = [row("was", *summary_cells(was.grad)), row("is", *summary_cells(now.grad))]
                yield sentence("changes", name=say("{}.grad", self.tensor(key))), rows

    def _gone(self) -> Sentence:
        """Nodes that do not exist any more, without those of leaves; else tensors."""
        changes, was = self.step.record.changes, self.step.index - 1
        history = self.state.history
        rows = (history.node_at(key, was) for key, node in changes.nodes if node is None)
        count = sum(node is not None and node.variable is None for node in rows)
        if count:
            return Sentence(formatting.plural(count, "node"))
        keys = [key for key, info in changes.tensors if info is None]
        named = [key for key in keys if (info := history.tensor_at(key, was)) and info.name]
        return listed([self.tensor(key) for key in named], NUMBERS)

    def _grads(self, events: Sequence[Event]) -> Iterator[Row]:
        """What the backward of a line left in each ``.grad``."""
        last = {e.tensor: e for e in events if isinstance(e, Accumulated) and e.after is not None}
        for key, event in last.items():
            if key is not None and self.state.row(key) is not None:
                shape, number = summary_cells(event.after)
                yield row("gets", say("{}.grad", self.tensor(key)), number or shape)
