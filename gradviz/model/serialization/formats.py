"""The formats of documents: which gradviz reads a document that this one does not.

A format has a new number when something is added to it or changed in it after a release. From then
on its name says since when it is read, ``"gradviz graph 2 since 0.2.0"``, so that every older
gradviz can say so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Format:
    """What the documents of one kind are written and read as."""

    kind: str
    """``"graph"`` or ``"recording"``."""
    number: int
    since: str
    """The first gradviz that reads it."""
    reader: str
    """The function that reads it, as a person types it."""
    writer: str
    """The call that writes it."""
    is_since_named: bool = False
    """Whether the name says since when it is read; the first ones do not."""

    @property
    def name(self) -> str:
        """What a document says."""
        since = f" since {self.since}" if self.is_since_named else ""
        return f"gradviz {self.kind} {self.number}{since}"


GRAPH: Final = Format("graph", 1, "0.1.0", "gradviz.Graph.from_json", "graph.to_json()")
RECORDING: Final = Format(
    "recording", 2, "0.1.0", "gradviz.Recording.from_json", "recording.to_json()"
)
_ALL: Final = {one.kind: one for one in (GRAPH, RECORDING)}
_NAME: Final = re.compile(
    r"gradviz (?P<kind>graph|recording) (?P<number>[0-9]{1,9})"
    r"(?: since (?P<since>[0-9][\w.]{0,20}))?"
)


def refusal(found: Any, wanted: Format) -> str:
    """Why a document of another format is not read, and what reads it; ``""`` if it is no
    document of gradviz at all.

    Args:
        found: What it says its format is.
        wanted: What would be read.

    Examples:
        >>> print(refusal("gradviz graph 2 since 0.3.0", GRAPH))
        this is a 'gradviz graph 2' document, which gradviz 0.3.0 and newer read; this one reads \
'gradviz graph 1'. To get a newer one: pip install -U gradviz-kit
    """
    named = _NAME.fullmatch(found) if isinstance(found, str) else None
    if named is None:
        return ""
    kind, number, since = named["kind"], int(named["number"]), named["since"]
    this = f"this is a 'gradviz {kind} {number}' document"
    if kind != wanted.kind:
        return f"{this}, not one of a {wanted.kind}: {_ALL[kind].reader}(text) reads it"
    own = f"this one reads '{wanted.name}'"
    if number < wanted.number:
        return (
            f"{this}, which only gradviz before {wanted.since} reads; {own}. Make it again: "
            f"{wanted.writer} writes one"
        )
    which = f"gradviz {since} and newer read" if since else "a newer gradviz wrote and reads"
    return f"{this}, which {which}; {own}. To get a newer one: pip install -U gradviz-kit"
