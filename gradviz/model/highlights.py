"""What a finding points at in a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

HighlightKind: TypeAlias = Literal[
    "culprit", "written", "refused", "cut", "unreached", "most", "new", "changed", "gone"
]
"""``"culprit"``: what did it; ``"written"``: what was changed; ``"refused"``: the node that
raised, or the tensor that was not written; ``"cut"``: where the graph ends too early;
``"unreached"``: what gets no gradient; ``"most"``: what keeps most bytes; ``"new"``,
``"changed"``, ``"gone"``: differences between two graphs."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """Something in a picture to be marked, and why."""

    id: str
    """A node (``"n0"``), an edge (``"n0.1"``), a saved tensor (``"n0.saved.0"``: its place in
    ``node.saved``) or a tensor (``"t0"``)."""
    kind: HighlightKind
    words: str = ""
    """Why, for tooltips and screen readers: ``"add_ in line 4 wrote it"``."""
