"""Sentences whose words refer to nodes, tensors and lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any, TypeAlias

from gradviz.model.formatting import plural


@dataclass(frozen=True, slots=True)
class Term:
    """A word that names a node, a tensor or a line of code."""

    id: str
    """``"n0"``, ``"t3"`` or ``"line:0:4"``, the number of the code before that of the line."""
    text: str
    step: int | None = None
    """Step after which a line had run, where one of several is meant."""

    def __str__(self) -> str:
        return self.text


SentencePart: TypeAlias = "str | Term"


class Sentence(str):
    """A text whose terms refer to nodes, tensors and lines.

    It prints and compares as its text; :attr:`parts` has the terms. Made by :func:`say`; what
    ``str`` itself gives back (of slicing, ``replace``, an f-string) is text without terms.

    Args:
        parts: Text, terms and other sentences, in order.

    Examples:
        >>> found = Sentence(Term("t0", "a"), ".grad was None")
        >>> found, found.parts
        ('a.grad was None', (Term(id='t0', text='a', step=None), '.grad was None'))
    """

    __slots__ = ("parts",)
    parts: tuple[SentencePart, ...]
    """The text in pieces: what names nothing, and terms."""

    def __new__(cls, *parts: SentencePart) -> Sentence:  # noqa: D102 (as the class says)
        flat: list[SentencePart] = []
        for part in parts:
            for piece in part.parts if isinstance(part, Sentence) else (part,):
                if isinstance(piece, str) and flat and isinstance(flat[-1], str):
                    flat[-1] += piece
                elif piece:
                    flat.append(piece)
        made = super().__new__(cls, "".join(map(str, flat)))
        made.parts = tuple(flat)
        return made

    def __add__(self, other: str) -> Sentence:
        if not isinstance(other, (str, Term)):
            return NotImplemented
        return Sentence(self, other)

    def __radd__(self, other: str) -> Sentence:
        return Sentence(other, self)

    def __reduce__(self) -> tuple[type[Sentence], tuple[SentencePart, ...]]:
        return Sentence, self.parts

    @property
    def terms(self) -> tuple[Term, ...]:
        """What it names, in order."""
        return tuple(part for part in self.parts if isinstance(part, Term))


def say(template: str, *things: Any, **named: Any) -> Sentence:
    """A sentence from a template, filled as ``str.format`` does; terms and sentences are kept.

    Args:
        template: Text with ``{}``, ``{0}`` or ``{name}``.
        things: What is put in: terms, sentences, or anything that has a text.
        named: The same by name.

    Examples:
        >>> say("{} saved {} at version {}", Term("n0", "ExpBackward0"), Term("t1", "y"), 0).terms
        (Term(id='n0', text='ExpBackward0', step=None), Term(id='t1', text='y', step=None))
    """
    parts: list[SentencePart] = []
    count = 0
    for text, field, form, _ in Formatter().parse(template):
        parts.append(text)
        if field is None:
            continue
        if not field:
            field, count = str(count), count + 1
        thing = things[int(field)] if field.isdecimal() else named[field]
        is_kept = isinstance(thing, (str, Term)) and not form
        parts.append(thing if is_kept else format(thing, form or ""))
    return Sentence(*parts)


def joined(items: Iterable[SentencePart], separator: str = ", ") -> Sentence:
    """Parts with a separator between them.

    Examples:
        >>> joined(["a", Term("t1", "b")], "; ")
        'a; b'
    """
    parts: list[SentencePart] = []
    for place, item in enumerate(items):
        parts += [separator, item] if place else [item]
    return Sentence(*parts)


def listed(items: Sequence[SentencePart], most: int | None = None, thing: str = "") -> Sentence:
    """``a, b and c``; of many items the first ones, and the number of the rest.

    Args:
        items: What is listed.
        most: Number of items to write out, all by default. One item more is written out too:
            "1 more" would be no shorter.
        thing: What the rest is, for example ``"node"``.

    Examples:
        >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], 2), listed(["a", "b", "c", "d"], 2)
        ('a, b and c', 'a, b and c', 'a, b and 2 more')
        >>> listed(["a", "b", "c"], 1, "node")
        'a and 2 more nodes'
    """
    shown: list[SentencePart] = list(items)
    if most is not None and len(items) > most + 1:
        more = len(items) - most
        shown[most:] = [plural(more, f"more {thing}") if thing else f"{more} more"]
    if len(shown) < 2:
        return Sentence(*shown)
    return Sentence(joined(shown[:-1]), " and ", shown[-1])
