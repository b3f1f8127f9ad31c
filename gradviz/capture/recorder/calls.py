"""Sees every call of torch: what went in, what came out, what was written, what was cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, Protocol

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from gradviz.capture import autograd
from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.disguise import Disguise, caller_of
from gradviz.model.events import Position

LEAVES_TORCH: Final = frozenset(
    {
        "item",
        "tolist",
        "numpy",
        "__float__",
        "__int__",
        "__bool__",
        "__index__",
        "__complex__",
        "__array__",
        "__dlpack__",
        "__contains__",
        "__format__",
    }
)
"""Functions whose result is not a tensor of torch any more."""
_GETTERS: Final = frozenset({"data", "T", "H", "mT", "mH", "real", "imag"})
"""Properties of a tensor that are operations."""
_NO_OPERATION: Final = frozenset(
    {
        "__deepcopy__",
        "__dir__",
        "__hash__",
        "__iter__",
        "__len__",
        "__reduce_ex__",
        "__repr__",
        "__str__",
        "_is_view",
        "allclose",
        "backward",
        "data_ptr",
        "dim",
        "element_size",
        "equal",
        "get_device",
        "grad",
        "has_names",
        "is_complex",
        "is_contiguous",
        "is_floating_point",
        "is_nonzero",
        "is_pinned",
        "is_same_size",
        "is_shared",
        "ndimension",
        "nelement",
        "numel",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "requires_grad_",
        "retain_grad",
        "share_memory_",
        "size",
        "storage_offset",
        "stride",
        "type",
        "untyped_storage",
    }
)
"""Methods that make no tensor, or whose effect is read from the state afterwards."""


@dataclass
class Call:
    """One call of torch."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tensors: list[torch.Tensor] = field(default_factory=list)
    """Tensors among the arguments."""
    versions: list[int | None] = field(default_factory=list)
    required: list[bool] = field(default_factory=list)
    """Which of them required grad before the call."""
    result: Any = None
    is_getter: bool = False
    is_setter: bool = False
    position: Position | None = None
    """The expression that called it."""


class CallListener(Protocol):
    """Who is told of calls."""

    def before_call(self, call: Call) -> bool:
        """Whether the call is of interest; versions are read then."""

    def after_call(self, call: Call, frame: FrameType) -> None:
        """The call from this frame has returned; nothing of it may be kept."""

    def call_raised(self, call: Call, frame: FrameType, error: BaseException) -> None:
        """A call has raised; nothing of it may be kept."""

    def failed(self, error: BaseException) -> None:
        """A bug in one of the above."""


_names: dict[Any, tuple[str, bool, bool]] = {}


def name_of(function: Any) -> tuple[str, bool, bool]:
    """Short name of a function of torch; whether it gets, or sets, a property."""
    try:
        return _names[function]
    except (KeyError, TypeError):
        pass
    whole = resolve_name(function) or getattr(function, "__name__", "") or "a function"
    parts = str(whole).split(".")
    getter, setter = parts[-1] == "__get__", parts[-1] in ("__set__", "__delete__")
    name = parts[-2] if (getter or setter) and len(parts) > 1 else parts[-1]
    found = _names[function] = (name, getter, setter)
    return found


def is_operation(call: Call) -> bool:
    """Whether a call may make, change or lead out a tensor."""
    if call.is_getter:
        return call.name in _GETTERS
    if call.is_setter:
        return call.name == "data"
    return call.name not in _NO_OPERATION


def tensors_in(value: Any, depth: int = 2) -> Iterator[torch.Tensor]:
    """Tensors among arguments or results, also in lists, tuples and dicts."""
    if is_tensor(value):
        yield value
    elif depth and isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item, depth - 1)
    elif depth and isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item, depth - 1)


class Pausable(Protocol):
    """What can rest for a while."""

    def pause(self) -> None:
        """Rest."""

    def resume(self) -> None:
        """Go on."""


class Untraced:
    """Stands for a tracer that does not run yet."""

    def pause(self) -> None:
        """Nothing runs."""

    def resume(self) -> None:
        """Nothing runs."""


class CallMode(TorchFunctionMode):
    """A mode of torch that runs every function unchanged and tells about it."""

    def __init__(self, listener: CallListener) -> None:
        super().__init__()
        self._listener = listener
        self._disguise = Disguise()
        self.tracer: Pausable = Untraced()
        """Rests while this mode's own code runs."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tracer = self.tracer
        tracer.pause()
        try:
            kwargs = kwargs or {}
            frame: FrameType = caller_of(func)
            call = self._before(func, args, kwargs)
        finally:
            tracer.resume()
        try:
            try:
                result = self._disguise.call(frame, func, args, kwargs)
            except Exception as error:
                tracer.pause()
                try:
                    self._raised(func, args, kwargs, frame, error)
                finally:
                    tracer.resume()
                raise
            if call is not None:
                tracer.pause()
                try:
                    self._after(call, frame, result)
                finally:
                    tracer.resume()
            return result
        finally:
            del frame

    def _before(self, func: Any, args: Any, kwargs: Any) -> Call | None:
        try:
            name, is_getter, is_setter = name_of(func)
            call = Call(name, args, kwargs, is_getter=is_getter, is_setter=is_setter)
            if not self._listener.before_call(call):
                return None
            with autograd.unseen():
                call.tensors = [*tensors_in(args), *tensors_in(kwargs)]
                call.versions = [autograd.version_of(t) for t in call.tensors]
                call.required = [t.requires_grad for t in call.tensors]
            return call
        except Exception as error:
            self._listener.failed(error)
            return None

    def _after(self, call: Call, frame: FrameType, result: Any) -> None:
        try:
            call.result = result
            with autograd.unseen():
                self._listener.after_call(call, frame)
        except Exception as error:
            self._listener.failed(error)

    def _raised(
        self, func: Any, args: Any, kwargs: Any, frame: FrameType, error: Exception
    ) -> None:
        try:
            name, is_getter, is_setter = name_of(func)
            call = Call(name, args, kwargs, is_getter=is_getter, is_setter=is_setter)
            with autograd.unseen():
                self._listener.call_raised(call, frame, error)
        except Exception as problem:
            self._listener.failed(problem)
