"""What a learner's copy of a lesson is: current or older, edited or not.

A copy has a stamp in its metadata: which edition of which lesson it is, and a digest of its text as
delivered. So it is known wherever it is moved and whatever it is called. It is edited if its text
is another than the stamp says. Outputs, execution counts, metadata and empty cells are no text: a
lesson that was only run is not edited.

Examples:
    >>> from gradviz.course.copies import State, compare, installed_lessons
    >>> lessons = installed_lessons()
    >>> {copy.state for copy in compare(lessons, lessons)} == {State.CURRENT}
    True
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from gradviz._distribution import VERSION

PACKAGE: Final = Path(__file__).parents[1]
START: Final = "00-start.ipynb"
PAGES: Final = "howto"
"""The folder of the how-to pages, beside the lessons."""
STAMP: Final = ("lesson", "version", "edition", "text")


class State(enum.Enum):
    """How the file under the name of a lesson compares with the installed lesson."""

    MISSING = "there is none"
    CURRENT = "it is of the installed edition, edited or not"
    OLDER = "it is of another edition, and not edited"
    EDITED = "it is of another edition or of none, and edited"
    NEWER = "it is of a newer gradviz than the installed one"


@dataclass(frozen=True, slots=True)
class Edition:
    """A lesson, or a how-to page that lessons link to, as it is installed."""

    name: str
    """Its path below the folder of the lessons."""
    document: dict[str, Any]
    edition: str
    """A digest of the whole file, stored outputs too."""
    text: str
    """A digest of what a person reads and types in it."""

    @property
    def stamped(self) -> dict[str, Any]:
        """The document as it is delivered."""
        values = (self.name, VERSION, self.edition, self.text)
        metadata = {**self.document["metadata"], "gradviz": dict(zip(STAMP, values))}
        return {**self.document, "metadata": metadata}


@dataclass(frozen=True, slots=True)
class Copy:
    """The file of a learner under the name of a lesson."""

    name: str
    state: State
    beside: str | None
    """The file beside it with the text of the installed edition, if there is one."""


def installed_lessons() -> Path | None:
    """The folder of the lessons in a checkout or in the installed package, if there is one."""
    folders = (PACKAGE.parent / "notebooks", PACKAGE / "_lessons")
    return next((folder for folder in folders if (folder / START).is_file()), None)


def editions(lessons: Path) -> Iterator[Edition]:
    """The installed lessons in reading order, and then the how-to pages."""
    for path in notebooks_in(lessons):
        data = path.read_bytes()
        document = json.loads(data)
        name = path.relative_to(lessons).as_posix()
        yield Edition(name, document, _digest(data), _text(document))


def notebooks_in(folder: Path) -> list[Path]:
    """The notebooks of a folder that lessons or how-to pages may be."""
    return [*sorted(folder.glob("*.ipynb")), *sorted(folder.glob(f"{PAGES}/*.ipynb"))]


def compare(lessons: Path, folder: Path) -> list[Copy]:
    """How the lessons in a folder compare with the installed ones; nothing is written."""
    return [
        Copy(lesson.name, state_of(folder / lesson.name, lesson), beside(lesson, folder))
        for lesson in editions(lessons)
    ]


def state_of(path: Path, lesson: Edition) -> State:
    """How a file compares with an installed lesson."""
    if not path.exists():
        return State.MISSING
    document = read(path)
    text = None if document is None else _text(document)
    if (stamp := _stamp(document)) is None:
        return State.CURRENT if text == lesson.text else State.EDITED
    if _is_newer(stamp):
        return State.NEWER
    if stamp["edition"] == lesson.edition:
        return State.CURRENT
    if text in (stamp["text"], lesson.text):
        return State.OLDER
    # Where only stored outputs are new, there is nothing for whoever has edited the lesson.
    return State.CURRENT if stamp["text"] == lesson.text else State.EDITED


def name_beside(lesson: Edition, label: str) -> str:
    """The name of a lesson beside an edited one; the label is not cut off in a narrow list."""
    folder, slash, name = lesson.name.rpartition("/")
    number, _, rest = name.partition("-")
    if not number.isdecimal():
        return f"{folder}{slash}{name.removesuffix('.ipynb')} ({label}).ipynb"
    return f"{folder}{slash}{number} ({label}) {rest}"


def beside(lesson: Edition, folder: Path) -> str | None:
    """The file that brings the text of an installed lesson under a new name, if there is one."""
    for path in sorted(folder.glob(name_beside(lesson, "new*"))):
        stamp = _stamp(read(path))
        if stamp is not None and stamp["text"] == lesson.text:
            return path.relative_to(folder).as_posix()
    return None


def is_former(path: Path, name: str) -> bool:
    """Whether a file is as it was delivered once, under the name that the lesson had."""
    document = read(path)
    stamp = _stamp(document)
    if document is None or stamp is None or stamp["lesson"] != name:
        return False
    return not _is_newer(stamp) and _text(document) == stamp["text"]


def read(path: Path) -> dict[str, Any] | None:
    """The document of a notebook, or None if the file is not one."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        _text(document)
        return document if isinstance(document["metadata"], dict) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _stamp(document: dict[str, Any] | None) -> dict[str, str] | None:
    found = document["metadata"].get("gradviz") if document else None
    is_whole = isinstance(found, dict) and all(isinstance(found.get(f), str) for f in STAMP)
    return found if is_whole else None


def _text(document: dict[str, Any]) -> str:
    cells = [
        [cell["cell_type"], "".join(cell["source"]), cell.get("attachments") or {}]
        for cell in document["cells"]
    ]
    # JupyterLab appends an empty cell when the last one is run.
    written = [cell for cell in cells if cell[1].strip() or cell[2]]
    return _digest(json.dumps(written, sort_keys=True).encode())


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def _is_newer(stamp: dict[str, str]) -> bool:
    return _release(stamp["version"]) > _release(VERSION)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
