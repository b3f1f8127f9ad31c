"""A graph as a JSON document, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from gradviz.model.records import Hook, Node, SavedTensor, TensorInfo, ValueSummary
from gradviz.model.source_line import SourceLine

FORMAT: Final = "gradviz graph 1"


def write(
    roots: Iterable[tuple[str, int]],
    nodes: Iterable[Node],
    tensors: Iterable[TensorInfo],
    device: str | None,
) -> str:
    """The document of a graph; fields with their default value are left out.

    Args:
        roots: Node id and output number of each root.
        nodes: All nodes.
        tensors: All tensors.
        device: The one device all tensors are on; it is then named in the header only.
    """
    document = {
        "format": FORMAT,
        "device": device,
        "roots": [list(root) for root in roots],
        "nodes": [sparse(without_device(node, device)) for node in nodes],
        "tensors": [sparse(without_device(info, device)) for info in tensors],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read(text: str) -> tuple[list[Node], list[tuple[str, int]], list[TensorInfo]]:
    """Nodes, roots and tensors of a document.

    Raises:
        ValueError: If the text is not JSON or not a document of this format.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"this is not a {FORMAT!r} document; graph.to_json() writes one")
    device = document["device"]
    nodes = [read_node(entry, device) for entry in document["nodes"]]
    tensors = [read_tensor(entry, device) for entry in document["tensors"]]
    return nodes, [(root[0], root[1]) for root in document["roots"]], tensors


def without_device(fact: Any, device: str | None) -> Any:
    """A node or tensor with the one device of the document taken out."""
    if device is None:
        return fact
    if isinstance(fact, TensorInfo):
        return replace(fact, device="")
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


def tuples(value: Any) -> Any:
    """Lists as tuples, at every depth."""
    return tuple(tuples(v) for v in value) if isinstance(value, list) else value


def _read(kind: Callable[..., Any], entry: Mapping[str, Any], **special: Any) -> Any:
    return kind(**{name: tuples(value) for name, value in entry.items()} | special)


def _read_hooks(entry: Mapping[str, Any]) -> tuple[Hook, ...]:
    return tuple(_read(Hook, hook) for hook in entry.get("hooks", ()))


def read_node(entry: Mapping[str, Any], device: str | None) -> Node:
    """The node of an entry."""
    saved = tuple(
        _read(SavedTensor, slot, **({"device": device} if slot.get("device") == "" else {}))
        for slot in entry.get("saved", ())
    )
    source = SourceLine.parse(entry.get("source") or "") or entry.get("source")
    node: Node = _read(Node, entry, saved=saved, hooks=_read_hooks(entry), source=source)
    return node


def read_tensor(entry: Mapping[str, Any], device: str | None) -> TensorInfo:
    """The tensor of an entry."""
    grad = None if entry["grad"] is None else _read(ValueSummary, entry["grad"])
    where = device if entry["device"] == "" else entry["device"]
    info: TensorInfo = _read(TensorInfo, entry, grad=grad, hooks=_read_hooks(entry), device=where)
    return info
