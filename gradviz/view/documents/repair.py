"""What the browser gets of a repair: the verdict, the hints asked for, and perhaps a player.

``widgets/src/documents/repair.ts`` describes the same fields for the front end. Hints that nobody
has asked for are not in it.
"""

from __future__ import annotations

from typing import Any

from gradviz.model.verdict import Attempt
from gradviz.view.contents.repair import repair_region
from gradviz.view.documents.graph import FORMAT
from gradviz.view.outlines.text_of import text_of
from gradviz.view.parts.data import as_data


def repair_document(attempt: Attempt, player: dict[str, Any] | None = None) -> dict[str, Any]:
    """Everything that is shown of an attempt.

    Args:
        attempt: The verdict and the hints.
        player: The document of the player below it, if there is one.

    Examples:
        >>> from gradviz.model.verdict import Verdict
        >>> document = repair_document(Attempt(Verdict("a", False), ("one", "two", "three")))
        >>> document["repair"]["title"], document["repair"]["button"]
        ('Not repaired yet', 'Hint 1 of 3')
    """
    verdict = attempt.verdict
    wrong = [f"{one.what}: expected {one.expected}, found {one.found}." for one in verdict.wrong]
    said = [f"{verdict.headline}.", *wrong, *verdict.problems, verdict.known]
    return {
        "format": FORMAT,
        "kind": "repair",
        "title": "program to repair",
        "summary": f"{verdict.headline}: {verdict.goal}",
        "text": text_of(attempt),
        "density": "normal",
        "legend": [],
        "repair": {
            **as_data(repair_region(attempt)),
            "said": " ".join(filter(None, said)).replace("`", ""),
            "message": verdict.message,
            "button": attempt.button,
            "fix": verdict.fix if attempt.is_explained else "",
            "solution": attempt.solution if attempt.is_explained else "",
        },
        "player": player,
    }
