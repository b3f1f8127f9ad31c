"""Hooks of a node, read where they are in memory: they stand in no attribute (F2.06).

Where that is, is found out once, as NOTE [A pack hook that raised] says: from nodes of our own with
hooks whose dictionaries are known.
"""

from __future__ import annotations

from ctypes import cast, py_object
from functools import cache
from typing import Any, Final, NamedTuple

import torch
from torch.nn.modules._functions import BackwardHookFunction

from gradviz.capture.autograd.failed_hooks import WORD, Words, compared_in_memory, word_at

_LONGEST: Final = 80
"""How many words of a node are looked at."""


class _Layout(NamedTuple):
    nodes: tuple[int, ...]
    """Offsets of the pointer to the node in an object that stands for one: for torch's own nodes,
    and for those of custom Functions."""
    hooks: tuple[tuple[int, int], ...]
    """Offsets of lists of hooks in a node, each with the kind of those that are Python's."""


def node_hooks(node: Any) -> list[Any]:
    """Functions that run before or after a node, and those of tensors that are its outputs, also
    of tensors that are gone. None of them is run. Empty where they cannot be found."""
    layout = _layout()
    found: list[Any] = []
    if layout is None:
        return found
    address = word_at(id(node) + layout.nodes[isinstance(node, torch._C._FunctionBase)])
    for place, kind in layout.hooks:
        for at in range(word_at(address + place), word_at(address + place + WORD), WORD):
            if word_at(word_at(at)) == kind:
                found += cast(word_at(word_at(at) + WORD), py_object).value.values()
    return found


@cache
def _layout() -> _Layout | None:
    return compared_in_memory(_compared)


def _compared(words: Words) -> _Layout | None:
    def hook(*_: Any) -> None:
        pass

    x = torch.ones(1, device="cpu", requires_grad=True)
    layouts = []
    for make in (x.sin, lambda: BackwardHookFunction.apply(x)[0]):
        outputs: list[Any] = [make() for _ in range(3)]
        nodes = [y.grad_fn for y in outputs]
        registers = (nodes[0].register_prehook, nodes[1].register_hook, outputs[2].register_hook)
        held = [id(register(hook).hooks_dict_ref()) for register in registers]
        places = [set(_places(words, *pair)) for pair in zip(nodes, held, strict=True)]
        common = set.intersection(*({at for at, *_ in found} for found in places))
        layouts += [
            (at, tuple(sorted(one[1:] for found in places for one in found if one[0] == at)))
            for at in common
        ]
    if len(layouts) != 2 or len(layouts[0][1]) != 3 or layouts[0][1] != layouts[1][1]:
        return None
    return _Layout((layouts[0][0], layouts[1][0]), layouts[0][1])


def _places(words: Words, node: Any, held: int) -> list[tuple[int, int, int]]:
    """Offset of the node, of a list of hooks in it, and the kind of its first one, wherever that
    has the dictionary whose id is ``held``."""
    found = []
    for at, address in enumerate(words(id(node), type(node).__basicsize__ // WORD)):
        for place, begin in enumerate(words(address, _LONGEST)):
            for first in words(begin, 1):
                kind = words(first, 2)
                if kind[1:] == [held]:
                    found.append((at * WORD, place * WORD, kind[0]))
    return found
