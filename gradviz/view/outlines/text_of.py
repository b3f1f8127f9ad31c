"""The text of any object of the model: what ``print`` writes and nbval compares."""

from __future__ import annotations

from functools import singledispatch

from gradviz.model.graph import Graph
from gradviz.model.recording import Recording
from gradviz.model.report import Table
from gradviz.view.contents.parts_of import THINGS, parts_of
from gradviz.view.outlines.graph import outline
from gradviz.view.outlines.recording import short_outline
from gradviz.view.parts.part import Parts, Rows
from gradviz.view.parts.text import as_text


@singledispatch
def text_of(subject: object) -> str:
    """An object of the model as text: reports, graphs, recordings, explanations, questions.

    Of anything else it is the ``repr``.

    Examples:
        >>> from gradviz.model import Node
        >>> text_of(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])).splitlines()[0]
        'autograd graph of SinBackward0: 1 node, 0 edges, 0 leaves'
    """
    return as_text(parts_of(subject)) if isinstance(subject, THINGS) else repr(subject)


@text_of.register
def _table(table: Table) -> str:
    return as_text(Parts(((Rows(table),),), 0, ""))


text_of.register(Graph, outline)
text_of.register(Recording, short_outline)
