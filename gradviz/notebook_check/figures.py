"""Figures of a documentation: drawn again from the code beside them, and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final, Literal

from gradviz.notebook_check.documentation import Page, ShownText, page_of
from gradviz.notebook_check.documentation_run import run_page

FigureVerdict = Literal["same", "different", "missing", "never made", "written"]
"""``"missing"``: the code makes it, and it is not stored; ``"never made"``: the page shows it, and
no code makes it; ``"written"``: it was different or missing, and is stored now."""
_OF_GRADVIZ: Final = b'class="gv-'
_DRAWINGS: Final = (".svg", ".png", ".gif", ".apng", ".pdf")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a page."""

    path: str
    """Its file, from the folder of the page."""
    verdict: FigureVerdict
    stored: bytes | None = None
    fresh: bytes | None = None
    line: int | None = None
    """Line of the page in which it is shown, if it is text in the page, or never made."""


@dataclass(frozen=True, slots=True)
class PageResult:
    """What was found of one page."""

    path: Path
    figures: tuple[Figure, ...] = ()
    problem: str = ""
    """Why its code did not run to the end."""

    @property
    def is_good(self) -> bool:
        """Whether its figures are what its code draws."""
        return not self.problem and all(f.verdict in ("same", "written") for f in self.figures)


def check_figures(path: Path, timeout: float, update: bool = False) -> PageResult:
    """Draw the figures of a page again.

    The code runs in a temporary folder; without ``update`` nothing beside the page changes.

    Args:
        path: The page.
        timeout: Seconds that its code may take.
        update: Whether figures that differ or are missing are written.

    Raises:
        CheckError: If the page cannot be read.
    """
    page = page_of(path)
    if not page.blocks:
        return PageResult(path, tuple(_never_made(page, {})))
    with TemporaryDirectory(prefix="gradviz-figures-") as name:
        folder = Path(name)
        if problem := run_page(page, folder, timeout):
            return PageResult(path, (), problem)
        made = {
            PurePosixPath(file.relative_to(folder)).as_posix(): file.read_bytes()
            for file in sorted(folder.rglob("*"))
            if file.is_file() and "__pycache__" not in file.parts
        }
    figures = (*_compared(page, made), *_never_made(page, made))
    if update:
        figures = tuple(_written(page, figures))
    return PageResult(path, figures)


def _compared(page: Page, made: Mapping[str, bytes]) -> Iterator[Figure]:
    """What the code has made that is stored, or that the page shows; other files are no figures."""
    shown = {one.path: one for one in page.shown}
    for path, fresh in made.items():
        one = shown.get(path)
        if one is not None:
            yield _figure(path, one.text.encode(), fresh, one.line)
            continue
        stored = page.path.parent / path
        if stored.is_file():
            yield _figure(path, stored.read_bytes(), fresh)
        elif path in page.prose:
            yield _figure(path, None, fresh)


def _figure(path: str, stored: bytes | None, fresh: bytes, line: int | None = None) -> Figure:
    if line is not None:  # text in a page has no spaces at the ends of lines
        fresh = b"".join(row.rstrip() + b"\n" for row in fresh.rstrip().split(b"\n"))
    is_same = stored == fresh
    verdict: FigureVerdict = "missing" if stored is None else "same" if is_same else "different"
    return Figure(path, verdict, stored, fresh, line)


def _never_made(page: Page, made: Mapping[str, bytes]) -> Iterator[Figure]:
    """What the page shows as a figure of its own, and no code has made: marked text, drawings of
    gradviz, and pictures in folders into which its code draws."""
    for one in page.shown:
        if one.path not in made:
            yield Figure(one.path, "never made", line=one.line)
    folders = {PurePosixPath(path).parent for path in made if path.endswith(_DRAWINGS)}
    for line, path in page.pictures:
        file = PurePosixPath(path)
        is_there = (page.path.parent / path).is_file()
        is_own = file.parent in folders and file.suffix in _DRAWINGS
        if path not in made and (is_own or (is_there and _is_of_gradviz(page.path.parent / path))):
            yield Figure(path, "never made", line=line)


def _is_of_gradviz(path: Path) -> bool:
    return path.suffix == ".svg" and _OF_GRADVIZ in path.read_bytes()


def _written(page: Page, figures: tuple[Figure, ...]) -> Iterator[Figure]:
    """The same figures, after those that differ were written."""
    texts = {one.path: one for one in page.shown}
    lines, end = page.text.split("\n"), "\r" if "\r\n" in page.text else ""
    changed: list[tuple[ShownText, bytes]] = []
    for one in figures:
        if one.verdict not in ("different", "missing") or one.fresh is None:
            yield one
            continue
        if one.line is not None:
            changed.append((texts[one.path], one.fresh))
        else:
            target = page.path.parent / one.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(one.fresh)
        yield Figure(one.path, "written", one.stored, one.fresh, one.line)
    for shown, fresh in sorted(changed, key=lambda both: -both[0].line):
        text = fresh.decode("utf-8").rstrip("\n").split("\n")
        lines[shown.line - 1 : shown.end - 1] = [
            f"{shown.indent if line else ''}{line}{end}" for line in text
        ]
    if changed:
        page.path.write_bytes("\n".join(lines).encode())
