"""Compare a snapshot with the live graph, fact by fact."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from gradviz import Graph, Node, TensorInfo, ValueSummary
from tests.truth.walk import (
    Note,
    Slot,
    pairs,
    root_of,
    scalars_of,
    sizes,
    slots_of,
    state_of,
    storage,
    unqualified,
    version,
)


def check(
    graph: Graph,
    outputs: Sequence[Tensor],
    names: Mapping[str, Tensor] | None = None,
    notes: Mapping[str, Mapping[str, Note | None]] | None = None,
) -> dict[str, Any]:
    """Assert that a snapshot of ``outputs`` says what torch says.

    Args:
        graph: The snapshot.
        outputs: Live outputs it was taken of.
        names: Live tensors by the names they were given.
        notes: Node id -> slot -> what a second run noted when it saved.

    Returns:
        Node id -> live node.
    """
    with torch._C.DisableTorchFunction():
        roots = [root_of(output) for output in outputs]
        live = pairs(graph, roots)
        nodes = list(graph.nodes)
        check_order(graph, nodes)
        check_edges(graph, nodes)
        tensors = live_tensors(graph, nodes, live, outputs, names or {})
        slots = {node_id: slots_of(node) for node_id, node in live.items()}
        storages = Storages()
        for node in nodes:
            check_node(node, live[node.id], slots[node.id])
            check_saved(node, slots[node.id], tensors, storages)
            if notes is not None:
                check_notes(node, slots[node.id], notes[node.id])
        check_tensors(graph, nodes, live, tensors, storages)
        check_totals(graph, nodes, slots)
    return live


def check_order(graph: Graph, nodes: Sequence[Node]) -> None:
    """Ids count up breadth first from the roots, in the order of entries."""
    order: dict[str, None] = dict.fromkeys(node_id for node_id, _ in graph.roots)
    rows = {node.id: node.next_functions for node in nodes}
    queue = deque(order)
    while queue:
        for entry in rows[queue.popleft()]:
            if entry is not None and entry[0] not in order:
                order[entry[0]] = None
                queue.append(entry[0])
    assert list(order) == [f"n{i}" for i in range(len(graph))]


def check_edges(graph: Graph, nodes: Sequence[Node]) -> None:
    expected = [
        (node.id, entry[0], slot, entry[1])
        for node in nodes
        for slot, entry in enumerate(node.next_functions)
        if entry is not None
    ]
    assert [(e.source, e.target, e.slot, e.output_nr) for e in graph.edges] == expected


def check_node(node: Node, live: Any, slots: Sequence[Slot]) -> None:
    assert node.state == state_of(live, slots), node
    shapes = [shape_of_metadata(entry) for entry in live._input_metadata]
    assert list(node.output_shapes) == shapes, node
    assert node.arguments == () or len(node.arguments) == len(node.next_functions), node
    assert (node.variable is not None) == (unqualified(live.name()) == "AccumulateGrad"), node
    kept = dict(node.attributes)
    scalars = scalars_of(live)
    assert kept.keys() == scalars.keys(), node
    for name, value in scalars.items():
        if type(value) in (bool, str) or (type(value) is int and value < 2**63):
            assert kept[name] == value, (node.id, name)


def shape_of_metadata(entry: Any) -> tuple[int, ...] | None:
    try:
        return tuple(n if type(n) is int else -1 for n in entry.shape)
    except RuntimeError:
        return None


def check_saved(
    node: Node,
    slots: Sequence[Slot],
    tensors: Mapping[str, Tensor],
    storages: Storages,
) -> None:
    by_identity = {id(tensor): tensor_id for tensor_id, tensor in tensors.items()}
    assert [s.name for s in node.saved] == [s.name for s in slots], node
    for ours, slot in zip(node.saved, slots):
        where = (node.id, node.name, ours)
        assert ours.state in slot.state.split(" or "), where
        assert (ours.packed_by is not None) == (slot.state == "packed"), where
        tensor = slot.tensor
        if tensor is None:
            assert ours.shape is None and ours.tensor is None, where  # noqa: PT018
            assert ours.storage is None and ours.nbytes is None, where  # noqa: PT018
            assert ours.values is None, where
            continue
        assert is_shape_of(ours.shape, tensor), where
        assert f"torch.{ours.dtype}" == str(tensor.dtype), where
        assert ours.device == str(tensor.device), where
        assert ours.current_version == version(tensor), where
        if slot.saved_version is not None:
            assert ours.saved_version == slot.saved_version, where
        storages.check(ours.storage, tensor)
        if id(tensor) in by_identity:
            assert ours.tensor == by_identity[id(tensor)], where
        elif ours.tensor is not None and ours.tensor in tensors:
            known = tensors[ours.tensor]
            assert sizes(known) == sizes(tensor), where
            assert storage(known) == storage(tensor), where
        has_values = ours.tensor is None and is_shown(tensor)
        assert ours.values == (written(tensor) if has_values else None), where


def is_shown(tensor: Tensor) -> bool:
    """Whether the values of a saved tensor can be read and are few."""
    plain = type(tensor) in (Tensor, torch.nn.Parameter) and tensor.layout is torch.strided
    if not plain or tensor.is_nested or tensor.is_meta or tensor.is_quantized:
        return False
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return not wrapped and tensor.numel() <= 8 and (not tensor.numel() or tensor.data_ptr() != 0)


def written(tensor: Tensor) -> tuple[Any, ...]:
    """All values, as a document can hold them."""
    found = tensor.detach().resolve_conj().resolve_neg().flatten().tolist()
    return tuple(
        str(v).strip("()") if isinstance(v, complex) or not math.isfinite(v) else v for v in found
    )


def check_notes(node: Node, slots: Sequence[Slot], notes: Mapping[str, Note | None]) -> None:
    """Saved versions are those noted at the moment of saving in a second run."""
    live = {slot.name: slot for slot in slots}
    for ours in node.saved:
        noted, where = notes[ours.name], (node.id, node.name, ours)
        assert (noted is None) == (ours.state == "none"), where
        if noted is None:
            continue
        tensor = live[ours.name].tensor
        assert tensor is not None, where
        assert ours.shape == noted.shape or -1 in noted.shape, where
        assert f"torch.{ours.dtype}" == str(noted.dtype), where
        if ours.saved_version is not None:
            assert ours.saved_version == noted.version, where
        changed = noted.version is not None and noted.version != tensor._version
        assert (ours.state == "modified") == changed, where


def is_shape_of(shape: tuple[int, ...] | None, tensor: Tensor) -> bool:
    if shape is None:
        return False
    if -1 in sizes(tensor):  # nested: which dimensions have no length, torch tells one by one
        return len(shape) == tensor.dim()
    return shape == sizes(tensor)


class Storages:
    """Checks that one id stands for one storage, throughout the graph."""

    def __init__(self) -> None:
        self.key_of: dict[str, Any] = {}
        self.name_of: dict[Any, str] = {}

    def check(self, name: str | None, tensor: Tensor) -> None:
        key = storage(tensor)
        assert (name is None) == (key is None)
        if name is not None:
            assert self.key_of.setdefault(name, key) == key, f"{name} is two storages"
            assert self.name_of.setdefault(key, name) == name, f"two ids for {name}"


# --- tensors --------------------------------------------------------------------------------


def live_tensors(
    graph: Graph,
    nodes: Sequence[Node],
    live: Mapping[str, Any],
    outputs: Sequence[Tensor],
    names: Mapping[str, Tensor],
) -> dict[str, Tensor]:
    """Tensor id -> live tensor, for all that the caller or the graph can reach."""
    found = {graph.tensor(name).id: tensor for name, tensor in names.items()}
    for node in nodes:
        if node.variable is not None:
            variable = live[node.id].variable
            assert found.setdefault(node.variable, variable) is variable, node
    known = {id(tensor) for tensor in found.values()}
    for output in outputs:
        if id(output) not in known:
            edge = root_of(output)
            fitting = [
                info
                for info in graph.tensors
                if info.id not in found
                and info.node is not None
                and (live[info.node], info.output_nr) == edge
            ]
            assert fitting, "an output is missing from the tensors"
            found[fitting[0].id] = output
            known.add(id(output))
    return found


def check_tensors(
    graph: Graph,
    nodes: Sequence[Node],
    live: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    storages: Storages,
) -> None:
    assert [info.id for info in graph.tensors] == [f"t{i}" for i in range(len(graph.tensors))]
    for info in graph.tensors:
        if info.id in tensors:
            check_tensor(info, tensors[info.id], live)
            storages.check(info.storage, tensors[info.id])
    variables = [node.variable for node in nodes if node.variable is not None]
    assert [info.id for info in graph.leaves] == variables


def check_tensor(info: TensorInfo, tensor: Tensor, live: Mapping[str, Any]) -> None:
    assert is_shape_of(info.shape, tensor), info
    assert f"torch.{info.dtype}" == str(tensor.dtype), info
    assert info.device == str(tensor.device), info
    assert info.requires_grad == tensor.requires_grad, info
    assert info.retains_grad == tensor.retains_grad, info
    assert info.version == version(tensor), info
    assert info.is_view == tensor._is_view(), info
    assert info.is_inference == tensor.is_inference(), info
    assert info.output_nr == tensor.output_nr, info
    if info.is_leaf is None:
        assert tensor._is_view() and tensor._version > 0, info  # noqa: PT018
    else:
        assert info.is_leaf == tensor.is_leaf, info
        if info.node is not None:
            node = live[info.node]
            at = getattr(node, "variable", None) if tensor.is_leaf else tensor.grad_fn
            assert at is (tensor if tensor.is_leaf else node), info
    hooks = [("tensor", h) for h in (tensor._backward_hooks or {}).values()]
    after = getattr(tensor, "_post_accumulate_grad_hooks", None) or {}
    hooks += [("post_accumulate_grad", h) for h in after.values()]
    assert [h.kind for h in info.hooks] == [kind for kind, _ in hooks], info
    grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    assert (info.grad is None) == (grad is None), info
    if info.grad is not None and grad is not None:
        check_summary(info.grad, grad)


def check_summary(summary: ValueSummary, grad: Tensor) -> None:
    assert is_shape_of(summary.shape, grad)
    assert f"torch.{summary.dtype}" == str(grad.dtype)
    if summary.min is None:
        return
    numbers = grad.detach().to(torch.complex128 if grad.is_complex() else torch.float64)
    magnitudes = numbers.abs() if grad.is_complex() else numbers
    for ours, truth, unit in (
        (summary.min, magnitudes.min(), 0.0),
        (summary.mean, magnitudes.mean(), sixth_digit(magnitudes.abs().max().item())),
        (summary.max, magnitudes.max(), 0.0),
        (summary.norm, magnitudes.norm(), 0.0),
    ):
        assert ours is not None
        theirs = truth.item()
        close = math.isclose(float(ours), theirs, rel_tol=2e-3, abs_tol=max(1e-5, 0.51 * unit))
        assert close or str(float(ours)) == str(theirs), (ours, theirs)
    assert summary.has_nan == bool(numbers.isnan().any())
    assert summary.has_inf == bool(numbers.isinf().any())
    if grad.numel() <= 8:
        written = [str(v).strip("()") for v in grad.detach().flatten().tolist()]
        assert summary.values is not None
        assert [str(v) for v in summary.values] == written


def sixth_digit(largest: float) -> float:
    """What one is worth in the sixth digit of the largest number: a mean has no more digits."""
    is_usual = math.isfinite(largest) and largest > 0
    return 10.0 ** (math.floor(math.log10(largest)) - 5) if is_usual else 0.0


# --- totals ---------------------------------------------------------------------------------


def check_totals(graph: Graph, nodes: Sequence[Node], slots: Mapping[str, Sequence[Slot]]) -> None:
    held: dict[Any, int] = {}
    for slot in (slot for row in slots.values() for slot in row):
        if slot.tensor is not None and storage(slot.tensor) is not None:
            held[storage(slot.tensor)] = slot.tensor.untyped_storage().nbytes()
    assert graph.saved_bytes == sum(held.values())
    counts = graph.counts
    assert counts["nodes"] == len(slots)
    assert counts["edges"] == len(graph.edges)
    states = Counter(saved.state for node in nodes for saved in node.saved)
    expected = {f"saved {state}": number for state, number in states.items()}
    unsized = sum(saved.is_without_size for node in nodes for saved in node.saved)
    expected |= {"saved without size": unsized} if unsized else {}
    assert {k: v for k, v in counts.items() if k.startswith("saved ")} == expected
