"""The groups of a finished picture, found by the ids they stand for, and changes to its text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

Edit: TypeAlias = tuple[int, int, str]
"""Start and end of a piece of text, and what takes its place."""

_OPENING = re.compile(r'<g class="(gv-[^"]*)"([^>]*)>')
_NAMED = re.compile(r' (id|data-id|data-tensor|data-source|data-slot)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Element:
    """The group that stands for a node, an edge, a saved tensor or a tensor."""

    css: str
    """Its classes."""
    start: int
    """Where its opening tag begins."""
    inside: int
    """Where its opening tag has ended."""
    node: str = ""
    """Of a leaf's tensor the id of the node whose card stands for it."""


def elements_of(svg: str) -> dict[str, Element]:
    """Groups by id: ``"n0"``, ``"n0.1"``, ``"n0.saved.0"``, ``"t0"``.

    An entry of ``next_functions`` that is ``None`` is its stub, a leaf's tensor the card of its
    node.
    """
    found: dict[str, Element] = {}
    standing_for: dict[str, Element] = {}
    cuts: dict[str, Element] = {}
    for tag in _OPENING.finditer(svg):
        named = dict(_NAMED.findall(tag[2]))
        element = Element(tag[1], tag.start(), tag.end())
        classes = tag[1].split()
        if key := named.get("data-id") or named.get("id", "").removeprefix("gv-"):
            # The row of a cut has the id of the tensor whose card it stands on.
            (cuts if "gv-cut" in classes else found).setdefault(key, element)
        if "gv-stub" in classes and "data-slot" in named:
            found.setdefault(f"{named['data-source']}.{named['data-slot']}", element)
        if "gv-node" in classes and "data-tensor" in named:
            stand_in = replace(element, node=named.get("data-id", ""))
            standing_for.setdefault(named["data-tensor"], stand_in)
    return cuts | standing_for | found


def end_of_group(svg: str, inside: int) -> int:
    """Where the closing tag of a group begins, from a place inside of it."""
    depth = 1
    for tag in re.compile(r"<g\b|</g>").finditer(svg, inside):
        depth += 1 if tag[0] == "<g" else -1
        if depth == 0:
            return tag.start()
    return len(svg)


def apply(svg: str, edits: Iterable[Edit]) -> str:
    """The text with its pieces replaced."""
    parts, last = [], 0
    for start, end, text in sorted(edits, key=lambda edit: edit[:2]):
        parts += [svg[last:start], text]
        last = end
    return "".join((*parts, svg[last:]))
