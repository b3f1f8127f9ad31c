"""A write in place that autograd refuses at once: of leaves, of some views, behind hooks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.fault import Finding
from gradviz.analysis.explaining.fixes import modes
from gradviz.analysis.explaining.fixes.modules import not_in_place
from gradviz.analysis.explaining.fixes.out_of_place import out_of_place as new_tensor
from gradviz.analysis.explaining.fixes.out_of_place import spelled, target_of
from gradviz.analysis.explaining.fixes.rewriting import Rewriting, before
from gradviz.analysis.explaining.operands import Given, given, line_of, made_by, named
from gradviz.analysis.explaining.rebinding import may_leave
from gradviz.analysis.explaining.statements import (
    Statement,
    calls_in,
    is_expression,
    is_read_later,
    names_read,
)
from gradviz.model.explanation import Cause, Cure
from gradviz.model.facts import TensorInfo
from gradviz.model.sentence import Term, say


@dataclass(frozen=True, kw_only=True)
class WriteRefused(Finding):
    """A tensor that was to be written, and what it belongs to."""

    evidence: Evidence
    written: Given
    base: TensorInfo | None = None
    """The leaf that it is, or is a part of."""
    source: str | None = None
    """Variable of which it is one of several views."""
    module: str | None = None
    """The module whose output it is."""


def leaf(evidence: Evidence) -> Iterator[WriteRefused]:
    """A leaf that requires grad was to be written, or a part of it."""
    written = _written(evidence)
    base = _leaf_behind(written, evidence)
    name = evidence.name(base.id) if base is not None else None
    whole = written.words if base is None or name is None else evidence.term(base.id)
    is_part = name not in (None, written.name)
    by = _by(evidence)
    yield WriteRefused(
        history=evidence.history,
        step=evidence.step,
        words={
            "by": by,
            "it": say("{}, a part of {}", written.words, whole) if is_part else whole,
        },
        variables=(name, written.name),
        node=evidence.node_of(base),
        versions=(None, None if base is None else base.version),
        causes=(_was_to_write(by, "", written, evidence),),
        targets={"it": [None if base is None else base.id]},
        evidence=evidence,
        written=written,
        base=base,
    )


def several_views(evidence: Evidence) -> Iterator[WriteRefused]:
    """One of several views that one call gave was to be written."""
    written = _written(evidence)
    made = made_by(written.key, evidence)
    key = None if made is None else next(filter(evidence.name, made[1].reads), None)
    by = _by(evidence)
    causes = [_was_to_write(by, "", written, evidence)]
    if made is not None:
        of = say(" of {}", evidence.term(key)) if key is not None else ""
        words = say("{} gave {} as one of several views{}", made[1].name, written.words, of)
        causes.append(Cause("other", words, evidence.history.line(made[0])))
    yield WriteRefused(
        history=evidence.history,
        step=evidence.step,
        words={"by": by, "it": written.words},
        variables=(written.name, evidence.name(key)),
        node=evidence.node_of(written.info),
        causes=tuple(causes),
        targets=_target(written),
        evidence=evidence,
        written=written,
        source=evidence.name(key),
    )


def behind_hook(evidence: Evidence) -> Iterator[WriteRefused]:
    """The output of a module with a full backward hook was to be written."""
    written = _written(evidence)
    by, module = _by(evidence), None if evidence.refused is None else evidence.refused.module
    where = f" in {module}" if module else ""
    yield WriteRefused(
        history=evidence.history,
        step=evidence.step,
        words={"by": by, "where": where},
        variables=(written.name,),
        node_name="BackwardHookFunctionBackward",
        causes=(_was_to_write(by, where, written, evidence), *_registered(evidence)),
        targets=_target(written),
        evidence=evidence,
        written=written,
        module=module,
    )


@dataclass(frozen=True, kw_only=True)
class InferenceSaved(Finding):
    """The tensor of inference mode that was to be saved, if it is known."""

    evidence: Evidence
    saved_tensor: Given | None


def inference(evidence: Evidence) -> Iterator[InferenceSaved]:
    """An operation that is recorded was to save a tensor of inference mode."""
    tensors = given(evidence) or [named(name, evidence) for name in _read_by(evidence)]
    tensors = [one for one in tensors if one.info is not None and one.info.is_inference]
    found = tensors[0] if tensors else None
    words = say("a tensor that was made in inference mode") if found is None else found.words
    made = None if found is None else line_of(found.key, evidence)
    causes = [Cause("other", say("{} was made in inference mode", words), made)] if made else []
    unknown = () if made or not evidence.is_recorded else (say("which line made {}", words),)
    yield InferenceSaved(
        history=evidence.history,
        step=evidence.step,
        words={
            "by": _by(evidence),
            "it": words,
            "which": "" if found is None else ", which was made in inference mode",
        },
        variables=tuple(one.name for one in tensors),
        causes=tuple(causes),
        targets={} if found is None else _target(found),
        unknown=unknown if found is not None else (say("which tensor it is"),),
        evidence=evidence,
        saved_tensor=found,
    )


# --- which -----------------------------------------------------------------------------------


def _written(evidence: Evidence) -> Given:
    """The tensor that was to be written: the first that the call was given."""
    tensors = given(evidence)
    if tensors:
        return tensors[0]
    statement = evidence.statement
    node = None if statement is None else statement.node
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    text = "" if statement is None or target is None else statement.segment(target)
    text = text.partition("[")[0]
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


def _was_to_write(by: str, where: str, written: Given, evidence: Evidence) -> Cause:
    return Cause("write", say("{}{} was to write {}", by, where, written.words), evidence.noticed)


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
        words = say("the full backward hook was registered")
        yield Cause("other", words, next(iter(lines.values())))


def _target(written: Given) -> dict[str, list[str | None]]:
    return {"it": [None if written.info is None else written.info.id]}


# --- cures -----------------------------------------------------------------------------------


def without_record(found: WriteRefused) -> Iterator[Cure]:
    """The write under ``no_grad``, where nothing needs the old values."""
    base, evidence = found.base, found.evidence
    statement = evidence.statement
    if statement is None or statement.is_compound:
        return
    code = modes.without_record(statement)
    keeper = _keeper(base, evidence)
    if keeper is not None:
        does = say("after the backward that runs {}, which needs the old values", keeper)
        yield Cure(does, code, "elsewhere", statement.line)
        return
    does = say("changes the values without recording it; it stays a leaf")
    yield Cure(does, code, "instead", statement.line)


def _keeper(base: TensorInfo | None, evidence: Evidence) -> Term | None:
    """A node that has saved a leaf, or a view of it, and may still be run."""
    for node in evidence.history.nodes(evidence.step) if base is not None else ():
        for slot in node.saved if evidence.history.is_alive(node.id, evidence.step) else ():
            is_it = base is not None and base.id in (slot.tensor, slot.view_of)
            same = base is not None and slot.storage is not None and slot.storage == base.storage
            if slot.state == "held" and (is_it or same):
                return Term(node.id, node.name)
    return None


def out_of_place(found: WriteRefused) -> Iterator[Cure]:
    """A new tensor, or a copy that may be written."""
    written, evidence, module = found.written, found.evidence, found.module
    statement = evidence.statement
    if statement is None or statement.is_compound:
        return
    new = _new_tensor(written, evidence)
    if new is not None and not new.copied:
        yield new.cure(say("makes a new tensor"))
    elif module is not None:
        off = not_in_place(module, statement)
        yield from () if off is None else (off,)
    yield from _copy(written, statement, "{} gets memory of its own, which may be written")


def _new_tensor(written: Given, evidence: Evidence) -> Rewriting | None:
    """The line that was refused, as one that makes a new tensor."""
    refused = evidence.refused
    site = evidence.site
    target = None if site is None or refused is None else target_of(site, refused.name)
    if site is None or refused is None or target is None:
        return None
    typed = spelled(target, written.name)
    if written.name is None and is_expression(text := site.statement.segment(target)):
        typed = text
    if typed is None:
        return None
    is_read = not may_leave(site.statement, typed)
    return new_tensor(site, refused.name, typed, is_read)


def _copy(written: Given, statement: Statement, template: str) -> Iterator[Cure]:
    """The line goes on with a copy of what it was given."""
    if written.name is None or not is_expression(written.name):
        return
    change = before(statement, f"{written.name} = {written.name}.clone()")
    if change is not None:
        yield Rewriting(statement, (change,)).cure(say(template, written.words))


def one_by_one(found: WriteRefused) -> Iterator[Cure]:
    """Views taken one by one may be written; else what is written is not seen by the source."""
    written, source, evidence = found.written, found.source, found.evidence
    statement = evidence.statement
    if statement is None or source is None:
        return
    for outer in reversed(statement.around):
        if not isinstance(outer, ast.For) or ast.unparse(outer.target) != written.name:
            continue
        if ast.unparse(outer.iter) in (source, f"{source}.unbind()", f"{source}.unbind(0)"):
            head = Statement(statement.code, outer, ())
            code = head.edited([(outer.iter, f"({source}[i] for i in range(len({source})))")])
            term = named(source, evidence).words
            does = say("takes one view of {0} after the other; {0} is written too", term)
            yield Cure(does, code, "instead", head.line)
        return
    if not is_read_later(source, statement):
        yield from out_of_place(found)


def ordinary_tensor(finding: InferenceSaved) -> Iterator[Cure]:
    """A copy, or ``no_grad`` in place of inference mode."""
    found, evidence = finding.saved_tensor, finding.evidence
    statement = evidence.statement
    if found is None or statement is None:
        return
    if found.name is not None and found.name.isidentifier():
        yield from _copy(found, statement, "an ordinary tensor with the values of {}")
    made = evidence.statement_at(line_of(found.key, evidence))
    for outer in reversed(made.around if made is not None and made.code == statement.code else ()):
        head = Statement(statement.code, outer, ())
        calls = calls_in(head, "inference_mode")
        if len(calls) == 1:
            does = say("records nothing either, and makes ordinary tensors")
            yield Cure(does, head.edited([(calls[0], "torch.no_grad()")]), "instead", head.line)
            return
