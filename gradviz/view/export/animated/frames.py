"""Which steps of a recording are frames, and how long each is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import isfinite
from typing import Final

from gradviz.model.errors import OptionError
from gradviz.model.recording import Recording
from gradviz.view.explanations.fields import explained

MOST: Final = 60
"""Frames of one file; longer recordings need a choice of steps."""
SECONDS: Final = 1.6
"""How long a frame is seen, if not said otherwise."""
LIMITS: Final = (0.1, 60.0)
"""The shortest and the longest time of a frame in seconds."""


@dataclass(frozen=True, slots=True)
class Frames:
    """The steps that are shown, one after the other, again and again."""

    steps: tuple[int, ...]
    """Places among all steps and sub-steps of the recording."""
    numbers: tuple[int | str, ...]
    """Their numbers, as the player shows them."""
    passed: tuple[int, ...]
    """For each the number of the step that it is, or is inside of."""
    of: int
    """How many steps the player counts."""
    seconds: tuple[float, ...]
    """How long each is seen; a step with an explanation, its culprit and the last frame longer."""
    still: int
    """The frame that is seen where nothing may move: the last explanation, else the last frame."""

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def starts(self) -> list[float]:
        """When each frame begins, in seconds."""
        return [0.0, *accumulate(self.seconds)][: len(self)]

    @property
    def duration(self) -> float:
        """How long all of them take, in seconds."""
        return sum(self.seconds)


def frames_of(recording: Recording, steps: Sequence[int], seconds: object = None) -> Frames:
    """Frames for steps, or for all that the player shows at first.

    Args:
        recording: What is shown.
        steps: Places of steps; if there are none every step but sub-steps and the state before
            the code ran.
        seconds: How long a frame is seen, 1.6 if not given.

    Raises:
        OptionError: If there would be more than 60 frames, or the time is no number of seconds.

    Examples:
        >>> frames_of(Recording.empty(), ()).seconds
        (3.2,)
    """
    numbers = recording.numbers
    chosen = tuple(steps) or tuple(step.index for step in recording) or (0,)
    if len(chosen) > MOST:
        raise OptionError(
            f"an animation of {len(chosen)} steps would be too long to watch; choose up to {MOST}: "
            f"save('steps.svg', animated=True, stops=range(1, {MOST + 1}))"
        )
    decisive = _decisive(recording)
    noticed = [i for i, step in enumerate(chosen) if step in explained(recording)]
    each = _seconds(seconds)
    return Frames(
        chosen,
        tuple(map(numbers.number, chosen)),
        tuple(numbers.paths[step][0] for step in chosen),
        numbers.count,
        tuple(
            each * (1 + (step in decisive) + (i == len(chosen) - 1))
            for i, step in enumerate(chosen)
        ),
        noticed[-1] if noticed else len(chosen) - 1,
    )


def _decisive(recording: Recording) -> set[int]:
    """Steps at which an error or a fault is noticed, or was caused."""
    found: set[int] = set()
    for step, group in explained(recording).items():
        causes = (one.cause.at.step for one in group if one.cause and one.cause.at)
        found |= {step, *(cause for cause in causes if cause is not None)}
    return found


def _seconds(value: object) -> float:
    """The time of a frame.

    Raises:
        OptionError: If it is none.
    """
    if value is None:
        return SECONDS
    least, most = LIMITS
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and isfinite(value) and least <= value <= most:  # type: ignore[arg-type, operator]
        return float(value)  # type: ignore[arg-type]
    raise OptionError(
        f"seconds={value!r} must be a number from {least} to {most:.0f}, the time of a step: "
        "seconds=2"
    )
