"""A comparison of two graphs or two recordings, as findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    ids = [d.after_id or merged.places.get(d.before_id, "") for d in differences]
    return Comparison(
        title=f"comparison of {_subject(pairs)}{_where(before, after)}: {_count(differences)}",
        sentences=tuple(_sentences(differences, names, pairs)),
        tables=(table_of(differences, ids),),
        graph=merged.graph,
        marks=marks_of(differences, pairs, merged.places),
        differences=differences,
        renamed=names,
    )


def _where(before: Graph | Recording, after: Graph | Recording) -> str:
    """Which recordings, where each has a title of its own, as the ranks of one job have."""
    labels = [one.label if isinstance(one, Recording) else "" for one in (before, after)]
    return f" ({labels[0]} → {labels[1]})" if all(labels) and labels[0] != labels[1] else ""


def _count(differences: Sequence[Difference]) -> str:
    return plural(len(differences), "difference") if differences else "no difference"


def _subject(pairs: NodePairs) -> str:
    """What the graphs belong to: the names of their roots' outputs, else of the root nodes."""
    before, after = _roots(pairs.old), _roots(pairs.new)
    return after if before == after else f"{before} and {after}"


def _roots(reading: GraphLookup) -> str:
    named = {(i.node, i.output_nr): i.name for i in reversed(reading.tensors.values()) if i.name}
    roots = reading.graph.roots
    names = list(dict.fromkeys(named.get(root) or reading.node_name(root[0]) for root in roots))
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "") or "a graph without roots"


def _sentences(
    differences: Sequence[Difference], names: Sequence[tuple[str, str]], pairs: NodePairs
) -> Iterator[str]:
    yield from in_short(differences)
    if not differences:
        nodes = plural(len(pairs.nodes), "node")
        yield f"the same: {nodes} and {plural(len(pairs.tensors), 'tensor')}"
    if names:
        pairs_of_names = listed([f"{old} with {new}" for old, new in names], MANY)
        yield f"compared although the names differ: {pairs_of_names}"
