"""At every line, a recording's graph is what a snapshot taken there says."""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

import gradviz
from gradviz import Graph, Node, SavedTensor, TensorInfo
from gradviz.model.events import Accumulated, Freed, HookChanged, HookFired, NodeRan
from tests.each import each

PROGRAMS = {
    "products": """
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(3.0, requires_grad=True)
        out1 = a * b
        out2 = out1.exp() + b
        out2.backward()
        out2 = None
    """,
    "rebound": """
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y = y.exp()
        y = y.sum()
        del y
        x.grad = torch.ones(3)
        z = x.sin()
    """,
    "written in place": """
        x = torch.ones(2, requires_grad=True)
        w = torch.ones(2)
        y = x * w
        w.add_(1)
        base = x * 1
        row = base[0]
        row.mul_(3)
        base.mul_(2)
        total = base.sum() + row
        total.backward()
    """,
    "swapped": """
        a = torch.ones(2, requires_grad=True)
        b = torch.arange(3.0)
        first = a.detach()
        second = (b * 2).detach()
        y = (a * 3).exp()
        torch.utils.swap_tensors(first, second)
        z = y.sum()
        torch.utils.swap_tensors(z, b)
        u = b * first.sum()
        torch.utils.swap_tensors(a, second)
        v = u + second.sum() + a.sum()
        b.retain_grad()
        w = second * 2
    """,
    "swapped on one storage": """
        a = torch.ones(2, requires_grad=True)
        b = a.detach().requires_grad_()
        hidden = a * 2
        left, right = hidden.detach(), hidden.detach()
        y = hidden.exp()
        torch.utils.swap_tensors(a, b)
        other = b * 3
        torch.utils.swap_tensors(left, right)
        torch.utils.swap_tensors(other, left)
        leaf = y.detach().requires_grad_()
        torch.utils.swap_tensors(y, leaf)
        z = leaf.sum() + left.sum()
    """,
    "converted by swapping": """
        torch.__future__.set_swap_module_params_on_conversion(True)
        model = torch.nn.Linear(2, 2)
        other = torch.nn.Linear(2, 2).double()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        loss = model(torch.ones(1, 2)).sum()
        loss.backward()
        model.to(torch.float64)
        loss = model(torch.ones(1, 2, dtype=torch.float64)).sum()
        loss.backward()
        optimizer.step()
        other.load_state_dict(model.state_dict())
        optimizer.zero_grad()
        loss = (other.weight * model.weight).sum()
        loss.backward()
        torch.__future__.set_swap_module_params_on_conversion(False)
    """,
    "several backwards": """
        x = torch.ones(2, requires_grad=True)
        hidden = x.exp()
        first = hidden.sin().sum()
        second = hidden.cos().sum()
        first.backward(retain_graph=True)
        second.backward(retain_graph=True)
        first.backward()
        x.grad = None
    """,
    "gradient of a gradient": """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x ** 3).sum()
        slope, = torch.autograd.grad(y, x, create_graph=True)
        penalty = slope.pow(2).sum()
        penalty.backward()
        del slope, penalty
        y.backward()
    """,
    "flags and hooks": """
        x = torch.ones(2)
        x.requires_grad_()
        y = x * 2
        y.retain_grad()
        y.register_hook(print)
        handle = x.register_hook(abs)
        handle.remove()
        cut = y.detach()
        with torch.no_grad():
            free = y * 2
        z = (y * cut).sum()
        z.backward()
    """,
    "a layer": """
        layer = torch.nn.Linear(3, 2)
        x = torch.ones(4, 3)
        loss = layer(x).relu().pow(2).mean()
        loss.backward()
        with torch.no_grad():
            [p.sub_(0.1 * p.grad) for p in layer.parameters()]
        layer.zero_grad()
        loss = layer(x).sum()
    """,
    "freed twice": """
        x = torch.ones(2, requires_grad=True)
        y = (x * x).sum()
        y.backward()
        try:
            y.backward()
        except RuntimeError:
            pass
        z = y + x
    """,
    "lists": """
        xs = [torch.ones(2, requires_grad=True) for _ in range(2)]
        ys = [x * i for i, x in enumerate(xs)]
        total = torch.stack(ys).sum()
        ys.clear()
        total.backward()
    """,
    "a custom Function": """
        from tests.programs import SavesNone, Double
        x = torch.ones(2, requires_grad=True)
        w = torch.ones(2, requires_grad=True)
        a, b = SavesNone.apply(x, w)
        c = Double.apply(a, 2.0)
        del a
        (c + b).sum().backward()
    """,
}


def lines_of(name: str) -> str:
    return textwrap.dedent(PROGRAMS[name]).strip() + "\n"


def recorded(name: str) -> gradviz.Recording:
    """The program as the body of a ``with`` block in a function."""
    body = textwrap.indent(lines_of(name), "        ")
    text = f"import torch, gradviz\ndef run():\n    with gradviz.record() as recording:\n{body}"
    text += "    return recording, locals()\n"
    file = f"recorded {name}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {"__name__": "recorded_program"}
    exec(compile(text, file, "exec"), space)
    torch.manual_seed(0)
    recording, _ = space["run"]()
    assert isinstance(recording, gradviz.Recording)
    return recording


def statement_by_statement(name: str, look: Callable[[int, Mapping[str, Any]], Any]) -> list[Any]:
    """The same program, run one statement at a time, and looked at after each."""
    torch.manual_seed(0)
    space: dict[str, Any] = {"torch": torch, "__name__": "program"}
    text, seen = lines_of(name), []
    for statement in ast.parse(text).body:
        exec(compile(ast.Module([statement], []), "program", "exec"), space)
        seen.append(look(statement.end_lineno or 0, space))
    return seen


FIRST = 4
"""Line of the file on which the block begins."""


def snapshot_now(line: int, space: Mapping[str, Any]) -> tuple[int, Graph | None]:
    names = dict(named_tensors(space))
    # A view whose base was written may be stale: to ask for its node could make one.
    placed = [t for t in names.values() if not (t._is_view() and t._version)]
    roots = [t for t in placed if t.requires_grad and t.grad_fn is not None]
    roots += [t.grad for t in names.values() if t.is_leaf and t.grad is not None]
    roots = [t for t in roots if t.grad_fn is not None]
    if not roots:
        return line, None
    # Called among the variables of the program: those of this function are no names.
    inside = {**space, "_roots": roots, "_names": names, "_snapshot": gradviz.snapshot}
    exec("_graph = _snapshot(*_roots, names=_names)", inside)
    return line, inside["_graph"]


def named_tensors(space: Mapping[str, Any]) -> list[tuple[str, Tensor]]:
    found = []
    for name, value in space.items():
        if isinstance(value, Tensor):
            found.append((name, value))
        elif isinstance(value, list):
            found += [(f"{name}[{i}]", t) for i, t in enumerate(value) if isinstance(t, Tensor)]
        elif isinstance(value, torch.nn.Module):
            found += [(f"{name}.{path}", p) for path, p in value.named_parameters()]
    return found


# --- compared up to ids ---------------------------------------------------------------------


class Canonical:
    """A graph with ids that follow from its structure, seen from its named tensors."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.nodes: dict[str, str] = {}
        self.storages: dict[str, str] = {}
        self.tensors: dict[str, str] = {}
        named = sorted((t for t in graph.tensors if t.name), key=lambda t: str(t.name))
        self.visit([t.node for t in named if t.node is not None])
        self.tensors = {t.id: str(t.name) for t in named}
        for i, node in enumerate(list(self.nodes)):
            variable = graph[node].variable
            if variable is not None:
                self.tensors.setdefault(variable, f"leaf of {i}")
        self.visit([t.node for t in graph.tensors if t.id in self.tensors and t.node is not None])

    def visit(self, roots: Sequence[str]) -> None:
        stack = list(reversed(roots))
        while stack:
            node = stack.pop()
            if node not in self.nodes:
                self.nodes[node] = f"n{len(self.nodes)}"
                entries = self._graph[node].next_functions
                stack.extend(e[0] for e in reversed(entries) if e is not None)

    def storage(self, name: str | None) -> str | None:
        return None if name is None else self.storages.setdefault(name, f"s{len(self.storages)}")

    def tensor_rows(self) -> list[TensorInfo]:
        named = [t for t in self._graph.tensors if t.id in self.tensors]
        named.sort(key=lambda t: self.tensors[t.id])
        return [
            replace(
                t,
                id=self.tensors[t.id],
                name=self.tensors[t.id],
                node=None if t.node is None else self.nodes[t.node],
                storage=self.storage(t.storage),
            )
            for t in named
        ]

    def node_rows(self) -> list[Node]:
        return [self.node_row(self._graph[node]) for node in self.nodes]

    def node_row(self, node: Node) -> Node:
        return replace(
            node,
            id=self.nodes[node.id],
            next_functions=tuple(
                None if e is None else (self.nodes[e[0]], e[1]) for e in node.next_functions
            ),
            saved=tuple(map(self.slot, node.saved)),
            variable=None if node.variable is None else self.tensors[node.variable],
            source=None,
            module=None,
            calls=(),
            hooks_unknown=True,
        )

    def slot(self, slot: SavedTensor) -> SavedTensor:
        values = slot.values
        if slot.tensor is not None and slot.tensor not in self.tensors:
            # A recording knows tensors without a name too, and these have the values themselves.
            values = self._graph.tensor(slot.tensor).values
        return replace(
            slot,
            values=values,
            storage=self.storage(slot.storage),
            tensor=self.tensors.get(slot.tensor or ""),
            view_of=self.tensors.get(slot.view_of or ""),
        )


def without_places(graph: Graph, leaves: dict[str | None, bool | None]) -> Graph:
    """The graph as if these tensors had not been asked for their nodes, and as little known of
    whether they are leaves."""
    tensors = [
        replace(t, node=None, is_leaf=leaves[t.name], output_nr=0) if t.name in leaves else t
        for t in graph.tensors
    ]
    return Graph.of(list(graph.nodes), graph.roots, tensors)


def same_graphs(ours: Graph, theirs: Graph) -> None:
    """Assert that two graphs are the same up to ids, and that ours has no more nodes."""
    # A snapshot does not ask a view that may be stale for its place; a recording knows the place of
    # one that an operation has just returned.
    unasked = {t.name: t.is_leaf for t in theirs.tensors if t.may_be_elsewhere}
    mine, other = Canonical(without_places(ours, unasked)), Canonical(theirs)
    assert mine.tensor_rows() == other.tensor_rows()
    assert mine.node_rows() == other.node_rows()
    assert len(mine.nodes) == len(other.nodes) == len(theirs)
    # Such a view has a node of its own, and the one it had before lives on inside CopySlices.
    assert len(theirs) <= len(ours) <= len(theirs) + 2 * len(unasked)
    assert ours.saved_bytes == theirs.saved_bytes


def last_step_of_line(recording: gradviz.Recording, line: int) -> gradviz.model.Step:
    """The state when the statement that ends on this line had run."""
    steps = [s for s in recording.all_steps if s.level == 0 and (s.line or 0) <= line]
    return steps[-1]


def look_now(line: int, space: Mapping[str, Any]) -> tuple[int, Graph | None, dict[str, Any]]:
    _, graph = snapshot_now(line, space)
    return line, graph, {name: flags_of(tensor) for name, tensor in named_tensors(space)}


def flags_of(tensor: Any) -> Any:
    return (
        tuple(tensor.shape),
        tensor.requires_grad,
        tensor.retains_grad,
        tensor._version,
        len(tensor._backward_hooks or {}),
    )


STEP_OF = {
    NodeRan: ("node",),
    Accumulated: ("accumulate", "saved"),
    Freed: ("freed",),
    HookFired: ("hook",),
}
"""What happens inside of backward, and the steps that are about it; a gradient that a tensor
retains is told before its node runs."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_line_has_the_graph_of_a_snapshot_there_and_backward_steps_of_its_own(
    name: str,
) -> None:
    recording = recorded(name)
    compared = 0
    for line, graph, flags in statement_by_statement(name, look_now):
        step = last_step_of_line(recording, line + FIRST - 1)
        found = {
            t.name: (t.shape, t.requires_grad, t.retains_grad, t.version, len(t.hooks))
            for t in step.tensors
            if t.name in flags
        }
        assert found == flags, line
        if graph is None:
            assert not [n for n in step.graph.nodes if n.name != "AccumulateGrad"]
            continue
        same_graphs(step.graph, graph)
        assert step.saved_bytes == graph.saved_bytes
        compared += 1
    assert compared > 2
    for facts in recording.records:
        told = [event for event in facts.events if type(event) in STEP_OF]
        assert len(told) < 2
        assert all(facts.kind in STEP_OF[type(event)] for event in told)


def test_hooks_are_told_when_they_come_and_when_they_go() -> None:
    events = [event for facts in recorded("flags and hooks").records for event in facts.events]
    told = [(e.hook.name, e.registered) for e in events if isinstance(e, HookChanged)]
    assert told == [("print", True), ("abs", True), ("abs", False)]


def hooks_told(recording: gradviz.Recording) -> list[tuple[str, str]]:
    events = [event for facts in recording.records for event in facts.events]
    return [(e.hook.kind, e.hook.name) for e in events if isinstance(e, HookChanged)]


def test_hooks_of_a_node_are_told_with_their_kind() -> None:
    def before(gradients: Any) -> None:
        pass

    def after(inputs: Any, outputs: Any) -> None:
        pass

    class Watch:
        def before_too(self, gradients: Any) -> None:
            pass

    with gradviz.record() as recording:
        y = torch.ones(2, requires_grad=True) * 2
        assert y.grad_fn is not None
        y.grad_fn.register_prehook(before)
        y.grad_fn.register_prehook(Watch().before_too)
        y.grad_fn.register_hook(after)
    kinds = [(kind, name.rpartition(".")[2]) for kind, name in hooks_told(recording)]
    assert kinds == [("node_pre", "before"), ("node_pre", "before_too"), ("node_post", "after")]


def test_a_hook_that_belongs_to_no_module_is_told() -> None:
    seen: list[Any] = []
    with gradviz.record() as recording:
        y = torch.ones(2, requires_grad=True) * 2
        assert y.grad_fn is not None
        y.grad_fn.register_prehook(seen.append)
        y.sum().backward()
    assert len(seen) == 1
    assert [name for _, name in hooks_told(recording)] == ["list.append"]


def test_a_name_is_that_of_the_last_tensor_that_got_it() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        y = x * 2
        x = y * 3
    named = [[info.name for info in step.tensors] for step in recording.all_steps]
    assert named[1] == ["x", "y"]
    assert sorted(map(str, named[2])) == ["None", "x", "y"]


# --- the comparison sees faults -------------------------------------------------------------


NODE_FAULTS: dict[str, Callable[[Node], Node]] = {
    "state": lambda n: replace(n, state="freed"),
    "slot": lambda n: replace(n, saved=n.saved[1:]),
    "version": lambda n: replace(n, saved=(replace(n.saved[0], saved_version=7), *n.saved[1:])),
    "slot freed": lambda n: replace(n, saved=(replace(n.saved[0], state="freed"), *n.saved[1:])),
    "entries": lambda n: replace(n, next_functions=n.next_functions[::-1]),
    "name": lambda n: replace(n, name="DivBackward0"),
}
TENSOR_FAULTS: dict[str, Callable[[TensorInfo], TensorInfo]] = {
    "version": lambda t: replace(t, version=(t.version or 0) + 1),
    "flag": lambda t: replace(t, retains_grad=True),
    "name": lambda t: replace(t, name="other"),
    "storage": lambda t: replace(t, storage="s0" if t.storage != "s0" else "s1"),
}


@each("fault", NODE_FAULTS)
def test_a_wrong_node_is_seen(fault: str) -> None:
    graph = recorded("several backwards").all_steps[3].graph
    same_graphs(graph, graph)
    at = next(n.id for n in graph.nodes if n.saved and len(n.next_functions) == 1)
    if fault == "entries":
        graph = recorded("products").all_steps[3].graph
        at = next(n.id for n in graph.nodes if n.name == "MulBackward0")
    wrong = [NODE_FAULTS[fault](n) if n.id == at else n for n in graph.nodes]
    with pytest.raises(AssertionError):
        same_graphs(Graph.of(wrong, graph.roots, graph.tensors), graph)


@each("fault", TENSOR_FAULTS)
def test_a_wrong_tensor_is_seen(fault: str) -> None:
    graph = recorded("several backwards").all_steps[3].graph
    last = graph.tensors[-1]
    wrong = [*graph.tensors[:-1], TENSOR_FAULTS[fault](last)]
    with pytest.raises((AssertionError, KeyError)):
        same_graphs(Graph.of(list(graph.nodes), graph.roots, wrong), graph)
