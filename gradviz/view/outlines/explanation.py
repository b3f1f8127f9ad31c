"""An explanation as text: what ``print(error)`` writes and nbval compares."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from textwrap import wrap
from typing import Final

from gradviz.model.explanation import Explanation, Fix
from gradviz.model.explanations import Explanations
from gradviz.model.report import Report
from gradviz.view.explanations.fields import (
    Field,
    changes_of,
    first_fields,
    fix_label,
    more_fields,
    title,
)
from gradviz.view.explanations.links import Links
from gradviz.view.text import clean, cleaned

WIDTH: Final = 88
LINES_FIRST: Final = 5
"""Most lines up to the first fix, with what happened in up to three of them."""
INDENT: Final = "    "
NOTHING: Final = "nothing to explain: no error was raised"
NO_FAULT: Final = "no error was raised, and no gradient is known to be wrong"
ALL_WELL: Final = f"nothing to explain: {NO_FAULT}"


def explanation_text(explanation: Explanation) -> str:
    """The fields of an explanation, the same on every release of torch and on every device.

    What happened, the culprit and the first fix come first, in five lines at most. One line per
    field, after its name; long values continue in indented lines. Source text is never broken.

    Examples:
        >>> print(explanation_text(Explanation("not a scalar", "RuntimeError", "loss is (2,)")))
        what: loss is (2,)
        kind: not a scalar
        raised: RuntimeError
    """
    if not explanation:
        return NOTHING
    return "\n".join(_lines(explanation))


def explanations_text(found: Explanations) -> str:
    """All explanations, then title and sentences of each report.

    Examples:
        >>> one = Explanation("not a scalar", "RuntimeError", "loss is (2,)")
        >>> print(explanations_text(Explanations([one])))
        what: loss is (2,)
        kind: not a scalar
        raised: RuntimeError
        >>> print(explanations_text(Explanations()))
        nothing to explain: no error was raised, and no gradient is known to be wrong
    """
    parts = [*map(explanation_text, found)]
    if not any(one.is_fault for one in found):
        parts.insert(0, NO_FAULT if parts else ALL_WELL)
    return "\n\n".join((*parts, *map(_report, found.reports)))


def _report(report: Report) -> str:
    sentences = (_wrapped(clean(one), INDENT) for one in report.sentences)
    return "\n".join((clean(report.title), *chain.from_iterable(sentences)))


def _lines(explanation: Explanation) -> Iterator[str]:
    links = Links(explanation)
    yield from (first := list(_first(explanation, links)))
    told, others = _fixes(explanation, links, LINES_FIRST - len(first))
    yield from told
    yield from others
    yield from _field("why", cleaned(explanation.why))
    for field in more_fields(explanation, links):
        yield from _fact(field)
    yield from _field("kind", clean(explanation.kind))
    yield from _field("raised", clean(explanation.raised or "nothing"))


def _first(explanation: Explanation, links: Links) -> Iterator[str]:
    yield from _field(
        "what" if explanation.is_fault else title(explanation), cleaned(explanation.what)
    )
    for field in first_fields(explanation, links):
        yield from _fact(field)


def _fixes(explanation: Explanation, links: Links, room: int) -> tuple[list[str], list[str]]:
    """The lines of the fixes that come first, as much as there is room, and the other ones."""
    if not explanation.fixes:
        return [], []
    label, (first, *others) = fix_label(explanation), explanation.fixes
    name = f"{label} 1" if others else label
    does = list(_field(name, cleaned(first.does) or "type this"))
    changes = list(_changes(first, links))
    further = [
        line
        for number, fix in enumerate(others, 2)
        for line in (
            *_field(f"{label} {number}", cleaned(fix.does) or "type this"),
            *_changes(fix, links),
        )
    ]
    if len(does) + len(changes) <= room:
        return [*does, *changes], further
    if 0 < len(changes) <= room:
        typed = [f"{name}: {changes[0].strip()}", *changes[1:]]
        return typed, [*_field(f"about {_the(name)}", cleaned(first.does)), *further]
    below = list(_field(name, f"{cleaned(first.does)} (code below)".strip()))
    told = below if len(below) <= room else [f"{name}: see below"][: max(room, 0)]
    said = [] if told == below else _field(f"about {_the(name)}", cleaned(first.does))
    return told, [*said, f"code of {_the(name)}:", *changes, *further]


def _the(name: str) -> str:
    """``the fix``, or ``fix 1`` of several; ``that`` of a change which may not be meant."""
    if name.startswith("if not meant"):
        return "that"
    return f"the {name}" if name == "fix" else name


def _fact(field: Field) -> Iterator[str]:
    first, *others = field.values
    if field.code:
        yield f"{field.name}: {first}: {field.code}"
    else:
        yield from _field(field.name, first)
    for value in others:
        yield from _wrapped(value, INDENT) if field.code else _field(field.name, value)


def _field(name: str, value: str) -> Iterator[str]:
    if value:
        yield from _wrapped(f"{name}: {value}", "")


def _changes(fix: Fix, links: Links) -> Iterator[str]:
    for change in changes_of(fix, links):
        where, lines = change.where, change.lines
        if where and len(lines) <= 1:
            yield f"{INDENT}{': '.join((where, *lines))}"
            continue
        if where:
            yield f"{INDENT}{where}:"
        for line in lines:
            yield f"{INDENT * (2 if where else 1)}{line}".rstrip()


def _wrapped(text: str, indent: str) -> list[str]:
    return wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if indent else INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
