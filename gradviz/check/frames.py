"""A failure shows the line of the learner and the message, and no line of gradviz."""

from __future__ import annotations

from operator import methodcaller
from typing import Final

from gradviz.model import CheckFailed

HIDDEN: Final = methodcaller("errisinstance", CheckFailed)
"""``__tracebackhide__`` of each module here: pytest asks it with what was raised."""
