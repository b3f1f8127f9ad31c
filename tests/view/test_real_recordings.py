"""Animation, captions and document of what the recorder really gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import torch

import gradviz
from gradviz.model import Recording
from gradviz.view.captions.details import all_details
from gradviz.view.documents.recording import recording_document
from gradviz.view.graph.options import DrawOptions
from tests.view.recordings import animation_of, assert_moments_know_what_their_graphs_know, texts_of


def product() -> Recording:
    a, b, c = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0, 4.0))
    with gradviz.record() as recording:
        out1 = a * b
        out2 = out1 + c
        out2.backward()
    return recording


def few_numbers() -> Recording:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recording:
        y = x @ w
        z = y - torch.tensor([3.0, 14.0])
        loss = (z**2).sum()
        loss.backward()
    return recording


def without_names() -> Recording:
    w = torch.tensor([1.0, 1.0], requires_grad=True)
    with gradviz.record() as recording:
        loss = ((2 * w).exp() * 0.5).sum()
        loss.backward()
    return recording


def hooked() -> Recording:
    a = torch.tensor([2.0, 1.0], requires_grad=True)
    with gradviz.record() as recording:
        y = a * a
        y.retain_grad()
        y.register_hook(lambda gradient: gradient / 2)
        y.sum().backward()
    return recording


def second() -> Recording:
    a = torch.tensor(2.0, requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        y = a * a
        y.backward()
        y.backward()
    return recording


def written() -> Recording:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        y = x * 2
        z = y**2
        y.add_(1)
        z.sum().backward()
    return recording


def cut() -> Recording:
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    with gradviz.record() as recording:
        y = w * 3
        z = y.detach()
        with torch.no_grad():
            k = y + z
        k = y.data
        k.add_(1)
        del y
    return recording


def trained() -> Recording:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(5, 3)
    with gradviz.record() as recording:
        for _ in range(2):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return recording


PROGRAMS = {p.__name__: p for p in (product, hooked, second, written, cut, trained)}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_every_step_is_drawn_as_its_graph_is_and_a_second_run_gives_the_same(
    program: Callable[[], Recording],
) -> None:
    one, other = program(), program()
    assert_moments_know_what_their_graphs_know(one)
    animation = animation_of(one)
    for step in one.all_steps:
        items = [*ET.fromstring(animation.svg(step.index)).iter()]
        drawn = {key for item in items for key in item.get("data-others", "").split()}
        drawn |= {item.get("data-id", "") for item in items}
        assert {node.id for node in step.graph.nodes} <= drawn
    assert str(one) == str(other)
    first, again = recording_document(one), recording_document(other)
    for wire in (first, again):
        for view in wire["views"]:
            view.pop("memory")
        wire.pop("json", None)
    assert first == again


def test_only_what_requires_grad_is_said_to_be_cut_off() -> None:
    recording = cut()
    animation = animation_of(recording)
    moments = [ET.fromstring(animation.svg(step.index)) for step in recording.all_steps]
    rows = [e for svg in moments for e in svg.iter() if "gv-cut" in (e.get("class") or "").split()]
    assert {row.get("data-id") for row in rows} == {recording[1].graph.tensor("y").id}


@cache
def told(program: Callable[[], Recording]) -> list[str]:
    return [str(caption) for caption in all_details(program())]


def test_captions_say_why(subtests: pytest.Subtests) -> None:
    for program, words in [
        (product, "1.0 × 3.0 = 3.0 went to a"),
        (few_numbers, "2 × [1.0, 1.0] × [2.0, -3.0] = [4.0, -6.0] went to"),
        (few_numbers, "1.0 expanded to (2,): [1.0, 1.0] went to"),
        (few_numbers, "[[1.0, 2.0], [3.0, 4.0]]ᵀ @ [4.0, -6.0] = [-14.0, -16.0] went to w"),
        (few_numbers, "outer([4.0, -6.0], [1.0, 2.0]) = [[4.0, 8.0], [-6.0, -12.0]] went to x"),
        (without_names, "[1.0, 1.0] × 0.5 = [0.5, 0.5] went to ExpBackward0"),
        (without_names, "[0.5, 0.5] × [7.389, 7.389] = [3.695, 3.695] went to MulBackward0"),
        (without_names, "[3.695, 3.695] × 2 ≈ [7.389, 7.389] went to w"),
        (hooked, "replaced the gradient with [0.5, 0.5]"),
        (hooked, "retain_grad set y.grad to [0.5, 0.5]"),
        (second, "raised RuntimeError while MulBackward0 ran: backward 1 in"),
        (written, "PowBackward0 had saved it @v0"),
        (written, "raised RuntimeError while PowBackward0 ran: it had saved self = y @v0, now"),
        (cut, "detach() of y is not recorded: the graph ends here"),
        (cut, "no_grad is on"),
        (cut, "have their own versions: backward cannot detect the write"),
        (cut, "MulBackward0 no longer exists"),
        (trained, "SGD.step() updated model.0.weight"),
        (trained, "SGD.zero_grad() set model.0.weight.grad"),
    ]:
        with subtests.test(program=program, words=words):
            assert any(words in caption for caption in told(program))


def test_an_error_marks_the_node_that_raised() -> None:
    recording = written()
    svg = animation_of(recording).svg(len(recording.records) - 1)
    assert re.findall(r'class="[^"]*gv-raised" id="gv-(n\d+)"', svg) == ["n2"]


def test_a_cut_names_what_went_on_without_the_graph() -> None:
    recording = cut()
    looks = [look for looks in texts_of(animation_of(recording)).values() for look in looks]
    assert any("detach() → z" in look for look in looks)


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_what_is_on_an_edge_is_whole_and_no_gradient_covers_another(direction: Any) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    with gradviz.record() as recording:
        model(torch.ones(16, 3)).mean().backward()
    animation = animation_of(recording, DrawOptions(direction=direction))
    shapes: set[str] = set()
    for step in range(len(recording.all_steps)):
        flows = re.findall('class="gv-gradient">(.*?)</g>', animation.svg(step))
        shapes |= {text for flow in flows for text in re.findall(r"<text[^>]*>(.*?)<", flow)}
        rects = [re.search('<rect x="(.*?)" y="(.*?)" width="(.*?)"', flow) for flow in flows]
        boxes = [[float(side) for side in rect.groups()] for rect in rects if rect]
        assert len(boxes) == len(flows)
        for (x, y, width), (other, top, _) in combinations(sorted(boxes), 2):
            assert x + width <= other + 0.1 or abs(top - y) >= 15
    whole = r"(\(.*\) )?norm -?[\d.e-]+|\(.*\)|\[.*\]|-?[\d.e-]+"
    assert shapes
    assert [one for one in shapes if not re.fullmatch(whole, one)] == []
