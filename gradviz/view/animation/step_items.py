"""The rows of inspector, outline and table of tensors for the browser: at each step, the rows that
change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

from gradviz.model.facts import TensorKey
from gradviz.model.highlights import Highlight
from gradviz.model.ids import number_of
from gradviz.model.recording import Recording
from gradviz.model.records import TensorInfo
from gradviz.view.aria import of_tensor
from gradviz.view.graph.highlights import highlighted_item
from gradviz.view.inspector import tensor_section
from gradviz.view.items import item_of, sections_of, undrawn, words_to_find
from gradviz.view.outlines.graph import node_cells, tensor_cells
from gradviz.view.step_index import StepIndex

TENSOR_KEYS: Final[tuple[TensorKey, ...]] = (
    "name",
    "is_leaf",
    "requires_grad",
    "retains_grad",
    "version",
    "grad",
)
"""Facts in the table of tensors."""
TENSOR_COLUMNS: Final = ("name", "is_leaf", "requires_grad", "retains_grad", "version", ".grad")
Item: TypeAlias = "dict[str, Any]"
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class StepItems:
    """The changes at a step, by id; ``None`` for what no longer exists."""

    items: dict[str, Item | None]
    tensors: dict[str, list[str] | None]
    rows: dict[str, list[str] | None]


class StepItemsWriter:
    """Goes from step to step and keeps the last rows."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._rows: dict[str, list[str]] = {}
        self._tensors: dict[str, list[str]] = {}

    def step_items(self, step_index: StepIndex, touched: set[str]) -> StepItems:
        """The changes at a step.

        Args:
            step_index: The nodes and tensors after it.
            touched: Ids whose description may have changed.
        """
        tags = (tag.id for node_id in touched for tag in step_index.tags.get(node_id, ()))
        keys = _sorted({*touched, *tags} - {""})
        changed = [key for key in keys if key[0] == "t"]
        return StepItems(
            _put(self._items, keys, lambda key: _item(key, step_index)),
            _put(self._tensors, changed, lambda key: _cells(key, step_index)),
            _put(self._rows, keys, lambda key: _row(key, step_index)),
        )


def marked_items(
    recording: Recording,
    step_items: Mapping[int, StepItems],
    marks: Mapping[int, Sequence[Highlight]],
) -> Iterator[dict[str, Item | None]]:
    """The changed items at each step, with the marks of the step in their text.

    Args:
        recording: What is shown.
        step_items: The changes without marks, by step.
        marks: Marks by step.
    """
    leaf_node = recording.graph.leaf_nodes
    plain: dict[str, Item | None] = {}
    shown: dict[str, Item] = {}
    before: set[str] = set()
    for step, one in step_items.items():
        plain.update(one.items)
        here = [replace(m, id=leaf_node.get(m.id, m.id)) for m in marks.get(step, ())]
        marked = {mark.id.partition(".")[0] for mark in here} & plain.keys()
        keys = _sorted({*one.items, *marked, *before})
        now = {key: _marked(plain.get(key), here) for key in keys}
        yield _put(shown, keys, now.get)
        before = marked


def _marked(item: Item | None, marks: Sequence[Highlight]) -> Item | None:
    return highlighted_item(item, marks) if item is not None and marks else item


def _item(key: str, step_index: StepIndex) -> dict[str, Any] | None:
    if key[0] == "n":
        if not step_index.is_listed(key):
            return None
        if (node := step_index.rows.get(key)) is not None:
            return item_of(node, step_index)
        leaf = step_index.waiting(key)
        item = None if leaf is None else _waiting_item(key, leaf, step_index)
        return item if item is None or step_index.is_drawn(key) else undrawn(item)
    info = step_index.tensors.get(key)
    if info is None or key in step_index.leaf_node:
        return None
    return item_of(info, step_index)


def _row(key: str, step_index: StepIndex) -> list[str] | None:
    if key[0] == "n":
        if not step_index.is_listed(key):
            return None
        node = step_index.rows.get(key)
        if node is not None:
            return list(node_cells(node, step_index))
        leaf = step_index.waiting(key)
        if leaf is None:
            return None
        cells = list(tensor_cells(leaf, step_index))
        return [key, f"leaf {cells[1]}", "in no graph now", *cells[3:]]
    info = step_index.tensors.get(key)
    return (
        None
        if info is None or key in step_index.leaf_node
        else list(tensor_cells(info, step_index))
    )


def _put(
    known: dict[str, Row], keys: Iterable[str], make: Callable[[str], Row | None]
) -> dict[str, Row | None]:
    """The changes of these keys; ``None`` for what no longer exists."""
    changed: dict[str, Row | None] = {}
    for key in keys:
        now = make(key)
        if known.get(key) != now:
            changed[key] = now
            if now is None:
                del known[key]
            else:
                known[key] = now
    return changed


def _waiting_item(key: str, info: TensorInfo, step_index: StepIndex) -> dict[str, Any]:
    """The item of a leaf that is in no graph now."""
    return {
        "id": key,
        "kind": "leaf",
        "label": step_index.of_tensor(info)["name"].words,
        "aria": f"{of_tensor(info, step_index)}, in no graph now",
        "find": words_to_find([key, info.id, info.name]),
        "next": [],
        "prev": [],
        "details": sections_of((tensor_section(info, step_index),)),
    }


def _cells(key: str, step_index: StepIndex) -> list[str] | None:
    """The row of a tensor in the table of tensors."""
    info = step_index.tensors.get(key)
    if info is None:
        return None
    facts = step_index.of_tensor(info)
    return [facts[column].words for column in TENSOR_KEYS]


def _sorted(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=lambda key: (key[0], number_of(key)))
