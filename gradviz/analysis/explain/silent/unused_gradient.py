"""Gradients that are computed in each pass and that nothing uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.silent.replaced_parameter import replaced_parameters
from gradviz.analysis.explain.silent.sentences import few
from gradviz.analysis.explain.silent.target_gradient import leaves_of_targets
from gradviz.analysis.explain.silent.training_steps import (
    TrainingStep,
    is_empty,
    reads_gradients,
    training_steps,
)
from gradviz.analysis.explain.silent.unregistered import left_out
from gradviz.model.events import Accumulated, BackwardStarted, Made, OptimizerStepped
from gradviz.model.explanation import Cause
from gradviz.model.formatting import plural
from gradviz.model.history import EventPlace, History
from gradviz.model.reachability import entries, leading_to
from gradviz.model.records import Node
from gradviz.model.sentence import Sentence, Term, say

_ROUNDS = 2
"""Passes in which nothing must have used them: one alone may be followed by their own step."""


@dataclass(frozen=True)
class _Pass:
    """A backward, and the steps of optimizers that followed it."""

    number: int
    place: EventPlace
    stepped: frozenset[str]
    """Parameters of these optimizers."""
    labels: tuple[str, ...]
    leaves: tuple[str, ...]
    """Leaves that got a gradient which is not 0."""


def unused_gradients(history: History) -> Iterator[Finding]:
    """Leaves that get gradients while other parameters are updated, though no optimizer has them;
    or whose own optimizer does not step, although backward need not have come to them."""
    if history.counted or reads_gradients(history):
        return
    everywhere = {key for _, event in history.told(OptimizerStepped) for key in event.parameters}
    claimed = _claimed(history)
    rounds: dict[tuple[object, ...], list[tuple[_Pass, list[str], str | None]]] = defaultdict(list)
    for one in _passes(history):
        mine = {*one.leaves} & one.stepped
        left = [key for key in one.leaves if key not in one.stepped and key not in claimed]
        if not mine or not left:
            continue
        alone = [key for key in left if key not in everywhere and not _is_written(key, history)]
        others = [key for key in left if key in everywhere]
        through = _way_beside(one, mine, others, history) if others else None
        line = history.line(one.place)
        at = line and (line.code, line.line)
        if alone:
            rounds["alone", at, *alone].append((one, alone, None))
        if through is not None:
            rounds["others", at, *others].append((one, others, through))
    for (case, *_), found in rounds.items():
        if len(found) >= _ROUNDS:
            yield _finding(str(case), *found[0], history)


def layers_of_each_pass(history: History) -> Iterator[Finding]:
    """Parameters that are made anew in each pass, so that no optimizer ever has them."""
    if history.counted or reads_gradients(history):
        return
    everywhere = {key for _, event in history.told(OptimizerStepped) for key in event.parameters}
    made = {key: place for place, event in history.told(Made) for key in event.tensors}
    claimed = _claimed(history)
    lines: dict[tuple[object, ...], list[tuple[_Pass, list[str], EventPlace]]] = defaultdict(list)
    before: EventPlace = (0, 0)
    for one in _passes(history):
        new: dict[tuple[object, ...], list[str]] = defaultdict(list)
        for key in one.leaves:
            place = made.get(key)
            if (
                key in everywhere
                or key in claimed
                or place is None
                or not before < place < one.place
            ):
                continue
            line = history.line(place)
            if line is not None and not _is_written(key, history):
                new[line.code, line.line].append(key)
        before = one.place
        if {*one.leaves} & one.stepped:
            for at, keys in new.items():
                lines[at].append((one, keys, made[keys[0]]))
    for found in lines.values():
        if len(found) >= _ROUNDS:
            yield _layer(*found[0], history)


def _passes(history: History) -> Iterator[_Pass]:
    """Backwards after which optimizers step before the next backward."""
    starts = [
        (place, event)
        for place, event in history.told(BackwardStarted)
        if event.accumulates and event.inside is None
    ]
    steps = [*training_steps(history)]
    filled: dict[int, list[str]] = defaultdict(list)
    for _, e in history.told(Accumulated):
        if e.tensor is not None and not e.retained and not is_empty(e.gradient):
            filled[e.backward].append(e.tensor)
    for at, (place, event) in enumerate(starts):
        end = starts[at + 1][0] if at + 1 < len(starts) else (len(history.recording.records), 0)
        own = [one for one in steps if place < one.place < end]
        if own:
            stepped = frozenset(key for one in own for key in one.stepped.parameters)
            labels = tuple(dict.fromkeys(map(_label, own)))
            yield _Pass(event.number, place, stepped, labels, tuple(filled[event.number]))


def _label(one: TrainingStep) -> str:
    """``opt_d.step``."""
    return f"{one.variable}.step" if one.variable is not None else one.label


def _claimed(history: History) -> set[str]:
    """Leaves of which another explanation says why no optimizer has them."""
    found = {swap.new for one in replaced_parameters(history) for swap in one.swaps}
    return found | left_out(history) | leaves_of_targets(history)


def _is_written(key: str, history: History) -> bool:
    """Whether anything wrote a leaf after it had got a gradient."""
    info = history.tensor(key, len(history.recording.records))
    first = next((place for place, e in history.told(Accumulated) if e.tensor == key), None)
    acts = [] if info is None else history.acts[info.storage]
    return first is not None and any(not act.is_before(first) for act in acts)


def _way_beside(one: _Pass, mine: set[str], others: Iterable[str], history: History) -> str | None:
    """The named tensor, or the node that another module made, through which backward came to other
    parameters, if nothing that the optimizers use lies behind it."""
    step = one.place[0]
    last = len(history.recording.records) - 1
    ran = {key for key, runs in history.ran_in.items() if any(n == one.number for n, _ in runs)}
    rows = {key: row for key in ran if (row := history.node(key, last)) is not None}
    needed = leading_to([k for k, row in rows.items() if row.variable in mine], rows)
    wanted = leading_to([k for k, row in rows.items() if row.variable in {*others}], rows)
    for key in sorted(needed, key=lambda one: int(one[1:]), reverse=True):
        for other in entries(rows[key]):
            if other in needed or other not in wanted or rows[other].variable is not None:
                continue
            for tensor in history.outputs_of(other, step):
                if history.name(tensor, step) is not None:
                    return tensor
            if _root(rows[other]) not in ("", _root(rows[key])):
                return other
    return None


def _root(node: Node) -> str:
    """The variable of the module that made a node."""
    return (node.module or "").partition(".")[0]


def _finding(
    case: str, one: _Pass, keys: list[str], through: str | None, history: History
) -> Finding:
    step, line = one.place[0], history.line(one.place)
    owners = _owners(keys, step, history)
    names = few([say("{} ({})", Term(k, name), n) if n else Term(k, name)
                 for name, (k, n) in owners.items()])  # fmt: skip
    at, words = line, say("backward computes gradients of {}", names)
    it: Sentence | Term | str = ""
    if through is not None:
        node = history.node(through, step)
        if node is None:
            it = Term(through, history.name(through, step) or "a tensor")
            made = history.makers.get(through)
            at = line if made is None else history.line(made[0])
        else:
            it, at = say("the result of {}", _root(node)), history.made_at(node)
        words = say("backward runs through {}", it)
    return Finding(
        history=history,
        step=step,
        noticed=line,
        case="" if case == "alone" else case,
        words={
            "backward": history.line_term(line),
            "names": names,
            "labels": " and ".join(one.labels),
            "it": it,
            "them": "it" if len(keys) == 1 else "them",
        },
        variables=(history.name(through, step), *owners),
        causes=(Cause("other", words, at),),
    )


def _owners(keys: list[str], step: int, history: History) -> dict[str, tuple[str, str]]:
    """The variables that have leaves, the first leaf of each, and how many there are if several."""
    groups: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        groups[(_path(key, step, history) or "").partition(".")[0]].append(key)
    found: dict[str, tuple[str, str]] = {}
    for root, members in groups.items():
        if len(members) > 1 and root:
            found[root] = members[0], plural(len(members), "tensor")
        else:
            found[_path(members[0], step, history) or "a leaf without a name"] = members[0], ""
    return found


def _path(key: str, step: int, history: History) -> str | None:
    """The name of a leaf, else that of what is computed from it alone."""
    name = history.name(key, step)
    if name is not None:
        return name
    info = history.tensor(key, step)
    if info is None or info.node is None:
        return None
    for reader in history.readers(info.node):
        behind = {*entries(reader)}
        for tensor in history.outputs_of(reader.id, step) if behind == {info.node} else ():
            if (of := history.name(tensor, step)) is not None:
                return f"the leaf of {of}"
    return None


def _layer(one: _Pass, keys: list[str], place: EventPlace, history: History) -> Finding:
    step, line = one.place[0], history.line(place)
    names = few([Term(key, name) for key in keys if (name := history.name(key, step))])
    return Finding(
        history=history,
        step=step,
        noticed=history.line(one.place),
        words={
            "line": history.line_term(line),
            "names": names,
            "labels": " and ".join(one.labels),
            "are": "is" if len(keys) == 1 else "are",
            "parameters": "parameter" if len(keys) == 1 else "parameters",
        },
        variables=tuple(history.name(key, step) for key in keys),
        causes=(Cause("other", say("makes {} in each pass", names), line),),
    )
