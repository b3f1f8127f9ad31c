"""Of a view that is not asked whether it is a leaf, nothing is said but torch's own answer."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import torch

import gradviz
from tests.analysis.explain.silent_running import run_recorded
from tests.each import each

PROGRAMS = 300
ROOT = torch.ones(1, requires_grad=True) * 1
HEAD = """
class Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)
    @staticmethod
    def backward(ctx, g):
        return g.view(2, 2)
"""
VIEWS = ("{}.view(-1)", "{}[0]", "{}.t()", "{}.unbind()[0]", "Part.apply({})", "{}.detach()")
WRITES = ("{}.add_(1)", "{}.mul_({other})", "{}.zero_()", "{}.detach_()")
FLAGS = ("{}.requires_grad_()", "{}.requires_grad_(False)")
MODES = ("", "with torch.no_grad():", "with torch.inference_mode():")


def program(seed: int) -> str:
    """Tensors, views of them made under any mode, writes and flags, in any order."""
    rng = random.Random(seed)
    names = ["x", "y"]
    lines = ["x = torch.ones(2, 2)", "y = torch.ones(2, 2)"]
    result = "x = torch.ones(2, 2, requires_grad=True) * 1"
    lines.append(rng.choice(["", "x.requires_grad_()", result]))
    for _ in range(rng.randint(3, 8)):
        mode, name, other = rng.choice((*MODES, "", "")), rng.choice(names), rng.choice(names)
        kind = rng.random()
        if kind < 0.45:
            new = f"v{len(names)}"
            line = f"{new} = {rng.choice(VIEWS).format(name)}"
            names.append(new)
        elif kind < 0.8:
            line = rng.choice(WRITES).format(name, other=other)
        else:
            line = rng.choice(FLAGS).format(name)
        # What torch refuses is left out when the program runs.
        lines += ["try:", f"    {mode}\n        {line}" if mode else f"    {line}"]
        lines += ["except Exception: pass"]
    return "\n".join(lines)


def tensors_of(text: str) -> dict[str, torch.Tensor]:
    space: dict[str, Any] = {"torch": torch}
    exec(compile(HEAD + text, "<program>", "exec"), space)
    return {name: t for name, t in space.items() if isinstance(t, torch.Tensor)}


def answers(text: str) -> dict[str, bool | None]:
    """Of each tensor of a copy of the program, asked first of all; ``None`` where asking fails."""
    found: dict[str, bool | None] = {}
    for name in tensors_of(text):
        tensor = tensors_of(text)[name]
        try:
            found[name] = tensor.is_leaf
            assert tensor.is_leaf == (tensor.grad_fn is None)
        except RuntimeError:
            found[name] = None
    return found


def is_stale(tensor: torch.Tensor) -> bool:
    return tensor.requires_grad and tensor._is_view() and bool(tensor._version)


def test_a_snapshot_says_of_a_view_what_torch_says_or_nothing() -> None:
    said: Counter[tuple[str, bool | None]] = Counter()
    for seed in range(PROGRAMS):
        text = program(seed)
        right, tensors = answers(text), tensors_of(text)
        graph = gradviz.snapshot(ROOT, names=tensors)
        for info in graph.tensors:
            if info.name is None or info.name not in tensors:
                continue
            tensor = tensors[info.name]
            assert info.is_leaf in (None, right[info.name]), (seed, info.name)
            if is_stale(tensor):
                made = str(torch._C._autograd._get_creation_meta(tensor)).rpartition(".")[2]
                said[made, info.is_leaf] += 1
            else:
                assert info.is_leaf is not None or right[info.name] is None
    # Each rule was met, and where torch's rules leave it open nothing is said.
    assert min(said["DEFAULT", False], said["DEFAULT", None]) >= 10
    assert min(said["NO_GRAD_MODE", True], said["INFERENCE_MODE", True]) >= 2
    for made in ("MULTI_OUTPUT_NODE", "IN_CUSTOM_FUNCTION"):
        assert said[made, None] >= 5
        assert said[made, True] + said[made, False] == 0


def test_a_recording_says_of_a_view_what_torch_says_or_nothing() -> None:
    said: Counter[bool | None] = Counter()
    for seed in range(PROGRAMS // 2):
        text = program(seed)
        right, tensors = answers(text), tensors_of(text)
        rows = run_recorded(text, HEAD, values=False).all_steps[-1].graph.tensors
        for info in rows:
            if info.name in tensors:
                assert info.is_leaf in (None, right[info.name]), (seed, info.name)
                if is_stale(tensors[info.name]):
                    said[info.is_leaf] += 1
    assert min(said[True], said[False]) >= 5
    assert said[True] + said[False] > said[None]


@each("seed", range(5))
def test_not_asking_leaves_the_answer_to_torch(seed: int) -> None:
    text = program(seed)
    tensors = tensors_of(text)
    gradviz.snapshot(ROOT, names=tensors)
    right = answers(text)
    for name, tensor in list(tensors.items())[-1:]:
        try:
            assert tensor.is_leaf == right[name]
        except RuntimeError:
            assert right[name] is None
