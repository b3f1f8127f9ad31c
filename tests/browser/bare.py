"""The built bundle in a page with nothing else: a fake model stands for the kernel."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

from tests.browser.machine import AXE, ROOT, unavailable

STATIC = ROOT / "gradviz" / "view" / "static"

_MOUNT = """
async ([name, given, kernel]) => {
  const state = JSON.parse(given);
  const module = await window.bundle;
  const listeners = {};
  const abort = new AbortController();
  const el = document.body.appendChild(Object.assign(document.createElement("div"), { id: name }));
  const model = {
    state, saved: [], dirty: {},
    get: (key) => state[key],
    set(key, value) {
      state[key] = value;
      model.dirty[key] = value;
      for (const listener of [...(listeners["change:" + key] ?? [])]) listener();
    },
    save_changes() { model.saved.push(model.dirty); model.dirty = {}; },
    on: (event, listener) => (listeners[event] ??= new Set()).add(listener),
    off: (event, listener) => listeners[event]?.delete(listener),
    count: () => Object.values(listeners).reduce((sum, set) => sum + set.size, 0),
  };
  if (kernel === "ended") model.send = () => { throw new Error("the connection is closed"); };
  (window.models ??= {})[name] = { model, abort };
  module.default.render({ model, el, signal: abort.signal });
}
"""


_LOAD = """
(source) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  window.bundle = import(url);
}
"""


_FAULTS = """
() => {
  const box = (element) => element.getBoundingClientRect();
  const before = (one, other) => one <= other + 1;
  const holds = (a, b) =>
    before(a.left, b.left) && before(b.right, a.right) &&
    before(a.top, b.top) && before(b.bottom, a.bottom);
  const apart = (a, b) =>
    before(a.right, b.left) || before(b.right, a.left) ||
    before(a.bottom, b.top) || before(b.bottom, a.top);
  const all = (within, selector) =>
    [...within.querySelectorAll(selector)].filter((e) => e.checkVisibility());
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push("wider than the window");
  const cards = all(document, ".gradviz-viewport :is(.gv-node, .gv-tensor)");
  for (const card of cards) {
    const rects = all(card, "rect").map(box);
    for (const text of all(card, "text"))
      if (!rects.some((rect) => holds(rect, box(text))))
        found.push(`${card.dataset.id}: "${text.textContent}" stands outside`);
  }
  cards.forEach((card, place) => {
    // Parameters may be in a part of their box that has no words.
    const ground = card.querySelector(":scope > .gv-paper");
    const isInside = (other) =>
      ground && holds(box(ground), box(other.querySelector("rect")));
    for (const other of cards.slice(place + 1).filter((one) => !isInside(one)))
      if (!apart(box(card.querySelector("rect")), box(other.querySelector("rect"))))
        found.push(`${card.dataset.id} covers ${other.dataset.id}`);
  });
  for (const element of all(document, ".gradviz-root :is(button, summary, dt, dd, th, td)"))
    if (element.clientWidth && !before(element.scrollWidth, element.clientWidth))
      found.push(`"${element.textContent}" is cut`);
  return found;
}
"""


class Widget:
    """One mounted widget: its element and its model."""

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.name = name
        self.root: Locator = page.locator(f"#{name} .gradviz-root")

    def get(self, trait: str) -> Any:
        return self.page.evaluate(
            "([name, trait]) => models[name].model.get(trait)", [self.name, trait]
        )

    def set(self, trait: str, value: Any) -> None:
        """Change a trait as the kernel would."""
        self.page.evaluate(
            "([name, trait, value]) => models[name].model.set(trait, JSON.parse(value))",
            [self.name, trait, json.dumps(value)],
        )

    def unmount(self) -> None:
        """Take it out of the page, as a host does."""
        self.page.evaluate(
            "(name) => { models[name].abort.abort(); document.getElementById(name).remove(); }",
            self.name,
        )

    def saved(self, trait: str) -> list[Any]:
        """Values of a trait that were sent to the kernel."""
        sent = self.page.evaluate("(name) => models[name].model.saved", self.name)
        return [change[trait] for change in sent if trait in change]

    def node(self, item: str) -> Locator:
        own = f".gradviz-viewport [data-id='{item}']"
        return self.root.locator(f"{own}, .gradviz-viewport [data-others~='{item}']").first

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def open(self, name: str) -> Locator:
        """Open a panel under the graph, or the further buttons of steps or tools."""
        opener = self.button(name)
        if opener.get_attribute("aria-expanded") != "true":
            opener.click()
        return self.root.get_by_role("group", name=name, exact=True)

    @property
    def said(self) -> str:
        """The sentence in the live region."""
        return self.root.get_by_role("status").inner_text()

    @property
    def focused(self) -> str:
        """Id, label or text of the element that has the focus."""
        return str(
            self.page.evaluate(
                "() => { const e = document.activeElement; return e.dataset?.id"
                " ?? e.getAttribute('aria-label') ?? e.textContent ?? e.tagName; }"
            )
        )


def mount_in(page: Page, name: str, state: dict[str, Any], kernel: str = "") -> None:
    """Mount a widget into whatever page this is; the bundle is loaded once a page."""
    if page.evaluate("() => !window.bundle"):
        page.evaluate(_LOAD, built("widget.js"))
    # One text: playwright takes seconds to send each value of a large document by itself.
    page.evaluate(_MOUNT, [name, json.dumps(state), kernel])


@cache
def built(name: str) -> str:
    """A file of the bundle."""
    return (STATIC / name).read_text("utf-8")


class Bare:
    """A page into which widgets are mounted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        css = built("widget.css")
        page.set_content(
            f"<!doctype html><html lang=en><title>bare</title><style>{css}</style><body></body>"
        )

    def mount(
        self, wire: object, name: str = "one", wait: bool = True, kernel: str = "", **traits: Any
    ) -> Widget:
        """Mount a widget; ``kernel="ended"``: in a notebook whose kernel is gone."""
        state = {
            "wire": wire,
            "selected": "",
            "height": 0,
            "engine_arrows": False,
            "theme": "auto",
            **traits,
        }
        mount_in(self.page, name, state, kernel)
        widget = Widget(self.page, name)
        if wait:
            self.page.wait_for_selector(f"#{name} .gradviz-root[data-ready=true]")
        return widget


def picture_faults(page: Page) -> list[str]:
    """What a reader could not read: words outside of their card or cut, cards over cards."""
    found: list[str] = page.evaluate(_FAULTS)
    return found


def axe_violations(page: Page, within: str) -> list[str]:
    """What axe-core finds wrong inside a part of the page."""
    if not AXE.is_file():
        unavailable("no axe-core: run npm install in widgets/")
    page.evaluate(Path(AXE).read_text("utf-8"))
    result = page.evaluate("(within) => axe.run(within)", within)
    return [
        f"{problem['id']}: {problem['help']}: {node['html'][:200]}"
        for problem in result["violations"]
        for node in problem["nodes"]
    ]
