"""Whether the forward of a custom ``torch.autograd.Function`` runs."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.own_nodes import Begun, OwnNodes


class CustomFunctions(Observer):
    """Follows calls of ``Function.apply``, inside of which torch switches grad mode off.

    Args:
        own_nodes: Learns which nodes they make.
    """

    def __init__(self, own_nodes: OwnNodes) -> None:
        self._code = autograd.code_of_function_apply()
        self._own_nodes = own_nodes
        self._stack: list[tuple[bool, Begun | None]] = []
        """Of each call that runs, whether it makes a node."""

    @property
    def hides_calls(self) -> bool:
        """Whether calls are not recorded because a custom Function has its own backward: it makes
        no node under ``no_grad``, or if no argument requires grad."""
        return any(makes_node for makes_node, _ in self._stack)

    def watches(self, code: CodeType) -> bool:
        """Whether it is the code of ``apply``."""
        return code is self._code

    def entered(self, frame: FrameType) -> None:
        """A custom Function is called."""
        arguments = frame.f_locals.get("args", ())
        given = [one for one in arguments if is_tensor(one)]
        with autograd.unseen():
            makes_node = torch.is_grad_enabled() and any(one.requires_grad for one in given)
        self._stack.append((makes_node, self._own_nodes.begun(arguments)))

    def left(self, frame: FrameType, value: Any = None, is_known: bool = True) -> None:
        """It has returned, or raised."""
        if self._stack:
            _, begun = self._stack.pop()
            if is_known:
                self._own_nodes.returned(begun, value)
