"""Sees every call of torch: what goes in, what comes out, what was raised."""

from __future__ import annotations

from types import (
    BuiltinFunctionType,
    FrameType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode

from gradviz.capture import autograd
from gradviz.capture.recorder.frames import BorrowedFrame, caller_of
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.own_nodes import Begun, OwnNodes
from gradviz.capture.recorder.positions import Positions
from gradviz.capture.recorder.signals import arrived, at_work, send_again
from gradviz.capture.recorder.torch_call import TorchCall, is_operation, name_of, tensors_in
from gradviz.capture.recorder.tracers.tracer import Tracer
from gradviz.capture.user_code import runs_user_code

_IN_C: Final = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, MethodWrapperType)


class CallMode(TorchFunctionMode):
    """A mode of torch that runs every function unchanged and reports it.

    Args:
        observer: Called before and after each call.
        positions: Tells from which expression they come.
        tracer: Rests while this mode's own code runs.
        own_nodes: Learns which nodes calls have made.
    """

    def __init__(
        self, observer: Observer, positions: Positions, tracer: Tracer, own_nodes: OwnNodes
    ) -> None:
        super().__init__()
        self._observer = observer
        self._positions = positions
        self._tracer = tracer
        self._own_nodes = own_nodes
        self._borrowed_frame = BorrowedFrame()

    @runs_user_code
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tracer = self._tracer
        begun = None
        tracer.pause()
        try:
            kwargs = kwargs or {}
            frame, func = caller_of(func)
            if self._observer.is_quiet:
                call = None
                if frame is not None:
                    tracer.called_from(frame)
                if type(func) in _IN_C:  # nothing in it is a line or function of interest
                    try:
                        return self._borrowed_frame.call(frame, func, args, kwargs)
                    finally:
                        del frame
            else:
                with at_work:
                    call = self._before(frame, func, args, kwargs)
                    if self._own_nodes.is_needed:
                        begun = self._begun(args, kwargs)
        finally:
            tracer.resume()
        try:
            try:
                if func is torch.autograd.backward and autograd.backward_is_running():
                    # Backwards inside backwards may be so many that each frame counts.
                    result = func(*args, **kwargs)
                else:
                    result = self._borrowed_frame.call(frame, func, args, kwargs)
            except Exception as error:
                tracer.pause()
                try:
                    with at_work:
                        self._raised(func, args, kwargs, frame, error)
                finally:
                    tracer.resume()
                raise
            if call is not None or begun is not None:
                tracer.pause()
                try:
                    with at_work:
                        if begun is not None:
                            self._returned(begun, result)
                        if call is not None:
                            self._after(call, frame, result)
                finally:
                    tracer.resume()
            [*map(send_again, arrived())]
            return result
        finally:
            del frame

    def _before(
        self, frame: FrameType | None, func: Any, args: Any, kwargs: Any
    ) -> TorchCall | None:
        try:
            call = _call(func, args, kwargs)
            if frame is not None:
                self._tracer.called_from(frame, call.is_getter and not is_operation(call))
            if not (self._observer.before(call) and is_operation(call)):
                return None
            with autograd.unseen():
                call.tensors = [*tensors_in(args), *tensors_in(kwargs)]
                call.versions = [autograd.version_of(t) for t in call.tensors]
                call.required = [t.requires_grad for t in call.tensors]
            return call
        except Exception as error:
            self._observer.failed(error)
            return None

    def _after(self, call: TorchCall, frame: FrameType | None, result: Any) -> None:
        try:
            call.result = result
            call.position = self._positions.of(frame, call.name)
            with autograd.unseen():
                self._observer.after(call)
        except Exception as error:
            self._observer.failed(error)

    def _begun(self, args: Any, kwargs: Any) -> Begun | None:
        try:
            return self._own_nodes.begun([args, kwargs])
        except Exception as error:
            self._observer.failed(error)
            return None

    def _returned(self, begun: Begun, result: Any) -> None:
        try:
            self._own_nodes.returned(begun, result)
        except Exception as error:
            self._observer.failed(error)

    def _raised(
        self, func: Any, args: Any, kwargs: Any, frame: FrameType | None, error: Exception
    ) -> None:
        try:
            call = _call(func, args, kwargs)
            call.position = self._positions.of(frame, call.name)
            with autograd.unseen():
                self._observer.raised(call, error)
        except Exception as problem:
            self._observer.failed(problem)


def _call(func: Any, args: Any, kwargs: Any) -> TorchCall:
    name, is_getter, is_setter = name_of(func)
    return TorchCall(name, args, kwargs, is_getter=is_getter, is_setter=is_setter, function=func)
