"""The line of the user's code that made a node, from what anomaly mode left in it."""

from __future__ import annotations

import os
import re
from typing import Any, Final

from gradviz.capture import autograd
from gradviz.capture.installed_files import is_users
from gradviz.model.source_line import SourceLine

_FRAME = re.compile(r'\s*File "(?P<file>.*)", line (?P<line>\d+), in [^\n]*\n\s*(?P<code>[^\n]*)')
_CELL = re.compile(r"^<ipython-input-|[/\\]ipykernel_\d+[/\\]")
_ALL_READ_UP_TO: Final = 2_000


def sources(nodes: list[Any]) -> list[SourceLine | None]:
    """Source line of each node, ``None`` where torch does not know it (F6.01).

    Reading a node's ``metadata`` makes the dictionary if it is not there. So in graphs of more
    than 2,000 nodes it is read only if anomaly mode is on, or was when the first root was made.
    """
    if not nodes:
        return []
    is_small = len(nodes) <= _ALL_READ_UP_TO
    if not is_small and not autograd.anomaly_mode_is_on() and _frames(nodes[0]) is None:
        return [None] * len(nodes)
    return [_line(frames) if frames else None for frames in autograd.forward_tracebacks(nodes)]


_frames = autograd.forward_traceback


def _line(frames: list[str]) -> SourceLine | None:
    """The last frame that is the user's, as ``"line 3: y = x * 2"`` or ``"model.py:12: …"``."""
    for frame in reversed(frames):
        found = _FRAME.match(frame)
        if found is None:
            continue
        file, line, code = found["file"], found["line"], found["code"].strip()
        if _CELL.search(file) or file.startswith("<"):
            return SourceLine(f"line {line}: {code}", int(line), code)
        if is_users(file):
            name = os.path.basename(file)
            return SourceLine(f"{name}:{line}: {code}", int(line), code, name)
    return None
