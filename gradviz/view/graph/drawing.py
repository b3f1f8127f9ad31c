"""A graph, or all steps of a recording, drawn: in each density, whole or with folds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gradviz.model.fold import FoldTree
from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.run_values import RunValues
from gradviz.view.fold_facts import FoldFacts
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.drawn_scenes import DrawnScenes
from gradviz.view.graph.extent import LEFT_OUT, fits_screen
from gradviz.view.graph.highlights import GraphMarks
from gradviz.view.graph.options import DEFAULT, DrawOptions, offered
from gradviz.view.graph.scene import LIMIT, WholeScenes, saving_of
from gradviz.view.graph.step_pictures import StepPictures, root_of
from gradviz.view.graph_index import GraphIndex, places_of

FEW: Final = 4
"""Boxes below which nothing is closed so that a picture fits."""


class Drawing(Mapping[Density, StepPictures]):
    """The pictures of a graph, or of all steps of a recording, in each density.

    Args:
        scenes: What is drawn.
        densities: The densities.
        opening: The density in which it opens.
        folding: Which folds are open at first; ``None`` if nothing is folded.
        is_fitted: Whether folds that nobody opened are closed until the picture fits a screen.
    """

    def __init__(
        self,
        scenes: DrawnScenes,
        densities: Iterable[Density],
        opening: Density,
        folding: Folding | None,
        is_fitted: bool = True,
    ) -> None:
        self.scenes, self.densities, self.folding = scenes, tuple(densities), folding
        self.opening: Density = opening
        """The density in which it opens."""
        self._made: dict[Density, StepPictures] = {}
        if folding is not None and folding.is_automatic and is_fitted:
            self.folding = self._fitted(folding)

    def __getitem__(self, density: Density) -> StepPictures:
        if density not in self._made:
            opened = () if self.folding is None else self.folding.opening.ids
            self._made[density] = StepPictures(self.scenes, density, opened)
        return self._made[density]

    def __iter__(self) -> Iterator[Density]:
        return iter(self.densities)

    def __len__(self) -> int:
        return len(self.densities)

    @property
    def tree(self) -> FoldTree:
        """How it is folded, if it is."""
        assert self.folding is not None
        return self.folding.tree

    @property
    def root(self) -> str:
        """What is around everything that is drawn at first: a fold, or one box for the whole."""
        return root_of(self.folding, () if self.folding is None else self.folding.opening.ids)

    def open(self, folding: Folding) -> None:
        """Choose which folds are open at first."""
        self.folding = folding
        for one in self._made.values():
            one.open(folding.opening.ids)

    def _fitted(self, folding: Folding) -> Folding:
        """Folds of which the smallest are closed as long as the picture is larger than a screen."""
        pictures = StepPictures(self.scenes, self.opening)
        self._made[self.opening] = pictures
        while not fits_screen(pictures.composed(folding.opening.ids)):
            tree, ids = folding.tree, folding.opening.ids
            inner = (tree[key] for key in ids if ids.isdisjoint(f.id for f in tree[key].folds))
            smallest = min(inner, key=lambda fold: (fold.nodes, fold.first))
            closed = folding.closed(smallest.id)
            if boxes_of(closed) < FEW:
                break
            folding = closed
        pictures.open(folding.opening.ids)
        return folding


def boxes_of(folding: Folding) -> int:
    """How many boxes a picture has at first."""
    tree = folding.tree
    return 1 + sum(tree.cards(tree[key]) - 1 for key in folding.opening.ids)


class GraphDrawing(Drawing):
    """The pictures of one graph.

    Args:
        graph: The graph; of one that is not folded and has more than 400 nodes the first 400, or
            those around the focus.
        options: How it is drawn; the folds around the focus are open, too.
        folding: The folds; ``None`` if it is drawn as it is.
        marks: Marks of findings; what is around the first ones is open, too, where few boxes are.
        values: Numbers of the run that made it, if it is drawn as it is.

    Raises:
        OptionError: If the graph does not have the node that is the focus.
        GraphvizNotFoundError: If no layout engine is installed.
    """

    def __init__(
        self,
        graph: Graph,
        options: DrawOptions = DEFAULT,
        folding: Folding | None = None,
        marks: Iterable[Highlight] = (),
        values: RunValues | None = None,
    ) -> None:
        self.options = options
        marks = tuple(marks)
        # Of what keeps most not a node alone is meant, but what its box stands for.
        apart = {mark.id for mark in marks if mark.kind != "most"}
        self.outside_folds: Mapping[str, str] = {}
        """The fold in which each tensor outside the graph is drawn."""
        if folding is None:
            self.graph_index = GraphIndex.of(graph, LIMIT, options.focus)
            saving = saving_of(self.graph_index, options)
            self.marks = GraphMarks(None, self.graph_index, marks, {})
            whole = WholeScenes(self.graph_index, options, saving, apart=apart)
            self.graph_index.keeps_room = values is not None
            values = values or RunValues()
            self.graph_index.outputs = values.outputs
            drawn = DrawnScenes(whole, marks=self.marks, gradients=values.gradients)
            opening = options.density_of(whole.count)
            super().__init__(drawn, offered(opening), opening, None)
            return
        # What only folds need is imported where there are some.
        from gradviz.view.graph.fold_scenes import FoldScenes
        from gradviz.view.whole_index import WholeIndex

        self.graph_index = WholeIndex(graph)
        self.words = FoldFacts(folding, self.graph_index)
        saving = saving_of(self.graph_index, options)
        scenes = FoldScenes(folding, self.graph_index, options, saving, self.words, apart)
        self.outside_folds = scenes.outside
        self.marks = GraphMarks(folding.tree, self.graph_index, marks, scenes.outside)
        # A closed fold says in any density what is in it: compact ones leave room for more of them.
        opening = "compact" if options.density == "auto" else options.density
        drawn = DrawnScenes(scenes, self.words, _note(folding, self.graph_index), self.marks)
        super().__init__(drawn, dict.fromkeys((opening, *offered(opening))), opening, folding)
        assert self.folding is not None
        if options.focus:
            places_of(graph, 1, options.focus)
            self.open(self.folding.opened_around(options.focus))
        self.open(self.marks.opened(self.folding, self.boxes))

    @property
    def boxes(self) -> int:
        """How many boxes there are at first."""
        return 0 if self.folding is None else boxes_of(self.folding)

    def text(self, *, variables: bool = True) -> str:
        """The picture as it is at first, as SVG text."""
        return self[self.opening].svg(variables=variables)


def draw(graph: Graph, options: DrawOptions = DEFAULT, *, variables: bool = True) -> str:
    """Draw a graph as it is, as SVG text, the same bytes for the same graph.

    Args:
        graph: What is drawn; of more than 400 nodes the first 400, or those around the focus.
        options: How.
        variables: Colours as CSS variables; ``False`` for programs that know none.

    Raises:
        GraphvizNotFoundError: If no layout engine is installed.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> svg = draw(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)]))
        >>> svg.count('class="gv-stub"')
        1
    """
    return GraphDrawing(graph, options).text(variables=variables)


def is_readable(graph: Graph, options: DrawOptions = DEFAULT) -> bool:
    """Whether all of a graph, drawn without folds, can be read on a screen at once."""
    drawing = GraphDrawing(graph, options)
    return fits_screen(drawing[drawing.opening].composed(()))


def _note(folding: Folding, graph_index: GraphIndex) -> str:
    """What a reader is told of folds: why they are not as asked for, or not of modules."""
    tree = folding.tree
    words = [LEFT_OUT] if tree.graph.values_left_out else []
    words += [folding.opening.note] if folding.opening.note else []
    if folding.is_other_model:
        words.append(
            "Nothing in this graph is of the module given as model=, "
            "so it is folded by repeated structure."
        )
    elif not any(fold.path for fold in tree):
        subject = graph_index.subject_typed
        words.append(
            "No module is known, so this is folded by repeated structure; "
            f"gradviz.show({subject}, model=model) folds by module."
        )
    return " ".join(words)
