from __future__ import annotations

from typing import Any

import pytest
import torch

import gradviz
from tests.each import each
from tests.programs import PROGRAMS, Built, Program, named, run_backward
from tests.truth.compare import check
from tests.truth.walk import Note, notes_of, noting_saves, pairs, root_of

NOT_RUN_TWICE = {
    "saved_tensors_hooks",
    "saved_tensors_hooks_on_lists",
    "save_on_cpu",
    "checkpoint_nonreentrant",
    "freed_after_backward",
    "freed_list_save",
    "partially_freed",
    "pruned_backward",
    "custom_function_freed",
    "compiled",
    "func_grad",
}
"""Programs with hooks of their own, that run backward, or in which torch allows no hooks."""


def snapshot(built: Built) -> gradviz.Graph:
    return gradviz.snapshot(*built.outputs, names=built.names)


def noted(program: Program, graph: gradviz.Graph) -> dict[str, dict[str, Note | None]] | None:
    """What another run of the program saved, by the ids of the first one's graph."""
    if program.name in NOT_RUN_TWICE:
        return None
    with noting_saves():
        again = program.build()
    live = pairs(graph, [root_of(output) for output in again.outputs])
    return {node_id: notes_of(node) for node_id, node in live.items()}


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_snapshot_says_what_torch_says_before_backward_and_after(program: Program) -> None:
    first, second = program.build(), program.build()
    graph, before = snapshot(first), snapshot(second)
    assert graph == snapshot(first)
    assert graph.to_json() == before.to_json()
    assert gradviz.Graph.from_json(graph.to_json()) == graph
    check(graph, first.outputs, first.names, noted(program, graph))
    if program.backward == "raises":
        with pytest.raises(RuntimeError):
            run_backward(second)
    else:
        run_backward(second)
    after = snapshot(second)
    check(after, second.outputs, second.names)
    assert structure(after) == structure(before)
    if program.backward == "runs":
        assert not {"held", "modified"} & {s.state for n in after.nodes for s in n.saved}


def structure(graph: gradviz.Graph) -> Any:
    return [(n.id, n.name, n.next_functions, n.output_shapes, n.variable) for n in graph.nodes]


# What a person who knows torch would write down, without asking torch's getters.


def saved(graph: gradviz.Graph, name: str) -> dict[str, tuple[str, int | None, int | None]]:
    node = next(node for node in graph.nodes if node.name == name)
    return {s.name: (s.state, s.saved_version, s.current_version) for s in node.saved}


def test_an_input_written_after_it_was_saved_is_modified() -> None:
    graph = snapshot(named("inplace_after_save").build())
    assert saved(graph, "MulBackward0") == {
        "other": ("modified", 0, 1),
        "self": ("none", None, None),
    }


def test_an_output_written_after_it_was_saved_is_modified() -> None:
    graph = snapshot(named("inplace_after_save_of_output").build())
    assert saved(graph, "ExpBackward0") == {"result": ("modified", 0, 1)}


def test_an_index_written_after_it_was_saved_is_modified() -> None:
    graph = snapshot(named("inplace_in_list").build())
    assert saved(graph, "IndexBackward0") == {"indices[0]": ("modified", 0, 1)}


def test_only_the_branch_that_ran_is_freed() -> None:
    graph = snapshot(named("pruned_backward").build())
    states = [(n.name, n.state) for n in graph.nodes]
    assert states == [
        ("MulBackward0", "freed"),
        ("ExpBackward0", "freed"),
        ("ExpBackward0", "holds"),
        ("AccumulateGrad", "saves nothing"),
        ("AccumulateGrad", "saves nothing"),
    ]


def test_a_squared_leaf_has_two_edges_and_one_accumulator() -> None:
    graph = snapshot(named("shared_input").build())
    assert [(e.source, e.target, e.slot) for e in graph.edges] == [("n0", "n1", 0), ("n0", "n1", 1)]
    assert [s.tensor for s in graph["n0"].saved] == [graph.tensor("x").id] * 2


def test_the_output_number_is_the_producers() -> None:
    graph = snapshot(named("unbind_one_output_used").build())
    assert graph["n0"].next_functions == (("n1", 2), None)
    assert graph["n1"].output_shapes == ((), (), ())


def test_writing_a_view_puts_copy_slices_into_the_graph_of_its_base() -> None:
    graph = snapshot(named("inplace_view").build())
    assert graph["n1"].name == "CopySlices"
    assert graph["n1"].state == "opaque"
    assert graph.tensor("base").node == "n1"


def test_what_a_checkpoint_keeps_is_packed() -> None:
    graph = snapshot(named("checkpoint_nonreentrant").build())
    slots = [s for n in graph.nodes for s in n.saved]
    assert {s.state for s in slots} == {"packed"}


@each(
    ("name", "tensor", "hooks"),
    [
        ("tensor_hooks", "x", [("tensor", "halve")]),
        ("tensor_hooks", "y", [("tensor", "halve"), ("tensor", "negate")]),
        ("post_accumulate_grad_hook", "x", [("post_accumulate_grad", "forget")]),
    ],
)
def test_hooks_have_names(name: str, tensor: str, hooks: list[tuple[str, str]]) -> None:
    graph = snapshot(named(name).build())
    assert [(h.kind, h.name) for h in graph.tensor(tensor).hooks] == hooks


def test_a_node_has_the_hooks_of_all_its_outputs() -> None:
    x = torch.ones(2, requires_grad=True)
    one, other = x.unbind()
    one.register_hook(abs)
    other.register_hook(abs)
    graph = gradviz.snapshot(one + other, names={"one": one, "other": other})
    assert [(node.name, len(node.hooks)) for node in graph.nodes] == [
        ("AddBackward0", 0),
        ("UnbindBackward0", 2),
        ("AccumulateGrad", 0),
    ]
