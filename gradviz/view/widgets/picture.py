"""What ``gradviz.show`` returns: the widget together with the graph it shows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any, ClassVar

import traitlets

from gradviz.model import Graph
from gradviz.model.arguments import checked, flag
from gradviz.model.collector import no_collection
from gradviz.model.folding import Folding
from gradviz.view.documents.graph import graph_document
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph_index import places_of
from gradviz.view.outlines.graph import outline
from gradviz.view.widgets.folded import FoldedWidget


class Picture(FoldedWidget):
    """An interactive picture of a graph.

    In a notebook it is a widget; saved, printed or without a kernel it is the same picture as
    SVG and the same facts as text. ``selected`` holds the id of what was clicked.

    Args:
        graph: What to show.
        options: How to draw it.
        height: Height in CSS pixels, 0 for automatic.
        fold: How a graph is folded, ``None`` if it is not; if not given no graph is.

    Examples:
        >>> import torch, gradviz
        >>> x = torch.ones(2, requires_grad=True)
        >>> picture = gradviz.show(x * x)
        >>> picture.selected = "n0"
        >>> picture.graph["n0"].name
        'MulBackward0'
    """

    focus = traitlets.Unicode("").tag(sync=True)
    """Id of a node: the folds around it are open. Of a graph that is not folded, and too large to
    be drawn whole, the nodes around it are drawn; ``""``: the first ones."""

    _holds: ClassVar[tuple[str, ...]] = ("_graph", "_folding", "_drawing")

    def __init__(
        self,
        graph: Graph,
        options: DrawOptions = DEFAULT,
        height: int = 0,
        fold: Callable[[Graph], Folding | None] | None = None,
    ) -> None:
        self._graph = graph
        self._options = options
        self._fold = fold
        super().__init__(
            wire=self._document(),
            engine_arrows=options.engine_arrows,
            density=options.density,
            focus=options.focus,
            height=height,
        )
        self.selected = options.focus

    @property
    def graph(self) -> Graph:
        """The graph that is shown."""
        return self._graph

    def __str__(self) -> str:
        return outline(self._graph) if "_graph" in self.__dict__ else super().__str__()

    @traitlets.observe("focus")
    def _draw_around(self, _change: object) -> None:
        """Draw the part of a large graph that is around another node."""
        if self.focus != self._options.focus:
            self._options = replace(self._options, focus=self.focus)
            self.__dict__.pop("_drawing")
            self.wire = self._document()
            self.selected = self.focus

    @traitlets.validate("focus")
    def _check_focus(self, proposal: dict[str, Any]) -> str:
        focus: str = proposal["value"]
        places_of(self.graph, 1, focus)
        return focus

    def _document(self) -> dict[str, Any]:
        """What the browser gets."""
        with no_collection():
            folded, marks = self._drawing, self._marks
            return graph_document(self._graph, self._options, marks=marks, folded=folded)

    def display_graph(self, graph: Graph) -> None:
        """Show another graph in the same place, drawn the same way.

        The selection stays if the new graph has the item too.
        """
        self.check_open()
        checked("graph", graph, Graph, "a Graph: display_graph(gradviz.snapshot(loss))")
        if graph.place_of(self.focus) is None:
            self._options = replace(self._options, focus="")
        self._graph = graph
        for made in ("_folding", "_drawing"):
            self.__dict__.pop(made)
        self.wire = self._document()
        self.focus = self._options.focus

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        animated: bool = False,
        stops: Iterable[int | str] | None = None,
        seconds: float | None = None,
        shape: str | None = None,
        values: bool = True,
    ) -> None:
        """Write the picture to a file; the ending says what: .svg .png .pdf .dot .mmd .json .html.

        The HTML is one file that works without a network and without a kernel. MMD is a Mermaid
        flowchart, which GitHub and documentation sites draw. PDF needs the program ``dot`` of
        Graphviz; the others need nothing. ``animated``, ``stops``,
        ``seconds`` and ``shape`` are options of a recording.

        Args:
            path: Where to.
            animated: Whether it plays the steps of a recording.
            stops: Which of them.
            seconds: How long each is seen.
            shape: Of the frames.
            values: ``False`` for a file without any number of your tensors, which says so: for a
                report of a bug. The text of your code stays as it is.

        Raises:
            OptionError: If the ending is none of these, or an animation is asked for.
            GraphvizNotFoundError: For PDF, if there is no ``dot``.
        """
        from gradviz.view.export.files import refuse_animation, save

        refuse_animation(path, animated, stops, seconds, shape)
        if not flag("values", values):
            with closing(self._without_values()) as bare:
                bare.save(path)
            return
        options, folding = self._as_shown(self._options), self._folding
        save(self._graph, path, options, folding, self._marks, self._page)

    def _page(self) -> str:
        from gradviz.view.export.page import to_page

        return to_page(self._graph, self._as_shown(self._options), self._folding)

    def _without_values(self) -> Picture:
        """The same picture without numbers of tensors."""
        from gradviz.model.without_values import graph_without_values

        return Picture(
            graph_without_values(self._graph),
            self._as_shown(self._options),
            self.height,
            self._fold,
        )
