"""The tensor that a call of backward or grad was about."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import Statement, is_expression
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.model.events import Refused
from gradviz.model.formatting import shape
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, Term


@dataclass(frozen=True, slots=True)
class BackwardRoot:
    """A root of the backward that failed.

    Args:
        name: Its variable, or its expression in the line.
        info: What is known about it.
        keys: Its key, as calls of torch have it.
        sizes: Its shape.
        text: The expression in the line that raised.
        dtype: Its dtype.
    """

    name: str | None
    info: TensorInfo | None
    keys: tuple[str, ...]
    sizes: tuple[int, ...] | None
    text: str | None = None
    dtype: str | None = None

    @property
    def words(self) -> Sentence:
        """The tensor in a sentence."""
        if self.name is not None:
            return Sentence(self.name if self.info is None else Term(self.info.id, self.name))
        if self.text is not None:
            return Sentence(self.text)
        sizes = "the root" if self.sizes is None else f"a tensor of shape {shape(self.sizes)}"
        return Sentence(sizes)

    def names(self, context: ErrorContext) -> list[str]:
        """Its variable, or those of the expression that gave it, without what is only called."""
        if self.name is not None or self.text is None:
            return [self.name] if self.name is not None else []
        try:
            return context.values_read(ast.parse(self.text, mode="eval"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []


def root_at(index: int, context: ErrorContext) -> BackwardRoot:
    """The root with this number."""
    refused = context.refused
    if refused is not None and refused.name in ("backward", "grad"):
        tensors = [o for o in refused.inputs if o.shape is not None]
        key = refused.reads[index] if index < len(refused.reads) else None
        operand = tensors[index] if index < len(tensors) else None
        info = context.history.tensor(key, context.step)
        name = context.name(key) if info is not None else None
        sizes = operand.shape if operand is not None else None
        dtype = operand.dtype if operand is not None else None
        keys = () if key is None else (key,)
        return BackwardRoot(name, info, keys, sizes, _in_text(index, context), dtype)
    text = _in_text(index, context)
    name = text if text is not None and is_expression(text) else None
    info = None if name is None else context.tensor_named(name)
    return BackwardRoot(
        name,
        info,
        () if info is None else (info.id,),
        None if info is None else info.shape,
        text,
        None if info is None else info.dtype,
    )


def count_of_roots(context: ErrorContext) -> int:
    """Number of roots in the call, read from its line."""
    found = called_root(context)
    return len(found.root.elts) if found and isinstance(found.root, (ast.List, ast.Tuple)) else 1


@dataclass(frozen=True, slots=True)
class CalledRoot:
    """The call of backward or grad that raised, in the text of its line.

    Args:
        statement: The statement it is part of.
        call: The call.
        root: What it was to start at.
        is_method: Whether it is the method of a tensor.
    """

    statement: Statement
    call: ast.Call
    root: ast.expr
    is_method: bool


def called_root(context: ErrorContext) -> CalledRoot | None:
    """The call of backward or grad that raised; ``None`` if the line does not show it."""
    events = context.recording.records[context.step].events
    found = (e for e in events if isinstance(e, Refused) and e.name in ("backward", "grad"))
    site = site_of(context.history, context.step, next(found, None))
    call = None if site is None else site.call_of("backward", "grad")
    if site is None or call is None:
        return None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
        owner = call.func.value
        if not (isinstance(owner, ast.Attribute) and owner.attr == "autograd"):
            return CalledRoot(site.statement, call, owner, True)
    return CalledRoot(site.statement, call, call.args[0], False) if call.args else None


def _in_text(index: int, context: ErrorContext) -> str | None:
    found = called_root(context)
    if found is None:
        return None
    root = found.root
    if isinstance(root, (ast.List, ast.Tuple)):
        if index >= len(root.elts):
            return None
        root = root.elts[index]
    return found.statement.segment(root)
