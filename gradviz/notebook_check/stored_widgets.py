"""The widgets whose state is stored in a notebook: is each the one of its output?

A notebook that was saved with the state of its widgets shows them to readers without a kernel.
Each output names its widget by a random id, which no comparison sees.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final, TypeGuard

from gradviz.notebook_check.results import Difference
from gradviz.notebook_check.rules import WIDGET
from gradviz.notebook_check.words import parts_that_differ
from gradviz.view.documents.digest import MIME, digest
from gradviz.view.documents.graph import expand

KIND: Final = "stored widget"
_STATES: Final = "application/vnd.jupyter.widget-state+json"
_DAMAGED: Final = {"damaged": "its state cannot be read"}
States = Mapping[str, Mapping[str, Any]]
"""The traits of each widget, by its id."""


def states_in(notebook: Any) -> States:
    """The stored states of a notebook's widgets."""
    stored = notebook.metadata.get("widgets", {}).get(_STATES, {}).get("state", {})
    return {key: one.get("state", {}) for key, one in stored.items()}


def differences_of_widgets(
    stored: Iterable[Any], states: States, fresh: Iterable[Any], fresh_states: States
) -> Iterator[Difference]:
    """Widgets whose stored document is not that of the output beside which it is stored.

    Args:
        stored: Outputs of a cell as the notebook has them.
        states: The stored states.
        fresh: Outputs of the cell now.
        fresh_states: The states of now.
    """
    nothing: dict[str, Any] = {}
    pairs = zip_longest(_gradvizs(stored), _gradvizs(fresh), fillvalue=nothing)
    has_documents = any(_is_document(one.get("wire")) for one in states.values())
    for number, (old, new) in enumerate(pairs, 1):
        document = _document(old, states)
        if has_documents and MIME in old and _id(old) not in states:
            yield Difference(KIND, _id(old), None, number, "it leads to no widget that is stored")
            continue
        wanted = old.get(MIME) or new.get(MIME)
        if document is None or wanted is None:
            continue
        found = document if document is _DAMAGED else digest(document)
        differ = [part for part in sorted({*found, *wanted}) if found.get(part) != wanted.get(part)]
        if differ:
            note = f"its document is not that of its output: {parts_that_differ(differ)}"
            now = _document(new, fresh_states) or {}
            yield Difference(KIND, _text(document, differ), _text(now, differ), number, note)


def _gradvizs(outputs: Iterable[Any]) -> list[Any]:
    """The data of those outputs that are widgets of gradviz."""
    bundles = (one.get("data", {}) for one in outputs)
    return [data for data in bundles if MIME in data or WIDGET in data]


def _document(data: Any, states: States) -> dict[str, Any] | None:
    """What the widget of an output shows; ``None`` where it is no widget of gradviz, or its state
    is not known."""
    wire = states.get(_id(data), {}).get("wire")
    if not _is_document(wire):
        return None
    try:
        return expand(wire)
    except Exception:  # base64, zlib, JSON: each has its own
        return _DAMAGED


def _is_document(wire: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(wire, dict) and "format" in wire


def _id(data: Any) -> str:
    view = data.get(WIDGET)
    return str(view.get("model_id", "")) if isinstance(view, dict) else ""


def _text(document: Mapping[str, Any], parts: Iterable[str]) -> str | None:
    """Parts of a document as lines; drawings are in the output itself."""
    found = {part: document[part] for part in parts if part in document}
    return json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True) if found else None
