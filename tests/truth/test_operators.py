from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BATCH = 60
ALWAYS = [
    "add",
    "mul",
    "addmm",
    "cat",
    "cdist",
    "clone",
    "cumsum",
    "einsum",
    "fft.rfft",
    "gather",
    "index_put",
    "linalg.svd",
    "masked_fill",
    "nn.functional.conv2d",
    "nn.functional.cross_entropy",
    "nn.functional.embedding",
    "nn.functional.layer_norm",
    "nn.functional.scaled_dot_product_attention",
    "sort",
    "split",
    "unbind",
    "where",
    "module BatchNorm2d",
    "module LSTM",
    "module TransformerEncoderLayer",
]


@pytest.fixture(scope="module")
def names() -> list[str]:
    done = run("--names")
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.truth.operators", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def look_at(names: Sequence[str]) -> list[dict[str, Any]]:
    """Reports on these operators and modules, made in a process of their own."""
    done = run(*names)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    reports = [line for line in lines if "name" in line]
    if len(reports) == len(names):
        return reports
    started = [line["started"] for line in lines if "started" in line]
    last = started[-1] if started else "the start"
    died = f"the process died ({done.returncode}) at {last}: {done.stderr[-2000:]}"
    reports.append({"name": last, "graphs": 0, "nodes": 0, "classes": [], "problems": [died]})
    # The others are looked at all the same.
    return reports + (look_at(names[len(started) :]) if names[len(started) :] and started else [])


def summary(reports: Sequence[dict[str, Any]]) -> str:
    graphs, nodes = (sum(r[key] for r in reports) for key in ("graphs", "nodes"))
    classes = {name for r in reports for name in r["classes"]}
    return (
        f"{len(reports)} operators and modules, {graphs} graphs, {nodes} nodes "
        f"of {len(classes)} classes"
    )


def batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    yield from (names[i : i + BATCH] for i in range(0, len(names), BATCH))


def test_snapshots_of_a_sample_of_operators_say_what_torch_says() -> None:
    done = run("--every", "32", *ALWAYS)
    assert done.returncode == 0, (done.stdout[-200:], done.stderr[-2000:])
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    reports = [report for report in reports if "name" in report]
    assert [problem for r in reports for problem in r["problems"]] == []
    assert {r["name"] for r in reports} >= set(ALWAYS)
    assert len(reports) > len(ALWAYS) + 10
    assert sum(r["graphs"] for r in reports) > 5 * len(reports)


@pytest.mark.opdb_all
def test_snapshots_of_every_operator_and_module_say_what_torch_says(names: list[str]) -> None:
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        reports = [r for batch in pool.map(look_at, batches(names)) for r in batch]
    print(summary(reports))
    assert [problem for r in reports for problem in r["problems"]] == []
    assert {r["name"] for r in reports} == set(names)
    empty = {r["name"] for r in reports if r["graphs"] == 0}
    assert empty <= WITHOUT_A_GRAPH


WITHOUT_A_GRAPH = {
    "nn.functional.batch_norm.without_cudnn",
    "nn.functional.one_hot",
    "torch.ops.aten._efficient_attention_forward",
    "torch.ops.aten._flash_attention_forward",
}
"""Operators whose samples need a GPU, or whose results are integers."""
