"""Which tensor object is which, over all calls of torch that a recording sees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from operator import is_
from typing import Any, Final

import torch

from gradviz.capture import autograd
from gradviz.capture.recorder.registry import Registry
from gradviz.model.events import Event, Made, Operation, Refused, Write
from gradviz.model.recording import StepRecord

_MANY: Final = 1_000
_FIELDS: Final[dict[type, tuple[str, ...]]] = {
    Operation: ("reads", "made", "required"),
    Write: ("reads", "made"),
    Made: ("tensors",),
    Refused: ("reads",),
}
"""Fields of events that have keys of tensors."""


class TensorKeys:
    """Gives tensors that calls see a key for life, without keeping them alive.

    A tensor of the recording has its id there, ``"t3"``. What never gets a name, as a result in
    the middle of a line does, has a key of its own, ``"u3"``.

    Args:
        registry: The tensors of the recording.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._unknown: dict[int, tuple[autograd.TensorRef, str]] = {}
        """By ``id()``, which is valid while the tensor exists; others stay until the step ends."""
        self._many = _MANY
        """How many there are when those that no longer exist are taken out."""
        self._count = 0
        self._became: dict[str, str] = {}

    def keys(self, tensors: Iterable[torch.Tensor]) -> tuple[str, ...]:
        """A key per tensor: the same object has the same key in all calls."""
        return tuple([self._key(tensor) for tensor in tensors])

    def _key(self, tensor: torch.Tensor) -> str:
        entry = self._registry.find(tensor)
        if entry is not None:
            return entry.id
        ref, key = self._unknown.get(id(tensor), (None, ""))
        if ref is None or ref() is not tensor:
            key = f"u{self._count}"
            self._count += 1
            self._unknown[id(tensor)] = autograd.TensorRef(tensor), key
        return key

    def learn(self) -> None:
        """Some tensors have become part of the recording: their keys are their ids from now."""
        for place in self._registry.newly_known:
            ref, key = self._unknown.get(place, (None, ""))
            entry = self._registry.entries.get(place)
            if ref is not None and entry is not None and entry.ref() is ref():
                self._became[key] = entry.id
                del self._unknown[place]
        self._registry.newly_known.clear()
        if len(self._unknown) > self._many:
            gone = [place for place, (ref, _) in self._unknown.items() if ref() is None]
            for place in gone:
                del self._unknown[place]
            self._many = 2 * len(self._unknown) + _MANY

    def forget(self) -> None:
        """Drop all references."""
        self._unknown.clear()

    def settled(self, step: StepRecord) -> StepRecord:
        """A step with the final keys of tensors."""
        if not self._became:
            return step
        events = tuple(map(self._settle, step.events))
        if all(map(is_, events, step.events)):
            return step
        return replace(step, events=events)

    def _settle(self, event: Event) -> Event:
        fields = _FIELDS.get(type(event), ())
        if all(self._became.keys().isdisjoint(getattr(event, name)) for name in fields):
            return event
        settled: dict[str, Any] = {name: self._settled(getattr(event, name)) for name in fields}
        return replace(event, **settled)

    def _settled(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        return tuple([self._became.get(key, key) for key in keys])
