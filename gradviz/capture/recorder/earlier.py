"""The last recordings of the session, so that later ones know what was there before them.

Kept are recordings, which are data: no tensor and no node is kept alive by them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gradviz.capture.raising import Errors
from gradviz.capture.recorder.live_graph import LiveGraph
from gradviz.model import Recording
from gradviz.model.events import Raised
from gradviz.model.joining import Remembered, joined

MOST: Final = 20
"""How many recordings are kept."""
LARGEST: Final = 100_000
"""How many steps, events and rows they have together, unless the last one alone has more."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """A recording, and what is needed to find it again."""

    remembered: Remembered
    thread: int
    size: int
    errors: Errors
    """The exceptions that it saw, by the numbers that they have in it."""


class EarlierRecordings:
    """The last recordings that have ended, the last one first."""

    def __init__(self) -> None:
        self._ended: tuple[_Ended, ...] = ()

    def __len__(self) -> int:
        return len(self._ended)

    @property
    def last(self) -> Recording | None:
        """The last recording, ``None`` if there was none."""
        return self._ended[0].remembered.recording if self._ended else None

    def remembered(self, recording: Recording) -> Remembered | None:
        """What is kept with a recording, if it is kept."""
        kept = (one.remembered for one in self._ended)
        return next((one for one in kept if one.recording.records is recording.records), None)

    def forget(self) -> None:
        """Keep nothing any more."""
        self._ended = ()

    def add(self, recording: Recording, live_graph: LiveGraph, errors: Errors) -> None:
        """A recording has ended; those that are too old are forgotten.

        Args:
            recording: The recording.
            live_graph: The graph as it is now.
            errors: The exceptions that it saw.
        """
        numbers = live_graph.numbers
        nodes = {numbers[key]: key for key in live_graph.nodes if key in numbers}
        storages = {key: name for name, key in live_graph.registry.storage_keys().items()}
        remembered = Remembered(recording, nodes, storages)
        ended = _Ended(remembered, threading.get_ident(), _size(recording), errors)
        kept, size = [ended], ended.size
        for one in self._ended[: MOST - 1]:
            size += one.size
            if size > LARGEST:
                break
            kept.append(one)
        self._ended = tuple(kept)

    def join(
        self, recording: Recording, live_graph: LiveGraph, storages: Mapping[str, int]
    ) -> Recording:
        """A recording with what earlier ones know of its nodes, and of these storages."""
        if not self._ended:
            return recording
        return joined(recording, live_graph.numbers, storages, self._of_thread())

    def _of_thread(self) -> Sequence[Remembered]:
        thread = threading.get_ident()
        found = (one.remembered for one in self._ended if one.thread == thread)
        return [one for one in found if one.nodes or one.storages]

    def that_saw(self, error: BaseException) -> tuple[Recording, int] | None:
        """The recording in which an exception arose, and the last step at which it was raised."""
        known = ((one.remembered.recording, one.errors.number(error)) for one in self._ended)
        for recording, number in known:
            raised = [] if number is None else [*recording.history.placed(Raised)]
            seen = [(place[0], event) for place, event in raised if event.number == number]
            if seen and not seen[0][1].is_from_elsewhere:
                return recording, seen[-1][0]
        return None


def _size(recording: Recording) -> int:
    return sum(
        1 + len(step.events) + len(step.changes.nodes) + len(step.changes.tensors)
        for step in recording.records
    )


EARLIER: Final = EarlierRecordings()
"""Those of this session."""
