"""What a line of code did, in one sentence: what says most first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

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
    Operation,
    OptimizerStepped,
    Raised,
    Write,
    ZeroedGrad,
)
from gradviz.model.records import Node
from gradviz.model.sentence import listed, say
from gradviz.view import formatting
from gradviz.view.captions.catalogue import sentence
from gradviz.view.captions.rows import CELL, NUMBERS, Row, row, summary_cells, value_words
from gradviz.view.captions.told import Said, Told
from gradviz.view.text import cells, clean


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
        if ended := [event for event in events if isinstance(event, BackwardEnded)]:
            reached = dict.fromkeys(e.tensor for e in events if isinstance(e, Accumulated))
            count = sum(event.nodes for event in ended)
            yield sentence("backward", count=count), [*self._grads(filter(None, reached))]
        yield from self._training(events)
        if nodes := self._new_nodes():
            inner = [node for node in nodes if node.variable is None] or nodes
            order = self._in_order(inner)
            names = self.names.of_nodes([node.id for node in order], self.step.index)
            yield sentence("nodes", names=names, count=len(nodes)), [*self._made(inner)]
        yield from self._cuts(events)
        yield from self._new_tensors()
        yield from self._changes(events)
        if count := sum(not key.startswith("t") for key in self._gone()):
            yield sentence("gone", count=count), []
        for event in events:
            is_cut = isinstance(event, Operation) and event.reason in CALLS_THAT_CUT
            if isinstance(event, Operation) and is_cut and not event.recomputed:
                yield sentence("not recorded", name=clean(event.name)), []

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
            known = next((k for k in there if (r := state.row(k)) and r.name), None)
            if known is None:
                continue
            name, rows = self.tensor(known), [*self._values(known)]
            savers = [key for key in state.changed if self._has_changed_save(key, event)]
            if savers and not fresh.intersection(savers):
                node = self.names.title(savers[0])
                yield sentence("in place, saved", name=name, node=node), rows
            elif self._is_unseen(known):
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

    def _training(self, events: Sequence[Event]) -> Iterator[Said]:
        for event in events:
            if isinstance(event, OptimizerStepped):
                rows = [*self._updated(event.updated)]
                if event.skipped:
                    names = listed([self.tensor(key) for key in event.skipped], NUMBERS)
                    rows.append(row("none", names, ".grad is None"))
                count = len(event.updated)
                yield (sentence("step", count=count) if count else sentence("nothing")), rows
            elif isinstance(event, ZeroedGrad) and event.tensors:
                form = "none" if event.set_to_none else "zero"
                yield sentence(form, count=len(event.tensors)), []
            elif isinstance(event, Clipped) and not event.only_measures:
                count = len(set(event.tensors) - set(event.without))
                yield sentence("clips", count=count), []

    def _updated(self, keys: Iterable[str]) -> Iterator[Row]:
        """Parameters before and after a step of the optimizer, where that is few numbers."""
        for key in keys:
            was, now = self.state.row_before(key), self.state.row_now(key)
            if was is None or now is None or None in (was.values, now.values):
                continue
            both = [formatting.nested(one.values or (), one.shape) for one in (was, now)]
            if cells(words := " → ".join(both)) <= CELL:
                yield row("", self.tensor(key), words)

    def _new_nodes(self) -> list[Node]:
        fresh = [key for key in self.state.fresh if key[0] == "n" and self.state.is_made(key)]
        return [node for node in map(self.state.node_row, fresh) if node is not None]

    def _in_order(self, nodes: Iterable[Node]) -> list[Node]:
        """Nodes in the order of the forward."""
        return sorted(nodes, key=lambda node: self.names.order.get(node.id, 0))

    def _made(self, nodes: Sequence[Node]) -> Iterator[Row]:
        """The results that have a name, and what is saved."""
        made = {node.id for node in nodes}
        rows = map(self.state.row, self.state.history.changed(self.step.index))
        for info in [info for info in rows if info and info.node in made and info.name][:2]:
            yield row("", self.tensor(info.id), value_words(info))
        count = sum(slot.state != "none" for node in nodes for slot in node.saved)
        if count:
            yield row("saves", formatting.plural(count, "tensor"))

    def _cuts(self, events: Sequence[Event]) -> Iterator[Said]:
        for event in events:
            if isinstance(event, Operation) and event.reason in CALLS_THAT_CUT:
                read = {operand.tensor for operand in event.inputs}
                made = (self.state.row(o.tensor) for o in event.outputs if o.tensor not in read)
                cut = next((info for info in made if info and not info.requires_grad), None)
                if cut is not None and not event.recomputed:
                    yield sentence("cut", name=self.tensor(cut.id)), []

    def _new_tensors(self) -> Iterator[Said]:
        state = self.state
        infos = [row for key in state.fresh if key[0] == "t" and (row := state.row(key))]
        leaves = [info for info in infos if info.is_leaf and info.name]
        for info in infos:
            leaf = state.history.leaf_before(info.id, self.step.index)
            if leaf is not None and info.requires_grad:
                yield sentence("rebound", name=self.tensor(info.id)), []
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
            elif isinstance(event, FlagChanged):
                name = say("{}.{}", self.tensor(event.tensor), event.flag)
                rows = [row("was", str(event.before)), row("is", str(event.after))]
                yield sentence("changes", name=name), rows
        modes = [event for event in events if isinstance(event, GradModeChanged)]
        if modes:
            yield sentence("mode on" if modes[-1].after == "on" else "mode off"), []
        buffers = [e for e in events if isinstance(e, Write) and e.buffer_of is not None]
        if buffers:
            names = list(dict.fromkeys(clean(e.name.rpartition(".")[2]) for e in buffers))
            yield sentence("buffers", names=names, module=clean(buffers[0].buffer_of or "")), []
        for key in self.state.changed:
            was, now = self.state.row_before(key), self.state.row_now(key)
            if was is not None and now is not None and was.grad != now.grad:
                rows = [row("was", *summary_cells(was.grad)), row("is", *summary_cells(now.grad))]
                yield sentence("changes", name=say("{}.grad", self.tensor(key))), rows

    def _gone(self) -> list[str]:
        changes, before = self.step.record.changes, self.step.index - 1
        was = self.state.history.node_at
        return [k for k, node in changes.nodes if node is None and was(k, before) is not None]

    def _grads(self, keys: Iterable[str]) -> Iterator[Row]:
        rows = [self.state.row(key) for key in keys if self.state.is_alive(key)]
        for info in filter(None, rows):
            shape, number = summary_cells(info.grad)
            yield row("gets", say("{}.grad", self.tensor(info.id)), number or shape)
