"""Walk live tensors into a :class:`~gradviz.model.Graph`.

The walk is iterative and breadth-first. It holds the nodes only while it runs, and returns
plain data. It happens in three steps: structure (safe at any time), names, and facts (not while
another thread runs backward over the graph).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, Final

import torch

from gradviz.capture import autograd, contents, naming, threads
from gradviz.capture.anomaly_source import sources
from gradviz.capture.deep_graphs import make_safe_to_free
from gradviz.capture.derivatives import Derivative, lookup
from gradviz.capture.modules import NamedParts, module_infos, modules_among
from gradviz.capture.node_reader import FactColumns, NodeReader
from gradviz.capture.roots import Root, place, split
from gradviz.capture.tensors import Known, Storages, Tensors
from gradviz.model import Graph, TensorInfo, progress
from gradviz.model.collector import no_collection
from gradviz.model.columns import Columns
from gradviz.model.records import ModuleInfo

STRETCH: Final = 4096
"""After so many nodes the progress is told."""
Entries = list[tuple[tuple[int, int] | None, ...]]


def snapshot_of(
    outputs: Sequence[Any],
    names: Mapping[str, torch.Tensor] | None,
    frame: FrameType | None,
    storages: Storages | None = None,
    values: bool | None = None,
    model: torch.nn.Module | None = None,
) -> Graph:
    """Read the graph behind ``outputs``; :func:`gradviz.snapshot` is the public door.

    Args:
        outputs: Tensors, modules, or lists, tuples and dicts of them.
        names: Names that come before those found.
        frame: Frame whose variables give names.
        storages: Gives storages their numbers; afterwards it knows those of this graph.
        values: Whether numbers are read; ``None``: up to a budget.
        model: The module that made the graph, if it is told; its tensors are not shown for it.
    """
    tensors, modules = split(outputs)
    given = naming.given_names(names)
    with autograd.unseen(), no_collection():
        roots = [place(text, tensor) for text, tensor in tensors]
        nodes, entries, index = walk([root.node for root in roots])
        try:
            shown = Tensors(_known(roots, modules, given, frame), index, values, storages)
            places = [(index[root.node], root.output_nr) for root in roots]
            columns, infos = read_columns(nodes, entries, shown, index)
            named = _modules((*modules, *([] if model is None else [model])), shown, frame)
            return Graph(columns, places, infos, modules=named, order=_order(nodes, columns))
        finally:
            make_safe_to_free(nodes, entries)


def walk(
    roots: Sequence[Any], ends_at: Callable[[Any], bool] | None = None
) -> tuple[list[Any], Entries, dict[Any, int]]:
    """All nodes behind ``roots``, breadth-first, with their ``next_functions`` as places.

    Args:
        roots: Nodes, each as often as wanted.
        ends_at: Nodes behind which the walk does not go; their entries are empty.

    Returns:
        The nodes, per node its entries as ``(place, output number)`` or ``None``, and the place
        of each node. The order is fixed: roots in order, then entries in torch's order.
    """
    # NOTE [Node ids]
    # Up to torch 2.12 a node's wrapper lives only as long as somebody holds it (F1.02), and an
    # id() is reused at once (F1.03). So nodes are keys themselves, and are held by `nodes`.
    index: dict[Any, int] = {}
    nodes: list[Any] = []
    entries: Entries = []
    for root in roots:
        if root not in index:
            index[root] = len(nodes)
            nodes.append(root)
    try:
        for node in nodes:
            if len(entries) % STRETCH == 0:
                progress.at("nodes found", len(nodes))
            row: list[tuple[int, int] | None] = []
            if ends_at is not None and ends_at(node):
                entries.append(())
                continue
            for following, number in node.next_functions:
                if following is None:
                    row.append(None)
                    continue
                at = index.get(following)
                if at is None:
                    at = index[following] = len(nodes)
                    nodes.append(following)
                row.append((at, number))
            entries.append(tuple(row))
    except BaseException:
        make_safe_to_free(nodes, entries)
        raise
    return nodes, entries, index


def _known(
    roots: Sequence[Root],
    modules: Sequence[torch.nn.Module],
    given: list[naming.Named],
    frame: FrameType | None,
) -> list[Known]:
    """Tensors that may be shown, each once, with all names; the first name is the best."""
    variables = [] if frame is None else naming.namespace(frame)
    found: dict[int, Known] = {}
    names: dict[int, dict[str, None]] = {}

    def add(name: str | None, tensor: torch.Tensor, is_asked_for: bool) -> None:
        known = found.setdefault(id(tensor), Known(tensor, name, is_asked_for))
        known.is_asked_for = known.is_asked_for or is_asked_for
        if name is not None:
            names.setdefault(id(tensor), {})[name] = None

    for name, tensor in given:
        add(name, tensor, True)
    for name, tensor in naming.named_tensors(variables):
        add(name, tensor, False)
    for module in modules:
        for path, tensor in naming.module_tensors(naming.name_of(module, variables), module):
            add(path, tensor, True)
    for root in roots:
        add(None, root.tensor, True)
        found[id(root.tensor)].is_root = True
    for key, known in found.items():
        known.name, *known.aliases = names.get(key, (None,))
    return list(found.values())


def _modules(
    given: Sequence[torch.nn.Module], tensors: Tensors, frame: FrameType | None
) -> tuple[ModuleInfo, ...]:
    """The modules that have tensors of the graph: those given, else those of the variables."""
    if not (given or any(autograd.is_parameter(one.tensor) for one in tensors.shown)):
        return ()
    variables = [] if frame is None else naming.namespace(frame)
    found: Iterable[NamedParts]
    if given:
        found = [(naming.name_of(one, variables), contents.parts_of(one)) for one in given]
    else:
        found = modules_among(variables)
    return module_infos(found, {id(one.tensor): one.id for one in tensors.shown})


def _order(nodes: Sequence[Any], columns: Columns) -> list[int] | None:
    """Places of all nodes but the leaves by the numbers that torch gave them.

    Each thread counts for itself. Where two nodes have one number, several threads have made them,
    and nothing says which of them came first.
    """
    made = [place for place, variable in enumerate(columns.variable) if variable is None]
    numbers = [autograd.sequence_nr(nodes[place]) for place in made]
    order = [place for _, place in sorted(zip(numbers, made))]
    return order if len(set(numbers)) == len(numbers) else None


def read_walked(
    roots: Sequence[tuple[int, int]],
    nodes: list[Any],
    entries: Entries,
    tensors: Tensors,
    index: dict[Any, int],
    modules: Iterable[NamedParts] = (),
) -> Graph:
    """The graph of nodes that :func:`walk` has found.

    Args:
        roots: Place and output number of each root.
        nodes: As ``walk`` returned them.
        entries: As ``walk`` returned them.
        tensors: The live tensors; afterwards they have their ids.
        index: As ``walk`` returned it.
        modules: Modules with their names, of which the graph names those that have its tensors.
    """
    columns, infos = read_columns(nodes, entries, tensors, index)
    named = module_infos(modules, {id(one.tensor): one.id for one in tensors.shown})
    return Graph(columns, roots, infos, modules=named, order=_order(nodes, columns))


def read_columns(
    nodes: list[Any], entries: Entries, tensors: Tensors, index: dict[Any, int]
) -> tuple[Columns, tuple[TensorInfo, ...]]:
    """Facts of the nodes that have entries, which come first, and the tensors."""
    reader = NodeReader(nodes, tensors)
    with threads.undisturbed(index):
        for start in range(0, len(entries), STRETCH):
            progress.at("nodes read", start, len(entries))
            reader.read(range(start, min(start + STRETCH, len(entries))))
        tensors.read_grads()
    tensors.choose()
    infos, values = tensors.read(reader.unknown)
    columns = reader.columns(values)
    return _columns(nodes[: len(entries)], entries, columns, tensors), infos


def _columns(nodes: list[Any], entries: Entries, read: FactColumns, tensors: Tensors) -> Columns:
    count = len(nodes)
    derivatives = _derivatives(read.name, entries)
    return Columns(
        name=read.name,
        next_functions=entries,
        saved=read.saved,
        variable=read.variable,
        output_shapes=read.output_shapes,
        state=read.state,
        hooks=tensors.hooks_by_node(count),
        hooks_unknown=[True] * count,
        attributes=read.attributes,
        arguments=[() if d is None else d.arguments for d in derivatives],
        formula=[None if d is None else d.formula for d in derivatives],
        source=sources(nodes),
        module=[None] * count,
        calls=[()] * count,
    )


def _derivatives(names: list[str], entries: Entries) -> list[Derivative | None]:
    """Each node's row of the derivative table; looked up once per name and pattern of entries."""
    found: dict[tuple[str, int | tuple[bool, ...]], Derivative | None] = {}
    column: list[Derivative | None] = []
    for name, row in zip(names, entries):
        # Most rows have no None; for them the length says the pattern.
        key = name, tuple([e is not None for e in row]) if None in row else len(row)
        try:
            column.append(found[key])
        except KeyError:
            found[key] = lookup(name, tuple([entry is not None for entry in row]))
            column.append(found[key])
    return column
