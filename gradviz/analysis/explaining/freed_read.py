"""Code read a saved tensor that backward had freed."""

from __future__ import annotations

import ast

from gradviz.analysis.explaining import cures_backward
from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.freed_by import freed_by, marks_of, unknown_of
from gradviz.analysis.explaining.statements import Statement, is_expression
from gradviz.model.explanation import Cause, Cure, Explanation


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
    owner = _tensor_read(reading, statement)
    info = None if owner is None else evidence.tensor_named(owner)
    node = None if info is None else evidence.past.node(info.node, evidence.step)
    earlier = None if node is None else freed_by(node, evidence)
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
        unknown=tuple(unknown_of(earlier, evidence)),
        marks=() if node is None else tuple(marks_of(node, earlier, evidence)),
    )


def _tensor_read(reading: ast.Attribute, statement: Statement) -> str | None:
    """``"y"`` of ``y.grad_fn._saved_result``."""
    node = reading.value
    if isinstance(node, ast.Attribute) and node.attr == "grad_fn":
        name = statement.segment(node.value)
        return name if is_expression(name) else None
    return None
