"""What happened inside backward, in one sentence: which gradient came, and where it went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradviz.model.arrivals import Arrival, arrivals
from gradviz.model.events import (
    Accumulated,
    BackwardStarted,
    Event,
    Freed,
    HookFired,
    NodeRan,
    NodeReady,
)
from gradviz.model.ids import number_of
from gradviz.model.records import Node, SavedTensor
from gradviz.model.sentence import Sentence, listed
from gradviz.view import formatting
from gradviz.view.captions.calculation import calculation, only_moves
from gradviz.view.captions.catalogue import sentence
from gradviz.view.captions.details import events_at_node
from gradviz.view.captions.formulas import condition, formula, passes
from gradviz.view.captions.rows import CELL, NUMBERS, Row, few_numbers, row, summary_cells
from gradviz.view.captions.sums import accumulated_sum, added
from gradviz.view.captions.told import Said, Told, output, output_rows
from gradviz.view.text import cells, clean


class ToldInBackward(Told):
    """A step of a backward in few words."""

    def said(self) -> Said | None:
        """What happened; ``None`` if nothing of backward did."""
        step = self.step
        if step.kind == "node":
            return self._node(events_at_node(self.state))
        if step.kind == "saved":
            return self._receives(events_at_node(self.state))
        for event in step.events if step.level else ():
            if isinstance(event, BackwardStarted):
                return self._starts(event)
            if isinstance(event, Accumulated):
                return self._accumulates(event)
            if isinstance(event, HookFired):
                return self._hook(event)
            if isinstance(event, Freed):
                names = [clean(name) for name in event.slots]
                return sentence("frees", names=names), [row("", formatting.size(event.nbytes))]
        return None

    def _starts(self, event: BackwardStarted) -> Said:
        state, names = self.state, list[Sentence]()
        for root in event.roots:
            info = output(root, state)
            is_named = info is not None and info.name
            names.append(
                self.tensor(info.id)
                if info is not None and is_named
                else self.names.of_nodes([root[0]], self.step.index)[0]
            )
        rows = [*output_rows(event, state)]
        if not names:
            return sentence("nothing"), rows
        given = [*event.gradients, *[None] * len(names)][: len(names)]
        values = [
            "1.0" if one is None else few_numbers(one) or formatting.shape(one.shape)
            for one in given
        ]
        return sentence("starts", names=names, values=values), rows

    def _node(self, events: Sequence[Event]) -> Said:
        key = self.step.node or ""
        for event in events:
            if isinstance(event, Accumulated) and event.node == key and not event.retained:
                words, rows = self._accumulates(event)
                ran = next((e for e in events if isinstance(e, NodeRan) and e.node == key), None)
                came = [] if ran is None else [*self._arrived(ran)]
                is_sum = ran is not None and len(self._arrivals(ran, 0)) > 1
                return words, [*(came if is_sum else []), *rows]
        ran = next((e for e in events if isinstance(e, NodeRan) and e.node == key), None)
        node = self.state.node_row(key)
        if ran is None or node is None:
            return sentence("receives", count=1), []
        rows = [*self._arrived(ran)]
        hooks = [event.hook for event in events if isinstance(event, HookFired)]
        rows += [row("runs", formatting.hook(one, CELL)) for one in hooks]
        if self._is_within(ran, node):
            return sentence("within", name=self.names.title(key)), rows
        sent = [*self._sent(ran, node)]
        rows += [row("sends", *cells) for _, cells in sent]
        freed = [e for e in events if isinstance(e, Freed) and e.node == key]
        if freed:
            slots = [self._slot(ran.used, name) for event in freed for name in event.slots]
            rows.append(row("frees", listed(slots, NUMBERS)))
        targets = [target for target, _ in sent]
        if not targets:
            return sentence("withholds"), rows
        return self._sends(ran, node, targets), rows

    def _arrivals(self, ran: NodeRan, place: int) -> tuple[Arrival, ...]:
        return arrivals(self.state.history, ran.backward, ran.node, place)

    def _arrived(self, ran: NodeRan) -> Iterator[Row]:
        """The gradients that a node got, and how those were added that met."""
        for place, total in enumerate(ran.grad_outputs):
            several = self._arrivals(ran, place)
            words = added([one.gradient for one in several], total) if len(several) > 1 else ""
            if words and cells(words) <= CELL:
                yield row("arrives", "grad", "", words)
                continue
            yield row("arrives", "grad", *summary_cells(total))
            if len(several) > 1:
                yield row("", f"the sum of {len(several)}")

    def _is_within(self, ran: NodeRan, node: Node) -> bool:
        """Whether what a node sends goes to others in its box, and another one names the box."""
        own, pairs = self.names.head(node.id), zip(node.next_functions, ran.grad_inputs)
        targets = [entry[0] for entry, result in pairs if entry and result is not None]
        is_inside = bool(targets) and all(self.names.head(key) == own for key in targets)
        return is_inside and (node.id != own or not all(map(self._is_view, targets)))

    def _is_view(self, key: str) -> bool:
        """Whether a node sends on the numbers that it gets."""
        node = self.state.node_row(key)
        trees = (
            []
            if node is None
            else [
                self.names.derivative(node, place)
                for place, entry in enumerate(node.next_functions)
                if entry is not None
            ]
        )
        return all(tree is not None and (passes(tree) or only_moves(tree)) for tree in trees)

    def _sends(self, ran: NodeRan, node: Node, targets: Sequence[str]) -> Sentence:
        """The sentence for where the gradients of a node go."""
        names = self.names.of_nodes(targets, self.step.index, self.path)
        places = [
            p
            for p, (_, result) in enumerate(zip(node.next_functions, ran.grad_inputs))
            if result is not None and node.next_functions[p] is not None
        ]
        trees = [self.names.derivative(node, place) for place in places]
        sent = [ran.grad_inputs[place] for place in places]
        if trees and all(map(passes, trees)) and all(one in ran.grad_outputs for one in sent):
            return sentence("passes", names=names)
        if len(trees) == 1 and trees[0] is not None and only_moves(trees[0]):
            return sentence("moves", names=names)
        if len(trees) == 1 and (where := condition(trees[0])):
            return sentence("where", names=names, condition=where)
        return sentence("sends", names=names, count=len(names))

    def _sent(self, ran: NodeRan, node: Node) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Where each gradient goes, with its shape, and how it is computed or its numbers."""
        targets = sorted(self.names.targets(node.id, self.step.index), key=self._data_first)
        for place, target in targets:
            result = ran.grad_inputs[place] if place < len(ran.grad_inputs) else None
            if result is None:
                continue
            name = self.names.of_nodes([target], self.step.index, self.path)[0]
            tree, entry = self.names.derivative(node, place), node.next_functions[place]
            is_direct = entry is not None and entry[0] == target
            worked = calculation(tree, ran, result, self.state) if is_direct else None
            if worked and cells(worked) <= CELL:
                yield target, (name, "", worked)
                continue
            found = self.state.node_row(target)
            size = found.output_shapes if found is not None else ()
            sizes = formatting.shape(size[0]) if len(size) == 1 and size[0] is not None else ""
            shape, number = summary_cells(result)
            words = formula(node, place, ran.used, target, self.names, self.state)
            if is_direct:
                yield target, (name, shape, words or number)
            else:  # the number went to a node inside the box
                yield target, (name, sizes, words)

    def _data_first(self, found: tuple[int, str]) -> tuple[bool, int]:
        """The way of the data before the parameters, which are in the order in which a module has
        them."""
        node = self.state.node_row(found[1])
        variable = None if node is None else node.variable
        return variable is not None, found[0] if variable is None else number_of(variable)

    def _slot(self, slots: Sequence[SavedTensor], name: str) -> Sentence:
        """A saved tensor by its name, else by that of the argument."""
        slot = next((one for one in slots if one.name == name), None)
        known = None if slot is None else slot.tensor or slot.view_of
        info = self.state.row(known)
        return self.tensor(info.id) if info is not None and info.name else Sentence(clean(name))

    def _receives(self, events: Sequence[Event]) -> Said:
        key = self.step.node or ""
        ready = next((e for e in events if isinstance(e, NodeReady) and e.node == key), None)
        came = ready.grad_outputs if ready is not None else ()
        rows = [row("arrives", "grad", *summary_cells(one)) for one in came]
        node = self.state.node_row(key)
        slots = [slot for slot in node.saved if slot.state != "none"] if node else []
        for label, is_freed in (("reads", False), ("already", True)):
            found = [s.name for s in slots if (s.state == "freed") is is_freed]
            names = [self._slot(slots, name) for name in found]
            if names:
                rows.append(row(label, listed(names, NUMBERS)))
        if came and not any(came):
            return sentence("nothing"), [row("arrives", "no gradient")]
        return sentence("receives", count=max(1, len(came))), rows

    def _accumulates(self, event: Accumulated) -> Said:
        key = event.tensor
        if event.after is None and event.before is None:
            return sentence("nothing"), [row("arrives", "no gradient")]
        name = self.tensor(key) if key is not None else Sentence("a tensor")
        before, after = few_numbers(event.before), few_numbers(event.after)
        total = accumulated_sum(event)
        total = total if cells(total) <= CELL else ""
        if before and after and event.after is not None:  # the sentence has the numbers
            rows = [row("adds", total)] if total else []
            return sentence("becomes", name=name, before=before, after=after), rows
        rows = [row("was", *summary_cells(event.before))]
        if event.before is not None and event.gradient is not None:
            rows.append(row("adds", *summary_cells(event.gradient)))
        rows.append(row("is", total) if total else row("is", *summary_cells(event.after)))
        return sentence("adds", name=name), rows

    def _hook(self, event: HookFired) -> Said:
        hook = formatting.hook(event.hook, 40)
        is_new = event.returned is not None
        rows = [row("is", "grad", *summary_cells(event.returned))] if is_new else []
        return sentence("hook runs", hook=hook), rows
