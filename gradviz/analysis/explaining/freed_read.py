"""Code read a saved tensor that backward had freed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.fault import Finding
from gradviz.analysis.explaining.fixes import backward
from gradviz.analysis.explaining.fixes.moving import moved
from gradviz.analysis.explaining.freed_by import (
    by_words,
    call_of,
    freed_by,
    targets_of,
    unknown_of,
)
from gradviz.analysis.explaining.statements import Statement, is_expression, names_bound
from gradviz.model.explanation import Cause, Cure
from gradviz.model.facts import Node
from gradviz.model.freed import Earlier
from gradviz.model.sentence import Sentence, Term, say


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


@dataclass(frozen=True, kw_only=True)
class SavedRead(Finding):
    """A line that read what a node had saved, and the backward that had freed it."""

    evidence: Evidence
    earlier: Earlier | None


def saved_read(evidence: Evidence) -> Iterator[SavedRead]:
    """Code read a saved tensor of a node that backward had run."""
    reading = reading_of(evidence) if evidence.backward is None else None
    if reading is None or evidence.statement is None:
        return
    slot = reading.attr.removeprefix("_saved_")
    owner, when = _tensor_read(reading, evidence.statement, evidence)
    node = evidence.history.node(_node_of(owner, when, evidence), evidence.step)
    earlier = None if node is None else freed_by(node, evidence)
    where = "" if earlier is None else say(
        " in backward {}, {}", earlier.number, evidence.at(earlier.at)
    )  # fmt: skip
    causes = () if earlier is None else (
        Cause("backward", say("backward {} freed it", earlier.number), earlier.at),
    )  # fmt: skip
    yield SavedRead(
        history=evidence.history,
        step=evidence.step,
        words={
            "node": "the node" if node is None else Term(node.id, node.name),
            "slot": slot,
            "where": where,
            "by": by_words(earlier, evidence),
        },
        variables=(owner,),
        node=node,
        saved=slot,
        causes=causes,
        targets={} if node is None else targets_of(node),
        unknown=_unknown(node, earlier, evidence),
        evidence=evidence,
        earlier=earlier,
    )


def fixes(found: SavedRead) -> Iterator[Cure]:
    """Keep the graph, or read before the backward."""
    evidence, earlier, statement = found.evidence, found.earlier, found.evidence.statement
    first = None if earlier is None else evidence.statement_at(earlier.at)
    if earlier is None or statement is None:
        return
    keep = backward.keep_graph(call_of(earlier, evidence), earlier.step, evidence)
    if keep is not None:
        yield keep
    if first is not None and first.line < statement.line:
        sooner = moved(statement, first, "before", say("reads it while it is still there"))
        yield from () if sooner is None else (sooner,)


def _unknown(
    node: Node | None, earlier: Earlier | None, evidence: Evidence
) -> tuple[Sentence, ...]:
    if node is not None:
        return tuple(unknown_of(earlier, evidence))
    told = "" if evidence.is_recorded else "; gradviz.record() around the code would tell"
    return (say("which node it was{}", told),)


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
