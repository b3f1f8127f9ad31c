"""What browser tests need from the machine, and what happens when it is absent."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
AXE = ROOT / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def unavailable(reason: str) -> None:
    """Skip with the reason; fail where the machine is expected to have everything."""
    if os.environ.get("GRADVIZ_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{reason} (GRADVIZ_REQUIRE_BROWSER=1)")
    pytest.skip(reason)


def chromium() -> str:
    """The program; where there is one without windows it comes first, as it takes less time."""
    asked = os.environ.get("GRADVIZ_CHROMIUM")
    names = (
        "chromium-headless-shell",
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    )
    found = asked or next(filter(None, map(shutil.which, names)), None)
    if not found:
        unavailable("no Chromium: install it, or set GRADVIZ_CHROMIUM to its program")
    assert found is not None
    return found
