"""One sentence per node, tensor and graph: what a screen reader says."""

from __future__ import annotations

from gradviz.model.facts import Node, TensorInfo
from gradviz.view import phrases
from gradviz.view.context import Context
from gradviz.view.text import clean, shorten


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
    variable = context.tensors.get(node.variable or "")
    if variable is not None:
        return f"{of_tensor(variable, context)}, AccumulateGrad {node.id}"
    words = [clean(node.name)]
    if node.id in context.roots:
        words.append("root")
    saved = [_saved(node, i, context) for i in range(len(node.saved))]
    words.append("saves " + " and ".join(filter(None, saved)) if any(saved) else node.state)
    if any(saved) and node.state not in ("holds", "freed"):
        words.append(node.state)
    following = [
        "no gradient needed" if entry is None else context.node_name(entry[0])
        for entry in node.next_functions[:6]
    ]
    if following:
        more = " and more" if len(node.next_functions) > 6 else ""
        words.append(f"leads to {', '.join(following)}{more}")
    if tags := context.tags.get(node.id):
        words.append("made " + ", ".join(context.names[tag.id] for tag in tags))
    return shorten(", ".join(words), 300)


def of_tensor(info: TensorInfo, context: Context) -> str:
    """A tensor with its flags, version and gradient."""
    words = [phrases.tensor_name(info), *phrases.flags(info), f"shape {phrases.shape(info.shape)}"]
    if info.version is not None:
        words.append(f"version {info.version}")
    if info.requires_grad and (info.is_leaf or info.retains_grad):
        words.append(f"grad {phrases.summary(info.grad)}")
    words += [phrases.hook(hook) for hook in info.hooks]
    if info.node is None:
        words.append("outside the graph")
    return shorten(", ".join(words), 300)


def _saved(node: Node, place: int, context: Context) -> str:
    slot = node.saved[place]
    if slot.state == "none":
        return ""
    name = phrases.saved_name(slot, context.names)
    if slot.state == "held":
        return name if slot.saved_version is None else f"{name} at version {slot.saved_version}"
    return f"{name} {phrases.saved_state(slot).replace('⚠', 'modified,')}"
