"""What captions call things: as the cards of the picture do, which say what a person wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary, ref

from gradviz.model.derivatives import gradient_of, shapes_behind
from gradviz.model.derivatives.expression import Expression
from gradviz.model.history import History
from gradviz.model.node_titles import title_of, titles_of
from gradviz.model.records import Node
from gradviz.model.sentence import Sentence, Term, say
from gradviz.view.boxes import Boxes
from gradviz.view.captions.sums import times
from gradviz.view.text import clean, shorten

ROOM: Final = 28
"""Cells of one name in a sentence."""


class CaptionNames:
    """The boxes of a whole recording, by name.

    Args:
        history: The recording.
    """

    def __init__(self, history: History) -> None:
        self._known = ref(history)  # it is what these are kept by
        self._derivatives: dict[tuple[str, int], Expression | None] = {}

    @property
    def _history(self) -> History:
        history = self._known()
        assert history is not None
        return history

    @cached_property
    def boxes(self) -> Boxes:
        """The boxes of all nodes that any step has."""
        return Boxes.of(self._history.recording.graph)

    @cached_property
    def order(self) -> dict[str, int]:
        """Where nodes are in the order of the forward."""
        graph = self._history.recording.graph
        return {graph.id_at(place): at for at, place in enumerate(graph.order)}

    @cached_property
    def _titles(self) -> dict[str, str]:
        graph = self._history.recording.graph
        titles = dict(titles_of(graph)) | dict(self.boxes.titles)
        return {node.id: clean(title_of(node, titles)) for node in graph.nodes}

    def derivative(self, node: Node, place: int) -> Expression | None:
        """How a node computes the gradient for an entry of ``next_functions``, if that is known."""
        key = node.id, place
        if key not in self._derivatives:
            # As it was made: what is freed does not say any more which dtype it had.
            last, born = len(self._history.recording.records), self._history.born(node.id)
            made = self._history.node_at(node.id, born or 0) or node
            shapes = shapes_behind(made, lambda one: self._history.node(one, last))
            self._derivatives[key] = gradient_of(made, place, shapes).tree
        return self._derivatives[key]

    def head(self, node: str) -> str:
        """The node that the box of a node is called by."""
        return self.boxes.heads.get(node, node)

    def title(self, node: str) -> str:
        """What the box of a node is called."""
        return shorten(self._titles.get(self.head(node), node), ROOM)

    def path(self, node: str) -> str:
        """The module of the box of a node; empty if none is known."""
        row = self._history.node(self.head(node), len(self._history.recording.records))
        return "" if row is None else clean(row.module or "")

    def tensor(self, key: str, step: int, inside: str = "") -> Sentence:
        """A tensor by its name, without the path of the module that it is told of.

        Args:
            key: Its id.
            step: The step.
            inside: The path of that module.
        """
        name = clean(self._history.called(key, step))
        if inside and self.boxes.owners.get(key) == inside:
            name = self.boxes.name(key, name)
        return Sentence(Term(key, shorten(name, ROOM)))

    def targets(self, node: str, step: int) -> Iterator[tuple[int, str]]:
        """Where the gradients of a node go, seen from its box: the entry of ``next_functions``, and
        the node outside that it leads to."""
        own = self.head(node)
        row = self._history.node(node, step)
        for place, entry in enumerate(row.next_functions if row else ()):
            for target in [] if entry is None else self._outside(entry[0], own, step):
                yield place, target

    def _outside(self, node: str, own: str, step: int) -> Iterator[str]:
        if self.head(node) != own:
            yield node
            return
        row = self._history.node(node, step)
        for entry in row.next_functions if row else ():
            if entry is not None:
                yield from self._outside(entry[0], own, step)

    def of_nodes(self, nodes: Iterable[str], step: int, inside: str = "") -> list[Sentence]:
        """Boxes and leaves by name, each once; what tells two of one name apart is said."""
        names: dict[str, Sentence] = {}
        for key in nodes:
            row = self._history.node(key, step)
            variable = None if row is None else row.variable
            if variable is not None and self._history.tensor(variable, step) is not None:
                names.setdefault(key, self.tensor(variable, step, inside))
            else:
                names.setdefault(self.head(key), Sentence(Term(key, self.title(key))))
        texts = [str(one) for one in names.values()]
        counts: dict[Sentence, int] = {}
        for key, name in names.items():
            words = say("{}{}", name, self._place(key)) if texts.count(str(name)) > 1 else name
            counts[words] = counts.get(words, 0) + 1
        return [say("{}{}", name, times(count)) for name, count in counts.items()]

    def _place(self, node: str) -> str:
        """The module of a node, else the line that made it."""
        if path := self.path(node):
            return f" {path}"
        found = self._history.node_name(node)
        return f" of {found.line}" if found is not None and found.line else ""


_NAMES: Final = WeakKeyDictionary[History, CaptionNames]()


def names_of(history: History) -> CaptionNames:
    """The names of a recording, made once."""
    found = _NAMES.get(history)
    if found is None:
        found = _NAMES[history] = CaptionNames(history)
    return found
