"""The parts of any thing that is shown besides pictures of graphs, and the same as HTML."""

from __future__ import annotations

from functools import singledispatch

from gradviz.model.explanation import Explanation
from gradviz.model.explanations import Explanations
from gradviz.view.contents.explanation import explanation_parts, explanations_parts
from gradviz.view.parts.html import as_html
from gradviz.view.parts.part import Parts


@singledispatch
def parts_of(thing: object) -> Parts:
    """What a thing consists of: an explanation, several of them.

    Raises:
        TypeError: If it has no parts.
    """
    raise TypeError(f"{type(thing).__name__} has no parts")


def html_of(thing: object) -> str:
    """A thing as HTML without script and style sheet; the same bytes for the same thing.

    Examples:
        >>> found = html_of(Explanation("not a scalar", "RuntimeError", "loss is <2>"))
        >>> "loss is &lt;2&gt;" in found
        True
    """
    return "".join(as_html(part) for block in parts_of(thing).blocks for part in block)


parts_of.register(Explanation, explanation_parts)
parts_of.register(Explanations, explanations_parts)
