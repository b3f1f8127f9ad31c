"""Which functions are hooks, and of which tensor."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Final

import torch

from gradviz.capture import autograd
from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.registry import Registry
from gradviz.capture.recorder.torch_call import TorchCall
from gradviz.model import Hook

_KINDS: Final = {
    "register_hook": "tensor",
    "register_post_accumulate_grad_hook": "post_accumulate_grad",
}


class KnownHooks:
    """Knows hooks by their code; nothing of them is replaced or wrapped.

    Args:
        registry: The known tensors.
        learned: Is called with the code of a function that was no hook before.
    """

    def __init__(self, registry: Registry, learned: Callable[[CodeType], object]) -> None:
        self._registry = registry
        self._learned = learned
        self._known: dict[CodeType, list[tuple[Hook, str | None]]] = {}

    def of(self, code: CodeType) -> list[tuple[Hook, str | None]]:
        """The hooks that a function is, with the id of the tensor of each."""
        return self._known.get(code, [])

    def learn(self, tensor: torch.Tensor) -> None:
        """Remember the hooks that a tensor has."""
        for kind, function in autograd.tensor_hooks(tensor):
            self.remember(kind, function, tensor)

    def remember(self, kind: str, function: Any, tensor: torch.Tensor | None) -> None:
        """A function is a hook, of this tensor if it is one of a tensor."""
        code = autograd.code_of(function)
        if code is not None:
            hook = Hook(kind, autograd.describe_hook(function))  # type: ignore[arg-type]
            key = None if tensor is None else self._registry.know(tensor).id
            if code not in self._known:
                self._known[code] = []
                self._learned(code)
            known = self._known[code]
            if (hook, key) not in known:
                known.append((hook, key))

    def registered(self, call: TorchCall) -> None:
        """``Tensor.register_hook`` is about to be called; the state will show the rest."""
        kind = _KINDS.get(call.name)
        arguments = [*call.args, *call.kwargs.values()]
        if kind is None:
            if call.name == "retain_grad" and arguments and is_tensor(arguments[0]):
                self._registry.know(arguments[0])
            return
        if len(arguments) == 2 and is_tensor(arguments[0]):
            self.remember(kind, arguments[1], arguments[0])
