"""A comparison of two graphs or two recordings, as findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gradviz.analysis.diff.gradients import gradient_differences
from gradviz.analysis.diff.graphs import differences_of, renamed
from gradviz.analysis.diff.merged_graph import marks_of, merge
from gradviz.analysis.diff.pairing import GraphLookup, NodePairs
from gradviz.analysis.diff.recordings import graph_of, recording_differences
from gradviz.analysis.diff.sentences import MANY, in_short, table_of
from gradviz.model.diff import Comparison, Difference
from gradviz.model.formatting import plural
from gradviz.model.graph import Graph
from gradviz.model.recording import Recording
from gradviz.model.sentence import listed

_SUBJECTS: Final = ("node", "tensor", "graph", "line", "backward")


def comparison_of(before: Graph | Recording, after: Graph | Recording) -> Comparison:
    """Compare two graphs; of two recordings also backward and what lines did.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> before = Graph.of([Node("n0", "SinBackward0", (None,), state="holds")], [("n0", 0)])
        >>> after = Graph.of([Node("n0", "SinBackward0", (None,), state="freed")], [("n0", 0)])
        >>> comparison_of(before, after).sentences
        ('SinBackward0: state holds → freed',)
    """
    graphs = [graph_of(one) if isinstance(one, Recording) else one for one in (before, after)]
    pairs = NodePairs(*graphs)
    of_graphs = differences_of(pairs)
    others: tuple[Difference, ...] = ()
    if isinstance(before, Recording) and isinstance(after, Recording):
        others = (
            *gradient_differences(before, after, pairs),
            *recording_differences(before, after, pairs),
        )
    differences = (*of_graphs, *others)
    merged = merge(pairs, of_graphs)
    names = renamed(pairs)
    notes = tuple(_notes(names))
    ids = [d.after_id or merged.places.get(d.before_id, "") for d in differences]
    return Comparison(
        title=f"{_answer(differences, pairs)}{_where(before, after)}",
        sentences=(*in_short(differences), *notes),
        tables=(table_of(differences, ids),),
        graph=merged.graph,
        marks=marks_of(differences, pairs, merged.places),
        differences=differences,
        renamed=names,
        notes=notes,
    )


def _where(before: Graph | Recording, after: Graph | Recording) -> str:
    """Which recordings, where each has a title of its own, as the ranks of one job have."""
    labels = [one.label if isinstance(one, Recording) else "" for one in (before, after)]
    return f" ({labels[0]} → {labels[1]})" if all(labels) and labels[0] != labels[1] else ""


def _answer(differences: Sequence[Difference], pairs: NodePairs) -> str:
    """``"2 of 12 nodes and 1 of 9 tensors differ in loss"``."""
    before, after = _roots(pairs.old), _roots(pairs.new)
    among = f"in {after}" if before == after else f"between {before} and {after}"
    nodes, tensors = plural(len(pairs.nodes), "node"), plural(len(pairs.tensors), "tensor")
    if not differences:
        return f"Nothing differs {among}: {nodes} and {tensors} are the same"
    found: dict[str, set[str]] = {}
    for one in differences:
        key, before = (id_.partition(".")[0] for id_ in (one.after_id, one.before_id))
        key = key or pairs.after.get(before) or f"{before} before" if key or before else one.name
        subject = "node" if one.subject in ("edge", "saved tensor") else one.subject
        found.setdefault(subject, set()).add(key)
    counts = {subject: len(found[subject]) for subject in _SUBJECTS if subject in found}
    parts = [_counted(*pair, pairs) for pair in counts.items()]
    differ = "differs" if len(parts) == 1 and max(counts.values()) == 1 else "differ"
    words = listed(parts)
    return f"{words[0].upper()}{words[1:]} {differ} {among}"


def _counted(subject: str, count: int, pairs: NodePairs) -> str:
    """How many of them differ."""
    if subject in ("graph", "backward"):
        return "the order of roots" if subject == "graph" else "what backward ran"
    if subject == "line":
        return plural(count, subject)
    old, new, both = (
        (pairs.old.nodes, pairs.new.nodes, pairs.nodes)
        if subject == "node"
        else (pairs.old.tensors, pairs.new.tensors, pairs.tensors)
    )
    return f"{count:,} of {plural(len(old) + len(new) - len(both), subject)}"


def _roots(reading: GraphLookup) -> str:
    named = {(i.node, i.output_nr): i.name for i in reversed(reading.tensors.values()) if i.name}
    roots = reading.graph.roots
    names = list(dict.fromkeys(named.get(root) or reading.node_name(root[0]) for root in roots))
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "") or "a graph without roots"


def _notes(names: Sequence[tuple[str, str]]) -> Iterator[str]:
    if names:
        pairs_of_names = listed([f"{old} with {new}" for old, new in names], MANY)
        yield f"compared although the names differ: {pairs_of_names}"
