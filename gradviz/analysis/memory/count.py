"""What a graph keeps in memory for backward: by node, module and line."""

from __future__ import annotations

from dataclasses import replace

from gradviz.analysis.memory.curve import curve_of
from gradviz.analysis.memory.holders import Saves
from gradviz.analysis.memory.modules import Modules
from gradviz.analysis.memory.sentences import notes_of, sentences_of, title_of, where_most_is
from gradviz.analysis.memory.storages import SavingNodes, storages_of, unknown_saves
from gradviz.analysis.memory.tables import tables_of
from gradviz.model.formatting import size
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.memory import Curve, Memory
from gradviz.model.recording import Recording


def memory_of(graph: Graph, allocated: int | None = None) -> Memory:
    """What a graph keeps at its one moment.

    Args:
        graph: What is counted.
        allocated: What the allocator of a GPU reports.

    Examples:
        >>> from gradviz.model import Node, SavedTensor
        >>> slot = SavedTensor("result", "held", storage="s0", storage_nbytes=4)
        >>> node = Node("n0", "ExpBackward0", (None,), (slot,), state="holds")
        >>> memory_of(Graph.of([node], [("n0", 0)])).total
        4
    """
    return _memory(graph, None, allocated)


def memory_over(recording: Recording, step: int | str | None = None) -> Memory:
    """What the graph of one step keeps, and the curve over all steps.

    Args:
        recording: What is counted.
        step: Step whose graph is counted, as ``recording[step]`` finds it; if not given, the
            first at which most is held.

    Raises:
        UnknownNodeError: If there is no such step.
    """
    curve = curve_of(recording)
    index = curve.peak if step is None else recording[step].index
    from_before = frozenset(node.id for node in recording.graph_at(0).nodes)
    graph = recording.graph_at(index)
    allocated = curve.points[index].beside if curve.beside == "allocated" else None
    return _memory(graph, from_before, allocated, index, curve, recording.label)


def _memory(
    graph: Graph,
    from_before: frozenset[str] | None,
    allocated: int | None,
    step: int | None = None,
    curve: Curve | None = None,
    label: str = "",
) -> Memory:
    saving = SavingNodes(graph)
    modules = Modules(graph, from_before)
    storages = storages_of(saving, graph)
    unknown = unknown_saves(saving)
    saves = Saves(graph, storages, unknown, modules)
    counted = Memory(
        title="",
        sentences=(),
        tables=(),
        graph=graph,
        storages=storages,
        nodes=saves.by_node(),
        modules=saves.by_module(),
        blocks=saves.blocks(),
        lines=saves.by_line(),
        unknown=unknown,
        allocated=allocated,
        step=step,
        curve=curve,
    )
    return replace(
        counted,
        title=title_of(counted, label),
        sentences=tuple(sentences_of(counted)),
        tables=tuple(tables_of(counted, modules, saves)),
        notes=notes_of(counted),
        marks=_marks(counted),
    )


def _marks(memory: Memory) -> tuple[Highlight, ...]:
    """The nodes that the answer names, each with what it keeps."""
    first = where_most_is(memory)
    if first is None:
        return ()
    kept = {one.id: size(one.nbytes) for one in memory.nodes}
    return tuple(Highlight(key, "most", f"it keeps {kept[key]}") for key in first.nodes)
