"""Facts of more than one kind of object: shape, dtype, device, storage, hooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from gradviz.model.facts.fact import Fact, Surroundings
from gradviz.model.formatting import shape, size
from gradviz.model.records import (
    Hook,
)

_HOOKS: Final = {
    "tensor": "hook",
    "post_accumulate_grad": "post-accumulate-grad hook",
    "node_pre": "node prehook",
    "node_post": "node hook",
}


def shape_fact(sizes: tuple[int, ...] | None) -> Fact:
    """The shape, ``None`` if it is not known."""
    words = shape(sizes)
    if sizes is None:
        return Fact("shape", None, words)
    return Fact("shape", words, words, words, f"shape {words}")


def dtype_fact(dtype: str | None, around: Surroundings) -> Fact:
    """The dtype; the short form of float32 is empty."""
    words = around.tidy(dtype or "")
    return Fact("dtype", dtype, words, "" if dtype == "float32" else words, words)


def device_fact(device: str | None, around: Surroundings) -> Fact:
    """The device; empty where all tensors are on one device."""
    if device is None or around.has_one_device:
        return Fact("device", device)
    words = around.tidy(device)
    return Fact("device", device, words, f"on {words}", f"on {words}")


def storage_fact(storage: str | None, nbytes: int | None) -> Fact:
    """The storage and its size in bytes."""
    if storage is None:
        return Fact("storage")
    amount = "" if nbytes is None else f" of {size(nbytes)}"
    return Fact("storage", storage, storage, f"in {storage}", f"storage {storage}{amount}")


def hook_fact(hook: Hook, tidy: Callable[[str], str] = str) -> Fact:
    """A hook: its kind is the label, its name the words.

    Args:
        hook: The hook.
        tidy: Makes text of the user's program fit to be shown.

    Examples:
        >>> hook_fact(Hook("node_pre", "clip")).long
        'node prehook clip'
    """
    kind, name = _HOOKS.get(hook.kind) or tidy(hook.kind), tidy(hook.name)
    return Fact(kind, hook.name, name, f"{kind} {name}", f"{kind} {name}")


def hook_facts(hooks: Sequence[Hook], around: Surroundings) -> tuple[Fact, ...]:
    """One fact per hook."""
    return tuple(hook_fact(hook, around.tidy) for hook in hooks)


def listed_facts(facts: Sequence[Fact]) -> str:
    """The long forms, one after the other."""
    return ", ".join(fact.long for fact in facts)
