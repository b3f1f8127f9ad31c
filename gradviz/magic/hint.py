"""The line at the end of the tracebacks of autograd's errors that says what explains them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

HINT: Final = "gradviz: %gradviz explain shows the line and the variable behind this error"


class Hint:
    """Adds the line to what IPython shows of an error; the rest of that is as it was.

    What the user's own handlers show (``set_custom_exc``, ``_render_traceback_``) is not touched.

    Args:
        shell: The ``InteractiveShell``.
        is_needed: Whether nothing else explains the error of the cell that runs.
    """

    def __init__(self, shell: Any, is_needed: Callable[[], bool]) -> None:
        self.is_on = True
        self._shell = shell
        self._is_needed = is_needed
        self._before: Any = None
        self._ours: Any = None
        self._is_at_work = False

    def load(self) -> None:
        """Begin to add it."""
        formatter = self._shell.InteractiveTB
        self._before = formatter.structured_traceback
        self._ours = formatter.structured_traceback = self._structured

    def unload(self) -> None:
        """Add it no more; what others have put in place meanwhile stays."""
        self.is_on = False
        formatter = self._shell.InteractiveTB
        if vars(formatter).get("structured_traceback") is self._ours:
            del formatter.structured_traceback
            if formatter.structured_traceback != self._before:
                formatter.structured_traceback = self._before

    def _structured(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_at_work:  # one of the exceptions from which another one was raised
            return self._before(*args, **kwargs)
        self._is_at_work = True
        try:
            lines = self._before(*args, **kwargs)
            error = kwargs.get("evalue", args[1] if len(args) > 1 else None)
            if self.is_on and isinstance(lines, list) and self._fits(error):
                return [*lines, HINT]
            return lines
        finally:
            self._is_at_work = False

    def _fits(self, error: object) -> bool:
        if not isinstance(error, Exception) or "torch" not in sys.modules:
            return False
        if not self._is_needed():
            return False
        try:
            from gradviz.explaining import is_autograds

            return is_autograds(error)
        except Exception:
            return False  # the error itself has to be shown whatever happens here
