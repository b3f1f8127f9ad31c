"""Findings cost in proportion to the graph, also where all of its nodes share one storage."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import gradviz
from gradviz.analysis.audit.auditor import audit_of
from gradviz.analysis.diff.report import comparison_of
from gradviz.analysis.memory.count import memory_of
from gradviz.capture.audit.reader import audit_facts
from gradviz.model import Graph
from tests.operations import lines_run, most_bytes


def unrolled(steps: int) -> Tensor:
    """An RNN; each step saves the weight that all share."""
    w = torch.full((2, 2), 0.1, requires_grad=True)
    h = x = torch.ones(1, 2)
    for _ in range(steps):
        h = torch.tanh(h @ w + x)
    return h.sum()


def split(steps: int, is_shared: bool) -> Tensor:
    """Factors on one storage, or each on its own."""
    factors = torch.ones(steps).unbind()
    out = torch.ones((), requires_grad=True)
    for factor in factors:
        out = out * (factor if is_shared else factor.clone())
    return out


def graphs(steps: int) -> dict[str, tuple[Graph, Graph]]:
    rnn = gradviz.snapshot(unrolled(steps))
    return {
        "the same": (rnn, rnn),
        "one step more": (rnn, gradviz.snapshot(unrolled(steps + 1))),
        "a storage that became many": (
            gradviz.snapshot(split(steps, True)),
            gradviz.snapshot(split(steps, False)),
        ),
    }


def assert_linear(once: int, twice: int, most: float = 2.1) -> None:
    """Twice the nodes cost twice as much; four times as much would be the square.

    Bytes may be 3 times as many, since tables of Python grow by leaps.
    """
    assert twice < most * once


def test_memory_grows_with_the_nodes() -> None:
    small, large = (gradviz.snapshot(unrolled(steps)) for steps in (100, 200))
    assert max(len(one.nodes) for one in memory_of(large).storages) >= 199
    assert_linear(lines_run(lambda: memory_of(small)), lines_run(lambda: memory_of(large)))
    assert_linear(most_bytes(lambda: memory_of(small)), most_bytes(lambda: memory_of(large)), 3)


@pytest.mark.parametrize("what", ["the same", "one step more", "a storage that became many"])
def test_a_comparison_grows_with_the_nodes(what: str) -> None:
    small, large = graphs(100)[what], graphs(200)[what]
    assert_linear(
        lines_run(lambda: comparison_of(*small)), lines_run(lambda: comparison_of(*large))
    )
    assert_linear(
        most_bytes(lambda: comparison_of(*small)), most_bytes(lambda: comparison_of(*large)), 3
    )


def test_an_audit_grows_with_the_parameters() -> None:
    def model(layers: int) -> tuple[Tensor, torch.nn.Module]:
        found = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(layers)))
        return found(torch.ones(1, 2)).sum(), found

    small, large = (audit_facts(*model(layers), None, None, None) for layers in (40, 80))
    assert_linear(
        lines_run(lambda: audit_of(small, None)), lines_run(lambda: audit_of(large, None))
    )


def test_of_many_that_share_a_storage_those_are_named_that_did_not_before() -> None:
    before, after = graphs(100)["a storage that became many"]
    found = [d for d in comparison_of(after, before).differences if d.subject == "saved tensor"]
    assert len(found) == 100
    assert found[0].before.endswith("in its own storage")
    assert found[0].after.count("MulBackward0") == 20
    assert found[0].after.endswith("79 more")
