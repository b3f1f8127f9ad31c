"""Code read a saved tensor that backward had freed."""

from __future__ import annotations

import ast

from gradviz.analysis.explaining import cures_backward
from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.freed_by import Earlier, freed_by, marks_of, unknown_of
from gradviz.analysis.explaining.statements import Statement, is_expression, names_bound
from gradviz.model.explanation import Cause, Cure, Explanation
from gradviz.model.facts import Node


def reading_of(evidence: Evidence) -> ast.Attribute | None:
    """The expression that read a saved tensor: ``y.grad_fn._saved_result``."""
    statement = evidence.statement
    found = [
        part
        for part in (statement.parts if statement is not None else [])
        if isinstance(part, ast.Attribute)
        and part.attr.startswith(("_saved_", "saved_tensors", "saved_variables"))
    ]
    return found[0] if len(found) == 1 else None


def explain_reading(reading: ast.Attribute, evidence: Evidence) -> Explanation:
    """Code read a saved tensor of a node that backward had run."""
    statement = evidence.statement
    assert statement is not None
    slot = reading.attr.removeprefix("_saved_")
    owner, when = _tensor_read(reading, statement, evidence)
    node = evidence.history.node(_node_of(owner, when, evidence), evidence.step)
    earlier = None if node is None else freed_by(node, evidence)
    what = f"{node.name if node else 'the node'} has freed its saved {slot}"
    if earlier is not None:
        what += f" in backward {earlier.number}, {evidence.at(earlier.at)}"
    first = None if earlier is None else evidence.statement_at(earlier.at)
    cures = [None if earlier is None else cures_backward.keep_graph(first, earlier.step, evidence)]
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
        unknown=_unknown(node, earlier, evidence),
        marks=() if node is None else tuple(marks_of(node, earlier, evidence)),
    )


def _unknown(node: Node | None, earlier: Earlier | None, evidence: Evidence) -> tuple[str, ...]:
    if node is not None:
        return tuple(unknown_of(earlier, evidence))
    told = "" if evidence.is_recorded else "; gradviz.record() around the code would tell"
    return (f"which node it was{told}",)


def _tensor_read(
    reading: ast.Attribute, statement: Statement, evidence: Evidence
) -> tuple[str | None, int]:
    """``"y"`` of ``y.grad_fn._saved_result``, and the step at which ``grad_fn`` was read."""
    node = reading.value
    step = evidence.step
    if isinstance(node, ast.Name):  # f = y.grad_fn, some lines before
        for earlier in range(evidence.step - 1, 0, -1):
            other = evidence.statement_at(evidence.history.line(earlier))
            if other is not None and node.id in names_bound(other):
                value = getattr(other.node, "value", None)
                statement, step = other, earlier
                node = value if isinstance(value, ast.expr) else node
                break
    if isinstance(node, ast.Attribute) and node.attr == "grad_fn":
        name = statement.segment(node.value)
        return (name if is_expression(name) else None), step
    return None, step


def _node_of(name: str | None, step: int, evidence: Evidence) -> str | None:
    """The node behind the tensor that had a name at a step."""
    for info in evidence.history.tensors(step):
        if name is not None and info.name == name and evidence.history.is_alive(info.id, step):
            return info.node
    return None
