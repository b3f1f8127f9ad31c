from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import FloatRect, expect

from tests.browser.bare import Bare, Widget, axe_violations, picture_faults
from tests.browser.conftest import Shoot

pytestmark = pytest.mark.browser


def box(widget: Widget, item: str) -> FloatRect:
    found = widget.node(item).locator("rect").first.bounding_box()
    assert found is not None
    return found


def tall(wire: dict[str, Any]) -> dict[str, Any]:
    """The same picture, four times as large."""
    size = 'viewBox="0 0 520 520" width="520" height="520"'
    large = 'viewBox="0 0 2080 2080" width="2080" height="2080"'
    svg = picture_of(wire).replace(size, large)
    svg = svg.replace("</style>", '</style><g transform="scale(4)">').replace(
        "</svg>", "</g></svg>"
    )
    return {**wire, "pictures": {"normal": svg}}


def picture_of(wire: dict[str, Any]) -> str:
    return str(wire["pictures"][wire["density"]])


def test_a_small_graph_is_shown_whole_at_its_own_size(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire)
    widget.open("More tools")
    assert widget.button("100 %, zoom to 100 %").is_visible()
    window = widget.root.locator(".gradviz-viewport").bounding_box()
    assert window is not None
    for item in ("n0", "n3", "n4"):
        card = box(widget, item)
        assert window["x"] <= card["x"]
        assert card["x"] + card["width"] <= window["x"] + window["width"]
        assert window["y"] <= card["y"]
        assert card["y"] + card["height"] <= window["y"] + window["height"]


def test_a_click_selects_and_escape_clears(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire)
    widget.node("n2").click()
    assert widget.saved("selected") == ["n2"]
    details = widget.root.get_by_role("group", name="Details", exact=True)
    expect(details).to_contain_text("held · saved v0, now v0")
    bare.page.keyboard.press("Escape")
    assert widget.saved("selected") == ["n2", ""]
    expect(details).to_be_hidden()
    bare.page.keyboard.press("i")
    expect(details).to_contain_text("5 nodes, 2 leaves")
    bare.page.keyboard.press("i")
    expect(details).to_be_hidden()


def test_a_click_beside_everything_selects_nothing(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire, selected="n2")
    widget.root.locator(".gradviz-viewport").click(position={"x": 5, "y": 5})
    assert widget.get("selected") == ""


def test_the_selected_card_keeps_its_words(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire, selected="n2")
    fill = widget.node("n2").locator(".gradviz-ring").evaluate("e => getComputedStyle(e).fill")
    assert fill == "none"


def test_dragging_moves_a_large_picture_and_selects_nothing(bare: Bare, wire: Any) -> None:
    widget = bare.mount(tall(wire))
    widget.node("n2").focus()
    bare.page.keyboard.press("+")
    before = box(widget, "n2")
    mouse = bare.page.mouse
    x, y = 300, 300
    mouse.move(x, y)
    mouse.down()
    mouse.move(x - 30, y - 40, steps=4)
    mouse.up()
    after = box(widget, "n2")
    assert after["x"] - before["x"] == pytest.approx(-30, abs=1)
    assert after["y"] - before["y"] == pytest.approx(-40, abs=1)
    assert widget.saved("selected") == []


def test_buttons_and_arrow_keys_move_what_dragging_moves(bare: Bare, wire: Any) -> None:
    widget = bare.mount(tall(wire))
    widget.open("More tools")
    widget.button("Zoom in").click()
    before = box(widget, "n2")
    widget.button("Move the window right").click()
    assert box(widget, "n2")["x"] < before["x"]
    bare.page.keyboard.press("ArrowDown")
    assert box(widget, "n2")["y"] < before["y"]
    assert widget.focused == "Move the window down"


def test_zoom_by_buttons_keys_and_wheel_with_ctrl_only(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire)
    size = box(widget, "n1")["width"]
    widget.open("More tools")
    widget.button("Zoom in").click()
    assert box(widget, "n1")["width"] == pytest.approx(size * 1.25, rel=0.01)
    widget.button("Fit").click()
    assert box(widget, "n1")["width"] == pytest.approx(size, rel=0.01)
    widget.node("n1").focus()
    bare.page.keyboard.press("-")
    assert box(widget, "n1")["width"] < size
    bare.page.keyboard.press("1")
    assert box(widget, "n1")["width"] == pytest.approx(size, rel=0.01)
    bare.page.keyboard.press("0")
    assert box(widget, "n1")["width"] == pytest.approx(size, rel=0.01)
    widget.node("n1").hover()
    bare.page.mouse.wheel(0, 100)
    assert box(widget, "n1")["width"] == pytest.approx(size, rel=0.01)
    bare.page.keyboard.down("Control")
    bare.page.mouse.wheel(0, -100)
    bare.page.keyboard.up("Control")
    assert box(widget, "n1")["width"] > size


def test_the_wheel_scrolls_the_page_over_a_graph(bare: Bare, wire: Any) -> None:
    bare.page.set_viewport_size({"width": 800, "height": 300})
    widget = bare.mount(wire)
    widget.root.locator(".gradviz-viewport").hover()
    bare.page.mouse.wheel(0, 120)
    bare.page.wait_for_function("() => scrollY > 50")


def test_everything_by_keyboard(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire)
    press = bare.page.keyboard.press
    stops = []
    for _ in range(4):
        press("Tab")
        stops.append(widget.focused)
    assert stops == ["Legend", "", "compact", "n0"]
    path = []
    for key in ("Up", "Up", "Right", "Down", "Up", "Right"):
        press(f"Arrow{key}")
        path.append(widget.focused)
    assert path == ["n1", "n2", "n3", "n1", "n3", "n3"]
    press("ArrowUp")
    assert widget.focused == "n3"
    assert widget.said == "nothing further towards the inputs"
    press("Enter")
    assert widget.saved("selected") == ["n3"]
    assert widget.said.startswith("selected: b, leaf")
    expect(widget.root.get_by_role("group", name="Details", exact=True)).to_be_visible()
    press("Home")
    assert widget.focused == "n0"
    press("e")
    assert widget.get("engine_arrows") is True
    press("/")
    bare.page.keyboard.type("mm")
    press("Enter")
    assert widget.get("selected") == "n2"
    assert widget.said == "match 1 of 1: MmBackward0"


def test_keys_that_are_handled_do_not_reach_the_page(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire)
    bare.page.evaluate(
        "() => { window.heard = []; document.addEventListener('keydown', e => heard.push(e.key)); }"
    )
    widget.node("n0").focus()
    for key in ("ArrowUp", "Enter", "Escape", "+", "0", "b"):
        bare.page.keyboard.press(key)
    assert bare.page.evaluate("() => heard") == ["b"]


def test_the_keys_are_listed_under_question_mark(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire)
    widget.node("n1").focus()
    bare.page.keyboard.press("?")
    dialog = widget.root.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    assert widget.focused == "Close"
    bare.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert widget.focused == "n1"


def test_the_toolbar_is_walked_with_arrows(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire)
    widget.button("Fit").focus()
    seen = []
    for _ in range(4):
        bare.page.keyboard.press("ArrowRight")
        seen.append(widget.focused)
    assert seen == ["Copy or save", "Full screen", "More tools", "compact"]
    bare.page.keyboard.press("End")
    bare.page.keyboard.press("Enter")
    assert widget.focused == "Zoom out"
    others = widget.root.get_by_role("group", name="More tools")
    expect(others.get_by_role("button")).to_have_count(10)
    bare.page.keyboard.press("Escape")
    expect(others).to_be_hidden()
    assert widget.focused == "More tools"


def test_the_outline_has_the_same_facts_and_selects(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire)
    widget.button("Legend").focus()
    bare.page.keyboard.press("ArrowRight")
    bare.page.keyboard.press("Enter")
    table = widget.root.get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(len(wire["outline"]["rows"]) + 1)
    for row in wire["outline"]["rows"]:
        for cell in row["cells"]:
            expect(table).to_contain_text(cell)
    table.get_by_role("button", name="n0", exact=True).focus()
    bare.page.keyboard.press("ArrowDown")
    bare.page.keyboard.press("Enter")
    assert widget.get("selected") == "n1"
    table.get_by_role("cell", name="z, not a leaf").click()
    assert widget.get("selected") == "t2"


def test_a_row_that_the_focus_reaches_is_in_sight_below_the_heads(bare: Bare, wire: Any) -> None:
    rows = [f"n{number}" for number in range(24)]
    listed = [{"id": row, "cells": [row, "MulBackward0"]} for row in rows]
    widget = bare.mount({**wire, "outline": {"columns": ["id", "name"], "rows": listed}})
    widget.open("Outline")
    table = widget.root.locator(".gradviz-outline")
    assert table.evaluate("e => e.scrollHeight > e.clientHeight + 40")
    widget.button(rows[0]).focus()
    bare.page.keyboard.press("End")
    for row in reversed(rows):
        assert widget.focused == row
        above, below = table.evaluate(
            """e => {
              const [frame, head, row] = [e, e.querySelector("thead th"), document.activeElement
                .closest("tr")].map((one) => one.getBoundingClientRect());
              return [row.top - head.bottom, frame.bottom - row.bottom];
            }"""
        )
        assert above >= -1
        assert below >= -1
        bare.page.keyboard.press("ArrowUp")


def test_an_open_panel_does_not_move_the_page_and_covers_no_card(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire)
    height = widget.root.bounding_box()
    for name in ("Legend", "Outline"):
        panel = widget.open(name)
        assert widget.root.bounding_box() == height
        window = widget.root.locator(".gradviz-viewport").bounding_box()
        place = panel.bounding_box()
        assert window is not None
        assert place is not None
        assert window["y"] + window["height"] <= place["y"] + 1
    bare.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    assert widget.focused == "Outline"


def test_the_tooltip_shows_on_hover_and_focus_stays_and_closes(bare: Bare, wire: Any) -> None:
    bare.page.clock.install()
    widget = bare.mount(wire)
    tip = widget.root.locator(".gradviz-tooltip")
    widget.node("n2").hover()
    expect(tip).to_contain_text("self = x @v0")
    tip.hover()
    bare.page.clock.run_for(2000)
    expect(tip).to_be_visible()
    bare.page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    widget.node("n0").focus()
    bare.page.keyboard.press("ArrowUp")
    expect(tip).to_contain_text("AddBackward0")


def test_engine_arrows_turn_every_head(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire)
    data, engine = (widget.root.locator(f".gv-edge .gv-head-{k}").first for k in ("data", "engine"))
    expect(data).to_be_visible()
    expect(engine).to_be_hidden()
    widget.open("More tools")
    widget.button("Engine arrows").click()
    expect(data).to_be_hidden()
    expect(engine).to_be_visible()
    assert widget.saved("engine_arrows") == [True]


def test_changes_made_in_python_are_shown(bare: Bare, wire: Any) -> None:
    widget = bare.mount(wire)
    widget.set("selected", "n4")
    expect(widget.root.get_by_role("group", name="Details", exact=True)).to_contain_text("w")
    widget.set("height", 333)
    frame = widget.root.locator(".gradviz-frame").bounding_box()
    assert frame is not None
    assert frame["height"] == 333
    widget.set("theme", "dark")
    expect(widget.root).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize("form", ["SVG", "PNG", "text", "JSON"])
def test_the_graph_is_saved(bare: Bare, wire: Any, form: str) -> None:
    widget = bare.mount(wire)
    widget.button("Copy or save").click()
    with bare.page.expect_download() as download:
        widget.root.get_by_role("menuitem", name=f"save as {form}").click()
    suffix = {"text": "txt"}.get(form, form.lower())
    assert download.value.suggested_filename == f"autograd-graph-of-loss.{suffix}"
    content = download.value.path().read_bytes()
    if form == "PNG":
        width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
        assert (width, height) == (1040, 1040)
    else:
        text = {"SVG": picture_of(wire), "text": wire["text"], "JSON": wire["json"]}[form]
        assert content.decode() == text
    expect(widget.root.get_by_role("status")).to_have_text(f"saved as {form}")
    assert widget.focused == "Copy or save"


def test_the_graph_is_copied(bare: Bare, wire: Any) -> None:
    bare.page.evaluate(
        "() => { window.ClipboardItem ??= class {"
        " constructor(parts) { this.getType = (type) => parts[type]; } };"
        " Object.defineProperty(navigator, 'clipboard', { value: {"
        " writeText: async (t) => { window.copied = t; },"
        " write: async ([item]) => {"
        " window.copied = (await item.getType('image/png')).size; } } }) }"
    )
    widget = bare.mount(wire)
    for form in ("SVG", "text", "PNG"):
        widget.button("Copy or save").click()
        widget.root.get_by_role("menuitem", name=f"copy as {form}").click()
        expect(widget.root.get_by_role("status")).to_have_text(f"copied as {form}")
        copied = bare.page.evaluate("() => window.copied")
        assert copied > 1000 if form == "PNG" else copied in (picture_of(wire), wire["text"])


def test_a_refused_copy_is_said(bare: Bare, wire: Any) -> None:
    bare.page.evaluate("() => Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    widget = bare.mount(wire)
    widget.button("Copy or save").click()
    widget.root.get_by_role("menuitem", name="copy as text").click()
    expect(widget.root.get_by_role("status")).to_contain_text("could not copy")


def test_two_widgets_do_not_disturb_each_other(bare: Bare, wire: Any) -> None:
    one, two = bare.mount(wire, "one"), bare.mount(wire, "two", selected="n1")
    ids = bare.page.evaluate("() => [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    one.node("n3").click()
    one.open("Outline")
    bare.page.keyboard.press("Escape")
    assert two.get("selected") == "n1"
    assert two.node("n1").is_visible()
    one.set("theme", "dark")
    expect(two.root).to_have_attribute("data-theme", "light")


def test_a_view_that_ends_leaves_no_listener(bare: Bare, wire: Any) -> None:
    bare.mount(wire)
    counts = bare.page.evaluate(
        "() => { const before = models.one.model.count(); models.one.abort.abort();"
        " return [before, models.one.model.count()]; }"
    )
    assert counts[0] > 0
    assert counts[1] == 0


def test_hostile_words_stay_words(bare: Bare, wire: Any) -> None:
    evil = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
    text = json.dumps(wire)
    for word in ("MmBackward0", "AddBackward0", "autograd graph of loss"):
        text = text.replace(word, "EVIL")
    hostile = json.loads(text, object_hook=lambda d: {k: _put(v, evil) for k, v in d.items()})
    hostile["pictures"]["normal"] = picture_of(wire).replace(
        "</svg>",
        "<script>window.hacked=1</script><image href='x' onerror='window.hacked=1'/>"
        "<foreignObject><img xmlns='http://www.w3.org/1999/xhtml' src='x' onerror='hacked=1'/>"
        "</foreignObject><g onclick='window.hacked=1' data-id='n9' onfocus='window.hacked=1'>"
        "<rect width='9' height='9'/></g></svg>",
    )
    widget = bare.mount(hostile, selected="n2")
    widget.open("Outline")
    expect(widget.root.get_by_role("table")).to_contain_text(evil)
    assert bare.page.locator("img, script, foreignObject, image").count() == 0
    assert bare.page.evaluate("() => window.hacked") is None


def _put(value: Any, evil: str) -> Any:
    if isinstance(value, str):
        return value.replace("EVIL", evil)
    return [_put(entry, evil) for entry in value] if isinstance(value, list) else value


def test_an_error_leaves_picture_and_text(bare: Bare, wire: Any, shoot: Shoot) -> None:
    widget = bare.mount({**wire, "outline": None}, wait=False)
    expect(widget.root).to_contain_text('the field "outline" of this picture is damaged')
    expect(widget.root.get_by_role("img", name=wire["summary"])).to_be_visible()
    expect(widget.root).to_contain_text("n0 BinaryCrossEntropyBackward0")
    shoot("bare-error")
    assert axe_violations(bare.page, "#one") == []


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.exhaustive), "dark"])
def test_axe_finds_nothing_wrong(bare: Bare, wire: Any, theme: str) -> None:
    if theme == "dark":
        bare.page.evaluate("() => { document.body.style.background = '#111'; }")
    widget = bare.mount(tall(wire), theme=theme, selected="n2")
    widget.root.get_by_label("Find in the graph").fill("mm")
    assert axe_violations(bare.page, "#one") == []
    widget.button("Copy or save").click()
    assert axe_violations(bare.page, "#one") == []
    bare.page.keyboard.press("Escape")
    for name in ("Outline", "Legend", "More tools"):
        widget.open(name)
        assert axe_violations(bare.page, "#one") == []
    widget.button("Keys").click()
    assert axe_violations(bare.page, "#one") == []


@pytest.mark.parametrize("width", [320, 1000])
def test_every_target_is_at_least_24_pixels(bare: Bare, wire: Any, width: int) -> None:
    bare.page.set_viewport_size({"width": width, "height": 800})
    widget = bare.mount(tall(wire), selected="n2")
    widget.button("Copy or save").click()
    widget.button("More tools").evaluate("e => e.click()")
    small = bare.page.evaluate(
        "() => [...document.querySelectorAll('button, input, summary')]"
        ".filter((e) => e.checkVisibility({ visibilityProperty: true }))"
        ".map((e) => [e.outerHTML, e.getBoundingClientRect()])"
        ".filter(([, b]) => b.width < 24 || b.height < 24).map(([h]) => h)"
    )
    assert small == []


def test_it_reflows_at_320_pixels(bare: Bare, wire: Any, shoot: Shoot) -> None:
    bare.page.set_viewport_size({"width": 320, "height": 900})
    widget = bare.mount(wire, selected="n2")
    assert bare.page.evaluate("() => document.documentElement.scrollWidth") <= 320
    details = widget.root.get_by_role("group", name="Details", exact=True).bounding_box()
    assert details is not None
    assert box(widget, "n2")["y"] + box(widget, "n2")["height"] <= details["y"]
    shoot("bare-320")
    widget.open("Outline")
    assert bare.page.evaluate("() => document.documentElement.scrollWidth") <= 320
    shoot("bare-320-outline")


def test_it_follows_the_page_and_the_system(bare: Bare, wire: Any) -> None:
    page = bare.page
    widget = bare.mount(wire)
    expect(widget.root).to_have_attribute("data-theme", "light")
    page.emulate_media(color_scheme="dark")
    expect(widget.root).to_have_attribute("data-theme", "dark")
    page.evaluate("() => document.body.setAttribute('data-jp-theme-light', 'true')")
    expect(widget.root).to_have_attribute("data-theme", "light")
    page.evaluate("() => document.body.setAttribute('data-jp-theme-light', 'false')")
    expect(widget.root).to_have_attribute("data-theme", "dark")


def test_forced_colours_leave_marks_visible(bare: Bare, wire: Any, shoot: Shoot) -> None:
    bare.page.emulate_media(forced_colors="active")
    widget = bare.mount(wire, selected="n2")
    ring = widget.node("n2").locator(".gradviz-ring")
    assert ring.evaluate("e => getComputedStyle(e).display") == "inline"
    shoot("bare-forced-colours")


@pytest.mark.parametrize(("theme", "background"), [("light", "#fff"), ("dark", "#111")])
def test_nothing_is_cut_or_covered(
    bare: Bare, wire: Any, shoot: Shoot, theme: str, background: str
) -> None:
    page = bare.page
    page.evaluate("(colour) => { document.body.style.background = colour; }", background)
    widget = bare.mount(wire, theme=theme)

    def look(name: str) -> None:
        shoot(f"bare-{theme}{name}")
        assert picture_faults(page) == []

    look("")
    widget.set("selected", "n2")
    look("-selected")
    widget.open("Outline")
    look("-outline")
    widget.button("Outline").click()
    page.set_viewport_size({"width": 1200, "height": 800})
    widget.root.get_by_label("Find in the graph").fill("backward")
    look("-find")
    widget.open("More tools")
    widget.button("Keys").click()
    look("-keys")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("n1.querySelector('text').textContent += ' and much more than there is room for'", "n1: "),
        (
            "n1.querySelector('rect').replaceWith(n2.querySelector('rect').cloneNode())",
            "n1 covers n2",
        ),
        ("document.body.style.width = '2000px'", "wider than the window"),
        (
            "one.querySelector('[id$=tab-outline]').style = 'width: 9px; overflow: hidden'",
            "is cut",
        ),
    ],
)
def test_what_is_cut_or_covered_is_found(bare: Bare, wire: Any, change: str, fault: str) -> None:
    bare.mount(wire)
    bare.page.evaluate(
        "(change) => { const [n1, n2] = ['n1', 'n2'].map((id) => document.querySelector("
        "`.gradviz-viewport [data-id=${id}]`)); new Function('n1', 'n2', change)(n1, n2); }",
        change,
    )
    assert any(fault in found for found in picture_faults(bare.page))
