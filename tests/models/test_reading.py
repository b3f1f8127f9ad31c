"""Graph, audit and memory of each model are what torch says, which is asked in other ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from torch import Tensor, nn

import gradviz
from gradviz.model.audit import Audit
from gradviz.model.memory import Memory
from tests.analysis.memory.counting import counted, without_numbers
from tests.models.gallery import EACH, Model
from tests.truth.compare import check
from tests.truth.walk import Note, notes_of, noting_saves, pairs, root_of

HOOKS_OF_THEIR_OWN = {"checkpointed", "compiled"}
"""What is saved is packed, or saved by code that is compiled: hooks of ours see something else."""


def parameters(model: nn.Module) -> dict[str, Tensor]:
    return dict(model.named_parameters())


def noted(model: Model, graph: gradviz.Graph) -> Mapping[str, Mapping[str, Note | None]] | None:
    """What another run saved, by the ids of the first one's graph."""
    if model.name in HOOKS_OF_THEIR_OWN:
        return None
    with noting_saves():
        again = model.build().loss()
    live = pairs(graph, [root_of(again)])
    return {node_id: notes_of(node) for node_id, node in live.items()}


@pytest.mark.parametrize("model", EACH)
def test_snapshots_and_audits_say_what_torch_says_before_backward_and_after(model: Model) -> None:
    built = model.build()
    loss, names = built.loss(), parameters(built.model)
    graph = gradviz.snapshot(loss, names=names)
    check(graph, [loss], names, noted(model, graph))
    before: Audit = gradviz.audit(loss, built.model).findings
    for parameter in names.values():
        parameter.grad = None
    loss.backward()
    freed = gradviz.snapshot(loss, names=names)
    check(freed, [loss], names)
    assert structure(freed) == structure(graph)
    assert not {"held", "modified"} & {s.state for n in freed.nodes for s in n.saved}
    after: Audit = gradviz.audit(loss, built.model).findings
    for audit in (before, after):
        assert {row.name: row.gets_gradient for row in audit} == {
            name: p.grad is not None for name, p in names.items()
        }
    for row in after:
        grad = names[row.name].grad
        assert (row.grad is None) == (grad is None)
        if grad is not None and row.grad is not None and not row.grad.is_unread:
            assert row.grad.zeros == int((grad == 0).sum())


def structure(graph: gradviz.Graph) -> Any:
    return [(n.id, n.name, n.next_functions, n.output_shapes, n.variable) for n in graph.nodes]


@pytest.mark.parametrize("model", EACH)
def test_memory_is_what_hooks_count(model: Model) -> None:
    built = model.build()
    loss = built.loss()
    found: Memory = gradviz.memory(loss, built.model).findings
    other = model.build()
    kept, sizes = counted(other.loss)
    known, expected = without_numbers(found), sorted(sizes.values())
    if found.unknown:
        assert model.name in HOOKS_OF_THEIR_OWN
        assert all(known.count(size) <= expected.count(size) for size in known)
    else:
        assert known == expected
    own = {p.untyped_storage()._cdata for p in other.model.parameters()}
    of_parameters = sum(size for storage, size in sizes.items() if storage in own)
    assert found.parameters == of_parameters or found.unknown
    assert found.graph is not None
    assert found.total == found.graph.saved_bytes  # which the tests above count by another walk
    for holders in (found.nodes, found.modules):
        assert not holders or sum(one.counted for one in holders) == found.total
    del kept
