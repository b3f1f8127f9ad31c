"""A document that was damaged is refused with the place, or is as good as any other."""

from __future__ import annotations

import json
import random
import re

import pytest
import torch

import gradviz
from gradviz import Graph, Recording
from gradviz.view.graph.drawing import draw
from tests import damage
from tests.view.recordings import animation_of


def forward() -> str:
    w, x = torch.ones(3, 3, requires_grad=True), torch.ones(2, 3)
    hidden = torch.tanh(x @ w)
    hidden.retain_grad()
    hidden.register_hook(lambda gradient: gradient)
    return gradviz.snapshot((hidden * hidden).sum()).to_json()


def freed() -> str:
    w = torch.ones(2, requires_grad=True)
    y = w.exp().sum() * w.prod()
    y.backward()
    return gradviz.snapshot(y).to_json()


def training() -> str:
    with gradviz.record() as recording:
        w = torch.tensor([3.0, 1.0], requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        y = w * w
        y.register_hook(lambda gradient: gradient * 2)
        (y.exp() + y.detach()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return recording.to_json()


def raising() -> str:
    with gradviz.record() as recording:
        a = torch.tensor(2.0, requires_grad=True)
        b = a.exp()
        with torch.no_grad():
            b.mul_(2)
        with pytest.raises(RuntimeError):
            b.backward()
    return recording.to_json()


DOCUMENTS = {one.__name__: one() for one in (forward, freed, training, raising)}
PLACE = re.compile(r"^(the document|\.?\w[\w.\[\]]*): ")
BEFORE = re.compile(r"^this is (not|no) ")


def behaves(text: str) -> None:
    """Everything that reads a graph or recording reads what is in the text."""
    if '"gradviz graph' in text[:40]:
        graph = Graph.from_json(text)
        assert Graph.from_json(graph.to_json()) == graph
        assert str(Graph.from_json(graph.to_json())) == str(graph)
        draw(graph)
        return
    recording = Recording.from_json(text)
    assert Recording.from_json(recording.to_json()) == recording
    assert Recording.from_json(recording.to_json()).outline(full=True) == recording.outline(
        full=True
    )
    animation = animation_of(recording)
    for step in recording.all_steps:
        assert Graph.from_json(step.graph.to_json()) == step.graph
        animation.svg(step.index)
        str(step)


def is_refused(text: str) -> bool:
    """Whether it is refused; in which case the message has the place."""
    said = ""
    try:
        (Graph if '"gradviz graph' in text[:40] else Recording).from_json(text)
    except ValueError as error:
        said = str(error)
    assert not said or PLACE.match(said) or BEFORE.match(said), said
    assert len(said) < 600
    return bool(said)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_damaged_document_is_refused_with_the_place_or_behaves_as_any_other(name: str) -> None:
    text, chance = DOCUMENTS[name], random.Random(name)
    behaves(text)
    everywhere = list(damage.places(json.loads(text)))
    counted = {True: 0, False: 0}
    for i in range(120):
        change = damage.CHANGES[i % len(damage.CHANGES)]
        bad = damage.damaged(text, chance.choice(everywhere), change, chance)
        refused = is_refused(bad)
        counted[refused] += 1
        if not refused and (name in ("forward", "freed") or counted[False] % 8 == 0):
            behaves(bad)
    assert min(counted.values()) > 15


@pytest.mark.parametrize("name", DOCUMENTS)
def test_values_in_the_place_of_others_are_refused_or_behave(name: str) -> None:
    chance = random.Random(name)
    for _ in range(15):
        bad = damage.swapped(DOCUMENTS[name], chance)
        if not is_refused(bad):
            behaves(bad)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_without_its_end_is_refused(name: str) -> None:
    chance = random.Random(name)
    assert all(is_refused(damage.cut_off(DOCUMENTS[name], chance)) for _ in range(20))
