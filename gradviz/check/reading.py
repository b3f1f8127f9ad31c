"""What is behind a loss, read as an audit reads it: nothing runs, nothing is changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from gradviz.analysis.audit.auditor import audit_of
from gradviz.capture import naming
from gradviz.capture.audit.reader import audit_facts
from gradviz.check.arguments import Given, callers_names, tensors_in
from gradviz.check.frames import HIDDEN
from gradviz.check.verdict import not_known
from gradviz.model import Graph, Node, NoGraphError, ParameterAudit
from gradviz.model.audit import GraphState
from gradviz.model.progress import working

__tracebackhide__ = HIDDEN

_FEW: Final = 6
"""Nodes of a path that are named."""


@dataclass(frozen=True, slots=True)
class Behind:
    """The graph behind a loss, and what an audit finds about tensors in it."""

    loss: str
    """What the code calls the loss; of several all names."""
    code: str
    """What one types for it."""
    has_graph: bool
    """Whether there is a graph behind it."""
    graph: Graph
    given: Sequence[Given]
    """The tensors that were asked about."""
    rows: Sequence[ParameterAudit]
    """What was found about each."""
    state: GraphState


def behind(loss: Any, tensors: Any, call: str) -> Behind:
    """Read the graph behind a loss.

    Args:
        loss: A tensor, or lists, tuples and dicts of them.
        tensors: What is asked about: tensors, modules, or lists, tuples and dicts of them.
        call: How the check is called rightly.

    Raises:
        NotATensorError: If one of them is something else, or empty.
        CheckFailed: If the graph cannot be read without a change.
    """
    names, call = callers_names(), f"gradviz.check.{call}"
    losses = tensors_in(loss, "the loss", call, names, modules=False)
    given = tensors_in(tensors, "the tensor", call, names)
    of_losses, of_given = [one.tensor for one in losses], [one.tensor for one in given]
    with working("check"):
        try:
            facts = audit_facts(of_losses, of_given, None, None, naming.caller(), False)
        except NoGraphError as error:
            reason = str(error).partition(" is ")[2] or str(error)
            not_known(
                f"what is behind {losses[0].name}", "a graph that can be read", f"it is {reason}"
            )
        audit = audit_of(facts)
    return Behind(
        ", ".join(one.name for one in losses),
        losses[0].code if not losses[0].name.startswith("the ") else "loss",
        any(one.root is not None for one in facts.losses),
        facts.graph,
        given,
        audit.parameters,
        audit.state,
    )


def path_between(graph: Graph, target: tuple[str, int]) -> list[str]:
    """Names of the nodes on a shortest path from a root to an output of a node."""
    came_from: dict[tuple[str, int], tuple[str, int] | None] = dict.fromkeys(graph.roots)
    todo = deque(came_from)
    nodes: dict[str, Node] = {node.id: node for node in graph.nodes}
    while todo and target not in came_from:
        at = todo.popleft()
        for entry in nodes[at[0]].next_functions:
            if entry is not None and entry not in came_from:
                came_from[entry] = at
                todo.append(entry)
    found: list[str] = []
    place: tuple[str, int] | None = target if target in came_from else None
    while place is not None:
        found.append(nodes[place[0]].name)
        place = came_from[place]
    return found[::-1]


def as_path(names: Sequence[str]) -> str:
    """The nodes of a path in a row; of a long one the first and the last, and how many."""
    if len(names) <= _FEW:
        return " → ".join(names)
    half = _FEW // 2
    ends = [*names[:half], "…", *names[-half:]]
    return f"{' → '.join(ends)} ({len(names)} nodes)"
