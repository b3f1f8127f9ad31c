"""The public function that explains: everything that is known to be wrong, in one result."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from gradviz.analysis.audit.recorded_input import audit_in
from gradviz.analysis.explain.fault_table import faults_of
from gradviz.analysis.memory.count import memory_over
from gradviz.capture.post_mortem import post_mortem_of
from gradviz.capture.recorder.earlier import EARLIER
from gradviz.model import GradvizError, NothingRaisedError, OptionError, Recording
from gradviz.model.explanation import Explanation
from gradviz.model.explanations import Explanations
from gradviz.model.formatting import a_kind
from gradviz.model.progress import working
from gradviz.model.report import Report


def explain(what: BaseException | Recording | Explanation | None = None, /) -> Explanations:
    """Explain an error after the fact, or list everything that is known to be wrong in a recording.

    Of an error: what torch was missing, which variable it is about, which line is the culprit, and
    what to type instead. If the code that raised it was recorded (:func:`record`, ``%%gradviz``,
    or ``%gradviz on`` before it ran), that is read from the recording. Else it is read from the
    traceback, the variables of its frames, and the graphs behind them as they are now; what only
    a recording would show is named, with what to type.

    Of a recording: the error that left the code, faults for which torch raises no error, errors
    that the code caught, facts that are worth a look because they can be meant (``.rank`` of each
    says which it is), what :func:`audit` says about the last loss, and what :func:`memory` says.

    Reads only, as :func:`snapshot` does.

    Args:
        what: An exception; a :class:`Recording`; or an :class:`Explanation`, for all that its
            recording shows. By default the exception that is being handled (inside ``except``),
            else the last one that nothing has caught; if there is none, the last recording.

    Returns:
        Explanations, the most important first, and reports in ``.reports``. It prints all of it;
        fields of the first explanation can be read from it: ``.kind``, ``.variables``, ``.fixes``.

    Raises:
        NothingRaisedError: If there is no exception and no recording.
        OptionError: If ``what`` is something else.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.ones(2, requires_grad=True)
        >>> h = a.exp()
        >>> try:
        ...     h.add_(1).sum().backward()
        ... except RuntimeError:
        ...     found = gradviz.explain()
        >>> found.kind, found.variables
        ('saved tensor written', ('h',))
    """
    with working("explain"):
        return _explained(what)


def _explained(what: BaseException | Recording | Explanation | None) -> Explanations:
    if what is None:
        error = _last_error()
        if error is not None:
            return of_error(error)
        if EARLIER.last is None:
            raise NothingRaisedError(
                "there is nothing to explain: no exception was raised, and nothing was recorded. "
                "Pass one, gradviz.explain(error), or record the code: "
                "with gradviz.record() as recording: ... and then gradviz.explain(recording)"
            )
        return of_recording(EARLIER.last)
    if isinstance(what, BaseException):
        return of_error(what)
    if isinstance(what, Recording):
        return of_recording(what)
    if isinstance(what, Explanation):
        return Explanations() if what.recording is None else of_recording(what.recording)
    raise OptionError(
        f"explain() takes an exception or a Recording, not {a_kind(what)}: "
        "gradviz.explain(error), gradviz.explain(recording)"
    )


def of_error(error: BaseException) -> Explanations:
    """An exception, or what it was raised from, explained from its recording or its traceback."""
    found: list[tuple[Recording, int]] = []
    for one in _chain(error):
        found.append(_where_it_arose(one))
        if _explained_in(*found[-1]) and not isinstance(error, BaseExceptionGroup):
            break
    steps: dict[int, tuple[Recording, list[int]]] = {}
    for recording, step in [one for one in found if _explained_in(*one)] or found[:1]:
        steps.setdefault(id(recording), (recording, []))[1].append(step)
    all_of = [of_recording(*one) for one in steps.values()]
    return (
        Explanations(chain.from_iterable(all_of), all_of[0].reports) if all_of else Explanations()
    )


def of_recording(recording: Recording, first: Sequence[int] = ()) -> Explanations:
    """All that is known to be wrong in a recording, and what its graph keeps.

    Args:
        recording: The recording.
        first: The steps whose errors come first; by default that of the error that left the code.
    """
    reports = tuple(_reports(recording)) if recording.kind == "whole" else ()
    return Explanations(_ordered(recording, first), reports)


def is_autograds(error: BaseException) -> bool:
    """Whether an exception can be explained; its message is looked at before any graph is."""
    return next(autograds(error), None) is not None


def autograds(error: BaseException, said: str = "") -> Iterator[Explanation]:
    """The explanation of an exception, or of what it was raised from; of a group one for each that
    can be explained; none if autograd raised none of them.

    Args:
        error: The exception; its message is looked at before any graph is.
        said: As :func:`~gradviz.capture.post_mortem.post_mortem_of` takes it.
    """
    for one in _chain(error):
        faults = faults_of(type(one).__name__, str(one))
        if isinstance(one, Exception) and any(fault.kind != "other" for fault in faults):
            explained = _explained_in(*_where_it_arose(one, said))
            yield from explained
            if explained and not isinstance(error, BaseExceptionGroup):
                return


def _where_it_arose(error: BaseException, said: str = "") -> tuple[Recording, int]:
    """The recording in which an exception arose, else what is left of it; and its step there."""
    seen = EARLIER.that_saw(error)
    if seen is None:
        left = post_mortem_of(error, said)
        seen = left, len(left.records) - 1
    return seen


def _explained_in(recording: Recording, step: int) -> list[Explanation]:
    """The explanation of the error that was raised at a step, if it has one."""
    found = [one for one in recording.explanations if one.step == step and one.raised is not None]
    return [one for one in found if one.kind != "other"]


def _last_error() -> BaseException | None:
    """The exception that is being handled, else the last one that nothing has caught."""
    handled = sys.exception()
    if handled is not None:
        return handled
    last: Any = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return last if isinstance(last, BaseException) else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception, those of a group, and those that they were raised from or while handling."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen or isinstance(one, GradvizError):
            continue
        seen.add(id(one))
        yield one
        waiting.append(one.__cause__ or (None if one.__suppress_context__ else one.__context__))
        if isinstance(one, BaseExceptionGroup):
            waiting += reversed(one.exceptions)


def _ordered(recording: Recording, first: Sequence[int | None]) -> Iterator[Explanation]:
    """The error that left the code, faults without an error, errors that the code caught, what is
    worth a look."""
    error = recording.at_error
    at_end = None if error is None else error.index

    def place(one: Explanation) -> int:
        if one.raised is not None and one.step in (first or [at_end]):
            return 0
        return 2 - one.is_silent if one.is_fault else 3

    return iter(sorted(recording.explanations, key=place))


def _reports(recording: Recording) -> Iterator[Report]:
    audit = audit_in(recording)
    if audit is not None:
        yield audit
    if recording.history.node_ids:  # without a graph there is none that keeps anything
        yield memory_over(recording)
