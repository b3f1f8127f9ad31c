"""Run All of many widgets in JupyterLab, on a machine that has other things to do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect

from tests.browser.lab import Notebook

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

Open = Callable[..., Notebook]

FIRST = """\
import torch, gradviz
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def loss():
    return model(torch.ones(2, 4)).pow(2).sum()
def record():
    with gradviz.record() as recording:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return recording"""
WIDGETS = (
    "picture = gradviz.show(loss(), model)\npicture",
    "gradviz.show(record())",
    "record()",
    "gradviz.audit(loss(), model)",
    "gradviz.memory(loss(), model)",
    "gradviz.compare(loss(), loss() * 2)",
    "gradviz.gradient_flow(record(), model)",
    "gradviz.explore(lambda a, b: a * b, a=2.0, b=3.0)",
)
ALIVE = ".gradviz-root[data-ready=true]"


@pytest.fixture
def _busy() -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("_busy")
@pytest.mark.parametrize("run", range(10))
def test_every_widget_is_alive(notebook: Open, page: Page, run: int) -> None:
    page.set_viewport_size({"width": 1366, "height": 16_000})
    opened = notebook(f"run_all_{run}.ipynb", FIRST, *WIDGETS * 3)
    opened.run_all()
    expect(page.locator(ALIVE)).to_have_count(3 * len(WIDGETS), timeout=120_000)
    # What Python sends later arrives, too.
    opened.python("setattr(picture, 'selected', 'n1')")
    last = page.locator(ALIVE).nth(2 * len(WIDGETS))
    details = last.get_by_role("group", name="Details", exact=True)
    expect(details).to_contain_text("n1", timeout=60_000)
