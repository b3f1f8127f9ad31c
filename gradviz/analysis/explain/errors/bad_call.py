"""Calls that raise an error because of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from gradviz.analysis.code.bindings import bound_before
from gradviz.analysis.code.statements import is_expression, is_named, names_read, statements_of
from gradviz.analysis.cuts import Cut
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import reachable, root_nodes
from gradviz.analysis.explain.errors.backward_root import (
    BackwardRoot,
    called_root,
    count_of_roots,
    root_at,
)
from gradviz.analysis.explain.errors.ids import use_of
from gradviz.analysis.explain.errors.no_graph import origins_of_root, words_of
from gradviz.analysis.explain.errors.operands import GivenOperand, given, line_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import mean_loss, refused_calls, stay_on_graph, to_numpy
from gradviz.analysis.explain.torch_messages import index_in, wants_a_real_number
from gradviz.model.events import OptimizerStepped, ZeroedGrad
from gradviz.model.explanation import Cause, Fix
from gradviz.model.formatting import plural, shape
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, say

_NOTHING = GivenOperand(None, None, None)


_ONE_INPUT: Final = "which of the inputs it is. Pass one input per call to see which raises"


@dataclass(frozen=True, kw_only=True)
class OperandRefused(Finding):
    """A tensor argument for which a call raised an error."""

    context: ErrorContext
    operand: GivenOperand


def _first(context: ErrorContext) -> GivenOperand:
    return next(iter(given(context)), _NOTHING)


# --- where backward starts -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RootRefused(Finding):
    """A root at which backward could not start, and the gradient passed for it."""

    context: ErrorContext
    root: BackwardRoot
    gradient: GivenOperand | None = None

    @property
    def is_complex_number(self) -> bool:
        """Whether it is a single number, and a complex one."""
        sizes = self.root.sizes
        is_one = sizes is not None and prod(sizes) == 1
        return is_one and _is_complex(self.root, self.context)


def not_a_scalar(context: ErrorContext) -> Iterator[RootRefused]:
    """The root is not a single real number, and no gradient was passed."""
    found = _bad_root(context)
    is_one = found.sizes is not None and prod(found.sizes) == 1
    count = "more than one element"
    if found.sizes is not None:
        count = f"{plural(prod(found.sizes), 'element')} (shape {shape(found.sizes)})"
    is_complex = _is_complex(found, context)
    what = f"is complex ({found.dtype})" if is_complex and is_one else f"has {count}"
    causes = [Cause("backward", say("backward would start at {}", found.words), context.noticed)]
    made = line_of(found.keys[0], context) if found.keys else None
    if _is_trained(found, context) and not _is_per_example(found, context):
        made_it = say("{} is made here and has {}", found.words, count)
        causes = [Cause("other", made_it, made), *causes] if made is not None else []
    yield RootRefused(
        history=context.history,
        step=context.step,
        words={"it": found.words, "what": what},
        variables=(found.name,),
        node=context.node_of(found.info),
        causes=tuple(causes),
        targets=_target(found.info),
        context=context,
        root=found,
    )


def _is_complex(root: BackwardRoot, context: ErrorContext) -> bool:
    is_said = wants_a_real_number(context.raised.message)
    return is_said or (root.dtype or "").startswith("complex")


def _bad_root(context: ErrorContext) -> BackwardRoot:
    """The first root at which backward cannot start by itself."""
    roots = [root_at(place, context) for place in range(count_of_roots(context))]
    bad = [r for r in roots if r.sizes is not None and prod(r.sizes) != 1]
    bad += [r for r in roots if (r.dtype or "").startswith("complex")]
    return next(iter((*bad, *roots)), root_at(0, context))


def summed(found: RootRefused) -> Iterator[Fix]:
    """A mean or sum of the root, or its real part, or a gradient for it."""
    is_loss = _is_trained(found.root, found.context) and not _is_per_example(
        found.root, found.context
    )
    if is_loss and not _is_complex(found.root, found.context):
        yield from mean_loss.where_made(found.root, found.context)
        yield from mean_loss.where_used(found.context)
        return
    yield from refused_calls.of_non_scalar(found.is_complex_number, found.context)


def _is_trained(root: BackwardRoot, context: ErrorContext) -> bool:
    """Whether a parameter of a module or an optimizer is among what the root is computed from."""
    return bool(_trained(_leaves(root, context), context))


def _is_per_example(root: BackwardRoot, context: ErrorContext) -> bool:
    """Whether the gradient of what is no parameter is asked for: one for each element of the root,
    which their sum gives, and their mean does not."""
    called = called_root(context)
    if called is None:
        return False
    if not called.is_method:
        asked = {one.key for one in _inputs(context)[0] if one.key is not None}
        return not asked or not asked <= _trained(asked, context)
    leaves = _leaves(root, context)
    names = {context.name(key) for key in leaves - _trained(leaves, context)} - {None}
    reads = (part for one in statements_of(called.statement.code) for part in one.parts)
    return any(
        isinstance(part, ast.Attribute) and part.attr == "grad" and ast.unparse(part.value) in names
        for part in reads
    )


def _leaves(root: BackwardRoot, context: ErrorContext) -> set[str]:
    """Leaves that the root is computed from."""
    node = None if root.info is None else root.info.node
    start = [node] if node is not None else root_nodes(context)
    return {one.variable for one in reachable(start, context).values() if one.variable is not None}


def _trained(leaves: set[str], context: ErrorContext) -> set[str]:
    """Those which are parameters of a module or an optimizer."""
    history, until = context.history, context.step
    given = {key for _, e in history.events(OptimizerStepped, until) for key in e.parameters}
    given |= {key for _, e in history.events(ZeroedGrad, until) for key in e.tensors}
    return {key for key in leaves if key in given or "." in (context.name(key) or "")}


def other_shape(context: ErrorContext) -> Iterator[RootRefused]:
    """The gradient passed to backward does not have the shape of the root."""
    place = index_in(context.raised.message) or 0
    root = root_at(place, context)
    tensors = given(context)
    count = len(tensors) // 2
    gradient = tensors[count + place] if len(tensors) == 2 * count and count else None
    is_known = gradient is not None and gradient.sizes is not None and root.sizes is not None
    yield RootRefused(
        history=context.history,
        step=context.step,
        case="" if is_known else "shapes not known",
        words={
            "root": root.words,
            "given": shape((gradient.sizes if gradient else None) or ()),
            "wanted": shape(root.sizes or ()),
        },
        variables=(gradient.name if gradient is not None else None, root.name),
        node=context.node_of(root.info),
        causes=(Cause("backward", say("the gradient was given here"), context.noticed),),
        targets=_target(root.info),
        context=context,
        root=root,
        gradient=gradient,
    )


def gradient_of_its_shape(found: RootRefused) -> Iterator[Fix]:
    """A gradient of the shape of the root."""
    yield from refused_calls.of_gradient(found.root, found.gradient, found.context)


# --- what a tensor cannot do -----------------------------------------------------------------


def no_derivative(context: ErrorContext) -> Iterator[OperandRefused]:
    """``requires_grad`` of a tensor of integers."""
    tensors = given(context)
    found = tensors[0] if tensors else GivenOperand(None, None, None)
    found = replace(found, name=found.name or refused_calls.asked_name(context))
    words = found.words if found.name else Sentence("the tensor")
    typed = _typed_here(found, context)
    use = use_of(typed or found.name, found, context)
    dtype = f"is {found.dtype}" if found.dtype else "has an integer or boolean dtype"
    made = line_of(found.key, context) if tensors else None
    causes = [] if made is None else [Cause("other", say("{} {}", words, dtype), made)]
    if (made is None and context.is_recorded) or context.site is None:
        what = (
            "asks for the gradient of {}" if context.site is not None else "makes a parameter of {}"
        )
        causes.insert(0, Cause("other", say(what, words), context.noticed))
    unknown = "whether {} holds ids. Of ids take the gradient of what they select"
    yield OperandRefused(
        history=context.history,
        step=context.step,
        case="ids" if use == "ids" else "",
        unknown=(say(unknown, words),) if use == "module" else (),
        words={"it": words, "is_it": dtype},
        variables=(found.name, typed),
        causes=tuple(causes),
        targets=_target(found.info),
        context=context,
        operand=found,
    )


def _typed_here(found: GivenOperand, context: ErrorContext) -> str | None:
    """How the line types the tensor: in a function, it may have another name."""
    if context.statement is not None:
        for part in context.statement.parts:
            if isinstance(part, ast.Attribute) and part.attr in _FLAGS:
                if found.name is not None and is_named(part.value, found.name):
                    return found.name
                text = ast.unparse(part.value)
                return text if is_expression(text) else None
    return found.name


_FLAGS: Final = ("requires_grad", "requires_grad_")


def as_floats(found: OperandRefused) -> Iterator[Fix]:
    """A floating point dtype; of ids, no flag."""
    typed = _typed_here(found.operand, found.context)
    if found.case == "ids":
        if typed is None or not _is_gradient_read(typed, found.context):
            yield from refused_calls.of_ids(found.context)
    elif not found.unknown and not _is_cut(found.operand, found.context):
        yield from refused_calls.of_integers(found.operand.name, found.context)


def _is_cut(one: GivenOperand, context: ErrorContext) -> bool:
    """Whether integers were made from a tensor that requires grad, as ``argmax`` does: a new leaf
    would hide that no gradient goes through."""
    made = context.history.makers.get(one.key or "")
    if made is not None or context.statement is None or one.name is None:
        return made is not None and bool(made[1].required)
    bound = bound_before(one.name, context.statement)
    read = [] if bound is None else names_read(getattr(bound.node, "value", None) or bound.node)
    infos = (context.tensor_named(name) for name in read)
    return any(info is not None and info.requires_grad for info in infos)


def _is_gradient_read(name: str, context: ErrorContext) -> bool:
    """Whether the code reads ``.grad`` of a variable."""
    lines = () if context.statement is None else statements_of(context.statement.code)
    return any(
        isinstance(part, ast.Attribute) and part.attr == "grad" and ast.unparse(part.value) == name
        for one in lines
        for part in one.parts
    )


def numpy(context: ErrorContext) -> Iterator[OperandRefused]:
    """A tensor that requires grad would become a NumPy array."""
    found = _first(context)
    if _is_only_on_device(found, context):
        return
    if found.name is None and context.site is not None:
        typed = [*map(ast.unparse, to_numpy.typed_tensors(found, context.site, context)), None][0]
        found = replace(found, name=typed if typed is None or is_expression(typed) else None)
    cause = say("{} would become an array", found.words)
    yield OperandRefused(
        history=context.history,
        step=context.step,
        words={"it": found.words},
        variables=(found.name,),
        node=context.node_of(found.info),
        causes=(Cause("other", cause, context.noticed),),
        targets=_target(found.info),
        context=context,
        operand=found,
    )


def _is_on_device(context: ErrorContext) -> bool:
    return context.raised.type == "TypeError"


def _is_only_on_device(found: GivenOperand, context: ErrorContext) -> bool:
    """Whether it could become a NumPy array if it were in host memory."""
    info = found.info
    return _is_on_device(context) and info is not None and not info.requires_grad


def numpy_of_device(context: ErrorContext) -> Iterator[OperandRefused]:
    """A tensor on a device, which does not require grad, would become a NumPy array."""
    found = _first(context)
    if _is_only_on_device(found, context):
        yield OperandRefused(
            history=context.history,
            step=context.step,
            words={"it": found.words},
            variables=(found.name,),
            context=context,
            operand=found,
        )


def detached(found: OperandRefused) -> Iterator[Fix]:
    """``detach()`` before it becomes an array."""
    context = found.context
    yield from to_numpy.of_numpy(found.operand, _is_on_device(context), context)


# --- what does not depend on it --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Unused(Finding):
    """An input that the root does not depend on, and the calls that cut it off."""

    context: ErrorContext
    operand: GivenOperand | None
    cuts: tuple[Cut, ...]
    frozen: tuple[GivenOperand, ...]
    """The inputs that do not require grad: it, and others that torch would refuse after it."""
    reaches_others: bool
    """Whether the root depends on another of the inputs."""


def unused(context: ErrorContext) -> Iterator[Unused]:
    """``inputs`` of ``autograd.grad`` contains a tensor on which the root does not depend."""
    root = root_at(0, context)
    inputs, missed = _inputs(context)
    found = missed[0] if missed else None
    words = Sentence("an input") if found is None else found.words
    frozen = tuple(m for m in missed if m.info is not None and not m.info.requires_grad)
    key = None if found is None else found.key
    found_cuts = origins_of_root(root, context, requires=True).cuts
    cuts = tuple(cut for cut in found_cuts if key in cut.tensors and not cut.is_doubtful)
    causes = [Cause("cut", words_of(cut, context), cut.at) for cut in cuts]
    if found is not None and not causes and (made := line_of(key, context)) is not None:
        what = "{} was made here; nothing that {} depends on used it"
        causes.append(Cause("other", say(what, words, root.words), made))
    yield Unused(
        history=context.history,
        step=context.step,
        case="frozen" if found in frozen else "",
        words={"root": root.words, "it": words},
        variables=(found.name if found else None, root.name),
        causes=tuple(causes),
        targets=_target(None if found is None else found.info),
        unknown=() if found is not None else (say(_ONE_INPUT),),
        context=context,
        operand=found,
        cuts=cuts,
        frozen=frozen,
        reaches_others=len(missed) < len(inputs),
    )


def _inputs(context: ErrorContext) -> tuple[list[GivenOperand], list[GivenOperand]]:
    """All inputs, and those that backward does not reach."""
    nodes = reachable(root_nodes(context), context)
    tensors = given(context)
    if context.backward is not None:
        asked: tuple[str, ...] = context.backward[1].inputs
        tensors = [one for one in tensors if one.key in asked]
    else:
        tensors = tensors[1:]
    missed = [
        one
        for one in tensors
        if one.info is None or one.info.node is None or one.info.node not in nodes
    ]
    return tensors, missed


def asked_for(found: Unused) -> Iterator[Fix]:
    """``requires_grad``, a graph without the cut, or ``allow_unused=True``."""
    context = found.context
    if found.operand in found.frozen:
        fixes = [
            fix
            for one in found.frozen
            if one.name is not None
            for fix in stay_on_graph.require_grad(one.words, line_of(one.key, context), context)
        ]
        if len(fixes) == len(found.frozen):  # with fewer, torch refuses the next one
            yield replace(fixes[0], also=tuple(fixes[1:]))
        return
    yield from stay_on_graph.fixes_of(found.cuts, context)
    if found.reaches_others:
        yield from refused_calls.of_unused(context)


def _target(info: TensorInfo | None) -> dict[str, list[str | None]]:
    return {"it": [None if info is None else info.id]}
