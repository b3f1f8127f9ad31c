"""A graph without some of its facts: for pictures that must not give an answer away."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gradviz.model.graph import Graph
from gradviz.model.records import Node, TensorInfo


def blanked(graph: Graph, parts: Collection[str]) -> Graph:
    """A graph that no longer has the facts of these parts of a picture, so that nothing that is
    made of it can show them: no card, no class of an element, no word for a screen reader.

    Args:
        graph: What is known.
        parts: Of the parts that ``show`` and ``hide`` name: ``"saved"``, ``"values"``, ``"grad"``,
            ``"hooks"``, ``"versions"``. Parts that are only drawn, as ``"source"``, change nothing.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> b = a * a
        >>> b.backward()
        >>> hidden = blanked(gradviz.snapshot(b), ["grad", "saved"])
        >>> hidden.leaves[0].grad, hidden["n0"].saved, hidden["n0"].state
        (None, (), 'saves nothing')
    """
    hidden = frozenset(parts)
    if not hidden & {"saved", "values", "grad", "hooks", "versions"}:
        return graph
    return Graph.of(
        [_node(node, hidden) for node in graph.nodes],
        graph.roots,
        [_tensor(info, hidden) for info in graph.tensors],
        graph.modules,
    )


def _node(node: Node, hidden: Collection[str]) -> Node:
    saved, attributes = node.saved, node.attributes
    if "values" in hidden:
        saved, attributes = tuple(replace(slot, values=None) for slot in saved), ()
    if "versions" in hidden:
        saved = tuple(replace(s, saved_version=None, current_version=None) for s in saved)
    if "saved" in hidden:
        node, saved = replace(node, state="saves nothing"), ()
    hooks = () if "hooks" in hidden else node.hooks
    return replace(node, saved=saved, attributes=attributes, hooks=hooks)


def _tensor(info: TensorInfo, hidden: Collection[str]) -> TensorInfo:
    if "grad" in hidden:
        info = replace(info, grad=None)
    if "values" in hidden:
        info = replace(info, values=None, grad=info.grad and replace(info.grad, values=None))
    if "versions" in hidden:
        info = replace(info, version=0)
    return replace(info, hooks=() if "hooks" in hidden else info.hooks)
