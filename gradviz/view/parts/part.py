"""The parts that reports, explanations, questions and repairs consist of.

A thing says once what its parts are (``gradviz.view.contents``). Three writers turn parts into
text, HTML and data for the browser; they know parts only. Words are clean already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, Literal, TypeAlias

from gradviz.model.report import Table, TableLine
from gradviz.model.sentence import Sentence
from gradviz.model.verdict import Outcome

Look: TypeAlias = Literal["", "title", "asked", "what", "quiet", "known", "why"]
Tone: TypeAlias = Literal["error", "warning", "note", "open", "solved"]
"""``"error"``: torch raised; ``"warning"``: it did not, and a gradient is wrong; ``"note"``: it is
worth a look; ``"open"``: it is to be repaired; ``"solved"``: it is repaired."""
WIDTH: Final = 88
"""Characters of a line of text."""
IN_TEXT: Final = {"only in": "text"}
"""Of a field that only text needs."""
SIGNS: Final = {True: "✓", False: "✗"}
"""Of what is right, and of what is wrong."""
_NOWHERE: Final = Sentence()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words, with code between backticks."""

    words: Sentence
    name: str = field(default="", metadata=IN_TEXT)
    """What it is: text says it before the words, elsewhere their place does."""
    look: Look = ""


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Code, or other lines whose spaces count."""

    lines: Sequence[str]
    """Empty where a line is removed."""
    where: Sentence = _NOWHERE
    """``in place of line 4``; empty if no line is given."""
    old: str = ""
    """The line that is replaced or taken out, if it is known; texts have its number alone."""


@dataclass(frozen=True, slots=True)
class ItemList:
    """Sentences, each an item."""

    items: Sequence[Sentence]
    name: str = ""
    """What each is, if they are numbered: ``"hint"``."""


@dataclass(frozen=True, slots=True)
class Field:
    """A label with one or more values."""

    name: str
    values: tuple[Sentence, ...] = ()
    code: str = ""
    """Source text that belongs to the first value."""


@dataclass(frozen=True, slots=True)
class FieldList:
    """Labels with their values."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, with code to type."""

    name: str
    """``"fix 2"``."""
    short: str = field(metadata=IN_TEXT)
    """The same in a sentence: ``"the fix"``."""
    does: Sentence
    changes: tuple[CodeBlock, ...]


@dataclass(frozen=True, slots=True)
class Details:
    """Parts that are folded where there is something to unfold them."""

    summary: str
    parts: tuple[Part, ...]
    in_text: str = field(default="", metadata=IN_TEXT)
    """What text has in their place, which cannot unfold them; all of them if not given."""


@dataclass(frozen=True, slots=True)
class Region:
    """Parts in a frame with a head."""

    title: str
    tone: Tone
    label: str
    """What a screen reader calls it."""
    parts: tuple[Part, ...]
    end: tuple[Part, ...] = field(metadata=IN_TEXT)
    """What text has at the end, in place of the kind or of a button."""
    kind: str = ""
    """What the title is about; in text a region without one has its title before its parts."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What was expected beside what was found."""

    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Image:
    """A picture."""

    svg: str
    alt: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Rows:
    """A table whose rows may be about things in a picture."""

    table: Table
    id: Callable[[TableLine], str] = field(default=lambda _line: "")
    """What in the picture a row is about, ``""`` for nothing."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """The words of the marks of these things."""
    in_text: str = field(default="", metadata=IN_TEXT)
    """What text has in place of the table, if given."""


Part: TypeAlias = (
    "Paragraph | CodeBlock | ItemList | Field | FieldList | Advice | Details | Region | Outcomes"
    " | Image | Rows"
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a thing consists of."""

    blocks: tuple[tuple[Part, ...], ...]
    """In text there is an empty line between them."""
    width: int = WIDTH
    """Characters of a line of text; 0: lines are not wrapped."""
    indent: str = "    "
    """What text has before code and items."""

    def __iter__(self) -> Iterator[Part]:
        return chain.from_iterable(self.blocks)
