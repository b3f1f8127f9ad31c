"""Gradients that are wrong although torch raised nothing, found in what the recording saw."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.model.explanation import Explanation
from gradviz.model.recording import Recording


def silent_in(recording: Recording) -> Iterator[Explanation]:
    """One explanation per fault, in the order of the steps at which they do their harm."""
    yield from ()
