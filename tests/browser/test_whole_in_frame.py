"""Networks that courses have are seen whole at every step, and nothing moves from step to step."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import torch

from gradviz.view.widgets.player import Player
from tests.browser.bare import Bare, picture_faults
from tests.view.networks import NETWORKS

pytestmark = pytest.mark.browser

# Cards that are not wholly in the window, the zoom, and where the picture is.
SEEN = """
() => {
  const view = document.querySelector(".gradviz-viewport");
  const svg = view.querySelector("svg");
  const within = view.getBoundingClientRect();
  const cut = [...svg.querySelectorAll(".gv-node, .gv-tensor, .gv-ref")].filter((card) => {
    const box = card.querySelector("rect").getBoundingClientRect();
    return box.left < within.left || box.right > within.right
      || box.top < within.top || box.bottom > within.bottom;
  });
  const { a, e, f } = svg.getScreenCTM();
  return { cut: cut.map((card) => card.dataset.id), zoom: a, place: [a, e, f].join(" ") };
}
"""


@pytest.mark.parametrize("name", NETWORKS)
def test_all_cards_are_in_the_window_at_every_step_and_stay_there(bare: Bare, name: str) -> None:
    torch.manual_seed(0)
    bare.page.set_viewport_size({"width": 930, "height": 640})
    bare.page.evaluate("() => { document.body.style.margin = '0'; }")
    widget = bare.mount(json.loads(json.dumps(Player(NETWORKS[name]()).wire)), step=0)
    last = int(widget.root.locator(".gradviz-where strong").inner_text().split()[-1])
    places = set()
    widget.root.get_by_role("slider", name="Step").focus()
    for step in range(last + 1):
        seen = bare.page.evaluate(SEEN)
        assert seen["cut"] == [], f"step {step}"
        assert seen["zoom"] >= 0.799, f"step {step}"
        assert picture_faults(bare.page) == [], f"step {step}"
        places.add(seen["place"])
        bare.page.keyboard.press("ArrowRight")
    assert last > 10
    assert len(places) == 1
