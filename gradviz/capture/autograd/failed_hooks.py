"""Whether a saved tensor has hooks, and whether its pack hook has raised.

NOTE [A pack hook that raised]
``SavedTensor.register_hooks`` first keeps the hooks and then calls the pack hook. If that raises,
there are hooks but nothing packed, and torch's ``data`` and ``unpack_hook`` then follow a null
pointer, which ends the process (F3.17). torch has no other read that runs no hook. So the two
pointers are looked at where they are in memory. Where that is, is found out once by comparing
saved tensors of our own, with and without hooks, through ``/proc/self/mem``, which refuses what is
no memory. Where the four saved tensors do not agree, or without Linux, torch is asked.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from ctypes import c_size_t
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

import torch

from gradviz.capture.autograd.guards import unseen
from gradviz.capture.autograd.own_thread import in_own_thread

WORD: Final = 8
_VALUE: Final = object.__basicsize__
"""Where an object of pybind11 has the pointer to what it stands for."""
_SavedTensor: Final = torch._C._autograd.SavedTensor


class _Layout(NamedTuple):
    hooks: int
    """Offset of the pointer to the hooks in a saved tensor."""
    packed: int
    """Offset of the pointer to what was packed in the hooks."""


def has_hooks(raw: Any) -> bool:
    """Whether hooks pack and unpack a ``SavedTensor``; a list of them raises AttributeError."""
    layout = _layout()
    if layout is None or type(raw) is not _SavedTensor:
        return raw.unpack_hook is not None
    return word_at(word_at(id(raw) + _VALUE) + layout.hooks) != 0


def pack_has_failed(raw: Any) -> bool:
    """Whether the pack hook of a ``SavedTensor`` with hooks has raised; nothing else may be read.

    False where it cannot be found out.
    """
    layout = _layout()
    if layout is None or type(raw) is not _SavedTensor:
        return False
    hooks = word_at(word_at(id(raw) + _VALUE) + layout.hooks)
    return word_at(hooks + layout.packed) == 0


@cache
def _layout() -> _Layout | None:
    return compared_in_memory(_compared)


Words = Callable[[int, int], "list[int]"]
"""Words in memory, from an address: none where there is no memory."""
Found = TypeVar("Found")


def compared_in_memory(compare: Callable[[Words], Found | None]) -> Found | None:
    """What a comparison of objects of our own finds; ``None`` where memory cannot be read.

    It runs in a thread of its own, so that it takes no sequence number and no mode sees it.
    """

    def found() -> Found | None:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
        try:
            with unseen():
                return compare(lambda address, count: _words(memory, address, count))
        finally:
            os.close(memory)

    try:
        return in_own_thread(found)
    except Exception:
        return None


def word_at(address: int) -> int:
    """A word in memory that is there for sure."""
    return c_size_t.from_address(address).value


def _words(memory: int, address: int, count: int) -> list[int]:
    try:
        found = os.pread(memory, count * WORD, address)
    except (OSError, OverflowError):
        return []
    return list(memoryview(found[: len(found) // WORD * WORD]).cast("Q"))


def _compared(words: Words) -> _Layout | None:
    packed = object()

    def pack(_: torch.Tensor) -> object:
        return packed

    def failing(_: torch.Tensor) -> None:
        raise ValueError

    def unpack(_: object) -> None:
        pass

    x = torch.ones(1, device="cpu", requires_grad=True)
    nodes: list[Any] = [x.sin().grad_fn, (x * 2).sin().grad_fn, x.sin().grad_fn, x.sin().grad_fn]
    raws = [node._raw_saved_self for node in nodes]
    raws[2].register_hooks(pack, unpack)
    with suppress(ValueError):
        raws[3].register_hooks(failing, unpack)
    values = [words(words(id(raw) + _VALUE, 1)[0], 20) for raw in raws]
    layouts = []
    for place, (first, second, good, bad) in enumerate(zip(*values)):
        if first or second or not good or not bad:
            continue
        good_hooks, bad_hooks = words(good, 8), words(bad, 8)
        if id(packed) in good_hooks and id(unpack) in good_hooks and id(failing) in bad_hooks:
            at = good_hooks.index(id(packed))
            if bad_hooks[at] == 0:
                layouts.append(_Layout(place * WORD, at * WORD))
    return layouts[0] if len(layouts) == 1 else None
