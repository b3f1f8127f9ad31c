"""SVG as elements: built and changed as data, written as text at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from gradviz.view.text import px, xml

Value: TypeAlias = "str | float | None"
"""The value of an attribute: text, a length in pixels, or ``None`` for no attribute."""
_SHORT: Final = 24
"""Shorter texts are classes and ids, which come again and again."""
_OWN: Final = frozenset(("id", "aria-label", "transform"))
"""Attributes that two elements seldom have the same."""
_RAW: Final = "style"
"""Its content is no XML text: a ``>`` in a rule stays one."""


class Element(NamedTuple):
    """An element with its attributes, in the order they are written, and what is inside.

    Examples:
        >>> write(Element("text", {"x": 1.25, "class": None}, ("a < b",)))
        '<text x="1.2">a &lt; b</text>'
        >>> write(Element("rect", {"aria-label": '"/><script>'}))
        '<rect aria-label="&quot;/&gt;&lt;script&gt;"/>'
    """

    tag: str
    attributes: Mapping[str, Value]
    children: tuple[Element | str, ...] = ()

    @property
    def classes(self) -> list[str]:
        """Its classes."""
        return str(self.attributes.get("class") or "").split()

    @property
    def inside(self) -> Iterator[Element]:
        """The elements directly inside of it."""
        return (child for child in self.children if not isinstance(child, str))

    def text(self, name: str) -> str:
        """An attribute as text, ``""`` if it is not there."""
        return str(self.attributes.get(name) or "")

    def length(self, name: str) -> float:
        """An attribute as a length, as it is written; 0 if it is not there."""
        return round(float(self.attributes.get(name) or 0.0), 1)

    def changed(self, attributes: Mapping[str, Value]) -> Element:
        """The same with other attributes; ``None`` removes one."""
        return self._replace(attributes={**self.attributes, **attributes})

    def holding(self, children: Iterable[Element | str]) -> Element:
        """The same with other content."""
        return self._replace(children=tuple(children))


def svg(
    size: tuple[float, float], said: str, engine_arrows: bool, children: Iterable[Element]
) -> Element:
    """A picture of a graph, in which each card has a label for screen readers.

    Args:
        size: Width and height.
        said: What the picture shows, for a screen reader.
        engine_arrows: Which of the two arrow heads of each link is seen.
        children: What is in it, its style sheet first.
    """
    name = "gradviz-svg gv-engine" if engine_arrows else "gradviz-svg"
    attributes = {**head(name, size), "role": "group", "aria-label": said}
    return Element("svg", attributes, tuple(children))


def head(name: str, size: tuple[float, float]) -> dict[str, Value]:
    """Attributes of a picture of a size in pixels."""
    width, height = size
    return {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": name,
        "viewBox": f"0 0 {px(width)} {px(height)}",
        "width": width,
        "height": height,
    }


def style(rules: str) -> Element:
    """A style sheet."""
    return Element("style", {}, (rules,))


def all_of(elements: Iterable[Element]) -> Iterator[Element]:
    """Elements and all that is inside of them, in the order they are written."""
    waiting = [*elements][::-1]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += [e for e in reversed(element.children) if not isinstance(e, str)]


def classes_of(elements: Iterable[Element]) -> set[str]:
    """Every class that is drawn."""
    named = {element.attributes.get("class") for element in all_of(elements)}
    return {name for names in named if names is not None for name in str(names).split()}


def write(element: Element) -> str:
    """An element as text, all that stands in it escaped."""
    tag, attributes, children = element
    opening = f"<{tag}{_written(attributes)}"
    if not children:
        return f"{opening}/>"
    as_text = _rules if tag == _RAW else xml
    inside = "".join([as_text(e) if isinstance(e, str) else write(e) for e in children])
    return f"{opening}>{inside}</{tag}>"


def write_pieces(element: Element, written: dict[int, str]) -> Iterator[str]:
    """An element as text in pieces, of which elements that look alike have most together: its
    attributes, cut before those that no other has, and each that is directly inside of it.

    Args:
        element: The element.
        written: The text of the elements inside that were met before, by their ``id()``; all of
            them are to exist for as long as it is used.

    Examples:
        >>> list(write_pieces(Element("g", {"class": "a", "id": "b"}, ("x",)), {}))
        ['<g class="a"', ' id="b">', 'x', '</g>']
    """
    text, own = f"<{element.tag}", dict[str, Value]()
    for name, value in element.attributes.items():
        if name in _OWN:
            yield text + _written(own)
            text, own = "", {}
        own[name] = value
    text += _written(own)
    if not element.children:
        yield f"{text}/>"
        return
    yield f"{text}>"
    for child in element.children:
        if isinstance(child, str):
            yield (_rules if element.tag == _RAW else xml)(child)
        elif (known := written.get(id(child))) is not None:
            yield known
        else:
            yield written.setdefault(id(child), write(child))
    yield f"</{element.tag}>"


def write_lines(element: Element) -> str:
    """A picture as text: each element directly inside of it in a line of its own."""
    return write_around(element, map(write, element.inside))


def write_around(element: Element, lines: Iterable[str]) -> str:
    """A picture as text, around elements that are written."""
    opening = f"<{element.tag}{_written(element.attributes)}>"
    return "\n".join((opening, *lines, f"</{element.tag}>\n"))


def _written(attributes: Mapping[str, Value]) -> str:
    text = ""
    for name, value in attributes.items():
        if isinstance(value, str):
            text += f' {name}="{_word(value) if len(value) < _SHORT else xml(value)}"'
        elif value is not None:
            text += f' {name}="{px(value)}"'
    return text


_word = lru_cache(maxsize=8192)(xml)


def _rules(text: str) -> str:
    if "<" in text:
        raise ValueError("a style sheet with '<' could end its element")
    return text
