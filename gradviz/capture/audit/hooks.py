"""Which hooks of tensors may give a gradient to other tensors."""

from __future__ import annotations

import builtins
import inspect
from collections import deque
from types import FunctionType, ModuleType, NoneType
from typing import Any, Final

import torch

_PLAIN: Final = (
    *(bool, int, float, complex, str, NoneType, list, tuple, dict, set, deque, ModuleType),
    *(torch.Tensor, torch.nn.Parameter, torch.Size, torch.dtype, torch.device),
)
"""Types of values that call nothing of the user's."""
_HARMLESS: Final = {
    *(name for one in (builtins, torch, *_PLAIN) for name in dir(one) if name[0] != "_")
} - {"backward", "grad", "setattr", "getattr", "delattr", "exec", "eval", "vars"}
"""Names of functions and methods of Python and torch that give no tensor a gradient."""


def may_give_gradients(hook: Any) -> bool:
    """Whether a hook may give a gradient to other tensors than its own.

    Its code is read, and not run. It gives none if it names nothing but harmless functions and
    plain values; what else it calls may do anything.
    """
    if type(hook) is not FunctionType:
        return not inspect.isbuiltin(hook)
    try:
        names = inspect.getclosurevars(hook)
    except ValueError:  # a variable that it uses has no value yet
        return True
    used = (*names.nonlocals.values(), *names.globals.values(), *(hook.__defaults__ or ()))
    is_plain = all(type(value) in _PLAIN for value in (*used, *hook.__code__.co_consts))
    return not (is_plain and names.unbound | names.builtins.keys() <= _HARMLESS)
