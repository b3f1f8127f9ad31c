"""Which edition of a notebook runs: the student's, or the one with the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(slots=True)
class Edition:
    """What ``%gradviz answers`` sets, for all questions that follow."""

    shows_answers: bool = False


edition: Final = Edition()
