"""Random graphs, the same graphs with other ids, and graphs with one change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from gradviz.model import Graph, Hook, Node, SavedTensor, TensorInfo, ValueSummary

NAMES = ("MulBackward0", "SinBackward0", "AddBackward0", "ExpBackward0")


def random_graph(random: Random, most: int = 10) -> Graph:
    """A graph as torch could leave it: every node is reached, every name is borne once."""
    size = random.randint(2, most)
    followed: list[list[tuple[str, int] | None]] = [[] for _ in range(size)]
    for place in range(1, size):
        for user in random.sample(range(place), random.randint(1, min(2, place))):
            followed[user].append((f"n{place}", 0))
    tensors: list[TensorInfo] = []
    nodes = []
    for place, entries in enumerate(followed):
        key, is_leaf = f"n{place}", not entries and random.random() < 0.7
        name = random.choice(("a", "b", "c")) + str(place)
        if is_leaf or random.random() < 0.4:
            has_name = is_leaf or random.random() < 0.8
            tensors.append(make_tensor(len(tensors), name if has_name else None, key, is_leaf))
        if is_leaf:
            nodes.append(Node(key, "AccumulateGrad", (), variable=tensors[-1].id))
            continue
        if random.random() < 0.4:
            entries.insert(random.randint(0, len(entries)), None)
        tensors.append(make_tensor(len(tensors), f"k{place}", None, True))
        slots = [
            make_slot("self", f"s{100 + place}"),
            make_slot("other", tensors[-1].storage or ""),
        ]
        slots[1] = replace(slots[1], tensor=tensors[-1].id)
        nodes.append(
            Node(
                key,
                random.choice(NAMES),
                tuple(entries),
                saved=tuple(slots[: random.randint(0, 2)]),
                state="holds",
                attributes=(("alpha", random.randint(1, 3)),),
                output_shapes=((2,),),
                arguments=tuple(f"arg{i}" for i in range(len(entries))),
                formula="arg0: grad",
                module="fc",
            )
        )
    roots = [("n0", 0), (f"n{size - 1}", 0)] if random.random() < 0.3 else [("n0", 0)]
    return Graph.of(nodes, roots, tensors)


def make_tensor(number: int, name: str | None, node: str | None, is_leaf: bool) -> TensorInfo:
    grad = ValueSummary((2,), "float32", (1.0, -2.0)) if is_leaf else None
    return TensorInfo(
        f"t{number}", name, (2,), "float32", "cpu", node is not None, is_leaf, False, 0, grad, (),
        node, 0, f"s{number}", False, False, (float(number), 1.0),
    )  # fmt: skip


def make_slot(name: str, storage: str) -> SavedTensor:
    return SavedTensor(name, "held", (2,), "float32", "cpu", 8, storage, 8, 0, 0)


def with_other_ids(graph: Graph, random: Random) -> Graph:
    """The same graph with its nodes, tensors and storages numbered in another order."""

    def mixed(ids: list[str]) -> dict[str, str]:
        return {old: f"{old[0]}{i}" for i, old in enumerate(random.sample(ids, len(ids)))}

    nodes = mixed([node.id for node in graph.nodes])
    tensors = mixed([info.id for info in graph.tensors])
    storages = {f"s{i}": f"s{999 - i}" for i in range(999)}

    def slot(one: SavedTensor) -> SavedTensor:
        return replace(
            one, tensor=tensors.get(one.tensor or ""), storage=storages[one.storage or ""]
        )

    new_nodes = [
        replace(
            node,
            id=nodes[node.id],
            next_functions=tuple(e and (nodes[e[0]], e[1]) for e in node.next_functions),
            saved=tuple(map(slot, node.saved)),
            variable=tensors.get(node.variable or ""),
        )
        for node in graph.nodes
    ]
    new_tensors = [
        replace(
            info,
            id=tensors[info.id],
            node=nodes.get(info.node or ""),
            storage=storages[info.storage or ""],
        )
        for info in graph.tensors
    ]

    def number(thing: Node | TensorInfo) -> int:
        return int(thing.id[1:])

    return Graph.of(
        sorted(new_nodes, key=number),
        [(nodes[key], nr) for key, nr in graph.roots],
        sorted(new_tensors, key=number),
    )


def replaced(graph: Graph, old: Node | TensorInfo, new: Node | TensorInfo) -> Graph:
    """The graph with one node or tensor in place of another."""
    nodes: list[Any] = [new if node.id == old.id else node for node in graph.nodes]
    tensors: list[Any] = [new if info.id == old.id else info for info in graph.tensors]
    return Graph.of(nodes, graph.roots, tensors)


NODE_CHANGES: dict[str, Callable[[Node], Node]] = {
    "state": lambda node: replace(node, state="freed"),
    "alpha": lambda node: replace(node, attributes=(("alpha", 9),)),
    "beta": lambda node: replace(node, attributes=(*node.attributes, ("beta", 0.5))),
    "output shapes": lambda node: replace(node, output_shapes=((3,),)),
    "hooks": lambda node: replace(node, hooks=(Hook("node_post", "clip"),)),
    "derivative arg0": lambda node: replace(node, formula="arg0: -grad"),
    "module": lambda node: replace(node, module="conv"),
}
SLOT_CHANGES: dict[str, dict[str, Any]] = {
    "freed": {"state": "freed"},
    "packed": {"state": "packed", "packed_by": "f"},
    "modified": {"state": "modified", "current_version": 1},
    "version": {"saved_version": 1, "current_version": 1},
    "shape": {"shape": (1, 2)},
    "dtype": {"dtype": "float64"},
    "device": {"device": "cuda:0"},
    "bytes": {"nbytes": 16},
    "storage": {"storage_nbytes": 16},
}
TENSOR_CHANGES: dict[str, Callable[[TensorInfo], TensorInfo]] = {
    "requires_grad": lambda info: replace(info, requires_grad=not info.requires_grad),
    "is_leaf": lambda info: replace(info, is_leaf=not info.is_leaf),
    "retains_grad": lambda info: replace(info, retains_grad=True),
    "version": lambda info: replace(info, version=3),
    "shape": lambda info: replace(info, shape=(1, 2)),
    "dtype": lambda info: replace(info, dtype="float64"),
    "device": lambda info: replace(info, device="cuda:0"),
    "hooks": lambda info: replace(info, hooks=(Hook("tensor", "clip"),)),
    "view": lambda info: replace(info, is_view=True),
    "inference tensor": lambda info: replace(info, is_inference=True),
    "values": lambda info: replace(info, values=(-1.0, 1.0)),
    ".grad": lambda info: replace(info, grad=ValueSummary((2,), "float32", (1.0, 2.5))),
}
