"""Errors of DistributedDataParallel: what is named, and that every fix works."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist

import gradviz
from gradviz.model.explanation import Explanation
from tests.analysis.explain.replicated_programs import ALL, Replicated
from tests.analysis.explain.running import fixed, line_of, run, unmarked

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="torch is built without it")
NAMES = [f"{layer}.{kind}" for layer in ("first", "spare", "last") for kind in ("weight", "bias")]
every_program = pytest.mark.parametrize("program", ALL, ids=str)


@pytest.fixture(scope="module", autouse=True)
def _job() -> Iterator[None]:
    store = vars(dist)["HashStore"]()
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    # What it imports is imported here, and not in each line of a recording that waits for it.
    torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    yield
    gc.collect()  # models in cycles of errors end before the threads of the group do
    dist.destroy_process_group()


@pytest.fixture(autouse=True)
def _versions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    # A module of several tests may have no program.
    program = getattr(request.node, "callspec", None)
    if program is not None and not program.params["program"].preserves:
        counter = "_unsafe_preserve_version_counter"
        monkeypatch.setattr(torch.autograd, counter, lambda _: contextlib.nullcontext())


def explained(program: Replicated, record: bool) -> Explanation:
    found = run(unmarked(program.text), lambda: gradviz.expect_error(record=record))["found"]
    assert isinstance(found, Explanation)
    return found


@every_program
def test_the_kind_the_parameters_and_the_line_are_named_and_each_fix_works(
    program: Replicated,
) -> None:
    found = explained(program, record=True)
    assert found.kind == program.kind
    text = " ".join(str(found).split())
    assert [words for words in program.words if words not in text] == []
    assert found.line == (line_of(program.text, "culprit") if found.causes else None)
    assert bool(found.causes) == ("# culprit" in program.text)
    assert len(found.fixes) == program.fixes
    for fix in found.fixes:
        repaired = run(fixed(program.text, fix))
        assert eval(program.right, dict(repaired))


@pytest.mark.exhaustive
@every_program
def test_without_a_recording_the_same_parameters_are_named(program: Replicated) -> None:
    found, recorded = explained(program, record=False), explained(program, record=True)
    assert found.kind == program.kind
    assert {*found.variables} <= {*recorded.variables}
    assert [name for name in NAMES if name in str(found)] == [
        name for name in NAMES if name in str(recorded.what)
    ]


def test_names_of_another_error_are_not_looked_for() -> None:
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    with gradviz.expect_error() as found:
        model(torch.ones(1)).sum().item()
        raise RuntimeError("no reduction in the prior iteration")
    assert found.kind == "other"


@pytest.mark.exhaustive
def test_a_recorded_job_has_the_same_gradients_versions_and_buffers() -> None:
    def trained(record: bool) -> list[object]:
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
        model = torch.nn.parallel.DistributedDataParallel(net)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with gradviz.record() if record else contextlib.nullcontext():
            for turn in range(2):
                model(torch.eye(3, 2) + turn).pow(2).sum().backward()
                optimizer.step()
        tensors = [*net.parameters(), *net.buffers()]
        return [
            (t.tolist(), t._version, None if t.grad is None else t.grad.tolist()) for t in tensors
        ]

    assert trained(record=True) == trained(record=False)
