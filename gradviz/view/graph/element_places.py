"""The elements of a picture by id of node, edge or tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gradviz.view.element import Element, all_of


class ElementPlace(NamedTuple):
    """The group of a node, an edge, a saved tensor or a tensor."""

    element: Element
    node: str = ""
    """For a leaf's tensor, the id of the node whose card shows it."""


def places_of(elements: Iterable[Element]) -> dict[str, ElementPlace]:
    """Groups by id: ``"n0"``, ``"n0.1"``, ``"n0.saved.0"``, ``"t0"``.

    An entry of ``next_functions`` that is ``None`` is its stub, a leaf's tensor the card of its
    node.
    """
    found: dict[str, ElementPlace] = {}
    standing_for: dict[str, ElementPlace] = {}
    cuts: dict[str, ElementPlace] = {}
    for element in all_of(elements):
        classes = element.classes
        if element.tag != "g" or not classes or "gv-absent" in classes:
            continue
        if key := element.text("data-id") or element.text("id").removeprefix("gv-"):
            # The row of a cut has the id of the tensor whose card it is on.
            (cuts if "gv-cut" in classes else found).setdefault(key, ElementPlace(element))
        if "gv-stub" in classes and "data-slot" in element.attributes:
            slot = f"{element.text('data-source')}.{element.text('data-slot')}"
            found.setdefault(slot, ElementPlace(element))
        if "gv-node" in classes and (tensor := element.text("data-tensor")):
            standing_for.setdefault(tensor, ElementPlace(element, element.text("data-id")))
    return cuts | standing_for | found
