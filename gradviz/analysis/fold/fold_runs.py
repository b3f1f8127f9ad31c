"""A long backward in parts: the steps that run the nodes of one fold."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from gradviz.analysis.fold.tree import fold_tree
from gradviz.model.fold import Fold, FoldKind, FoldTree
from gradviz.model.fold_runs import FoldRun
from gradviz.model.recording import Recording

MANY: Final = 40
"""Nodes of a backward up to which every one of its steps is shown; also how many steps a longer
backward has at first."""
KINDS: Final[frozenset[FoldKind]] = frozenset(("module", "repeat", "turn", "part"))
"""Folds whose nodes backward runs together."""


def fold_runs_of(recording: Recording) -> tuple[FoldRun, ...]:
    """The runs of all backwards with many nodes, a run before those inside it.

    A run whose steps are shown one by one at first is open: the one with most nodes first, as long
    as no more than :data:`MANY` steps of the backward are shown.
    """
    found: list[FoldRun] = []
    for start, steps in _backwards(recording):
        if len(steps) > MANY:
            tree = fold_tree(recording.graph_at(start))
            chains = {
                node: tuple(fold for fold in tree.around(node) if fold.kind in KINDS)
                for node in dict.fromkeys(node for _, node in steps)
                if tree.graph.place_of(node) is not None
            }
            runs = sorted(
                _runs(tree, [(at, chains.get(node, ())) for at, node in steps], recording),
                key=lambda run: (run.first, run.level),
            )
            found += _opened(runs, len(steps))
    return tuple(found)


def _backwards(recording: Recording) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """Per backward the step at which it starts, and its steps that ran a node, with that node."""
    starts: dict[int, int] = {}
    steps: dict[int, list[tuple[int, str]]] = {}
    for at, record in enumerate(recording.records):
        if record.backward is None:
            continue
        if record.kind == "backward":
            starts.setdefault(record.backward, at)
        elif record.kind == "node" and record.node is not None and record.times is None:
            steps.setdefault(record.backward, []).append((at, record.node))
    for number, at in starts.items():
        yield at, steps.get(number, [])


def _runs(
    tree: FoldTree, steps: Sequence[tuple[int, tuple[Fold, ...]]], recording: Recording
) -> Iterator[FoldRun]:
    """Runs of two nodes or more.

    Args:
        tree: How the graph is folded.
        steps: Per step that ran a node its place, and the folds that the node is in.
        recording: Whose steps they are.
    """
    begun: list[tuple[Fold, int]] = []
    end = len(steps)
    for number, (_, chain) in enumerate([*steps, (0, ())]):
        kept = 0
        while kept < min(len(begun), len(chain)) and begun[kept][0] is chain[kept]:
            kept += 1
        for level in range(len(begun) - 1, kept - 1, -1):
            fold, since = begun.pop()
            if number - since > 1:
                first = recording.numbers.starts[steps[since][0]]
                yield FoldRun(tree, fold, level, first, steps[number - 1][0], number - since)
        if number < end:
            begun += ((fold, number) for fold in chain[kept:])


def _opened(runs: Sequence[FoldRun], steps: int) -> list[FoldRun]:
    """The runs, those open that are at first: of the parts of a repeat all or none.

    Args:
        runs: All runs of one backward, a run before those inside it.
        steps: How many nodes the backward runs.
    """
    inside: dict[int | None, list[int]] = {}
    around: list[int] = []
    for number, run in enumerate(runs):
        while around and runs[around[-1]].last < run.first:
            around.pop()
        inside.setdefault(around[-1] if around else None, []).append(number)
        around.append(number)

    def more(number: int) -> int:
        """How many steps more are shown when a run is open."""
        return runs[number].nodes - 1 - sum(runs[i].nodes - 1 for i in inside.get(number, ()))

    def units(number: int | None) -> Iterator[list[int]]:
        """Runs inside a run that are opened together; those that have runs inside them."""
        within = [one for one in inside.get(number, ()) if one in inside]
        if number is not None and runs[number].fold.times:
            yield within
        else:
            yield from ([one] for one in within)

    shown = steps - sum(runs[number].nodes - 1 for number in inside.get(None, ()))
    waiting = [(-sum(runs[one].nodes for one in unit), unit) for unit in units(None) if unit]
    heapq.heapify(waiting)
    opened: set[int] = set()
    while waiting:
        _, unit = heapq.heappop(waiting)
        added = sum(map(more, unit))
        if shown + added <= MANY:
            shown += added
            opened.update(unit)
            for one in unit:
                for inner in filter(None, units(one)):
                    heapq.heappush(waiting, (-sum(runs[i].nodes for i in inner), inner))
    return [replace(run, is_open=number in opened) for number, run in enumerate(runs)]
