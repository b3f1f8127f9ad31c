"""The tensor arguments of the call that raised."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import is_expression
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.model.events import Operation
from gradviz.model.explanation import CodeLine
from gradviz.model.formatting import shape
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, Term


@dataclass(frozen=True, slots=True)
class GivenOperand:
    """A tensor among the arguments.

    Args:
        key: Its key, as calls of torch have it; ``None`` if it is not known.
        name: Its variable.
        info: What is known about it.
        sizes: Its shape.
        dtype: Its dtype.
    """

    key: str | None
    name: str | None
    info: TensorInfo | None
    sizes: tuple[int, ...] | None = None
    dtype: str | None = None

    @property
    def words(self) -> Sentence:
        """The tensor in a sentence."""
        if self.name is not None:
            return Sentence(self.name if self.info is None else Term(self.info.id, self.name))
        sizes = "" if self.sizes is None else f" of shape {shape(self.sizes)}"
        return Sentence(f"a tensor{sizes}")

    @property
    def targets(self) -> dict[str, list[str | None]]:
        """The tensor, to be marked as that which a finding is about."""
        return {"it": [None if self.info is None else self.info.id]}


def given(context: ErrorContext) -> list[GivenOperand]:
    """The tensor arguments of the call that raised, in order."""
    refused = context.refused
    if refused is None:
        return []
    operands = [operand for operand in refused.inputs if operand.shape is not None]
    found = []
    for place, key in enumerate(refused.reads):
        operand = operands[place] if place < len(operands) else None
        info = context.history.tensor(key, context.step) if key.startswith("t") else None
        name = context.name(key) or _target(key, context)
        sizes = operand.shape if operand is not None else None
        found.append(
            GivenOperand(key, name, info, sizes, operand.dtype if operand is not None else None)
        )
    return found


def named(name: str, context: ErrorContext) -> GivenOperand:
    """A tensor by its name, where the call is not known."""
    info = context.tensor_named(name)
    if info is None:
        return GivenOperand(None, name, None)
    return GivenOperand(info.id, name, info, info.shape, info.dtype)


def _target(key: str, context: ErrorContext) -> str | None:
    """The attribute to which the line that made a tensor assigns it."""
    made = [s for s, e in context.history.events(Operation, context.step) if key in e.made]
    statement = context.statement_at(context.history.line(made[0])) if made else None
    if made and made[0] != context.step and statement is not None:
        node = statement.node
        last = [e for s, e in context.history.events(Operation, made[0], made[0])][-1]
        site = site_of(context.history, made[0], last)
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            return None
        if key in last.made and (site is None or site.node is node.value):
            text = statement.segment(node.targets[0])
            return text if is_expression(text) else None
    return None


def made_by(key: str | None, context: ErrorContext) -> tuple[int, Operation] | None:
    """The call that returned a tensor, with its step."""
    found = [
        (step, event)
        for step, event in context.history.events(Operation, context.step)
        if key in event.made and not event.recomputed and key not in event.reads
    ]
    return found[-1] if found else None


def line_of(key: str | None, context: ErrorContext) -> CodeLine | None:
    """The line that made a tensor."""
    made = made_by(key, context)
    if made is not None:
        return context.history.line(made[0])
    born = context.history.born(key) if key is not None else None
    return context.history.line(born) if born else None
