"""Reports in the built bundle: tables that sort, and rows that go with the picture."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import torch
from playwright.sync_api import Locator, expect

import gradviz
from gradviz.model.report import Block, Column, Table
from gradviz.view.widgets.report import ReportWidget
from tests.browser.bare import Bare, Widget, axe_violations
from tests.browser.conftest import Shoot
from tests.view.reports import FIGURE, MadeUp, Still, tables_of

pytestmark = pytest.mark.browser

TWO_FRAMES = "() => new Promise((d) => requestAnimationFrame(() => requestAnimationFrame(d)))"
"""After those the page has seen its new size."""


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


def test_sentences_table_and_picture_are_side_by_side_where_there_is_room(bare: Bare) -> None:
    page = bare.page
    report = bare.mount(json.loads(json.dumps(ReportWidget(MadeUp()).wire)))
    for width in (946, 1046, 1366):
        page.set_viewport_size({"width": width, "height": 768})
        page.evaluate(TWO_FRAMES)
        left, right = _box(report.root.locator(".gradviz-report")), _box(graph_of(report))
        assert right["x"] >= left["x"] + left["width"] - 1
        assert 430 <= left["width"] < right["width"]
        row = report.root.locator(".gradviz-report-table tbody tr").first
        assert row.evaluate("(e) => getComputedStyle(e).display") == "table-row"
        assert _box(report.root)["height"] <= 620
        assert right["height"] > 300
    page.set_viewport_size({"width": 400, "height": 768})
    page.evaluate(TWO_FRAMES)
    above, below = _box(report.root.locator(".gradviz-report")), _box(graph_of(report))
    assert below["y"] >= above["y"] + above["height"] - 1
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400


def test_a_long_table_scrolls_inside_and_a_report_without_a_picture_has_no_empty_canvas(
    bare: Bare,
) -> None:
    page = bare.page
    page.set_viewport_size({"width": 1046, "height": 768})
    wire = json.loads(json.dumps(ReportWidget(MadeUp()).wire))
    (table,) = tables_of(wire)
    row = {**table["rows"][0], "id": ""}
    names = [{"text": f"layer{i}.weight", "sort": f"layer{i}"} for i in range(80)]
    long = {**table, "rows": [{**row, "cells": [name, *row["cells"][1:]]} for name in names]}
    report = bare.mount({**wire, "parts": [long]})
    assert _box(report.root)["height"] <= 620
    rows = report.root.locator(".gradviz-report-table")
    assert rows.evaluate("(e) => e.scrollHeight - e.clientHeight") > 500
    plain = bare.mount({**wire, "svg": "", "picture": None, "legend": []}, name="two")
    expect(plain.root.locator(".gradviz-stage")).to_be_hidden()
    assert _box(plain.root)["height"] < 500


def graph_of(report: Widget) -> Locator:
    return report.root.locator(".gradviz-graph")


CONTRAST = """
(root) => {
  const rgb = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (colour) => {
    const [r, g, b] = rgb(colour).map((one) => {
      const share = one / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const all = [...root.querySelectorAll(".gradviz-viewport svg :is(rect, path, text)")];
  all.forEach((text, place) => {
    if (text.tagName !== "text" || !text.textContent.trim()) return;
    const box = text.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    let ground = getComputedStyle(root).getPropertyValue("--sunken");
    ground = ground.replace(/^#(..)(..)(..)$/, (_, ...parts) =>
      `rgb(${parts.slice(0, 3).map((part) => parseInt(part, 16)).join(",")})`);
    for (const under of all.slice(0, place)) {
      const { fill } = getComputedStyle(under);
      const area = under.getBoundingClientRect();
      const holds = area.left <= x && x <= area.right && area.top <= y && y <= area.bottom;
      if (under.tagName !== "text" && fill !== "none" && holds) ground = fill;
    }
    const spans = [...text.querySelectorAll("tspan")];
    for (const part of spans.length ? spans : [text]) {
      const [low, high] = [light(getComputedStyle(part).fill), light(ground)].sort((a, b) => a - b);
      const ratio = (high + 0.05) / (low + 0.05);
      found.push([ratio, part.textContent]);
    }
  });
  return found;
}
"""


def compared() -> ReportWidget:
    x, w = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    return gradviz.compare((w * x).sum(), (w + x).mean())


def audited() -> ReportWidget:
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    hidden = model[1](model[0](torch.ones(16, 3))).detach()
    return gradviz.audit(model[2](hidden).mean(), model)


def explored() -> gradviz.teach.explorer.Explorer:
    explorer = gradviz.explore(lambda a, b: (a * b).exp() + a, a=2.0, b=3.0)
    explorer.controls["a"].parts[0].value = 2.5
    explorer.controls["b"].parts[1].value = False
    return explorer


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("make", [MadeUp, compared, audited, explored])
def test_every_word_in_a_picture_with_marks_can_be_read(
    bare: Bare, make: Any, theme: str, shoot: Shoot
) -> None:
    made = ReportWidget(make()) if make is MadeUp else make()
    shown = bare.mount(json.loads(json.dumps(made.wire)), theme=theme)
    found = shown.root.evaluate(CONTRAST)
    assert len(found) > 8
    assert [one for one in found if one[0] < 4.5] == []
    shoot(f"contrast-{make.__name__}-{theme}")


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
        assert _box(report.root)["height"] <= 620 or width < 900
    left, right = _box(figure), _box(graph_of(report))
    assert right["x"] > left["x"] + 560


def _box(item: Locator) -> Any:
    return item.bounding_box()


def test_rows_in_blocks_open_by_keyboard_and_axe_finds_nothing_wrong(
    bare: Bare, shoot: Shoot
) -> None:
    columns = (Column("node"), Column("bytes", "bytes"))
    rows = tuple((f"h.{i}.weight", 10 * i) for i in range(6))
    layers = Block(("h.1 … h.5 ×5", 150), (5, 4, 3, 2, 1))
    table = Table("kept", columns, rows, ("n1",) * 6, (Block(("total", 150), (layers, 0), True),))
    report = bare.mount(json.loads(json.dumps(ReportWidget(MadeUp(tables=(table,))).wire)))
    grid = report.root.get_by_role("treegrid")
    shown = grid.locator("tbody tr")
    report.button("total").focus()
    for key, count in (("ArrowRight", 3), ("ArrowRight", 8), ("Enter", 3), ("Enter", 8)):
        report.page.keyboard.press(key)
        expect(shown).to_have_count(count)
    expect(grid.get_by_role("row", expanded=True)).to_have_count(2)
    assert report.focused == "h.1 … h.5 ×5"
    wrong = axe_violations(report.page, "#one")
    shoot("report-blocks")
    report.page.set_viewport_size({"width": 400, "height": 900})
    assert report.page.evaluate("() => document.documentElement.scrollWidth") <= 400
    assert wrong + axe_violations(report.page, "#one") == []
    report.button("Close all").click()
    expect(shown).to_have_count(3)
