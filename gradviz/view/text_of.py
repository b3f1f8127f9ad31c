"""The text of any object of the model: what ``print`` writes and nbval compares."""

from __future__ import annotations

from functools import singledispatch

from gradviz.model.explanation import Explanation
from gradviz.model.findings import Findings
from gradviz.model.graph import Graph
from gradviz.model.recording import Recording
from gradviz.view.explanation_text import explanation_text
from gradviz.view.findings_text import findings_text
from gradviz.view.outline import outline
from gradviz.view.recording_outline import recording_outline


@singledispatch
def text_of(thing: object) -> str:
    """An object of the model as text: findings of every kind, and what is registered below.

    Of anything else it is the ``repr``.

    Examples:
        >>> from gradviz.model import Node
        >>> text_of(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])).splitlines()[0]
        'autograd graph of SinBackward0: 1 node, 0 edges, 0 leaves'
    """
    return findings_text(thing) if isinstance(thing, Findings) else repr(thing)


text_of.register(Graph, outline)
text_of.register(Recording, recording_outline)
text_of.register(Explanation, explanation_text)
