"""Copies the lessons into a learner's folder, and newer ones later, but never over an edited one.

Examples:
    >>> from pathlib import Path
    >>> from gradviz.course.copies import installed_lessons
    >>> from gradviz.course.delivery import deliver
    >>> deliver(installed_lessons(), Path("learn")).added[0]
    '00-start.ipynb'
    >>> deliver(installed_lessons(), Path("learn")).news
    'These lessons are up to date.'
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gradviz._distribution import VERSION
from gradviz.course.copies import (
    START,
    Copy,
    Edition,
    State,
    beside,
    compare,
    editions,
    installed_lessons,
    is_former,
    name_beside,
    notebooks_in,
    read,
    state_of,
)

RECORD: Final = ".gradviz-lessons.json"
"""What was put beside edited lessons. Jupyter does not list it; a folder with it is a learner's."""
NEWS_CELL: Final = "lessons-here"
"""The cell of the start page that prints :func:`news`."""
UP_TO_DATE: Final = "These lessons are up to date."


@dataclass(frozen=True, slots=True)
class Delivery:
    """Names of the files that :func:`deliver` has written and removed, and what is to be said."""

    added: list[str]
    updated: list[str]
    removed: list[str]
    news: str


def deliver(lessons: Path, folder: Path) -> Delivery:
    """Copy into a folder the lessons that it lacks, and replace older ones that are not edited.

    The installed edition of an edited lesson is put beside it, once. Lessons that the course no
    longer has are removed if they are not edited.

    Args:
        lessons: The folder of the installed lessons.
        folder: The folder of the learner, which is made if it is not there.

    Raises:
        OSError: If the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    added: list[str] = []
    updated: list[str] = []
    offered, wanted = _offered(folder), list(editions(lessons))
    known = dict(offered)
    for lesson in wanted:
        state = state_of(folder / lesson.name, lesson)
        if state is State.EDITED and offered.get(lesson.name) != lesson.text:
            _put_beside(lesson, folder)
            offered[lesson.name] = lesson.text
        elif state in (State.MISSING, State.OLDER):
            _write(folder / lesson.name, lesson.stamped)
            (added if state is State.MISSING else updated).append(lesson.name)
    removed = list(_remove_former({lesson.name for lesson in wanted}, folder))
    if offered != known or not (folder / RECORD).exists():
        _write(folder / RECORD, {"offered": offered})
    said = _said(compare(lessons, folder))
    _store_in_start_page(said, folder)
    return Delivery(added, updated, removed, said)


def news(folder: Path | None = None) -> str:
    """Whether the lessons in a folder are those that are installed, and what to do if not.

    Args:
        folder: The folder of the learner; by default the working folder, which in Jupyter is that
            of the notebook.

    Examples:
        >>> print(news(installed_lessons()))
        These lessons are up to date.
    """
    lessons = installed_lessons()
    if lessons is None:
        return "This installation contains no lessons to compare with."
    return _said(compare(lessons, folder or Path.cwd()))


def _said(copies: list[Copy]) -> str:
    return "\n".join(_sentences(copies)) or UP_TO_DATE


def _sentences(copies: list[Copy]) -> Iterator[str]:
    names = {state: [copy.name for copy in copies if copy.state is state] for state in State}
    if names[State.MISSING]:
        yield f"Not in this folder: {', '.join(names[State.MISSING])}."
    if names[State.OLDER]:
        yield f"Older than the installed lessons: {', '.join(names[State.OLDER])}."
    if names[State.MISSING] or names[State.OLDER]:
        yield "Start with `gradviz lab` to get the installed ones."
    if names[State.NEWER]:
        yield f"Of a newer gradviz than the installed {VERSION}: {', '.join(names[State.NEWER])}."
    for copy in copies:
        if copy.state is State.EDITED and copy.beside:
            yield f"{copy.name} is edited and stays."
            yield f"The new lesson is {copy.beside}"
        elif copy.state is State.EDITED:
            yield f"{copy.name} is edited and older than the installed lesson. To get that one,"
            yield "rename yours and start with `gradviz lab`."


def _put_beside(lesson: Edition, folder: Path) -> None:
    """Write a lesson under the first name that is free or has an older edition, not edited."""
    number = 1
    while beside(lesson, folder) is None:
        label = "new" if number == 1 else f"new {number}"
        path = folder / name_beside(lesson, label)
        if state_of(path, lesson) in (State.MISSING, State.OLDER):
            _write(path, lesson.stamped)
        number += 1


def _remove_former(names: set[str], folder: Path) -> Iterator[str]:
    for path in notebooks_in(folder):
        name = path.relative_to(folder).as_posix()
        if name not in names and is_former(path, name):
            path.unlink()
            yield name


def _store_in_start_page(said: str, folder: Path) -> None:
    """Store the output of the cell that prints the news, so that it is read without running it."""
    document = read(folder / START)
    for cell in document["cells"] if document else ():
        if cell.get("id") == NEWS_CELL and _printed(cell) != f"{said}\n":
            lines = f"{said}\n".splitlines(keepends=True)
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}]
            _write(folder / START, document)


def _printed(cell: dict[str, Any]) -> str:
    return "".join("".join(output.get("text", "")) for output in cell.get("outputs", ()))


def _offered(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / RECORD).read_text(encoding="utf-8"))["offered"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _write(path: Path, document: Any) -> None:
    """Write a file as a whole or not at all."""
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    path.parent.mkdir(exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8", newline="\n")
    os.replace(part, path)
