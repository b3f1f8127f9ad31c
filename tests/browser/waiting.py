"""Waiting for conditions: what a busy machine does late is waited for, and nothing is timed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

_START_SECONDS = 180

_DRAWN = """
() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))
"""

# What never ends, as the sign of a kernel at work, is left out.
_AT_REST = """
() => document.getAnimations().every((animation) =>
  animation.playState !== 'running' ||
  animation.effect?.getComputedTiming().endTime === Infinity)
"""

# A page can forbid code as text: the expression stands in this one.
_STEADY = """
async (frames) => {
  const read = () => JSON.stringify((EXPRESSION)());
  let last = read();
  for (let same = 0; same < frames; ) {
    await new Promise((done) => requestAnimationFrame(done));
    const now = read();
    same = now === last ? same + 1 : 0;
    last = now;
  }
  return JSON.parse(last);
}
"""

# The browser calls timers in the order in which they are due.
_AFTER = "(milliseconds) => new Promise((done) => setTimeout(done, milliseconds))"


def drawn(page: Page) -> None:
    """Wait until all is drawn: observers have been told, and what moves has arrived."""
    page.evaluate(_DRAWN)
    page.wait_for_function(_AT_REST)


def steady(page: Page, expression: str, frames: int = 20) -> Any:
    """What a function of JavaScript returns once it is the same in so many frames in a row."""
    return page.evaluate(_STEADY.replace("EXPRESSION", expression.strip()), frames)


def timers_have_run(page: Page, milliseconds: int) -> None:
    """Wait until the timers of the page have run that were started before and are no longer.

    Where a test may not replace the page's clock, a longer timer is what must come after them.
    """
    page.evaluate(_DRAWN)
    page.evaluate(_AFTER, milliseconds)


def until_it_answers(
    answers: Callable[[], bool], server: subprocess.Popen[Any], log: Path | None = None
) -> None:
    """Wait until a server answers, which fails where it ends before."""
    end = time.monotonic() + _START_SECONDS
    while not answers():
        try:
            server.wait(0.1)
        except subprocess.TimeoutExpired:
            assert time.monotonic() < end, f"no answer after {_START_SECONDS} s"
        else:
            said = log.read_text()[-3000:] if log else ""
            raise AssertionError(f"the server ended:\n{said}")
