"""Backward was called on a tensor without a graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from gradviz.analysis.code.python_values import PythonValues
from gradviz.analysis.code.statements import statements_of
from gradviz.analysis.cuts import Cut, cut_words, tensors_of
from gradviz.analysis.dataflow import Dataflow, Origins
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_root import BackwardRoot, root_at
from gradviz.analysis.explain.errors.switched_off import switch_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import keep_leaf, stay_on_graph
from gradviz.analysis.explain.torch_messages import index_in
from gradviz.model.cut_reasons import REASONS
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.ids import by_number
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, listed, say


@dataclass(frozen=True, kw_only=True)
class NoGraph(Finding):
    """A root without a graph, and the tensors and cuts from which it was computed."""

    context: ErrorContext
    way: Origins
    origins: tuple[TensorInfo, ...]


def no_graph(context: ErrorContext) -> Iterator[NoGraph]:
    """The root without a graph, and the line that cut it off."""
    root = root_at(index_in(context.raised.message) or 0, context)
    way = origins_of_root(root, context)
    first = way.cuts[0] if way.cuts else None
    origins = list(_origins(way, context)) if first is None else []
    asked = _asked_for(context) if all(c.reason == "requires_grad" for c in way.cuts) else None
    names = [
        *root.names,
        None if asked is None else context.name(asked.id),
        *_cut_names(way, context),
        *(i.name for i in origins),
    ]
    cut_off = dict(_cut_off(way, context))
    yield NoGraph(
        history=context.history,
        step=context.step,
        words={"root": root.words, "why": _why(first, way)},
        variables=tuple(names),
        causes=tuple(_causes(way, origins, context)),
        targets={"cut": list(cut_off)},
        target_words=cut_off,
        unknown=tuple(_unknown(root, way, origins, context)),
        context=context,
        way=way,
        origins=tuple(origins),
    )


def origins_of_root(root: BackwardRoot, context: ErrorContext, requires: bool = False) -> Origins:
    """The origins of a root, and the cuts between; ``requires``: whether the root requires grad."""
    if not context.is_recorded:
        return Origins(is_lost=True)
    flow = Dataflow(context.history, PythonValues(context.history), context.step)
    return flow.back(root.keys, requires)


def _why(first: Cut | None, way: Origins) -> str:
    if first is not None:
        return REASONS[first.reason].why
    if way.is_lost:
        return "backward starts at the grad_fn of the root, and there is none"
    return "an operation is recorded only if one of its inputs requires grad, and none did"


def _cut_names(way: Origins, context: ErrorContext) -> Iterator[str | None]:
    """What the cuts were given; before parameters of modules, what was made of them."""
    for cut in way.cuts:
        names = [context.name(key) for key in cut.tensors]
        made = None if cut.result is None else cut.result.tensor
        if made is not None and any("." in name for name in names if name):
            yield context.name(made)
    for cut in way.cuts:
        yield from map(context.name, cut.tensors)


def _origins(way: Origins, context: ErrorContext) -> Iterator[TensorInfo]:
    """Tensors with names that it was computed from."""
    for key in by_number(way.origins):
        info = context.history.tensor(key, context.step) if key.startswith("t") else None
        if info is not None and context.name(key) and info.dtype.startswith(("float", "bf", "co")):
            yield info


# --- words -----------------------------------------------------------------------------------


def _causes(way: Origins, origins: list[TensorInfo], context: ErrorContext) -> Iterator[Cause]:
    asked = _asked_for(context) if all(cut.reason == "requires_grad" for cut in way.cuts) else None
    if asked is not None and (made := _made(asked, context)) is not None:
        name = context.term(asked.id)
        yield Cause("other", say("{0} does not require grad; {0}.grad is read later", name), made)
    switches = [one for one in (switch_of(cut, context) for cut in way.cuts) if one is not None]
    for at in list(dict.fromkeys(replace(one.at, step=None) for one in switches))[:2]:
        yield next(Cause("cut", s.what, s.at) for s in switches if replace(s.at, step=None) == at)
    told: dict[object, Cause] = {}
    for cut in way.cuts:
        words, at = words_of(cut, context), cut.at
        place = None if at is None else (at.code, at.line)
        told.setdefault((words, place), Cause("cut", words, at))
    yield from islice(told.values(), 3)
    if not way.cuts and len(origins) == 1 and not way.is_lost:
        made = _made(origins[0], context)
        if made is not None:
            name = context.term(origins[0].id)
            words = say("{} was made here and does not require grad", name)
            yield Cause("other", words, made)


def _asked_for(context: ErrorContext) -> TensorInfo | None:
    """The tensor of which the code reads ``.grad`` later, though it does not require grad."""
    noticed = context.statement
    found = {}
    for statement in () if noticed is None else statements_of(noticed.code):
        for part in statement.parts if noticed and statement.line > noticed.line else ():
            if isinstance(part, ast.Attribute) and part.attr == "grad":
                info = context.tensor_named(ast.unparse(part.value))
                if info is not None and not info.requires_grad and info.dtype.startswith("float"):
                    found[info.id] = info
    return next(iter(found.values())) if len(found) == 1 else None


def words_of(cut: Cut, context: ErrorContext) -> Sentence:
    """What a cut did, in a sentence."""
    return cut_words(cut, tensors_of(cut, context.history, context.step))


def _made(info: TensorInfo, context: ErrorContext) -> CodeLine | None:
    born = context.history.born(info.id)
    return context.history.line(born) if born else None


def _unknown(
    root: BackwardRoot, way: Origins, origins: list[TensorInfo], context: ErrorContext
) -> Iterator[Sentence]:
    if not context.is_recorded:
        yield say("where the graph was cut{}", context.how_to_know)
    elif way.cuts:
        return
    elif way.is_lost or not root.keys:
        yield Sentence(
            "where the graph was cut: the computation of the value could not be followed"
        )
    elif len(origins) > 1:
        names = listed([context.term(info.id) for info in origins])
        yield say("which of {} should require grad: none of them does", names)


def _cut_off(way: Origins, context: ErrorContext) -> Iterator[tuple[str, str]]:
    """Nodes and tensors that were cut off from the root, with the call that did it."""
    for cut in reversed(way.cuts):
        words = say("{} in {}", words_of(cut, context), context.at(cut.at))
        for key in (cut.node,) if cut.node is not None else cut.tensors:
            yield key, words


# --- fixes -----------------------------------------------------------------------------------


def fixes(found: NoGraph) -> Iterator[Fix]:
    """Stay in the graph where it was cut, or let what it was computed from require grad."""
    way, origins, context = found.way, found.origins, found.context
    updated = [*_updated_leaves(way, context)]
    if updated:
        yield from updated
        return  # a recorded line would make a result of the leaf
    frozen = all(cut.reason == "requires_grad" for cut in way.cuts)
    asked = _asked_for(context) if frozen else None
    if asked is not None:
        name = context.term(asked.id)
        fix = stay_on_graph.require_grad(name, _made(asked, context), context)
        if fix is not None:
            yield fix
        return
    yield from stay_on_graph.fixes_of(way.cuts, context)
    is_root = any(info.id in {root.id for root in context.roots} for info in origins)
    if not way.cuts and not way.is_lost and len(origins) == 1 and not is_root:
        name = context.term(origins[0].id)
        fix = stay_on_graph.require_grad(name, _made(origins[0], context), context)
        if fix is not None:
            yield fix


def _updated_leaves(way: Origins, context: ErrorContext) -> Iterator[Fix]:
    """Where a line under ``no_grad`` bound the name of a leaf to a new tensor, as to update it."""
    for cut in way.cuts:
        statement = context.statement_at(cut.at)
        for tensor in context.history.tensors_at(context.step):
            born = context.history.born(tensor.id)
            leaf = context.history.leaf_before(tensor.id, context.step)
            if leaf is None or not born or context.history.line(born) != cut.at:
                continue
            yield from keep_leaf.written_in_place(leaf, tensor, statement)
