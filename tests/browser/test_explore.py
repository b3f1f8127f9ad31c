from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Locator, Page, expect

from tests.browser.bare import axe_violations
from tests.browser.conftest import Shoot
from tests.browser.lab import Notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[..., Notebook]

PROGRAM = """\
import torch, gradviz
def program(a, b, retain_grad=False, detach_here=False):
    y = a * b
    if retain_grad:
        y.retain_grad()
    if detach_here:
        y = y.detach()
    print("y is", y.item())
    loss = (y + b).exp()
    loss.backward()
    return {"y": y, "loss": loss}

explorer = gradviz.explore(program, a=2.0, b=0.5)
explorer"""


def leaf(widget: Locator, name: str) -> Locator:
    return widget.locator(".gradviz-viewport .gv-leaf", has_text=name)


def test_moving_a_slider_and_flipping_requires_grad_changes_the_graph(
    notebook: Open, page: Page, shoot: Shoot
) -> None:
    opened = notebook("explore.ipynb", PROGRAM)
    opened.command("application:toggle-left-area")
    page.set_viewport_size({"width": 1200, "height": 1700})
    opened.run_all()
    widget = opened.widget()
    output = page.locator(".jp-OutputArea-output").first
    expect(widget.locator(".gv-badge")).to_have_count(0)
    shoot("explore-1200-light-first")

    output.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    expect(leaf(widget, "= 2.1")).to_have_count(1)
    expect(output).to_contain_text("a: values 2.0 → 2.1")
    field = output.get_by_label("a", exact=True)
    expect(field).to_have_value("2.1")
    field.fill("1.5")
    page.keyboard.press("Enter")
    opened.wait_for("explorer.graph.tensor('a').values", "(1.5,)")
    expect(leaf(widget, "= 1.5")).to_have_count(1)
    expect(output).to_contain_text("a: values 2.1 → 1.5")
    expect(output).to_contain_text("y is 0.75")

    output.get_by_label("a requires_grad").uncheck()
    expect(leaf(widget, "= 1.5")).to_have_count(0)
    expect(output).to_contain_text("gone: leaf a")
    output.get_by_label("a requires_grad").check()
    expect(leaf(widget, "= 1.5")).to_have_count(1)
    expect(widget.locator(".gv-leaf.gv-new .gv-badge")).to_have_text("+ new")
    expect(widget.locator(".gradviz-legend")).to_contain_text("+ new since the run before")
    # A handle has no label that could be set; the field before it has, and does the same.
    violations = axe_violations(page, ".jp-OutputArea-output")
    assert [v for v in violations if "noUi-handle" not in v] == []
    shoot("explore-1200-light")

    output.get_by_label("detach_here").check()
    expect(output).to_contain_text("gone: leaf a")
    output.get_by_label("retain_grad").check()
    expect(output).to_contain_text("Nothing changed in the graph since the run before.")

    output.get_by_role("button", name="Show the code").click()
    expect(output.get_by_label("Python")).to_have_value(opened_code(opened))
    output.get_by_role("button", name="Reset").click()
    opened.wait_for("explorer.graph.tensor('a').values", "(2.0,)")
    expect(output.get_by_label("retain_grad")).not_to_be_checked()
    shoot("explore-1200-light-code")


def opened_code(opened: Notebook) -> str:
    return str(eval(opened.python("explorer.code")))


@pytest.mark.parametrize("width", [420, 1200])
def test_it_reads_well_narrow_wide_and_dark(
    notebook: Open, page: Page, shoot: Shoot, width: int
) -> None:
    opened = notebook(f"explore{width}.ipynb", PROGRAM)
    opened.command("application:toggle-left-area")
    page.set_viewport_size({"width": width, "height": 1700})
    opened.run_all()
    widget = opened.widget()
    opened.command("apputils:change-theme", {"theme": "JupyterLab Dark"})
    try:
        expect(widget).to_have_attribute("data-theme", "dark")
        output = page.locator(".jp-OutputArea-output").first
        output.get_by_label("retain_grad").check()
        expect(output).to_contain_text("y: retains_grad False → True")
        output.get_by_label("b requires_grad").uncheck()
        expect(output).to_contain_text("gone: leaf b")
        shoot(f"explore-{width}-dark")
        output.get_by_label("detach_here").check()
        expect(output).to_contain_text("RuntimeError")
        expect(output).to_contain_text("The picture shows the last run")
        shoot(f"explore-{width}-dark-error")
    finally:
        opened.command("apputils:change-theme", {"theme": "JupyterLab Light"})
        expect(widget).to_have_attribute("data-theme", "light")
    page.wait_for_timeout(1000)
    shoot(f"explore-{width}-light-error")
    output.get_by_role("button", name="Reset").click()
    expect(output).to_contain_text("new: ")
    shoot(f"explore-{width}-light")
    overflow = output.evaluate("e => e.scrollWidth - e.clientWidth")
    assert overflow <= 0
