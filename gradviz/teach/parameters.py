"""Which control each parameter of a function gets, and how the function is called with them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args, get_origin

import torch

from gradviz.model import OptionError
from gradviz.model.formatting import a_kind
from gradviz.teach.controls import (
    SWITCHES,
    Choice,
    Control,
    Fixed,
    Leaf,
    Number,
    Switch,
    Text,
)
from gradviz.teach.parts import can_be_set

_MISSING: Final = inspect.Parameter.empty
_COLLECTING: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called."""
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature, with annotations as objects where they can be had.

    Raises:
        OptionError: If it is not a function, or has no signature.
    """
    if not callable(function):
        raise OptionError(
            f"explore() needs a function, and this is {a_kind(function)}. "
            "Put the code into a function: def program(a, b): return a * b; "
            "gradviz.explore(program, a=2.0, b=3.0)"
        )
    try:
        return inspect.signature(function, eval_str=True)
    except (NameError, AttributeError, SyntaxError, TypeError):
        pass  # an annotation that does not mean anything here
    except ValueError:
        raise OptionError(
            f"explore() makes a control for each parameter, and the parameters of "
            f"{name_of(function)} are not known. Write a function around it: "
            "def program(a): return "
            f"{name_of(function)}(a)"
        ) from None
    return inspect.signature(function)


def controls_for(signature: inspect.Signature, inputs: Mapping[str, Any]) -> dict[str, Control]:
    """A control for each parameter, in their order.

    Args:
        signature: The signature of the function.
        inputs: First values; they override defaults.

    Raises:
        OptionError: If a parameter has no value, or a value has no parameter.
    """
    parameters = [p for p in signature.parameters.values() if p.kind not in _COLLECTING]
    takes_more = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    names = [parameter.name for parameter in parameters]
    unknown = [name for name in inputs if name not in names]
    if unknown and not takes_more:
        raise OptionError(
            f"explore() got {unknown[0]}=, and the function has no parameter of that name; "
            f"it has {', '.join(names) or 'none'}"
        )
    controls = {p.name: _control(p, inputs.get(p.name, _MISSING)) for p in parameters}
    for name in unknown:
        parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
        controls[name] = _control(parameter, inputs[name])
    return controls


def _control(parameter: inspect.Parameter, value: Any) -> Control:
    name, kind = parameter.name, parameter.annotation
    value = parameter.default if value is _MISSING else value
    if value is _MISSING and (name in SWITCHES or kind is bool):
        value = False
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices:
        return Choice(name, choices, choices[0] if value is _MISSING else value)
    if value is _MISSING:
        raise OptionError(
            f"explore() needs a first value for {name!r}: "
            f"gradviz.explore(function, {name}=2.0). A float becomes a leaf tensor"
        )
    if name in SWITCHES and isinstance(value, (bool, int)):
        return Switch(name, bool(value))
    return control_for(name, value, stays_float=kind is float)


def control_for(name: str, value: Any, stays_float: bool = False) -> Control:
    """The control for a value.

    Args:
        name: Name of the parameter.
        value: Its first value.
        stays_float: Whether a float is passed as a number; else it becomes a tensor.
    """
    if isinstance(value, bool):
        return Switch(name, value)
    if can_be_set(value):
        is_leaf = isinstance(value, float) and not stays_float
        return Leaf(name, _leaf(value)) if is_leaf else Number(name, value)
    if isinstance(value, str):
        return Text(name, value)
    if isinstance(value, (tuple, list)):
        return Choice(name, value, value[0] if value else None)
    if isinstance(value, torch.Tensor):
        return Leaf(name, value)
    return Fixed(name, value)


def _leaf(value: float) -> torch.Tensor:
    return torch.tensor(value, requires_grad=True)


def call(
    function: Callable[..., Any], signature: inspect.Signature, arguments: Mapping[str, Any]
) -> Any:
    """Call a function with its arguments by name, also those it only takes by place."""
    by_place = [
        arguments[p.name]
        for p in signature.parameters.values()
        if p.kind is inspect.Parameter.POSITIONAL_ONLY
    ]
    by_name = {
        name: value
        for name, value in arguments.items()
        if name not in signature.parameters
        or signature.parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY
    }
    return function(*by_place, **by_name)
