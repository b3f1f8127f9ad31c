"""What a card says about a gradient is what torch's backward computes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (the name that torch's pages use)
from torch import Tensor

from gradviz.model.derivatives import table
from tests.each import each
from tests.truth.trees import Seen, compare_with_backward

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "gradients.txt"

WORDS_ONLY = {
    "ConvolutionBackward0.input",
    "ConvolutionBackward0.weight",
    "NativeGroupNormBackward0.input",
    "NativeGroupNormBackward0.weight",
}
"""Arguments in the cases below that have no tree."""


def leaf(*shape: int) -> Tensor:
    return (torch.rand(shape, dtype=torch.float64) * 2 - 0.9).requires_grad_()


def positive(*shape: int) -> Tensor:
    return (torch.rand(shape, dtype=torch.float64) + 0.5).requires_grad_()


SHAPES = [
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 1), (1, 3)),
    ((), (2,)),
    ((2,), ()),
    ((2, 2), (2, 2)),
]
BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda a, b: torch.add(a, b, alpha=3),
    "sub": lambda a, b: torch.sub(a, b, alpha=-0.5),
    "rsub": lambda a, b: torch.rsub(a, b, alpha=2),
    "mul": torch.mul,
    "div": torch.div,
    "floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "pow": lambda a, b: torch.pow(a.abs(), b),
    "maximum": torch.maximum,
    "minimum": lambda a, b: torch.minimum(a, a * 0 + b),
    "equal": lambda a, b: torch.maximum(a + b * 0, a + b * 0),
    "where": lambda a, b: torch.where(a > 0, a, b),
    "atan2": torch.atan2,
    "lerp": lambda a, b: torch.lerp(a * b, b * a, a),
    "addcmul": lambda a, b: torch.addcmul(a, a, b, value=0.3),
    "addcdiv": lambda a, b: torch.addcdiv(b, a, b, value=-2),
    "scalars": lambda a, b: 2 * a + b / 3 + 2**b + a**3 + a.abs() ** 0.5 + 1 / b - (5 - a) + a**1,
    "masked_fill": lambda a, b: (a + b).masked_fill((a + b) > 0.3, 2.0),
    "masked_fill tensor": lambda a, b: (a * b).masked_fill((a + b) > 0.3, b.sum()),
    "mse_loss": lambda a, b: torch.ops.aten.mse_loss(*torch.broadcast_tensors(a, b)),
    "mse_loss summed": lambda a, b: torch.ops.aten.mse_loss(*torch.broadcast_tensors(a, b), 2),
    "smooth_l1": lambda a, b: torch.ops.aten.smooth_l1_loss(*torch.broadcast_tensors(a, b), 1, 0.4),
    "huber": lambda a, b: torch.ops.aten.huber_loss(*torch.broadcast_tensors(a, b), 0, 0.4),
    "expanded": lambda a, b: a.expand_as(a + b) * b.expand_as(a + b),
    "copied": lambda a, b: torch.zeros_like(a + b).copy_(a) * b,
}


@each("name", BINARY)
def test_two_operands_of_any_shapes(name: str) -> None:
    torch.manual_seed(0)
    seen = Seen()
    for one, other in SHAPES:
        compare_with_backward([BINARY[name](leaf(*one), leaf(*other))], seen)
    assert seen.problems == []
    assert sum(seen.trees.values()) >= 2 * len(SHAPES)


REDUCED: dict[str, Callable[..., Tensor]] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "var": torch.var,
    "std": torch.std,
    "var corrected": lambda x, dim, keepdim: torch.var(x, dim, correction=0, keepdim=keepdim),
    "amax": torch.amax,
    "amin of equal": lambda x, dim, keepdim: torch.amin(x.sign(), dim, keepdim) + x.sum(),
    "logsumexp": torch.logsumexp,
    "norm": lambda x, dim, keepdim: torch.ops.aten.norm(x, 2, dim, keepdim),
    "vector_norm": lambda x, dim, keepdim: torch.linalg.vector_norm(x, 1, dim, keepdim),
    "prod": lambda x, dim, keepdim: torch.prod(x, dim[0], keepdim),
    "prod with zero": lambda x, dim, keepdim: torch.prod(x.relu(), dim[0], keepdim),
    "max": lambda x, dim, keepdim: torch.max(x, dim[0], keepdim)[0],
    "min": lambda x, dim, keepdim: torch.min(x, dim[0], keepdim)[0],
    "topk": lambda x, dim, keepdim: torch.topk(x, 2, dim[0])[0],
    "sort": lambda x, dim, keepdim: torch.sort(x, dim[0])[0],
    "softmax": lambda x, dim, keepdim: torch.softmax(x, dim[0]),
    "log_softmax": lambda x, dim, keepdim: torch.log_softmax(x, dim[0]),
    "cumsum": lambda x, dim, keepdim: torch.cumsum(x, dim[0]),
    "unbind": lambda x, dim, keepdim: torch.stack(x.unbind(dim[0])[::2], dim[0]),
    "split": lambda x, dim, keepdim: x.split(2, dim[0])[-1],
    "sizes": lambda x, dim, keepdim: x.split((1, x.shape[dim[0]] - 1), dim[0])[0],
    "flip": lambda x, dim, keepdim: x.flip(dim),
    "roll": lambda x, dim, keepdim: x.roll(1, dim[0]),
    "cat": lambda x, dim, keepdim: torch.cat([x, x * 2, x.narrow(dim[0], 0, 1)], dim[0]),
    "stack": lambda x, dim, keepdim: torch.stack([x, x * 2], dim[0]),
    "select": lambda x, dim, keepdim: x.select(dim[0], -1),
    "slice": lambda x, dim, keepdim: torch.ops.aten.slice(x, dim[0], -3, 99, 2),
    "squeeze": lambda x, dim, keepdim: x.sum(dim[0], True).squeeze(dim[0]).unsqueeze(dim[0]),
    "index_select": lambda x, dim, keepdim: x.index_select(dim[0], torch.tensor([1, 0, 1])),
    "gather": lambda x, dim, keepdim: x.gather(dim[0], torch.ones_like(x).long()),
}
DIMS = [(0,), (1,), (-1,), (0, 2), (-1, 0), (0, 1, 2)]


@each("name", REDUCED)
def test_any_dimension_kept_or_not(name: str) -> None:
    torch.manual_seed(1)
    seen = Seen()
    for dim, keepdim in product(DIMS, (False, True)):
        compare_with_backward([REDUCED[name](leaf(2, 3, 4), dim, keepdim=keepdim)], seen)
        compare_with_backward([REDUCED[name](leaf(2, 2, 2), dim, keepdim=keepdim)], seen)
    assert seen.problems == []
    assert seen.trees


def batch_norm(training: bool, *shape: int) -> Tensor:
    module = torch.nn.BatchNorm1d(3, dtype=torch.float64).train(training)
    with torch.no_grad():
        module.weight.copy_(torch.rand(3))
        module.running_var.add_(torch.rand(3))  # type: ignore[union-attr]
    return module(leaf(*shape))


def bce(name: str, **options: Any) -> Tensor:
    chance = torch.sigmoid(leaf(4, 3)) if name == "binary_cross_entropy" else leaf(4, 3)
    target = torch.rand(4, 3, dtype=torch.float64).requires_grad_("pos_weight" not in options)
    return getattr(F, name)(chance, target, **options)


LABELS = torch.tensor([0, 2, 1, 2])
CASES: dict[str, Callable[[], Any]] = {
    "mm": lambda: leaf(2, 3) @ leaf(3, 4),
    "bmm": lambda: leaf(5, 2, 3) @ leaf(5, 3, 4),
    "broadcast matmul": lambda: leaf(5, 2, 3) @ leaf(3, 4) + leaf(1, 4, 2).mT @ leaf(5, 4, 4),
    "mv": lambda: leaf(2, 3) @ leaf(3) + leaf(3) @ leaf(3, 2),
    "dot": lambda: leaf(3) @ leaf(3) + torch.vdot(leaf(3), leaf(3)),
    "outer": lambda: torch.outer(leaf(3), leaf(2)),
    "addmm": lambda: torch.addmm(leaf(4), leaf(2, 3), leaf(3, 4), alpha=2, beta=-0.5),
    "addmm column": lambda: torch.addmm(leaf(2, 1), leaf(2, 3), leaf(3, 4)),
    "addmv": lambda: torch.addmv(leaf(1), leaf(2, 3), leaf(3), alpha=2, beta=3),
    "addr": lambda: torch.addr(leaf(2), leaf(3), leaf(2), alpha=2, beta=3),
    "baddbmm": lambda: torch.baddbmm(leaf(4), leaf(5, 2, 3), leaf(5, 3, 4), alpha=2, beta=3),
    "addbmm": lambda: torch.addbmm(leaf(4), leaf(5, 2, 3), leaf(5, 3, 4), alpha=2, beta=3),
    "linear": lambda: F.linear(leaf(2, 5, 3), leaf(4, 3), leaf(4)),
    "views": lambda: leaf(2, 3).t().reshape(6).view(3, 2).permute(1, 0)[None].squeeze(),
    "strided": lambda: torch.ops.aten._reshape_alias(leaf(2, 3), (3, 2), (2, 1)),
    "transposes": lambda: leaf(2, 3, 4).transpose(0, -1).mT.permute(2, 0, 1).swapaxes(1, 0),
    "repeat": lambda: leaf(2, 3).repeat(2, 1, 3) + leaf(1, 3).repeat(2, 2).sum(),
    "expand": lambda: leaf(3, 1).expand(2, 3, 4),
    "slices": lambda: leaf(5, 6)[1:4:2, 2:][..., -1],
    "triangles": lambda: leaf(3, 4).tril(-1) + leaf(3, 4).triu(1) + leaf(3, 4).triu(),
    "diagonal": lambda: leaf(3, 4, 3).diagonal(1, 0, 2) + leaf(2, 3).diagonal().sum(),
    "trace": lambda: leaf(3, 4).trace(),
    "embedding": lambda: F.embedding(LABELS, leaf(4, 3)),
    "padding": lambda: F.embedding(LABELS, leaf(4, 3), padding_idx=-2),
    "cat": lambda: torch.cat([leaf(0), torch.ones(4, 3), leaf(2, 3), leaf(1, 3)]),
    "end of cat": lambda: torch.cat([leaf(3, 1), leaf(3, 2), torch.ones(3, 1)], -1),
    "whole": lambda: leaf(2, 3).max() + leaf(2, 3).sign().min() + leaf(2, 3).prod() + leaf(4).std(),
    "norms": lambda: leaf(2, 3).norm() + leaf(3).norm(1) + leaf(3).norm(3) + (leaf(3) * 0).norm(),
    "constant std": lambda: (leaf(3) * 0 + 1).std(),
    "scalar": lambda: (
        leaf().sum() + leaf().mean() + leaf().prod() + leaf().max() + leaf().cumsum(0)
    ),
    "nll": lambda: F.nll_loss(leaf(4, 3), LABELS),
    "nll weighted": lambda: F.nll_loss(leaf(4, 3), LABELS, positive(3).detach(), ignore_index=2),
    "nll each": lambda: F.nll_loss(leaf(4, 3), LABELS, reduction="none", ignore_index=1),
    "nll one": lambda: F.nll_loss(leaf(3), LABELS[0], reduction="sum"),
    "nll images": lambda: F.nll_loss(leaf(2, 3, 2, 2), LABELS.view(1, 2, 2).expand(2, 2, 2)),
    "cross entropy": lambda: F.cross_entropy(leaf(4, 3), LABELS, label_smoothing=0.1),
    "mse": lambda: (
        F.mse_loss(leaf(4, 3), leaf(4, 3)) + F.mse_loss(leaf(2), leaf(2), reduction="sum")
    ),
    "l1": lambda: F.l1_loss(leaf(4, 3), leaf(4, 3)),
    "smooth l1": lambda: F.smooth_l1_loss(leaf(4, 3), leaf(4, 3), beta=0.0),
    "bce": lambda: bce("binary_cross_entropy"),
    "bce weighted": lambda: bce(
        "binary_cross_entropy", weight=positive(3).detach(), reduction="sum"
    ),
    "logits": lambda: bce("binary_cross_entropy_with_logits", weight=positive(3).detach()),
    "logits each": lambda: bce("binary_cross_entropy_with_logits", reduction="none"),
    "positives": lambda: bce("binary_cross_entropy_with_logits", pos_weight=positive(3).detach()),
    "layer norm": lambda: F.layer_norm(leaf(2, 3, 4), (3, 4), leaf(3, 4), leaf(3, 4)),
    "layer norm alone": lambda: F.layer_norm(leaf(2, 4), (4,)),
    "batch norm": lambda: batch_norm(True, 5, 3),
    "batch norm of signals": lambda: batch_norm(True, 2, 3, 4),
    "batch norm evaluating": lambda: batch_norm(False, 2, 3, 4),
    "group norm": lambda: F.group_norm(leaf(2, 4, 3), 2, leaf(4), leaf(4)),
    "conv": lambda: F.conv1d(leaf(2, 3, 5), leaf(4, 3, 2), leaf(4)),
    "dropout": lambda: torch.native_dropout(leaf(4, 3), 0.3, True)[0],
    "activations": lambda: [
        getattr(F, name)(leaf(7) * 4)
        for name in (
            *("relu", "leaky_relu", "elu", "selu", "gelu", "silu", "softplus", "hardtanh", "relu6"),
            *("sigmoid", "tanh", "logsigmoid", "hardswish", "hardsigmoid", "softsign"),
        )
    ],
    "softplus": lambda: F.softplus(leaf(7) * 4, beta=3, threshold=2),
    "in place": lambda: [F.elu(leaf(5) * 1, 0.5, inplace=True), F.leaky_relu_(leaf(5) * 1, 0.2)],
    "clamps": lambda: [leaf(5).clamp(0), leaf(5).clamp(max=0.1), leaf(5).clamp(-0.5, 0.5)],
    "clamps at a limit": lambda: [(leaf(3) * 0).clamp(0), (leaf(3) * 0).clamp_min(0)],
    "clamp by tensors": lambda: leaf(5).clamp(torch.zeros(5), torch.ones(1)),
    "functions": lambda: [
        getattr(torch, name)(positive(5) * 0.6)
        for name in (
            *("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "sin"),
            *(
                "cos",
                "tan",
                "asin",
                "acos",
                "atan",
                "sinh",
                "cosh",
                "asinh",
                "atanh",
                "erf",
                "erfc",
            ),
            *("reciprocal", "square", "abs", "sign", "floor", "round", "neg", "clone"),
        )
    ],
    "fill": lambda: (leaf(3) * 1).fill_(leaf()),
    "to": lambda: leaf(3).float().double() * leaf(3).to(torch.float32),
    "zeros": lambda: (
        torch.zeros(3, dtype=torch.float64).pow(leaf(3)) + leaf(3).pow(0) + 0 ** leaf(3)
    ),
}


@each("name", CASES)
def test_hard_cases(name: str) -> None:
    torch.manual_seed(2)
    outputs, seen = CASES[name](), Seen()
    compare_with_backward(outputs if isinstance(outputs, list) else [outputs], seen)
    assert seen.problems == []
    assert seen.trees


@cache
def all_cases() -> Seen:
    """What was seen in every case above."""
    torch.manual_seed(3)
    seen = Seen()
    everything: list[Callable[[], Any]] = [
        *CASES.values(),
        *(partial(f, leaf(2, 2), leaf(2)) for f in BINARY.values()),
    ]
    everything += [partial(f, leaf(2, 2, 2), (1,), keepdim=False) for f in REDUCED.values()]
    for make in everything:
        outputs = make()
        compare_with_backward(outputs if isinstance(outputs, list) else [outputs], seen)
    return seen


def test_all_other_arguments_have_a_tree_and_most_have_numbers() -> None:
    seen = all_cases()
    assert seen.problems == []
    assert set(seen.words) - set(seen.trees) == WORDS_ONLY
    assert len(seen.trees) > 180
    assert len(seen.calculated) > 90


def without_number(name: str) -> str:
    """``Mul.self`` for ``MulBackward0.self``."""
    node, _, argument = name.partition(".")
    return f"{node.partition('Backward')[0]}.{argument}"


# --- torch's own operators ------------------------------------------------------------------


def compared(names: Sequence[str], samples: int = 3) -> list[dict[str, Any]]:
    """Reports on operators, made in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.truth.gradients", str(samples), *names],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def all_names() -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.truth.operators", "--names"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_a_sample_of_torchs_operators() -> None:
    reports = compared(["--every", "36"])
    assert [problem for report in reports for problem in report["problems"]] == []
    assert sum(sum(report["trees"].values()) for report in reports) > 100


def coverage(reports: Sequence[dict[str, Any]]) -> str:
    """A line for each node and argument: whether it has a tree, and where not, the words."""
    trees = {name for report in reports for name in report["trees"]}
    words = {n: said for report in reports for n, said in report["words"].items()}
    lines = [f"{name}: tree" for name in trees]
    lines += [f"{name}: {said}" for name, said in words.items() if name not in trees]
    return "\n".join(sorted(lines)) + "\n"


@pytest.mark.opdb_all
def test_every_operator_of_torch_says_what_backward_computes(
    check_golden: Callable[[str, str], None],
) -> None:
    names = all_names()
    batches = [names[start::8] for start in range(8)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        reports = [report for found in pool.map(compared, batches) for report in found]
    assert [problem for report in reports for problem in report["problems"]] == []
    check_golden(GOLDEN.name, coverage(reports))


def test_every_rule_is_tried() -> None:
    """No rule without a sample of torch's or a hard case that computes it."""
    tried = {without_number(line.partition(": ")[0]) for line in GOLDEN.read_text().splitlines()}
    tried |= {without_number(name) for name in all_cases().trees} | ON_A_GPU
    rules = {f"{operator}.{argument}" for operator, found in table().items() for argument in found}
    assert sorted(rules - tried) == []


ON_A_GPU = {
    f"ScaledDotProduct{kind}Attention.{argument}"
    for kind in ("Cudnn", "Efficient", "Flash")
    for argument in ("key", "query", "value")
}
"""Nodes that a GPU alone makes; words only."""
