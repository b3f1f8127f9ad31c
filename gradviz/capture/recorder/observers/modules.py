"""Which module runs, and its path from a variable: ``model.layers.0``."""

from __future__ import annotations

import weakref
from types import FrameType
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


class _Call:
    """One call of a module."""

    __slots__ = ("around", "chain", "is_found", "module", "path")

    def __init__(
        self, path: str, number: int, around: _Call | None, module: Any, is_found: bool
    ) -> None:
        self.path = path
        self.is_found = is_found
        """Whether a variable leads to the module, by this path."""
        self.around = around
        self.module: weakref.ref[torch.nn.Module] = weakref.ref(module)
        outer = () if around is None else around.chain
        self.chain: tuple[tuple[str, int], ...] = (*outer, (path, number))
        """Paths and numbers of the calls that run, the outermost first, this one last."""


class _Part(NamedTuple):
    """A module in another one."""

    module: weakref.ref[torch.nn.Module]
    path: str


class _Named(NamedTuple):
    """What a module is called, but for a number."""

    module: weakref.ref[torch.nn.Module]
    outermost: weakref.ref[torch.nn.Module]
    """The one that a variable or a container has, it or one that it is in."""
    name: str
    """Of that one."""
    rest: str
    """Path from there, with a point before it; ``""`` for that one."""
    is_by_class: bool
    """Whether the name is that of a class."""


class ModuleCalls(Observer):
    """Follows calls of ``nn.Module`` objects (F7.01).

    Args:
        namespaces: Those in sight, by which modules get their names.
        compiled: Lets the mode rest.
    """

    def __init__(self, namespaces: Namespaces, compiled: CompiledCalls) -> None:
        self._namespaces = namespaces
        self._compiled = compiled
        self.codes = (autograd.code_of_module_call(),)
        self.unregistered: UnregisteredTensors | None = None
        """Looks at modules that are called."""
        self.types: dict[str, str] = {}
        """Names of the classes of the modules that were called, by their paths."""
        self._stack: list[_Call | None] = []
        """Of each module that runs its call; where it has no path, that of the one around it."""
        self._calls = 0
        """How many there were."""
        self._spans = Spans()
        self._named: dict[int, _Named] = {}
        """By ``id()``, which another module may have later."""
        self._bearers: dict[str, dict[int, tuple[weakref.ref[torch.nn.Module], int]]] = {}
        """By name: the modules that were called by it, by ``id()`` of the references to them, and
        which each of them is."""
        self._inside: dict[int, tuple[weakref.ref[torch.nn.Module], dict[int, _Part]]] = {}
        """By ``id()`` of a module the paths of those in it, by theirs."""
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
        return self._stack[-1].path if self._stack and self._stack[-1] else None

    def at(self, number: int) -> tuple[tuple[str, int], ...]:
        """The calls that ran when the node with this sequence number was made, outermost first."""
        found = self._spans.at(number)
        return found.chain if isinstance(found, _Call) else ()

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
        self._named.clear()
        self._bearers.clear()
        self._inside.clear()
        self._running.clear()
        self._ran.clear()

    def entered(self, frame: FrameType) -> None:
        """A module is called."""
        module: Any = frame.f_locals.get("self")
        if _may_take_fast_path(module):
            self._compiled.entered(frame)
        elif autograd.is_scripted(module):
            self._compiled.hides()
        around = self._stack[-1] if self._stack else None
        own, is_found = self._path_in_call(module)
        if self.unregistered is not None and not autograd.is_scripted(module):
            self.unregistered.look(module, own or type(module).__name__, self._running)
        if own is None and around is None:
            own = self._named_by_class(module)
        if own is not None:
            self.types.setdefault(own, type(module).__name__)
            self._calls += 1
        call = around if own is None else _Call(own, self._calls - 1, around, module, is_found)
        self._stack.append(call)
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
        self._spans.begin(autograd.sequence_number(), self._stack[-1] if self._stack else None)

    def _path_in_call(self, module: Any) -> tuple[str | None, bool]:
        """Path of a module that is called, and whether a variable leads to it by this path.

        One that is registered in several places has the path from the innermost module around it
        that has it; but not from one that has no variable itself, as ``model[:3]``, if it has one.
        """
        known = self._path(module)
        is_found = known is not None and not self._is_by_class(module)
        call = self._stack[-1] if self._stack else None
        while call is not None:
            if known is not None and known.startswith(f"{call.path}."):
                return known, is_found
            if call.is_found or not is_found:
                outer = call.module()
                rest = None if outer is None else self._path_from(outer, module)
                if rest is not None:
                    return f"{call.path}.{rest}", call.is_found
            call = call.around
        return known, is_found

    def _is_by_class(self, module: Any) -> bool:
        """Whether a module has its name from a class, or is in one that has."""
        named = self._named.get(id(module))
        return named is not None and named.is_by_class

    def _path_from(self, outer: torch.nn.Module, module: Any) -> str | None:
        """Path of a module from another one that it is in; ``None`` if it is not."""
        ref, parts = self._inside.get(id(outer), (None, dict[int, _Part]()))
        if ref is None or ref() is not outer:
            for part in contents.parts_of(outer)[1:]:
                found = _Part(weakref.ref(part.module), part.path.removesuffix("."))
                parts.setdefault(id(part.module), found)
            self._inside[id(outer)] = weakref.ref(outer), parts
        found_part = parts.get(id(module))
        is_it = found_part is not None and found_part.module() is module
        return found_part.path if found_part is not None and is_it else None

    def _path(self, module: Any) -> str | None:
        path = self._known(module)
        if path is None and not self._has_searched:
            self._has_searched = True
            with autograd.unseen():
                variables, rebound = self._namespaces.all(), self._namespaces.rebound
                for name, one in naming.named_modules(variables, _MOST, _WIDEST, rebound):
                    self._learn(name, one)
            path = self._known(module)
        return path

    def _known(self, module: Any) -> str | None:
        named = self._named.get(id(module))
        if named is None or named.module() is not module:
            return None
        return f"{self._numbered(named.name, named.outermost)}{named.rest}"

    def _numbered(self, name: str, ref: weakref.ref[torch.nn.Module]) -> str:
        """The name of a module; with a number if others were called by this name before it."""
        bearers = self._bearers.setdefault(name, {})
        _, number = bearers.setdefault(id(ref), (ref, len(bearers) + 1))
        return name if number == 1 else f"{name}#{number}"

    def _learn(self, name: str, module: torch.nn.Module, is_by_class: bool = False) -> None:
        outermost = weakref.ref(module)
        for part in contents.parts_of(module):
            named = self._named.get(id(part.module))
            if named is None or named.module() is not part.module:
                rest = f".{part.path}".removesuffix(".")
                ref = weakref.ref(part.module)
                self._named[id(part.module)] = _Named(ref, outermost, name, rest, is_by_class)

    def _named_by_class(self, module: Any) -> str:
        name = type(module).__name__
        with autograd.unseen():
            part = contents.parts_of(module)[0]
        # Of those that have nothing, as an activation, one does what another one does.
        if not (part.parameters or part.buffers or part.modules):
            return name
        self._learn(name, module, is_by_class=True)
        return self._numbered(name, weakref.ref(module))


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
