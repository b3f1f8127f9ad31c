"""Why a recording ended in an error, and which of its gradients are wrong without an error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable

from gradviz.analysis.explain.raised_errors import errors_in
from gradviz.analysis.explain.silent_faults import silent_in
from gradviz.model.explanation import Explanation
from gradviz.model.recording import Recording


def explanations_of(recording: Recording) -> tuple[Explanation, ...]:
    """Everything that can be explained, in the order of the steps at which it was noticed; what is
    only worth a look comes last."""
    found: list[Explanation] = []
    looks: tuple[Callable[[Recording], Iterable[Explanation]], ...] = (errors_in, silent_in)
    for look in looks:
        try:
            found += look(recording)
        except Exception as problem:
            # A recording can be shown without its explanation, so it must not be lost.
            warnings.warn(
                f"gradviz has a bug: this recording cannot be explained "
                f"({type(problem).__name__}: {problem})",
                RuntimeWarning,
                stacklevel=2,
            )
    return tuple(sorted(found, key=lambda one: (not one.is_fault, one.step is None, one.step or 0)))
