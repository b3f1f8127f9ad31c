"""Recordings in the built bundle: what is stepped through in the browser is what Python draws."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import torch
from playwright.sync_api import Page, expect

import gradviz
from gradviz.view.widgets.player import Player
from tests.browser.bare import Bare, Widget, axe_violations
from tests.browser.conftest import Shoot
from tests.browser.gallery import write_in_place
from tests.view.recordings import animation_of

pytestmark = pytest.mark.browser


def product() -> gradviz.Recording:
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    c = torch.tensor(1.0, requires_grad=True)
    with gradviz.record() as recording:
        out1 = a * b
        out1.retain_grad()
        out2 = out1 + c
        a.register_hook(torch.neg)
        out2.backward()
        a.grad = None
    return recording


def training() -> gradviz.Recording:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.tensor([0, 1, 0, 1, 1])
    with gradviz.record() as recording:
        for _ in range(2):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return recording


def turns() -> gradviz.Recording:
    w = torch.tensor(2.0, requires_grad=True)
    total = torch.tensor(0.0)
    with gradviz.record() as recording:
        for i in range(3):
            total = total + w * float(i)
        total.backward(retain_graph=True, create_graph=False)
    return recording


PROGRAMS = {"product": product, "training": training, "spoilt": write_in_place}
QUICK = ("training", "dark")
NAMES_AND_THEMES = [
    pytest.param(name, theme, marks=() if (name, theme) == QUICK else pytest.mark.exhaustive)
    for name in PROGRAMS
    for theme in ("light", "dark")
]


@cache
def recorded(name: str) -> gradviz.Recording:
    return PROGRAMS[name]()


@cache
def turns_wire() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(Player(turns()).wire))
    return document


@cache
def wire_text(name: str) -> str:
    return json.dumps(Player(recorded(name)).wire)


def wire_of(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(wire_text(name))
    return document


def where(widget: Widget) -> str:
    return widget.root.locator(".gradviz-where strong").inner_text()


# Elements as data. What only the widget adds is left out: focus, marks, rings, the prefix of ids,
# and the titles, which it shows itself.
_PLAIN = """
(source) => {
  const own = /^(tabindex|data-lm-suppress-shortcuts|style|xmlns)$/;
  const plain = (e) => [
    e.localName,
    [...e.attributes].filter(({ name }) => !own.test(name)).map(({ name, value }) => {
      const said = value.replace(/^gradviz-[a-z0-9]+-gv/, "gv")
        .split(" ").filter((word) => !word.startsWith("is-")).join(" ");
      return `${name}=${said}`;
    }).sort(),
    [...e.childNodes].filter((c) => !["title", "style"].includes(c.localName)
      && !/gradviz-(ring|ghost|unfolded)/.test(c.getAttribute?.("class") ?? "")
      && c.textContent !== "\\n")
      .map((c) => c.nodeType === 1 ? plain(c) : c.textContent),
  ];
  const svg = source
    ? new DOMParser().parseFromString(source, "image/svg+xml").documentElement
    : document.querySelector(".gradviz-viewport > svg");
  return JSON.stringify(plain(svg));
}
"""

# The whole widget but for what it last said.
_EVERYTHING = """
() => {
  const copy = document.querySelector(".gradviz-root").cloneNode(true);
  copy.querySelector("[role=status]").remove();
  for (const e of copy.querySelectorAll("*")) {
    if (e.getAttribute("class") === "") e.removeAttribute("class");
    const sorted = [...e.attributes].map(({ name, value }) => [name, value]).sort();
    for (const [name] of sorted) e.removeAttribute(name);
    for (const [name, value] of sorted) e.setAttribute(name, value);
  }
  return copy.innerHTML;
}
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_step_shows_the_elements_of_pythons_picture(bare: Bare, name: str) -> None:
    recording = recorded(name)
    animation = animation_of(recording)
    bare.mount(wire_of(name), detail=True, step=0)
    for step in [*range(len(recording.records)), 3, 0]:
        number = recording.numbers.number(step)
        bare.page.evaluate("(step) => models.one.model.set('step', step)", number)
        shown = json.loads(bare.page.evaluate(_PLAIN, None))
        drawn = json.loads(bare.page.evaluate(_PLAIN, animation.svg(step)))
        assert shown == drawn, f"step {step}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_stepping_to_the_end_and_back_leaves_no_trace(bare: Bare, name: str) -> None:
    bare.page.set_viewport_size({"width": 2600, "height": 2000})
    widget = bare.mount(wire_of(name), step=0, detail=True, height=1600)
    before = bare.page.evaluate(_EVERYTHING)
    slider = widget.root.get_by_role("slider", name="Step")
    slider.focus()
    for key in ["ArrowRight"] * (len(recorded(name)) - 1) + ["ArrowLeft"] * len(recorded(name)):
        bare.page.keyboard.press(key)
    assert widget.get("step") == 0
    assert bare.page.evaluate(_EVERYTHING) == before


def test_facts_of_each_step_are_in_the_table_and_the_outline(bare: Bare) -> None:
    recording = recorded("product")
    widget = bare.mount(wire_of("product"), detail=True)
    table = widget.open("Tensors").get_by_role("table")
    outline = widget.root.locator(".gradviz-outline")
    for step in recording.all_steps:
        widget.set("step", step.number)
        widget.open("Tensors")
        expect(table.locator("tbody tr")).to_have_count(len(step.tensors))
        for info in step.tensors:
            row = table.locator(f"tr[data-row={info.id}]").inner_text()
            assert {str(info.requires_grad), str(info.version)} <= set(row.split()), step
        widget.open("Outline")
        rows = outline.locator("tr").evaluate_all("all => all.map(row => row.dataset.row)")
        assert {node.id for node in step.graph.nodes} <= set(rows), step


def test_an_error_opens_at_the_step_that_raised(bare: Bare, shoot: Shoot) -> None:
    widget = bare.mount(wire_of("spoilt"))
    line = widget.root.locator("[aria-current=step]")
    expect(line).to_contain_text("y.backward()")
    expect(line).to_contain_text("raised")
    expect(widget.root.locator(".gradviz-caption")).to_contain_text("RuntimeError")
    bare.page.keyboard.press("Tab")
    bare.page.keyboard.press("i")
    details = widget.root.get_by_role("group", name="Details", exact=True)
    expect(details).to_contain_text("MulBackward0")
    bare.page.keyboard.press("Home")
    assert where(widget).startswith("step 0 of")
    widget.button("Jump to error").click()
    assert widget.get("step") == recorded("spoilt").at_error.number  # type: ignore[union-attr]
    shoot("player-error")


def test_an_explanation_leads_to_its_culprit_and_back(bare: Bare, shoot: Shoot) -> None:
    widget = bare.mount(wire_of("spoilt"))
    card = widget.root.locator(".gradviz-card")
    expect(card).to_contain_text("saved tensor written")
    culprit = widget.button("To the culprit")
    culprit.press("Enter")
    expect(widget.root.locator(".gradviz-line.is-culprit")).to_contain_text("h.add_(1)")
    assert widget.focused == "Jump to error"
    shoot("player-culprit")
    bare.page.keyboard.press("Enter")
    expect(culprit).to_be_focused()
    assert "explained: RuntimeError, saved tensor written" in widget.said


@pytest.mark.parametrize("width", [400, 768, 1000])
def test_the_graph_stays_in_its_place_where_an_explanation_comes(bare: Bare, width: int) -> None:
    bare.page.set_viewport_size({"width": width, "height": 700})
    widget = bare.mount(wire_of("spoilt"))
    graph = widget.root.locator(".gradviz-viewport")
    expect(widget.root.locator(".gradviz-card-title")).to_be_in_viewport()
    explained = graph.bounding_box()
    widget.button("To the culprit").click()
    culprit = graph.bounding_box()
    widget.root.get_by_role("slider", name="Step").press("Home")
    assert explained == culprit == graph.bounding_box()


def test_everything_by_keyboard_alone(bare: Bare) -> None:
    widget = bare.mount(wire_of("product"), step=0)
    press = bare.page.keyboard.press
    press("Tab")
    assert widget.focused == "Forward"
    press("Enter")
    press("ArrowRight")
    assert where(widget).startswith("step 2 of")
    said = widget.said
    assert said.startswith("step 2 of")
    assert "line" in said
    press("End")
    press("ArrowLeft")
    last = int(where(widget).split()[-1])
    assert where(widget) == f"step {last - 1} of {last}"
    press("Home")
    assert where(widget) == f"step 0 of {last}"
    stops = []
    for _ in range(24):
        press("Tab")
        stops.append(widget.focused)
        if stops[-1].startswith("n"):
            break
    for stop in ("Play", "Step", "More about steps", "Tensors", "compact", "Width of the code"):
        assert stop in stops, stops
    assert any(stop.startswith("n") for stop in stops)


def test_the_graph_keeps_focus_and_arrows_while_brackets_step(bare: Bare) -> None:
    widget = bare.mount(wire_of("product"), step=3)
    node = recorded("product").all_steps[3].graph.nodes[0].id
    widget.node(node).focus()
    bare.page.keyboard.press("]")
    bare.page.keyboard.press(".")
    assert widget.focused == node
    assert widget.get("step") > 3
    bare.page.keyboard.press("[")
    bare.page.keyboard.press(",")
    assert widget.get("step") == 3
    assert widget.focused == node
    bare.page.keyboard.press("ArrowUp")
    assert widget.focused != node
    assert widget.get("step") == 3


def made_last(recording: gradviz.Recording, step: int, nodes: list[str]) -> str:
    """Which of these nodes none of the others uses."""
    rows = {row.id: row for row in recording.all_steps[step].graph.nodes}
    used = {entry[0] for node in nodes for entry in rows[node].next_functions if entry}
    [output] = [node for node in nodes if node not in used]
    return output


def test_details_follow_what_a_line_in_a_loop_has_just_made(bare: Bare) -> None:
    wire, recording = turns_wire(), turns()
    numbers = recording.numbers
    widget = bare.mount(wire, step=0)
    bare.page.keyboard.press("Tab")
    bare.page.keyboard.press("i")
    title = widget.root.get_by_role("group", name="Details", exact=True)
    seen = []
    for step, view in enumerate(wire["views"]):
        told = [part["id"] for part in view["caption"]["details"] if isinstance(part, dict)]
        nodes = [item for item in told if item.startswith("n")]
        if view["kind"] != "line" or not nodes:
            continue
        widget.set("step", numbers.number(step))
        output = made_last(recording, step, nodes)
        expect(title.locator("dd").first).to_have_text(output)
        seen.append(output)
    assert len(seen) == len(set(seen)) == 3


@pytest.mark.parametrize("width", [640, 810, 1000, 1250])
def test_code_is_wrapped_between_words(bare: Bare, width: int) -> None:
    bare.page.set_viewport_size({"width": width, "height": 900})
    widget = bare.mount(turns_wire(), step=len(turns()))
    # Every run of letters stands on one line: its boxes have one top.
    torn = widget.root.locator(".gradviz-code code").evaluate_all(
        r"""(lines) => lines.flatMap((line) => {
          const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
          const torn = [];
          for (let text = walker.nextNode(); text; text = walker.nextNode()) {
            for (const word of text.data.matchAll(/\w+/g)) {
              const range = document.createRange();
              range.setStart(text, word.index);
              range.setEnd(text, word.index + word[0].length);
              if (new Set([...range.getClientRects()].map((b) => b.top)).size > 1)
                torn.push(word[0]);
            }
          }
          return torn;
        })"""
    )
    assert torn == []


def test_a_picture_opens_whole_while_it_can_be_read(bare: Bare) -> None:
    bare.page.set_viewport_size({"width": 1250, "height": 900})
    widget = bare.mount(wire_of("spoilt"))
    picture = widget.root.locator(".gradviz-viewport > svg").bounding_box()
    window = widget.root.locator(".gradviz-viewport").bounding_box()
    assert picture is not None
    assert window is not None
    assert window["x"] <= picture["x"]
    assert picture["x"] + picture["width"] <= window["x"] + window["width"]
    assert picture["y"] + picture["height"] <= window["y"] + window["height"]


@pytest.mark.parametrize("width", [900, 1030, 1250])
def test_the_head_and_three_rows_of_the_tensors_are_in_sight(bare: Bare, width: int) -> None:
    bare.page.set_viewport_size({"width": width, "height": 900})
    widget = bare.mount(wire_of("product"), step=5)
    widget.open("Tensors")
    table = widget.root.locator(".gradviz-tensor-table")
    room = table.evaluate("e => e.clientHeight - e.querySelector('thead').offsetHeight")
    row = table.locator("tbody tr").first.evaluate("e => e.offsetHeight")
    assert room >= 3 * row
    cut = table.locator("thead th").evaluate_all(
        "heads => heads.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"
    )
    assert cut == []


def test_escape_twice_gives_the_focus_back_to_the_cell(bare: Bare) -> None:
    widget = bare.mount(wire_of("product"), step=3)
    bare.page.evaluate(
        "() => { const cell = document.createElement('div'); cell.className = 'jp-Cell';"
        " cell.tabIndex = 0; document.body.append(cell); cell.append(document.all.one); }"
    )
    widget.root.locator(".gradviz-sentence .gradviz-word").last.click()
    assert widget.get("selected")
    widget.root.get_by_role("slider", name="Step").focus()
    bare.page.keyboard.press("Escape")
    assert widget.get("selected") == ""
    assert widget.focused == "Step"
    bare.page.keyboard.press("Escape")
    assert bare.page.evaluate("() => document.activeElement.className") == "jp-Cell"


def test_escape_closes_a_tooltip_before_it_leaves(bare: Bare) -> None:
    widget = bare.mount(wire_of("product"), step=3)
    bare.page.keyboard.press("Tab")
    expect(widget.root.locator(".gradviz-tooltip")).to_be_visible()
    bare.page.keyboard.press("Escape")
    expect(widget.root.locator(".gradviz-tooltip")).to_be_hidden()
    assert widget.focused == "Forward"
    bare.page.keyboard.press("Escape")
    assert bare.page.evaluate("() => document.activeElement === document.body")


def test_keys_of_steps_do_not_reach_the_page(bare: Bare) -> None:
    widget = bare.mount(wire_of("product"), step=3)
    bare.page.evaluate(
        "() => { window.heard = []; document.addEventListener('keydown', e => heard.push(e.key)); }"
    )
    widget.root.get_by_role("slider", name="Step").focus()
    for key in ("ArrowRight", "Home", "End", "PageDown", " ", "]", "b"):
        bare.page.keyboard.press(key)
    assert bare.page.evaluate("() => heard") == ["b"]
    bare.page.evaluate("() => document.activeElement.blur()")
    at = widget.get("step")
    bare.page.keyboard.press("ArrowLeft")
    bare.page.keyboard.press("[")
    assert widget.get("step") == at


def test_the_slider_and_a_line_of_code_lead_anywhere(bare: Bare) -> None:
    widget = bare.mount(wire_of("product"), step=0)
    slider = widget.root.get_by_role("slider", name="Step")
    box = slider.bounding_box()
    assert box is not None
    bare.page.mouse.click(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    assert widget.get("step") == len(recorded("product"))
    widget.root.get_by_role("button", name="out1 = a * b").click()
    assert recorded("product")[widget.get("step")].kind == "line"
    expect(widget.root.locator("[aria-current=step]")).to_contain_text("out1 = a * b")
    expect(widget.root.locator("[aria-current=step]")).to_contain_text("just ran")
    expect(widget.root.locator(".gradviz-line.is-next")).to_contain_text("out1.retain_grad()")


def test_pointing_at_a_line_lights_what_it_made_everywhere(bare: Bare, shoot: Shoot) -> None:
    widget = bare.mount(wire_of("product"), step=3)
    widget.open("Tensors")
    widget.root.get_by_role("button", name="out1 = a * b").hover()
    made = wire_of("product")["links"]["lines"]
    ids = next(ids for ids in made.values() if ids)
    for item in ids:
        if widget.node(item).count():
            expect(widget.node(item)).to_contain_class("is-lit")
    row = widget.root.locator(".gradviz-tensors tr.is-lit")
    expect(row).to_contain_text("out1")
    shoot("player-brushing")
    row.hover()
    expect(widget.root.locator(".gradviz-line.is-lit")).to_contain_text("out1 = a * b")


def test_playing_goes_on_by_itself_and_pauses(browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    page = context.new_page()
    page.clock.install()
    widget = Bare(page).mount(wire_of("product"), step=0, speed=20.0)
    widget.button("Play").click()
    page.wait_for_function("() => models.one.model.get('step') > 2")
    widget.button("Pause").click()
    at = widget.get("step")
    page.clock.run_for(1000)
    assert widget.get("step") == at
    assert widget.said.startswith("step")
    context.close()


def test_with_reduced_motion_it_does_not_play_and_says_why(bare: Bare) -> None:
    bare.page.clock.install()
    widget = bare.mount(wire_of("product"), step=1, speed=20.0)
    widget.button("Play").click(force=True)  # it says that it is disabled
    bare.page.clock.run_for(1000)
    assert widget.get("step") == 1
    expect(widget.root.locator(".gradviz-tooltip")).to_contain_text("reduced motion")
    widget.root.get_by_role("slider", name="Step").focus()
    bare.page.keyboard.press(" ")
    assert where(widget).startswith("step 2 of")


def test_a_saved_page_steps_without_kernel_and_network(
    page: Page, tmp_path: Path, shoot: Shoot
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    file = tmp_path / "steps.html"
    player = Player(recorded("product"))
    player.step = 2
    player.save(file)
    page.goto(file.as_uri())
    root = page.locator(".gradviz-root[data-ready=true]")
    root.wait_for()
    expect(root.locator(".gradviz-where")).to_contain_text("step 2 of")
    root.get_by_role("button", name="Forward").click()
    expect(root.locator(".gradviz-where")).to_contain_text("step 3 of")
    drawn = page.evaluate(_PLAIN, animation_of(recorded("product")).svg(3))
    assert json.loads(page.evaluate(_PLAIN, None)) == json.loads(drawn)
    assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {file.as_uri()}
    shoot("player-page")
    assert axe_violations(page, ".gradviz-root") == []


@pytest.mark.parametrize("form", ["SVG", "text", "JSON"])
def test_the_step_that_is_shown_is_saved(bare: Bare, form: str) -> None:
    widget = bare.mount(wire_of("product"), step=3)
    widget.button("Copy or save").click()
    with bare.page.expect_download() as download:
        widget.root.get_by_role("menuitem", name=f"save as {form}").click()
    content = download.value.path().read_text("utf-8")
    if form == "SVG":
        assert download.value.suggested_filename.endswith("-step-3.svg")
        saved, drawn = (
            json.loads(bare.page.evaluate(_PLAIN, svg))
            for svg in (content, animation_of(recorded("product")).svg(3))
        )
        assert saved == drawn
    elif form == "JSON":
        assert gradviz.Recording.from_json(content) == recorded("product")
    else:
        assert content == wire_of("product")["text"].rstrip() + "\n"


@pytest.mark.parametrize(("name", "theme"), NAMES_AND_THEMES)
def test_axe_finds_nothing_wrong(bare: Bare, name: str, theme: str) -> None:
    if theme == "dark":
        bare.page.evaluate("() => { document.body.style.background = '#111'; }")
    widget = bare.mount(wire_of(name), theme=theme, step=0)
    wrong = axe_violations(bare.page, "#one")
    widget.open("More about steps")
    wrong += axe_violations(bare.page, "#one")
    widget.button("Last step").click()
    wrong += axe_violations(bare.page, "#one")
    middle = next(v for v in range(9, 1, -1) if wire_of(name)["views"][v % 8]["level"])
    widget.set("detail", True)
    widget.set("step", recorded(name).numbers.number(middle % 8))
    wrong += axe_violations(bare.page, "#one")
    for name in ("Tensors", "Memory", "Legend", "Outline"):
        widget.open(name)
        wrong += axe_violations(bare.page, "#one")
    assert wrong == []


@pytest.mark.parametrize("width", [320, 700, 1200])
def test_it_fits_and_every_target_is_at_least_24_pixels(bare: Bare, width: int) -> None:
    bare.page.set_viewport_size({"width": width, "height": 900})
    widget = bare.mount(wire_of("training"), detail=True)
    # A word in the sentence is a target in a line of text, which may be as high as the line.
    for step in (0, 5, len(recorded("training"))):
        widget.set("step", step)
        assert bare.page.evaluate("() => document.documentElement.scrollWidth") <= width
        small = bare.page.evaluate(
            "() => [...document.querySelectorAll('button:not(.gradviz-word), input, select,"
            " summary')].filter((e) => e.checkVisibility({ visibilityProperty: true }))"
            ".map((e) => [e.outerHTML, e.getBoundingClientRect()])"
            ".filter(([, b]) => b.width < 23.9 || b.height < 23.9).map(([h]) => h)"
        )
        assert small == []


def test_code_stands_above_the_graph_where_there_is_little_room(bare: Bare) -> None:
    bare.page.set_viewport_size({"width": 320, "height": 900})
    widget = bare.mount(wire_of("product"), step=5)
    tops = []
    for part in (".gradviz-code", ".gradviz-caption", ".gradviz-viewport", ".gradviz-player"):
        box = widget.root.locator(part).bounding_box()
        assert box is not None
        tops.append(box["y"])
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320
    assert tops == sorted(tops)


def test_stepping_does_not_move_what_is_below(bare: Bare) -> None:
    bare.page.set_viewport_size({"width": 1200, "height": 900})
    widget = bare.mount(wire_of("product"), step=0, detail=True)
    heights = set()
    for step in recorded("product").all_steps:
        widget.set("step", step.number)
        box = widget.root.bounding_box()
        assert box is not None
        heights.add(box["height"])
    assert len(heights) == 1


def test_forced_colours_leave_the_time_line_visible(bare: Bare, shoot: Shoot) -> None:
    bare.page.emulate_media(forced_colors="active")
    widget = bare.mount(wire_of("product"), step=7)
    widget.open("Memory")
    bar = widget.root.locator(".gradviz-strip line.is-current")
    ground = widget.root.evaluate("e => getComputedStyle(e).backgroundColor")
    assert bar.evaluate("e => getComputedStyle(e).stroke") != ground
    shoot("player-forced-colours")


def test_print_shows_the_step_without_controls(bare: Bare, shoot: Shoot) -> None:
    widget = bare.mount(wire_of("product"), step=7)
    bare.page.emulate_media(media="print")
    expect(widget.button("Forward")).to_be_hidden()
    expect(widget.root.get_by_role("slider", name="Step")).to_be_hidden()
    for part in (".gradviz-where", ".gradviz-caption", ".gradviz-code", ".gradviz-viewport"):
        expect(widget.root.locator(part)).to_be_visible()
    shoot("player-print")


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [320, 700, 1000, 1200, 1500])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_it_are_kept(bare: Bare, shoot: Shoot, width: int, theme: str) -> None:
    page = bare.page
    page.set_viewport_size({"width": width, "height": 1250 if width > 700 else 2000})
    ground = "#fff" if theme == "light" else "#111"
    page.evaluate("(ground) => { document.body.style.background = ground; }", ground)
    widget = bare.mount(wire_of("product"), step=7, theme=theme)
    shoot(f"player-{width}-{theme}")
    widget.set("wire", wire_of("training"))
    widget.set("step", 9)
    shoot(f"player-training-{width}-{theme}")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
