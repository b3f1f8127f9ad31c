"""Checks of what a step of training changes."""

from __future__ import annotations

import copy
import dis
import inspect
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import Module
from torch.optim import Optimizer

from gradviz.capture import autograd
from gradviz.check.frames import HIDDEN
from gradviz.check.numbers import plain
from gradviz.check.verdict import Failure, Passed, judge, not_known, unknown
from gradviz.model import CheckFailed, NotATensorError, OptionError
from gradviz.model.formatting import a_kind

__tracebackhide__ = HIDDEN

_CALL: Final = "gradviz.check.learns(model, step), with def step(model): ..."
_SHOWN: Final = 8
"""How many names a result lists."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What a step did to one parameter of the copy."""

    name: str
    changed: bool | None
    """``None`` if its numbers cannot be read."""
    why: str
    is_finite: bool = True


def learns(model: Any, step: Callable[..., Any], *parameters: str, optimizer: Any = None) -> Passed:
    """Check that a step of training changes parameters.

    Runs ``step`` once, on a deep copy: ``step(model)``, or with ``optimizer=`` ``step(model,
    optimizer)``, where the optimizer's copy has the parameters of the model's copy. The copies have
    the hooks and ``.grad`` of the parameters. The model, the optimizer and random numbers are as
    before. What else ``step`` does, it does: it prints, and takes from an iterator.

    Args:
        model: A module.
        step: A function that takes the model and trains it once.
        parameters: Which should change: paths in the model, of parameters or of modules
            (``"head"``); by default all.
        optimizer: An optimizer of the model, for a step that takes one.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If one does not change, or becomes nan or infinite, or if that is not known;
            or if ``step`` uses the model itself instead of what it is given.
        NotATensorError: If ``model`` is not a module with parameters.
        OptionError: If another argument is wrong.

    Examples:
        >>> import torch, gradviz
        >>> model = torch.nn.Linear(2, 1)
        >>> def step(model):
        ...     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        ...     model(torch.ones(1, 2)).sum().backward()
        ...     optimizer.step()
        >>> gradviz.check.learns(model, step)
        passed: step changes weight and bias
    """
    changes, name = _changes(model, step, parameters, optimizer, "learns")
    failures = []
    for one in changes:
        if one.changed is None:
            failures.append(unknown(one.name, f"whether {name} changes {one.name}", one.why))
        elif one.changed and not one.is_finite:
            found = f"{name} makes {one.name} nan or infinite"
            why = "a gradient that is nan or infinite, or too large a step, is in every later loss"
            failures.append(Failure(one.name, found, why, "a smaller lr, or clip_grad_norm_()"))
        elif not one.changed:
            found = f"{name} does not change {one.name}"
            fix = "gradviz.audit(loss, model, optimizer)  # shows why, per parameter"
            failures.append(Failure(one.name, found, one.why, fix))
    is_finite = not failures or "infinite" not in failures[0].found
    expected = "it to change" if is_finite else "it to change to finite numbers"
    return judge(failures, expected, f"{name} changes {_listed(changes)}")


def does_not_learn(
    model: Any, step: Callable[..., Any], *parameters: str, optimizer: Any = None
) -> Passed:
    """Check that a step of training leaves parameters as they are.

    Runs ``step`` once, on a deep copy, as :func:`learns` does.

    Args:
        model: A module.
        step: A function that takes the model and trains it once.
        parameters: Which should stay the same: paths in the model, of parameters or of modules
            (``"backbone"``); by default all.
        optimizer: An optimizer of the model, for a step that takes one.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If one changes, or if that is not known; or if ``step`` uses the model itself
            instead of what it is given.
        NotATensorError: If ``model`` is not a module with parameters.
        OptionError: If another argument is wrong.

    Examples:
        >>> import torch, gradviz
        >>> model = torch.nn.Linear(2, 1)
        >>> _ = model.bias.requires_grad_(False)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> def step(model, optimizer):
        ...     model(torch.ones(1, 2)).sum().backward()
        ...     optimizer.step()
        >>> gradviz.check.does_not_learn(model, step, "bias", optimizer=optimizer)
        passed: step does not change bias
    """
    changes, name = _changes(model, step, parameters, optimizer, "does_not_learn")
    failures = []
    for one in changes:
        if one.changed is None:
            failures.append(unknown(one.name, f"whether {name} changes {one.name}", one.why))
        elif one.changed:
            found = f"{name} changes {one.name}"
            fix = f"model.{one.name}.requires_grad_(False)  # and leave it out of the optimizer"
            failures.append(Failure(one.name, found, one.why, fix))
    return judge(failures, "it to stay the same", f"{name} does not change {_listed(changes)}")


def _changes(
    model: Any, step: Any, parameters: Sequence[Any], optimizer: Any, check: str
) -> tuple[list[_Change], str]:
    """What a step does to the parameters that were asked about, and its name."""
    _check_arguments(model, step, optimizer)
    named = dict(model.named_parameters())
    chosen = _chosen(named, parameters, check)
    name = getattr(step, "__name__", "step")
    name = name if name.isidentifier() else "step"
    _refuse_own_model(step, name, model, optimizer, named)
    own_model, own_optimizer = _copies(model, optimizer, name)
    own = dict(own_model.named_parameters())
    before = {key: _numbers(tensor) for key, tensor in own.items()}
    mark = _mark(named, model)
    with _random_numbers_kept(named.values()):
        _ = step(own_model) if optimizer is None else step(own_model, own_optimizer)
    if _mark(named, model) != mark or not _are_same(named, before):
        raise CheckFailed(
            f"{name} changed model itself, not the copy that it is given",
            "a step that uses its argument only",
            "it reaches the model through a variable, a closure or a loader; it has run, and what "
            "it changed stays changed",
            f"def {name}(model): ...  # and model.parameters() in it",
        )
    after = dict(own_model.named_parameters())
    return [_change(key, before[key], own[key], after.get(key)) for key in chosen], name


def _check_arguments(model: Any, step: Any, optimizer: Any) -> None:
    if not isinstance(model, Module):
        raise NotATensorError(f"model is {a_kind(model)}, not an nn.Module. Type: {_CALL}")
    if next(model.parameters(), None) is None:
        raise NotATensorError(
            f"model is {a_kind(model)} without parameters, so nothing can learn. Type: {_CALL}"
        )
    if not callable(step) or isinstance(step, Module):
        raise OptionError(
            f"step is {a_kind(step)}, not a function that trains a model once. Type: {_CALL}"
        )
    if optimizer is not None and not isinstance(optimizer, Optimizer):
        raise OptionError(
            f"optimizer= is {a_kind(optimizer)}, not an optimizer of torch. "
            "Type: gradviz.check.learns(model, step, optimizer=optimizer)"
        )
    given = (model,) if optimizer is None else (model, optimizer)
    try:
        inspect.signature(step).bind(*given)
    except TypeError:
        words = "model" if optimizer is None else "model, optimizer"
        raise OptionError(
            f"step must take {words}: it runs on a copy, so that your model is as before. "
            f"Type: def step({words}): ..."
        ) from None
    except ValueError:  # a function in C has no signature
        pass


def _chosen(named: dict[str, Tensor], parameters: Sequence[Any], check: str) -> list[str]:
    """Names of the parameters that were asked about."""
    if not parameters:
        return list(named)
    found: list[str] = []
    for path in parameters:
        if not isinstance(path, str):
            raise OptionError(
                f"{check}() takes paths in the model, not {a_kind(path)}: the step runs "
                f'on a copy. Type: gradviz.check.{check}(model, step, "head")'
            )
        inside = [name for name in named if name == path or name.startswith(f"{path}.")]
        if not inside:
            names = ", ".join(list(named)[:20])
            raise OptionError(f"the model has no parameter {path!r}; it has: {names}")
        found += inside
    return list(dict.fromkeys(found))


def _refuse_own_model(
    step: Any, name: str, model: Module, optimizer: Any, named: dict[str, Tensor]
) -> None:
    """Refuse a function that names the model itself, before it runs."""
    code = getattr(step, "__code__", None)
    if code is None:
        return
    own = {id(model), id(optimizer), *map(id, named.values())} - {id(None)}
    found = {
        one.argval: step.__globals__.get(one.argval)
        for one in dis.get_instructions(code)
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for variable, cell in zip(code.co_freevars, step.__closure__ or ()):
        try:
            found[variable] = cell.cell_contents
        except ValueError:  # nothing has been assigned to it
            continue
    for variable, value in found.items():
        if id(value) in own:
            raise OptionError(
                f"{name} uses {variable} of your code, which would be changed; it is given a copy "
                f"and must use that. Type: def {name}(model, optimizer): ..., and optimizer= if it "
                "needs one"
            )


def _copies(model: Module, optimizer: Any, name: str) -> tuple[Module, Any]:
    """A copy of the model, and of the optimizer with the parameters of that copy."""
    try:
        own_model, own_optimizer = copy.deepcopy((model, optimizer))
    except Exception as error:
        not_known(
            f"what {name} changes",
            "a model that can be copied",
            f"copy.deepcopy(model) raised {type(error).__name__}; a result of an operation that "
            "is an attribute of a module cannot be copied",
            "self.hidden = hidden.detach()  # in the model",
        )
    for own, tensor in zip(own_model.parameters(), model.parameters()):
        grad = autograd.grad_of(tensor)
        if grad is not None and own.grad is None:
            own.grad = grad.detach().clone()
        has = [hook for _, hook in autograd.tensor_hooks(own)]
        for kind, hook in autograd.tensor_hooks(tensor):
            if hook in has:
                continue
            if kind == "tensor":
                own.register_hook(hook)
            else:
                own.register_post_accumulate_grad_hook(hook)
    return own_model, own_optimizer


@contextmanager
def _random_numbers_kept(parameters: Iterable[Tensor]) -> Iterator[None]:
    """Give the random numbers of torch, Python and NumPy their state back."""
    devices = {one.get_device() for one in parameters if one.is_cuda}
    numpy: Any = sys.modules.get("numpy")
    of_python = random.getstate()
    of_numpy = None if numpy is None else numpy.random.get_state()
    is_on = torch.is_grad_enabled()
    try:
        with torch.random.fork_rng(sorted(devices)), torch.enable_grad():
            yield
    finally:
        torch.set_grad_enabled(is_on)
        random.setstate(of_python)
        if numpy is not None:
            numpy.random.set_state(of_numpy)


def _numbers(tensor: Tensor) -> Tensor | None:
    with autograd.arithmetic():
        found = plain(tensor)
        return None if found is None else found.clone()


def _are_same(named: dict[str, Tensor], before: dict[str, Tensor | None]) -> bool:
    return all(_differs(before[key], _numbers(tensor)) is not True for key, tensor in named.items())


def _differs(one: Tensor | None, other: Tensor | None) -> bool | None:
    """Whether any number differs; two nan do not."""
    if one is None or other is None:
        return None
    with autograd.arithmetic():
        if one.shape != other.shape or one.dtype != other.dtype:
            return True
        return not torch.allclose(one, other.to(one.device), rtol=0, atol=0, equal_nan=True)


def _mark(named: dict[str, Tensor], model: Module) -> list[Any]:
    """What tells whether the user's own model was touched, besides numbers."""
    grads = [autograd.grad_of(tensor) for tensor in named.values()]
    found: list[Any] = [autograd.version_of(tensor) for tensor in named.values()]
    found += [None if g is None else (id(g), autograd.version_of(g)) for g in grads]
    return found + [(id(b), autograd.version_of(b)) for b in model.buffers()]


def _change(key: str, before: Tensor | None, own: Tensor, now: Tensor | None) -> _Change:
    after = None if now is None else _numbers(now)
    if now is None:
        return _Change(key, True, "the model has no such parameter any more")
    changed = _differs(before, after)
    if changed is None or after is None:
        return _Change(key, None, "its numbers cannot be read: it is no dense tensor with memory")
    with autograd.arithmetic():
        is_finite = bool(torch.isfinite(after).all())
    return _Change(key, changed, _why_moved(now) if changed else _why(now), is_finite)


def _why(tensor: Tensor) -> str:
    """Why a parameter has not changed, as far as its ``.grad`` shows it."""
    if not tensor.requires_grad:
        return "it does not require grad: it is frozen"
    grad = autograd.grad_of(tensor)
    if grad is None:
        return "its .grad is None after the step: no backward reached it, or it was cleared"
    numbers = _numbers(grad)
    if numbers is None:
        return "nothing has updated it"
    with autograd.arithmetic():
        if not numbers.any():
            return "its .grad is all zeros after the step: an update by it changes nothing"
    return (
        "it has a .grad that is not 0, but nothing has updated it: optimizer.step() did not run, "
        "the optimizer does not have it, or lr is 0"
    )


def _why_moved(tensor: Tensor) -> str:
    """Why a parameter has changed, as far as its ``.grad`` shows it."""
    if tensor.requires_grad and autograd.grad_of(tensor) is not None:
        return "it requires grad, backward gave it a .grad, and the optimizer has it"
    return "it has no .grad after the step: momentum or weight decay moved it, or a write in place"


def _listed(changes: Sequence[_Change]) -> str:
    names = [one.name for one in changes]
    if len(names) > _SHOWN:
        return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
