"""What is a repeat: layers, time steps, loops in loops; and what is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.analysis.fold.drafts import MOST, PART
from gradviz.analysis.fold.repeats import periods
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model.fold import Fold, FoldTree, Member
from tests.analysis.fold.forwards import Forward
from tests.each import each


def block(forward: Forward, path: str, state: int | str | None) -> int:
    """A layer of a transformer: two branches that are added to what goes on."""
    outer, forward.path = forward.path, path
    x = forward.node("Norm", state, forward.leaf(f"{path}.norm"))
    forward.path = f"{path}.attn"
    heads = []
    for name in ("q", "k", "v"):
        forward.path = f"{path}.attn.{name}"
        view = forward.node("T", forward.leaf(f"{path}.{name}"))
        heads.append(forward.node("Mm", x, view))
    forward.path = f"{path}.attn"
    scores = forward.node("Softmax", forward.node("Bmm", heads[0], heads[1]))
    mixed = forward.node("Bmm", scores, heads[2])
    forward.path = path
    added = forward.node("Add", state, mixed)
    forward.path = f"{path}.mlp"
    hidden = forward.node("Gelu", forward.node("Mm", added, forward.leaf(f"{path}.up")))
    out = forward.node("Mm", hidden, forward.leaf(f"{path}.down"))
    forward.path = path
    found = forward.node("Add", added, out)
    forward.path = outer
    return found


def transformer(layers: int) -> Forward:
    """Layers whose first has an input that needs no gradient."""
    forward = Forward()
    state: int | None = None
    for layer in range(layers):
        state = block(forward, f"model.h.{layer}", state)
    forward.path = "model.head"
    forward.node("Mm", state, forward.leaf("head"))
    return forward


def tree_of(forward: Forward) -> FoldTree:
    return fold_tree(forward.graph())


def text(tree: FoldTree, one: Member) -> str:
    """A fold or box in a line: ``4 × (Mm Tanh)``, ``~`` where the ends are unlike, ``[Mm]`` of
    several nodes."""
    graph = tree.graph
    if isinstance(one, int):
        name = graph.names[one].removesuffix("Backward0")
        return f"[{name}]" if one in tree.pairs.values() else name
    if one.kind == "module":
        return one.path
    inner = [
        text(tree, member)
        for member in one.members
        if not (isinstance(member, Fold) and member.kind == "leaves")
        if not (isinstance(member, int) and graph.variables[member] is not None)
        if member not in tree.pairs
    ]
    if one.times:
        last = inner[-2] if one.kind == "repeat" and one.times > 2 else inner[-1]
        return f"{'' if one.equal else '~'}{one.times} × ({last})"
    return " ".join(inner)


def test_layers_are_a_repeat_though_the_input_of_the_first_needs_no_gradient() -> None:
    tree = tree_of(transformer(12))
    (repeat,) = (fold for fold in tree if fold.kind == "repeat")
    assert (repeat.times, repeat.path, repeat.equal) == (12, "model.h", False)
    assert [fold.path for fold in repeat.folds] == [f"model.h.{i}" for i in range(12)]


def test_equal_layers_are_equal() -> None:
    forward = Forward()
    state: int | str = forward.leaf("x")
    for layer in range(5):
        state = block(forward, f"h.{layer}", forward.node("Mul", state, state) if layer else state)
    (repeat,) = (fold for fold in tree_of(forward) if fold.kind == "repeat" and fold.times > 3)
    assert repeat.times == 5


@pytest.mark.parametrize(("layers", "parts"), [(24, []), (25, [12, 12, 1]), (96, [12] * 8)])
def test_many_layers_are_in_parts_that_say_how_many_they_have(
    layers: int, parts: list[int]
) -> None:
    tree = tree_of(transformer(layers))
    (repeat,) = (fold for fold in tree if fold.kind == "repeat")
    found = [fold for fold in repeat.folds if fold.kind == "part"]
    assert [fold.times for fold in found] == parts
    assert len(repeat.members) <= MOST
    if layers == 96:
        assert [fold.path for fold in found[0].folds] == [f"model.h.{i}" for i in range(PART)]


def test_every_second_layer_of_another_kind() -> None:
    forward = Forward()
    state: int | str = forward.leaf("x")
    for layer in range(12):
        forward.path = f"model.layers.{layer}"
        if layer % 2:
            gate = forward.node("Softmax", forward.node("Mm", state, forward.leaf(f"g{layer}")))
            state = forward.node("Mul", gate, forward.node("Mm", state, forward.leaf(f"e{layer}")))
        else:
            state = forward.node("Relu", forward.node("Mm", state, forward.leaf(f"w{layer}")))
    tree = tree_of(forward)
    (model,) = tree.root.folds
    assert (model.kind, model.path) == ("module", "model")
    (repeat,) = (fold for fold in model.folds if fold.kind == "repeat")
    assert (repeat.kind, repeat.times) == ("repeat", 6)
    assert [fold.path for fold in repeat.folds[2].folds] == ["model.layers.4", "model.layers.5"]


def test_every_second_layer_with_the_same_nodes_in_other_links() -> None:
    forward = Forward()
    state: int | str = forward.leaf("x")
    for layer in range(12):
        forward.path = f"model.layers.{layer}"
        up = forward.node("Mm", state, forward.leaf(f"w{layer}"))
        gate = forward.node("Tanh", up)
        state = forward.node("Mul", gate, gate if layer % 2 else up)
    (model,) = tree_of(forward).root.folds
    (repeat,) = (fold for fold in model.folds if fold.kind == "repeat")
    assert (repeat.times, len(repeat.folds[2].folds)) == (6, 2)


def test_modules_of_other_names_are_no_repeat() -> None:
    tree = tree_of(transformer(1))
    assert not [fold for fold in tree if fold.kind == "repeat"]
    assert {"model.h.0.attn.q", "model.h.0.attn.k"} <= {fold.path for fold in tree}


def recurrent(
    forward: Forward, steps: int, layer: int = 0, inputs: list[int] | None = None
) -> list[int]:
    """Steps of an RNN; the state before the first needs no gradient."""
    state: int | None = None
    found = []
    for step in range(steps):
        x = None if inputs is None else inputs[step]
        one = forward.node("Mm", x, forward.leaf(f"U{layer}"))
        other = forward.node("Mm", state, forward.leaf(f"W{layer}"))
        state = forward.node("Tanh", forward.node("Add", one, other))
        found.append(state)
    return found


def outputs_stacked() -> Forward:
    forward = Forward()
    forward.node("Sum", forward.node("Stack", *recurrent(forward, 20)))
    return forward


def selected_inputs() -> Forward:
    forward = Forward()
    x = forward.node("Mul", forward.leaf("x"))
    rows = [forward.node("Select", x) for _ in range(20)]
    forward.node("Stack", *recurrent(forward, 20, inputs=rows))
    return forward


def loss_per_step() -> Forward:
    forward = Forward()
    state: int | None = None
    loss: int | None = None
    for _ in range(20):
        state = forward.node("Tanh", forward.node("Mm", state, forward.leaf("W")))
        error = forward.node("Pow", forward.node("Mm", state, forward.leaf("V")))
        loss = forward.node("Add", loss, error)
    forward.node("Div", loss)
    return forward


def two_states() -> Forward:
    """Steps of an LSTM, which carry two values."""
    forward = Forward()
    hidden: int | None = None
    cell: int | None = None
    found = []
    for _ in range(20):
        gates = forward.node("Split", forward.node("Mm", hidden, forward.leaf("W")))
        forget, out = forward.node("Sigmoid", gates), forward.node("Sigmoid", gates)
        kept = forward.node("Mul", cell, forget)
        cell = forward.node("Add", kept, forward.node("Tanh", gates))
        hidden = forward.node("Mul", out, forward.node("Tanh", cell))
        found.append(hidden)
    forward.node("Stack", *found)
    return forward


def layers_of_steps() -> Forward:
    forward = Forward()
    found = recurrent(forward, 10, 0)
    for layer in range(1, 4):
        found = recurrent(forward, 10, layer, found)
    forward.node("Stack", *found)
    return forward


def steps_of_layers() -> Forward:
    forward = Forward()
    states: list[int | None] = [None] * 4
    loss: int | None = None
    for _ in range(10):
        x: int | None = None
        for layer in range(4):
            one = forward.node("Mm", x, forward.leaf(f"U{layer}"))
            other = forward.node("Mm", states[layer], forward.leaf(f"W{layer}"))
            states[layer] = x = forward.node("Tanh", forward.node("Add", one, other))
        loss = forward.node("Add", loss, forward.node("Sum", x))
    return forward


def siamese() -> Forward:
    forward = Forward()
    found = []
    for _ in range(2):
        x: int | None = None
        for layer in range(4):
            forward.path = f"net.{layer}"
            x = forward.node("Addmm", forward.leaf(f"b{layer}"), x, forward.leaf(f"w{layer}"))
            forward.path = "net"
            x = forward.node("Relu", x)
        found.append(x)
    forward.path = ""
    forward.node("Sum", forward.node("Sub", *found))
    return forward


def micro_batches() -> Forward:
    forward = Forward()
    loss: int | None = None
    for _ in range(8):
        forward.path = "net.up"
        x = forward.node("Mm", None, forward.leaf("up"))
        forward.path = "net.down"
        x = forward.node("Mm", forward.node("Relu", x), forward.leaf("down"))
        forward.path = ""
        loss = forward.node("Add", loss, forward.node("Div", forward.node("NllLoss", x)))
    return forward


def chain() -> Forward:
    forward = Forward()
    x: int | str = forward.leaf("x")
    for _ in range(50):
        x = forward.node("Sin", x)
    forward.node("Cos", x)
    return forward


def functional_layers() -> Forward:
    """Layers of a transformer that are no modules."""
    forward = transformer(12)
    forward.made = [(name, inputs, "") for name, inputs, _ in forward.made]
    forward.leaves = dict.fromkeys(forward.leaves, "")
    return forward


@each(
    ("program", "members"),
    [
        (outputs_stacked, ["~20 × (Mm Mm Add Tanh)", "Stack", "Sum"]),
        (selected_inputs, ["Mul", "20 × (Select)", "~20 × (Mm Mm Add Tanh)", "Stack"]),
        (loss_per_step, ["~20 × (Mm Tanh Mm Pow Add)", "Div"]),
        (
            two_states,
            ["~20 × (Mm Split Sigmoid Sigmoid Mul Tanh Add Tanh Mul)", "Stack"],
        ),
        (layers_of_steps, ["~4 × (~10 × (Mm Mm Add Tanh))", "Stack"]),
        (steps_of_layers, ["~10 × (~4 × (Mm Mm Add Tanh) Sum Add)"]),
        (siamese, ["2 × (net)", "Sub", "Sum"]),
        (micro_batches, ["~8 × (net NllLoss Div Add)"]),
        (chain, ["~50 × (12 × (Sin))", "Cos"]),
        (
            functional_layers,
            ["~12 × (Norm 3 × ([Mm]) Bmm Softmax Bmm Add Mm Gelu Mm Add)", "Mm"],
        ),
    ],
)
def test_programs(program: Callable[[], Forward], members: list[str]) -> None:
    tree = tree_of(program())
    variables = tree.graph.variables
    found = [
        text(tree, one)
        for one in tree.root.members
        if not (isinstance(one, int) and variables[one] is not None)
        if not (isinstance(one, Fold) and one.kind == "leaves")
    ]
    assert " ".join(found) == " ".join(members)


@given(st.lists(st.integers(0, 2), max_size=60))
def test_what_is_found_is_repeated_and_nothing_twice(keys: list[int]) -> None:
    end = 0
    for one in periods(keys):
        assert one.start >= end
        end = one.end
        assert one.times >= 3
        for at in range(one.start, one.end - one.length):
            assert keys[at] == keys[at + one.length]


@given(st.lists(st.integers(), min_size=1, max_size=8, unique=True), st.integers(3, 9))
def test_what_is_repeated_is_found(keys: list[int], times: int) -> None:
    (found,) = periods(["before", *(keys * times), "behind"])
    assert (found.start, found.length, found.times) == (1, len(keys), times)
