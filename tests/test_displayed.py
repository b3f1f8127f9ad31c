"""What is the last line of a cell is shown, also by hosts that know nothing of widgets."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from ipywidgets import VBox
from ipywidgets import widgets as ipywidgets

import gradviz
from gradviz.view.widgets import base
from tests.each import each

FRAME = re.compile(r'^<iframe .*? srcdoc="([^"]*)"></iframe>$', re.S)
WIDGET = "application/vnd.jupyter.widget-view+json"


def loss() -> torch.Tensor:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    return (w * w).sum()


def recorded() -> gradviz.Recording:
    with gradviz.record() as recording:
        loss().backward()
    return recording


def wrong() -> gradviz.Recording:
    out = loss()
    with suppress(RuntimeError), gradviz.record() as recording:
        out.backward()
        out.backward()
    return recording


SHOWN: dict[str, Callable[[], Any]] = {
    "a recording": recorded,
    "a graph": lambda: gradviz.snapshot(loss()),
    "a player": lambda: gradviz.show(recorded()),
    "a picture": lambda: gradviz.show(loss()),
    "a report": lambda: gradviz.memory(loss()),
    "a picture of an error": lambda: gradviz.show(wrong().explanations[0]),
    "an explorer": lambda: gradviz.explore(lambda a: a * a, a=2.0),
}


def formatted(thing: Any) -> dict[str, Any]:
    """What a notebook stores of the last line of a cell."""
    make: Any = DisplayFormatter
    data: dict[str, Any] = make().format(thing)[0]
    return data


@pytest.mark.parametrize("name", SHOWN)
def test_it_is_the_page_in_a_frame_and_notebooks_do_not_store_that(name: str) -> None:
    thing = SHOWN[name]()
    (page,) = map(html.unescape, FRAME.findall(thing._repr_html_()))
    assert page.startswith("<!doctype html>")
    assert 'id="gradviz-state"' in page
    stored = formatted(thing)
    assert WIDGET in stored
    assert "<iframe" not in stored["text/html"]
    assert "<img" in stored["text/html"]


@pytest.mark.parametrize("name", ["a recording", "a graph"])
def test_what_is_displayed_is_what_show_returns(name: str) -> None:
    thing = SHOWN[name]()
    shown = formatted(gradviz.show(thing))
    assert {**formatted(thing), WIDGET: None} == {**shown, WIDGET: None}


@each("name", SHOWN)
def test_a_page_leaves_no_widget_behind_and_a_terminal_none_of_a_graph(name: str) -> None:
    thing, kept = SHOWN[name](), dict(ipywidgets.widget._instances)
    assert thing._repr_html_()
    assert ipywidgets.widget._instances == kept
    if name in ("a recording", "a graph"):
        formatted(thing)
        assert ipywidgets.widget._instances == kept


def test_an_explanation_is_its_card() -> None:
    explanations = wrong().explanations
    for thing in (explanations[0], gradviz.explain(wrong())):
        assert thing._repr_html_() == formatted(thing)["text/html"]


def test_a_page_that_is_too_large_is_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = gradviz.show(loss())
    monkeypatch.setattr(base, "PAGE_MOST", 100_000)
    assert picture._repr_html_() == formatted(picture)["text/html"] != ""


@pytest.mark.parametrize("name", ["a picture", "a report", "an explorer"])
def test_what_was_closed_before_it_was_shown_says_so(name: str) -> None:
    thing = SHOWN[name]()
    thing.close()
    assert thing._repr_html_() is None
    assert [*formatted(thing)] == ["text/plain"]
    with pytest.raises(gradviz.GradvizError, match="was closed"):
        VBox([thing])
