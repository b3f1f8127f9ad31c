"""What gradviz says of each program of the ledger, judged by the fields of its findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

from torch import Tensor

import gradviz
from gradviz.model import GradvizError, Recording
from gradviz.model.audit import Audit, ParameterAudit
from gradviz.model.explanation import CodeLine, Explanation, Fix
from gradviz.model.memory import Memory
from tests.analysis.explain.running import fixed, still_wrong
from tests.ledger.bug import Bug, Piece, Place, first_line
from tests.ledger.running import Mode, Ran, are_equal, run, values_of

MODES: Final[tuple[Mode, ...]] = ("as it comes", "cell alone")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a tool says is wrong."""

    tool: str
    """``"explanation"``, ``"report"`` (the audit of the last loss that is with explanations),
    ``"audit"`` (of what a user gives) or ``"memory"``."""
    what: str
    """Kind of the explanation; parameter and fact of the audit; what the curve shows."""
    at: CodeLine | None = None
    """The line it gives."""
    is_fault: bool = True
    """Whether it says that something is wrong; else it states a fact that is worth a look."""


class _Seen(NamedTuple):
    """What is said of one version of a program."""

    error: tuple[str, str]
    """Class and text of what it raised."""
    explanations: tuple[Explanation, ...] = ()
    findings: tuple[Finding, ...] = ()


class Result(NamedTuple):
    """What a version of a program without the fault computes; it is not recorded."""

    error: str
    """Class and text of what it raised, ``""`` if it did not."""
    values: list[Tensor]
    is_shown: bool
    """Whether the fault of a program whose result is right shows."""


class Expected(NamedTuple):
    """Right results of a program."""

    reference: Result
    fixed: tuple[Result, ...]
    also_right: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Offered:
    """A fix, and what became of the program with it."""

    code: str
    verdict: str
    """``"right"``, ``"raises ..."``, ``"another result"``, ``"still told: ..."``, ``"not
    accepted"``."""

    @property
    def is_right(self) -> bool:
        return self.verdict == "right"


@dataclass(frozen=True, slots=True)
class Judged:
    """What was said of one program in one mode."""

    bug: Bug
    mode: Mode
    error: tuple[str, str]
    """Class and text of what it raised, ``("", "None")`` if it did not."""
    kind: bool
    """Whether the kind of the error is named, and is one of those that do not mislead."""
    raises: bool
    """Whether the line that raises is named."""
    variable: bool
    """Whether the one at fault is among the first two variables."""
    culprit: bool
    """Whether a line at fault is named: by a cause, as the one that raises, or, of a silent fault,
    by what tells it."""
    first: bool
    """Whether the first cause is."""
    offered: tuple[Offered, ...]
    told_by: tuple[str, ...]
    """Tools that say of the fault what they do not say of the fixed program."""
    accused: tuple[tuple[int, Finding], ...]
    """Number of a fixed version, and what a tool says against it."""
    explanation: Explanation | None
    """That of the error; without an error the first that is about the fault."""

    @property
    def harmful(self) -> tuple[Offered, ...]:
        """Fixes that do not make the program right."""
        return tuple(fix for fix in self.offered if not fix.is_right)

    @property
    def accused_versions(self) -> int:
        """How many fixed versions a tool speaks against."""
        return len({number for number, _ in self.accused})

    @property
    def is_told(self) -> bool:
        """Whether ``gradviz.explain(recording)`` says something of the fault."""
        return not {"explanation", "report"}.isdisjoint(self.told_by)


@cache
def judged(bug: Bug, mode: Mode) -> Judged:
    """Run a program, its fixed versions, and what is offered as a fix."""
    error, explanations, findings = _seen(bug, bug.pieces, mode)
    after = [_seen(bug, bug.fixed(way), mode).findings for way in bug.fixes]
    against = {(one.tool, one.what) for one in after[0]}
    told = [one for one in findings if (one.tool, one.what) not in against]
    lines = [one.at for one in told]
    every = explanations
    if bug.is_silent:
        explanations = tuple(e for e in explanations if ("explanation", e.kind) not in against)
    found = next(iter(explanations), Explanation())
    if not bug.is_silent:
        lines = [*(cause.at for cause in found.causes), found.noticed]
    at_fault = [place_of(line) in bug.places("culprit") for line in lines]
    return Judged(
        bug=bug,
        mode=mode,
        error=error,
        kind=found.kind in bug.kinds if bug.kinds else found.kind not in ("", "other"),
        raises=place_of(found.noticed) in bug.places("raises"),
        variable=any(name in bug.variables for name in found.variables[:2]),
        culprit=any(at_fault),
        first=any(at_fault[:1]),
        offered=tuple(
            Offered(fix.code, verdict_on(bug, fix, found, every, mode)) for fix in found.fixes
        ),
        told_by=tuple(dict.fromkeys(one.tool for one in told)),
        accused=tuple(
            (n, e) for n, each in enumerate(after) for e in each if is_accusation(bug, e)
        ),
        explanation=found or None,
    )


def is_accusation(bug: Bug, one: Finding) -> bool:
    """Whether what is said of a fixed version speaks against it."""
    if one.tool in ("audit", "report"):
        return one.is_fault and not is_wanted(bug, one.what.partition(":")[0])
    return one.is_fault and one.tool == "explanation"


def is_wanted(bug: Bug, parameter: str) -> bool:
    """Whether a parameter gets no gradient because the author wants it so; explanations put the
    name of the model before its own."""
    return any(parameter == name or parameter.endswith(f".{name}") for name in bug.without_gradient)


def place_of(line: CodeLine | None) -> Place | None:
    """A line as the ledger marks it."""
    return None if line is None or line.line is None else (line.line, line.text)


def _seen(bug: Bug, pieces: Sequence[Piece], mode: Mode) -> _Seen:
    """The explanations of a program, and everything that any tool finds wrong."""
    seen: list[_Seen] = []

    def look(ran: Ran) -> None:
        recording, error = ran.recording, (ran.raised, str(ran.error))
        if recording is None:
            seen.append(_Seen(error))
            return
        explanations = gradviz.explain(recording)
        found = [
            Finding("explanation", e.kind, e.cause.at if e.cause else None, rank_of(e) == "fault")
            for e in explanations
        ]
        if not ran.error:
            for report in explanations.reports:
                if isinstance(report, Audit):
                    found += _of_rows("report", report)
                elif isinstance(report, Memory):
                    found += _of_curve(report)
            found += _of_audit(bug, ran, recording)
        seen.append(_Seen(error, tuple(explanations), tuple(found)))

    run(pieces, mode, look)
    return seen[0]


def _of_audit(bug: Bug, ran: Ran, recording: Recording) -> list[Finding]:
    """What a call of ``gradviz.audit`` in the next cell says."""
    loss, model, optimizer = bug.audit
    if not _is_there(loss, ran.space) or not _is_there(model, ran.space):
        return []
    given = [loss, model, *([optimizer] if _is_there(optimizer, ran.space) else [])]
    call = f"gradviz.audit({', '.join(given)}, recording=recording).findings"
    names = {**ran.space, "gradviz": gradviz, "recording": recording}
    try:
        rows = eval(call, names)
    except GradvizError as refused:
        return [Finding("audit", type(refused).__name__)]
    return _of_rows("audit", rows)


def rank_of(one: Explanation) -> str:
    """How certain it is that what an explanation says is wrong."""
    return getattr(one, "rank", "fault")


def _of_rows(tool: str, rows: Iterable[ParameterAudit]) -> list[Finding]:
    return [
        *(Finding(tool, f"{row.name}: {fact}", row.at) for row in rows for fact in wrong(row)),
        *(
            Finding(tool, f"{row.name}: a part is cut", cut.at, is_fault=False)
            for row in rows
            for cut in getattr(row, "partly", ())
        ),
    ]


def _is_there(text: str, space: dict[str, Any]) -> bool:
    if not text:
        return False
    try:
        return eval(text, dict(space)) is not None
    except (NameError, AttributeError):
        return False


def wrong(row: ParameterAudit) -> list[str]:
    """What an audit says against a parameter."""
    facts = {
        "gets no gradient": row.gets_gradient is False,
        "is not updated": row.updated is False,
        ".grad is of another loss": row.stale is True,
    }
    return [words for words, is_so in facts.items() if is_so]


def _of_curve(memory: Memory) -> list[Finding]:
    """Whether there is a line after which more is held in every turn than in the turn before."""
    held: dict[tuple[int | None, str, str], list[int]] = {}
    for point in memory.curve.points if memory.curve is not None else ():
        if point.level == 0:
            held.setdefault((point.line, point.code, point.text), []).append(point.held)
    return [
        Finding("memory", "more is held after each turn")
        for seen in held.values()
        if len(seen) > 2 and all(a < b for a, b in pairwise(seen))
    ][:1]


@cache
def expected(bug: Bug) -> Expected:
    """What a program computes without its fault."""
    fixed = tuple(_result(bug, bug.fixed(way), bug.shown) for way in bug.fixes)
    also_right = tuple(_result(bug, bug.fixed(way)) for way in bug.also_right)
    return Expected(_result(bug, bug.right) if bug.reference else fixed[0], fixed, also_right)


def _result(bug: Bug, pieces: Sequence[Piece], shown: str = "") -> Result:
    ran = run(pieces)
    if ran.error is not None:
        return Result(f"{ran.raised}: {ran.error}", [], False)
    is_shown = bool(shown) and bool(eval(shown, dict(ran.space)))
    return Result("", values_of(ran.space, bug.result), is_shown)


def verdict_on(
    bug: Bug,
    fix: Fix,
    told: Explanation | None = None,
    every: Sequence[Explanation] = (),
    mode: Mode = "plain",
) -> str:
    """Whether the program is right with a fix that was offered, and the fault is gone.

    Args:
        bug: The program.
        fix: The fix.
        told: What it is offered for.
        every: All that is told of the program.
        mode: How it is recorded.
    """
    after: list[Explanation] = []

    def look(ran: Ran) -> None:
        after.extend(() if ran.recording is None else ran.recording.explanations)

    if fix.how == "elsewhere":
        is_accepted = _without_spaces(fix.code) in map(_without_spaces, bug.accepted)
        return "right" if is_accepted else "not accepted"
    try:
        ran = run(pieces_with(fix, bug.pieces), mode, look)
        if ran.error is not None:
            raise ran.error
        result = values_of(ran.space, bug.result)
    except Exception as error:
        return f"raises {type(error).__name__}: {str(error)[:60]}"
    reference, of_fixes, also_right = expected(bug)
    results = (reference, *of_fixes, *also_right)
    if not any(are_equal(result, one.values) for one in results if not one.error):
        return "another result"
    still = [] if told is None else still_wrong(told, every, after)
    return f"still told: {', '.join(still)}" if still else "right"


def pieces_with(fix: Fix, pieces: Sequence[Piece]) -> list[Piece]:
    """A program with a fix applied.

    Raises:
        LookupError: If a line of the fix is in no file that is named.
    """
    edits: dict[int, list[Fix]] = {}
    for one in (fix, *fix.also):
        at = _piece_of(pieces, one.at)
        if at is None:
            raise LookupError(f"line {one.line} is in no file that is named")
        edits.setdefault(at, []).append(replace(one, also=()))
    return [_edited(pieces, at, edits.get(at, [])) for at in range(len(pieces))]


def _edited(pieces: Sequence[Piece], at: int, edits: Sequence[Fix]) -> Piece:
    """A file or cell with the changes that a fix makes there."""
    if not edits:
        return pieces[at]
    fix = replace(edits[0], also=tuple(edits[1:]))
    return pieces[at]._replace(text=fixed(pieces[at].text, fix, first_line(pieces, at)))


def _piece_of(pieces: Sequence[Piece], at: CodeLine | None) -> int | None:
    """The file or cell that has a line; of several cells that have it, the last one."""
    if at is None or at.line is None:
        return None
    name = at.code.partition(":")[0]
    for place in reversed(range(len(pieces))):
        row = at.line - first_line(pieces, place)
        lines = pieces[place].lines
        is_there = (pieces[place].name or "cell") == name and 0 <= row < len(lines)
        if is_there and lines[row].strip() == at.text:
            return place
    return None


def _without_spaces(text: str) -> str:
    return "".join(text.split())
