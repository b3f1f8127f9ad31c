"""Time of a recorded training step beside the same step plain, and of a lesson's cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

import gradviz
from benchmarks.processes import Crash, in_process
from benchmarks.report import Table, ratio
from benchmarks.timing import Times, no_collector, seconds

Step = Callable[[], object]
CASES: Sequence[tuple[str, int]] = (("transformer, 6 layers of 256, 8 x 128 tokens", 7),)
QUICK: Sequence[tuple[str, int]] = (("cell of ten lines", 2),)
BOTH: Sequence[tuple[str, int]] = (*CASES, ("cell of ten lines", 15))


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure every program in a process of its own."""
    results = []
    for name, rounds in QUICK if quick else BOTH:
        found = in_process("recording", "measure", name, rounds)
        results.append(
            {"program": name, **({"failed": found.text} if isinstance(found, Crash) else found)}
        )
    return results


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Plain, recorded without values, recorded with values, and shown, in turns."""
    torch.set_num_threads(1)
    step, into = _programs()[name]()
    ways: dict[str, Step] = {
        "plain": step,
        "without values": lambda: _recorded(step, into, values=False),
        "with values": lambda: _recorded(step, into, values=True),
        "with values, and shown": lambda: gradviz.show(_recorded(step, into, values=True)),
    }
    times = Times()
    for way in ways.values():
        way()
    for _ in range(rounds):
        for label, way in ways.items():
            with no_collector():
                times.add(label, seconds(way))
    recording = _recorded(step, into, values=True)
    return {
        "steps": len(recording.records),
        "plain ms": round(1000 * times.best("plain"), 3),
        "shown ms": round(1000 * times.best("with values, and shown"), 1),
        "ratios": {label: times.ratio(label, "plain") for label in ways if label != "plain"},
    }


def _recorded(step: Step, into: Any, values: bool) -> gradviz.Recording:
    with gradviz.record(into=into, values=values) as recording:
        step()
    return recording


def _programs() -> dict[str, Callable[[], tuple[Step, list[Any]]]]:
    return {CASES[0][0]: _transformer, QUICK[0][0]: _cell}


def _transformer() -> tuple[Step, list[Any]]:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 6)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(8, 128, 256)

    def step() -> None:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step, [step]


def _cell() -> tuple[Step, list[Any]]:
    def cell() -> Tensor:
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(3.0, requires_grad=True)
        c = torch.tensor(5.0, requires_grad=True)
        out1 = a * b
        out1.retain_grad()
        out2 = out1 + c
        out2.backward()
        d = a.detach() * 2
        a.grad = None
        return d

    return cell, [cell]


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """Ratios to the plain run; the aim is 1.5 for the transformer without values."""
    columns = ["program", "steps", "without values", "with values", "with values, and shown"]
    rows = [
        [r["program"], str(r["steps"]), *(ratio(r["ratios"][name]) for name in columns[2:])]
        for r in results
        if "failed" not in r
    ]
    remarks = [f"{r['program']}: {r['failed']}" for r in results if "failed" in r]
    remarks += [
        f"{r['program']}: plain {r['plain ms']} ms, recorded and shown {r['shown ms']} ms"
        for r in results
        if "failed" not in r
    ]
    title = "Time of a recorded run, beside the plain one (fastest / median of rounds)"
    return [Table(title, columns, rows, tuple(remarks))]
