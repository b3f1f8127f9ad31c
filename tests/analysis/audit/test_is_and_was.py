"""What an audit says of the graph as it is, beside what was computed from it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import gradviz


def test_a_graph_with_a_modified_saved_tensor_holds_not_what_backward_needs() -> None:
    layer, x = nn.Linear(2, 1), torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        h = x.exp()
        loss = layer(h).exp().sum()
        loss.backward(retain_graph=True)
        with torch.no_grad():
            h.mul_(2)
    report = gradviz.audit(loss, layer, recording=recording).findings
    assert report.title == "All 2 parameters got a gradient from loss"
    assert report.sentences[0].startswith(
        "The graph still has its saved tensors, but backward raises at "
    )
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


class Listed(nn.Module):
    """Its first layer is in a list, its second is made in forward."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(2, 2, bias=False)]
        self.out = nn.Linear(2, 1)

    def forward(self, x: Tensor) -> Tensor:
        made = nn.Linear(2, 2, bias=False)
        found: Tensor = self.out(made(self.layers[0](x)))
        return found


def test_leaves_that_no_parameter_is_are_one_sentence() -> None:
    model = Listed()
    loss = model(torch.ones(1, 2)).sum()
    found = gradviz.audit(loss, model).findings.all_sentences
    (said,) = (one for one in found if "no parameter" in one)
    assert said == (
        "The graph ends at 2 leaves that are no parameters of the model: "
        "model.layers[0].weight and one of shape (2, 2) without a name."
    )
    only = gradviz.audit(loss, {"w": model.out.weight}).findings.all_sentences
    assert not any("no parameter" in one for one in only)
