"""What a check is given: tensors, each with the name that the caller's code has for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.roots import what_instead
from gradviz.check.frames import HIDDEN
from gradviz.model import CheckFailed, NotATensorError

__tracebackhide__ = HIDDEN

_DEEPEST: Final = 20
"""How deep lists, tuples and dicts of tensors may be nested."""
Names = Mapping[int, str]
"""Names of tensors and modules by ``id()``, valid while the caller holds them."""


class Given(NamedTuple):
    """A tensor that a check is about."""

    name: str
    tensor: torch.Tensor

    @property
    def code(self) -> str:
        """What one types for it: its name, else ``x``."""
        return "x" if self.name.startswith("the ") else self.name


def callers_names() -> Names:
    """Names in the innermost frame that is not gradviz' own, also inside containers."""
    frame = naming.caller()
    variables = [] if frame is None else naming.namespace(frame)
    found: dict[int, str] = {}
    for name, tensor in naming.named_tensors(variables):
        found.setdefault(id(tensor), name)
    for name, module in naming.named_modules(variables):
        found.setdefault(id(module), name)
    return found


def tensors_in(
    values: Any, what: str, call: str, names: Names, modules: bool = True
) -> list[Given]:
    """The tensors among arguments, each once: of modules the parameters.

    Args:
        values: Tensors, modules, or lists, tuples and dicts of them.
        what: What they are called where they have no name: ``"the tensor"``.
        call: How the check is called rightly.
        names: Names of the caller.
        modules: Whether modules may be among them.

    Raises:
        NotATensorError: If there is something else, or nothing.
        CheckFailed: If a tensor has been freed, so that there is nothing to read.
    """
    found: dict[int, Given] = {}
    for path, tensor in _flat("", values, what, call, names, modules):
        name = names.get(id(tensor)) or (path if path[:1].isalpha() else f"{what}{path}")
        found.setdefault(id(tensor), Given(name, tensor))
    if not found:
        raise NotATensorError(f"{what} is missing: there is no tensor in it. Type: {call}")
    for one in found.values():
        if autograd.is_dead(one.tensor):
            raise CheckFailed(
                f"{one.name} has been freed",
                "a tensor that can be read",
                "its memory was given back, or the torch.func transform it belongs to has ended",
            )
    return list(found.values())


def _flat(
    path: str, value: Any, what: str, call: str, names: Names, modules: bool, depth: int = 0
) -> Iterator[tuple[str, torch.Tensor]]:
    kind = type(value)
    if naming.is_tensor(value):
        yield path, value
    elif issubclass(kind, (list, tuple)) and depth < _DEEPEST:
        for i, item in enumerate(value):
            inner = path if depth == 0 and len(value) == 1 else f"{path}[{i}]"
            yield from _flat(inner, item, what, call, names, modules, depth + 1)
    elif issubclass(kind, dict) and depth < _DEEPEST:
        for key, item in dict.items(value):
            yield from _flat(f"{path}[{key!r}]", item, what, call, names, modules, depth + 1)
    elif issubclass(kind, torch.nn.Module) and modules:
        yield from _parameters(value, what, call, names)
    elif issubclass(kind, torch.nn.Module):
        raise NotATensorError(
            f"{what}{path} is the module {kind.__name__}; the graph hangs on the tensor that the "
            f"code computed. Type: {call}"
        )
    else:
        raise NotATensorError(f"{what}{path} is {what_instead(value)}. Type: {call}")


def _parameters(
    module: torch.nn.Module, what: str, call: str, names: Names
) -> Iterator[tuple[str, torch.Tensor]]:
    name = names.get(id(module), "")
    found = list(torch.nn.Module.named_parameters(module))
    if not found:
        raise NotATensorError(
            f"{name or what} is the module {type(module).__name__}, which has no parameters. "
            f"Type: {call}"
        )
    for path, tensor in found:
        yield f"{name}.{path}" if name else path, tensor


def listed(given: Sequence[Given], most: int = 8) -> str:
    """The names: ``a, b and c``; of many the first, and how many more."""
    names = [one.name for one in given]
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
