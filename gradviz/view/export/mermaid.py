"""The graph as a Mermaid flowchart, as GitHub and documentation sites draw it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.view.export.text_drawing import TextBox, TextLink, TextPart, text_drawing
from gradviz.view.graph.card_parts import times
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.style import LIGHT
from gradviz.view.text import clean

MOST_LINKS: Final = 500
"""Links that Mermaid draws unless its page sets ``maxEdges``, which GitHub does not."""
MOST_CHARACTERS: Final = 50_000
"""Characters that it reads unless its page sets ``maxTextSize``."""

_SHAPES: Final = {
    "gv-more": ("more", "([", "])"),
    "gv-fold": ("fold", "[[", "]]"),
    "gv-tensor": ("outside", "([", "])"),
    "gv-leaf": ("leaf", "([", "])"),
    "gv-modified": ("modified", "{{", "}}"),
    "gv-freed": ("freed", "[/", "/]"),
    "gv-packed": ("packed", "[", "]"),
    "gv-opaque": ("opaque", "[", "]"),
    "gv-node": ("node", "[", "]"),
}
"""Class and brackets of a box, by what it is; the first that it is counts."""

_LOOK: Final = {
    "more": ("card", "line", "stroke-dasharray:2 3"),
    "fold": ("card", "edge", "stroke-width:1.6px"),
    "outside": ("card", "line", "stroke-dasharray:1.5 3"),
    "leaf": ("leaf-fill", "leaf", ""),
    "modified": ("modified-fill", "modified", "stroke-width:2px"),
    "freed": ("card", "freed", "stroke-dasharray:5 3"),
    "packed": ("packed-fill", "packed", ""),
    "opaque": ("card", "freed", "stroke-width:2.6px"),
    "node": ("card", "line", ""),
}
"""Fill, line and more of each class."""

_TURNED: Final[dict[str, str]] = {"TB": "BT", "LR": "RL"}

_SPECIAL: Final = re.compile(
    r"""(?x)
      ^[-+\s]+                            # would begin a list or a block of code
    | ^\d+\)                              # a list with numbers
    | (?<![^\W_])_+ | _+(?![^\W_])        # emphasis, at the rim of a word
    | (?<=www)\. | \.(?![^\W_])           # an address; a number of a list
    | :(?=\S)                             # an address, an icon, a style
    | [^\w\s,.:=()/+\-·×→…≠Σ∂∅⚠]          # everything else that is no letter and no number
    | [ßﬂ]                                # what Mermaid writes inside for an entity
    """
)
_READ_LATE: Final = ":$\\ﬂ¶"
"""What Mermaid looks for once entities are signs again: ``fa:fa-ban`` is an icon, ``$$`` a formula,
``\\n`` a line break, and ``ﬂ`` begins what an entity is inside."""
_JOINER: Final = "#8288;"
"""Has no width, and keeps two signs apart."""

_IN_COMMENT: Final = re.compile(r"[%#;{}]")
"""What could begin a setting or an entity in a comment."""


def to_mermaid(graph: Graph, options: DrawOptions = DEFAULT, folding: Folding | None = None) -> str:
    """A flowchart of the same cards and links as the picture; text is never markup.

    Args:
        graph: What is drawn.
        options: How.
        folding: How it is folded; if not given it is not.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> print(to_mermaid(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])))
        %% autograd graph of SinBackward0
        flowchart TB
          n0["sin (root)<br/>SinBackward0<br/>0: no grad"]:::node
          classDef node fill:#ffffff,stroke:#8c959f,color:#1c2128
        <BLANKLINE>
    """
    drawing = text_drawing(graph, options, folding)
    used: Counter[str] = Counter()
    boxes = list(_boxes(drawing.parts, used, "  "))
    links = [f"  {_link(link, options.engine_arrows)}" for link in drawing.links]
    looks = [f"  {_class(name)}" for name in _LOOK if used[name]]
    turned = _TURNED if options.engine_arrows else {}
    direction = turned.get(options.direction, options.direction)
    body = [f"flowchart {direction}", *boxes, *links, *looks]
    notes = [drawing.title, drawing.note, _too_large(len(links), sum(map(len, body)))]
    comments = [f"%% {_IN_COMMENT.sub(_entities, clean(note))}" for note in notes if note]
    return "\n".join((*comments, *body, ""))


def escaped(text: str) -> str:
    """Text that Mermaid shows as it is: entities for all that it, Markdown or HTML could read.

    Examples:
        >>> escaped('model.fc_1 "end" <b>'), escaped("1. _x_")
        ('model.fc_1 #34;end#34; #60;b#62;', '1#46; #95;x#95;')
    """
    return _SPECIAL.sub(_entities, clean(text))


def _entities(found: re.Match[str]) -> str:
    # A space that begins a line stays only as one that cannot be broken.
    signs = ((sign, 160 if sign == " " else ord(sign)) for sign in found[0])
    return "".join(f"#{code};{_JOINER if sign in _READ_LATE else ''}" for sign, code in signs)


def _boxes(parts: Iterable[TextPart], used: Counter[str], indent: str) -> Iterator[str]:
    for part in parts:
        if isinstance(part, TextBox):
            name, before, after = next(_SHAPES[kind] for kind in _SHAPES if kind in part.kinds)
            used[name] += 1
            text = "<br/>".join(map(escaped, part.lines))
            yield f'{indent}{part.id}{before}"{text}"{after}:::{name}'
        else:
            yield f'{indent}subgraph {part.id}["{escaped(part.label)}"]'
            yield from _boxes(part.parts, used, f"{indent}  ")
            yield f"{indent}end"


def _link(link: TextLink, engine_arrows: bool) -> str:
    """A link as data flows; with the engine's arrows in a flowchart that is turned around."""
    words = escaped(link.argument or times(link.count)) if link.is_edge else ""
    ends = (link.head, link.tail) if engine_arrows else (link.tail, link.head)
    label = f'|"{words}"|' if words else ""
    return f"{ends[0]} {'-->' if link.is_edge else '-.-'}{label} {ends[1]}"


def _class(name: str) -> str:
    fill, line, more = _LOOK[name]
    look = f"fill:{LIGHT[fill]},stroke:{LIGHT[line]},color:{LIGHT['ink']}"
    return f"classDef {name} {look}{',' if more else ''}{more}"


def _too_large(links: int, characters: int) -> str:
    if links <= MOST_LINKS and characters <= MOST_CHARACTERS:
        return ""
    return (
        f"This has {links:,} links and {characters:,} characters; Mermaid draws more than "
        f"{MOST_LINKS} links or {MOST_CHARACTERS:,} characters only where maxEdges and "
        "maxTextSize are set: fold the graph, or save it as .svg"
    )
