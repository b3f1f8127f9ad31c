"""What is found about gradients through a recording, in sentences that state facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, sqrt
from typing import Final

from gradviz.analysis.audit.naming import Naming
from gradviz.model.formatting import number, plural
from gradviz.model.gradient_flow import BackwardFlow, ParameterFlow, ReluFlow
from gradviz.model.sentence import listed

APART: Final = 1e6
"""Gradients of two parameters in one backward that are this many times apart are named."""
GROWN: Final = 1e3
"""A norm of all gradients that is this many times the first, or a part of it, is named."""
_FEW: Final = 3


def title_of(rows: Sequence[ParameterFlow], backwards: Sequence[BackwardFlow]) -> str:
    """The answer: how many gradients are broken or missing, or that all are there."""
    if not backwards:
        return "The recording has no backward"
    if not rows:
        return f"No parameter got a gradient in {plural(len(backwards), 'backward')}"
    count, run = plural(len(rows), "parameter"), f"in {plural(len(backwards), 'backward')}"
    broken = sum(row.broken > 0 for row in rows)
    if broken:
        first = next(
            one
            for place, one in enumerate(backwards)
            if any(_is_broken(row.norms[place]) for row in rows)
        )
        when = f"first in backward {first.number}{_in_line(first)}"
        return f"{broken:,} of {count} got a gradient with nan or inf, {when}"
    none = sum(not any(row.given) for row in rows)
    if none:
        return f"{none:,} of {count} got no gradient {run}"
    zeros = sum(_has_only_zeros(row) for row in rows)
    if zeros:
        return f"{zeros:,} of {count} got only zeros as gradient {run}"
    still = sum(row.moved is False for row in rows)
    end = f", and {still:,} never moved" if still else ""
    every = "The one parameter" if len(rows) == 1 else f"All {count}"
    return f"{every} got a gradient {run}{end}"


def _has_only_zeros(row: ParameterFlow) -> bool:
    return bool(row.zeros) and row.zeros == sum(row.given)


def notes_of(rows: Sequence[ParameterFlow]) -> tuple[str, ...]:
    """Those of the sentences that follow from another one: without a gradient no step moves a
    parameter."""
    named = Naming([row.name for row in rows])
    without = {row.name for row in rows if not any(row.given)}
    return tuple(
        words for names, words in _still_by_reason(rows, named) if without.issuperset(names)
    )


def sentences_of(
    rows: Sequence[ParameterFlow],
    backwards: Sequence[BackwardFlow],
    relus: Sequence[ReluFlow],
    has_more: bool,
) -> Iterator[str]:
    """The findings, most important first."""
    if not backwards:
        yield "Record the lines that call backward(): with gradviz.record() as recording: …"
        return
    named = Naming([row.name for row in rows])
    yield from _broken(rows, backwards, named)
    yield from _skipped(backwards)
    yield from _zeros(rows, named)
    yield from _relus(relus)
    yield from _without(rows, named)
    yield from (words for _, words in _still_by_reason(rows, named))
    yield from _apart(rows, backwards)
    yield from _grown(backwards)
    yield from _not_recorded(rows)
    if has_more:
        yield (
            "The recording is longer than its budget: backwards in its middle are counted, not "
            "listed. gradviz.record(budget=…) lists more."
        )


def _broken(
    rows: Sequence[ParameterFlow], backwards: Sequence[BackwardFlow], named: Naming
) -> Iterator[str]:
    for place, backward in enumerate(backwards):
        bad = [row.name for row in rows if _is_broken(row.norms[place])]
        if bad:
            later = sum(
                any(_is_broken(row.norms[at]) for row in rows)
                for at in range(place + 1, len(backwards))
            )
            more = f", and {plural(later, 'backward')} after it gave some too" if later else ""
            yield (
                f"Backward {backward.number}{_in_line(backward)} is the first that gave nan or "
                f"inf: {named(bad)}{more}."
            )
            return


def _is_broken(norm: float | None) -> bool:
    return norm is not None and not isfinite(norm)


def _skipped(backwards: Sequence[BackwardFlow]) -> Iterator[str]:
    skipped = [one.number for one in backwards if one.is_skipped]
    if skipped:
        which = listed([f"backward {number_}" for number_ in skipped], _FEW)
        yield (
            f"{plural(len(skipped), 'step')} of {len(backwards):,} skipped: the line that steps "
            f"ran no optimizer step after {which}, as a GradScaler does at nan or inf."
        )


def _zeros(rows: Sequence[ParameterFlow], named: Naming) -> Iterator[str]:
    always = [row.name for row in rows if _has_only_zeros(row)]
    if always:
        yield f"{named(always)}: every gradient is all zeros."


def _relus(relus: Sequence[ReluFlow]) -> Iterator[str]:
    for one in relus[:_FEW]:
        count = f"{len(one.backwards):,} of {plural(one.total, 'backward')}"
        yield (
            f"The ReLU {one.name} passed no gradient on in {count}: all of its inputs were 0 or "
            "less."
        )
    if len(relus) > _FEW:
        yield f"{plural(len(relus) - _FEW, 'more ReLU')} passed none on either: see the table."


def _without(rows: Sequence[ParameterFlow], named: Naming) -> Iterator[str]:
    none = [row.name for row in rows if not any(row.given)]
    if none:
        yield f"No backward gave {named(none)} a gradient; gradviz.audit() says why."


def _still_by_reason(
    rows: Sequence[ParameterFlow], named: Naming
) -> Iterator[tuple[list[str], str]]:
    """Parameters that never moved, with the sentence about them."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        if row.moved is False:
            groups.setdefault(row.still, []).append(row.name)
    for why, names in groups.items():
        yield names, f"{named(names)} never moved: {why}."


def _apart(rows: Sequence[ParameterFlow], backwards: Sequence[BackwardFlow]) -> Iterator[str]:
    """The first backward in which gradients are far apart, per element."""
    found: list[tuple[int, str]] = []
    for place, backward in enumerate(backwards):
        sizes = [
            (norm / sqrt(row.elements), row.name)
            for row in rows
            if row.elements and (norm := row.norms[place]) and isfinite(norm)
        ]
        if len(sizes) > 1 and max(sizes)[0] > APART * min(sizes)[0]:
            (small, low), (large, high) = min(sizes), max(sizes)
            found.append(
                (
                    place,
                    f"In backward {backward.number}{_in_line(backward)} an element of the gradient "
                    f"of {low} is about {number(small)}, one of {high} about {number(large)}: "
                    f"more than {APART:,.0f} times as much",
                )
            )
    if found:
        more = len(found) - 1
        yield f"{found[0][1]}{f'; so in {more:,} more' if more else ''}."


def _grown(backwards: Sequence[BackwardFlow]) -> Iterator[str]:
    known = [(one.norm, one) for one in backwards if one.norm and isfinite(one.norm)]
    if len(known) < 2:
        return
    first = known[0][0]
    most = max(known, key=lambda pair: pair[0])
    least = min(known, key=lambda pair: pair[0])
    begins = f"of backward {known[0][1].number} ({number(first)})"
    if most[0] > GROWN * first:
        yield (
            f"The norm of all gradients is {number(most[0])} in backward {most[1].number}"
            f"{_in_line(most[1])}: more than {GROWN:,.0f} times that {begins}."
        )
    if least[0] * GROWN < first:
        yield (
            f"The norm of all gradients is {number(least[0])} in backward {least[1].number}"
            f"{_in_line(least[1])}: less than a {GROWN:,.0f}th of that {begins}."
        )


def _not_recorded(rows: Sequence[ParameterFlow]) -> Iterator[str]:
    pairs = [
        norm for row in rows for norm, given in zip(row.norms, row.given, strict=True) if given
    ]
    missing = sum(norm is None for norm in pairs)
    if missing:
        yield (
            f"{missing:,} of {plural(len(pairs), 'norm')} not recorded: "
            "gradviz.record(values=True) reads them all."
        )


def _in_line(backward: BackwardFlow) -> str:
    at = backward.at
    return "" if at is None or at.line is None else f" (line {at.line})"
