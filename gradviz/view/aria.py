"""One sentence per node, tensor and graph, for screen readers."""

from __future__ import annotations

from typing import Final

from gradviz.model.facts import FLAGS, SlotFacts, TensorKey
from gradviz.model.records import Node, TensorInfo
from gradviz.view import formatting
from gradviz.view.graph_index import GraphIndex
from gradviz.view.text import shorten

TENSOR_KEYS: Final[tuple[TensorKey, ...]] = (*FLAGS, "shape", "version", "grad")
VALUES_LEFT_OUT: Final = "values are left out"
"""What is said of a graph or recording that was saved without numbers."""
MOST: Final = 6
"""Entries of ``next_functions`` in a sentence."""


def of_graph(graph_index: GraphIndex) -> str:
    """The graph and its counts."""
    counts = graph_index.counts
    parts = [
        formatting.plural(counts["nodes"], "node"),
        formatting.plural(counts["edges"], "edge"),
        formatting.plural(counts["leaves"], "leaf"),
    ]
    saved = sum(counts.get(f"saved {state}", 0) for state in ("held", "modified", "packed"))
    if saved:
        parts.append(formatting.plural(saved, "saved tensor") + _kept(graph_index))
    if modified := counts.get("saved modified"):
        parts.append(f"{modified} of them modified after saving")
    if freed := counts.get("nodes freed"):
        parts.append(formatting.plural(freed, "freed node"))
    if graph_index.graph.values_left_out:
        parts.append(VALUES_LEFT_OUT)
    return f"{title(graph_index)}: {', '.join(parts)}"


def _kept(graph_index: GraphIndex) -> str:
    size, without = graph_index.saved_bytes, graph_index.counts.get("saved without size", 0)
    words = [formatting.size(size)] if size else []
    if without:
        words.append(f"{without:,} not counted")
    return f" ({', '.join(words)})" if words else ""


def title(graph_index: GraphIndex) -> str:
    """``autograd graph of loss``."""
    return (
        f"autograd graph of {graph_index.subject}"
        if graph_index.subject
        else "empty autograd graph"
    )


def of_node(node: Node, graph_index: GraphIndex) -> str:
    """A node or leaf with its state and its ``next_functions``."""
    facts, variable = graph_index.of_node(node), graph_index.tensors.get(node.variable or "")
    if variable is not None:
        return f"{of_tensor(variable, graph_index)}, {facts['name'].words} {node.id}"
    saved = [_saved(slot) for slot in facts.saved if slot["state"].value != "none"]
    words = [facts["name"].words, *facts.long("root")]
    words.append("saves " + " and ".join(saved) if saved else facts["state"].long)
    if saved and node.state not in ("holds", "freed"):
        words.append(facts["state"].long)
    if following := [part.long for part in facts["next_functions"].parts]:
        more = " and more" if len(following) > MOST else ""
        words.append(f"leads to {', '.join(following[:MOST])}{more}")
    words += facts.long("tensors")
    return shorten(", ".join(words), 300)


def of_tensor(info: TensorInfo, graph_index: GraphIndex) -> str:
    """A tensor with its flags, version and gradient."""
    facts = graph_index.of_tensor(info)
    words = [facts["name"].words, *facts.long(*TENSOR_KEYS)]
    words += [hook.long for hook in facts["hooks"].parts]
    if info.node is None:
        words.append(facts["place"].long)
    return shorten(", ".join(words), 300)


def _saved(slot: SlotFacts) -> str:
    return formatting.join((*slot.short("name", "values"), slot["state"].long), " ")
