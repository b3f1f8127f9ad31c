"""What IPython shows of an error: in a recorded cell the user's own frames, in others a line that
says what explains an error of autograd."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

HINT: Final = "gradviz: %gradviz explain shows the line and the variable behind this error"


_FILE: Final = re.compile(r"File (.+?):\d+(?:, in .*)?$")
"""How IPython begins what it shows of a frame in a file."""
_COLOURS: Final = re.compile(r"\x1b\[[\d;]*m")


class Tracebacks:
    """Changes what IPython shows of an error: the line and the frames; the rest is as it was.

    What the user's own handlers show (``set_custom_exc``, ``_render_traceback_``) is not touched,
    nor are the error, its traceback, and what ``%debug`` and ``sys.last_exc`` have.

    Args:
        shell: The ``InteractiveShell``.
        is_needed: Whether nothing else explains the error of the cell that runs.
        is_short: Whether frames of packages are left out.
    """

    def __init__(
        self, shell: Any, is_needed: Callable[[], bool], is_short: Callable[[], bool]
    ) -> None:
        self.is_on = True
        self._shell = shell
        self._is_needed = is_needed
        self._is_short = is_short
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
            if isinstance(lines, list) and self._is_short():
                lines = [*_shortened(lines)]
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


def _shortened(lines: Sequence[str]) -> Iterator[str]:
    """The parts of a traceback without frames of packages, which a line counts."""
    left_out = 0
    for line in [*lines, ""]:
        if line and _is_of_package(line):
            left_out += 1
            continue
        if left_out:
            frames = "1 frame" if left_out == 1 else f"{left_out} frames"
            yield f"    … {frames} of libraries: %%gradviz --traceback shows all\n"
            left_out = 0
        if line or not lines:
            yield line


def _is_of_package(shown: str) -> bool:
    """Whether a part of a traceback shows a frame in a file that is not the user's."""
    found = _FILE.match(_COLOURS.sub("", shown).split("\n")[0])
    if found is None:
        return False
    from gradviz.capture.installed_files import is_users

    path = os.path.expanduser(found[1])
    return os.path.exists(path) and not is_users(path)
