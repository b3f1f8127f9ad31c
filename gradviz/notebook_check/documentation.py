"""A page of documentation, Markdown or reStructuredText: its code, and the figures it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from doctest import DocTestParser
from pathlib import Path
from textwrap import dedent
from typing import Final

from gradviz.notebook_check.results import CheckError

NO_RUN: Final = "no-run"
"""Word beside the language of a block that is not run."""
_PYTHON: Final = ("python", "py", "python3", "pycon")
_MARKDOWN: Final = (".md", ".markdown")
_REST: Final = (".rst", ".txt")
_FENCE: Final = re.compile(r"(?P<indent>\s*)(?P<fence>`{3,}|~{3,})\s*(?P<info>[^`]*)$")
_MARK: Final = re.compile(
    r"\s*(?:<!--\s*gradviz:\s*(?P<md>\S+)\s*-->|\.\. gradviz: (?P<rst>\S+))\s*$"
)
_IMAGE: Final = re.compile(
    r"!\[[^\]]*\]\(\s*<?(?P<md>[^\s)>]+)"
    r"|<img\b[^>]*?\bsrc\s*=\s*[\"'](?P<html>[^\"']+)"
    r"|^\s*\.\. (?:\|[^|]+\| )?(?:image|figure):: (?P<rst>\S+)"
)
_DIRECTIVE: Final = re.compile(
    r"(?P<indent>\s*)\.\. (?P<name>code-block|code|sourcecode|mermaid)::\s*(?P<argument>\S*)\s*$"
)
_OPTION: Final = re.compile(r"\s+:(?P<name>[\w-]+):\s*(?P<value>.*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """Python in a page."""

    line: int
    """Number of its first line."""
    source: str


@dataclass(frozen=True, slots=True)
class ShownText:
    """Text in a page that is a file which the code writes, as its mark says."""

    path: str
    line: int
    """Number of its first line."""
    end: int
    """Number of the line after its last one."""
    indent: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """What a page has."""

    path: Path
    text: str
    blocks: tuple[Block, ...]
    shown: tuple[ShownText, ...]
    pictures: tuple[tuple[int, str], ...]
    """Pictures in files: line and path."""
    prose: str
    """The page without its code."""


def page_of(path: Path) -> Page:
    """Read a page.

    Args:
        path: The file.

    Raises:
        CheckError: If it cannot be read, or has another ending.
    """
    ending = path.suffix.lower()
    if ending not in (*_MARKDOWN, *_REST):
        raise CheckError(
            f"{path} is neither Markdown nor reStructuredText: name a file that ends in .md or .rst"
        )
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise CheckError(f"the file {path} does not exist") from None
    except (OSError, UnicodeError) as error:
        raise CheckError(f"{path} cannot be read: {error}") from None
    lines = text.split("\n")
    parts = list(_markdown(lines) if ending in _MARKDOWN else _rest(lines))
    covered = {n for part in parts for n in range(part.line, part.end)}
    return Page(
        path,
        text,
        tuple(block for part in parts for block in part.blocks()),
        tuple(part.shown for part in parts if part.mark),
        tuple(_pictures(lines, covered)),
        "\n".join(line for number, line in enumerate(lines, 1) if number not in covered),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """A block of code or text, as it lies in the page."""

    line: int
    end: int
    indent: str
    lines: Sequence[str]
    language: str
    is_run: bool
    mark: str
    """The file that it is, if a mark says so."""

    @property
    def text(self) -> str:
        width = len(self.indent)
        return "".join(f"{line[width:].rstrip()}\n" for line in self.lines)

    @property
    def shown(self) -> ShownText:
        return ShownText(self.mark, self.line, self.end, self.indent, self.text)

    def blocks(self) -> Iterator[Block]:
        if self.language not in _PYTHON or not self.is_run:
            return
        source = dedent(self.text)
        if not source.lstrip().startswith(">>>"):
            yield Block(self.line, source)
            return
        for example in DocTestParser().get_examples(source):
            yield Block(self.line + example.lineno, example.source)


def _markdown(lines: Sequence[str]) -> Iterator[_Part]:
    at, in_comment = 0, False
    while at < len(lines):
        line = lines[at]
        in_comment = (in_comment or "<!--" in line) and "-->" not in line.rpartition("<!--")[2]
        opened = None if in_comment else _FENCE.match(line)
        at += 1
        if opened is None:
            continue
        start, closing = at, re.compile(rf"\s*{opened['fence'][0]}{{{len(opened['fence'])},}}\s*$")
        while at < len(lines) and not closing.match(lines[at]):
            at += 1
        language, *words = opened["info"].replace("{", " ").replace("}", " ").split() or [""]
        yield _Part(
            start + 1,
            at + 1,
            opened["indent"],
            lines[start:at],
            language.lower(),
            NO_RUN not in words,
            _mark_before(lines, start - 1),
        )
        at += 1


def _rest(lines: Sequence[str]) -> Iterator[_Part]:
    at = 0
    while at < len(lines):
        opened = _DIRECTIVE.match(lines[at])
        at += 1
        if opened is None:
            continue
        before, classes = at - 1, ""
        while at < len(lines) and (option := _OPTION.match(lines[at])):
            classes += option["value"] if option["name"] == "class" else ""
            at += 1
        while at < len(lines) and not lines[at].strip():
            at += 1
        start, outer = at, len(opened["indent"])
        while at < len(lines) and (not lines[at].strip() or _indent(lines[at]) > outer):
            at += 1
        end = at
        while end > start and not lines[end - 1].strip():
            end -= 1
        body = lines[start:end]
        width = min((_indent(line) for line in body if line.strip()), default=0)
        language = "mermaid" if opened["name"] == "mermaid" else opened["argument"].lower()
        is_run = NO_RUN not in classes.split()
        mark = _mark_before(lines, before)
        yield _Part(start + 1, end + 1, " " * width, body, language, is_run, mark)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _mark_before(lines: Sequence[str], at: int) -> str:
    """The path in a mark in the line before, or in one with empty lines between."""
    above = next((line for line in reversed(lines[:at]) if line.strip()), "")
    found = _MARK.match(above)
    return (found["md"] or found["rst"]) if found else ""


def _pictures(lines: Sequence[str], covered: set[int]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        for found in () if number in covered else _IMAGE.finditer(line):
            path = found["md"] or found["html"] or found["rst"]
            if not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|/|#", path):
                yield number, path.partition("#")[0].partition("?")[0]
