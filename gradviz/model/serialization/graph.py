"""A graph as a JSON document, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Final

from gradviz.model.columns import ColumnsOf
from gradviz.model.long_text import joined
from gradviz.model.records import ModuleInfo, Node, SavedTensor, TensorInfo
from gradviz.model.serialization.formats import GRAPH
from gradviz.model.serialization.reader import (
    DamagedError,
    Read,
    each,
    items_reader,
    object_reader,
    parse,
    reader,
)
from gradviz.model.serialization.references import check_graph, check_node
from gradviz.model.source_line import SourceLine

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True)
class GraphDocument:
    """What the document of a graph holds."""

    format: str
    device: str | None
    roots: tuple[tuple[str, int], ...]
    nodes: ColumnsOf
    tensors: tuple[TensorInfo, ...]
    modules: tuple[ModuleInfo, ...] = ()
    order: tuple[str, ...] | None = None
    values_left_out: bool = False


def write(
    roots: Iterable[tuple[str, int]],
    nodes: Iterable[Node],
    tensors: Iterable[TensorInfo],
    device: str | None,
    modules: Sequence[ModuleInfo] = (),
    order: Sequence[str] | None = None,
    values_left_out: bool = False,
) -> str:
    """The document of a graph; fields with their default value are left out.

    Args:
        roots: Node id and output number of each root.
        nodes: All nodes.
        tensors: All tensors.
        device: The one device all tensors are on; it is then named in the header only.
        modules: The modules that have some of the tensors.
        order: Ids of the nodes as the forward made them; ``None`` if that follows from the edges.
        values_left_out: Whether numbers were taken out.
    """
    header: dict[str, Any] = {
        "format": GRAPH.name,
        "device": device,
        "roots": [list(root) for root in roots],
    }
    if values_left_out:
        header["values_left_out"] = True
    lists: dict[str, Iterable[Any]] = {"nodes": nodes, "tensors": tensors}
    if modules:
        lists["modules"] = modules
    return joined(_texts(header, lists, device, order))


def _texts(
    header: dict[str, Any],
    lists: dict[str, Iterable[Any]],
    device: str | None,
    order: Sequence[str] | None,
) -> Iterator[str]:
    yield _ENCODER.encode(header)[:-1]
    for name, facts in lists.items():
        yield f',"{name}":['
        comma = ""
        for fact in facts:
            yield comma + _ENCODER.encode(sparse(without_device(fact, device)))
            comma = ","
        yield "]"
    if order is not None:
        yield f',"order":{_ENCODER.encode(list(order))}'
    yield "}"


def read(text: str) -> GraphDocument:
    """What a document holds.

    Raises:
        DocumentError: If the text is not JSON, not a document of this format, or holds what the
            format does not allow; the message has the place.
    """
    document = parse(text, GRAPH)
    read_node, read_tensor = row_readers(device_of(document))
    rows = {"nodes": _nodes_reader(read_node), "tensors": items_reader(read_tensor)}
    found: GraphDocument = object_reader(GraphDocument, **rows)(document)
    check_graph(found.nodes, found.tensors, found.roots, found.modules, found.order)
    return found


def _nodes_reader(read_node: Read) -> Read:
    def read_nodes(value: Any) -> ColumnsOf:
        found = ColumnsOf()
        before = -1
        for i, node in enumerate(each(read_node, value, "nodes read")):
            before = check_node(node, before, f"[{i}]")
            found.add(node)
        return found

    return read_nodes


def without_device(fact: Any, device: str | None) -> Any:
    """A node or tensor with the one device of the document taken out."""
    if device is None:
        return fact
    if isinstance(fact, ModuleInfo):
        return fact
    if isinstance(fact, TensorInfo):
        return replace(fact, device="") if fact.device == device else fact
    slots = tuple(replace(s, device="") if s.device == device else s for s in fact.saved)
    return replace(fact, saved=slots)


def sparse(fact: Any) -> Any:
    """A dataclass as a dict without the fields that have their default; tuples as lists."""
    if is_dataclass(fact):
        return {
            f.name: sparse(value)
            for f in fields(fact)
            if (value := getattr(fact, f.name)) != f.default
        }
    return [sparse(item) for item in fact] if isinstance(fact, tuple) else fact


def device_of(document: dict[str, Any]) -> str | None:
    """The one device of a document, which its rows leave out."""
    try:
        found: str | None = reader(str | None)(document.get("device"))
    except DamagedError as error:
        raise error.inside(".device") from None
    return found


@lru_cache(maxsize=8)
def row_readers(device: str | None) -> tuple[Read, Read]:
    """Functions that read a node and a tensor of a document.

    Args:
        device: The one device of the document.
    """

    def read_device(value: Any) -> Any:
        found = reader(str | None)(value)
        if found == "" and device is None:
            raise DamagedError("it is left out, but the document names no device for all")
        return device if found == "" else found

    def read_tensor_device(value: Any) -> Any:
        return reader(str)(read_device(value))

    read_saved = items_reader(object_reader(SavedTensor, device=read_device))
    read_node = object_reader(Node, saved=read_saved, source=_read_source)
    return read_node, object_reader(TensorInfo, device=read_tensor_device)


def _read_source(value: Any) -> str | None:
    text: str | None = reader(str | None)(value)
    return text and (SourceLine.parse(text) or text)
