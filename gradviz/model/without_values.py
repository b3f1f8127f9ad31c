"""A graph or a recording without any number of the user's tensors: for reports of bugs."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeVar

from gradviz.model.events import Operand, Raised
from gradviz.model.explanation import Explanation
from gradviz.model.graph import Graph
from gradviz.model.recording import Recording, RowChanges, StepRecord
from gradviz.model.records import Node, SavedTensor, TensorInfo, ValueSummary

Fact = TypeVar("Fact")

LEFT_OUT: Final = "…"
"""What is written where a number was."""
_ARRAY: Final = re.compile(r"\b(?:tensor|array|Parameter containing:\s*tensor)\((?=[^)]*[\d\[])")
_FRACTION: Final = re.compile(
    r"(?<![\w.])(?:\d+\.\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)j?(?!\w)"
)
_NUMBER: Final = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")


def graph_without_values(graph: Graph) -> Graph:
    """The same graph without values of tensors, as a look with ``values=False`` reads it, and
    without the numbers that nodes keep, which can be of a tensor, as in ``x * y.item()``.

    Args:
        graph: What is known.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> found = graph_without_values(gradviz.snapshot(a * 3))
        >>> found.leaves[0].values, found["n0"].saved[0].values, found.values_left_out
        (None, None, True)
    """
    return Graph.of(
        map(_without, graph.nodes),
        graph.roots,
        [_without(info) for info in graph.tensors],
        graph.modules,
        graph.made_order,
        values_left_out=True,
    )


def recording_without_values(recording: Recording) -> Recording:
    """The same recording without values of tensors, and without numbers in texts that the program
    made: messages of its errors, its label, keys of its containers. Its code stays as it is.

    Args:
        recording: What was recorded.
    """
    known = {one.step for one in recording.explanations if one.kind != "other"}
    return Recording(
        [_step(record, i in known) for i, record in enumerate(recording.records)],
        recording.codes,
        recording.device,
        scrubbed(recording.label),
        recording.kind,
        recording.modules,
        recording.order,
        values_left_out=True,
    )


def explanation_without_values(explanation: Explanation) -> Explanation:
    """The explanation as it is read from its recording without values.

    Args:
        explanation: What was explained.
    """
    known = explanation.recording
    found = () if known is None else recording_without_values(known).explanations
    same = (one for one in found if (one.kind, one.step) == (explanation.kind, explanation.step))
    return next(same, Explanation(explanation.kind, explanation.raised, step=explanation.step))


def scrubbed(text: str, whole: bool = True) -> str:
    """A text of the user's program without numbers.

    Args:
        text: The text.
        whole: Whether whole numbers are left out, too.

    Examples:
        >>> scrubbed("loss 0.25 of h2: tensor([[1., 2.]], requires_grad=True)")
        'loss … of h…: tensor(…)'
        >>> scrubbed("is at version 2, not 1.5", whole=False)
        'is at version 2, not …'
    """
    return (_NUMBER if whole else _FRACTION).sub(LEFT_OUT, _without_arrays(text))


def _without_arrays(text: str) -> str:
    """A text without what tensors and arrays print."""
    while found := _ARRAY.search(text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = f"{text[: found.end()]}{LEFT_OUT}{')' if depth == 0 else ''}{text[end:]}"
    return text


def _step(record: StepRecord, is_known: bool) -> StepRecord:
    """A step.

    Args:
        record: The step.
        is_known: Whether its error is one of torch's own: the numbers in its message are then
            versions, sizes and places.
    """
    events = tuple(
        replace(_without(event), message=scrubbed(event.message, whole=not is_known))
        if isinstance(event, Raised)
        else _without(event)
        for event in record.events
    )
    changes = RowChanges(
        tuple((key, node and _without(node)) for key, node in record.changes.nodes),
        tuple((key, info and _without(info)) for key, info in record.changes.tensors),
        record.changes.roots,
    )
    return replace(record, events=events, changes=changes)


_REMOVED: Final[dict[type, dict[str, Any]]] = {
    ValueSummary: dict.fromkeys(("values", "min", "mean", "max", "norm")),
    SavedTensor: {"values": None},
    TensorInfo: {"values": None},
    Node: {"attributes": ()},
}
"""What has no longer which field."""


def _without(fact: Fact) -> Fact:
    """A fact without numbers of tensors, and all in it."""
    changed: Any = _changed(fact)
    return changed  # type: ignore[no-any-return]


def _changed(value: Any) -> Any:
    if type(value) is str:
        return _in_text(value)
    if type(value) is tuple:
        return tuple(map(_changed, value))
    if not is_dataclass(value):
        return value
    left_out = _REMOVED.get(type(value), {})
    found = {
        field.name: left_out[field.name]
        if field.name in left_out
        else _changed(getattr(value, field.name))
        for field in fields(value)
    }
    if isinstance(value, Node):
        found["formula"] = value.formula
    if isinstance(value, Operand) and value.shape is None and not value.is_sequence:
        found["text"] = scrubbed(value.text)
    return type(value)(**found)


@lru_cache(maxsize=10_000)
def _in_text(text: str) -> str:
    """A name or a description; the keys of containers in it can be numbers of a tensor."""
    return scrubbed(text, whole=False)
