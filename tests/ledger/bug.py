"""A realistic program with one fault, and what is known about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Final, NamedTuple, TypeAlias

Edit: TypeAlias = tuple[str, str]
"""A piece of the program, which occurs once, and what takes its place."""
Place: TypeAlias = tuple[int, str]
"""Number and text of a line."""
_HEAD: Final = "# %%"


class Piece(NamedTuple):
    """One file or notebook cell."""

    name: str
    """Name of a file; ``""`` for a cell."""
    text: str

    @property
    def lines(self) -> list[str]:
        """Its lines."""
        return self.text.split("\n")


@dataclass(frozen=True, eq=False)
class Bug:
    """A program with one fault.

    The program is written in percent format: ``# %% model.py`` begins a file, ``# %%`` a cell.
    Files are imported before the first cell runs; the last cell is the one that is recorded. In
    the text the lines that a person would change are marked ``# culprit`` and the line at which
    torch raises ``# raises``.
    """

    name: str
    family: str
    text: str
    fixes: tuple[tuple[Edit, ...], ...]
    """Ways to fix it, the canonical one first; each as edits of the text without marks. With each
    the result is that of the reference."""
    reference: str
    """A cell that takes the place of the last one and finds the right result in another way; an
    explained program has none."""
    result: str
    """What must be right, as an expression: tensors, which the reference binds too."""
    variables: tuple[str, ...] = ()
    """Names of the tensor that is at fault, in any scope."""
    kinds: tuple[str, ...] = ()
    """Kinds of the error that do not mislead; without them any does."""
    raised: str = "RuntimeError"
    """Class of the exception, ``""`` if torch raises nothing."""
    message: str = ""
    """A part of torch's message."""
    also_right: tuple[tuple[Edit, ...], ...] = ()
    """Ways with another result that the author may mean as well."""
    accepted: tuple[str, ...] = ()
    """Code of right fixes that say in words where they go."""
    audit: tuple[str, str, str] = ("loss", "model", "optimizer")
    """What to audit, as expressions; what is not there is not given, and without a loss or model
    there is no audit."""
    without_gradient: tuple[str, ...] = ()
    """Parameters that get no gradient, or are not updated, because the author wants it so."""
    shown: str = ""
    """Of a fault with which the result is right: an expression, true with it and false without."""
    explained: bool = False
    """Whether everything is named, which a test demands. The totals of realistic programs, which
    are written without looking at what is said of them, do not count it."""
    without_fix: bool = False
    """Whether no fix of an explained program is offered: none is known to be right."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_silent(self) -> bool:
        """Whether torch raises nothing."""
        return not self.raised

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The program with the fault."""
        return pieces_of(unmarked(self.text))

    def fixed(self, way: Sequence[Edit]) -> tuple[Piece, ...]:
        """The program after edits."""
        text = unmarked(self.text)
        for old, new in way:
            assert text.count(old) == 1, f"{self.name}: {old!r} occurs {text.count(old)} times"
            text = text.replace(old, new)
        return pieces_of(text)

    @property
    def right(self) -> tuple[Piece, ...]:
        """The program whose last cell finds the right result in another way, if there is one."""
        if not self.reference:
            return self.fixed(self.fixes[0])
        return (*self.pieces[:-1], Piece("", self.reference))

    def places(self, mark: str) -> tuple[Place, ...]:
        """The lines that are marked so."""
        pieces = pieces_of(self.text)
        return tuple(
            (number, line.partition("  #")[0].strip())
            for at, piece in enumerate(pieces)
            for number, line in enumerate(piece.lines, first_line(pieces, at))
            if mark in line.partition("  #")[2].split()
        )


def unmarked(text: str) -> str:
    """A program without the comments that mark its lines."""
    return "\n".join(line.partition("  #")[0] for line in text.split("\n"))


def first_line(pieces: Sequence[Piece], at: int) -> int:
    """Number of the first line of a piece: line 1 of the last cell is ``%%gradviz``."""
    return 2 if at == len(pieces) - 1 else 1


def pieces_of(text: str) -> tuple[Piece, ...]:
    """The files and cells of a text."""
    _, *parts = ("\n" + text).split(f"\n{_HEAD}")
    heads = [part.partition("\n") for part in parts]
    return tuple(Piece(name.strip(), body.rstrip()) for name, _, body in heads)


ALL: Final[list[Bug]] = []


def fix(*texts: str) -> tuple[Edit, ...]:
    """One way to fix a program: pieces of its text, each before what takes its place."""
    return tuple(zip(texts[::2], texts[1::2], strict=True))


def bug(
    name: str,
    family: str,
    text: str,
    *fixes: tuple[Edit, ...],
    reference: str,
    result: str = "list(model.parameters())",
    **facts: object,
) -> None:
    """Put a program in the list."""
    program, other = dedent(text).strip("\n"), dedent(reference).strip("\n")
    ALL.append(Bug(name, family, program, fixes, other, result, **facts))  # type: ignore[arg-type]


def explained(
    family: str,
    name: str,
    variables: tuple[str, ...],
    text: str,
    *fixes: tuple[Edit, ...],
    result: str = "[p.grad for p in model.parameters()]",
    **facts: object,
) -> None:
    """Put a program in the list of which everything is named."""
    facts |= {"variables": variables, "audit": ("", "", ""), "explained": True}
    bug(name, family, text, *fixes, reference="", result=result, **facts)
