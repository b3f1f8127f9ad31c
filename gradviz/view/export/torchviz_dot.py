"""A graph drawn as torchviz draws it, for code that was written for torchviz."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import graphviz

from gradviz.model.drawn_output import DrawnOutput
from gradviz.model.graph import Graph
from gradviz.model.records import Node, SavedTensor, TensorInfo
from gradviz.view.graph.layout_program import as_svg
from gradviz.view.text import clean

_LEAF: Final = "lightblue"
_SAVED: Final = "orange"
_OUTPUT: Final = "darkolivegreen1"
_BASE: Final = "darkolivegreen3"
_PER_STATEMENT: Final = 0.15
"""Inches of paper for each statement, as in torchviz."""
_LEAST: Final = 12
"""Inches of paper of a small drawing."""
_LEAST_CHARACTERS: Final = 3


class DotDrawing(graphviz.Digraph):  # type: ignore[misc]  # the package is untyped
    """A ``graphviz.Digraph`` that notebooks show without the program ``dot``, too."""

    def _repr_image_svg_xml(self) -> str:
        return as_svg(self.source)


def torchviz_dot(
    graph: Graph,
    outputs: Sequence[DrawnOutput],
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> DotDrawing:
    """The drawing.

    Args:
        graph: The graph behind the outputs.
        outputs: What was passed.
        show_attrs: Whether nodes have their saved numbers and sizes.
        show_saved: Whether saved tensors are drawn; those of custom Functions always are.
        max_attr_chars: Characters that are shown of each number or size.

    Examples:
        >>> from gradviz.model import Node
        >>> graph = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])
        >>> print(torchviz_dot(graph, [DrawnOutput((2,), ("n0", 0), False)]).body[1].strip())
        n0 -> n0_0
    """
    look = {"style": "filled", "shape": "box", "align": "left", "fontsize": "10"}
    look |= {"ranksep": "0.1", "height": "0.2", "fontname": "monospace"}
    drawing = DotDrawing(node_attr=look)
    _Writer(graph, drawing, show_attrs, show_saved, max_attr_chars).write(outputs)
    size = max(_LEAST, len(drawing.body) * _PER_STATEMENT)
    drawing.graph_attr.update(size=f"{size},{size}")
    return drawing


class _Writer:
    """Writes the statements of a drawing."""

    def __init__(
        self,
        graph: Graph,
        drawing: DotDrawing,
        show_attrs: bool,
        show_saved: bool,
        max_attr_chars: int,
    ) -> None:
        self._graph, self._drawing = graph, drawing
        self._show_attrs, self._show_saved = show_attrs, show_saved
        self._most = max(max_attr_chars, _LEAST_CHARACTERS)
        self._tensors = {info.id: info for info in graph.tensors}
        self._of_root: dict[tuple[str, int], TensorInfo] = {}
        for info in graph.tensors:
            if info.node is not None:
                self._of_root.setdefault((info.node, info.output_nr), info)
        self._drawn: set[str] = set()

    def write(self, outputs: Sequence[DrawnOutput]) -> None:
        # A leaf that was passed is drawn without the node that nothing leads to.
        used = {edge.target for edge in self._graph.edges}
        used |= {o.root[0] for o in _with_bases(outputs) if o.root and not o.is_leaf}
        for output in outputs:
            self._output(output, _OUTPUT, used)
        for node in self._graph.nodes:
            if node.id in used:
                self._node(node)

    def _output(self, output: DrawnOutput, colour: str, used: Collection[str]) -> str:
        """A tensor that was passed, or the base of one; its id in the drawing."""
        root = output.root
        info = self._of_root.get(root) if root else None
        other = f"{root[0]}_{root[1]}" if root else f"base_{len(self._drawn)}"
        key = info.id if info else other
        if key in self._drawn:
            return key
        self._drawn.add(key)
        name = (info.name if info else None) or ""
        is_in_graph = output.is_leaf and root is not None and root[0] in used
        self._box(key, _sized(name, output.shape), _LEAF if is_in_graph else colour)
        if root is not None and not output.is_leaf:
            self._drawing.edge(root[0], key)
        if output.base is not None:
            base = self._output(output.base, _BASE, used)
            self._drawing.edge(base, key, style="dotted")
        return key

    def _node(self, node: Node) -> None:
        info = self._tensors.get(node.variable or "")
        if info is not None:
            if info.id not in self._drawn:
                self._drawn.add(info.id)
                self._box(info.id, _sized(info.name or "", info.shape), _LEAF)
            self._drawing.edge(info.id, node.id)
        label = "\n".join((node.name, *_attributes(node, self._most if self._show_attrs else 0)))
        self._drawing.node(node.id, _escaped(label + _state(node)))
        for entry in node.next_functions:
            if entry is not None:
                self._drawing.edge(entry[0], node.id)
        for place, slot in enumerate(node.saved):
            is_custom = _of_function(node, slot)
            if slot.state != "none" and (self._show_saved or is_custom):
                self._saved(node, place, slot, is_custom)

    def _saved(self, node: Node, place: int, slot: SavedTensor, is_custom: bool) -> None:
        """A saved tensor: its own box if it is a known tensor, which others may save, too."""
        key = slot.tensor or f"{node.id}_saved_{place}"
        if key not in self._drawn:
            self._drawn.add(key)
            known = self._tensors.get(key)
            name = (known.name if known else None) or ("" if is_custom else slot.name)
            words = "" if slot.state == "held" else f" {slot.state}"
            self._box(key, _sized(name, slot.shape) + words, _SAVED)
        ends = (key, node.id) if is_custom else (node.id, key)
        self._drawing.edge(*ends, dir="none")

    def _box(self, key: str, label: str, colour: str) -> None:
        self._drawing.node(key, _escaped(label), fillcolor=colour)


def _with_bases(outputs: Sequence[DrawnOutput]) -> Iterator[DrawnOutput]:
    for output in outputs:
        yield output
        if output.base is not None:
            yield output.base


def _of_function(node: Node, slot: SavedTensor) -> bool:
    """Whether a custom Function saved it; torch's own nodes have a derivative in its table."""
    return slot.name.partition("[")[0] == "tensors" and node.formula is None


def _state(node: Node) -> str:
    """What torchviz does not say: that a node cannot be used as it was recorded."""
    if node.state == "freed":
        return "\nfreed"
    modified = [slot.name for slot in node.saved if slot.state == "modified"]
    return f"\nmodified in place: {', '.join(modified)}" if modified else ""


def _attributes(node: Node, most: int) -> Iterator[str]:
    """The table of saved numbers, sizes and tensors below the name of a node.

    Args:
        node: The node.
        most: Characters of a value; 0 for no table.
    """
    found: dict[str, Any] = {name: str(value) for name, value in node.attributes}
    for slot in () if not most else node.saved:
        if _of_function(node, slot):
            continue
        name, bracket, _ = slot.name.partition("[")
        if slot.state == "none":
            found.setdefault(name, "None")
        else:
            found[name] = "[saved tensors]" if bracket else "[saved tensor]"
    if not (most and found):
        return
    names = max(map(len, found))
    room = min(max(map(len, found.values())), most)
    yield "-" * max(names + room + 2, len(node.name))
    for name, value in sorted(found.items()):
        shown = f"{value[: room - 3]}..." if len(value) > room else value
        yield f"{name:<{names}}: {shown:>{room}}"


def _sized(name: str, shape: tuple[int, ...] | None) -> str:
    sizes = "?" if shape is None else ", ".join(map(str, shape))
    return f"{name}\n ({sizes})"


def _escaped(label: str) -> str:
    """A label that is text: names are never read as escapes or HTML."""
    lines = (clean(line) for line in label.split("\n"))
    text = "\n".join(lines).replace("&", "&amp;")
    return graphviz.escape(text)  # type: ignore[no-any-return]
