"""What a recording needs to follow nodes, tensors and memory without keeping them alive."""

from __future__ import annotations

import gc
import inspect
import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any, Final, TypeVar

import torch
from torch.autograd.function import _HookMixin
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import (
    TorchFunctionMode,
    _get_current_function_mode_stack,
    _pop_mode,
    _push_mode,
)
from torch.utils.hooks import RemovableHandle

MARK: Final = "gradviz_recording"

sequence_number: Callable[[], int] = torch._C._autograd._get_sequence_nr
"""Number that the next node made in this thread will have (F6.03)."""


def _skip(code: CodeType) -> None:
    compiler: Any = torch._C._dynamo.eval_frame
    if hasattr(compiler, "skip_code"):
        compiler.skip_code(code)
    else:
        skip, default = compiler._FrameAction.SKIP, compiler._FrameAction.DEFAULT
        compiler.set_code_exec_strategy(code, compiler._FrameExecStrategy(skip, default))


Function = TypeVar("Function", bound=Callable[..., Any])


def never_compiled(function: Function) -> Function:
    """Keep ``torch.compile`` away from a function that may run while a compiled one does."""
    _skip(function.__code__)
    return function


class Mark:
    """Lies in a node's own dictionary: says which node it is, and when it dies (F1.04)."""

    __slots__ = ("__weakref__", "died", "number", "owner")

    def __init__(self, owner: object, number: int, died: Callable[[int], None]) -> None:
        self.owner = owner
        self.number = number
        self.died = died

    @never_compiled
    def __del__(self) -> None:
        self.died(self.number)


def mark_of(node: Any, owner: object) -> int | None:
    """Number that ``owner`` has given to a node, ``None`` if none."""
    mark = node.metadata.get(MARK)
    return mark.number if type(mark) is Mark and mark.owner is owner else None


def mark(node: Any, owner: object, number: int, died: Callable[[int], None]) -> weakref.ref[Mark]:
    """Give a node a number. Changes ``node.metadata``, torch's place for such things."""
    made = node.metadata[MARK] = Mark(owner, number, died)
    return weakref.ref(made)


def unmark(node: Any, owner: object) -> None:
    """Take the number away again."""
    if mark_of(node, owner) is not None:
        node.metadata.pop(MARK).died = _nothing


def unmark_lost(references: Iterable[weakref.ref[Mark]]) -> None:
    """Take numbers out of nodes that no known tensor leads to any more.

    Such nodes cannot be referred to weakly, so their dictionaries are found by the collector,
    which looks at every object once.
    """
    marks = [mark for reference in references if (mark := reference()) is not None]
    lost = set(map(id, marks))
    for holder in gc.get_referrers(*marks) if marks else ():
        if type(holder) is dict and id(holder.get(MARK)) in lost:
            holder.pop(MARK).died = _nothing


def _nothing(number: int) -> None:
    pass


class TensorRef:
    """A weak reference to a tensor."""

    __slots__ = ("_ref",)

    def __init__(self, tensor: torch.Tensor, on_death: Callable[[Any], None] | None = None) -> None:
        self._ref = weakref.ref(tensor, on_death)

    def __call__(self) -> torch.Tensor | None:
        """The tensor, ``None`` once it is dead."""
        tensor = self._ref()
        if tensor is not None:
            # The object may be one that torch has kept for a tensor which C++ owns.
            tensor._fix_weakref()  # type: ignore[attr-defined]
        return tensor


class StorageRef:
    """A weak reference to a storage (F4.06); while it lives the key is not given to another."""

    __slots__ = ("_ref", "nbytes")

    def __init__(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        self.nbytes: int = storage.nbytes()
        self._ref = StorageWeakRef(storage)

    @property
    def is_gone(self) -> bool:
        """Whether the memory has been given back."""
        return bool(self._ref.expired())


def current_node() -> Any:
    """The node that the engine runs in this thread now, ``None`` outside backward (F5.01)."""
    return torch._C._current_autograd_node()


def backward_is_running() -> bool:
    """Whether this thread is inside a backward (F5.01)."""
    return bool(torch._C._current_graph_task_id() != -1)


@contextmanager
def mode_on(mode: TorchFunctionMode) -> Iterator[None]:
    """Keep a mode on for the block, and take it off wherever in the stack it then is."""
    _push_mode(mode)
    try:
        yield
    finally:
        take_mode_off(mode)


def take_mode_off(mode: TorchFunctionMode) -> int | None:
    """Take a mode off, wherever in the stack it is; gives its place, ``None`` if it is not on."""
    stack = _get_current_function_mode_stack()
    place = next((i for i in reversed(range(len(stack))) if stack[i] is mode), None)
    if place is not None:
        for _ in stack[place:]:
            _pop_mode()
        for other in stack[place + 1 :]:
            _push_mode(other)
    return place


def put_mode_on(mode: TorchFunctionMode, place: int) -> None:
    """Put a mode on again where it was."""
    above = _get_current_function_mode_stack()[place:]
    for _ in above:
        _pop_mode()
    for other in (mode, *above):
        _push_mode(other)


def is_compiled_call(code: CodeType) -> bool:
    """Whether code is what calls of ``torch.compile``'s functions, and their backwards, run in.

    What compiles looks at the modes that are on, and would take them into what it makes.
    """
    folder, name = os.path.split(code.co_filename)
    if name == "eval_frame.py" and folder.endswith("_dynamo"):
        return code.co_name == "compile_wrapper"
    return folder.endswith("_aot_autograd") and code.co_name == "backward"


def module_hooks_in(function: Any) -> list[Any]:
    """Hooks of a module that a function of torch's own calls at a node (F2.09)."""
    cells = getattr(function, "__closure__", None) or ()
    found: list[Any] = []
    for cell in cells:
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if type(value).__name__ == "BackwardHook":
            found += [hook for hook in getattr(value, "user_hooks", ()) if callable(hook)]
    return found


def code_of(function: Any) -> CodeType | None:
    """Code of a Python function, found through methods, partials and wrappers."""
    seen = 0
    while seen < 10:
        seen += 1
        function = inspect.unwrap(function)
        if isinstance(function, FunctionType):
            return function.__code__
        inner = getattr(function, "__func__", None) or getattr(function, "func", None)
        if inner is None:
            inner = vars(type(function)).get("__call__")
            if not isinstance(inner, FunctionType):
                return None
        function = inner
    return None


def code_of_module_call() -> CodeType:
    """Code that every call of a module runs through."""
    return torch.nn.Module._call_impl.__code__


def codes_of_optimizer_step() -> list[CodeType]:
    """Code that every ``optimizer.step()`` runs through."""
    return [torch.optim.Optimizer.profile_hook_step(_nothing).__code__]


def codes_of_zero_grad() -> list[CodeType]:
    """Code of ``zero_grad`` of optimizers and modules."""
    functions = (torch.optim.Optimizer.zero_grad, torch.nn.Module.zero_grad)
    return [code for f in functions if (code := code_of(f)) is not None]


def codes_of_clipping() -> list[CodeType]:
    """Code of ``clip_grad_norm_`` and ``clip_grad_value_``, under what torch wraps around it."""
    utils = torch.nn.utils
    functions = (utils.clip_grad_norm_, utils.clip_grad_value_)
    return [code for f in functions if (code := code_of(f)) is not None]


def code_of_node_hook_registration() -> CodeType:
    """Code that registers hooks on nodes (F2.10)."""
    function: Any = _HookMixin._register_hook
    code: CodeType = function.__code__
    return code


def code_of_hook_removal() -> CodeType:
    """Code of ``handle.remove()``, which calls no function of torch."""
    return RemovableHandle.remove.__code__
