"""What an explanation consists of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gradviz.model.audit import Audit
from gradviz.model.explanation import Explanation
from gradviz.model.explanations import Explanations
from gradviz.model.report import Report
from gradviz.model.sentence import Sentence
from gradviz.view.contents.report import head
from gradviz.view.explanations.fields import advices, first_fields, more_fields, title_of
from gradviz.view.explanations.links import Links
from gradviz.view.parts.part import (
    Details,
    Field,
    FieldList,
    ItemList,
    Paragraph,
    Part,
    Parts,
    Region,
)
from gradviz.view.text import clean, cleaned

NOTHING: Final = "nothing to explain: no error was raised"
NO_FAULT: Final = "no error was raised, and no gradient is known to be wrong"
ALL_WELL: Final = f"nothing to explain: {NO_FAULT}"


def explanation_parts(explanation: Explanation) -> Parts:
    """The region of an explanation, or that there is none.

    Examples:
        >>> from gradviz.view.parts.text import as_text
        >>> one = Explanation("not a scalar", "RuntimeError", "loss has shape (2,)")
        >>> print(as_text(explanation_parts(one)))
        what: loss has shape (2,)
        kind: not a scalar
        raised: RuntimeError
    """
    return Parts(((region(explanation) if explanation else Paragraph(Sentence(NOTHING)),),))


def explanations_parts(found: Explanations) -> Parts:
    """What is wrong: errors and faults, else parameters without a gradient, else that nothing is.

    Below are the answers of reports in which nothing is wrong, but not below an error.
    """
    regions = [(region(one),) for one in found]
    wrong = [head(one) for one in found.reports if _has_missing(one)]
    if any(one.is_fault for one in found):
        return Parts((*regions, *wrong))
    well = Paragraph(Sentence(NO_FAULT if regions or wrong else ALL_WELL))
    numbered = enumerate(found.reports)
    fine = [_in_short(place, one) for place, one in numbered if not _has_missing(one)]
    return Parts((*wrong, (well,), *regions, *fine))


def _has_missing(report: Report) -> bool:
    """Whether it is an audit that has parameters without a gradient."""
    return isinstance(report, Audit) and any(row.gets_gradient is False for row in report)


def _in_short(place: int, report: Report) -> tuple[Part, ...]:
    """The answer of a report; the rest folded."""
    title, *sentences = head(report)
    notes = [ItemList(tuple(map(cleaned, report.notes)))] if report.notes else []
    more = (*sentences, *notes)
    return (title, *([Details("more", more, f"more in .reports[{place}]")] if more else ()))


def region(explanation: Explanation) -> Region:
    """What happened, the first fields and the first fix; the rest folded."""
    links = Links(explanation)
    fixes = advices(explanation, links)
    name, tone = title_of(explanation)
    what = "what" if explanation.is_fault else name
    more: list[Part] = [*fixes[1:]]
    if explanation.why:
        more.append(Paragraph(cleaned(explanation.why), "why"))
    more += _fields(more_fields(explanation, links))
    first = [Paragraph(cleaned(explanation.what), what, "what")] if explanation.what else []
    kind, raised = clean(explanation.kind), cleaned(explanation.raised or "nothing")
    return Region(
        title=name,
        kind=kind,
        tone=tone,
        label=f"{name}: {kind}",
        parts=(
            *first,
            *_fields(first_fields(explanation, links)),
            *fixes[:1],
            *([Details("more", tuple(more))] if more else ()),
        ),
        end=(Field("kind", (Sentence(kind),)), Field("raised", (raised,))),
    )


def _fields(fields: Iterator[Field]) -> list[FieldList]:
    found = tuple(fields)
    return [FieldList(found)] if found else []
