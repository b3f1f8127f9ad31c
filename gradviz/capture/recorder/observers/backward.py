"""Follows backward node by node.

Every node that may run gets a hook before and one after, which hold a number and nothing else;
they are taken away before backward returns. Hooks return None, look at gradients without keeping
them, and leave freeing as it is (F5.04).
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch

from gradviz.capture import autograd
from gradviz.capture.autograd import BackwardCall
from gradviz.capture.deep_graphs import make_safe_to_free
from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.counted_events import CountedEvents
from gradviz.capture.recorder.function_mode import CallMode
from gradviz.capture.recorder.gradient_values import GradientValues
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.live_graph import LiveGraph
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.own_nodes import Begun, OwnNodes
from gradviz.capture.recorder.positions import Positions
from gradviz.capture.recorder.signals import arrived, at_work, send_again
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.capture.recorder.tracers.tracer import Tracer
from gradviz.capture.traversal import walk
from gradviz.capture.user_code import runs_user_code
from gradviz.model import GraphBusyError, Hook, Node, SavedTensor, ValueSummary
from gradviz.model.events import (
    Accumulated,
    BackwardEnded,
    BackwardStarted,
    Died,
    Freed,
    HookFired,
    NodeRan,
    NodeReady,
    NodesRan,
    Note,
)
from gradviz.model.formatting import plural
from gradviz.model.ids import number_of
from gradviz.model.recording import StepKind
from gradviz.model.records import NodeState, without_tensor

_PER_NODE: Final = 16
"""What a node that runs takes of the budget of a recording, sub-steps, events and rows."""
_ENDS: Final = 5
"""Of a backward that does not fit, the nodes at each end that are followed would fit so often."""
_MOST_EVENTS: Final = 1_000
"""Events inside of a backward after which those so far are written as a step."""


@dataclass
class _Backward:
    """A backward that runs."""

    number: int
    nodes: dict[str, Any] = field(default_factory=dict)
    """Nodes that may run and have hooks, by id."""
    ran: int = 0
    """How many have run."""
    count: int = 0
    """How many it comes to."""
    most: int = 0
    """How many of the first and of the last are followed; of the others, only the order is
    noted, and what leaves accumulate."""
    order: list[int] = field(default_factory=list)
    """Numbers of those others that ran since the last step was written."""
    freed: CountedEvents = field(default_factory=CountedEvents)
    """What these have freed."""
    begun: Begun | None = None
    """When it began, if the nodes that it makes are followed."""
    unread: dict[str, None] = field(default_factory=dict)
    """All of those others that ran."""
    handles: dict[str, list[Any]] = field(default_factory=dict)
    """Hooks by node."""
    withholding: set[str] = field(default_factory=set)
    """Custom Functions that handed on ``None`` for an input that requires grad."""

    @property
    def is_long(self) -> bool:
        """Whether not all nodes are followed."""
        return self.count > 2 * self.most

    @property
    def is_followed(self) -> bool:
        """Whether the node that runs next is."""
        return self.ran < self.most or self.ran >= self.count - self.most


@dataclass
class _Open:
    """A node that is being run."""

    key: str
    backward: _Backward
    ready: NodeReady
    since: float
    grad_inputs: tuple[ValueSummary | None, ...] = ()
    grad: ValueSummary | None = None
    """``.grad`` of the leaf before."""
    first_number: int = 0
    """Sequence number that the thread which runs it would give a new node."""
    has_run: bool = False
    has_accumulated: bool = False
    is_counted: bool = False
    """Whether it has no step of its own."""
    seconds: float | None = None


class BackwardEvents(Observer):
    """Observes the backwards of a recording.

    Args:
        live_graph: Rows of the graph.
        writer: Where steps are written.
        lines: Knows which line of the user's code runs.
        positions: Which expression calls a backward.
        graph_reading: Reads the state again if torch was called since it was read.
        mode: Is on while a backward runs.
        tracer: Rests while hooks of this class run.
        observer: Notified of a bug in this class.
        own_nodes: Learns which nodes a backward has made.
        values: Whether numbers are read.
    """

    def __init__(
        self,
        live_graph: LiveGraph,
        writer: StepWriter,
        lines: LineEvents,
        positions: Positions,
        graph_reading: GraphReading,
        mode: CallMode,
        tracer: Tracer,
        observer: Observer,
        own_nodes: OwnNodes,
        values: bool,
    ) -> None:
        self._live_graph = live_graph
        self._writer = writer
        self._lines = lines
        self._own_nodes = own_nodes
        self._positions = positions
        self._graph_reading = graph_reading
        self._mode = mode
        self._tracer = tracer
        self._observer = observer
        self._numbers = GradientValues(values)
        self._count = 0
        self._running: dict[int, _Backward] = {}
        """Backwards that run, by number; several where one runs inside another."""
        self._open: dict[int, list[_Open]] = {}
        """Nodes being run, by thread; several where a backward runs inside another."""
        self.failure: tuple[str | None, int | None, tuple[bool, ...]] = (None, None, ())
        """Node that was running, number of the backward, and which arguments of the node's forward
        need a gradient, when the last backward raised."""

    def line_ended(self, error: Any, value: Any) -> None:
        """An error of a later line is not this backward's."""
        self.failure = (None, None, ())

    # ---------------------------------------------------------------- running

    @property
    def is_running(self) -> bool:
        """Whether a backward of this recording runs."""
        return bool(self._running)

    @runs_user_code
    def run(self, run: Callable[[], Any], call: BackwardCall) -> Any:
        """Run a backward under observation; its hooks are part of the line that called it."""
        self._count += 1
        backward = _Backward(self._count)
        laid = ExitStack()
        raised = True
        try:
            with at_work:
                laid.enter_context(autograd.mode_on(self._mode))
                self._prepare(call, backward, laid)
            [*map(send_again, arrived())]
            result = run()
            raised = False
            return result
        finally:
            try:
                with at_work:
                    self._clean_up(backward, laid, raised)
            except BaseException:  # a signal came before it was held
                self._clean_up(backward, laid, raised)
                raise

    def _prepare(self, call: BackwardCall, backward: _Backward, laid: ExitStack) -> None:
        self._tracer.pause()
        try:
            self._tracer.called_from(sys._getframe())
            self._begin(call, backward, laid)
        except GraphBusyError:
            self._writer.add(
                Note(
                    "other thread", "another thread runs backward() on this graph at the same time"
                )
            )
        except Exception as error:
            self._observer.failed(error)
        finally:
            try:
                if not self._running:
                    self._tracer.backward_begins()
            except Exception as error:  # the recorded backward runs on
                self._observer.failed(error)
            self._running[backward.number] = backward
            self._lines.pause()
            self._tracer.resume()

    def _clean_up(self, backward: _Backward, laid: ExitStack, raised: bool) -> None:
        """Take hooks and mode away and write down how a backward has ended, once."""
        is_running = self._running.pop(backward.number, None) is not None
        self._tracer.pause()
        try:
            if is_running:
                self._lines.resume()
                if not self._running:
                    self._tracer.backward_ended()
            laid.close()
            if is_running:
                self._end(backward, raised)
        except Exception as error:
            self._observer.failed(error)
        finally:
            self._tracer.resume()

    def _begin(self, call: BackwardCall, backward: _Backward, laid: ExitStack) -> None:
        number = backward.number
        backward.begun = self._own_nodes.begun(())
        inside = autograd.current_node()
        outer = None if inside is None else self._live_graph.registry.known_node(inside)
        self._flush()
        for around in self._running.values():
            self._write_order(around)
        with autograd.unseen():
            roots = [root for root in map(_root, call.roots) if root is not None]
        dead = Died(*self._live_graph.bury())
        if dead != Died():
            self._writer.add(dead)
        self._graph_reading.read(roots)
        registry = self._live_graph.registry
        with autograd.unseen():
            nodes, entries, _ = walk([node for node, _ in roots])
            make_safe_to_free(nodes, entries)
            inputs = tuple(registry.know(t).id for t in call.inputs if is_tensor(t))
            self._graph_reading.about_to_change(filter(is_tensor, call.inputs))
            self._writer.add(
                BackwardStarted(
                    number,
                    tuple((f"n{registry.node_number(node)}", nr) for node, nr in roots),
                    self._numbers.of(call.gradients),
                    call.retain_graph,
                    call.create_graph,
                    call.accumulates,
                    inputs,
                    outer,
                    self._positions.of(sys._getframe(), "backward"),
                )
            )
            laid.callback(_take_away, backward.handles)
            backward.count = len(nodes)
            room = self._writer.budget // _PER_NODE
            backward.most = backward.count if backward.count <= room else room // _ENDS
            self._follow([node for node, _ in roots] if backward.is_long else nodes, backward)
        self._step("backward", 1, number=number)

    def _follow(self, nodes: Iterable[Any], backward: _Backward) -> None:
        """Lay hooks to nodes that may run, once each."""
        for node in nodes:
            key = f"n{self._live_graph.registry.node_number(node)}"
            if key not in backward.nodes:
                backward.nodes[key] = node
                backward.handles[key] = self._hooks(node, key, backward)

    def _hooks(self, node: Any, key: str, backward: _Backward) -> list[Any]:
        def before(gradients: Any) -> None:
            self._guard(key, backward, lambda: self._before(key, backward, gradients))

        def after(grad_inputs: Any, grad_outputs: Any) -> None:
            self._guard(key, backward, lambda: self._after(key, backward, grad_inputs))

        return [node.register_prehook(before), node.register_hook(after)]

    def _guard(self, key: str, backward: _Backward, look: Callable[[], None]) -> None:
        # A backward inside of this one may run the same node, which has the hooks of both. Another
        # thread may run backward over the same nodes; and after an error, threads of the engine may
        # still run a node of a backward that has ended.
        tracer = self._tracer
        if threading.get_ident() != tracer.thread and not autograd.in_recording():
            return
        tracer.pause()  # before anything else is called: each call is an event until then
        try:
            with at_work:
                at_work.keep_signals()  # torch's engine is no place where a handler would run
                try:
                    number = backward.number
                    if number in self._running and number == self._number_of(key):
                        with autograd.unseen():
                            look()
                except Exception as error:
                    self._observer.failed(error)
        finally:
            tracer.resume()

    def _end(self, backward: _Backward, raised: bool) -> None:
        """All its nodes have run, in whatever thread: what they have saved is freed."""
        running = None
        last = [stack[-1] for stack in self._open.values() if stack]
        for opened in sorted(last, key=lambda opened: opened.since):
            if opened.backward is backward and not opened.has_run:
                running = opened.key
        for stack in list(self._open.values()):
            if stack and stack[-1].backward is backward:
                if stack[-1].has_run:
                    self._finish(stack.pop())
                else:
                    stack.pop()
        self._open = {thread: stack for thread, stack in self._open.items() if stack}
        self.failure = (None, None, ())
        if backward.begun is not None:
            with autograd.unseen():
                leaves = [_leaf(node) for node in backward.nodes.values()]
                grads = [autograd.grad_of(leaf) for leaf in leaves if leaf is not None]
            self._own_nodes.returned(backward.begun, grads)
        if raised:
            node = backward.nodes.get(running or "")
            self.failure = (running, backward.number, autograd.arguments_that_need(node))
            self._lines.show(autograd.code_of_backward(node))
        else:
            for key, node in backward.nodes.items():  # a second derivative may need it
                if autograd.is_differentiable_once(node) or key in backward.withholding:
                    self._lines.show(autograd.code_of_backward(node))
        self._write_order(backward)
        self._writer.add(BackwardEnded(backward.number, backward.ran, raised))
        self._live_graph.have_run(backward.nodes if raised else backward.unread)
        self._graph_reading.changed()
        self._numbers.forget()
        backward.nodes.clear()

    # ------------------------------------------------------------- inside it

    def _before(self, key: str, backward: _Backward, gradients: Any) -> None:
        number = backward.number
        self._flush()
        self._finish_before(key)
        if backward.is_long:
            entries = backward.nodes[key].next_functions
            self._follow((node for node, _ in entries if node is not None), backward)
        if not backward.is_followed:
            self._only_order(key, backward, gradients)
            return
        self._write_order(backward)
        row = self._live_graph.nodes.get(key)
        used = () if row is None else tuple(s for s in row.saved if s.state in _THERE)
        ready = NodeReady(number, key, self._numbers.of(gradients), used)
        opened = _Open(key, backward, ready, time.perf_counter())
        opened.first_number = autograd.sequence_number()
        leaf = _leaf(backward.nodes[key])
        if leaf is not None:
            opened.grad = self._summary(autograd.grad_of(leaf))
        self._retained(key, number)
        self._writer.add(ready)
        self._step("saved", 2, key, number)
        self._stack().append(opened)

    def _only_order(self, key: str, backward: _Backward, gradients: Any) -> None:
        """A node runs of which only the order is noted, and what leaves and tensors get."""
        if len(self._writer.events) > _MOST_EVENTS:
            self._write_order(backward)
        self._retained(key, backward.number)
        ready = NodeReady(backward.number, key)
        leaf = _leaf(backward.nodes[key])
        grad = None
        if leaf is not None:
            ready = replace(ready, grad_outputs=self._numbers.of(gradients))
            grad = self._summary(autograd.grad_of(leaf))
        self._stack().append(_Open(key, backward, ready, 0.0, grad=grad, is_counted=True))

    def _write_order(self, backward: _Backward) -> None:
        """Write a step for the nodes that only the order is noted of."""
        if backward.order:
            number, count = backward.number, len(backward.order)
            text = f"{plural(count, 'node')} ran that are counted, not listed one by one"
            self._writer.events[:0] = [
                Note("steps counted", text, (count, 0)),
                NodesRan(tuple(backward.order), ((number, count),)),
                *backward.freed,
            ]
            backward.order.clear()
            backward.freed = CountedEvents()
            self._step("counted", 1, None, number, times=count)

    def _after(self, key: str, backward: _Backward, grad_inputs: Any) -> None:
        self._flush()
        if backward.is_long:
            _take_away({key: backward.handles.pop(key, [])})
        opened = self._top()
        if opened is None or opened.key != key:
            return
        opened.has_run = True
        backward.ran += 1
        if not self._tracer.is_first_thread and not opened.is_counted:
            made = range(opened.first_number, autograd.sequence_number())
            self._lines.made_elsewhere(made)
        if self._is_function(opened):
            self._numbers.forget()  # code in Python has run, and may have written
            entries = zip(backward.nodes[key].next_functions, grad_inputs or ())
            if any(entry[0] is not None and gradient is None for entry, gradient in entries):
                backward.withholding.add(key)
        self._accumulated(opened)
        if opened.is_counted:
            return
        opened.seconds = time.perf_counter() - opened.since
        opened.grad_inputs = self._numbers.of(grad_inputs or ())

    def _accumulated(self, opened: _Open) -> None:
        """Tell what a leaf's ``.grad`` has become; at most once per node."""
        leaf = _leaf(opened.backward.nodes[opened.key])
        if leaf is None or opened.has_accumulated:
            return
        opened.has_accumulated = True
        after = self._summary(autograd.grad_of(leaf))
        entry = self._live_graph.registry.know(leaf)
        self._graph_reading.about_to_change([leaf])
        row = self._live_graph.tensors.get(entry.id)
        if row is not None:
            self._live_graph.set_tensor(entry.id, replace(row, grad=after))
        gradient = next(iter(opened.ready.grad_outputs), None)
        number = opened.backward.number
        self._writer.add(Accumulated(number, opened.key, entry.id, opened.grad, gradient, after))
        if not opened.is_counted:
            self._step("accumulate", 2, opened.key, number)

    def _stack(self) -> list[_Open]:
        return self._open.setdefault(threading.get_ident(), [])

    def _top(self) -> _Open | None:
        stack = self._stack()
        return stack[-1] if stack else None

    def _flush(self) -> None:
        """Finish the node that this thread has run last: by now its saved tensors are freed."""
        opened = self._top()
        if opened is not None and opened.has_run:
            self._finish(self._stack().pop())

    def _finish_before(self, key: str) -> None:
        """Finish the nodes of other threads that lead to a node: they have freed what they saved,
        since the engine does that before it hands their gradients on."""
        for stack in self._open.values():
            row = self._live_graph.nodes.get(stack[-1].key) if stack else None
            targets = [entry[0] for entry in row.next_functions if entry] if row else []
            if key in targets and stack[-1].has_run:
                self._finish(stack.pop())

    def _finish(self, opened: _Open) -> None:
        number = opened.backward.number
        if self._is_function(opened):
            self._live_graph.have_run([opened.key])  # its context may have other attributes
        freed = self._freed(opened)
        if opened.is_counted:
            opened.backward.order.append(number_of(opened.key))
            opened.backward.unread[opened.key] = None
            opened.backward.freed.add([] if freed is None else [freed], is_alive=_none)
            return
        if freed is not None:
            self._writer.add(freed)
            self._step("freed", 2, opened.key, number)
        self._writer.add(
            NodeRan(
                number,
                opened.key,
                opened.ready.grad_outputs,
                opened.grad_inputs,
                opened.ready.used,
            )
        )
        self._step("node", 1, opened.key, number, opened.seconds)

    def _is_function(self, opened: _Open) -> bool:
        """Whether the backward of the node is written in Python."""
        return autograd.plan_of(type(opened.backward.nodes[opened.key])).is_function

    def _freed(self, opened: _Open) -> Freed | None:
        key = opened.key
        row, node = self._live_graph.nodes.get(key), opened.backward.nodes[key]
        if row is None or row.variable is not None:
            return None
        with autograd.unseen():
            now = _saved_now(node, row)
        gone = [s.name for s in now if s.state == "freed"]
        if not gone or row.state == "freed":
            return None
        kept_any = any(s.state in _THERE for s in row.saved)
        before = self._live_graph.saved_bytes
        self._live_graph.set_node(key, replace(row, saved=now, state=_state(now)))
        kept = [number_of(slot.storage) for slot in row.saved if slot.storage is not None]
        self._writer.measure_freed(kept)
        if not kept_any:  # a custom Function is marked freed though it saved nothing (F4.02)
            return None
        return Freed(key, tuple(gone), before - self._live_graph.saved_bytes)

    def _retained(self, key: str, number: int) -> None:
        """Gradients that ``retain_grad`` has kept just before this node runs."""
        for info in self._live_graph.outputs(key):
            entry = self._live_graph.registry.entry(number_of(info.id))
            tensor = None if entry is None or not info.retains_grad else entry.ref()
            if tensor is None:
                continue
            self._graph_reading.about_to_change([tensor])
            after = self._summary(autograd.grad_of(tensor))
            if after != info.grad:
                self._live_graph.set_tensor(info.id, replace(info, grad=after))
            self._writer.add(Accumulated(number, key, info.id, info.grad, after, after, True))

    def which(self, known: list[tuple[Hook, str | None]]) -> tuple[Hook, str | None]:
        """Which of the registrations of one function runs: that of a tensor of this node."""
        node = autograd.current_node()
        key = None if node is None else self._live_graph.registry.known_node(node)
        for hook, tensor in known:
            row = None if tensor is None else self._live_graph.tensors.get(tensor)
            if row is not None and row.node == key:
                return hook, tensor
        return known[0]

    def hook_entered(self, hook: Hook, tensor: str | None) -> None:
        """A hook of the user's begins to run."""
        node = autograd.current_node()
        key = None if node is None else self._live_graph.registry.known_node(node)
        if key is not None:
            self._finish_before(key)
        opened = self._top()
        if opened is None:
            return
        if opened.key != key:
            self._flush()
        elif hook.kind == "post_accumulate_grad":
            self._accumulated(opened)

    def hook_left(self, hook: Hook, tensor: str | None, value: Any, is_known: bool) -> None:
        """A hook of the user's has returned."""
        self._numbers.forget()  # it may have written, and not so that versions show it
        node = autograd.current_node()
        key = None if node is None else self._live_graph.registry.known_node(node)
        number = self._number_of(key)
        returned = None
        if is_known and is_tensor(value):
            with autograd.unseen():
                returned = self._summary(value)
        self._graph_reading.refresh()
        self._writer.add(HookFired(number, hook, key, tensor, returned, not is_known))
        self._step("hook", 2, key, number)

    # ---------------------------------------------------------------- helpers

    def _number_of(self, key: str | None) -> int:
        """Number of the innermost backward that runs a node."""
        having = [number for number, one in self._running.items() if key in one.nodes]
        return max(having or self._running, default=0)

    def _summary(self, value: Any) -> ValueSummary | None:
        return self._numbers.of((value,))[0]

    def _step(
        self,
        kind: StepKind,
        level: int,
        key: str | None = None,
        number: int | None = None,
        seconds: float | None = None,
        times: int | None = None,
    ) -> None:
        at = self._lines
        self._writer.step(kind, level, at.line, at.code, key, number, seconds, at.depth, times)


_THERE: Final = ("held", "modified", "packed")
_UNPACKED: Final = ("held", "modified", "none")


def _none(key: str) -> bool:
    """Which nodes freed what is not told apart."""
    return False


def _leaf(node: Any) -> torch.Tensor | None:
    """The leaf whose ``.grad`` a node writes, if it writes one."""
    return autograd.variable_of(node) if autograd.plan_of(type(node)).is_accumulator else None


def _take_away(handles: dict[str, list[Any]]) -> None:
    for laid in handles.values():
        for handle in laid:
            handle.remove()
    handles.clear()


def _root(root: Any) -> tuple[Any, int] | None:
    if isinstance(root, tuple):
        return (root[0], root[1]) if root[0] is not None else None
    if not is_tensor(root) or not root.requires_grad:
        return None
    try:
        if root.grad_fn is None:
            return autograd.accumulator_of(root), 0
        return root.grad_fn, autograd.output_nr(root)
    except RuntimeError:  # backward is about to say so itself
        return None


def _saved_now(node: Any, row: Node) -> tuple[SavedTensor, ...]:
    """Slots of a node that has run: those that are freed, and the others as they were read."""
    plan = autograd.plan_of(type(node))
    is_simple = all(slot.state in _UNPACKED for slot in row.saved)
    if is_simple and [slot.name for slot in row.saved] == [slot.name for slot in plan.slots]:
        held = [slot.state != "none" for slot in row.saved]
        are_freed = autograd.are_freed(node, plan, held)
        if are_freed:
            return tuple(
                [_slot(s.name, "freed" if h else "none", row) for s, h in zip(row.saved, held)]
            )
        if are_freed is not None:
            return row.saved
    return tuple([_slot(name, state, row) for name, state, *_ in autograd.saved_of(node, plan)])


def _slot(name: str, state: str, row: Node) -> SavedTensor:
    if state in ("freed", "none"):
        return without_tensor(name, state)
    return next((s for s in row.saved if s.name == name), SavedTensor(name, state))  # type: ignore[arg-type]


def _state(slots: tuple[SavedTensor, ...]) -> NodeState:
    states = [slot.state for slot in slots]
    if "held" in states or "modified" in states:
        return "holds"
    if "packed" in states:
        return "packed"
    return "freed" if "freed" in states else "saves nothing"
