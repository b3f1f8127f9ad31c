from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from tests.browser.bare import Bare, axe_violations
from tests.browser.conftest import Shoot

pytestmark = pytest.mark.browser


def test_it_looks_right(bare: Bare, wire: Any, shoot: Shoot) -> None:
    widget = bare.mount(wire)
    shoot("bare-light")
    widget.node("n2").click()
    shoot("bare-selected")
    widget.set("theme", "dark")
    shoot("bare-dark")
    widget.root.get_by_role("tab", name="Outline").click()
    shoot("bare-outline-dark")
    widget.set("theme", "light")
    shoot("bare-outline")
    bare.page.set_viewport_size({"width": 320, "height": 800})
    shoot("bare-320-outline")
    widget.root.get_by_role("tab", name="Graph").click()
    shoot("bare-320")
    bare.page.set_viewport_size({"width": 1200, "height": 800})
    widget.button("Copy or save").click()
    shoot("bare-menu")
    bare.page.keyboard.press("Escape")
    widget.button("Keys").click()
    shoot("bare-keys")
    assert axe_violations(bare.page, "#one") == []
