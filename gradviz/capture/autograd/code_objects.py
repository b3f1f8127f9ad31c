"""Code objects by which a recording knows torch's own functions and the user's hooks."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from types import CodeType, FunctionType
from typing import Any, Final, TypeVar

import torch
from torch.autograd.function import AUTOGRAD_FUNCTION_COUNTER, _HookMixin
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks
from torch.utils.hooks import RemovableHandle


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


def do_nothing(number: int) -> None:
    """A callback that does nothing."""


def is_compiled_call(code: CodeType) -> bool:
    """Whether code is what calls of ``torch.compile``'s functions, and their backwards, run in.

    What compiles looks at the modes that are on, and would take them into what it makes.
    """
    folder, name = os.path.split(code.co_filename)
    if name == "eval_frame.py" and folder.endswith("_dynamo"):
        return code.co_name == "compile_wrapper"
    return folder.endswith("_aot_autograd") and code.co_name == "backward"


def is_fake_dispatch(code: CodeType) -> bool:
    """Whether code is where ``FakeTensorMode`` computes what an operation would give (F1.33).

    It is written in Python, so that one operation is hundreds of calls of torch, none the user's.
    """
    folder, name = os.path.split(code.co_filename)
    return name == "fake_tensor.py" and folder.endswith("_subclasses") and code.co_name == _DISPATCH


_DISPATCH: Final = "__torch_dispatch__"


def is_scripted(module: Any) -> bool:
    """Whether a module runs as TorchScript, of which no mode sees the calls."""
    return issubclass(type(module), torch.jit.ScriptModule)


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
            hooks = (*getattr(value, "user_hooks", ()), *getattr(value, "user_pre_hooks", ()))
            found += [partial(hook, value.module) for hook in hooks if callable(hook)]
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


def code_of_function_apply() -> CodeType | None:
    """Code that every call of a custom ``torch.autograd.Function`` runs through; ``None`` where
    ``apply`` is written in C, as since torch 2.14."""
    apply: Any = getattr(torch.autograd.Function.apply, "__func__", None)
    return None if apply is None else code_of(apply)


def codes_of_forwards() -> frozenset[CodeType]:
    """Code of ``forward`` and ``setup_context`` of all custom Functions that there are by now."""
    return _forwards_of(repr(AUTOGRAD_FUNCTION_COUNTER))


@lru_cache(maxsize=1)
def _forwards_of(_: str) -> frozenset[CodeType]:
    """Asked again when torch has counted another class."""
    found: set[CodeType] = set()
    todo: list[type] = torch.autograd.Function.__subclasses__()
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        own = (vars(kind).get(name) for name in ("forward", "setup_context"))
        functions = (one.__func__ for one in own if isinstance(one, (staticmethod, classmethod)))
        found.update(code for one in functions if (code := code_of(one)) is not None)
    return frozenset(found)


def codes_of_module_changes() -> list[CodeType]:
    """Code that gives modules other parameters, buffers or modules, or takes them away."""
    module = torch.nn.Module
    functions: tuple[Any, ...] = (
        module.__setattr__,
        module.__delattr__,
        module.register_parameter,
        module.register_buffer,
        module.add_module,
        module._apply,
    )
    return [code for f in functions if (code := code_of(f)) is not None]


def codes_of_work_for_threads() -> list[CodeType]:
    """Code that starts a thread, or gives work to one that waits: pools, queues, events."""
    functions = (
        threading.Thread.start,
        threading.Condition.notify,
        ThreadPoolExecutor.submit,
    )
    return [code for f in functions if (code := code_of(f)) is not None]


def codes_of_makers() -> list[CodeType]:
    """Code that gives new tensors, though it is no operation."""
    functions: tuple[Any, ...] = (
        torch.nn.Parameter.__new__,
        torch.nn.Parameter.__deepcopy__,
        torch.Tensor.__deepcopy__,
        torch.autograd.grad,
        torch.utils.dlpack.from_dlpack,
    )
    return [code for f in functions if (code := code_of(f)) is not None]


def code_of_swap() -> CodeType | None:
    """Code of ``torch.utils.swap_tensors``, by which modules get other contents if told to."""
    return code_of(torch.utils.swap_tensors)


def code_of_buffer_sync() -> CodeType | None:
    """Code in which DistributedDataParallel takes the buffers over from rank 0 (F7.08)."""
    return code_of(DistributedDataParallel._sync_buffers)


def codes_of_optimizer_step() -> list[CodeType]:
    """Code that every ``optimizer.step()`` runs through."""
    return [torch.optim.Optimizer.profile_hook_step(do_nothing).__code__]


def has_step_hooks(optimizer: torch.optim.Optimizer) -> bool:
    """Whether hooks run before or after ``step()``, for this optimizer or for all."""
    return bool(
        _global_optimizer_pre_hooks
        or _global_optimizer_post_hooks
        or optimizer._optimizer_step_pre_hooks
        or optimizer._optimizer_step_post_hooks
    )


def codes_of_scheduler_step() -> list[CodeType]:
    """Code of ``step()`` of schedulers of the learning rate."""
    kinds = vars(torch.optim.lr_scheduler).values()
    found = (vars(k).get("step") for k in kinds if isinstance(k, type) and hasattr(k, "step"))
    return [code for f in found if f is not None and (code := code_of(f)) is not None]


def code_of_first_scheduler_step() -> CodeType | None:
    """Code by which a scheduler steps when it is made (F6.17)."""
    return code_of(torch.optim.lr_scheduler.LRScheduler._initial_step)


def has_stepped(optimizer: torch.optim.Optimizer) -> bool:
    """Whether an optimizer has stepped since a scheduler was made for it (F6.17)."""
    return bool(getattr(optimizer, "_opt_called", False))


def codes_of_zero_grad() -> list[CodeType]:
    """Code of ``zero_grad`` of optimizers and modules."""
    functions = (torch.optim.Optimizer.zero_grad, torch.nn.Module.zero_grad)
    return [code for f in functions if (code := code_of(f)) is not None]


def codes_of_clipping() -> list[CodeType]:
    """Code of ``clip_grad_norm_`` and ``clip_grad_value_``, under what torch wraps around it."""
    utils = torch.nn.utils
    functions = (utils.clip_grad_norm_, utils.clip_grad_value_)
    return [code for f in functions if (code := code_of(f)) is not None]


def variables_that_are_refused() -> dict[CodeType, str]:
    """Functions of torch that refuse a tensor without a call that could be observed, with their
    variable that has it (F2.20)."""
    functions = {torch.nn.Parameter.__new__: "data", torch.optim.Optimizer.add_param_group: "param"}
    found = ((code_of(function), name) for function, name in functions.items())
    return {code: name for code, name in found if code is not None}


def code_of_node_hook_registration() -> CodeType:
    """Code that registers hooks on nodes (F2.10)."""
    function: Any = _HookMixin._register_hook
    code: CodeType = function.__code__
    return code


def code_of_hook_removal() -> CodeType:
    """Code of ``handle.remove()``, which calls no function of torch."""
    return RemovableHandle.remove.__code__
