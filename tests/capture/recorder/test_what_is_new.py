"""A tensor or node is new at a step only if the step made it; others are read when first used."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.model import Recording
from gradviz.view.captions.details import all_details


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(2), nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.linear(self.norm(x))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.ln_f = nn.LayerNorm(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.ln_f(self.blocks(x))


class Hidden:
    """No names are found in objects like this: its attributes are kept in no attribute."""

    __slots__ = ("_read", "_write")
    model: Transformer
    w: Tensor
    y: Tensor
    batches: Iterator[Tensor]

    def __init__(self) -> None:
        values: dict[str, Any] = {}
        object.__setattr__(self, "_read", values.__getitem__)
        object.__setattr__(self, "_write", values.__setitem__)

    def __setattr__(self, name: str, value: Any) -> None:
        self._write(name, value)

    def __getattr__(self, name: str) -> Any:
        return self._read(name)


def made(recording: Recording) -> dict[str, int]:
    """The line at which each named tensor was made, 0 if no line is known to have made it."""
    history = recording.history
    found: dict[str, int] = {}
    for step, facts in enumerate(recording.records):
        if step == 0 or facts.level:
            continue
        steps = range(recording.numbers.starts[step], step + 1)
        for key in (key for at in steps for key in history.begun(at)):
            name = history.name(key, len(recording.records))
            if key[0] == "t" and name:
                found[name] = (facts.line or 0) if history.is_made(key, steps) else 0
    first = min((line for line in found.values() if line), default=1) - 1
    return {name: line and line - first for name, line in found.items()}


def said(recording: Recording) -> list[str]:
    return [
        str(c)
        for c, s in zip(all_details(recording), recording.records)
        if not s.level and not s.depth
    ][1:]


def test_parameters_from_before_are_read_at_their_first_use_and_are_not_new() -> None:
    hidden = Hidden()
    hidden.model = Transformer()
    x = torch.ones(2)
    with gradviz.record() as recording:
        loss = hidden.model(x).sum()
        model = hidden.model
        other = Transformer()
        loss = loss + other(x).sum()
    lines = said(recording)
    assert "new" not in lines[0] + lines[1] + lines[3]
    assert "are new leaves that require grad" in lines[2]
    found = made(recording)
    assert {line for name, line in found.items() if name.startswith("model.")} <= {0}
    assert {line for name, line in found.items() if name.startswith("other.")} == {1}
    del model


def test_parameters_that_a_line_makes_are_new() -> None:
    with gradviz.record() as recording:
        layer = nn.Linear(2, 2)
        w = nn.Parameter(torch.ones(2))
        v = nn.Parameter(layer.weight.detach())
        c = copy.deepcopy(w)
    assert made(recording) == {"layer.weight": 1, "layer.bias": 1, "w": 2, "v": 3, "c": 4}
    assert "layer.weight and layer.bias are new leaves that require grad" in said(recording)[0]
    del v, c


def test_many_parameters_of_one_line_are_new_although_not_all_calls_are_listed() -> None:
    with gradviz.record(values=False) as recording:
        model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(150)))
    assert set(made(recording).values()) == {1}
    assert len(made(recording)) == 300
    del model


def test_what_comes_out_of_lists_and_iterators_is_new_only_where_it_is_made() -> None:
    hidden = Hidden()
    hidden.batches = iter([torch.ones(2)])
    later: Any = torch.utils.data.DataLoader([torch.ones(2), torch.zeros(2)], batch_size=1)  # type: ignore[arg-type]
    with gradviz.record(only=()) as recording:
        hidden.w = torch.ones(3)
        batch = next(hidden.batches)
        for one in later:
            found = one * 2
        w = hidden.w
        t = torch.tensor([1.0, 2.0])
    assert made(recording)["batch"] == 0
    assert made(recording)["w"] == 0
    lines = "\n".join(said(recording))
    assert "batch does not require grad" in lines
    assert "w does not require grad" in lines
    assert "one is new and does not require grad" in lines
    assert "t is new and does not require grad" in lines
    del batch, w, t, found


def test_a_tensor_that_begins_to_require_grad_is_not_new() -> None:
    x = torch.ones(2)
    with gradviz.record() as recording:
        x.requires_grad_()
        y = torch.ones(2).requires_grad_()
    lines = said(recording)
    assert lines[0].endswith("x.requires_grad is now True")
    assert "y is a new leaf that requires grad" in lines[1]
    del y


def test_tensors_in_closures_are_not_new() -> None:
    def function() -> object:
        inside = torch.ones(2, requires_grad=True)
        return lambda x: x * inside

    f, a = function(), torch.ones(2)
    with gradviz.record() as recording:
        y = f(a)  # type: ignore[operator]
    assert "new" not in said(recording)[0]
    del y


def test_a_graph_from_before_that_only_its_use_leads_to_was_not_made_by_that_line() -> None:
    hidden = Hidden()
    hidden.y = (torch.ones(2, requires_grad=True) * 2).exp()
    with gradviz.record(only=()) as recording:
        z = hidden.y + 1
        y = hidden.y
    assert said(recording)[0].endswith("made AddBackward0")
    assert [n.name for n in recording.graph.nodes][:3] == [
        "AddBackward0",
        "ExpBackward0",
        "MulBackward0",
    ]
    assert "new" not in said(recording)[1]
    del z, y


def test_where_it_cannot_be_known_neither_is_said() -> None:
    numpy = pytest.importorskip("numpy")
    numbers = numpy.ones(2)
    with gradviz.record() as recording:
        x = torch.from_numpy(numbers)
        w = torch.ones(2, requires_grad=True)
        (g,) = torch.autograd.grad(w.sum(), [w])
    assert said(recording)[0].endswith("x does not require grad")
    assert "g is new and does not require grad" in said(recording)[2]
    del x, g


def test_what_is_known_of_it_is_in_the_document() -> None:
    hidden = Hidden()
    hidden.y = torch.ones(2, requires_grad=True).exp()
    with gradviz.record() as recording:
        w = nn.Parameter(torch.ones(2))
        z = hidden.y * w
    again = Recording.from_json(recording.to_json())
    assert again == recording
    assert said(again) == said(recording)
    assert made(again) == made(recording)
    del z
