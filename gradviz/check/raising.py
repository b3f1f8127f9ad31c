"""A check that code raises an error of a kind."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from types import TracebackType
from typing import Any, Final, get_args

from gradviz.capture.post_mortem import post_mortem_of
from gradviz.capture.recorder import Recorder, RecordingBlock
from gradviz.check.frames import HIDDEN
from gradviz.model import CheckFailed, Explanation, GradvizError, OptionError, Recording
from gradviz.model import RecordingError as _RecordingError
from gradviz.model.explanation import SILENT, ErrorKind

__tracebackhide__ = HIDDEN

_KINDS: Final = tuple(kind for kind in get_args(ErrorKind) if kind and kind not in SILENT)
_EXPLAINED: Final = (RuntimeError, TypeError, ValueError, AttributeError)
"""Classes of the errors that autograd raises, and Python where a ``.grad`` is ``None``."""


class Raises:
    """The ``with`` block of :func:`gradviz.check.raises`."""

    def __init__(self, kind: str, recorder: Recorder) -> None:
        self._kind = kind
        self._block: RecordingBlock | None = RecordingBlock(recorder)
        self._recording: Recording | None = None
        self._complete: Callable[[Explanation], None] | None = None

    def __enter__(self) -> Explanation:
        if self._block is not None:
            try:
                self._recording = self._block.__enter__()
            except _RecordingError:  # one runs already: the error is read from its traceback
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
            self._raise_nothing()
        if not isinstance(error, _EXPLAINED) or isinstance(error, GradvizError):
            return False
        recording = self._recording if self._block is not None else post_mortem_of(error)
        found = None if recording is None else recording.explanation
        if found is None or found.is_silent:
            return False
        if found.kind == self._kind:
            if self._complete is not None:
                self._complete(found)
            return True
        if found.kind == "other":
            return False
        raise CheckFailed(
            f"{type(error).__name__} was raised, of the kind {found.kind!r}: {found.what}",
            f"an error of the kind {self._kind!r}",
            str(found.why),
            "gradviz.explain()",
        ) from error

    def _raise_nothing(self) -> None:
        found = None if self._recording is None else self._recording.explanation
        why = "each operation and each backward in the block was allowed"
        if found is not None and found.is_silent:
            why = (
                f"torch raises nothing here, though there is a fault, {found.kind!r}: {found.what}"
            )
        raise CheckFailed("nothing was raised", f"an error of the kind {self._kind!r}", why)


def raises(kind: str) -> Raises:
    """Check that the code of a ``with`` block raises an error of autograd of this kind.

    The block runs once, as it stands, and is recorded as :func:`gradviz.record` does; of the error
    the kind is compared, which is the same on every release of torch, never torch's message. An
    error that is not autograd's, such as a ``NameError``, passes through.

    Args:
        kind: One of the kinds of :attr:`gradviz.Explanation.kind` that torch raises: ``"graph
            freed"``, ``"saved tensor written"``, …

    Returns:
        What ``with`` binds is an :class:`~gradviz.Explanation`, filled when the error was raised.

    Raises:
        CheckFailed: If nothing is raised, or an error of another kind.
        OptionError: If there is no such kind.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> loss = (w * w).sum()
        >>> loss.backward()
        >>> with gradviz.check.raises("graph freed") as error:
        ...     loss.backward()
        >>> error.raised
        'RuntimeError'
    """
    return Raises(_known(kind), Recorder((), None))


def _known(kind: Any) -> str:
    if isinstance(kind, str) and kind in _KINDS:
        return kind
    if isinstance(kind, str) and kind in SILENT:
        raise OptionError(
            f"torch raises nothing for {kind!r}, so no code can be checked for raising it. "
            "Type: gradviz.explain(recording), which finds it"
        )
    near = get_close_matches(str(kind), _KINDS, 1) if isinstance(kind, str) else []
    hint = f"did you mean {near[0]!r}?" if near else f"the kinds are {', '.join(_KINDS)}."
    raise OptionError(
        f"there is no kind of error {kind!r:.60}; {hint} "
        'Type: with gradviz.check.raises("graph freed"): loss.backward()'
    )
