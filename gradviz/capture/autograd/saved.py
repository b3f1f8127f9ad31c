"""Saved tensors of a node, without running a hook or keeping anything."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

from gradviz.capture.autograd.failed_hooks import has_hooks, pack_has_failed
from gradviz.capture.autograd.nodes import Plan, Slot
from gradviz.capture.autograd.tensors import version_of

SavedRow = tuple[str, str, Any, "int | None"]
"""``(name, state, detail, saved version)`` of one slot; see :func:`saved_of`."""

_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
_FREED = re.compile(r"second time|already been freed")


_PACK_FAILED: Final = object()
"""Stands for hooks of which the pack hook raised; the unpack hook cannot be read then (F3.17)."""
_NAMED = (FunctionType, MethodType, BuiltinFunctionType, type)


def untouched(node: Any, plan: Plan) -> tuple[Any, ...] | None:
    """Saved tensors of a node whose slots are all single, unpacked, unwritten and not freed.

    That is the common case, read in a fraction of the time. The tensors are in the order of
    ``plan.slots``, with ``None`` for slots this graph did not need.

    Returns:
        ``None`` for any other node; :func:`saved_of` reads that.
    """
    try:
        raws = plan.raw_saved(node)
        for raw in raws:
            if has_hooks(raw):
                return None
        # F3.10: the read succeeds exactly when the versions agree. It makes no node. Its values
        # are not used: an own output comes back as a new tensor that has lost its subclass.
        plan.saved(node)
        return tuple([raw.data for raw in raws])
    except (RuntimeError, AttributeError):  # AttributeError: a list of saved tensors
        return None


def are_freed(node: Any, plan: Plan, held: Sequence[bool]) -> bool | None:
    """Whether the tensors that a node held when it was read are freed by now.

    A slot that held one and has none is freed. To find that out by :func:`saved_of` takes an
    exception per slot.

    Args:
        node: The node.
        plan: That of its class.
        held: Per slot of the plan, whether it was single and held a tensor, unpacked.

    Returns:
        ``None`` if that is not so of all alike, or cannot be seen; :func:`saved_of` reads that.
    """
    try:
        raws = plan.raw_saved(node)
    except RuntimeError:  # F4.01: list-valued getters raise once the node is freed
        return None
    kept = [raw for raw, is_held in zip(raws, held) if is_held]
    if not kept or any(type(raw) is tuple or has_hooks(raw) for raw in raws):
        return None
    gone = {raw.data is None for raw in kept}
    return gone.pop() if len(gone) == 1 else None


def saved_of(node: Any, plan: Plan) -> list[SavedRow]:
    """All saved slots of a node, without running a hook or keeping a SavedTensor (F3.04).

    Returns:
        ``(name, state, detail, saved version)`` per slot. The detail is the tensor for the
        states held and modified, the unpack hook for packed, else ``None``. It must be
        dropped soon: it keeps the memory alive.
    """
    rows: list[SavedRow] = []
    for slot in plan.slots:
        try:
            raw = getattr(node, slot.raw)
        except RuntimeError:  # F4.01: list-valued getters raise once the node is freed
            rows.append((slot.name, "freed", None, None))
            continue
        if type(raw) is tuple:
            rows.extend(_saved_list(node, slot, raw))
        else:
            rows.append(_saved_one(node, slot, raw))
    return rows


def unpack_hooks(node: Any, plan: Plan) -> list[Any]:
    """The functions that unpack what a node has saved, read as :func:`saved_of` does."""
    rows = [] if plan.saves_nothing or untouched(node, plan) else saved_of(node, plan)
    return [hook for _, state, hook, _ in rows if state == "packed"]


def _saved_one(node: Any, slot: Slot, raw: Any) -> SavedRow:
    if has_hooks(raw):
        return slot.name, "packed", _hook_of(raw), None
    tensor = raw.data
    assert slot.value is not None
    if tensor is None:
        try:
            getattr(node, slot.value)
        except RuntimeError:
            return slot.name, "freed", None, None
        return slot.name, "none", None, None
    try:
        # F3.10: the read succeeds exactly when the versions agree. It makes no node.
        getattr(node, slot.value)
    except RuntimeError as error:
        versions = _VERSIONS.search(str(error))
        if versions:
            return slot.name, "modified", tensor, int(versions[2])
        return slot.name, "held", tensor, None
    return slot.name, "held", tensor, version_of(tensor)


def _hook_of(raw: Any) -> Any:
    return _PACK_FAILED if pack_has_failed(raw) else raw.unpack_hook


def _saved_list(node: Any, slot: Slot, raws: Sequence[Any]) -> list[SavedRow]:
    """Slots of a list-valued getter: tensor lists and custom Functions."""
    rows: list[SavedRow] = []
    doubtful: list[int] = []
    for i, raw in enumerate(raws):
        name = f"{slot.name}[{i}]"
        if has_hooks(raw):
            rows.append((name, "packed", _hook_of(raw), None))
            continue
        tensor = raw.data
        state, saved_version = _check_item(raw, tensor)
        if state == "doubtful":
            doubtful.append(i)
            state = "held"
        rows.append((name, state, tensor, saved_version))
    if len(doubtful) and not any(row[1] == "packed" for row in rows):
        _settle(node, slot, rows, doubtful)
    return rows


def _check_item(raw: Any, tensor: Any) -> tuple[str, int | None]:
    """State of one list item, as far as ``SavedTensor.unpack`` shows it.

    A counter that never moved was 0 when the tensor was saved. F3.01: unpack raises for a
    differentiable output of the node itself before it looks at versions, and does not exist
    before 2.12; both leave the item in doubt.
    """
    if tensor is not None and version_of(tensor) == 0:
        return "held", 0
    if not hasattr(raw, "unpack"):
        return ("none" if tensor is None else "doubtful"), None
    try:
        raw.unpack()
    except RuntimeError as error:
        versions = _VERSIONS.search(str(error))
        if versions:
            return "modified", int(versions[2])
        if _FREED.search(str(error)):
            return "freed", None
        return "doubtful", None
    return ("none", None) if tensor is None else ("held", version_of(tensor))


def _settle(node: Any, slot: Slot, rows: list[SavedRow], doubtful: list[int]) -> None:
    """Decide doubtful items by reading the whole list, where that is harmless (F3.16)."""
    name = slot.value
    if name is None:
        if _is_cleared_by_reading(type(node)):
            return
        name = "saved_tensors"
    try:
        getattr(node, name)
    except RuntimeError as error:
        versions = _VERSIONS.search(str(error))
        if versions and all(row[1] != "modified" for row in rows):
            # Items are saved at one time: those of one tensor expect the same version.
            suspects = [at for at in doubtful if version_of(rows[at][2]) == int(versions[1])]
            if len({id(rows[at][2]) for at in suspects}) == 1:
                for at in suspects:
                    rows[at] = (rows[at][0], "modified", rows[at][2], int(versions[2]))
        return
    for at in doubtful:
        rows[at] = (rows[at][0], "held", rows[at][2], version_of(rows[at][2]))


def _is_cleared_by_reading(kind: type) -> bool:
    """Whether ``saved_tensors`` of this Function is for backward alone (F3.16)."""
    function = getattr(kind, "_forward_cls", None)
    return function is None or bool(getattr(function, "clear_saved_tensors_on_access", False))


def describe_hook(hook: Any) -> str:
    """Name of a function as data: no address, and no code of the user's runs (F2.06, F3.12)."""
    if hook is _PACK_FAILED:
        return "a hook that raised an error"
    while type(hook) is partial:
        hook = hook.func
    if type(hook) in _NAMED:
        return str(hook.__qualname__).replace("<locals>.", "")
    return type(hook).__qualname__
