"""An explanation as labelled fields, with terms that name nodes, tensors and lines of code.

All views have one order: what happened, the first fields, the first fix; then the other fixes, why,
the other fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gradviz.model.explanation import Cause, CodeLine, Explanation, Fix, Rank
from gradviz.model.recording import Recording
from gradviz.model.sentence import Sentence, joined, say
from gradviz.view import formatting
from gradviz.view.explanations.links import Links
from gradviz.view.parts.part import Advice, CodeBlock, Field, Tone
from gradviz.view.text import clean, cleaned

WRONG: Final = "no error, but wrong"
"""Shown instead of the name of an error where torch raised none."""
LOOK: Final = "worth a look"
"""Shown instead where a fact is shown that can be meant."""
CAUSES: Final = {
    "write": "written before",
    "backward": "earlier backward",
    "cut": "graph cut",
    "save": "saved in",
    "other": "and",
}
"""Labels of causes other than the culprit."""
AGAIN: Final = "written again"
"""Label of a write that came after the culprit."""
PLACES: Final = {"instead": "in place of", "before": "before", "after": "after"}


def title_of(explanation: Explanation) -> tuple[str, Tone]:
    """Class of the exception, or that there was none, and how much it stands out."""
    if not explanation.is_fault:
        return LOOK, "note"
    return (clean(explanation.raised), "error") if explanation.raised else (WRONG, "warning")


def first_fields(explanation: Explanation, links: Links) -> Iterator[Field]:
    """What comes before the fix: the line of the culprit, or the line that is known instead."""
    culprit = explanation.cause
    if culprit is not None:
        at, what = culprit.at, cleaned(culprit.what) or Sentence("not known")
        name = "culprit" if explanation.is_fault else "where"
        yield Field(name, (what,)) if at is None else _line_of(name, at, links)
    elif explanation.noticed is not None:
        yield _noticed(explanation.noticed, explanation, links)
    if _has_only_a_way_on(explanation):
        yield _unknown(explanation)


def _has_only_a_way_on(explanation: Explanation) -> bool:
    """Whether no line and no fix is known, so that how to find them comes first."""
    return bool(explanation.unknown) and not (explanation.causes or explanation.fixes)


def _unknown(explanation: Explanation) -> Field:
    return Field("not known", tuple(map(cleaned, explanation.unknown)))


def more_fields(explanation: Explanation, links: Links) -> Iterator[Field]:
    """The fields that come last: the facts, the other causes, what is not known."""
    for place, cause in enumerate(explanation.causes):
        if place:
            yield _cause(cause, _label(cause, explanation), links)
        elif cause.at is not None and cause.what:
            yield Field("cause", (cleaned(cause.what),))
    if explanation.causes and explanation.noticed is not None:
        yield _noticed(explanation.noticed, explanation, links)
    if explanation.variables:
        yield Field("variables", (joined(map(links.tensor, explanation.variables)),))
    if explanation.saved:
        yield Field("saved tensor", (_saved(explanation, links),))
    elif explanation.node_name:
        yield Field("node", (links.node,))
    if explanation.already:
        yield Field("already changed", tuple(map(cleaned, explanation.already)))
    if explanation.unknown and not _has_only_a_way_on(explanation):
        yield _unknown(explanation)


def advices(explanation: Explanation, links: Links) -> tuple[Advice, ...]:
    """The fixes; of what can be meant they are none."""
    label, that = ("fix", "the fix") if explanation.is_fault else ("if not meant", "that")
    made = []
    for number, fix in enumerate(explanation.fixes, 1):
        name = label if len(explanation.fixes) == 1 else f"{label} {number}"
        short = name if explanation.is_fault and name != label else that
        changes = [_change(one, links) for one in (fix, *fix.also) if one.code or one.at]
        made.append(Advice(name, short, cleaned(fix.does), tuple(changes)))
    return tuple(made)


def _change(fix: Fix, links: Links) -> CodeBlock:
    lines = tuple(code_lines(fix.code)) if fix.code.strip() else ()
    if fix.at is None or fix.how not in PLACES:
        return CodeBlock(lines)
    place = PLACES[fix.how] if lines else "without"
    old = clean(fix.at.text) if fix.how == "instead" else ""
    return CodeBlock(lines, say("{} {}", place, links.line(links.known_line(fix.at))), old)


def code_lines(code: str) -> list[str]:
    """Python to type, line by line, as data."""
    return [clean(line.expandtabs(4)) for line in code.rstrip("\n").split("\n")]


def explained(recording: Recording) -> dict[int, tuple[Explanation, ...]]:
    """The explanations of a recording by the step at which they were noticed: all that is marked.

    An error that autograd did not raise is left out: the caption has its name, and no more is
    known.
    """
    return _by_step(recording, "fault")


def worth_a_look(recording: Recording) -> dict[int, tuple[Explanation, ...]]:
    """What is only worth a look, by step: it is listed there, and nothing is marked."""
    return _by_step(recording, "worth a look")


def _by_step(recording: Recording, rank: Rank) -> dict[int, tuple[Explanation, ...]]:
    found: dict[int, tuple[Explanation, ...]] = {}
    for one in recording.explanations:
        is_empty = one.kind == "other" and not (one.causes or one.already or one.node)
        if one and one.rank == rank and one.step is not None and not is_empty:
            found[one.step] = (*found.get(one.step, ()), one)
    return found


def _saved(explanation: Explanation, links: Links) -> Sentence:
    """``result of ExpBackward0, saved @v0, now @v1``."""
    words = [Sentence(clean(explanation.saved or ""))]
    if explanation.node_name:
        words.append(say(" of {}", links.node))
    if explanation.saved_version is not None:
        words.append(say(", saved {}", formatting.at_version(explanation.saved_version)))
    if explanation.current_version is not None:
        words.append(say(", now {}", formatting.at_version(explanation.current_version)))
    return Sentence(*words)


def _label(cause: Cause, explanation: Explanation) -> str:
    """The label of a cause other than the culprit; a write is labelled by whether it came later.

    What the line that raised was about to do is no earlier backward, and no write.
    """
    culprit = explanation.causes[0]
    if cause.at is not None and cause.at == explanation.noticed and not explanation.is_silent:
        return CAUSES["save" if cause.kind == "save" else "other"]
    if cause.kind != "write":
        return CAUSES[cause.kind]
    steps = [one.at.step for one in (culprit, cause) if one.at and one.at.step is not None]
    is_later = steps == sorted(steps) if len(steps) == 2 else culprit.kind == "write"
    return AGAIN if is_later else CAUSES["write"]


def _cause(cause: Cause, name: str, links: Links) -> Field:
    what = cleaned(cause.what)
    if cause.at is None:
        return Field(name, (what or Sentence("not known"),))
    line = _line_of(name, cause.at, links)
    return Field(name, tuple(filter(None, (*line.values, what))), line.code)


def _noticed(at: CodeLine, explanation: Explanation, links: Links) -> Field:
    if not explanation.is_fault:
        return _line_of("seen at", at, links)
    return _line_of("takes effect" if explanation.is_silent else "noticed", at, links)


def _line_of(name: str, at: CodeLine, links: Links) -> Field:
    return Field(name, (links.line(at),), clean(at.text))
