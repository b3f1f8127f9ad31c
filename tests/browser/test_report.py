"""Reports in the built bundle: tables that sort, and rows that go with the picture."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Locator, expect

from gradviz.view.widgets.report import ReportWidget
from tests.browser.bare import Bare, Widget, axe_violations
from tests.browser.conftest import Shoot
from tests.view.reports import FIGURE, MadeUp, Still

pytestmark = pytest.mark.browser


@pytest.fixture
def report(bare: Bare) -> Widget:
    wire: dict[str, Any] = json.loads(
        json.dumps(ReportWidget(MadeUp(), figures=(("Icicle", FIGURE),)).wire)
    )
    return bare.mount(wire)


def names(report: Widget) -> list[str]:
    heads = report.root.locator(".gradviz-report-table tbody th")
    return [text.split()[0] for text in heads.all_inner_texts()]


def test_a_table_is_sorted_and_a_row_selects_its_node_by_keyboard(report: Widget) -> None:
    page = report.page
    report.button("parameter").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert names(report) == ["b", "a", "c", "frozen"]
    assert report.said == "sorted by kept: largest first"
    expect(report.root.get_by_role("columnheader", name="kept")).to_have_attribute(
        "aria-sort", "descending"
    )
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert report.focused == "a"
    assert report.get("selected") == "n3"
    assert "is-selected" in str(report.node("n3").get_attribute("class"))
    report.node("n2").click()
    pressed = report.root.locator(".gradviz-report-table [aria-pressed=true]")
    assert pressed.all_inner_texts() == ["c"]


def test_axe_finds_nothing_wrong_wide_and_narrow(report: Widget, shoot: Shoot) -> None:
    page = report.page
    wrong = axe_violations(page, "#one")
    page.evaluate("() => { document.body.style.background = '#111'; }")
    report.set("theme", "dark")
    report.button("norm").click()
    wrong += axe_violations(page, "#one")
    shoot("report-dark")
    page.set_viewport_size({"width": 320, "height": 900})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    wrong += axe_violations(page, "#one")
    small = report.root.locator("button:visible").evaluate_all(
        "all => all.map((e) => [e.textContent, e.getBoundingClientRect()])"
        ".filter(([, box]) => box.width && (box.width < 24 || box.height < 24))"
    )
    assert (wrong, small) == ([], [])
    shoot("report-320")


def test_a_figure_is_never_cut_and_its_words_keep_a_size(bare: Bare) -> None:
    wide: Any = Still(FIGURE.text.replace('viewBox="0 0 ', 'viewBox="0 0 7', 1))
    wire = json.loads(json.dumps(ReportWidget(MadeUp(), figures=(("Curve", wide),)).wire))
    page, report = bare.page, bare.mount(wire)
    figure = report.root.locator(".gradviz-figure")
    for width in (700, 1000, 1200, 1500):
        page.set_viewport_size({"width": width, "height": 900})
        hidden = figure.evaluate("(e) => e.scrollWidth - e.clientWidth")
        drawn = figure.locator("> svg").evaluate("(e) => e.getBoundingClientRect().width")
        assert (hidden, drawn >= 560) == (0, True), width
    tables = report.root.locator(".gradviz-sections")
    left, right = (box["x"] for box in map(_box, tables.all()))
    assert right > left + 560


def _box(item: Locator) -> Any:
    return item.bounding_box()
