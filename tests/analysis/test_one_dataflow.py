"""What an error's explanation and an audit say of the same cut."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from tests.each import each

# Each program cuts ``fc.weight`` off from all of the loss, and says in a comment which line does.

X = torch.ones(4, 2)


class Net(nn.Module):
    """A module whose forward may cut."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.out = nn.Linear(2, 3, bias=False), nn.Linear(3, 1, bias=False)
        self.out.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.fc(x).detach()  # cut
        made: Tensor = self.out(h)
        return made


@dataclass(frozen=True)
class Planted:
    """A program that cuts, and what both are to say of it."""

    run: Callable[[Any], Tensor]
    reason: str
    """As an audit has it."""
    call: str
    has_left: bool = False
    """Whether the value left torch after the cut."""
    is_module: bool = False
    """Whether the lines of the model are recorded too."""

    def __str__(self) -> str:
        return self.run.__name__


def detach(model: Any) -> Tensor:
    h = model.fc(X)
    d = h.detach()  # cut
    return d.exp().sum()


def detach_in_place(model: Any) -> Tensor:
    h = model.fc(X)
    h.detach_()  # cut
    return (h * 2).sum()


def data(model: Any) -> Tensor:
    h = model.fc(X).data  # cut
    return (h * 2).sum()


def no_grad(model: Any) -> Tensor:
    with torch.no_grad():  # switched off
        h = model.fc(X)  # cut
        k = h.exp()
    return k.sum()


def inference_mode(model: Any) -> Tensor:
    with torch.inference_mode():  # switched off
        h = model.fc(X)  # cut
    return h.clone().sum()


def item(model: Any) -> Tensor:
    h = model.fc(X)
    print(h.max().item(), end="")
    value = h.sum().item()  # cut
    value = value / 2
    return torch.tensor(value)


def items_of_a_list(model: Any) -> Tensor:
    values = []
    for x in X:
        values.append(model.fc(x).sum().item())  # cut
    return torch.tensor(values).sum()


def tolist(model: Any) -> Tensor:
    values = model.fc(X).tolist()  # cut
    return torch.tensor(values).sum()


def copied(model: Any) -> Tensor:
    h = model.fc(X)
    again = torch.tensor(h)  # cut
    return again.sum()


def detach_and_numpy(model: Any) -> Tensor:
    array = (model.fc(X) * 2).detach().numpy()  # cut
    return torch.from_numpy(array).sum()


def detach_and_numpy_in_two_lines(model: Any) -> Tensor:
    d = (model.fc(X) * 2).detach()  # cut
    array = d.numpy()
    return torch.tensor(array).sum()


def data_and_tolist(model: Any) -> Tensor:
    values = model.fc(X).data.tolist()  # cut
    return torch.tensor(values).sum()


def argmax(model: Any) -> Tensor:
    k = model.fc(X).argmax(1)  # cut
    return k.float().mean()


def place_of_the_maximum(model: Any) -> Tensor:
    _values, k = model.fc(X).max(1)  # cut
    return k.float().mean()


def mask(model: Any) -> Tensor:
    m = model.fc(X) > 0  # cut
    return (torch.ones(4, 3) * m).sum()


def frozen_before_use(model: Any) -> Tensor:
    model.fc.weight.requires_grad_(False)  # cut
    h = model.fc(X)
    return h.sum()


def frozen_for_a_while(model: Any) -> Tensor:
    model.fc.requires_grad_(False)  # cut
    h = model.fc(X)
    model.fc.requires_grad_(True)
    return h.sum()


def gradient(model: Any) -> Tensor:
    y = model.fc(X).pow(2).sum()
    (g,) = torch.autograd.grad(y, model.fc.weight)  # cut
    return g.pow(2).sum()


def in_a_list(model: Any) -> Tensor:
    hs = [model.fc(X).detach(), torch.zeros(4, 3)]  # cut
    return torch.stack(hs).mean()


def in_a_dict(model: Any) -> Tensor:
    kept = {"h": model.fc(X).detach()}  # cut
    return torch.cat([kept["h"], torch.zeros(4, 3)]).mean()


def written_into_a_buffer(model: Any) -> Tensor:
    buffer = torch.zeros(4, 3)
    buffer[:] = model.fc(X).detach()  # cut
    return buffer.sum()


def added_to_a_part(model: Any) -> Tensor:
    buffer = torch.zeros(4, 3)
    row = model.fc(X)[0].detach()  # cut
    buffer[0].add_(row)
    return buffer.sum()


def without_graph(h: Tensor) -> Tensor:
    return h.detach()  # cut


def in_a_function(model: Any) -> Tensor:
    h = without_graph(model.fc(X))
    return h.sum()


def in_a_module(model: Any) -> Tensor:
    made: Tensor = model(X)
    return made.sum()


def updated_before_use(model: Any) -> Tensor:
    with torch.no_grad():
        model.fc.weight.mul_(0.5)
        model.fc.weight.copy_(torch.ones(3, 2))
    h = model.fc(X).detach()  # cut
    return h.sum()


PLANTED = [
    Planted(detach, "detached", "detach()"),
    Planted(detach_in_place, "detached", "detach_()"),
    Planted(data, "detached", ".data"),
    Planted(no_grad, "no_grad", "linear()"),
    Planted(inference_mode, "inference mode", "linear()"),
    Planted(item, "left torch", "item()"),
    Planted(items_of_a_list, "left torch", "item()"),
    Planted(tolist, "left torch", "tolist()"),
    Planted(copied, "left torch", "tensor()"),
    Planted(detach_and_numpy, "detached", "detach()", has_left=True),
    Planted(detach_and_numpy_in_two_lines, "detached", "detach()", has_left=True),
    Planted(data_and_tolist, "detached", ".data", has_left=True),
    Planted(argmax, "integer", "argmax()"),
    Planted(place_of_the_maximum, "integer", "max()"),
    Planted(mask, "integer", "gt()"),
    Planted(frozen_before_use, "frozen", "requires_grad = False"),
    Planted(frozen_for_a_while, "frozen", "requires_grad = False"),
    Planted(gradient, "create_graph", "grad()"),
    Planted(in_a_list, "detached", "detach()"),
    Planted(in_a_dict, "detached", "detach()"),
    Planted(written_into_a_buffer, "detached", "detach()"),
    Planted(added_to_a_part, "detached", "detach()"),
    Planted(in_a_function, "detached", "detach()"),
    Planted(in_a_module, "detached", "detach()", is_module=True),
    Planted(updated_before_use, "detached", "detach()"),
]

SAYS = {
    "detached": r"{} cut (it )?off",
    "no_grad": r"{} ran( on \S+)? under no_grad and was not recorded",
    "inference mode": r"{} ran( on \S+)? in inference mode and was not recorded",
    "integer": r"{}( of .+)? returned (int64|bool) values, which have no gradient",
    "left torch": r"{} (took|copied) .*(out of torch|without the graph)",
    "frozen": r"(model.fc.weight.)?requires_grad was set to False",
    "create_graph": r"{} computed (it|a gradient) without create_graph=True",
}
"""How a sentence about each reason begins, with the call in it."""


def plain(why: str) -> str:
    """A sentence of an audit without the place of the call."""
    return re.sub(r"( of [\w.]+)? in line \d+( \([^)]*\))?", "", why)


@each("planted", PLANTED)
def test_an_error_and_an_audit_name_the_same_reason_call_and_line(
    planted: Planted,
) -> None:
    torch.manual_seed(0)
    model = Net()
    into = [planted.run, without_graph, *([model] if planted.is_module else [])]
    with warnings.catch_warnings(), gradviz.record(into=into) as recording:
        warnings.simplefilter("ignore")  # torch.tensor(tensor) warns
        loss = planted.run(model)
        with pytest.raises(RuntimeError, match="does not require grad"):
            loss.backward()
    (explanation,) = (one for one in recording.explanations if one.kind == "no graph")
    switched, cause = None, explanation.causes[0]
    if planted.reason in ("no_grad", "inference mode"):
        switched, cause = explanation.causes[:2]
    report = gradviz.audit(loss, model, recording=recording)
    row = report["fc.weight"]
    assert (switched is None) or switched == explanation.cause
    assert (switched is None) or (switched.at and switched.at.text.endswith("# switched off"))
    assert cause.at is not None
    assert row.at is not None
    assert (cause.at.line, cause.at.text) == (row.at.line, row.at.text)
    assert row.at.text.endswith("# cut")
    assert (row.gets_gradient, row.reason) == (False, planted.reason)
    says = re.compile(SAYS[planted.reason].format(re.escape(planted.call)))
    assert says.match(cause.what), cause.what
    assert says.match(plain(row.why)), row.why
    assert ("and it left torch" in cause.what) is planted.has_left
    assert ("and it left torch" in row.why) is planted.has_left
    cuts = next(t for t in report.findings.tables if t.caption == "where the path is cut")
    assert planted.call in [cells[1] for cells in cuts.rows]


def test_the_planted_cuts_are_all_reasons_that_a_call_can_have() -> None:
    assert {planted.reason for planted in PLANTED} == set(SAYS)
