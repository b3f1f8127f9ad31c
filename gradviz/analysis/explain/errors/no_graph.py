"""Backward was called on a tensor that has no graph behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.cuts import Cut, cut_words, tensors_of
from gradviz.analysis.dataflow import Dataflow, Origins
from gradviz.analysis.explain.code.python_values import PythonValues
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_root import BackwardRoot, root_at
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import stay_on_graph as fixes_cut
from gradviz.analysis.explain.torch_messages import index_in
from gradviz.model.cut_reasons import REASONS
from gradviz.model.explanation import Cause, CodeLine, Cure
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, listed, say


@dataclass(frozen=True, kw_only=True)
class NoGraph(Finding):
    """A root without a graph, and the way back from it."""

    context: ErrorContext
    trail: Origins
    origins: tuple[TensorInfo, ...]


def no_graph(context: ErrorContext) -> Iterator[NoGraph]:
    """Which root has no graph, and which line cut it off."""
    root = root_at(index_in(context.raised.message) or 0, context)
    trail = way_back(root, context)
    first = trail.cuts[0] if trail.cuts else None
    origins = list(_origins(trail, context)) if first is None else []
    names = [*root.names, *_cut_names(trail, context), *(i.name for i in origins)]
    cut_off = dict(_cut_off(trail, context))
    yield NoGraph(
        history=context.history,
        step=context.step,
        words={"root": root.words, "why": _why(first, trail)},
        variables=tuple(names),
        causes=tuple(_causes(trail, origins, context)),
        targets={"cut": list(cut_off)},
        target_words=cut_off,
        unknown=tuple(_unknown(root, trail, origins, context)),
        context=context,
        trail=trail,
        origins=tuple(origins),
    )


def way_back(root: BackwardRoot, context: ErrorContext, requires: bool = False) -> Origins:
    """Where a root came from; ``requires`` says whether it requires grad."""
    if not context.is_recorded:
        return Origins(is_lost=True)
    flow = Dataflow(context.history, PythonValues(context.history), context.step)
    return flow.back(root.keys, requires)


def _why(first: Cut | None, trail: Origins) -> str:
    if first is not None:
        return REASONS[first.reason].why
    if trail.is_lost:
        return "backward goes along grad_fn, and there is none"
    return "an operation is recorded only if one of its inputs requires grad, and none did"


def _cut_names(trail: Origins, context: ErrorContext) -> Iterator[str | None]:
    return (context.name(key) for cut in trail.cuts for key in cut.tensors)


def _origins(trail: Origins, context: ErrorContext) -> Iterator[TensorInfo]:
    """Tensors with names that it was computed from."""
    for key in sorted(trail.origins, key=lambda k: int(k[1:])):
        info = context.history.tensor(key, context.step) if key.startswith("t") else None
        if info is not None and context.name(key) and info.dtype.startswith(("float", "bf", "co")):
            yield info


# --- words -----------------------------------------------------------------------------------


def _causes(trail: Origins, origins: list[TensorInfo], context: ErrorContext) -> Iterator[Cause]:
    for cut in trail.cuts[:3]:
        yield Cause("cut", words_of(cut, context), cut.at)
    if not trail.cuts and len(origins) == 1 and not trail.is_lost:
        made = _made(origins[0], context)
        if made is not None:
            name = context.term(origins[0].id)
            words = say("{} was made here and does not require grad", name)
            yield Cause("other", words, made)


def words_of(cut: Cut, context: ErrorContext) -> Sentence:
    """What a cut did, in a sentence."""
    return cut_words(cut, tensors_of(cut, context.history, context.step))


def _made(info: TensorInfo, context: ErrorContext) -> CodeLine | None:
    born = context.history.born(info.id)
    return context.history.line(born) if born else None


def _unknown(
    root: BackwardRoot, trail: Origins, origins: list[TensorInfo], context: ErrorContext
) -> Iterator[Sentence]:
    if not context.is_recorded:
        yield Sentence("where the graph was cut; gradviz.record() around the code would tell")
    elif trail.cuts:
        return
    elif trail.is_lost or not root.keys:
        yield Sentence("where the graph was cut: the way of the value could not be followed")
    elif len(origins) > 1:
        names = listed([context.term(info.id) for info in origins])
        yield say("which of {} should require grad: none of them does", names)


def _cut_off(trail: Origins, context: ErrorContext) -> Iterator[tuple[str, str]]:
    """What lost its way to the root, and by which call."""
    for cut in reversed(trail.cuts):
        words = say("{} in {}", words_of(cut, context), context.at(cut.at))
        for key in (cut.node,) if cut.node is not None else cut.tensors:
            yield key, words


# --- cures -----------------------------------------------------------------------------------


def fixes(found: NoGraph) -> Iterator[Cure]:
    """Stay in the graph where it was cut, or let what it was computed from require grad."""
    trail, origins, context = found.trail, found.origins, found.context
    yield from fixes_cut.cures_of(trail.cuts, context)
    if not trail.cuts and not trail.is_lost and len(origins) == 1:
        name = context.term(origins[0].id)
        cure = fixes_cut.require_grad(name, _made(origins[0], context), context)
        if cure is not None:
            yield cure
