"""Graphs that are written down as their forward would make them, node after node."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from gradviz.model import Graph
from gradviz.model.records import (
    Hook,
    ModuleInfo,
    Node,
    SavedTensor,
    TensorInfo,
    ValueSummary,
)


class Forward:
    """A graph while it is made.

    Args:
        is_recorded: Whether each node knows its module; else it follows from the parameters.
    """

    def __init__(self, is_recorded: bool = True) -> None:
        self.is_recorded = is_recorded
        self.made: list[tuple[str, tuple[int | str | None, ...], str]] = []
        self.saved: dict[int, tuple[SavedTensor, ...]] = {}
        self.hooks: dict[int, tuple[Hook, ...]] = {}
        self.leaves: dict[str, str] = {}
        """Module of each leaf, by its name."""
        self.grads: dict[str, ValueSummary] = {}
        self.path = ""

    def leaf(self, name: str) -> str:
        """A parameter of the module that runs."""
        self.leaves.setdefault(name, self.path)
        return name

    def node(self, name: str, *inputs: int | str | None) -> int:
        """A node; inputs are nodes made before, names of leaves, or ``None``."""
        self.made.append((f"{name}Backward0", inputs, self.path))
        return len(self.made) - 1

    def graph(self, roots: Sequence[int] | None = None, ids: Sequence[int] | None = None) -> Graph:
        """The graph.

        Args:
            roots: Numbers of the nodes where backward starts; by itself those that nobody uses.
            ids: Where each node and, after them, each leaf is among the nodes of the graph.
        """
        count = len(self.made) + len(self.leaves)
        if ids is None:
            ids = [*range(len(self.made) - 1, -1, -1), *range(len(self.made), count)]
        leaf_ids = {name: ids[len(self.made) + i] for i, name in enumerate(self.leaves)}
        tensors = {name: f"t{i}" for i, name in enumerate(self.leaves)}
        nodes: dict[int, Node] = {}
        used: set[int] = set()
        for number, (name, inputs, path) in enumerate(self.made):
            used |= {one for one in inputs if isinstance(one, int)}
            entries = tuple(
                None
                if one is None
                else (f"n{leaf_ids[one] if isinstance(one, str) else ids[one]}", 0)
                for one in inputs
            )
            nodes[ids[number]] = Node(
                f"n{ids[number]}",
                name,
                entries,
                saved=self.saved.get(number, ()),
                hooks=self.hooks.get(number, ()),
                module=path if self.is_recorded else None,
            )
        infos = []
        for name in self.leaves:
            key = f"n{leaf_ids[name]}"
            nodes[leaf_ids[name]] = Node(key, "AccumulateGrad", (), variable=tensors[name])
            infos.append(leaf_info(tensors[name], name, key, self.grads.get(name)))
        starts = [i for i in range(len(self.made)) if i not in used] if roots is None else roots
        return Graph.of(
            [nodes[i] for i in sorted(nodes)],
            [(f"n{ids[i]}", 0) for i in starts],
            infos,
            self.modules(tensors),
            [f"n{ids[i]}" for i in range(len(self.made))],
        )

    def modules(self, tensors: dict[str, str]) -> list[ModuleInfo]:
        """The modules of the leaves, and those that these are in."""
        own: dict[str, list[str]] = {}
        for name, path in self.leaves.items():
            parts = path.split(".") if path else []
            for depth in range(1, len(parts) + 1):
                own.setdefault(".".join(parts[:depth]), [])
            if parts:
                own[path].append(tensors[name])
        return [ModuleInfo(path, "Part", tuple(own[path])) for path in sorted(own)]


def leaf_info(key: str, name: str, node: str, grad: ValueSummary | None) -> TensorInfo:
    """A leaf of three elements."""
    return TensorInfo(
        id=key,
        name=name,
        shape=(3,),
        dtype="float32",
        device="cpu",
        requires_grad=True,
        is_leaf=True,
        retains_grad=False,
        version=0,
        grad=grad,
        hooks=(),
        node=node,
        output_nr=0,
        storage=f"s{key[1:]}",
        is_view=False,
        is_inference=False,
    )


NAMES = ("Add", "Mul", "Mm", "Sin", "View", "T", "Expand", "ToCopy")
STATES = ("held", "modified", "freed", "packed", "none")


@st.composite
def forwards(draw: st.DrawFn) -> Forward:
    """Forwards of random programs: modules in modules, loops, nodes without structure."""
    forward = Forward(is_recorded=draw(st.booleans()))
    state: list[int] = []
    budget = draw(st.integers(1, 120))

    def inputs() -> tuple[int | str | None, ...]:
        found: list[int | str | None] = []
        for _ in range(draw(st.integers(1, 3))):
            kind = draw(st.integers(0, 9))
            if state and kind < 6:
                found.append(draw(st.sampled_from(state[-8:])))
            elif state and kind == 6:
                found.append(draw(st.sampled_from(state)))
            elif kind < 9:
                found.append(forward.leaf(f"w{draw(st.integers(0, 14))}"))
            else:
                found.append(None)
        return tuple(found)

    def body(depth: int) -> None:
        for _ in range(draw(st.integers(1, 4))):
            kind = draw(st.integers(0, 5)) if depth < 4 else 0
            if kind == 1:
                outer = forward.path
                name = draw(st.sampled_from(("net", "layers.0", "layers.1", "a", "b")))
                forward.path = f"{outer}.{name}" if outer else name
                body(depth + 1)
                forward.path = outer
            elif kind == 2:
                loop(depth)
            elif len(state) < budget:
                add(draw(st.sampled_from(NAMES)), inputs())

    def loop(depth: int) -> None:
        """The same nodes again and again, with other leaves or the same ones."""
        before = len(state)
        body(depth + 1)
        made = forward.made[before:]
        is_layers = draw(st.booleans())
        outer = forward.path
        for turn in range(draw(st.integers(1, 5))):
            shift = len(state) - before
            if len(state) + len(made) > 3 * budget:
                break
            for name, entries, path in made:
                forward.path = path
                moved = tuple(
                    one + shift
                    if isinstance(one, int) and one >= before
                    else forward.leaf(f"{one}_{turn}")
                    if isinstance(one, str) and is_layers
                    else one
                    for one in entries
                )
                add(name.removesuffix("Backward0"), moved)
        forward.path = outer

    def add(name: str, entries: tuple[int | str | None, ...]) -> None:
        number = forward.node(name, *entries)
        state.append(number)
        if draw(st.integers(0, 3)) == 0:
            forward.saved[number] = tuple(
                saved(draw(st.sampled_from(STATES)), draw(st.integers(0, 9))) for _ in range(2)
            )
        if draw(st.integers(0, 20)) == 0:
            forward.hooks[number] = (Hook("tensor", "hook"),)

    body(0)
    if not state:
        add("Sin", (None,))
    for name in forward.leaves:
        if draw(st.booleans()):
            norm = draw(st.sampled_from([0.0, 1.5, 1e200, "nan", None]))
            forward.grads[name] = ValueSummary((3,), "float32", norm=norm, has_nan=norm == "nan")
    return forward


def saved(state: str, storage: int) -> SavedTensor:
    """A saved tensor; storages of one number have one size."""
    if state in ("held", "modified"):
        return SavedTensor("self", state, storage=f"s{storage}", storage_nbytes=10 + storage)  # type: ignore[arg-type]
    return SavedTensor("self", state)  # type: ignore[arg-type]
