"""An explanation as text: what ``print(error)`` writes and nbval compares."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from textwrap import wrap
from typing import Final

from gradviz.model.explanation import Explanation, Fix
from gradviz.model.explanations import Explanations
from gradviz.model.report import Report
from gradviz.view.explanations.fields import changes_of, fields_of
from gradviz.view.explanations.links import Links
from gradviz.view.text import clean, cleaned

WIDTH: Final = 88
INDENT: Final = "    "
NOTHING: Final = "nothing to explain: no error was raised"
ALL_WELL: Final = f"{NOTHING}, and no gradient is known to be wrong"


def explanation_text(explanation: Explanation) -> str:
    """The fields of an explanation, the same on every release of torch and on every device.

    One line per field, after its name; long values continue in indented lines. Source text is
    never broken.

    Examples:
        >>> print(explanation_text(Explanation("not a scalar", "RuntimeError", "loss is (2,)")))
        kind: not a scalar
        raised: RuntimeError
        what: loss is (2,)
    """
    if not explanation:
        return NOTHING
    return "\n".join(_lines(explanation))


def explanations_text(found: Explanations) -> str:
    """All explanations, then title and sentences of each report.

    Examples:
        >>> one = Explanation("not a scalar", "RuntimeError", "loss is (2,)")
        >>> print(explanations_text(Explanations([one])))
        kind: not a scalar
        raised: RuntimeError
        what: loss is (2,)
        >>> print(explanations_text(Explanations()))
        nothing to explain: no error was raised, and no gradient is known to be wrong
    """
    parts = [*map(explanation_text, found)] or [ALL_WELL]
    return "\n\n".join((*parts, *map(_report, found.reports)))


def _report(report: Report) -> str:
    sentences = (_wrapped(clean(one), INDENT) for one in report.sentences)
    return "\n".join((clean(report.title), *chain.from_iterable(sentences)))


def _lines(explanation: Explanation) -> Iterator[str]:
    links = Links(explanation)
    yield from _field("kind", clean(explanation.kind))
    yield from _field("raised", clean(explanation.raised or "nothing"))
    yield from _field("what", cleaned(explanation.what))
    yield from _field("why", cleaned(explanation.why))
    for field in fields_of(explanation, links):
        first, *others = field.values
        if field.code:
            yield f"{field.name}: {first}: {field.code}"
        else:
            yield from _field(field.name, first)
        for value in others:
            name = "" if field.code or field.name == "culprit" else field.name
            yield from _field(name, value) if name else _wrapped(value, INDENT)
    for number, fix in enumerate(explanation.fixes, 1):
        yield from _fix(number, fix, links)


def _field(name: str, value: str) -> Iterator[str]:
    if value:
        yield from _wrapped(f"{name}: {value}", "")


def _fix(number: int, fix: Fix, links: Links) -> Iterator[str]:
    yield from _field(f"fix {number}", cleaned(fix.does) or "type this")
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
