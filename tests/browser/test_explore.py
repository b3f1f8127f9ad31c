from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Locator, Page, expect

import gradviz
from tests.browser.bare import Bare, Widget, axe_violations
from tests.browser.conftest import Shoot
from tests.browser.gallery import GALLERY
from tests.browser.lab import Notebook
from tests.browser.waiting import drawn, steady
from tests.browser.walk import TALLEST, Shown

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


SLOW = """\
import os, gradviz
gate = os.open({gate!r}, os.O_RDONLY)
runs = []
def slow(a, b):
    os.read(gate, 1)  # a run for each byte
    runs.append(round(a.item(), 3))
    return a * b

explorer = gradviz.explore(slow, a=2.0, b=3.0)
explorer"""


def leaf(widget: Locator, name: str) -> Locator:
    return widget.locator(".gradviz-viewport .gv-leaf", has_text=name)


def box(item: Locator) -> Any:
    return item.bounding_box()


def at_rest(item: Locator) -> Any:
    """Its box, once the notebook does not move it."""
    steady(item.page, "() => document.querySelector('.jp-WindowedPanel-outer').scrollTop")
    return box(item)


def test_moving_a_slider_and_flipping_requires_grad_changes_the_graph(
    notebook: Open, page: Page, shoot: Shoot
) -> None:
    opened = notebook("explore.ipynb", PROGRAM)
    page.set_viewport_size({"width": 1366, "height": 768})
    opened.run_all()
    widget = opened.widget()
    expect(widget.locator(".gv-badge")).to_have_count(0)
    expect(widget).to_contain_text("Change an input")
    shoot("explore-1366-light-first")

    slider = widget.get_by_role("slider", name="a, slider")
    derivatives = widget.locator(".gradviz-derivative")
    chips = widget.locator(".gradviz-viewport .gv-gradient text")
    expect(slider).to_be_enabled()
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(leaf(widget, "a2.1")).to_have_count(1)
    expect(leaf(widget, "a2.0")).to_have_count(0)
    expect(leaf(widget, "a2.1").locator("text")).to_have_text(["a", "2.1", ".grad 2.356"])
    expect(widget.locator(".gradviz-value")).to_have_text("loss = 4.711")
    expect(derivatives).to_have_text(["∂loss/∂a 2.356", "∂loss/∂b 14.61"])
    assert sorted(chips.all_text_contents()) == ["2.356", "4.711", "4.711", "4.711", "9.894"]
    expect(widget).to_contain_text("a: values 2.0 → 2.1")
    field = widget.get_by_label("a", exact=True)
    expect(field).to_have_value("2.1")
    field.fill("1.5")
    page.keyboard.press("Enter")
    opened.wait_for("explorer.graph.tensor('a').values", "(1.5,)")
    expect(leaf(widget, "a1.5")).to_have_count(1)
    expect(slider).to_have_value("1.5")
    expect(widget).to_contain_text("y is 0.75")
    field.press("ArrowUp")
    expect(leaf(widget, "a1.6")).to_have_count(1)
    field.fill("")
    field.press("Enter")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("1.5")
    field.press("Enter")
    expect(leaf(widget, "a1.5")).to_have_count(1)

    widget.get_by_label("a requires_grad", exact=True).uncheck()
    expect(leaf(widget, "a1.5")).to_have_count(0)
    expect(widget).to_contain_text("gone: leaf a")
    widget.get_by_label("a requires_grad", exact=True).check()
    expect(leaf(widget, "a1.5")).to_have_count(1)
    expect(widget.locator(".gv-leaf.gv-new .gv-badge")).to_have_text("+ new")
    widget.get_by_role("button", name="Legend").click()
    expect(widget.locator(".gradviz-legend")).to_contain_text("+ new since the run before")
    widget.get_by_role("button", name="Legend").click()
    assert axe_violations(page, ".jp-OutputArea-output") == []
    shoot("explore-1366-light")

    widget.get_by_label("detach_here", exact=True).check()
    expect(widget).to_contain_text("gone: leaf a")
    widget.get_by_label("retain_grad", exact=True).check()
    expect(widget).to_contain_text("Nothing changed in the graph since the run before.")

    widget.get_by_role("button", name="Show code").click()
    expect(widget.get_by_label("Python")).to_have_value(opened_code(opened))
    widget.get_by_role("button", name="Reset").click()
    opened.wait_for("explorer.graph.tensor('a').values", "(2.0,)")
    expect(widget.get_by_label("retain_grad", exact=True)).not_to_be_checked()
    shoot("explore-1366-light-code")


def opened_code(opened: Notebook) -> str:
    return str(eval(opened.python("explorer.code")))


@pytest.mark.parametrize("width", [930, 768, 400])
def test_nothing_moves_while_an_answer_is_waited_for(width: int, page: Page, bare: Bare) -> None:
    page.clock.install()
    page.set_viewport_size({"width": width, "height": 780})
    shown = Shown.of(GALLERY["explore"]())
    widget = bare.mount(shown.wire, **shown.traits)
    places = {"first": places_of(widget)}

    def then(state: str, words: str) -> None:
        expect(widget.root.locator(".gradviz-results")).to_contain_text(words)
        places[state] = places_of(widget)

    page.clock.run_for(500)
    then("running", "running")
    page.clock.run_for(3000)
    then("silent", "No answer from Python yet")
    widget.set("answered", widget.get("request")["turn"])
    then("answered", "Change an input")
    widget.unmount()
    widget = bare.mount(shown.wire, **{**shown.traits, "answered": -1})
    then("absent", "this page has no kernel")
    assert set(places.values()) == {places["first"]}, places
    height = widget.root.bounding_box()
    assert height is not None
    assert height["height"] <= TALLEST + 1


def places_of(widget: Widget) -> tuple[tuple[float, ...], ...]:
    """Where the inputs, what the last run left, the graph and the end of the widget are."""
    parts = (".gradviz-inputs", ".gradviz-results", ".gradviz-graph", ".gradviz-foot")
    boxes = [widget.root.locator(part).bounding_box() for part in parts]
    return tuple(
        tuple(round(side, 1) for side in (one["x"], one["y"], one["width"], one["height"]))
        for one in boxes
        if one
    )


def test_a_slider_acts_while_it_is_dragged_and_runs_never_queue_up(
    notebook: Open, page: Page, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    gate = os.open(tmp_path / "gate", os.O_RDWR)
    os.write(gate, b".")
    opened = notebook("slow.ipynb", SLOW.format(gate=str(tmp_path / "gate")))
    page.set_viewport_size({"width": 1366, "height": 768})
    opened.run_all()
    widget = opened.widget()
    slider = widget.get_by_role("slider", name="a, slider")
    expect(slider).to_be_enabled()
    at = at_rest(slider)
    y = at["y"] + at["height"] / 2
    page.mouse.move(at["x"] + 0.7 * at["width"], y)
    page.mouse.down()
    for tenth in range(60):
        page.mouse.move(at["x"] + (0.7 - tenth / 120) * at["width"], y)
    wanted = widget.get_by_label("a", exact=True).input_value()
    os.write(gate, b".")
    expect(widget.locator(".gradviz-changed")).to_contain_text("a: values")  # not yet released
    dragged = leaf(widget, "a").locator("text").nth(1).text_content()
    expect(widget.locator(".gradviz-value")).not_to_have_text("result = 6.0")
    expect(widget.locator(".gradviz-derivative").nth(1)).to_have_text(f"∂result/∂b {dragged}")
    page.mouse.up()
    # One run waited at the gate while all moves came; one more is for what they led to.
    os.write(gate, b".")
    opened.wait_for("runs[-1]", str(float(wanted)))
    assert opened.python("len(runs)") == "3"
    opened.wait_for("explorer.request['turn'] == explorer.answered", "True")
    expect(widget.get_by_label("a", exact=True)).to_have_value(wanted)
    os.close(gate)


@pytest.mark.exhaustive
def test_no_key_reaches_the_notebook_and_all_is_reached_by_keyboard(
    notebook: Open, page: Page
) -> None:
    opened = notebook("keys.ipynb", PROGRAM)
    opened.run_all()
    widget = opened.widget()
    slider = widget.get_by_role("slider", name="a, slider")
    expect(slider).to_be_enabled()
    widget.get_by_label("a", exact=True).focus()
    reached = []
    for _ in range(12):
        reached.append(
            page.evaluate(
                "() => document.activeElement.labels?.[0]?.textContent"
                " || document.activeElement.getAttribute('aria-label')"
                " || document.activeElement.textContent"
            )
        )
        for key in "abdxyzm":
            page.keyboard.press(key)
        for key in ("d", "d", "ArrowDown", "ArrowUp"):
            page.keyboard.press(key)
        page.keyboard.press("Tab")
    assert {"a", "requires_grad", "a, slider", "retain_grad", "Reset", "Show code"} <= {*reached}
    expect(page.locator(".jp-Cell")).to_have_count(1)
    expect(page.locator(".jp-Cell .cm-content")).to_contain_text("gradviz.explore")


def test_without_a_kernel_the_last_run_is_shown_and_why_nothing_can_be_changed(
    page: Page, tmp_path: Path, shoot: Shoot
) -> None:
    explorer = gradviz.explore(lambda a, b: a * b, a=2.0, b=3.0)
    explorer.controls["a"].parts[0].value = 2.5
    explorer.save(tmp_path / "page.html")
    page.goto((tmp_path / "page.html").as_uri())
    widget = page.locator(".gradviz-root[data-ready=true]")
    expect(widget).to_contain_text("this page has no kernel")
    expect(widget.get_by_role("slider")).to_have_count(2)
    for control in widget.locator("fieldset input").all():
        expect(control).to_be_disabled()
    expect(widget.get_by_label("a", exact=True)).to_have_value("2.5")
    expect(leaf(widget, "a2.5")).to_have_count(1)
    expect(widget.locator(".gradviz-value")).to_have_text("result = 7.5")
    expect(widget.locator(".gradviz-derivative")).to_have_text(["∂result/∂a 3.0", "∂result/∂b 2.5"])
    expect(widget.locator(".gradviz-viewport .gv-gradient text")).to_have_text(["3.0", "2.5"])
    expect(widget).to_contain_text("a: values 2.0 → 2.5")
    assert axe_violations(page, ".gradviz-root") == []
    shoot("explore-page")


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [400, 1366])
def test_it_reads_well_narrow_wide_and_dark(
    notebook: Open, page: Page, shoot: Shoot, width: int
) -> None:
    opened = notebook(f"explore{width}.ipynb", PROGRAM)
    opened.command("application:toggle-left-area")
    page.set_viewport_size({"width": width, "height": 1100})
    opened.run_all()
    widget = opened.widget()
    opened.command("apputils:change-theme", {"theme": "JupyterLab Dark"})
    try:
        expect(widget).to_have_attribute("data-theme", "dark")
        widget.get_by_label("retain_grad", exact=True).check()
        expect(widget).to_contain_text("y: retains_grad False → True")
        widget.get_by_label("b requires_grad", exact=True).uncheck()
        expect(widget).to_contain_text("gone: leaf b")
        shoot(f"explore-{width}-dark")
        widget.get_by_label("detach_here", exact=True).check()
        expect(widget).to_contain_text("RuntimeError")
        expect(widget).to_contain_text("The picture shows the last run")
        assert axe_violations(page, ".jp-OutputArea-output") == []
        shoot(f"explore-{width}-dark-error")
    finally:
        opened.command("apputils:change-theme", {"theme": "JupyterLab Light"})
        expect(widget).to_have_attribute("data-theme", "light")
    drawn(page)
    shoot(f"explore-{width}-light-error")
    widget.get_by_role("button", name="Reset").click()
    expect(widget).to_contain_text("new: ")
    shoot(f"explore-{width}-light")
    assert widget.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    inputs, graph = box(widget.locator(".gradviz-inputs")), box(widget.locator(".gradviz-graph"))
    if width > 900:  # beside, else above
        assert inputs["width"] == pytest.approx(299, abs=2)
        assert graph["x"] >= inputs["x"] + inputs["width"] - 1
    else:
        assert graph["y"] >= inputs["y"] + inputs["height"] - 1
    above = box(widget.locator(".gradviz-above"))
    assert above["y"] >= inputs["y"] + inputs["height"] - 1
    if width > 900:  # below the inputs, beside the graph
        assert above["x"] + above["width"] <= graph["x"] + 1
    else:
        assert above["y"] + above["height"] <= graph["y"] + 1
    small = widget.locator(":is(.gradviz-switch, .gradviz-inputs input, .gradviz-inputs button)")
    sizes = [box(one) for one in small.all() if one.get_attribute("type") != "checkbox"]
    assert [one for one in sizes if one["width"] < 24 or one["height"] < 24] == []
