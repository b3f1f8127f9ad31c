"""One sentence per node, tensor and graph: what a screen reader says."""

from __future__ import annotations

from typing import Final

from gradviz.model.fact_list import FLAGS, SlotFacts, TensorKey
from gradviz.model.facts import Node, TensorInfo
from gradviz.view import phrases
from gradviz.view.context import Context
from gradviz.view.text import shorten

TENSOR_KEYS: Final[tuple[TensorKey, ...]] = (*FLAGS, "shape", "version", "grad")
MOST: Final = 6
"""Nodes that a sentence says a node leads to."""


def of_graph(context: Context) -> str:
    """What the graph is and what it holds."""
    counts = context.counts
    parts = [
        phrases.plural(counts["nodes"], "node"),
        phrases.plural(counts["edges"], "edge"),
        phrases.plural(counts["leaves"], "leaf"),
    ]
    saved = sum(counts.get(f"saved {state}", 0) for state in ("held", "modified", "packed"))
    if saved:
        kept = f" ({phrases.size(context.saved_bytes)})" if context.saved_bytes else ""
        parts.append(phrases.plural(saved, "saved tensor") + kept)
    if modified := counts.get("saved modified"):
        parts.append(f"{modified} of them modified since")
    if freed := counts.get("nodes freed"):
        parts.append(phrases.plural(freed, "freed node"))
    return f"{title(context)}: {', '.join(parts)}"


def title(context: Context) -> str:
    """``autograd graph of loss``."""
    return f"autograd graph of {context.subject}" if context.subject else "empty autograd graph"


def of_node(node: Node, context: Context) -> str:
    """A node or leaf with its state and what it leads to."""
    facts, variable = context.of_node(node), context.tensors.get(node.variable or "")
    if variable is not None:
        return f"{of_tensor(variable, context)}, {facts['name'].words} {node.id}"
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


def of_tensor(info: TensorInfo, context: Context) -> str:
    """A tensor with its flags, version and gradient."""
    facts = context.of_tensor(info)
    words = [facts["name"].words, *facts.long(*TENSOR_KEYS)]
    words += [hook.long for hook in facts["hooks"].parts]
    if info.node is None:
        words.append(facts["place"].long)
    return shorten(", ".join(words), 300)


def _saved(slot: SlotFacts) -> str:
    return phrases.join((slot["name"].short, slot["state"].long), " ")
