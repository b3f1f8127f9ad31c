"""Why a recording ended in an error, and which gradients in it are wrong in silence."""

from __future__ import annotations

from gradviz.analysis.explaining.errors import errors_in
from gradviz.analysis.explaining.silent import silent_in
from gradviz.model.explanation import Explanation
from gradviz.model.recording import Recording


def explanations_of(recording: Recording) -> tuple[Explanation, ...]:
    """Everything that can be explained, in the order of the steps at which it was noticed."""
    found = [*errors_in(recording), *silent_in(recording)]
    return tuple(sorted(found, key=lambda one: (one.step is None, one.step or 0)))
