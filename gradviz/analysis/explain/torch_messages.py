"""Numbers that only the message of an error contains."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_VERSIONS: Final = re.compile(
    r"\[[\w.]+ \[(?P<shape>[^\]]*)\]\].*?"
    r"is at version (?P<now>\d+); expected version (?P<saved>\d+)",
    re.DOTALL,
)


def versions_in(message: str) -> tuple[tuple[int, ...], int, int] | None:
    """Shape, saved and current version of the tensor that torch found to have been written.

    Examples:
        >>> versions_in("[torch.FloatTensor [2, 3]] is at version 1; expected version 0 instead")
        ((2, 3), 0, 1)
    """
    found = _VERSIONS.search(message)
    if found is None:
        return None
    shape = tuple(int(size) for size in found["shape"].split(",") if size.strip())
    return shape, int(found["saved"]), int(found["now"])


def index_in(message: str) -> int | None:
    """Index of the tensor that the message names: ``element 1 of tensors``, ``at index 0``."""
    found = re.search(r"\b(?:element|index|grad_output\[|[Oo]utput) ?(\d+)", message)
    return None if found is None else int(found[1])


def gradients_in(message: str) -> tuple[int, int] | None:
    """The expected and the returned number of gradients of a custom Function."""
    found = re.search(r"expected (\d+), got (\d+)", message)
    return None if found is None else (int(found[1]), int(found[2]))


def shapes_in(message: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shape of a gradient that a node returned, and the one it must have.

    Examples:
        >>> shapes_in("at index 1 - got [3, 4] but expected shape compatible with [4, 3]")
        ((3, 4), (4, 3))
    """
    found = re.search(r"got \[([^\]]*)\] but expected shape compatible with \[([^\]]*)\]", message)
    if found is None:
        return None
    got, wanted = (tuple(int(n) for n in one.split(",") if n.strip()) for one in found.groups())
    return got, wanted


def hook_in(message: str) -> str | None:
    """Name of the hook that returned a gradient of another shape.

    Examples:
        >>> hook_in("hook 'halve' has changed the size of value")
        'halve'
    """
    return _first_in(r"hook '(.*)' has changed the size of value", message)


def function_in(message: str) -> str | None:
    """Name of the node that a message is about.

    Examples:
        >>> function_in("Function 'LogBackward0' returned nan values in its 0th output.")
        'LogBackward0'
    """
    return _first_in(r"Function '(\w+)'", message)


def counts_in(message: str) -> tuple[int, int] | None:
    """How many were expected, and how many were given.

    Examples:
        >>> counts_in("got 2 tensors and 1 gradients")
        (2, 1)
        >>> counts_in("an invalid number of grad_input, got 2, but expected 1")
        (1, 2)
    """
    found = re.search(r"got (\d+) tensors and (\d+) gradients", message)
    if found is not None:
        return int(found[1]), int(found[2])
    found = re.search(r"got (\d+), but expected (?:size )?(\d+)", message)
    return None if found is None else (int(found[2]), int(found[1]))


def hook_types_in(message: str) -> tuple[str, str, str] | None:
    """Name of a hook, the type of the gradient it got, and that of what it returned.

    Examples:
        >>> hook_types_in("hook 'up' has changed the type of value (was torch.FloatTensor got "
        ...               "torch.DoubleTensor)")
        ('up', 'FloatTensor', 'DoubleTensor')
        >>> hook_types_in("hook 'up' has changed the type of value (was torch.cuda.FloatTensor got "
        ...               "torch.cuda.DoubleTensor)")
        ('up', 'FloatTensor', 'DoubleTensor')
    """
    pattern = (
        r"hook '(.*)' has changed the type of value "
        r"\(was torch(\.\w+)?\.(\w+) got torch(\.\w+)?\.(\w+)\)"
    )
    found = re.search(pattern, message)
    if found is None:
        return None
    on_one_device = found[2] == found[4]
    names = (found[3], found[5])
    was, got = names if on_one_device else (f"{found[n] or ''}.{found[n + 1]}"[1:] for n in (2, 4))
    return found[1], was, got


def device_in(message: str) -> tuple[str, str] | None:
    """The device that a gradient must be on, and the one it is on.

    Examples:
        >>> device_in("an invalid gradient at index 0 - expected device cpu but got cuda:0")
        ('cpu', 'cuda:0')
    """
    found = re.search(r"expected device (\S+) but got (\S+)", message)
    return None if found is None else (found[1], found[2])


def call_of(message: str) -> tuple[str, int | None, int | None] | None:
    """A function that was called with other arguments, how many it takes, and how many it got.

    Examples:
        >>> call_of("Cube.backward() takes 2 positional arguments but 3 were given")
        ('Cube.backward', 2, 3)
        >>> call_of("main.<locals>.show() missing 1 required positional argument: 'grad'")
        ('main.<locals>.show', None, None)
    """
    found = re.search(
        r"([\w.<>]+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+)", message
    )
    if found is not None:
        return found[1], int(found[2]), int(found[3])
    found = re.search(r"([\w.<>]+)\(\) missing \d+ required positional argument", message)
    return None if found is None else (found[1], None, None)


def wants_a_real_number(message: str) -> bool:
    """Whether backward could not start because its root is complex."""
    return re.search(r"only for real scalar", message) is not None


def position_in(message: str) -> int | None:
    """The place, from 0, of a gradient that belongs to no tensor.

    Examples:
        >>> position_in("returned a gradient different than None at position 2, but the")
        1
    """
    found = re.search(r"different than None at position (\d+)", message)
    return None if found is None else int(found[1]) - 1


def operator_in(message: str) -> str | None:
    """The operator that has no derivative.

    Examples:
        >>> operator_in("the derivative for 'zeta' is not implemented.")
        'zeta'
    """
    return _first_in(r"derivative for (?:aten::(\w+)|'([^']+)') is not implemented", message)


def is_of_inference_mode(message: str) -> bool:
    """Whether a view was made in inference mode, not under ``no_grad``."""
    return re.search(r"created in inference mode", message) is not None


def type_in(message: str) -> str | None:
    """The class of what an optimizer was given in place of tensors.

    Examples:
        >>> type_in("optimizer can only optimize Tensors, but one of the params is str")
        'str'
    """
    return _first_in(r"(?:one of the params is|but got) ([\w.]+)$|^'(\w+)' object is not", message)


def parameter_in(message: str) -> str | None:
    """The name under which a module would have kept a parameter.

    Examples:
        >>> parameter_in("cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn...")
        'weight'
    """
    return _first_in(r"parameter '([^']+)'", message)


def method_in(message: str) -> str | None:
    """The method that cannot be called inside of a function that is transformed.

    Examples:
        >>> method_in("You are attempting to call Tensor.retain_grad() inside of a function")
        'retain_grad'
    """
    return _first_in(r"call Tensor\.(\w+)\(\)", message)


def is_about_a_dtype(message: str) -> bool:
    """Whether data was refused because of its dtype, not because of its layout or device."""
    return re.search(r"must be floating point or complex dtype", message) is not None


def operator_sign_in(message: str) -> str | None:
    """The operator between an array and a tensor.

    Examples:
        >>> operator_sign_in("unsupported operand type(s) for @: 'numpy.ndarray' and 'Tensor'")
        '@'
    """
    return _first_in(r"operand type\(s\) for (.+?)=?: 'numpy", message)


def is_about_iteration(message: str) -> bool:
    """Whether Python was to go through what gives no items."""
    return message.endswith("object is not iterable")


def data_type_in(message: str) -> str | None:
    """The class of what is no tensor, and was to be the data of one.

    Examples:
        >>> data_type_in("Variable data has to be a tensor, but got numpy.ndarray")
        'numpy.ndarray'
    """
    return _first_in(r"has to be a tensor, but got ([\w.]+)", message)


def _first_in(pattern: str, message: str) -> str | None:
    """What the first group of a pattern finds, or the one that stands for it."""
    found = re.search(pattern, message)
    return None if found is None else next(filter(None, found.groups()), None)


@dataclass(frozen=True, slots=True)
class Unreduced:
    """What DistributedDataParallel says of a backward that it still waits for."""

    indices: tuple[int, ...]
    """Numbers of the parameters that got no gradient."""
    names: tuple[str, ...]
    """Their names, which it says in its debug mode."""
    is_searched: bool
    """Whether find_unused_parameters=True is on."""
    is_static: bool
    """Whether static_graph=True is on."""


def unreduced_in(message: str) -> Unreduced:
    """Parameters without a gradient.

    Examples:
        >>> unreduced_in("Parameter indices which did not receive grad for rank 0: 2 3").indices
        (2, 3)
    """
    indices = re.search(r"indices which did not receive grad for rank \d+: ?([\d ,\[\]]+)", message)
    names = re.search(r"Parameters which did not receive grad for rank \d+: ([^\n]+)", message)
    return Unreduced(
        tuple(map(int, re.findall(r"\d+", indices[1]))) if indices else (),
        tuple(name.strip() for name in names[1].split(",")) if names else (),
        "`find_unused_parameters=True` is enabled" in message,
        "static_graph set to True" in message,
    )


def parameter_ready_twice(message: str) -> tuple[int | None, str | None]:
    """Number and name of the parameter whose gradient came twice.

    Examples:
        >>> parameter_ready_twice("Parameter at index 3 with name fc.bias has been marked")
        (3, 'fc.bias')
    """
    found = re.search(r"Parameter at index (\d+)(?: with name (\S+))? has been marked", message)
    return (None, None) if found is None else (int(found[1]), found[2])
