"""Checks of one tensor at a time: its flags, version, hooks and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gradviz.analysis.cuts import has_no_gradient
from gradviz.capture import autograd
from gradviz.capture.tensors import flags_of
from gradviz.check.arguments import Given, callers_names, listed, tensors_in
from gradviz.check.frames import HIDDEN
from gradviz.check.verdict import Failure, Passed, judge, unknown
from gradviz.model import OptionError, TensorInfo
from gradviz.model.formatting import a_kind

__tracebackhide__ = HIDDEN

_STALE: Final = (
    "it is a view, and it or its base was written in place: autograd finds its grad_fn anew when "
    "somebody reads it, and that would change the graph"
)


def is_leaf(*tensors: Any) -> Passed:
    """Check that each tensor is a leaf: no recorded operation computed it.

    Only reads ``Tensor.is_leaf``, and nothing where reading it could change the graph.

    Args:
        tensors: Tensors, modules (their parameters), or lists, tuples and dicts of them.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If one is no leaf, or that is not known.
        NotATensorError: If there is something else among them.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> gradviz.check.is_leaf(w)
        passed: w is a leaf
        >>> half = w / 2
        >>> gradviz.check.is_leaf(half)
        Traceback (most recent call last):
        gradviz.model.errors.CheckFailed: half is a result of DivBackward0; expected a leaf
        Why: a leaf is computed by no recorded operation; backward keeps .grad of leaves alone
        Type: half = half.detach().requires_grad_()
    """

    def failure(one: Given, info: TensorInfo) -> Failure | None:
        if info.is_leaf is None:
            return _leaf_unknown(one)
        if info.is_leaf:
            return None
        return Failure(
            one.name,
            f"{one.name} is {_result(one)}",
            "a leaf is computed by no recorded operation; backward keeps .grad of leaves alone",
            f"{one.code} = {one.code}.detach().requires_grad_()",
        )

    return _each(tensors, "is_leaf(w)", failure, "a leaf", "is a leaf", "are leaves")


def is_not_leaf(*tensors: Any) -> Passed:
    """Check that each tensor is the result of a recorded operation.

    Only reads ``Tensor.is_leaf``, as :func:`is_leaf`.

    Args:
        tensors: Tensors, modules (their parameters), or lists, tuples and dicts of them.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If one is a leaf, or that is not known.
        NotATensorError: If there is something else among them.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> h = w.exp()
        >>> gradviz.check.is_not_leaf(h)
        passed: h is a result of a recorded operation
    """

    def failure(one: Given, info: TensorInfo) -> Failure | None:
        if info.is_leaf is None:
            return _leaf_unknown(one)
        if not info.is_leaf:
            return None
        if info.requires_grad:
            why = "no operation computed it: it was made with requires_grad=True"
            return Failure(one.name, f"{one.name} is a leaf", why, f"h = {one.code} * 1")
        why = f"a tensor that does not require grad is a leaf by definition; {_why_not(info)}"
        return Failure(one.name, f"{one.name} is a leaf", why, _computed(one))

    words = ("is a result of a recorded operation", "are results of recorded operations")
    return _each(tensors, "is_not_leaf(h)", failure, words[0][3:], *words)


def requires_grad(*tensors: Any) -> Passed:
    """Check that each tensor requires grad.

    Only reads ``Tensor.requires_grad``.

    Args:
        tensors: Tensors, modules (their parameters), or lists, tuples and dicts of them.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If one does not require grad.
        NotATensorError: If there is something else among them.

    Examples:
        >>> import torch, gradviz
        >>> model = torch.nn.Linear(2, 1)
        >>> gradviz.check.requires_grad(model)
        passed: model.weight and model.bias require grad
    """

    def failure(one: Given, info: TensorInfo) -> Failure | None:
        if info.requires_grad:
            return None
        found = f"{one.name}.requires_grad is False"
        return Failure(one.name, found, _why_not(info), _computed(one, info))

    words = ("requires grad", "require grad")
    return _each(tensors, "requires_grad(w)", failure, "True", *words)


def does_not_require_grad(*tensors: Any) -> Passed:
    """Check that each tensor does not require grad: it is frozen, or cut off from the graph.

    Only reads ``Tensor.requires_grad``.

    Args:
        tensors: Tensors, modules (their parameters), or lists, tuples and dicts of them.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If one requires grad.
        NotATensorError: If there is something else among them.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> values = w.detach()
        >>> gradviz.check.does_not_require_grad(values)
        passed: values does not require grad
    """

    def failure(one: Given, info: TensorInfo) -> Failure | None:
        if not info.requires_grad:
            return None
        found = f"{one.name}.requires_grad is True"
        if info.is_leaf:
            why = "it is a leaf whose flag is set; so operations that use it are recorded"
            return Failure(one.name, found, why, f"{one.code}.requires_grad_(False)")
        why = "it was computed from a tensor that requires grad, and the operation was recorded"
        return Failure(one.name, found, why, f"{one.code} = {one.code}.detach()")

    words = ("does not require grad", "do not require grad")
    return _each(tensors, "does_not_require_grad(x)", failure, "False", *words)


def retains_grad(*tensors: Any) -> Passed:
    """Check that ``retain_grad()`` was called on each tensor, so that backward keeps its ``.grad``.

    Only reads ``Tensor.retains_grad``, which is for results of operations: a leaf that requires
    grad keeps its ``.grad`` without it, and torch reports ``False``.

    Args:
        tensors: Tensors, or lists, tuples and dicts of them.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If one does not retain its gradient.
        NotATensorError: If there is something else among them.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> h = w.exp()
        >>> h.retain_grad()
        >>> gradviz.check.retains_grad(h)
        passed: h retains its gradient
    """

    def failure(one: Given, info: TensorInfo) -> Failure | None:
        if info.retains_grad:
            return None
        found = f"{one.name}.retains_grad is False"
        if not info.requires_grad:
            why = f"no gradient comes to it; {_why_not(info)}"
            return Failure(one.name, found, why, _computed(one, info))
        if info.is_leaf:
            why = "it is a leaf that requires grad: backward keeps its .grad without retain_grad()"
            return Failure(one.name, found, why, f"gradviz.check.gets_grad(loss, {one.code})")
        why = "backward keeps .grad of leaves alone; of a result only if retain_grad() was called"
        fix = f"{one.code}.retain_grad()  # before backward"
        return Failure(one.name, found, why, fix)

    words = ("retains its gradient", "retain their gradients")
    return _each(tensors, "retains_grad(h)", failure, "True", *words)


def version(tensor: Any, expected: int) -> Passed:
    """Check the version of a tensor: how often it was written in place.

    Only reads ``Tensor._version``.

    Args:
        tensor: A tensor, or lists, tuples and dicts of tensors.
        expected: The version that each of them should have.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If the version is another, or if there is none.
        NotATensorError: If ``tensor`` is something else.
        OptionError: If ``expected`` is not a whole number from 0 on.

    Examples:
        >>> import torch, gradviz
        >>> x = torch.ones(2)
        >>> _ = x.add_(1)
        >>> gradviz.check.version(x, 1)
        passed: x is at version 1
    """
    if type(expected) is not int or expected < 0:
        raise OptionError(
            f"version() compares with a whole number from 0 on, not with {expected!r:.40}: "
            "torch counts writes in place. Type: gradviz.check.version(x, 1)"
        )

    def failure(one: Given, info: TensorInfo) -> Failure | None:
        if info.version is None:
            why = "it was made in inference mode, and torch counts no version of such tensors"
            return unknown(one.name, f"which version {one.name} has", why, f"{one.code}.clone()")
        if info.version == expected:
            return None
        why = (
            "each write in place, also through a view, raises the version by 1; .data and NumPy "
            "write without raising it"
        )
        found = f"{one.name} is at version {info.version}"
        more = info.version > expected
        fix = f"{one.code} = {one.code} + 1  # a new tensor" if more else f"{one.code}.add_(1)"
        return Failure(one.name, found, why, fix)

    words = (f"is at version {expected}", f"are at version {expected}")
    return _each((tensor,), "version(x, 1)", failure, f"version {expected}", *words)


def hooks(tensor: Any, *functions: str | Callable[..., Any]) -> Passed:
    """Check which hooks a tensor has: exactly these, in the order in which they were registered.

    Only reads; hooks of ``register_hook`` come before those of
    ``register_post_accumulate_grad_hook``. What ``retain_grad()`` does is no hook here. torch does
    not list the hooks of a node.

    Args:
        tensor: A tensor.
        functions: The functions, or their names (``__qualname__`` without ``<locals>``); none: it
            should have no hook.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If it has other hooks.
        NotATensorError: If ``tensor`` is something else.
        OptionError: If one of ``functions`` is no function and no name.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> def halve(grad):
        ...     return grad / 2
        >>> handle = w.register_hook(halve)
        >>> gradviz.check.hooks(w, halve)
        passed: w has the hook halve
        >>> handle.remove()
        >>> gradviz.check.hooks(w)
        passed: w has no hook
    """
    for one in functions:
        if not isinstance(one, str) and not callable(one):
            raise OptionError(
                f"hooks() takes functions or their names, not {a_kind(one)}. "
                "Type: gradviz.check.hooks(w, clip)"
            )
    wanted = [one if isinstance(one, str) else autograd.describe_hook(one) for one in functions]

    def failure(one: Given, info: TensorInfo) -> Failure | None:
        found = [hook.name for hook in info.hooks]
        if found == wanted:
            return None
        missing = next((name for name in wanted if name not in found), "")
        fix = f"{one.code}.register_hook({missing})" if missing else "handle.remove()"
        why = "register_hook() adds one each time it runs; only its handle removes it"
        if missing:
            why = (
                "a hook belongs to the tensor object, not to a copy, nor to the variable's next one"
            )
        return Failure(one.name, f"{one.name} has {_hooks(found)}", why, fix)

    words = f"has {_hooks(wanted)}"
    return _each((tensor,), "hooks(w, clip)", failure, _hooks(wanted), words, words)


def shares_memory(one: Any, other: Any) -> Passed:
    """Check that two tensors share one storage, so that a write through one is seen in the other.

    Only reads which storage they have; views, ``detach()`` and ``.data`` share it. Two parts of
    one storage share it too, even if no number is in both.

    Args:
        one: A tensor.
        other: A tensor.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If they have different storages, or if torch does not show a storage.
        NotATensorError: If one of them is something else.

    Examples:
        >>> import torch, gradviz
        >>> x = torch.ones(4)
        >>> half = x[:2]
        >>> gradviz.check.shares_memory(x, half)
        passed: x and half share one storage
    """
    first, second, are_one = _storages(one, other, "shares_memory(x, view)", "one storage")
    if are_one:
        return Passed(f"{first.name} and {second.name} share one storage")
    why = "clone() and arithmetic make new memory; views, detach() and .data share it"
    found = f"{first.name} and {second.name} have different storages"
    failure = Failure(second.name, found, why, f"{second.code} = {first.code}.detach()")
    return judge([failure], "one storage", "")


def shares_no_memory(one: Any, other: Any) -> Passed:
    """Check that two tensors have different storages, so that writes to one leave the other alone.

    Only reads which storage they have, as :func:`shares_memory`.

    Args:
        one: A tensor.
        other: A tensor.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If they share a storage, or if torch does not show a storage.
        NotATensorError: If one of them is something else.

    Examples:
        >>> import torch, gradviz
        >>> x = torch.ones(4)
        >>> copy = x.clone()
        >>> gradviz.check.shares_no_memory(x, copy)
        passed: x and copy have different storages
    """
    words = "different storages"
    first, second, are_one = _storages(one, other, "shares_no_memory(x, copy)", words)
    if not are_one:
        return Passed(f"{first.name} and {second.name} have different storages")
    why = "views, detach() and .data share memory: a write in place changes both"
    found = f"{first.name} and {second.name} share one storage"
    failure = Failure(second.name, found, why, f"{second.code} = {first.code}.clone()")
    return judge([failure], words, "")


def _each(
    values: Any,
    call: str,
    failure: Callable[[Given, TensorInfo], Failure | None],
    expected: str,
    singular: str,
    plural: str,
) -> Passed:
    """One question about each of the tensors."""
    given = tensors_in(values, "the tensor", f"gradviz.check.{call}", callers_names())
    infos = flags_of([one.tensor for one in given])
    found = [failure(*pair) for pair in zip(given, infos)]
    words = f"{listed(given)} {singular if len(given) == 1 else plural}"
    return judge([one for one in found if one is not None], expected, words)


def _storages(one: Any, other: Any, call: str, expected: str) -> tuple[Given, Given, bool]:
    names, call = callers_names(), f"gradviz.check.{call}"
    first, second = (_single(value, call, names) for value in (one, other))
    infos = flags_of([first.tensor, second.tensor])
    for given, info in zip((first, second), infos):
        if info.storage is None:
            why = "torch shows no storage of a tensor that is not dense, or that consists of others"
            doubt = unknown(given.name, f"which memory {given.name} has", why)
            judge([doubt], expected, "")
    return first, second, infos[0].storage == infos[1].storage


def _single(value: Any, call: str, names: Any) -> Given:
    return tensors_in((value,), "the tensor", call, names, modules=False)[0]


def _leaf_unknown(one: Given) -> Failure:
    fix = f"{one.code} = {one.code}.clone()  # then check that"
    return unknown(one.name, f"whether {one.name} is a leaf", _STALE, fix)


def _result(one: Given) -> str:
    """``a result of MulBackward0``, if that can be read without a change."""
    with autograd.unseen():
        if autograd.place_may_be_stale(one.tensor):
            return "a result of a recorded operation"
        node = one.tensor.grad_fn
        return "a result of a recorded operation" if node is None else (
            f"a result of {autograd.name_of(node)}"
        )  # fmt: skip


def _why_not(info: TensorInfo) -> str:
    """Why a tensor does not require grad, as far as it can be seen."""
    if has_no_gradient(info.dtype):
        return f"it is {info.dtype}: only floating point and complex tensors have gradients"
    if info.is_inference:
        return "it was made in inference mode, where autograd records nothing"
    return (
        "it was made without requires_grad=True; or it was computed from tensors that do not "
        "require grad, under torch.no_grad(), or was cut off by detach()"
    )


def _computed(one: Given, info: TensorInfo | None = None) -> str:
    if info is not None and has_no_gradient(info.dtype):
        return f"{one.code} = {one.code}.float().requires_grad_()"
    if info is not None and not info.is_inference:
        return f"{one.code}.requires_grad_()  # or compute it from a tensor that requires grad"
    return "w = torch.ones(2, requires_grad=True); h = w * 2  # outside no_grad()"


def _hooks(names: list[str]) -> str:
    if not names:
        return "no hook"
    return f"the hook{'s' if len(names) > 1 else ''} {', '.join(names)}"
