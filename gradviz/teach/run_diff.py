"""What an exploration shows of the differences between two runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gradviz.analysis.diff.graphs import differences_of
from gradviz.analysis.diff.merged_graph import marks_of
from gradviz.analysis.diff.pairing import NodePairs
from gradviz.analysis.diff.sentences import thing_by_thing
from gradviz.model import Graph
from gradviz.model.diff import Difference
from gradviz.model.facts import TensorFacts
from gradviz.model.highlights import Highlight, HighlightKind
from gradviz.view.graph_index import GraphIndex
from gradviz.view.text import clean

LEGENDS: Final[dict[HighlightKind, str]] = {
    "new": "+ new since the run before",
    "changed": "Δ changed since the run before",
}


@dataclass(frozen=True, slots=True)
class RunDiff:
    """The differences between the graphs of two runs; removed items are only listed."""

    differences: tuple[Difference, ...] = ()
    """Every difference."""
    marks: tuple[Highlight, ...] = ()
    """What to mark in a picture of the later graph: what is another graph, not what has other
    numbers, which the picture shows where they are."""
    sentences: list[str] = field(default_factory=list)
    """All differences as text, item by item."""
    before: Mapping[str, TensorFacts] = field(default_factory=dict)
    """What those tensors of the later graph were of which more than numbers is another, by their
    ids there."""

    def __bool__(self) -> bool:
        return bool(self.differences)


def run_diff(before: Graph, after: Graph) -> RunDiff:
    """Compare the graph of a run with that of the run before.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> out = a * a
        >>> before = gradviz.snapshot(out)
        >>> out.backward()
        >>> run_diff(before, gradviz.snapshot(out)).sentences[1:]
        ['a: .grad None → 4.0']
    """
    pairs = NodePairs(before, after)
    differences = differences_of(pairs)
    sentences = thing_by_thing(differences, clean)
    index = GraphIndex.of(before)
    others = [one for one in differences if not _is_number(one)]
    told = {one.after_id for one in others}
    known = (info for info in before.tensors if pairs.after.get(info.id) in told)
    facts = {pairs.after[info.id]: index.of_tensor(info) for info in known}
    return RunDiff(differences, marks_of(others, pairs), sentences, facts)


def _is_number(found: Difference) -> bool:
    """Whether only numbers are others."""
    if found.fact == ".grad":
        return "None" not in (found.before, found.after)
    return found.fact == "values" or found.fact.startswith("values of saved ")
