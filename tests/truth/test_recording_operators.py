"""Operators and modules of torch's own databases run the same recorded and plain.

``python -m tests.truth.test_recording_operators NAME...`` runs some of them in a process of its
own, since torch's test code sets global flags of torch, and prints what differs as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import pytest
import torch

from tests.truth import operators, recorded
from tests.truth.recorded import Seen, Story

ALWAYS = [
    "add",
    "cat",
    "einsum",
    "index_put",
    "linalg.svd",
    "masked_fill",
    "nn.functional.conv2d",
    "nn.functional.dropout",
    "nn.functional.layer_norm",
    "nn.functional.scaled_dot_product_attention",
    "sort",
    "split",
    "where",
    "module LSTM",
    "module TransformerEncoderLayer",
]
BATCH = 60


def story_of(run: Callable[[Any], Any], arguments: Any) -> Story:
    def story(block: Any, seen: Seen) -> None:
        used = operators.fresh(arguments)
        leaves = [t for t in operators.tensors_in(used) if t.is_leaf]
        for leaf in leaves:
            leaf.grad = None
        with block:
            outputs = operators.with_graph(run(used))
            ones = [torch.ones_like(t) for t in outputs]
            seen["backward"] = recorded.error_of(torch.autograd.backward, outputs, ones)
        seen["facts"] = [recorded.facts(t) for t in (*leaves, *outputs)]
        seen["nodes"] = recorded.nodes_now(outputs)

    return story


def stories(name: str) -> Iterator[Story]:
    if name.startswith(operators.MODULE_PREFIX):
        yield from module_stories(operators.modules()[name])
        return
    op = operators.operators()[name]
    for dtype in operators.dtypes_of(op)[:1]:
        yield from operator_stories(op, dtype)


def operator_stories(op: Any, dtype: torch.dtype) -> Iterator[Story]:
    for sample in islice(op.sample_inputs("cpu", dtype, requires_grad=True), 2):
        arguments = (sample.input, sample.args, sample.kwargs)
        yield story_of(lambda a: op(a[0], *a[1], **a[2]), arguments)


def module_stories(info: Any) -> Iterator[Story]:
    dtype = torch.float32 if torch.float32 in info.dtypes else info.dtypes[0]
    inputs = info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=True, training=True
    )
    for one in islice(inputs, 2):
        if one.forward_input is not None:
            made = one.constructor_input
            module = info.module_cls(*made.args, **made.kwargs).to(dtype).train()
            arguments = (one.forward_input.args, one.forward_input.kwargs, module)
            yield story_of(lambda a: a[2](*a[0], **a[1]), arguments)


def problems_of(name: str) -> Iterator[str]:
    torch.manual_seed(0)
    for i, story in enumerate(stories(name)):
        if recorded.error_of(story, recorded.plain(), {}) is not None:
            continue
        yield from recorded.problems_of(f"{name} sample {i}", story)


def run(*arguments: str) -> Any:
    return recorded.run_alone("tests.truth.test_recording_operators", *arguments)


@pytest.mark.slow
def test_a_sample_of_operators_runs_the_same_with_and_without_a_recording() -> None:
    found = run(*ALWAYS)
    assert found["problems"] == []
    assert found["runs"] > len(ALWAYS)


@pytest.mark.opdb_all
def test_every_operator_and_module_runs_the_same_with_and_without_a_recording() -> None:
    names: Sequence[str] = run("--names")["names"]
    batches = [names[i : i + BATCH] for i in range(0, len(names), BATCH)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = list(pool.map(lambda batch: run(*batch), batches))
    assert [problem for one in found for problem in one["problems"]] == []


def main(names: Sequence[str]) -> dict[str, Any]:
    if names == ["--names"]:
        return {"names": [*operators.operators(), *operators.modules()]}
    problems, runs = [], 0
    for name in names:
        runs += sum(1 for _ in stories(name))
        problems += list(problems_of(name))
    return {"problems": problems, "runs": runs}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(json.dumps(main(sys.argv[1:])))
