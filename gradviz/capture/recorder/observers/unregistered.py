"""Tensors that a module has and does not give as parameters: in a list, or as a plain attribute."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any, Final
from weakref import ref

import torch

from gradviz.capture import autograd
from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.registry import Registry
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.model.events import Unregistered

_MOST: Final = 100
"""Things that are looked at in an attribute."""
_DEPTH: Final = 3
"""Lists in lists that are looked into."""


class UnregisteredTensors:
    """Looks at each module of the user's when it is called first.

    Only ``__dict__`` is read: no property runs.

    Args:
        registry: Knows the tensors by their ids.
        writer: Where events are written.
        lines: Shows the ``__init__`` of the module's class.
        graph_reading: Reads the tensors.
    """

    def __init__(
        self, registry: Registry, writer: StepWriter, lines: LineEvents, graph_reading: GraphReading
    ) -> None:
        self._registry = registry
        self._writer = writer
        self._lines = lines
        self._graph_reading = graph_reading
        self._seen: dict[int, ref[torch.nn.Module]] = {}

    def look(self, module: Any, path: str, around: Sequence[Callable[[], Any]]) -> None:
        """Write down what a module has besides its parameters.

        Args:
            module: It is about to run.
            path: Its path from a variable.
            around: References to the modules that run around it, the outermost first.
        """
        kind = type(module)
        known = self._seen.get(id(module))
        if kind.__module__.startswith("torch.") or (known is not None and known() is module):
            return
        self._seen[id(module)] = ref(module)
        with autograd.unseen():
            found = {name: list(_trained(value)) for name, value in _attributes(module)}
            owners = [module, *(outer() for outer in around)]
            given = (
                {id(p) for owner in owners if owner is not None for p in _parameters(owner)}
                if any(found.values())
                else set()
            )
        for name, tensors in found.items():
            tensors = [tensor for tensor in tensors if id(tensor) not in given]
            if tensors:
                self._graph_reading.touch(tensors)
                keys = tuple(self._registry.know(tensor).id for tensor in tensors)
                is_one = is_tensor(vars(module).get(name))
                self._writer.add(Unregistered(path, kind.__qualname__, name, is_one, keys))
                init = kind.__init__
                self._lines.show(init.__code__ if isinstance(init, FunctionType) else None)


def _parameters(module: Any) -> Iterator[torch.Tensor]:
    return torch.nn.Module.parameters(module)


def _attributes(module: Any) -> Iterator[tuple[str, Any]]:
    """Attributes that the user has set, other than parameters, buffers and modules."""
    for name, value in dict(vars(module)).items():
        if isinstance(name, str) and not name.startswith("_"):
            yield name, value


def _trained(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """Leaves that require grad: a tensor, or what lists have of tensors and modules."""
    if is_tensor(value):
        if value.requires_grad and value.is_leaf:
            yield value
    elif issubclass(type(value), torch.nn.Module):
        for tensor in itertools.islice(_parameters(value), _MOST):
            yield from _trained(tensor)
    elif type(value) in (list, tuple, dict) and depth < _DEPTH:
        items = value.values() if type(value) is dict else value
        for one in itertools.islice(list(items), _MOST):
            yield from _trained(one, depth + 1)
