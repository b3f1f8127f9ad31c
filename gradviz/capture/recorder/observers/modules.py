"""Which module runs, and its path from a variable: ``model.layers.0``."""

from __future__ import annotations

import weakref
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

import torch

from gradviz.capture import autograd, contents, naming
from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.namespaces import Namespaces
from gradviz.capture.recorder.observers.compiled_calls import CompiledCalls
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.observers.unregistered import UnregisteredTensors
from gradviz.capture.recorder.source_text import Spans

_MOST: Final = 10_000
"""How many objects are searched for modules."""
_WIDEST: Final = 200
"""How many entries of a container are searched for modules."""


class Buffer(NamedTuple):
    """A buffer of a module that runs, or has run in the line."""

    module: str
    """Path of the module."""
    kind: str
    """Name of the class whose ``forward`` runs, or has run."""
    name: str
    """Path of the buffer."""


class ModuleCalls(Observer):
    """Follows calls of ``nn.Module`` objects (F7.01).

    Args:
        namespaces: Those in sight, by which modules get their names.
        compiled: Lets the mode rest.
    """

    def __init__(self, namespaces: Namespaces, compiled: CompiledCalls) -> None:
        self._namespaces = namespaces
        self._compiled = compiled
        self._code = autograd.code_of_module_call()
        self.unregistered: UnregisteredTensors | None = None
        """Looks at modules that are called."""
        self.types: dict[str, str] = {}
        """Names of the classes of the modules that were called, by their paths."""
        self._stack: list[str] = []
        self._spans = Spans()
        self._paths: dict[int, tuple[weakref.ref[torch.nn.Module], str]] = {}
        """By ``id()``, which another module may have later."""
        self._has_searched = False
        self._running: list[weakref.ref[torch.nn.Module]] = []
        self._ran: list[weakref.ref[torch.nn.Module]] = []
        """Those that have run since the last step, the innermost first."""

    @property
    def current(self) -> str | None:
        """Path of the innermost module that runs and has one.

        A module that is made where it is called, ``nn.ReLU()(x)``, has none: in the ``forward`` of
        another it is part of that one, elsewhere the name of its class stands for it.
        """
        return self._stack[-1] if self._stack else None

    def at(self, number: int) -> str | None:
        """Path of the module that made the node with this sequence number."""
        found = self._spans.at(number)
        return found if isinstance(found, str) else None

    def buffer(self, tensor: torch.Tensor) -> Buffer | None:
        """The buffer that a tensor shares memory with, of a module that runs or ran in the line.

        Or of a module in it, whose own ``forward`` need not have run.
        """
        storage = autograd.storage_of(tensor) if self._running or self._ran else None
        if storage is None:
            return None
        for ref in (*reversed(self._running), *self._ran):
            module = ref()
            if module is None:
                continue
            for owner in torch.nn.Module.modules(module):
                for name, buffer in dict(vars(owner).get("_buffers") or {}).items():
                    if is_tensor(buffer) and autograd.storage_of(buffer) == storage:
                        path = self._path(owner) or type(owner).__name__
                        return Buffer(path, type(module).__name__, f"{path}.{name}")
        return None

    def step_ends(self, unnamed: Any = None) -> None:
        """What has run belongs to the step; variables may lead to other modules after it."""
        self._ran.clear()
        self._has_searched = False

    def stopped(self) -> None:
        """Hold no module."""
        self._paths.clear()
        self._running.clear()
        self._ran.clear()

    def watches(self, code: CodeType) -> bool:
        """Whether calls of modules run in this code."""
        return code is self._code

    def entered(self, frame: FrameType) -> None:
        """A module is called."""
        module: Any = frame.f_locals.get("self")
        if _may_take_fast_path(module):
            self._compiled.entered(frame)
        elif autograd.is_scripted(module):
            self._compiled.hides()
        path = self._path(module) or type(module).__name__
        if self.unregistered is not None and not autograd.is_scripted(module):
            self.unregistered.look(module, path, self._running)
        own = self._path(module) or (None if self.current else self._named_by_class(module))
        if own is not None:
            self.types.setdefault(own, type(module).__name__)
        self._stack.append(own or self.current or "")
        self._running.append(weakref.ref(module))
        self._mark()

    def left(self, frame: FrameType, value: Any = None, is_known: bool = True) -> None:
        """A module has returned, or raised."""
        self._compiled.left(frame)
        if self._stack:
            self._stack.pop()
            module = self._running.pop()
            if not any(one is module for one in self._ran):  # equality may be the user's own
                self._ran.append(module)
        self._mark()

    def _mark(self) -> None:
        # A recomputation inside backward makes nodes too; they belong to no line of the forward.
        self._spans.begin(autograd.sequence_number(), self.current)

    def _path(self, module: Any) -> str | None:
        path = self._known(module)
        if path is None and not self._has_searched:
            self._has_searched = True
            with autograd.unseen():
                for name, one in naming.named_modules(self._namespaces.all(), _MOST, _WIDEST):
                    self._learn(name, one)
            path = self._known(module)
        return path

    def _known(self, module: Any) -> str | None:
        ref, path = self._paths.get(id(module), (None, None))
        return path if ref is not None and ref() is module else None

    def _learn(self, name: str, module: torch.nn.Module) -> None:
        for part in contents.parts_of(module):
            if self._known(part.module) is None:
                path = f"{name}.{part.path}".removesuffix(".")
                self._paths[id(part.module)] = weakref.ref(part.module), path

    def _named_by_class(self, module: Any) -> str:
        name = type(module).__name__
        with autograd.unseen():
            self._learn(name, module)
        return name


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
