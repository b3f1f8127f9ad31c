"""The progress of backward at each step: nodes done, now and next, gradients on the edges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from gradviz.model.events import NodeRan, Raised
from gradviz.model.recording import Recording, StepRecord
from gradviz.view.graph.card_parts import EdgeGradient, Status

Edge = tuple[str, int]
"""Node and slot of ``next_functions``."""


class BackwardProgress:
    """Where backward is, from step to step; outside of backward nothing.

    Args:
        recording: Whose steps they are; before :meth:`advance` nothing has run.
    """

    def __init__(self, recording: Recording) -> None:
        self.nodes: dict[str, Status] = {}
        """Nodes that have run, that runs and that will run next."""
        self.edges: dict[Edge, EdgeGradient] = {}
        """Gradients by edge."""
        self._upcoming: Sequence[NodeRan] = ()
        self._recording = recording
        self._number: int | None = None
        self._ran = 0
        self._done: set[str] = set()
        self._current: dict[str, Status] = {}
        """What is said of nodes instead of that they have run."""
        self._leading_to: dict[str, list[Edge]] = {}
        """The edges by the node where they arrive."""

    def advance(self, index: int) -> tuple[set[str], set[str]]:
        """Go on to a step. What runs next is what the recording saw run next.

        Returns:
            The nodes of which something else is said, and those with edges of which the gradients
            may be others.
        """
        step = self._recording.records[index]
        broken = _broken(step)
        number = step.backward if broken is None else broken.backward or step.backward
        statuses, gradients = set(self._current), set[str]()
        if number != self._number:
            statuses |= self._done
            gradients |= {node for node, _ in self.edges}
            self._begin(number)
        self._current, self._upcoming = {}, ()
        if number is not None:
            ran, upcoming = self._recording.history.ran(number, index)
            self._upcoming = upcoming
            now = step.node if broken is None else broken.node
            following = next((event.node for event in upcoming[:2] if event.node != now), None)
            if following and step.backward is not None:
                self._current[following] = "next"
            if now:
                self._current[now] = "now" if broken is None else "raised"
            more, self._ran = ran[self._ran :], len(ran)
            self._done.update(event.node for event in more)
            gradients |= {event.node for event in more}
            for event in more:
                self._hand_on(event)
            statuses |= {*self._current, *(event.node for event in more)}
        return self._say(statuses), gradients | self._arrive(statuses)

    def run_later(self, nodes: Collection[str]) -> bool:
        """Whether any of these nodes runs later in this backward."""
        return any(event.node in nodes for event in self._upcoming)

    def _begin(self, number: int | None) -> None:
        """Begin a backward, or end one."""
        self._number, self._ran = number, 0
        for of_another in (self.edges, self._done, self._leading_to):
            of_another.clear()

    def _hand_on(self, event: NodeRan) -> None:
        """Put the gradients that a node has handed on to the edges."""
        node = self._recording.history.node(event.node, len(self._recording.records))
        entries = () if node is None else node.next_functions
        for slot, (entry, gradient) in enumerate(zip(entries, event.grad_inputs)):
            if entry is not None:
                edge = event.node, slot
                if edge not in self.edges:
                    self._leading_to.setdefault(entry[0], []).append(edge)
                self.edges[edge] = EdgeGradient(gradient, self._has_run(entry[0]))

    def _has_run(self, node: str) -> bool:
        return node in self._done and self._current.get(node) not in ("now", "raised")

    def _say(self, nodes: Iterable[str]) -> set[str]:
        """Say what there is to say of these nodes now; returns those of which it is new."""
        changed = set()
        for node in nodes:
            done: Status = "done" if node in self._done else ""
            status = self._current.get(node, done)
            if self.nodes.get(node, "") != status:
                changed.add(node)
                self.nodes[node] = status
        return changed

    def _arrive(self, nodes: Iterable[str]) -> set[str]:
        """Say of the gradients that lead to these nodes whether they have run; returns the nodes
        from which those come of which it is new."""
        changed = set()
        for node in nodes:
            has_run = self._has_run(node)
            for edge in self._leading_to.get(node, ()):
                if self.edges[edge].arrived != has_run:
                    self.edges[edge] = EdgeGradient(self.edges[edge].gradient, has_run)
                    changed.add(edge[0])
        return changed


def _broken(step: StepRecord) -> Raised | None:
    """The error that a node raised."""
    raised = (event for event in step.events if isinstance(event, Raised))
    return next((event for event in raised if event.node is not None), None)
