"""Errors that torch raised, explained from what the recording saw."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.model.explanation import Explanation
from gradviz.model.recording import Recording


def errors_in(recording: Recording) -> Iterator[Explanation]:
    """One explanation per error that a line raised, caught or not."""
    yield from ()
