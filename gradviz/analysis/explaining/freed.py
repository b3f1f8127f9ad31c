"""A node was to use what it had saved, and an earlier backward had freed it."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.analysis.explaining import cures_backward
from gradviz.analysis.explaining.carried import carried_by
from gradviz.analysis.explaining.cures_carried import cut_state
from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.freed_by import Earlier, freed_by, marks_of, unknown_of
from gradviz.analysis.explaining.freed_read import explain_reading, reading_of
from gradviz.analysis.explaining.paths import reachable, root_nodes
from gradviz.analysis.explaining.statements import Statement
from gradviz.analysis.explaining.words import listed
from gradviz.model.events import Freed, NodeRan
from gradviz.model.explanation import Cause, Cure, Explanation
from gradviz.model.facts import Node
from gradviz.model.marks import Mark

WHY = (
    "backward() frees what the nodes it runs have saved, unless it is told retain_graph=True; "
    "without it the gradient cannot be computed a second time"
)


def explain(evidence: Evidence) -> Explanation:
    """Which node has nothing left, which backward freed it, and how the two are connected."""
    if evidence.backward is None and (reading := reading_of(evidence)) is not None:
        return explain_reading(reading, evidence)
    node = evidence.node or _only_freed(evidence)
    if node is None:
        return _unknown_node(evidence)
    earlier = freed_by(node, evidence)
    roots = [name for info in evidence.roots if (name := evidence.name(info.id))]
    shared = _shared(node, earlier, evidence)
    is_same = _is_same_root(earlier, evidence)
    variables = (*roots, *shared) if is_same else (*shared, *roots)
    slots = [slot.name for slot in node.saved if slot.state == "freed"]
    return Explanation(
        what=_what(node, slots, earlier, evidence),
        why=WHY,
        variables=tuple(dict.fromkeys(variables)),
        node=node.id,
        node_name=node.name,
        saved=slots[0] if len(slots) == 1 else None,
        causes=tuple(_causes(node, earlier, shared, is_same, evidence)),
        cures=tuple(_cures(node, earlier, is_same, evidence))[:2],
        unknown=(*unknown_of(earlier, evidence), *_unnamed(node, earlier, evidence)),
        marks=tuple(marks_of(node, earlier, evidence)),
    )


# --- which -----------------------------------------------------------------------------------


def _only_freed(evidence: Evidence) -> Node | None:
    """The node that must have refused, since no other has nothing left."""
    found = [n for n in _of_root(evidence).values() if n.state == "freed"]
    return found[0] if len(found) == 1 else None


def _of_root(evidence: Evidence) -> dict[str, Node]:
    return reachable(root_nodes(evidence), evidence)


def _is_same_root(earlier: Earlier | None, evidence: Evidence) -> bool:
    return earlier is not None and bool(
        {key for key, _ in earlier.started.roots} & set(root_nodes(evidence))
    )


def _shared(node: Node, earlier: Earlier | None, evidence: Evidence) -> tuple[str, ...]:
    """Names of tensors at which the later graph enters what the earlier backward has run."""
    if earlier is None or evidence.backward is None:
        return ()
    carried = carried_by(node.id, evidence)
    if carried is not None:
        return carried.names
    own = _of_root(evidence)
    ran = {e.node for _, e in evidence.history.events(NodeRan, earlier.step)}
    ran &= {n for n in own if own[n].variable is None}  # nothing of a leaf's is freed
    found: dict[str, None] = {}
    for user in own.values():
        for entry in user.next_functions:
            if entry is not None and entry[0] in ran and user.id not in ran:
                name = evidence.name(evidence.history.output_of(entry[0], evidence.step, entry[1]))
                found |= dict.fromkeys([name] if name else [])
    return tuple(sorted(found))


# --- words -----------------------------------------------------------------------------------


def _what(node: Node, slots: list[str], earlier: Earlier | None, evidence: Evidence) -> str:
    saved = f"its saved {listed(slots)}" if 0 < len(slots) < 4 else "what it saved"
    they = "them" if 1 < len(slots) < 4 else "it"
    if earlier is None:
        have = "they have" if they == "them" else "it has"
        return f"{node.name} needs {saved}, but {have} been freed"
    where = f" in {evidence.at(earlier.at)}" if earlier.at else ""
    return f"{node.name} needs {saved}, but backward {earlier.number}{where} has freed {they}"


def _causes(
    node: Node, earlier: Earlier | None, shared: tuple[str, ...], is_same: bool, evidence: Evidence
) -> Iterator[Cause]:
    if earlier is not None:
        words = f"backward {earlier.number} ran {node.name} and freed what it had saved"
        yield Cause("backward", words, earlier.at)
    made = evidence.history.made_at(node)
    if made is not None and not is_same:
        through = f", and both backwards come to it through {listed(shared)}" if shared else ""
        yield Cause("save", f"{node.name} was made once{through}", made)


def _unnamed(node: Node, earlier: Earlier | None, evidence: Evidence) -> Iterator[str]:
    """That the graph of an earlier pass is carried on by what has no name."""
    if earlier is None or not _is_same_line(evidence.statement_at(earlier.at), evidence.statement):
        return
    carried = carried_by(node.id, evidence)
    if carried is not None and not carried.is_complete:
        yield "which variable carries the graph from pass to pass: it has no name in the recording"


def _unknown_node(evidence: Evidence) -> Explanation:
    """Nothing tells which of several nodes refused."""
    found = [n for n in _of_root(evidence).values() if n.state == "freed"]
    roots = [name for info in evidence.roots if (name := evidence.name(info.id))]
    names = listed(dict.fromkeys(node.name for node in found))
    which = f"which node refused: one of {names}" if found else "which node refused"
    recorded = "" if evidence.is_recorded else "; gradviz.record() around the code would tell"
    return Explanation(
        what="a node needs what it had saved, but an earlier backward has freed it",
        why=WHY,
        variables=tuple(roots),
        node_name=found[0].name if len({n.name for n in found}) == 1 else None,
        unknown=(which, f"which backward freed it{recorded}"),
        marks=tuple(Mark(n.id, "refused", "it may be the node that refused") for n in found),
    )


# --- cures -----------------------------------------------------------------------------------


def _cures(
    node: Node, earlier: Earlier | None, is_same: bool, evidence: Evidence
) -> Iterator[Cure]:
    for cure in _possible_cures(node, earlier, is_same, evidence):
        if cure is not None:
            yield cure


def _possible_cures(
    node: Node, earlier: Earlier | None, is_same: bool, evidence: Evidence
) -> Iterator[Cure | None]:
    if earlier is None:
        return  # whether it may keep them, and where, is not known
    first = evidence.statement_at(earlier.at)
    keep = cures_backward.keep_graph(first, earlier.step, evidence)
    if is_same:
        yield keep
        yield _again(first, earlier, evidence)
        return
    if _is_same_line(first, evidence.statement):
        carried = carried_by(node.id, evidence)
        cut = None if carried is None else cut_state(carried, evidence)
        yield cut
        yield keep if carried is None or carried.is_complete else None
        yield _again(first, earlier, evidence) if carried is None else None
        return
    yield keep
    yield cures_backward.add_up(first, earlier.step, evidence)


def _again(first: Statement | None, earlier: Earlier, evidence: Evidence) -> Cure | None:
    ran = [e for _, e in evidence.history.events(Freed, earlier.step)]
    stale = [event.node for event in ran]
    return cures_backward.compute_again(stale, first, evidence, ": a new graph")


def _is_same_line(one: Statement | None, other: Statement | None) -> bool:
    return one is not None and other is not None and one.node is other.node
