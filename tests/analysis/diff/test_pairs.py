"""Pairs of programs that differ in one thing: what is found is that, and nothing more."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz.analysis.diff.graphs import differences_between
from gradviz.model import Graph
from tests.analysis.explain import version_program
from tests.each import each

VERSIONS = Path(__file__).parents[2] / "golden" / "versions"


def told(before: Graph, after: Graph) -> list[str]:
    """Every difference, each in one line."""
    return [
        f"{d.kind} {d.subject} {d.name}: {d.fact} {d.change}"
        for d in differences_between(before, after)
    ]


def leaf(*values: float, requires_grad: bool = True) -> torch.Tensor:
    data = torch.tensor(values if len(values) > 1 else values[0])
    return data.requires_grad_(requires_grad)


def written_through(data: bool) -> Graph:
    a = leaf(1.0, 2.0)
    y = a.exp()
    z = y.data if data else y.detach()
    z.add_(1)
    loss = y.sum()
    return gradviz.snapshot(loss, names={"a": a, "y": y, "z": z, "loss": loss})


def with_frozen(frozen: bool) -> Graph:
    w, b, x = leaf(1.0, 2.0, requires_grad=not frozen), leaf(1.0), torch.tensor([3.0, 4.0])
    loss = ((w * x).sum() + b).exp()
    return gradviz.snapshot(loss, names={"w": w, "b": b, "x": x, "loss": loss})


def twice(zeroed: bool) -> Graph:
    w = leaf(2.0)
    for _ in range(2):
        if zeroed:
            w.grad = None
        loss = w * w
        loss.backward()
    return gradviz.snapshot(loss, names={"w": w, "loss": loss})


def after_backward(retain_graph: bool) -> Graph:
    w = leaf(2.0)
    loss = (w * w).exp()
    loss.backward(retain_graph=retain_graph)
    return gradviz.snapshot(loss, names={"w": w, "loss": loss})


def checkpointed(is_checkpointed: bool) -> Graph:
    def part(w: torch.Tensor) -> torch.Tensor:
        return (w * w).sin()

    w = leaf(1.0, 2.0)
    h = checkpoint(part, w, use_reentrant=False) if is_checkpointed else part(w)
    loss = h.sum()
    return gradviz.snapshot(loss, names={"w": w, "h": h, "loss": loss})


def in_mode(training: bool) -> Graph:
    x = leaf(0.0, 1.0, 2.0, 3.0)
    norm = torch.nn.BatchNorm1d(2).train(training)
    torch.nn.init.zeros_(norm.weight)  # so that what dropout draws does not matter
    names = {"x": x, "norm.weight": norm.weight, "norm.bias": norm.bias}
    mean, var, _ = norm.buffers()
    names |= {"mean": mean, "var": var}
    loss = torch.dropout(norm(x.view(2, 2)), 0.5, training).sum()
    return gradviz.snapshot(loss, names={**names, "loss": loss})


def rectified(in_place: bool) -> Graph:
    a = leaf(1.0, 2.0)
    h = a * 3
    h = h.relu_() if in_place else h.relu()
    loss = h.sum()
    return gradviz.snapshot(loss, names={"a": a, "h": h, "loss": loss})


def double(gradient: torch.Tensor) -> torch.Tensor:
    return gradient * 2


def hooked(hook: bool) -> Graph:
    a = leaf(2.0)
    y = a * 3
    if hook:
        y.register_hook(double)
    loss = y.exp()
    return gradviz.snapshot(loss, names={"a": a, "y": y, "loss": loss})


def retaining(retain_grad: bool) -> Graph:
    a = leaf(2.0)
    y = a * 3
    if retain_grad:
        y.retain_grad()
    loss = y * y
    loss.backward()
    return gradviz.snapshot(loss, names={"a": a, "y": y, "loss": loss})


def beside_a_large_number(larger: bool) -> Graph:
    w = leaf(1000.0, 0.01 if larger else 0.005)
    loss = w.sum()
    return gradviz.snapshot(loss, names={"w": w, "loss": loss})


def factor(named: bool) -> Graph:
    w, x = leaf(1.0, 2.0), torch.tensor([3.0, 4.0])
    loss = w * x
    if not named:
        del x
    return gradviz.snapshot(loss, names={"w": w, "loss": loss})


UNPACK = "packed by _checkpoint_hook.__init__.unpack_hook"
PAIRS = {
    written_through: [
        "changed saved tensor ExpBackward0: saved result modified ⚠ saved v0, now v1 y → held v0 y",
        "changed tensor y: version 1 → 0",
    ],
    with_frozen: [
        "gone node SumBackward0: in the graph yes → no",
        "gone node MulBackward0: in the graph yes → no",
        "gone node leaf w: in the graph yes → no",
        "gone edge AddBackward0: self leads to SumBackward0 → None",
        "changed tensor w: requires_grad True → False",
    ],
    twice: ["changed tensor w: .grad 8.0 → 4.0"],
    after_backward: [
        "changed node ExpBackward0: state freed → holds",
        "changed saved tensor ExpBackward0: saved result freed → held v0 loss",
        "changed node MulBackward0: state freed → holds",
        "changed saved tensor MulBackward0: saved other freed → held v0 w",
        "changed saved tensor MulBackward0: saved self freed → held v0 w",
    ],
    checkpointed: [
        "changed node SinBackward0: state holds → packed",
        f"changed saved tensor SinBackward0: saved self held v0 → {UNPACK}",
        "changed node MulBackward0: state holds → packed",
        f"changed saved tensor MulBackward0: saved other held v0 w → {UNPACK}",
        f"changed saved tensor MulBackward0: saved self held v0 w → {UNPACK}",
    ],
    in_mode: [
        "new node MulBackward0: in the graph no → yes",
        "changed edge SumBackward0: self leads to NativeBatchNormBackward0 → MulBackward0",
        "changed node NativeBatchNormBackward0: training False → True",
        "changed saved tensor NativeBatchNormBackward0: saved result1 held v0 (0,) → held v0 (2,)",
        "changed saved tensor NativeBatchNormBackward0: saved result2 held v0 (0,) → held v0 (2,)",
        "changed tensor mean: values [0.0, 0.0] → [0.1, 0.2]",
        "changed tensor var: values [1.0, 1.0] → [1.1, 1.1]",
    ],
    rectified: [
        "changed saved tensor ReluBackward0: saved result held v0 h → held v1 h",
        "changed tensor h: version 0 → 1",
    ],
    hooked: ["changed tensor y: hooks none → hook double"],
    retaining: [
        "changed tensor y: retains_grad False → True",
        "changed tensor y: .grad None → 12.0",
    ],
    beside_a_large_number: ["changed tensor w: values [1000.0, 0.005] → [1000.0, 0.01]"],
    factor: [],
}


@each("program", PAIRS)
def test_what_differs_is_found_and_nothing_more(program: object) -> None:
    assert callable(program)
    assert told(program(False), program(True)) == PAIRS[program]
    assert told(program(False), program(False)) == []


GONE_IN_2_15 = [
    "UnsafeViewBackward0", "BmmBackward0", "ViewBackward0", "ViewBackward0", "ExpandBackward0",
    "ExpandBackward0", "SafeSoftmaxBackward0", "UnsafeViewBackward0", "BmmBackward0",
    "ViewBackward0", "ReshapeAliasBackward0", "ExpandBackward0", "ExpandBackward0",
    "MulBackward1", "MulBackward1", "TransposeBackward0",
]  # fmt: skip
NEW_IN_2_15 = [
    "SqueezeBackward1", "ScaledDotProductFlashAttentionForCpuBackward0", "UnsqueezeBackward0",
    "UnsqueezeBackward0", "UnsqueezeBackward0",
]  # fmt: skip


def stored(release: str) -> Graph:
    return Graph.from_json((VERSIONS / f"torch-{release}.json").read_text())


def test_two_releases_of_torch_differ_in_how_they_compute_attention() -> None:
    """torch 2.15 takes its fused kernel also for tensors with three dimensions."""
    assert told(stored("2.10"), stored("2.15")) == [
        *(f"new node {name}: in the graph no → yes" for name in NEW_IN_2_15),
        *(f"gone node {name}: in the graph yes → no" for name in GONE_IN_2_15),
        "changed edge SplitWithSizesBackward0: "
        "self leads to UnsafeViewBackward0 → SqueezeBackward1",
        "changed tensor mixed: "
        "place output 0 of UnsafeViewBackward0 → output 0 of SqueezeBackward1",
        "changed tensor mixed: view none → of another tensor",
    ]


def test_the_stored_graphs_are_those_of_their_program() -> None:
    release = ".".join(torch.__version__.split(".")[:2])
    if (VERSIONS / f"torch-{release}.json").exists():
        assert told(stored(release), version_program.program()) == []
    else:
        counts = [len(stored(one)) for one in ("2.10", "2.15")]
        assert len(version_program.program()) in counts
