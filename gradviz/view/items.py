"""What the browser knows of one node or tensor: its names, neighbours and facts, as plain data."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gradviz.model.fold import Fold
from gradviz.model.records import Node, TensorInfo
from gradviz.view import aria, formatting, inspector
from gradviz.view.fold_facts import FoldFacts
from gradviz.view.graph_index import GraphIndex
from gradviz.view.text import clean


def node_item(node: Node, graph_index: GraphIndex) -> dict[str, Any]:
    """What the browser knows of a node."""
    targets = (entry[0] for entry in node.next_functions if entry is not None)
    following = dict.fromkeys(t for t in targets if graph_index.is_drawn(t))
    kept = (slot.tensor or slot.view_of for slot in node.saved)
    following |= dict.fromkeys(t for t in kept if t and graph_index.is_outside(t))
    return {
        **_node_words(node, graph_index, aria.of_node(node, graph_index)),
        "next": list(following),
        "prev": list(graph_index.consumers.get(node.id, ())),
        "details": sections_of(inspector.node_sections(node, graph_index, tags=False)),
    }


def item_of(
    one: Node | TensorInfo, graph_index: GraphIndex, left_out: Collection[str] = ()
) -> dict[str, Any]:
    """What can be found and selected of a graph that is drawn as it is: a node, a tensor it made,
    or one outside the graph.

    Args:
        one: Which.
        graph_index: Its graph.
        left_out: Tensors outside the graph that are not drawn, since there are too many.
    """
    if isinstance(one, Node):
        return (node_item if graph_index.is_drawn(one.id) else listed_item)(one, graph_index)
    if one.node is not None:
        is_drawn = graph_index.is_drawn(one.node)
        item = tensor_item(one, graph_index, [one.node] if is_drawn else [], [])
        return item if is_drawn else undrawn(item)
    savers = dict.fromkeys(node for node, _ in graph_index.saved_by.get(one.id, ()))
    item = tensor_item(one, graph_index, [], [*filter(graph_index.is_drawn, savers)])
    return undrawn(item) if one.id in left_out else item


def listed_item(node: Node, graph_index: GraphIndex) -> dict[str, Any]:
    """What the browser knows of a node that is not drawn: its row of the outline has its facts."""
    name = graph_index.node_name(node.id)
    words = _node_words(node, graph_index, name)
    return undrawn({**words, "next": [], "prev": [], "details": []})


def folded_item(
    node: Node, graph_index: GraphIndex, fold: Fold, words: FoldFacts, is_whole: bool
) -> dict[str, Any]:
    """What the browser knows of a node of a folded graph.

    Args:
        node: The node.
        graph_index: Its graph.
        fold: The innermost fold that it is in.
        words: What folds are called.
        is_whole: Whether its facts are there, or asked for when they are needed.
    """
    made = node_item if is_whole else listed_item
    item = made(node, graph_index)
    path = clean(words.path(fold)).lower()
    find = item["find"] if path in item["find"] else f"{item['find']} {path}"
    if not is_whole:
        item.pop("is_drawn")
        targets = (entry[0] for entry in node.next_functions if entry is not None)
        near = {"next": list(dict.fromkeys(targets))}
        near["prev"] = list(graph_index.consumers.get(node.id, ()))
        return {**item, **near, "find": find, "fold": fold.id}
    details = with_rows(item["details"], words.of_node(node, fold))
    return {**item, "find": find, "details": details, "fold": fold.id}


def fold_item(fold: Fold, above: str, words: FoldFacts, is_whole: bool) -> dict[str, Any]:
    """What the browser knows of a fold.

    Args:
        fold: The fold.
        above: Id of the fold that it is in.
        words: What folds are called.
        is_whole: Whether its facts are there, or asked for when they are needed.
    """
    label = words.label(fold)
    details = [{"heading": label, "rows": words.rows(fold)}] if is_whole else []
    return {
        "id": fold.id,
        "kind": "fold",
        "label": label,
        "aria": formatting.join((label, words.counts(fold)), ", "),
        "find": words_to_find([fold.id, fold.path, fold.type, label]),
        "next": [],
        "prev": [],
        "details": details,
        "fold": above,
    }


def with_rows(details: list[dict[str, Any]], rows: list[list[str]]) -> list[dict[str, Any]]:
    """Sections with more rows in the first one."""
    first, *others = details
    return [{**first, "rows": [*first["rows"], *rows]}, *others]


def undrawn(item: dict[str, Any]) -> dict[str, Any]:
    """The item of something that is not drawn."""
    return {**item, "is_drawn": False}


def _node_words(node: Node, graph_index: GraphIndex, said: str) -> dict[str, Any]:
    """What a node is called, and the words by which it is found.

    Args:
        node: The node.
        graph_index: Its graph.
        said: What a screen reader says.
    """
    words = [node.id, node.name, node.state, node.variable and graph_index.names.get(node.variable)]
    words += [
        node.source,
        node.module,
        *(graph_index.names[t.id] for t in graph_index.tags.get(node.id, ())),
    ]
    words += [slot["tensor"].words for slot in graph_index.of_node(node).saved]
    return {
        "id": node.id,
        "kind": "leaf" if node.variable else "node",
        "label": graph_index.node_name(node.id).removeprefix("leaf "),
        "aria": said,
        "find": words_to_find(words),
    }


def tensor_item(
    info: TensorInfo, graph_index: GraphIndex, following: list[str], before: list[str]
) -> dict[str, Any]:
    """What the browser knows of a tensor that is not a leaf of the graph."""
    return {
        "id": info.id,
        "kind": "tensor",
        "label": graph_index.of_tensor(info)["name"].words,
        "aria": aria.of_tensor(info, graph_index),
        "find": words_to_find([info.id, info.name, info.dtype]),
        "next": following,
        "prev": before,
        "details": sections_of((inspector.tensor_section(info, graph_index),)),
    }


def words_to_find(words: list[str | None]) -> str:
    """Words of an item in lower case, each once."""
    return " ".join(dict.fromkeys(clean(word).lower() for word in words if word))


def sections_of(sections: tuple[inspector.Section, ...]) -> list[dict[str, Any]]:
    """Sections as plain data."""
    return [{"heading": s.heading, "rows": [list(row) for row in s.rows]} for s in sections]
