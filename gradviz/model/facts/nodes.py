"""The facts of a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gradviz.model.derivatives import gradient_of, shapes_behind
from gradviz.model.facts.common import hook_facts, listed_facts
from gradviz.model.facts.fact import Fact, Facts, Maker, Surroundings
from gradviz.model.facts.saved import slot_facts
from gradviz.model.formatting import attribute, shape
from gradviz.model.records import (
    Node,
    TensorInfo,
)

NodeKey: TypeAlias = Literal[
    "id",
    "name",
    "root",
    "state",
    "source",
    "module",
    "variable",
    "shapes",
    "tensors",
    "arguments",
    "next_functions",
    "gradient",
    "derivative",
    "saved numbers",
    "hooks",
    "own hooks",
    "hooks known",
]


@dataclass(frozen=True, slots=True)
class Made:
    """A node with the known tensors that it made, and its leaf."""

    node: Node
    tensors: Sequence[TensorInfo]


class NodeFacts(Facts[NodeKey, Made]):
    """The facts of a node, and those of each saved tensor."""

    __slots__ = ("saved",)

    def __init__(self, row: Made, around: Surroundings) -> None:
        super().__init__(row, around, _NODE)
        self.saved: Final = tuple(slot_facts(slot, around) for slot in row.node.saved)
        """Facts of each slot, in the order of ``Node.saved``."""


def node_facts(node: Node, around: Surroundings, tensors: Sequence[TensorInfo]) -> NodeFacts:
    """The facts of a node.

    Args:
        node: The node.
        around: Its graph.
        tensors: Known tensors that it made, and its leaf; their hooks are not repeated as hooks
            of the node.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> from gradviz.view.graph_index import GraphIndex
        >>> node = Node("n0", "SinBackward0", (None,))
        >>> found = node_facts(node, GraphIndex.of(Graph.of([node], [("n0", 0)])), ())
        >>> found["state"].words, found["root"].words, found["next_functions"].parts[0].words
        ('saves nothing', 'output 0', 'None: no gradient needed')
    """
    return NodeFacts(Made(node, tensors), around)


def _state(made: Made, around: Surroundings) -> Fact:
    words = made.node.state
    return Fact("state", words, words, words, words)


def _source(made: Made, around: Surroundings) -> Fact:
    words = around.tidy(made.node.source or "")
    return Fact("made by", made.node.source, words, words, words and f"made by {words}")


def _module(made: Made, around: Surroundings) -> Fact:
    if not made.node.module:
        return Fact("module")
    words = around.tidy(made.node.module)
    return Fact("module", made.node.module, words, f"in {words}", f"module {words}")


def _variable(made: Made, around: Surroundings) -> Fact:
    leaf = made.node.variable
    if leaf is None:
        return Fact("leaf")
    words = around.names.get(leaf, leaf)
    return Fact("leaf", leaf, words, f"of {words}", f"leaf {words}")


def _tensors(made: Made, around: Surroundings) -> Fact:
    """The known tensors that the node made."""
    variable = made.node.variable
    words = ", ".join(around.names[one.id] for one in made.tensors if one.id != variable)
    return Fact("tensors", None, words, long=words and f"made {words}")


def _arguments(made: Made, around: Surroundings) -> Fact:
    words = ", ".join(map(str, made.node.arguments))
    return Fact("arguments", words or None, words)


def _root(made: Made, around: Surroundings) -> Fact:
    outputs = around.roots.get(made.node.id)
    if not outputs:
        return Fact("root")
    words = "output " + ", ".join(map(str, outputs))
    return Fact("root", words, words, "root" if list(outputs) == [0] else f"root {words}", "root")


def _output_shapes(made: Made, around: Surroundings) -> Fact:
    """As data only where all of them are known."""
    shapes = made.node.output_shapes
    words = ", ".join(map(shape, shapes))
    value = None if None in shapes else words or None
    said = words and f"output {words}"
    return Fact("output shapes", value, words, said, said)


def argument_of(node: Node, slot: int) -> str | None:
    """Name of the argument behind an entry of ``next_functions``, where it is known."""
    return node.arguments[slot] if slot < len(node.arguments) else None


def _entries(made: Made, around: Surroundings) -> Fact:
    """Entries of ``next_functions``; the label is the argument, else the place."""
    parts = []
    for slot, entry in enumerate(made.node.next_functions):
        label = around.tidy(argument_of(made.node, slot) or str(slot))
        if entry is None:
            none = "no gradient needed"
            parts.append(Fact(label, None, f"None: {none}", "None", none))
            continue
        target, output_nr = entry
        name, output = around.node_name(target), f", output {output_nr}" if output_nr else ""
        brief = target + (f":{output_nr}" if output_nr else "")
        parts.append(Fact(label, entry, f"{target} {name}{output}", brief, name))
    brief = ", ".join(part.short for part in parts)
    return Fact("next_functions", None, brief, brief and f"-> {brief}", parts=tuple(parts))


def _gradient(made: Made, around: Surroundings) -> Fact:
    """How each gradient is computed; arguments of which the same is said share a part."""
    node, told = made.node, dict[str, list[str]]()
    shapes = shapes_behind(node, around.node_at)
    places = [place for place, entry in enumerate(node.next_functions) if entry is not None]
    for place in places:
        words = around.tidy(gradient_of(node, place, shapes).words)
        told.setdefault(words, []).append(around.tidy(argument_of(node, place) or ""))
    parts = []
    for words, names in told.items():
        label = " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if all(names) else ""
        lead = f"to {label}: " if label and len(node.next_functions) > 1 else ""
        parts.append(
            Fact(
                label,
                words,
                words,
                f"{lead}{words}",
                f"gradient {lead}{words}" if lead else f"gradient: {words}",
            )
        )
    brief = "; ".join(part.short for part in parts)
    return Fact("gradient", brief or None, brief, brief, parts=tuple(parts))


def _derivative(made: Made, around: Surroundings) -> Fact:
    """torch's formula, line by line: the label is the argument."""
    formula, parts = made.node.formula, []
    for line in formula.split("\n") if formula else ():
        argument, colon, expression = line.partition(": ")
        label, words = (argument, expression) if colon else ("", line)
        label, words = around.tidy(label), around.tidy(words)
        brief = f"∂{label}: {words}" if label else words
        whole = f"derivative {label}: {words}" if label else f"derivative {words}"
        parts.append(Fact(label, words, words, brief, whole))
    return Fact("derivative", formula, parts=tuple(parts))


def _attributes(made: Made, around: Surroundings) -> Fact:
    parts = []
    for name, value in made.node.attributes:
        label, words = around.tidy(name), attribute(value, tidy=around.tidy)
        parts.append(Fact(label, value, words, f"{label}={words}", f"{label}={words}"))
    brief = ", ".join(part.short for part in parts)
    return Fact("saved numbers", None, brief, brief, brief and f"with {brief}", tuple(parts))


def _node_hooks(made: Made, around: Surroundings) -> Fact:
    """All hooks that torch shows."""
    node, parts = made.node, hook_facts(made.node.hooks, around)
    seen = listed_facts(parts)
    others = ("others not known" if parts else "not known") if node.hooks_unknown else ""
    words = ", ".join(filter(None, (seen, others))) or "none"
    return Fact("hooks", seen or None, words, seen or words, parts=parts)


def _own_hooks(made: Made, around: Surroundings) -> Fact:
    """The hooks of the node that are not hooks of its tensors."""
    on_tensors = {hook for info in made.tensors for hook in info.hooks}
    parts = hook_facts([hook for hook in made.node.hooks if hook not in on_tensors], around)
    return Fact("hooks", listed_facts(parts) or None, listed_facts(parts), parts=parts)


def _hooks_known(made: Made, around: Surroundings) -> Fact:
    is_known = not made.node.hooks_unknown
    said = "all hooks known" if is_known else ""
    return Fact("all hooks known", is_known, str(is_known), said, said)


_NODE: Final[dict[NodeKey, Maker[Made]]] = {
    "id": lambda made, around: Fact("id", made.node.id, made.node.id),
    "name": lambda made, around: Fact("name", made.node.name, around.tidy(made.node.name)),
    "root": _root,
    "state": _state,
    "source": _source,
    "module": _module,
    "variable": _variable,
    "shapes": _output_shapes,
    "tensors": _tensors,
    "arguments": _arguments,
    "next_functions": _entries,
    "gradient": _gradient,
    "derivative": _derivative,
    "saved numbers": _attributes,
    "hooks": _node_hooks,
    "own hooks": _own_hooks,
    "hooks known": _hooks_known,
}
"""Every fact of a node, in order."""
