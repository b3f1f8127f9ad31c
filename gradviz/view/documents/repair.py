"""What the browser gets of a repair: the verdict, the hints asked for, and perhaps a player.

``widgets/src/documents/repair.ts`` describes the same fields for the front end. Hints that nobody
has asked for are not in it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gradviz.model.verdict import Attempt
from gradviz.view.documents.graph import FORMAT
from gradviz.view.outlines.repair import repair_text, run_words


def repair_document(attempt: Attempt, player: dict[str, Any] | None = None) -> dict[str, Any]:
    """Everything that is shown of an attempt.

    Args:
        attempt: The verdict and the hints.
        player: The document of the player below it, if there is one.

    Examples:
        >>> from gradviz.model.verdict import Verdict
        >>> document = repair_document(Attempt(Verdict("a", False), ("one", "two", "three")))
        >>> document["repair"]["hints"], document["repair"]["button"]
        ([], 'Hint 1 of 3')
    """
    verdict = attempt.verdict
    run = run_words(verdict)
    return {
        "format": FORMAT,
        "kind": "repair",
        "title": "program to repair",
        "summary": f"{verdict.headline}: {verdict.goal}",
        "text": repair_text(attempt),
        "density": "normal",
        "legend": [],
        "repair": {
            "headline": verdict.headline,
            "is_solved": verdict.is_solved,
            "goal": verdict.goal,
            "run": run[:1].upper() + run[1:],
            "outcomes": [asdict(one) for one in verdict.outcomes],
            "problems": list(verdict.problems),
            "known": verdict.known,
            "message": verdict.message,
            "why": attempt.why if verdict.is_solved else "",
            "hints": list(attempt.shown),
            "button": attempt.button,
            "fix": verdict.fix if attempt.is_explained else "",
            "solution": attempt.solution if attempt.is_explained else "",
        },
        "player": player,
    }
