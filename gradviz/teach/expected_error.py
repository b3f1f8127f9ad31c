"""Code that is expected to fail: the error is caught, kept, and explained."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

from gradviz.capture.post_mortem import post_mortem_of
from gradviz.capture.recorder import BUDGET, Recorder, RecordingBlock
from gradviz.model import Explanation, GradvizError, NothingRaisedError, Recording, RecordingError
from gradviz.model.arguments import flag

_EXPLAINED: Final = (RuntimeError, TypeError, ValueError, AttributeError)
"""Classes of the errors that autograd raises, and Python where a ``.grad`` is ``None``."""


class ExpectedError:
    """The ``with`` block of :func:`gradviz.expect_error`."""

    def __init__(self, record: bool, into: Any, only: Any, budget: int) -> None:
        # Made here, so that a bad argument raises before the block runs.
        recorder = Recorder(into, only, budget=budget)
        self._block: RecordingBlock | None = RecordingBlock(recorder) if record else None
        self._recording: Recording | None = None
        self._complete: Callable[[Explanation], None] | None = None

    def __enter__(self) -> Explanation:
        if self._block is not None:
            try:
                self._recording = self._block.__enter__()
            except RecordingError:  # one runs already, and it will explain the error as well
                self._block = None
        explanation, self._complete = Explanation.pending()
        return explanation

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if self._block is not None:
            self._block.__exit__(kind, error, traceback)
        if error is None:
            self._explain_silence()
            return False
        if not isinstance(error, _EXPLAINED) or isinstance(error, GradvizError):
            return False
        recording = self._recording if self._block is not None else post_mortem_of(error)
        found = None if recording is None else recording.explanation
        if found is None or found.is_silent:
            return False
        if self._complete is not None:
            self._complete(found)
        return found.kind != "other" or isinstance(error, RuntimeError)

    def _explain_silence(self) -> None:
        found = None if self._recording is None else self._recording.explanation
        if found is None:
            watched = "" if self._block is not None else (
                " (it was not recorded, so faults without an error are not found)"
            )  # fmt: skip
            raise NothingRaisedError(
                f"nothing was raised in this block{watched}, and gradviz found nothing wrong "
                "with its gradients. expect_error() is for code that fails: if the code works now, "
                "remove the with statement"
            )
        if self._complete is not None:
            self._complete(found)


def expect_error(
    *, record: bool = True, into: Any = (), only: Any = None, budget: int = BUDGET
) -> ExpectedError:
    """Catch an error of autograd in a ``with`` block, keep it, and explain it.

    The block is recorded, as :func:`gradviz.record` does; from the recording the error is
    explained: which variable, which node saved it, which line is the culprit, what to type
    instead. The fields of the explanation are the same on every release of torch and on every
    device, so they can be printed in a lesson that nbval checks. If torch raises no error and a
    gradient is wrong, that is explained.

    Args:
        record: Whether the block is recorded. Without, or inside another recording, the
            explanation says what can be known from the exception and the live graph, and what a
            recording would add.
        into: As in :func:`gradviz.record`: what is followed into besides your own code.
        only: As in :func:`gradviz.record`: what is followed into, and nothing else.
        budget: As in :func:`gradviz.record`: how many steps, events and rows are kept.

    Returns:
        What ``with`` binds is an :class:`Explanation`: empty while the block runs, filled when
        the error has been raised. It can be printed, displayed as a card, and shown as a player
        or picture by :func:`gradviz.show`.

    Raises:
        NothingRaisedError: If the block raised nothing and none of its gradients is known to be
            wrong.
        RecordingError: As :func:`gradviz.record`, for ``into`` and ``only``.
        OptionError: As :func:`gradviz.record`, for ``budget``.

    Errors that are not autograd's pass through: a misspelt name stays a ``NameError``.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.ones(2, requires_grad=True)
        >>> with gradviz.expect_error() as error:
        ...     h = a.exp()
        ...     _ = h.add_(1)
        ...     h.sum().backward()
        >>> error.kind, error.raised
        ('saved tensor written', 'RuntimeError')
    """
    return ExpectedError(flag("record", record), into, only, budget)
