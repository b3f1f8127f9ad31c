"""A write in place that autograd refuses at once: of leaves, of some views, behind hooks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.explaining import cures_writes
from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.in_place_modules import not_in_place
from gradviz.analysis.explaining.operands import Given, given, line_of, made_by, named
from gradviz.analysis.explaining.statements import (
    Statement,
    calls_in,
    is_expression,
    is_read_later,
    names_read,
)
from gradviz.model.explanation import Cause, Cure, Explanation
from gradviz.model.facts import TensorInfo
from gradviz.model.marks import Mark


def leaf(evidence: Evidence) -> Explanation:
    """A leaf that requires grad was to be written, or a part of it."""
    written = _written(evidence)
    base = _leaf_behind(written, evidence)
    name = evidence.name(base.id) if base is not None else None
    part = f"{written.words}, a part of {name}" if name not in (None, written.name) else name
    names = dict.fromkeys(n for n in (name, written.name) if n)
    by = _by(evidence)
    return Explanation(
        what=f"{by} would write {part or written.words}, a leaf that requires grad, in place",
        why="gradients are collected at leaves; a recorded write would make it the result of an "
        "operation, and no leaf any more",
        variables=tuple(names),
        node=None if base is None else base.node,
        node_name=_node_name(base, evidence),
        current_version=None if base is None else base.version,
        causes=(Cause("write", f"{by} was to write {written.words}", evidence.noticed),),
        cures=tuple(_without_record(base, evidence)),
        marks=() if base is None else (Mark(base.id, "written", f"{by} was to write it"),),
    )


def several_views(evidence: Evidence) -> Explanation:
    """One of several views that one call gave was to be written."""
    written = _written(evidence)
    made = made_by(written.key, evidence)
    source = None
    if made is not None:
        source = next(filter(None, map(evidence.name, made[1].reads)), None)
    by = _by(evidence)
    causes = [Cause("write", f"{by} was to write {written.words}", evidence.noticed)]
    if made is not None:
        of = f" of {source}" if source else ""
        words = f"{made[1].name} gave {written.words} as one of several views{of}"
        causes.append(Cause("other", words, evidence.history.line(made[0])))
    node = evidence.history.node(written.info.node if written.info else None, evidence.step)
    return Explanation(
        what=f"{by} would write {written.words}, one of several views that one call gave",
        why="they share one node, which cannot be changed for one of them alone",
        variables=tuple(filter(None, (written.name, source))),
        node=None if node is None else node.id,
        node_name=None if node is None else node.name,
        causes=tuple(causes),
        cures=tuple(_of_view(written, source, evidence)),
        marks=_mark(written, by),
    )


def behind_hook(evidence: Evidence) -> Explanation:
    """The output of a module with a full backward hook was to be written."""
    written = _written(evidence)
    by, module = _by(evidence), None if evidence.refused is None else evidence.refused.module
    where = f" in {module}" if module else ""
    causes = [Cause("write", f"{by}{where} was to write {written.words}", evidence.noticed)]
    causes += [*_registered(evidence)]
    return Explanation(
        what=f"{by}{where} would write the output of a module that has a full backward hook",
        why="the hook's node stands behind that output, and a write in place would go around it",
        variables=tuple(filter(None, (written.name,))),
        node_name="BackwardHookFunctionBackward",
        causes=tuple(causes),
        cures=tuple(_of_written(written, evidence, module)),
        marks=_mark(written, by),
    )


def inference(evidence: Evidence) -> Explanation:
    """An operation that is recorded was to save a tensor of inference mode."""
    tensors = given(evidence) or [named(name, evidence) for name in _read_by(evidence)]
    tensors = [one for one in tensors if one.info is not None and one.info.is_inference]
    found = tensors[0] if tensors else None
    by = _by(evidence)
    words = "a tensor that was made in inference mode" if found is None else found.words
    is_it = "" if found is None else ", which was made in inference mode"
    made = None if found is None else line_of(found.key, evidence)
    causes = [Cause("other", f"{words} was made in inference mode", made)] if made else []
    unknown = () if made or not evidence.is_recorded else (f"which line made {words}",)
    return Explanation(
        what=f"{by} would save {words}{is_it}",
        why="tensors of inference mode have no version counter, so autograd could not notice "
        "that one was written after it was saved",
        variables=tuple(one.name for one in tensors if one.name),
        causes=tuple(causes),
        cures=tuple(_of_inference(found, evidence)),
        unknown=unknown if found is not None else ("which tensor it is",),
        marks=()
        if found is None or found.info is None
        else (Mark(found.info.id, "refused", words),),
    )


# --- which -----------------------------------------------------------------------------------


def _written(evidence: Evidence) -> Given:
    """The tensor that was to be written: the first that the call was given."""
    tensors = given(evidence)
    if tensors:
        return tensors[0]
    statement = evidence.statement
    text = None if statement is None else cures_writes.written_expression(statement, "")
    text = (text or "").partition("[")[0]
    return named(text, evidence) if text and is_expression(text) else Given(None, None, None)


def _read_by(evidence: Evidence) -> list[str]:
    """Variables that the line reads."""
    return [] if evidence.statement is None else names_read(evidence.statement.node)


def _leaf_behind(written: Given, evidence: Evidence) -> TensorInfo | None:
    """The leaf that a tensor is, or is a view of."""
    info = written.info
    if info is None or (info.is_leaf and info.requires_grad):
        return info
    on_it = evidence.history.on_storage(info.storage, evidence.step)
    leaves = [other for other in on_it if other.is_leaf and other.requires_grad]
    return leaves[0] if len(leaves) == 1 else None


def _node_name(info: TensorInfo | None, evidence: Evidence) -> str | None:
    node = evidence.history.node(None if info is None else info.node, evidence.step)
    return None if node is None else node.name


def _by(evidence: Evidence) -> str:
    name = "the line" if evidence.refused is None else evidence.refused.name
    return "the assignment" if name == "__setitem__" else name


def _registered(evidence: Evidence) -> Iterator[Cause]:
    """The line that registered a full backward hook, if there is one only."""
    lines = {}
    for step, facts in enumerate(evidence.recording.facts[: evidence.step]):
        statement = (
            evidence.statement_at(evidence.history.line(step)) if facts.kind == "line" else None
        )
        if statement is not None and calls_in(statement, "register_full_backward_hook"):
            lines[statement.line] = evidence.history.line(step)
    if len(lines) == 1:
        yield Cause("other", "the full backward hook was registered", next(iter(lines.values())))


def _mark(written: Given, by: str) -> tuple[Mark, ...]:
    if written.info is None:
        return ()
    return (Mark(written.info.id, "written", f"{by} was to write it"),)


# --- cures -----------------------------------------------------------------------------------


def _without_record(base: TensorInfo | None, evidence: Evidence) -> Iterator[Cure]:
    statement = evidence.statement
    if statement is None or statement.is_compound:
        return
    inside = "\n".join(f"    {line}" for line in statement.text.split("\n"))
    code = f"with torch.no_grad():\n{inside}"
    keeper = _keeper(base, evidence)
    if keeper is not None:
        does = f"after the backward that runs {keeper}, which needs the old values"
        yield Cure(does, code, "elsewhere", statement.line)
        return
    does = "changes the values without recording it; it stays a leaf"
    yield Cure(does, code, "instead", statement.line)


def _keeper(base: TensorInfo | None, evidence: Evidence) -> str | None:
    """A node that has saved a leaf, or a view of it, and may still be run."""
    for node in evidence.history.nodes(evidence.step) if base is not None else ():
        for slot in node.saved if evidence.history.is_alive(node.id, evidence.step) else ():
            is_it = base is not None and base.id in (slot.tensor, slot.view_of)
            same = base is not None and slot.storage is not None and slot.storage == base.storage
            if slot.state == "held" and (is_it or same):
                return node.name
    return None


def _of_written(written: Given, evidence: Evidence, module: str | None = None) -> Iterator[Cure]:
    statement = evidence.statement
    if statement is None or statement.is_compound:
        return
    name = "" if evidence.refused is None else evidence.refused.name
    code = cures_writes.out_of_place(statement, name)
    if code is not None:
        yield Cure("makes a new tensor", code, "instead", statement.line)
    elif module is not None:
        off = not_in_place(module, statement)
        yield from () if off is None else (off,)
    if written.name is not None and is_expression(written.name):
        does = f"{written.name} gets memory of its own, which may be written"
        yield cures_writes.clone_before(written.name, statement.line, does)


def _of_view(written: Given, source: str | None, evidence: Evidence) -> Iterator[Cure]:
    """Views taken one by one may be written; else what is written is not seen by the source."""
    statement = evidence.statement
    if statement is None or source is None:
        return
    for outer in reversed(statement.around):
        if not isinstance(outer, ast.For) or ast.unparse(outer.target) != written.name:
            continue
        if ast.unparse(outer.iter) in (source, f"{source}.unbind()", f"{source}.unbind(0)"):
            head = Statement(statement.code, outer, ())
            code = head.edited([(outer.iter, f"({source}[i] for i in range(len({source})))")])
            does = f"takes one view of {source} after the other; {source} is written too"
            yield Cure(does, code, "instead", head.line)
        return
    if not is_read_later(source, statement):
        yield from _of_written(written, evidence)


def _of_inference(found: Given | None, evidence: Evidence) -> Iterator[Cure]:
    statement = evidence.statement
    if found is None or statement is None:
        return
    if found.name is not None and found.name.isidentifier():
        does = f"an ordinary tensor with the values of {found.name}"
        yield cures_writes.clone_before(found.name, statement.line, does)
    made = evidence.statement_at(line_of(found.key, evidence))
    for outer in reversed(made.around if made is not None and made.code == statement.code else ()):
        head = Statement(statement.code, outer, ())
        calls = calls_in(head, "inference_mode")
        if len(calls) == 1:
            does = "records nothing either, and makes ordinary tensors"
            yield Cure(does, head.edited([(calls[0], "torch.no_grad()")]), "instead", head.line)
            return
