"""A walk through a widget as a person takes it, and what could not be seen on the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ipywidgets

import gradviz
from gradviz.view.widgets.base import GraphWidget
from gradviz.view.widgets.player import Player
from tests.browser.bare import Widget, picture_faults

TALLEST = 620
BESIDE = 26
"""Pixels of a notebook's window that its cells have around an output."""
SMALLEST = 11
"""Pixels of text that a person reads without effort."""
FOLDED_ZOOM, WHOLE_ZOOM = 0.7, 0.8
"""The least zoom of a picture of which all cards are in the window at once, folded or not."""

_LOOK = """
async ([name, cards, told]) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => done()));
  await frame(); await frame();
  const root = document.querySelector(`#${name} .gradviz-root`);
  // A report is read from top to bottom; its picture is on one screen.
  const isReport = root.classList.contains("has-report");
  const stage = isReport ? root.querySelector(".gradviz-stage") : root;
  if (isReport && stage.checkVisibility()) {
    stage.scrollIntoView({ block: "nearest" });
    await frame();
  }
  /** What of an element can be seen: its box within the window and all that clips it. */
  const seen = (element) => {
    const own = element.getBoundingClientRect();
    const box = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    const clipTo = (clip) => {
      box.left = Math.max(box.left, clip.left); box.right = Math.min(box.right, clip.right);
      box.top = Math.max(box.top, clip.top); box.bottom = Math.min(box.bottom, clip.bottom);
    };
    clipTo(own);
    for (let around = element.parentElement; around?.parentElement; around = around.parentElement)
      if (getComputedStyle(around).overflow !== "visible") clipTo(around.getBoundingClientRect());
    return [own, box];
  };
  const isWhole = (element) => {
    const [own, box] = seen(element);
    return own.width > 0 && box.left <= own.left + 1 && box.top <= own.top + 1 &&
      box.right >= own.right - 1 && box.bottom >= own.bottom - 1;
  };
  /** What lies over its middle; the unfolded card shows what is below it. */
  const covers = (element) => {
    const [, box] = seen(element);
    const at = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    if (!at || element.contains(at) || at.closest(".gradviz-unfolded")) return undefined;
    // Parameters may be in a part of their box that has no words.
    const ground = element.querySelector(":scope > .gv-paper")?.getBoundingClientRect();
    const other = at.closest("[role=img]")?.querySelector("rect")?.getBoundingClientRect();
    if (ground && other && ground.left <= other.left && other.right <= ground.right &&
      ground.top <= other.top && other.bottom <= ground.bottom) return undefined;
    return at.getAttribute("class");
  };
  const found = [];
  const must = (what, element) => {
    if (!element || !element.checkVisibility()) found.push(`${what} is not there`);
    else if (!isWhole(element)) found.push(`${what} is not whole in the window`);
    else {
      const by = covers(element);
      if (by !== undefined) found.push(`${what} is covered by ${by}`);
    }
  };
  for (const name of told.steps ? ["Back", "Forward"] : [])
    must(name, root.querySelector(`button[aria-label=${name}]`));
  for (const button of root.querySelectorAll("button"))
    if (button.checkVisibility() && button.scrollWidth > button.clientWidth + 1)
      found.push(`"${button.textContent}" is cut`);
  const line = root.querySelector(".gradviz-code [aria-current=step]");
  if (told.line) must("line", line);
  const caption = root.querySelector(".gradviz-sentence");
  if (caption?.textContent) {
    const [own, box] = seen(caption);
    if (box.bottom - box.top < Math.min(own.height, 34) - 1 || box.top > own.top + 1)
      found.push("the caption's beginning cannot be read");
  }
  const svg = root.querySelector(".gradviz-viewport > svg");
  /** Of a card in closed boxes it is the outermost of these. */
  const shownFor = (id) => {
    const shape = (one) => svg.querySelector(`[data-id="${one}"], [data-others~="${one}"]`);
    const boxes = (told.around[id] ?? []).map(shape).filter(Boolean);
    return boxes.find((box) => !box.matches(".gv-open")) ?? shape(id);
  };
  const shapes = cards.map(shownFor);
  const whole = shapes.filter((card) => card && isWhole(card));
  if (shapes.length && !whole.length)
    found.push(`none of the cards ${cards} is whole in the window`);
  const allWhole = [...svg?.querySelectorAll(".gv-node, .gv-leaf") ?? []].every(isWhole);
  const smallest = told.smallest * (allWhole ? told.whole_zoom : 1);
  for (const card of whole) {
    const { id } = card.dataset;
    must(`card ${id}`, card);
    const zoom = card.getScreenCTM().a;
    for (const text of card.querySelectorAll("text")) {
      if (text.closest(".gv-port, .gv-stub, .gv-root, .gv-chip")) continue;
      const size = parseFloat(getComputedStyle(text).fontSize) * zoom;
      if (size < smallest - 0.05)
        found.push(`card ${id}: "${text.textContent}" is ${size.toFixed(1)} px`);
    }
  }
  const height = stage.getBoundingClientRect().height;
  // A form has its own height, and no more than the window.
  const isForm = root.parentElement.querySelector(".gradviz-question, .gradviz-repair") !== null;
  const tallest = isForm ? innerHeight - told.beside : told.tallest;
  if (height > tallest + 1) found.push(`it is ${height.toFixed(0)} px high`);
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) found.push(`the page is ${wide} px wide`);
  return [found, svg?.style.transform ?? ""];
}
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """A widget as the front end gets it, and which cards matter at each of its steps."""

    wire: dict[str, Any]
    traits: dict[str, Any]
    cards: dict[int, list[str]]
    """By place of the step; of a widget without steps all its cards, under 0."""
    around: dict[str, list[str]]
    """Of a folded recording the folds around each node, the outer ones first."""

    @classmethod
    def of(cls, widget: GraphWidget) -> Shown:
        own = set(widget.traits(sync=True)) - set(ipywidgets.DOMWidget.class_traits()) - {"wire"}
        traits = {name: getattr(widget, name) for name in own if not name.startswith("_")}
        if isinstance(widget, Player):
            cards = subjects(widget.recording)
        else:
            picture = widget.wire.get("picture", widget.wire) or {}
            cards = {0: [item["id"] for item in picture.get("items", ())]}
        return cls(widget.wire, traits, cards, folds_around(widget.wire))


def folds_around(wire: dict[str, Any]) -> dict[str, list[str]]:
    """The folds that each node of a recording is in, as the document says."""
    above = {one["id"]: one["above"] for one in wire.get("fold", {}).get("folds", ())}
    found: dict[str, list[str]] = {}
    for view in wire.get("views", ()):
        for key, item in view["items"].items():
            fold = item.get("fold", "") if item and item["kind"] != "fold" else ""
            if fold and key not in found:
                found[key] = [fold]
                while above[found[key][0]]:
                    found[key].insert(0, above[found[key][0]])
    return found


def subjects(recording: gradviz.Recording) -> dict[int, list[str]]:
    """The cards that matter at a step: of the node that has run, else of the outputs of a line.

    A line that makes several nodes is about those that none of the others uses.
    """
    history, made = recording.history, defaultdict[int | None, list[str]](list)
    for key in history.node_ids:
        if not any(row.variable for row in history.node_rows(key, len(recording.all_steps))):
            made[history.born(key)].append(key)
    found: dict[int, list[str]] = {}
    for step in recording.all_steps:
        born = made.get(step.index, [])
        rows = [row for key in born for row in history.node_rows(key, step.index + 1)]
        used = {entry[0] for row in rows for entry in row.next_functions if entry}
        found[step.index] = [step.node] if step.node else [key for key in born if key not in used]
    return found


def walk(widget: Widget, shown: Shown) -> Iterator[str]:
    """Step to the end and back; yields what a person could not see.

    What has no steps is looked at once.
    """
    if "views" not in shown.wire:
        yield from (f"at first sight: {fault}" for fault in look(widget, shown, 0)[0])
        yield from picture_faults(widget.page)
        return
    places = {
        ".".join(map(str, view["number"])): place for place, view in enumerate(shown.wire["views"])
    }
    seen: dict[str, str] = {}
    press = widget.page.keyboard.press
    widget.button("Forward").focus()
    for key, edge in (("ArrowRight", "Home"), ("ArrowLeft", "End")):
        press(edge)
        before = None
        while (at := str(widget.get("step"))) != before:
            found, camera = look(widget, shown, places[at])
            yield from (f"{key} to step {at}: {fault}" for fault in found)
            if seen.setdefault(at, camera) != camera:
                yield f"step {at}: {camera} from the right, {seen[at]} from the left"
            before = at
            press(key)


def look(widget: Widget, shown: Shown, place: int) -> tuple[list[str], str]:
    """What cannot be seen of a step, and where the camera is."""
    views = shown.wire.get("views")
    told = {
        "steps": views is not None,
        "line": views is not None and views[place]["line"] is not None,
        "tallest": TALLEST,
        "beside": BESIDE,
        "smallest": SMALLEST,
        "whole_zoom": FOLDED_ZOOM if "fold" in shown.wire else WHOLE_ZOOM,
        "around": shown.around,
    }
    found, camera = widget.page.evaluate(_LOOK, [widget.name, shown.cards[place], told])
    return found, camera
