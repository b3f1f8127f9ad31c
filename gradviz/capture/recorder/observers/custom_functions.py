"""Whether the forward of a custom ``torch.autograd.Function`` runs.

NOTE [Functions applied from C]
Up to torch 2.13 ``Function.apply`` is a function of Python, and its frame tells when a Function is
called, with what, and what it returns. Since torch 2.14 it is written in C (F6.18), so ``forward``
and ``setup_context`` are followed instead. torch has switched grad mode off before it calls them,
and the node has its number already: grad mode is known from the calls that switch it, and the
first number is one less. It still is off when the last line of ``forward`` has run: torch has left
the Function when grad mode is as it was before. The outputs get their node in between, so it is
looked for when something else happens. A call of ``forward`` by its name finds grad mode as it
was, and so is not taken for one of ``apply``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.own_nodes import Begun, OwnNodes
from gradviz.capture.recorder.torch_call import TorchCall, tensors_in


class CustomFunctions(Observer):
    """Follows calls of ``Function.apply``, inside of which torch switches grad mode off.

    Args:
        own_nodes: Learns which nodes they make.
    """

    def __init__(self, own_nodes: OwnNodes) -> None:
        self.codes = (autograd.code_of_function_apply(),)
        self._own_nodes = own_nodes
        self._stack: list[tuple[bool, Begun | None]] = []
        """Of each call that runs, whether it makes a node."""

    @property
    def hides_calls(self) -> bool:
        """Whether calls are not recorded because a custom Function has its own backward: it makes
        no node under ``no_grad``, or if no argument requires grad."""
        return any(makes_node for makes_node, _ in self._stack)

    def entered(self, frame: FrameType) -> None:
        """A custom Function is called."""
        arguments = frame.f_locals.get("args", ())
        makes_node = torch.is_grad_enabled() and _requires_grad(arguments)
        self._stack.append((makes_node, self._own_nodes.begun(arguments)))

    def left(self, frame: FrameType, value: Any = None, is_known: bool = True) -> None:
        """It has returned, or raised."""
        if self._stack:
            _, begun = self._stack.pop()
            if is_known:
                self._own_nodes.returned(begun, value)


class FunctionsAppliedFromC(CustomFunctions):
    """The same where ``apply`` is written in C: NOTE [Functions applied from C].

    Args:
        own_nodes: Learns which nodes they make.
    """

    def __init__(self, own_nodes: OwnNodes) -> None:
        super().__init__(own_nodes)
        self._is_on = torch.is_grad_enabled()
        """Grad mode as the code has set it."""
        self._outer: list[bool] = []
        """What it was around each call that runs."""
        self._leaves: bool | None = None
        """Whether the one that has returned makes a node; ``None`` once torch has left it."""
        self._returned: list[tuple[int, Begun, list[autograd.TensorRef]]] = []
        """Outputs that have no node yet; with how many calls run around theirs."""

    @property
    def hides_calls(self) -> bool:
        """As in the other class."""
        return super().hides_calls or bool(self._leaving())

    def watches(self, code: CodeType) -> bool:
        """Whether it is the code of the ``forward`` or ``setup_context`` of a Function."""
        return code in autograd.codes_of_forwards()

    def entered(self, frame: FrameType) -> None:
        """A custom Function is called, or somebody calls its ``forward`` by name."""
        self._find_nodes()
        arguments = list(_arguments(frame))
        is_on = torch.is_grad_enabled()
        is_switched_off = self._is_on and not is_on and not torch.is_inference_mode_enabled()
        begun = self._own_nodes.begun(arguments)
        if begun is not None:
            begun = Begun(begun.first - 1, begun.given)
        self._stack.append((is_switched_off and _requires_grad(arguments), begun))
        self._outer.append(self._is_on)
        self._is_on, self._leaves = is_on, None

    def left(self, frame: FrameType, value: Any = None, is_known: bool = True) -> None:
        """It has returned, or raised."""
        if self._stack:
            self._leaves, begun = self._stack.pop()
            self._is_on = self._outer.pop()
            if is_known and begun is not None:
                found = [autograd.TensorRef(tensor) for tensor in tensors_in(value)]
                self._returned.append((len(self._stack), begun, found))

    def before(self, call: TorchCall) -> bool:
        """Learn how grad mode is switched."""
        self._find_nodes()
        if call.name == "_set_grad_enabled":
            self._is_on = bool(call.args[0])
        return True

    def step_ends(self, unnamed: Any = None) -> None:
        """Outputs have their nodes by now."""
        self._find_nodes()
        if self._leaving() is None and not self._stack and not autograd.backward_is_running():
            self._is_on = torch.is_grad_enabled()

    def stopped(self) -> None:
        """Drop all references."""
        self._returned.clear()

    def _leaving(self) -> bool | None:
        if self._leaves is not None and torch.is_grad_enabled() is self._is_on:
            self._leaves = None
        return self._leaves

    def _find_nodes(self) -> None:
        if not self._returned or self._leaving() is not None:
            return
        depth = len(self._stack)
        ready = [one for one in self._returned if one[0] >= depth]
        self._returned = [one for one in self._returned if one[0] < depth]
        for _, begun, refs in ready:
            self._own_nodes.returned(begun, [found for one in refs if (found := one()) is not None])


def custom_functions(own_nodes: OwnNodes) -> CustomFunctions:
    """The observer that fits this torch."""
    is_in_c = autograd.code_of_function_apply() is None
    return (FunctionsAppliedFromC if is_in_c else CustomFunctions)(own_nodes)


def _requires_grad(arguments: Any) -> bool:
    with autograd.unseen():
        return any(one.requires_grad for one in arguments if is_tensor(one))


def _arguments(frame: FrameType) -> Iterator[Any]:
    """What a ``forward`` or ``setup_context`` was called with, all inputs one by one."""
    code = frame.f_code
    given = inspect.getargvalues(frame)
    for name in given.args:
        value = given.locals.get(name)
        if code.co_name == "setup_context" and type(value) is tuple:
            yield from value
        else:
            yield value
    if given.varargs is not None:
        yield from given.locals.get(given.varargs, ())
