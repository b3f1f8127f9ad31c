"""Ctrl-C at any moment of a look leaves the program as it was."""

from __future__ import annotations

import gc
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz._presentation import FullPresentation
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model import progress

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers of POSIX")

LAYERS = 210


@pytest.fixture
def interrupts() -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def deep_model() -> tuple[nn.Module, Tensor]:
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(4, 4), nn.Tanh())]
    model = nn.Sequential(*layers)
    return model, model(torch.ones(2, 4)).sum()


def recorded() -> gradviz.Recording:
    layers = [layer for _ in range(6) for layer in (nn.Linear(4, 4), nn.Tanh())]
    model, x = nn.Sequential(*layers), torch.ones(2, 4)
    with gradviz.record() as recording:
        model(x).sum().backward()
    return recording


def switches() -> tuple[Any, ...]:
    """What a look switches while it runs, for the whole thread or process."""
    return (
        gc.isenabled(),
        torch.is_grad_enabled(),
        torch._C._is_torch_function_enabled(),
        torch._C._len_torch_function_stack(),
        torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.Python),
        progress.is_running(),
        sys.gettrace(),
        Tensor.backward,
        torch.autograd.backward,
    )


class Lines:
    """Where progress is shown; counts lines that stay."""

    shown = 0
    open = 0

    def show(self, text: str) -> None:
        Lines.shown += 1
        Lines.open = 1

    def end(self) -> None:
        Lines.open = 0


@pytest.fixture
def progress_lines(monkeypatch: pytest.MonkeyPatch) -> type[Lines]:
    """Progress is shown from the first moment on."""
    monkeypatch.setattr(progress, "AFTER", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    monkeypatch.setattr(FullPresentation, "progress_display", lambda *_: Lines())
    return Lines


def is_interrupted(work: Callable[[], object], after: float) -> bool:
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, after)
            work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False


# Where a signal arrives while an object is being freed, Python tells of it and goes on.
@pytest.mark.usefixtures("signals_end_what_runs")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1, 9))]
)
def test_a_look_that_is_interrupted_anywhere_harms_nothing(
    seed: int, interrupts: None, progress_lines: type[Lines]
) -> None:
    model, loss = deep_model()
    graph = gradviz.snapshot(loss, model)
    text, before = graph.to_json(), switches()
    folded, recording = gradviz.show(graph), recorded()
    recorded_text = recording.to_json()
    looks: list[Callable[[], object]] = [
        lambda: gradviz.snapshot(loss, model, values=True),
        lambda: gradviz.audit(loss, model),
        lambda: gradviz.memory(loss, model),
        lambda: gradviz.compare(graph, loss),
        lambda: gradviz.Graph.from_json(text),
        lambda: str(graph),
        graph.to_json,
        lambda: gradviz.show(graph),
        lambda: fold_tree(graph),
        lambda: folded._answer_to({"find": "addmm"}),
        lambda: folded._answer_to({"inside": ["f0"]}),
        lambda: gradviz.explain(gradviz.Recording.from_json(recorded_text)),
        lambda: gradviz.show(gradviz.Recording.from_json(recorded_text)),
    ]
    took = []
    for look in looks:
        start = time.perf_counter()
        look()
        took.append(time.perf_counter() - start)
    choose = random.Random(seed)
    hits = 0
    for _ in range(16):
        place = choose.randrange(len(looks))
        hits += is_interrupted(looks[place], choose.uniform(1e-5, took[place]))
        assert switches() == before
        assert not progress_lines.open
    assert hits > 2
    assert progress_lines.shown
    assert gradviz.snapshot(loss, model).to_json() == text
    assert recording.to_json() == recorded_text
    assert folded._answer_to({"find": "addmm"}) == gradviz.show(graph)._answer_to({"find": "addmm"})
    loss.backward()
    assert all(p.grad is not None for p in model.parameters())


def test_an_interrupt_right_after_a_switch_switches_back(monkeypatch: pytest.MonkeyPatch) -> None:
    model, loss = deep_model()
    before = switches()
    for owner, name in ((gc, "disable"), (torch.no_grad, "__enter__")):
        switch = getattr(owner, name)

        def then_interrupt(*arguments: Any, switch: Any = switch) -> None:
            switch(*arguments)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(owner, name, then_interrupt)
            with pytest.raises(KeyboardInterrupt):
                gradviz.snapshot(loss, model, values=True)
        assert switches() == before, name
