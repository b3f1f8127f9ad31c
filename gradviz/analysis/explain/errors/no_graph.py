"""Backward was called on a tensor without a graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from gradviz.analysis.code.python_values import PythonValues
from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    loops_around,
    names_read,
    statements_of,
)
from gradviz.analysis.cuts import FROM_VALUES, Cut, cut_words, tensors_of
from gradviz.analysis.dataflow import Dataflow, Origins
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_root import BackwardRoot, root_at
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import keep_leaf, stay_on_graph
from gradviz.analysis.explain.not_followed import RECORD_EARLIER
from gradviz.analysis.explain.switched_off import switch_of, was_off_before
from gradviz.analysis.explain.torch_messages import index_in
from gradviz.model.cut_reasons import REASONS
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.ids import by_number
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, listed, say

_MOST_NAMES: Final = 3


@dataclass(frozen=True, kw_only=True)
class NoGraph(Finding):
    """A root without a graph, and the tensors and cuts from which it was computed."""

    context: ErrorContext
    way: Origins
    origins: tuple[TensorInfo, ...]
    asked: TensorInfo | None
    """The tensor whose gradient the code asks for, though it does not require grad."""


def no_graph(context: ErrorContext) -> Iterator[NoGraph]:
    """The root without a graph, and the line that cut it off."""
    root = root_at(index_in(context.raised.message) or 0, context)
    way = origins_of_root(root, context)
    first = way.cuts[0] if way.cuts else None
    origins = _origins(way, context) if first is None else []
    asked = _asked_for(root, way, context)
    names = [
        *root.names(context),
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
        causes=tuple(_causes(way, origins, asked, context)),
        targets={"cut": list(cut_off)},
        target_words=cut_off,
        unknown=tuple(_unknown(root, way, origins, context)),
        context=context,
        way=way,
        origins=tuple(origins),
        asked=asked,
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
    cuts = [cut for cut in way.cuts if cut.reason != "requires_grad"]
    names = {cut: [name for key in cut.tensors if (name := context.name(key))] for cut in cuts}
    cuts = [cut for cut in cuts if not names[cut] or any("." in name for name in names[cut])]
    yield from (name for cut in cuts for name in _wrapped(cut, context))
    results = [cut.result.tensor for cut in cuts if cut.result is not None]
    yield from (context.name(key) for key in results if key is not None)
    yield from (context.name(_named_result(cut, context)) for cut in cuts)
    frozen = [cut for cut in way.cuts if cut.reason == "requires_grad"]
    yield from (context.name(key) for cut in way.cuts if cut not in frozen for key in cut.tensors)
    yield from map(context.name, _nearest_first([k for c in frozen for k in c.tensors], context))


def _wrapped(cut: Cut, context: ErrorContext) -> Iterator[str]:
    """What held the values after they had left torch: ``torch.tensor(losses)``."""
    statement = context.statement_at(cut.wrapped)
    for call in [] if statement is None else calls_in(statement, *FROM_VALUES):
        yield from (ast.unparse(one) for one in call.args[:1] if isinstance(one, ast.Name))


def _named_result(cut: Cut, context: ErrorContext) -> str | None:
    """The first tensor with a name that was computed from a cut."""
    keys = {cut.key, *cut.made} - {""}
    for call in context.history.calls:
        if cut.place <= call.place and (call.place == cut.place or keys.intersection(call.reads)):
            found = next((key for key in call.made if context.name(key)), None)
            if found is not None:
                return found
            keys.update(call.made)
    return None


def _nearest_first(keys: Iterable[str], context: ErrorContext) -> list[str]:
    """Parameters of modules before other tensors, those of the last module first."""
    owners: dict[str, list[str]] = {}
    for key in keys:
        owner = (context.name(key) or "").rpartition(".")[0]
        owners.setdefault(owner, []).append(key)
    rest = owners.pop("", [])
    return [key for owner in reversed(owners) for key in owners[owner]] + rest


def _origins(way: Origins, context: ErrorContext) -> list[TensorInfo]:
    """Tensors with names that it was computed from; if there are parameters of modules, only
    these."""
    found = [context.history.tensor(key, context.step) for key in by_number(way.origins)]
    known = [
        info
        for info in found
        if info is not None
        and context.name(info.id)
        and info.dtype.startswith(("float", "bf", "co"))
    ]
    owned = [info for info in known if "." in (context.name(info.id) or "")]
    order = _nearest_first([info.id for info in owned or known], context)
    return sorted(owned or known, key=lambda info: order.index(info.id))


# --- words -----------------------------------------------------------------------------------


def _causes(
    way: Origins, origins: list[TensorInfo], asked: TensorInfo | None, context: ErrorContext
) -> Iterator[Cause]:
    if asked is not None and (made := _made(asked, context)) is not None:
        name = context.term(asked.id)
        words = "{0} does not require grad; its gradient is asked for"
        yield Cause("other", say(words, name), made)
    is_update = any(True for _ in _updated_leaves(way, context))  # no_grad is right there
    cuts = () if is_update else way.cuts
    switches = [one for one in (switch_of(cut, context) for cut in cuts) if one is not None]
    switched = {replace(one.at, step=None): Cause("cut", one.what, one.at) for one in switches}
    yield from islice(switched.values(), 2)
    told: dict[object, Cause] = {}
    for cut in way.cuts:
        words, at = words_of(cut, context), cut.at
        place = None if at is None else (at.code, at.line)
        if cut.reason == "requires_grad" and cut.call == "requires_grad":
            words = _frozen_together([one for one in way.cuts if _is_beside(one, cut)], context)
        told.setdefault((words, place), Cause("cut", words, at))
    yield from islice(told.values(), 3)
    if not way.cuts and len(origins) == 1 and not way.is_lost and asked is None:
        made = _made(origins[0], context)
        if made is not None:
            name = context.term(origins[0].id)
            words = say("{} was made here and does not require grad", name)
            yield Cause("other", words, made)


def _is_beside(one: Cut, other: Cut) -> bool:
    """Whether the same line did it, in whichever turn of a loop."""
    if one.at is None or other.at is None or one.call != other.call:
        return one is other
    return (one.at.code, one.at.line) == (other.at.code, other.at.line)


def _frozen_together(cuts: Sequence[Cut], context: ErrorContext) -> Sentence:
    """What one line did to the flags of parameters."""
    if len(cuts) == 1 and not _other_name(cuts[0], context):
        return words_of(cuts[0], context)
    keys = _nearest_first([key for cut in cuts for key in cut.tensors], context)
    names = listed([context.term(key) for key in keys], _MOST_NAMES)
    other = next(filter(None, (_other_name(cut, context) for cut in cuts)), None)
    same = "" if other is None else say(": {} has the same parameters", other)
    return say("set requires_grad of {} to False{}", names, same)


def _other_name(cut: Cut, context: ErrorContext) -> str | None:
    """The variable through which a line froze a tensor that has another name as well."""
    statement = context.statement_at(cut.at)
    key = next(iter(cut.tensors), None)
    rows = [context.history.tensor(key, step) for step in (cut.step, context.step)]
    name = context.name(key)
    if statement is None or name is None:
        return None
    heads = [loop.iter for loop in loops_around(statement) if isinstance(loop, ast.For)]
    read = {one for node in (statement.node, *heads) for one in names_read(node)}
    own = _base(name)
    others = [_base(one) for row in rows if row is not None for one in row.names]
    return None if own in read else next((one for one in others if one in read), None)


def _base(name: str) -> str:
    return re.split(r"[.\[]", name, maxsplit=1)[0]


def _asked_for(root: BackwardRoot, way: Origins, context: ErrorContext) -> TensorInfo | None:
    """The tensor that the root was computed from and whose gradient the code asks for, though it
    does not require grad: an input of ``autograd.grad``, or one whose ``.grad`` is read later."""
    if context.backward is None or any(cut.reason != "requires_grad" for cut in way.cuts):
        return None
    step, started = context.backward
    rows = [context.history.tensor(key, context.step) for key in started.inputs]
    found = {info.id: info for info in rows if info is not None}
    if not started.inputs:
        found = {
            info.id: info for name in _grads_read(context) if (info := _bound(name, step, context))
        }
    asked = [
        info
        for info in found.values()
        if not info.requires_grad
        and info.dtype.startswith(("float", "bf", "co"))
        and _leads_to(info.id, root.keys, context)
    ]
    return asked[0] if len(asked) == 1 else None


def _grads_read(context: ErrorContext) -> Iterator[str]:
    """What lines after the one that raised read the ``.grad`` of, in the same function."""
    noticed = context.statement
    if noticed is None:
        return
    functions = _functions(noticed)
    for statement in statements_of(noticed.code):
        if statement.line > noticed.line and _functions(statement) == functions:
            for part in statement.parts:
                if isinstance(part, ast.Attribute) and part.attr == "grad":
                    yield ast.unparse(part.value)


def _functions(statement: Statement) -> list[ast.stmt]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [one for one in statement.around if isinstance(one, kinds)]


def _bound(name: str, step: int, context: ErrorContext) -> TensorInfo | None:
    """The tensor that a variable of the line that raised was bound to, the last one made."""
    found = [info for info in context.history.tensors_at(step) if name in info.names]
    return max(found, key=lambda info: context.history.born(info.id) or 0, default=None)


def _leads_to(key: str, roots: Sequence[str], context: ErrorContext) -> bool:
    """Whether a root was computed from a tensor."""
    keys = {key}
    for call in context.history.calls:
        if keys.intersection(call.reads):
            keys.update(call.made)
    return bool(keys.intersection(roots))


def words_of(cut: Cut, context: ErrorContext) -> Sentence:
    """What a cut did, in a sentence."""
    return cut_words(cut, tensors_of(cut, context.history, context.step))


def _made(info: TensorInfo, context: ErrorContext) -> CodeLine | None:
    born = context.history.born(info.id)
    is_made = bool(born) and context.history.is_made(info.id, range(born or 0, (born or 0) + 1))
    return context.history.line(born) if is_made else None


def _unknown(
    root: BackwardRoot, way: Origins, origins: list[TensorInfo], context: ErrorContext
) -> Iterator[Sentence]:
    if not context.is_recorded:
        yield say("where the graph was cut{}", context.how_to_know)
    elif any(was_off_before(cut, context.history) for cut in way.cuts):
        yield say(
            "which line switched recording off: it was off before this recording. {}",
            RECORD_EARLIER,
        )
    elif way.cuts:
        return
    elif way.is_lost or not root.keys:
        yield Sentence(
            "where the graph was cut: the computation of the value could not be followed. "
            "Print the requires_grad of what each line computes: the first False is the cut"
        )
    elif len(origins) > 1:
        names = listed([context.term(info.id) for info in origins], _MOST_NAMES)
        yield say(
            "which of {} should require grad: none of them does. "
            "x.requires_grad_() before the forward makes x one that does",
            names,
        )
        if any("." in (context.name(info.id) or "") for info in origins):
            yield say(
                "which line set their requires_grad to False, before this recording. {}",
                RECORD_EARLIER,
            )


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
    asked = found.asked
    if asked is not None and context.history.switched_off(asked.id, context.step) is None:
        name = context.term(asked.id)
        yield from stay_on_graph.require_grad(name, _made(asked, context), context)
        return
    yield from stay_on_graph.fixes_of(way.cuts, context)
    is_root = any(info.id in {root.id for root in context.roots} for info in origins)
    if not way.cuts and not way.is_lost and len(origins) == 1 and not is_root:
        name = context.term(origins[0].id)
        yield from stay_on_graph.require_grad(name, _made(origins[0], context), context)


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
