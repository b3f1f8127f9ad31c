"""A node needed its saved tensors, and an earlier backward had freed them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from gradviz.analysis.code.frames import parting
from gradviz.analysis.code.scopes import stored
from gradviz.analysis.code.sites import Site
from gradviz.analysis.code.statements import (
    Statement,
    loops_around,
    names_bound,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import reachable, root_nodes
from gradviz.analysis.explain.errors.freed_sentences import (
    backward_that_freed,
    before_cause,
    before_words,
    by_words,
    call_of,
    run_again,
    targets_of,
    unknown_of,
    was_freed,
)
from gradviz.analysis.explain.errors.loop_state import carried_by
from gradviz.analysis.explain.errors.reused_value import (
    Kept,
    Reused,
    reused_values,
    typed_name,
)
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import around_backward
from gradviz.analysis.explain.fixes.detach_state import cut_state
from gradviz.analysis.explain.fixes.end_reuse import without_reuse
from gradviz.model.events import Freed, OptimizerStepped
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.freed import EarlierBackward
from gradviz.model.ids import by_number
from gradviz.model.records import Node
from gradviz.model.sentence import Sentence, Term, listed, say

_KEPT: Final[Mapping[Kept, str]] = MappingProxyType(
    {
        "before": "{it} is computed here once, before the loop; each backward needs its graph",
        "outside": "{it} is computed here once, outside of the function that runs backward; "
        "each backward needs its graph",
        "once": "{typed} is computed here in the first turn only; each backward needs its graph",
        "state": "{typed} keeps the graph of this turn for the next one",
        "stored": "{typed} keeps the graph of this turn for the next one",
        "total": "{typed} keeps the graphs of all turns",
        "statistic": "{typed} keeps the graphs of all turns",
        "list": "{typed} keeps what earlier turns computed, with its graph",
        "again": "{it} was used here too, by the loss of backward {number}",
    }
)


@dataclass(frozen=True, kw_only=True)
class GraphFreed(Finding):
    """The node whose saved tensors are freed, and the backward that freed them, if known."""

    context: ErrorContext
    earlier: EarlierBackward | None = None
    is_same: bool = False
    """Whether both backwards started at the same root."""
    values: tuple[Reused, ...] = ()
    """The values through which both reach the node."""


def graph_freed(context: ErrorContext) -> Iterator[GraphFreed]:
    """Which node has no saved tensors left, which backward freed them, and what both share."""
    node = context.node or _only_freed(context)
    if node is None:
        yield _unknown_node(context)
        return
    earlier = backward_that_freed(node, context)
    was_there = earlier is None and was_freed(node, context)
    shared = _shared(node, earlier, context)
    is_same = _is_same_root(earlier, context)
    values = [] if earlier is None or is_same else reused_values(earlier, context)
    kept = [name for one in values if one.is_sure and (name := typed_name(one, context))]
    through = list(dict.fromkeys([*kept, *(n for key in shared if (n := context.name(key)))]))
    roots = _roots(context)
    slots = [slot.name for slot in node.saved if slot.state == "freed"]
    is_listed = 0 < len(slots) < 4
    tensors = "tensor" if len(slots) == 1 else "tensors"
    keeping = [*_reused(values, earlier, context)]
    kept_at = {_place(cause.at) for cause in keeping if cause.at is not None}
    yield GraphFreed(
        history=context.history,
        step=context.step,
        case="freed before" if was_there else "" if earlier else "backward not known",
        words={
            "node": Term(node.id, node.name),
            "saved": f"its saved {tensors} {listed(slots)}" if is_listed else "its saved tensors",
            "them": "it" if len(slots) == 1 else "them",
            "they_have": "it has" if len(slots) == 1 else "they have",
            "number": None if earlier is None else earlier.number,
            "where": ""
            if earlier is None or not earlier.at
            else say(" in {}", context.at(earlier.at)),
            "by": by_words(earlier, context),
            "before": before_words(context),
        },
        variables=(*roots, *through) if is_same else (*through, *roots),
        node=node,
        saved=slots[0] if len(slots) == 1 else None,
        causes=(
            *keeping,
            *_causes(node, earlier, shared, is_same, kept_at, context),
        ),
        targets=targets_of(node),
        unknown=(*unknown_of(node, earlier, context), *_unnamed(node, earlier, values, context)),
        site=context.site,
        by="" if context.refused is None else context.refused.name,
        called=earlier is not None,
        context=context,
        earlier=earlier,
        is_same=is_same,
        values=tuple(values),
    )


# --- which -----------------------------------------------------------------------------------


def _only_freed(context: ErrorContext) -> Node | None:
    """The node that must have raised the error, since it is the only freed one."""
    found = [n for n in _of_root(context).values() if n.state == "freed"]
    return found[0] if len(found) == 1 else None


def _of_root(context: ErrorContext) -> dict[str, Node]:
    return reachable(root_nodes(context), context)


def _roots(context: ErrorContext) -> list[str]:
    return [name for info in context.roots if (name := context.name(info.id))]


def _is_same_root(earlier: EarlierBackward | None, context: ErrorContext) -> bool:
    return earlier is not None and bool(
        {key for key, _ in earlier.started.roots} & set(root_nodes(context))
    )


def _are_other_results(earlier: EarlierBackward, context: ErrorContext) -> bool:
    roots = () if context.backward is None else context.backward[1].roots
    return bool(roots) and not set(roots) & set(earlier.started.roots)


def _shared(node: Node, earlier: EarlierBackward | None, context: ErrorContext) -> tuple[str, ...]:
    """Tensors with a name at which the later graph enters what the earlier backward has run."""
    if earlier is None or context.backward is None:
        return ()
    carried = carried_by(node.id, context)
    if carried is not None:
        return carried.tensors
    own = _of_root(context)
    ran = {event.node for step, event in context.history.node_order if step <= earlier.step}
    ran &= {n for n in own if own[n].variable is None}  # nothing of a leaf's is freed
    found: dict[str, str] = {}
    for user in own.values():
        for entry in user.next_functions:
            if entry is not None and entry[0] in ran and user.id not in ran:
                key = context.history.output_of(entry[0], context.step, entry[1])
                name = context.name(key)
                if key is not None and name is not None:
                    found.setdefault(name, key)
    return tuple(found[name] for name in sorted(found))


# --- words -----------------------------------------------------------------------------------


def _place(line: CodeLine) -> tuple[str, int | None]:
    return line.code, line.line


def _reused(
    values: list[Reused], earlier: EarlierBackward | None, context: ErrorContext
) -> Iterator[Cause]:
    """The line that kept what both backwards reach, or that used it for the earlier one."""
    if not values or earlier is None or not values[0].is_sure:
        return
    one, history = values[0], context.history
    step = one.keeper
    if one.kept == "again":
        place = parting(one.first, one.used)
        ran = [*history.events(OptimizerStepped, context.step, earlier.step)]
        if place is None or (one.turn is None and not ran):
            return
        step = one.first[place]
    name = typed_name(one, context)
    it: Sentence = Sentence(name or "a value") if one.key is None else context.term(one.key)
    words = say(_KEPT[one.kept], it=it, typed=name or it, number=earlier.number)
    yield Cause("other", words, history.line(step))


def _causes(
    node: Node,
    earlier: EarlierBackward | None,
    shared: tuple[str, ...],
    is_same: bool,
    told: set[tuple[str, int | None]],
    context: ErrorContext,
) -> Iterator[Cause]:
    term = Term(node.id, node.name)
    if earlier is not None:
        words = say("backward {} ran {} and freed its saved tensors", earlier.number, term)
        yield Cause("backward", words, earlier.at)
    elif (before := before_cause(node, context)) is not None:
        yield before
    made = context.history.made_at(node)
    if made is not None and not is_same and _place(made) not in told:
        names = listed(list(map(context.term, shared)))
        through = say(", and both backwards reach it through {}", names) if shared else ""
        yield Cause("save", say("{} was made once{}", term, through), made)


def _unnamed(
    node: Node, earlier: EarlierBackward | None, values: list[Reused], context: ErrorContext
) -> Iterator[Sentence]:
    """That a value without a name keeps the graph of an earlier iteration."""
    if values and all(one.is_sure and typed_name(one, context) for one in values):
        return
    if earlier is None or not _is_same_line(context.statement_at(earlier.at), context.statement):
        return
    carried = carried_by(node.id, context)
    if carried is not None and not carried.is_complete:
        yield say(
            "which variable keeps the graph from one iteration to the next: it has no name in the "
            "recording. Assign to a variable what the loop carries over"
        )


def _unknown_node(context: ErrorContext) -> GraphFreed:
    """It is not known which of several nodes raised the error."""
    found = [n for n in _of_root(context).values() if n.state == "freed"]
    count = Counter(node.name for node in found)
    names = [Term(n.id, n.name) if count[n.name] == 1 else n.name for n in found]
    one = say(": one of {}", listed(list(dict.fromkeys(names)))) if found else ""
    was_there = bool(found) and all(was_freed(node, context) for node in found)
    return GraphFreed(
        history=context.history,
        step=context.step,
        case="one was freed before" if was_there else "node not known",
        words={"before": before_words(context)},
        variables=tuple(_roots(context)),
        node_name=found[0].name if len(count) == 1 else None,
        targets={"candidate": [n.id for n in found]},
        unknown=(
            say(
                "which node raised it{}; torch.autograd.set_detect_anomaly(True) shows its line",
                one,
            ),
            say("which backward freed it{}", context.how_to_know),
        ),
        context=context,
    )


# --- fixes -----------------------------------------------------------------------------------


def fixes(found: GraphFreed) -> Iterator[Fix | None]:
    """Keep the graph, compute it again, detach the carried state, or run backward of the sum."""
    earlier, context, node = found.earlier, found.context, found.node
    if earlier is None or node is None:
        # Whether it may keep them, and where, is not known.
        behind = [one for one in _of_root(context).values() if one.variable is None]
        there = [one for one in behind if context.history.was_there(one.id)]
        if any(was_freed(one, context) for one in there):
            yield from run_again(there, context)
        return
    first = context.statement_at(earlier.at)
    yield from without_reuse(found.values, earlier, context)
    call, keep = call_of(earlier, context), None
    if not _runs_again(call, context):
        keep = around_backward.keep_graph(call, earlier.step, context)
    if any(one.turn is not None or one.kept == "outside" for one in found.values):
        carried = carried_by(node.id, context)
        if carried is not None and {one.kept for one in found.values} == {"state"}:
            yield cut_state(carried, context)
        return
    is_same_line = _is_same_line(first, context.statement)
    if found.is_same:
        yield _again(first, earlier, context)
        # In a loop each turn needs a forward of its own; not if each starts at another result of
        # one node, such as the rows of a batch.
        yield None if is_same_line and not _are_other_results(earlier, context) else keep
        return
    if is_same_line:
        carried = carried_by(node.id, context)
        cut = None if carried is None else cut_state(carried, context)
        yield cut
        yield _again(first, earlier, context) if carried is None else None
        yield keep if carried is None or carried.is_complete else None
        return
    roots = [node for node, _ in earlier.started.roots]
    yield around_backward.add_up(first, earlier.step, roots, context)
    yield keep


def _again(first: Statement | None, earlier: EarlierBackward, context: ErrorContext) -> Fix | None:
    history, until = context.history, earlier.step
    freed = [event.node for _, event in history.events(Freed, until) if event.times == 1]
    rows = {e.node: history.node(e.node, until) for s, e in history.node_order if s <= until}
    # Of nodes that are counted it is not listed what each has freed.
    counted = {key for key, row in rows.items() if row is not None and row.state == "freed"}
    stale = [*freed, *by_number(counted.difference(freed))]
    renewed = _renewed(context.statement) if _is_same_line(first, context.statement) else set()
    return around_backward.compute_again(stale, first, context, ", with a new graph", renewed)


def _renewed(statement: Statement | None) -> set[str]:
    """Variables that the loops around a line bind before it: a forward there takes them anew."""
    if statement is None:
        return set()
    loops = [*loops_around(statement)]
    found = {n for loop in loops if isinstance(loop, ast.For) for n in stored(loop.target)}
    for one in statements_of(statement.code):
        is_inside = any(outer is loop for loop in loops for outer in one.around)
        if is_inside and one.line < statement.line:
            found |= set(names_bound(one))
    return found


def _runs_again(earlier: Site | None, context: ErrorContext) -> bool:
    """Whether the call that raised is that of the earlier backward, with others on its line.

    Which of them carries the graph from one run of the line to the next is not known.
    """
    if earlier is None or context.site is None:
        return False
    return context.site.node is earlier.node and earlier.statement.shares_lines


def _is_same_line(one: Statement | None, other: Statement | None) -> bool:
    return one is not None and other is not None and one.node is other.node
