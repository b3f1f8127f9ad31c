"""What an audit is given: losses and parameters, checked, each with the text that names it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import torch

from gradviz.capture import contents, naming
from gradviz.capture.modules import NamedParts
from gradviz.capture.roots import what_instead
from gradviz.model import NotATensorError
from gradviz.model.formatting import a_kind

_DEEPEST: Final = 20
"""How deep lists and dicts of tensors and modules may be nested."""


def given_losses(where: str, value: Any, depth: int = 0) -> Iterator[naming.Named]:
    """Tensors with the text that names their place in the call.

    Raises:
        NotATensorError: If there is something else, or nothing.
    """
    kind = type(value)
    if naming.is_tensor(value):
        yield where, value
    elif issubclass(kind, (list, tuple, dict)) and len(value) and depth < _DEEPEST:
        items = value.items() if issubclass(kind, dict) else enumerate(value)
        for key, item in items:
            yield from given_losses(f"{where}[{key!r}]", item, depth + 1)
    else:
        raise NotATensorError(f"{where} is {_what(value)}. Type: gradviz.audit(loss, model)")


def _what(value: Any) -> str:
    if isinstance(value, torch.nn.Module):
        return (
            f"the module {type(value).__name__}; the graph hangs on the tensor that the code "
            "computed, and that comes first"
        )
    return what_instead(value)


def given_parameters(path: str, where: str, value: Any) -> Iterator[naming.Named]:
    """Parameters by path; a shared one comes once per path.

    Raises:
        NotATensorError: If there is something that has no parameters.
    """
    for at, one in _given(path, where, value):
        if contents.is_module(one):
            for name, tensor in torch.nn.Module.named_parameters(one, remove_duplicate=False):
                yield f"{at}.{name}" if at else name, tensor
        else:
            yield at, one


def given_modules(path: str, value: Any) -> Iterator[NamedParts]:
    """The outermost modules among what :func:`given_parameters` has taken, with the same paths."""
    for at, one in _given(path, "", value):
        if contents.is_module(one):
            yield at, contents.parts_of(one)


def _given(path: str, where: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Modules and tensors by path."""
    kind = type(value)
    if contents.is_module(value) or naming.is_tensor(value):
        yield path, value
    elif issubclass(kind, dict) and depth < _DEEPEST:
        for key, item in dict.items(value):
            inner = f"{path}.{key}" if path else str(key)
            yield from _given(inner, f"{where}[{key!r}]", item, depth + 1)
    elif issubclass(kind, (list, tuple)) and depth < _DEEPEST:
        for i, item in enumerate(value):
            yield from _given(f"{path}[{i}]", f"{where}[{i}]", item, depth + 1)
    else:
        raise NotATensorError(f"{where} is {_no_parameters(value)}")


def _no_parameters(value: Any) -> str:
    if hasattr(type(value), "__next__"):
        return (
            f"{a_kind(value)}, which could be read only once. Pass the module itself, "
            "which knows the paths of its parameters: gradviz.audit(loss, model)"
        )
    if isinstance(value, torch.optim.Optimizer):
        return "an optimizer, which comes third. Type: gradviz.audit(loss, model, optimizer)"
    return (
        f"{a_kind(value)}, which has no parameters. Pass a module, tensors in a list or "
        "dict, or several modules in one: gradviz.audit(loss, model)"
    )
