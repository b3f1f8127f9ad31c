"""Where files are written: what ``save`` was asked to write, or why it cannot be written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from gradviz.model.errors import FileError, OptionError


def ending_of(path: str | os.PathLike[str]) -> str:
    """The ending of the name of a file.

    Raises:
        OptionError: If it is no name of a file.

    Examples:
        >>> ending_of("folder/Graph.SVG")
        '.svg'
    """
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if isinstance(name, str) and "\0" not in name:
        return Path(name).suffix.lower()
    raise OptionError(f"path={path!r} must be the name of a file: save('graph.svg')")


def write_as(
    path: str | os.PathLike[str], what: str, writers: Mapping[str, Callable[[], str | bytes]]
) -> None:
    """Write a file as its ending says.

    Args:
        path: Where to.
        what: What is written.
        writers: What gives the content, by ending.

    Raises:
        OptionError: If the ending is none of these.
        FileError: If it cannot be written.

    Examples:
        >>> write_as("strip.gif", "a filmstrip", {".svg": str, ".png": bytes})
        Traceback (most recent call last):
            ...
        gradviz.model.errors.OptionError: cannot save as 'strip.gif': a filmstrip can be saved as \
.svg, .png
    """
    write = writers.get(ending_of(path))
    if write is None:
        raise OptionError(
            f"cannot save as {os.fspath(path)!r}: {what} can be saved as {', '.join(writers)}"
        )
    write_file(path, write())


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
