"""An audit changes nothing: not a bit, not a version, not a lifetime."""

from __future__ import annotations

import gc
import sys
import warnings
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.analysis.audit.auditor import audit_of
from gradviz.capture.audit.reader import audit_facts
from tests.programs import PROGRAMS, Built, Program, run_backward
from tests.truth.recorded import bits, without_collections
from tests.truth.test_looking_changes_nothing import flags, nothing_moves

SMALL = [p for p in PROGRAMS if p.name != "deep_chain" and not p.is_slow]


def look(built: Built, optimizer: Any, audits: bool) -> None:
    if audits:
        assert text_of(built, optimizer) == text_of(built, optimizer)


def text_of(built: Built, optimizer: Any) -> str:
    """Without the widget: on Python 3.10 the collector has to take the cycles of its libraries."""
    frame = sys._getframe
    return str(audit_of(audit_facts(built.outputs, built.names, optimizer, None, frame())))


def observe(program: Program, audits: bool) -> dict[str, Any]:
    """Run a program and its backward, with or without audits in between."""
    built = program.build()
    leaves = [t for t in built.names.values() if t.requires_grad and t.is_leaf]
    plain = [t for t in leaves if t.layout is torch.strided and not t.is_nested]
    optimizer = torch.optim.Adam(plain) if plain else None

    seen: dict[str, Any] = {"warnings": []}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        look(built, optimizer, audits)
        seen["warnings"] = [str(w.message) for w in caught]
    try:
        run_backward(built)
        seen["error"] = None
    except RuntimeError as error:
        seen["error"] = str(error)
    look(built, optimizer, audits)
    seen["flags"] = {name: flags(tensor) for name, tensor in built.names.items()}
    seen["state"] = 0 if optimizer is None else len(optimizer.state)
    alive = [weakref.ref(t) for t in {id(t): t for t in built.names.values()}.values()]
    del built, leaves, plain, optimizer
    seen["alive"] = [reference() is not None for reference in alive]
    return seen


@pytest.mark.parametrize("program", SMALL, ids=str)
def test_an_audit_changes_nothing(program: Program) -> None:
    with without_collections():
        observe(program, False)  # the first run of some programs imports and compiles
        assert observe(program, True) == observe(program, False)
    if program.name != "leaf_root":
        built = program.build()
        with nothing_moves():
            gradviz.audit(built.outputs, built.names)


def training() -> tuple[nn.Module, torch.optim.Optimizer, Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), torch.rand(5, 3)


def test_training_with_audits_gives_the_same_bits() -> None:
    def run(audits: bool) -> Any:
        model, optimizer, x = training()
        losses = []
        for _ in range(3):
            loss = model(x).pow(2).sum()
            for call in (loss.backward, optimizer.step, optimizer.zero_grad):
                if audits:
                    gradviz.audit(loss, model, optimizer)
                call()
            losses.append(bits(loss))
        state = optimizer.state_dict()["state"]
        kept = [bits(s["momentum_buffer"]) for s in state.values()]
        return losses, [bits(t) for t in model.state_dict().values()], kept

    assert run(True) == run(False)


def test_an_audit_takes_no_reference_and_leaves_no_hook() -> None:
    model, optimizer, x = training()
    h = model(x)
    d = h.detach()
    loss = (h * d).sum()
    names = [*model.parameters(), loss, h, d, x]
    gradviz.audit(loss, model, optimizer)  # nodes have their wrappers now
    before = [(sys.getrefcount(t), len(t._backward_hooks or {}), t._version) for t in names]
    report = gradviz.audit(loss, model, optimizer)
    assert [(sys.getrefcount(t), len(t._backward_hooks or {}), t._version) for t in names] == before
    assert len(optimizer.state) == 0
    del report


def test_nothing_is_kept_alive_by_a_report() -> None:
    model, optimizer, x = training()
    h = model(x)
    loss = h.detach().sum()
    report = gradviz.audit(loss, model, optimizer)
    references = [weakref.ref(t) for t in (*model.parameters(), h, loss)]
    del model, optimizer, h, loss
    gc.collect()
    assert [reference() for reference in references] == [None] * len(references)
    assert len(report) == 6
