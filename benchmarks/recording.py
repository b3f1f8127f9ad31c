"""Time of recorded training steps beside the same steps plain, of a cell in a long file, and of
ordinary programs, also beside other tools that follow them."""

from __future__ import annotations

import cProfile
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch

try:
    import coverage
except ImportError:  # it comes with the tests
    coverage = None  # type: ignore[assignment]

import gradviz
from benchmarks import ordinary, training
from benchmarks.processes import Crash, in_process
from benchmarks.report import Table, ratio
from benchmarks.timing import Times, no_collector, seconds
from benchmarks.training import Program, Step

Case = tuple[str, Sequence[Any], int]
"""Name of a function of ``training``, its arguments, and how many rounds are measured."""
SIZES = tuple((layers, width) for width in (64, 256) for layers in (2, 6, 12, 24))
CASES: Sequence[Case] = (
    *(("gpt", size, 3 if size[0] < 12 else 1) for size in SIZES),
    *(("mlp", (iterations,), 3 if iterations < 1000 else 1) for iterations in (1, 10, 100, 1000)),
    *(("rnn", (steps,), 1) for steps in (500, 5000)),
    *(("cell", (lines,), 9) for lines in (20, 10_000)),
    *(("pure", (family, 4_000_000), 1) for family in ordinary.FAMILIES),
    *(("pure", ("tokenizer", 10**power), 1) for power in range(3, 7)),
    ("epoch", (64,), 5),
)
QUICK: Sequence[Case] = (
    ("mlp", (1,), 1),
    ("cell", (20,), 1),
    ("pure", ("tokenizer", 100), 1),
    ("epoch", (16,), 1),
)
OTHERS = ("empty call tracer", "cProfile", "coverage")
"""What else follows a program: the least that a trace function can do, and tools of Python's."""
WAYS = ("only, without values", "only, with values", "without values", "with values")
"""``only``: no lines but those of the training loop; else those of all of the user's functions."""


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure every program in a process of its own."""
    results = []
    for name, arguments, rounds in QUICK if quick else CASES:
        found = in_process("recording", "measure", name, arguments, rounds)
        answer = {"failed": found.text} if isinstance(found, Crash) else found
        results.append({"program": " ".join([name, *map(str, arguments)]), **answer})
    return results


def measure(name: str, arguments: Sequence[int], rounds: int) -> dict[str, Any]:
    """Plain, and recorded in every way, in turns, with the budget that recordings have."""
    torch.set_num_threads(1)
    if name in _MAKERS:
        return _measured(_MAKERS[name](*arguments), rounds)
    return _measured(_steps(getattr(training, name)(*arguments)), rounds)


def _measured(ways: dict[str, Step], rounds: int) -> dict[str, Any]:
    times = Times()
    for way in ways.values():
        way()
    for _ in range(rounds):
        for label, way in ways.items():
            with no_collector():
                times.add(label, seconds(way))
    recordings: dict[str, Any] = {n: way() for n, way in ways.items() if n in WAYS}
    more = {n: times.best(n) - times.best("plain") for n in recordings}
    return {
        "plain ms": round(1000 * times.best("plain"), 3),
        "steps": {n: len(r.records) for n, r in recordings.items()},
        "ratios": {n: times.ratio(n, "plain") for n in ways if n != "plain"},
        "ms per node": {n: 1000 * more[n] / max(1, _nodes(r)) for n, r in recordings.items()},
    }


def _nodes(recording: gradviz.Recording) -> int:
    return len({key for step in recording.records for key, _ in step.changes.nodes})


def _steps(program: Program) -> dict[str, Step]:
    def recorded(only: Sequence[Any] | None, values: bool) -> Callable[[], gradviz.Recording]:
        def step() -> gradviz.Recording:
            with gradviz.record(only=only, values=values) as recording:
                program.step()
            return recording

        return step

    return {
        "plain": program.step,
        "only, without values": recorded(program.lines, False),
        "only, with values": recorded(program.lines, True),
        "without values": recorded(None, False),
        "with values": recorded(None, True),
    }


def _cell(lines: int) -> dict[str, Step]:
    cell = training.cell(lines)
    return {
        "plain": lambda: cell(nullcontext),
        "without values": lambda: cell(lambda: gradviz.record(values=False)),
        "with values": lambda: cell(gradviz.record),
    }


def _pure(family: str, size: int) -> dict[str, Step]:
    return _followed(lambda: ordinary.FAMILIES[family](size))


def _epoch(texts: int) -> dict[str, Step]:
    return _followed(ordinary.epoch(texts))


def _followed(work: Callable[[], Any]) -> dict[str, Step]:
    """A program plain, recorded, and followed by other tools."""
    w = torch.ones(3, requires_grad=True)

    def recorded(values: bool) -> gradviz.Recording:
        with gradviz.record(values=values) as recording:
            (w * float(work())).sum().backward()
        return recording

    def plain() -> None:
        (w * float(work())).sum().backward()

    def traced() -> None:
        sys.settrace(lambda *_: None)
        try:
            plain()
        finally:
            sys.settrace(None)

    def covered() -> None:
        tool = coverage.Coverage(data_file=None, include=[ordinary.__file__])
        tool.start()
        try:
            plain()
        finally:
            tool.stop()

    return {
        "plain": plain,
        "without values": lambda: recorded(False),
        "with values": lambda: recorded(True),
        "empty call tracer": traced,
        "cProfile": lambda: cProfile.Profile().runcall(plain),
        **({} if coverage is None else {"coverage": covered}),
    }


_MAKERS: dict[str, Callable[..., dict[str, Step]]] = {
    "cell": _cell,
    "pure": _pure,
    "epoch": _epoch,
}


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """Ratios to the plain run, and what a node costs more than in it."""
    measured = [r for r in results if "failed" not in r]
    remarks = tuple(f"{r['program']}: {r['failed']}" for r in results if "failed" in r)
    columns = (*WAYS, *OTHERS)
    rows = [
        [r["program"], str(r["plain ms"]), *(_of(r["ratios"], way, ratio) for way in columns)]
        for r in measured
    ]
    nodes = [
        [r["program"], *(_of(r["ms per node"], way, "{:.3f}".format) for way in WAYS)]
        for r in measured
    ]
    title = "Time of a recorded run, beside the plain one (fastest / median of rounds)"
    return [
        Table(title, ["program", "plain ms", *columns], rows, remarks),
        Table("Milliseconds that a recording takes more, per node", ["program", *WAYS], nodes),
    ]


def _of(found: dict[str, Any], way: str, text: Callable[[Any], str]) -> str:
    return text(found[way]) if way in found else "-"
