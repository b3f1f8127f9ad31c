"""A node was to use what it had saved, and an earlier backward had freed it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradviz.analysis.explaining import cures_backward
from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.paths import leading_to, reachable, root_nodes
from gradviz.analysis.explaining.statements import Statement, is_expression
from gradviz.analysis.explaining.words import listed
from gradviz.model.events import BackwardEnded, BackwardStarted, Freed, NodeRan, OptimizerStepped
from gradviz.model.explanation import Cause, CodeLine, Cure, Explanation
from gradviz.model.facts import Node
from gradviz.model.marks import Mark

WHY = (
    "backward() frees what the nodes it runs have saved, unless it is told retain_graph=True; "
    "without it the gradient cannot be computed a second time"
)


@dataclass(frozen=True, slots=True)
class Earlier:
    """The backward that freed it."""

    number: int
    step: int
    """Step at which it had ended."""
    started: BackwardStarted
    at: CodeLine | None


def explain(evidence: Evidence) -> Explanation:
    """Which node has nothing left, which backward freed it, and how the two are connected."""
    if evidence.backward is None and _reading(evidence) is not None:
        return _read_after(evidence)
    node = evidence.node or _only_freed(evidence)
    if node is None:
        return _unknown_node(evidence)
    earlier = _freed_by(node, evidence)
    roots = [name for info in evidence.roots if (name := evidence.name(info.id))]
    shared = _shared(earlier, evidence)
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
        cures=tuple(_cures(earlier, shared, is_same, evidence))[:2],
        unknown=tuple(_unknown(earlier, evidence)),
        marks=tuple(_marks(node, earlier, evidence)),
    )


# --- which -----------------------------------------------------------------------------------


def _only_freed(evidence: Evidence) -> Node | None:
    """The node that must have refused, since no other has nothing left."""
    found = [n for n in _of_root(evidence).values() if n.state == "freed"]
    return found[0] if len(found) == 1 else None


def _of_root(evidence: Evidence) -> dict[str, Node]:
    return reachable(root_nodes(evidence), evidence)


def _freed_by(node: Node, evidence: Evidence) -> Earlier | None:
    """The backward that freed what a node had saved."""
    past = evidence.past
    before = evidence.step if evidence.backward is None else evidence.backward[0] - 1
    freed = [step for step, e in past.events(Freed, before) if e.node == node.id]
    number = None if not freed else evidence.recording.facts[freed[-1]].backward
    if number is None:
        number = _would_have_freed(node, before, evidence)
    started = [(s, e) for s, e in past.events(BackwardStarted, before) if e.number == number]
    if not started:
        return None
    ended = [s for s, e in past.events(BackwardEnded, before) if e.number == number]
    line = past.line(started[0][0])
    step = ended[0] if ended else started[0][0]
    return Earlier(
        started[0][1].number, step, started[0][1], line and replace(line, step=step)
    )


def _would_have_freed(node: Node, before: int, evidence: Evidence) -> int | None:
    """The one backward that was not followed node by node and came to the node."""
    found = [
        event.number
        for _, event in evidence.past.events(BackwardStarted, before)
        if not event.retain_graph
        and not event.inputs
        and node.id in reachable([key for key, _ in event.roots], evidence)
    ]
    return found[0] if len(found) == 1 else None


def _is_same_root(earlier: Earlier | None, evidence: Evidence) -> bool:
    return earlier is not None and bool(
        {key for key, _ in earlier.started.roots} & set(root_nodes(evidence))
    )


def _shared(earlier: Earlier | None, evidence: Evidence) -> tuple[str, ...]:
    """Names of tensors at which the later graph enters what the earlier backward has run.

    In a loop it enters the graph of an earlier pass; that part was there, though it may not have
    run: a state that is handed on next to the output.
    """
    if earlier is None or evidence.backward is None:
        return ()
    own = _of_root(evidence)
    ran = {e.node for _, e in evidence.past.events(NodeRan, earlier.step)}
    ran &= {n for n in own if own[n].variable is None}  # nothing of a leaf's is freed
    before = {key for key in own if (evidence.past.born(key) or 0) <= earlier.step}
    is_loop = _is_same_line(evidence.statement_at(earlier.at), evidence.statement)
    inside = leading_to(ran, own) & before if is_loop else ran
    found: dict[str, None] = {}
    for node in own.values():
        for entry in node.next_functions:
            if entry is not None and entry[0] in inside and node.id not in inside:
                name = evidence.name(evidence.past.output_of(entry[0], evidence.step, entry[1]))
                found |= dict.fromkeys([name] if name else [])
    return tuple(found)


# --- words -----------------------------------------------------------------------------------


def _what(node: Node, slots: list[str], earlier: Earlier | None, evidence: Evidence) -> str:
    saved = f"its saved {listed(slots)}" if 0 < len(slots) < 4 else "what it saved"
    they = "them" if 1 < len(slots) < 4 else "it"
    have = "have" if they == "them" else "has"
    if earlier is None:
        return f"{node.name} needs {saved}, but {they} {have} been freed"
    where = f" in {evidence.at(earlier.at)}" if earlier.at else ""
    return f"{node.name} needs {saved}, but backward {earlier.number}{where} has freed {they}"


def _causes(
    node: Node, earlier: Earlier | None, shared: tuple[str, ...], is_same: bool, evidence: Evidence
) -> Iterator[Cause]:
    if earlier is not None:
        words = f"backward {earlier.number} ran {node.name} and freed what it had saved"
        yield Cause("backward", words, earlier.at)
    made = evidence.past.made_at(node)
    if made is not None and not is_same:
        through = f", and both backwards come to it through {listed(shared)}" if shared else ""
        yield Cause("save", f"{node.name} was made once{through}", made)


def _unknown(earlier: Earlier | None, evidence: Evidence) -> Iterator[str]:
    if earlier is not None:
        return
    if not evidence.is_recorded:
        yield "which backward freed it; gradviz.record() around the code would tell"
    else:
        yield "which backward freed it: it ran before the recording, or was not followed"


def _marks(node: Node, earlier: Earlier | None, evidence: Evidence) -> Iterator[Mark]:
    by = "" if earlier is None else f"backward {earlier.number} in {evidence.at(earlier.at)} freed it"
    yield Mark(node.id, "refused", "it needs what it has saved")
    for place, slot in enumerate(node.saved):
        if slot.state == "freed":
            yield Mark(f"{node.id}.saved.{place}", "culprit", by)


def _unknown_node(evidence: Evidence) -> Explanation:
    """Nothing tells which of several nodes refused."""
    found = [n for n in _of_root(evidence).values() if n.state == "freed"]
    roots = [name for info in evidence.roots if (name := evidence.name(info.id))]
    names = listed(dict.fromkeys(node.name for node in found))
    which = f"which node refused: one of {names}" if found else "which node refused"
    recorded = "" if evidence.is_recorded else "; gradviz.record() around the code would tell"
    cures = []
    if roots and is_expression(roots[0]):
        does = "in the backward before this one: keeps what it would free"
        cures.append(Cure(does, f"{roots[0]}.backward(retain_graph=True)", "elsewhere"))
    return Explanation(
        what="a node needs what it had saved, but an earlier backward has freed it",
        why=WHY,
        variables=tuple(roots),
        node_name=found[0].name if len({n.name for n in found}) == 1 else None,
        cures=tuple(cures),
        unknown=(which, f"which backward freed it{recorded}"),
        marks=tuple(Mark(n.id, "refused", "it may be the node that refused") for n in found),
    )


# --- cures -----------------------------------------------------------------------------------


def _cures(
    earlier: Earlier | None, shared: tuple[str, ...], is_same: bool, evidence: Evidence
) -> Iterator[Cure | None]:
    return filter(None, _possible_cures(earlier, shared, is_same, evidence))


def _possible_cures(
    earlier: Earlier | None, shared: tuple[str, ...], is_same: bool, evidence: Evidence
) -> Iterator[Cure | None]:
    if earlier is None:
        return
    first = evidence.statement_at(earlier.at)
    keep = cures_backward.keep_graph(first)
    if is_same:
        yield keep
        yield _again(first, earlier, evidence)
        return
    carried = [name for name in shared if is_expression(name)]
    if _is_same_line(first, evidence.statement):
        yield cures_backward.cut_state(carried, evidence.noticed, evidence)
        if not any(evidence.past.events(OptimizerStepped, evidence.step, earlier.step)):
            yield keep
        return
    yield keep
    yield cures_backward.add_up(first, earlier.step, evidence)


def _again(first: Statement | None, earlier: Earlier, evidence: Evidence) -> Cure | None:
    ran = [e for _, e in evidence.past.events(Freed, earlier.step)]
    stale = [event.node for event in ran]
    return cures_backward.compute_again(stale, first, evidence, ": a new graph")


def _is_same_line(one: Statement | None, other: Statement | None) -> bool:
    return one is not None and other is not None and one.node is other.node


# --- read, not run ---------------------------------------------------------------------------


def _reading(evidence: Evidence) -> ast.Attribute | None:
    """The expression that read a saved tensor: ``y.grad_fn._saved_result``."""
    statement = evidence.statement
    found = [
        part
        for part in (statement.parts if statement is not None else [])
        if isinstance(part, ast.Attribute)
        and part.attr.startswith(("_saved_", "saved_tensors", "saved_variables"))
    ]
    return found[0] if len(found) == 1 else None


def _read_after(evidence: Evidence) -> Explanation:
    """Code read a saved tensor of a node that backward had run."""
    reading, statement = _reading(evidence), evidence.statement
    assert reading is not None and statement is not None
    slot = reading.attr.removeprefix("_saved_")
    owner = _tensor_read(reading, statement)
    info = None if owner is None else evidence.tensor_named(owner)
    node = None if info is None else evidence.past.node(info.node, evidence.step)
    earlier = None if node is None else _freed_by(node, evidence)
    what = f"{node.name if node else 'the node'} has freed its saved {slot}"
    if earlier is not None:
        what += f" in backward {earlier.number}, {evidence.at(earlier.at)}"
    first = None if earlier is None else evidence.statement_at(earlier.at)
    cures = [cures_backward.keep_graph(first)]
    if first is not None and first.line < statement.line and not statement.is_compound:
        gone = Cure("", "", "instead", statement.line)
        does = "reads it while it is still there"
        cures.append(Cure(does, statement.text, "before", first.line, (gone,)))
    return Explanation(
        kind="saved tensor read after freeing",
        what=what,
        why="backward() frees what the nodes it runs have saved, unless told retain_graph=True",
        variables=() if owner is None else (owner,),
        node=None if node is None else node.id,
        node_name=None if node is None else node.name,
        saved=slot,
        causes=()
        if earlier is None or node is None
        else (Cause("backward", f"backward {earlier.number} freed it", earlier.at),),
        cures=tuple(cure for cure in cures if cure is not None),
        unknown=tuple(_unknown(earlier, evidence)),
        marks=() if node is None else tuple(_marks(node, earlier, evidence)),
    )


def _tensor_read(reading: ast.Attribute, statement: Statement) -> str | None:
    """``"y"`` of ``y.grad_fn._saved_result``."""
    node = reading.value
    if isinstance(node, ast.Attribute) and node.attr == "grad_fn":
        name = statement.segment(node.value)
        return name if is_expression(name) else None
    return None
