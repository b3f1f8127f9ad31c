"""What ``gradviz.show`` returns: the widget together with the graph it shows."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from gradviz.model import Graph
from gradviz.view.widget import GraphWidget
from gradviz.view.wire import to_wire


@dataclass(frozen=True, slots=True)
class Look:
    """How a graph is drawn; the values are checked where they are used."""

    direction: Any = "TB"
    engine_arrows: bool = False
    show: Collection[str] | None = None
    hide: Collection[str] = ()

    def options(self) -> dict[str, Any]:
        """As keyword arguments of the drawing."""
        return {
            "direction": self.direction,
            "engine_arrows": self.engine_arrows,
            "show": self.show,
            "hide": self.hide,
        }


class Picture(GraphWidget):
    """An interactive picture of a graph.

    In a notebook it is a widget; saved, printed or without a kernel it is the same picture as
    SVG and the same facts as text. ``selected`` holds the id of what was clicked.

    Args:
        graph: What to show.
        look: How to draw it.
        height: Height in CSS pixels, 0 for automatic.

    Examples:
        >>> import torch, gradviz
        >>> x = torch.ones(2, requires_grad=True)
        >>> picture = gradviz.show(x * x)
        >>> picture.selected = "n0"
        >>> picture.graph["n0"].name
        'MulBackward0'
    """

    def __init__(self, graph: Graph, look: Look | None = None, height: int = 0) -> None:
        self._graph = graph
        self._look = look or Look()
        super().__init__(
            wire=to_wire(graph, **self._look.options()),
            engine_arrows=self._look.engine_arrows,
            height=height,
        )

    @property
    def graph(self) -> Graph:
        """The graph that is shown."""
        return self._graph

    def display_graph(self, graph: Graph) -> None:
        """Show another graph in the same place, drawn the same way.

        What was selected stays selected if the new graph has it too.
        """
        self.wire = to_wire(graph, **self._look.options())
        self._graph = graph

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file; the ending says what: .svg .png .pdf .dot .json .html.

        The HTML is one file that works without a network and without a kernel. PDF needs the
        program ``dot`` of Graphviz; the others need nothing.

        Raises:
            OptionError: If the ending is none of these.
            GraphvizNotFoundError: For PDF, if there is no ``dot``.
        """
        from gradviz.view.export import save

        save(self._graph, path, **(self._look.options() | {"engine_arrows": self.engine_arrows}))
