"""Which module runs, and its path from a variable: ``model.layers.0``."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.recorder.compiled import CompiledCalls
from gradviz.capture.recorder.listening import Watch
from gradviz.capture.recorder.source import Spans


class Modules:
    """Follows calls of ``nn.Module`` objects (F7.01).

    Args:
        variables: Gives the variables in sight, by which modules get their names.
        compiled: Lets the mode rest.
    """

    def __init__(
        self, variables: Callable[[], list[tuple[str, Any]]], compiled: CompiledCalls
    ) -> None:
        self._variables = variables
        self._compiled = compiled
        self._code = autograd.code_of_module_call()
        self._watch = Watch(self._entered, self._left)
        self._stack: list[str] = []
        self._spans = Spans()
        self._paths: dict[int, str] = {}

    @property
    def current(self) -> str | None:
        """Path of the innermost module that runs."""
        return self._stack[-1] if self._stack else None

    def at(self, number: int) -> str | None:
        """Path of the module that made the node with this sequence number."""
        found = self._spans.at(number)
        return found if isinstance(found, str) else None

    def watch(self, code: CodeType) -> Watch | None:
        """What to do when a function runs."""
        return self._watch if code is self._code else None

    def _entered(self, frame: FrameType) -> None:
        module = frame.f_locals.get("self")
        if _may_take_fast_path(module):
            self._compiled.entered(frame)
        self._stack.append(self._path(module))
        self._mark()

    def _left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        self._compiled.left(frame)
        if self._stack:
            self._stack.pop()
        self._mark()

    def _mark(self) -> None:
        # A recomputation inside backward makes nodes too; they belong to no line of the forward.
        self._spans.begin(autograd.sequence_number(), self.current)

    def _path(self, module: Any) -> str:
        path = self._paths.get(id(module))
        if path is None:
            with autograd.unseen():
                self._learn()
            path = self._paths.setdefault(id(module), type(module).__name__)
        return path

    def _learn(self) -> None:
        for name, value in self._variables():
            if name.startswith("_") or not issubclass(type(value), torch.nn.Module):
                continue
            for path, module in torch.nn.Module.named_modules(value):
                self._paths.setdefault(id(module), f"{name}.{path}" if path else name)


_WITH_FAST_PATH = (
    torch.nn.MultiheadAttention,
    torch.nn.TransformerEncoder,
    torch.nn.TransformerEncoderLayer,
)


def _may_take_fast_path(module: Any) -> bool:
    """Whether a module would run one fused kernel, which it does not while a mode is on.

    It makes no node, but other last bits.
    """
    return (
        issubclass(type(module), _WITH_FAST_PATH)
        and not module.training
        and not torch.is_grad_enabled()
    )
