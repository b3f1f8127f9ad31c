"""One program whose graph two releases of torch leave.

``python -m tests.analysis.explain.version_program FOLDER`` writes it with the torch that runs
it, as ``torch-2.10.json``; the files in ``tests/golden/versions`` were written so.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch.nn import functional

import gradviz


def ramp(*shape: int, requires_grad: bool = True) -> torch.Tensor:
    """Numbers that need no random generator."""
    count = 1
    for size in shape:
        count *= size
    return (
        (torch.arange(count, dtype=torch.float64).cos() / 2)
        .view(shape)
        .requires_grad_(requires_grad)
    )


def program() -> gradviz.Graph:
    """Many operations, small tensors."""
    x = torch.arange(32, dtype=torch.float64).sin().view(2, 1, 4, 4)
    names = {
        "kernel": ramp(3, 1, 3, 3),
        "scale": ramp(3),
        "shift": ramp(3),
        "weight": ramp(5, 12),
        "bias": ramp(5),
        "table": ramp(7, 5),
    }
    kernel, scale, shift, weight, bias, table = names.values()
    h = functional.batch_norm(functional.conv2d(x, kernel), None, None, scale, shift, training=True)
    h = functional.linear(functional.gelu(h).flatten(1), weight, bias)
    h = functional.layer_norm(h, (5,))
    words = functional.embedding(torch.tensor([[1, 2], [3, 1]]), table)
    both = torch.cat([h.unsqueeze(1), words], dim=1)
    mixed = functional.scaled_dot_product_attention(both, both, both)
    left, right = mixed.split([2, 3], dim=2)
    gate = torch.sigmoid(left).prod(2) * right.norm(dim=2)
    likely = functional.log_softmax(gate, dim=1)
    loss = functional.nll_loss(likely, torch.tensor([0, 2])) + functional.smooth_l1_loss(
        h, h.detach() * 2
    )
    loss = loss + torch.einsum("bi,bi->", h, h.clamp(min=0)) + (h**2).mean().sqrt()
    loss.backward(retain_graph=True)
    return gradviz.snapshot(loss, names={**names, "x": x, "loss": loss})


def main(folder: str) -> None:
    """Write the graph as this release of torch leaves it."""
    release = ".".join(torch.__version__.split(".")[:2])
    Path(folder, f"torch-{release}.json").write_text(program().to_json() + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
