"""What a cell with a program to repair shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from gradviz.model.collector import no_collection
from gradviz.model.errors import UnknownNodeError
from gradviz.model.recording import Recording
from gradviz.model.verdict import Attempt
from gradviz.view.animation.animation import Animations
from gradviz.view.contents.parts_of import html_of
from gradviz.view.documents.recording import recording_document
from gradviz.view.documents.repair import repair_document
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.parts.image import image_html
from gradviz.view.widgets.base import GraphWidget

ANSWERED: Final = b"1"
"""The answer to a request for a hint; what is shown changes with the document."""


class RepairView(GraphWidget):
    """Whether a program does what it has to do, hints one at a time, and the player.

    Args:
        attempt: The verdict and the hints.
        next_hint: Called when the browser asks for the next hint; it calls :meth:`show`.
        recording: What the player below shows; ``None`` if there is none yet.
        step: Where the player opens; the error, or the last step, if there is no such step.
        options: How the player draws.
    """

    _holds: ClassVar[tuple[str, ...]] = ("_attempt", "_next_hint", "_picture")

    def __init__(
        self,
        attempt: Attempt,
        next_hint: Callable[[], object],
        recording: Recording | None = None,
        step: int | str = "error",
        options: DrawOptions = DEFAULT,
    ) -> None:
        self._attempt = attempt
        self._options = options
        self._next_hint = next_hint
        self._picture = ""
        super().__init__(wire=self._document(recording, step))

    def show(self, attempt: Attempt, recording: Recording | None, step: int | str) -> None:
        """Show the same program with another hint."""
        self.check_open()
        self._attempt = attempt
        self.wire = self._document(recording, step)

    def _document(self, recording: Recording | None, step: int | str) -> dict[str, Any]:
        if recording is None:
            return repair_document(self._attempt)
        at = opening(recording, step)
        with no_collection():
            animations = Animations(recording, self._options)
            player = recording_document(recording, at, options=self._options, animations=animations)
            svg = animations[animations.opening].svg(recording[at].index)
        self._picture = image_html(svg, player["summary"])
        return repair_document(self._attempt, player)

    def _answer_to(self, what: Any) -> bytes | None:
        if what != "hint":
            return None
        self.check_open()
        self._next_hint()
        return ANSWERED

    def _without_kernel(self, _svg: str) -> str:
        return html_of(self._attempt) + self._picture


def opening(recording: Recording, step: int | str) -> int | str:
    """The number of the step at which the player of a repair opens.

    Examples:
        >>> opening(Recording.empty(), "MulBackward0")
        0
    """
    try:
        return recording[step].number
    except UnknownNodeError:
        return recording[-1].number
