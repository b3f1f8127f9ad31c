"""What a program to repair consists of: the verdict, and the hints that have been asked for."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.model.sentence import Sentence
from gradviz.model.verdict import HINTS, Attempt, Verdict
from gradviz.view.parts.part import ItemList, Outcomes, Paragraph, Part, Parts, Region
from gradviz.view.text import cleaned


def repair_parts(attempt: Attempt) -> Parts:
    """The verdict, what the program did, and the hints that have been asked for.

    Examples:
        >>> from gradviz.model.verdict import Outcome
        >>> from gradviz.view.parts.text import as_text
        >>> wrong = Outcome("x.grad", "[2.0, 4.0]", "None", False)
        >>> verdict = Verdict("`x` gets a gradient.", False, "x = [1.0, 2.0]", (wrong,))
        >>> print(as_text(repair_parts(Attempt(verdict, ("one", "two", "three")))))
        Not repaired yet
          goal: `x` gets a gradient.
          Run with x = [1.0, 2.0]
          ✗ x.grad: expected [2.0, 4.0], found None
          gradviz.hint() shows the first of 3 hints
    """
    return Parts(((repair_region(attempt),),), 98, "  ")


def repair_region(attempt: Attempt) -> Region:
    """The same as one part."""
    verdict = attempt.verdict
    further = attempt.hints and not attempt.asked and not verdict.is_solved
    hint = Paragraph(Sentence(f"gradviz.hint() shows the first of {HINTS} hints"))
    return Region(
        title=verdict.headline,
        tone="solved" if verdict.is_solved else "open",
        label="Repair",
        parts=tuple(_parts(attempt, verdict)),
        end=(hint,) if further else (),
    )


def _parts(attempt: Attempt, verdict: Verdict) -> Iterator[Part]:
    yield Paragraph(cleaned(verdict.goal), "goal")
    if run := _run(verdict):
        yield Paragraph(cleaned(run), look="quiet")
    if verdict.outcomes:
        yield Outcomes(verdict.outcomes)
    yield from (Paragraph(cleaned(one)) for one in verdict.problems)
    if verdict.known:
        yield Paragraph(cleaned(verdict.known), look="known")
    if verdict.is_solved and attempt.why:
        yield Paragraph(cleaned(attempt.why), look="why")
    if attempt.shown:
        yield ItemList([*map(cleaned, attempt.shown)], "hint")


def _run(verdict: Verdict) -> str:
    """With which inputs the outcome was found."""
    if not verdict.given:
        return "With other inputs" if verdict.is_other else ""
    return f"Run with {'other numbers: ' if verdict.is_other else ''}{verdict.given}"
