"""Folded graphs in JupyterLab: what the page does not have comes from the kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect

from tests.browser.lab import Notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[..., Notebook]

PROGRAM = """\
import torch, gradviz
from torch import nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)
    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))
model = nn.Sequential(*[Block() for _ in range(160)])
loss = model(torch.ones(2, 8)).sum()
picture = gradviz.show(loss, model=model)
picture"""


@pytest.mark.exhaustive
def test_find_and_all_ask_the_kernel_for_what_the_page_lacks(notebook: Open, page: Page) -> None:
    opened = notebook("folds.ipynb", PROGRAM)
    opened.run_all()
    widget = opened.widget()
    said = widget.locator("[role=status]").first
    deep = opened.python("picture.graph.nodes[1400].id").strip("'")
    assert opened.python(f"any(i['id'] == '{deep}' for i in picture.wire['items'])") == "False"

    field = widget.get_by_label("Find in the graph")
    field.fill(deep)
    field.press("Enter")
    expect(
        widget.locator(f".gradviz-viewport :is([data-id='{deep}'], [data-others~='{deep}'])").first
    ).to_be_in_viewport()
    opened.wait_for("picture.selected", f"'{deep}'")
    links = widget.locator(".gradviz-link")
    links.last.click()
    expect(
        widget.locator(f".gradviz-viewport :is([data-id='{deep}'], [data-others~='{deep}'])").first
    ).to_be_attached()
    opened.wait_for(f"picture.selected != '{deep}'", "True")

    field.fill("")
    widget.get_by_role("radio", name="all ").click()
    expect(said).to_contain_text("at most 1,500 cards are drawn", timeout=60_000)
    expect(widget.locator(".gradviz-fold-note")).to_contain_text("at most 1,500 cards")

    # A box that arrived later can be selected, in Python too.
    inner = opened.python("list(picture._folding.tree)[-1].id").strip("'")
    opened.python(f"setattr(picture, 'selected', '{inner}')")
    opened.wait_for("picture.selected", f"'{inner}'")
