"""Where files are written: what ``save`` was asked to write, or why it cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

from gradviz.model.errors import FileError


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file.

    Args:
        path: Where to.
        content: Its text, or its bytes.

    Raises:
        FileError: If it cannot be written.

    Examples:
        >>> write_file("no such folder/graph.svg", "<svg/>")
        Traceback (most recent call last):
            ...
        gradviz.model.errors.FileError: cannot write 'no such folder/graph.svg': ...
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        folder = os.fspath(Path(path).parent)
        is_there = os.path.isdir(folder)
        why = f"{error.strerror}" if is_there else f"there is no folder {folder!r}"
        advice = "Name another file" if is_there else "Make it first, or name another"
        raise FileError(f"cannot write {os.fspath(path)!r}: {why}. {advice}") from None
