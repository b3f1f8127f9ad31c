"""Facts of a live tensor, by reads that run no operation."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, Final

import torch

_DTYPES: dict[torch.dtype, str] = {}
_DEVICES: dict[torch.device, str] = {}
_functorch: Any = torch._C._functorch
_is_wrapped: Callable[[torch.Tensor], bool] = _functorch.is_functorch_wrapped_tensor
_data_address: Callable[[torch.Tensor], int] = vars(torch._C)["_data_address"]
_PLAIN_TYPES: Final = (torch.Tensor, torch.nn.Parameter)


def dtype_of(tensor: torch.Tensor) -> str:
    """``"float32"``."""
    dtype = tensor.dtype
    name = _DTYPES.get(dtype)
    if name is None:
        name = _DTYPES[dtype] = str(dtype).removeprefix("torch.")
    return name


def device_of(tensor: torch.Tensor) -> str:
    """``"cpu"`` or ``"cuda:0"``; of a fake tensor, which has no memory there, ``"fake cpu"``, of a
    DTensor ``"DTensor cpu"``."""
    device = tensor.device
    name = _DEVICES.get(device)
    if name is None:
        name = _DEVICES[device] = str(device)
    if type(tensor) in _PLAIN_TYPES:
        return name
    return (
        f"fake {name}"
        if _is_fake(tensor)
        else f"DTensor {name}"
        if _is_shared_out(tensor)
        else name
    )


def _is_shared_out(tensor: torch.Tensor) -> bool:
    return own_part(tensor) is not tensor


def own_part(tensor: torch.Tensor) -> torch.Tensor:
    """Of a DTensor the tensor that this process holds (F1.34); of others the tensor itself."""
    if type(tensor) in _PLAIN_TYPES:
        return tensor
    kind = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
    if kind is None or not issubclass(type(tensor), kind):
        return tensor
    part: torch.Tensor = object.__getattribute__(tensor, "_local_tensor")
    return part


def _inside(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The tensors that a wrapper holds, which has a size and no memory of its own."""
    if type(tensor) in _PLAIN_TYPES or _is_fake(tensor) or tensor.is_meta or tensor.is_nested:
        return []
    if _data_address(tensor):
        return []
    attributes = object.__getattribute__(tensor, "__dict__").values()
    return [one for one in attributes if issubclass(type(one), torch.Tensor)]


def is_hidden_by_vmap(tensor: torch.Tensor) -> bool:
    """Whether operations on it are recorded although it says that it does not require grad: inside
    ``torch.vmap`` only the tensor behind it knows (F1.35)."""
    if not _functorch.is_batchedtensor(tensor):
        return False
    while _functorch.is_batchedtensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor.requires_grad


def _is_fake(tensor: torch.Tensor) -> bool:
    """Whether it is one of ``FakeTensorMode`` (F1.32)."""
    if type(tensor) in _PLAIN_TYPES:
        return False
    return "fake_mode" in object.__getattribute__(tensor, "__dict__")


_INTEGERS: Final = frozenset({int})


def shape_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Shape; -1 is what is not known: of a nested tensor the ragged dimension, and how many
    dimensions and of which size a parameter of a lazy module is going to have."""
    if torch.nn.parameter.is_lazy(tensor):
        return (-1,)
    try:
        shape = tuple(tensor.shape)
    except RuntimeError:
        return tuple(_size(tensor, dim) for dim in range(tensor.dim()))
    if _INTEGERS.issuperset(map(type, shape)):
        return shape
    return tuple(n if type(n) is int else -1 for n in shape)


def _size(tensor: torch.Tensor, dim: int) -> int:
    try:
        return tensor.size(dim)
    except RuntimeError:
        return -1


def version_of(tensor: torch.Tensor) -> int | None:
    """Version counter; inference tensors have none (F2.01)."""
    try:
        return tensor._version
    except RuntimeError:
        return None


def storage_of(tensor: torch.Tensor) -> tuple[int, int] | None:
    """``(key, bytes)`` of the storage; ``None`` where there is none (F3.15).

    The key is valid only while the tensor exists. The bytes of a wrapper are those of the storages
    of what it holds.
    """
    tensor = own_part(tensor)
    try:
        storage = tensor.untyped_storage()
        held = set(map(storage_of, _inside(tensor)))
        nbytes = sum(one[1] for one in held if one) if held else storage.nbytes()
        return None if None in held else (storage._cdata, nbytes)
    except (RuntimeError, NotImplementedError):
        return None


def nbytes_of(tensor: torch.Tensor) -> int | None:
    """``Tensor.nbytes``; of sparse tensors the bytes of indices and values.

    ``None`` where torch does not show it, as of layouts of other libraries; of a DTensor the bytes
    that this process holds.
    """
    tensor = own_part(tensor)
    if tensor.layout is torch.sparse_coo:
        return _bytes_of_coo(tensor)
    if tensor.layout in _COMPRESSED:
        return _bytes_of_parts(_COMPRESSED[tensor.layout], tensor)
    if tensor.is_nested:
        return _bytes_of_nested(tensor)
    if tensor.layout is not torch.strided:
        return None
    held = [nbytes_of(one) for one in _inside(tensor)]
    return sum(filter(None, held)) if held else tensor.numel() * tensor.element_size()


_OF_ROWS: Final = ("crow_indices", "col_indices", "values")
_OF_COLUMNS: Final = ("ccol_indices", "row_indices", "values")
_COMPRESSED: Final = {
    torch.sparse_csr: _OF_ROWS,
    torch.sparse_bsr: _OF_ROWS,
    torch.sparse_csc: _OF_COLUMNS,
    torch.sparse_bsc: _OF_COLUMNS,
}
"""Sparse layouts and the tensors that a tensor of each is made of."""


def _bytes_of_parts(names: tuple[str, ...], tensor: torch.Tensor) -> int | None:
    try:
        with torch.no_grad():  # values() is an operation that autograd records
            parts: list[torch.Tensor] = [getattr(tensor, name)() for name in names]
            return sum(part.nbytes for part in parts)
    except (RuntimeError, NotImplementedError):
        return None


def _bytes_of_nested(tensor: torch.Tensor) -> int | None:
    """Those of all numbers; of the jagged layout with its offsets, and lengths if it has them."""
    try:
        if tensor.layout is torch.strided:
            return tensor.numel() * tensor.element_size()
        attributes = object.__getattribute__(tensor, "__dict__")
        parts: list[torch.Tensor] = [attributes[name] for name in ("_values", "_offsets")]
        parts += [one for one in (attributes.get("_lengths"),) if one is not None]
        return sum(part.numel() * part.element_size() for part in parts)
    except (AttributeError, KeyError, RuntimeError, NotImplementedError):
        return None


_INDEX: Final = 8
"""Bytes of one index of a sparse COO tensor, always an int64."""


def _bytes_of_coo(tensor: torch.Tensor) -> int | None:
    try:
        places, sparse = tensor._nnz(), tensor.sparse_dim()
        numbers = math.prod(tuple(tensor.shape)[sparse:])
    except (RuntimeError, NotImplementedError):
        return None
    return places * (sparse * _INDEX + numbers * tensor.element_size())


TensorFacts = tuple[
    tuple[int, ...], str, str, "int | None", "int | None", "int | None", "int | None"
]


def facts_of(tensor: torch.Tensor) -> TensorFacts:
    """Shape, dtype, device, bytes, key of the storage, its bytes, and version, in one read."""
    try:
        if type(tensor) in _PLAIN_TYPES:
            storage = tensor.untyped_storage()  # raises where the layout is not strided
            return (
                tuple(tensor.shape),
                _DTYPES[tensor.dtype],
                "cpu" if tensor.is_cpu else _DEVICES[tensor.device],
                tensor.nbytes,
                storage._cdata,
                storage.nbytes(),
                tensor._version,
            )
    except (KeyError, RuntimeError, NotImplementedError):
        pass
    found = storage_of(tensor) or (None, None)
    return (
        shape_of(tensor),
        dtype_of(tensor),
        device_of(tensor),
        nbytes_of(tensor),
        *found,
        version_of(tensor),
    )


def same_layout(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors on one storage are the same numbers in the same order."""
    if one.layout is not torch.strided or one.is_nested or other.layout is not torch.strided:
        return False
    return (
        one.shape == other.shape
        and one.stride() == other.stride()
        and one.storage_offset() == other.storage_offset()
    )


def is_view(tensor: torch.Tensor) -> bool:
    """Whether autograd knows the tensor as a view."""
    return bool(tensor._is_view())


base_of: Callable[[torch.Tensor], torch.Tensor | None] = attrgetter("_base")
"""The tensor that a view is a view of; always passive (F1.14)."""


def is_parameter(tensor: torch.Tensor) -> bool:
    """Whether a tensor is an ``nn.Parameter``, or a view of one; no code of a subclass runs."""
    base = tensor._base
    return _is_parameter(tensor) or (base is not None and _is_parameter(base))


def _is_parameter(tensor: torch.Tensor) -> bool:
    if type(tensor) in _PLAIN_TYPES:
        return type(tensor) is torch.nn.Parameter
    # A parameter of a custom tensor type keeps that type and has this mark.
    marked = object.__getattribute__(tensor, "__dict__").get("_is_param") is True
    return marked or issubclass(type(tensor), torch.nn.Parameter)


def output_nr(tensor: torch.Tensor) -> int:
    """Which output of its node the tensor is; always passive (F1.14)."""
    return tensor.output_nr


def place_may_be_stale(tensor: torch.Tensor) -> bool:
    """Whether reading ``grad_fn`` could make a node (F1.14).

    A view is regenerated on reading when its base was written in place after it was made. torch
    does not show whether that happened; a counter that never moved shows that it is not.
    """
    return tensor.requires_grad and bool(tensor._is_view()) and bool(tensor._version)


def is_leaf_unasked(tensor: torch.Tensor, before: bool | None = None) -> bool | None:
    """Whether a view is a leaf, as far as that is certain without reading it (F1.14).

    It is none if its base, which is no view, has a ``grad_fn``: the view was made from that base,
    or the base got it by a later write, and then the view gets one when it is read. Nor is it if it
    ever had one. Views that were not made in grad mode, or by a call that gave several, are an
    exception: their reading may fail.

    A view made under ``no_grad`` or in inference mode gets no ``grad_fn``; it is a leaf if its base
    does not require grad. If the base does, a read of the view fails once the base was written.

    All else is not certain. A view of a leaf that requires grad has a ``grad_fn``, but for one that
    was made before the base required grad, and that only if nothing was written since. A view of a
    base that does not require grad is a leaf, or has the ``grad_fn`` from before the base was
    detached or frozen.

    Args:
        tensor: A view.
        before: Whether it was a leaf when that was last read.
    """
    base = tensor._base
    if base is None:
        return None
    made = _creation_meta(tensor)
    if before is False and made == _CreationMeta.DEFAULT:
        return False
    if base.grad_fn is not None:
        return False if made == _CreationMeta.DEFAULT else None
    is_without_grad = made in (_CreationMeta.NO_GRAD_MODE, _CreationMeta.INFERENCE_MODE)
    return True if is_without_grad and not base.requires_grad else None


_creation_meta: Callable[[torch.Tensor], Any] = torch._C._autograd._get_creation_meta
_CreationMeta: Final = torch._C._autograd.CreationMeta


def tensor_hooks(tensor: torch.Tensor) -> list[tuple[str, Any]]:
    """``(kind, function)`` of hooks registered on this tensor object (F2.06)."""
    found: list[tuple[str, Any]] = []
    for kind, registered in (
        ("tensor", tensor._backward_hooks),
        ("post_accumulate_grad", getattr(tensor, "_post_accumulate_grad_hooks", None)),
    ):
        found.extend((kind, hook) for hook in (registered or {}).values())
    return found


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether values can be read with ordinary kernels and without running the user's code."""
    return (
        type(tensor) in _PLAIN_TYPES
        and tensor.layout is torch.strided
        and not tensor.is_nested
        and not tensor.is_meta
        and not tensor.is_quantized
        and not _is_wrapped(tensor)
        and _has_memory(tensor)
    )


def is_shared(tensor: torch.Tensor) -> bool:
    """Whether others than torch can write the memory, or no version shows who has.

    What numpy shares, in whichever direction, is memory that torch does not resize (F3.19).
    """
    try:
        return not tensor.untyped_storage().resizable() or version_of(tensor) is None
    except (RuntimeError, NotImplementedError):
        return False


def _has_memory(tensor: torch.Tensor) -> bool:
    # Not by untyped_storage(): the engine adds to a gradient in place only while nothing else
    # refers to its storage, as the object that untyped_storage() makes does for good (F3.18).
    try:
        return bool(_data_address(tensor)) or not tensor.numel()
    except (RuntimeError, NotImplementedError):
        return False


def numbers_in(tensor: torch.Tensor) -> tuple[Any, ...] | None:
    """What plain tensors with the same numbers in the same memory have in common.

    In the order of rows, so that a ``view`` has the same as what it is a view of, and a transpose
    has not. ``None`` for others. Valid while one of the tensors exists and is not written.
    """
    if not is_plain(tensor):
        return None
    is_whole = tensor.is_contiguous()
    layout = tensor.numel() if is_whole else (tensor.shape, tensor.stride())
    place = _data_address(tensor), tensor.storage_offset(), tensor.device
    return *place, layout, tensor.dtype, tensor.is_conj(), tensor.is_neg()


def is_dead(tensor: torch.Tensor) -> bool:
    """Whether there is nothing left to read: memory given back, or a transform that ended."""
    if _is_wrapped(tensor):
        return bool(_functorch.is_dead_tensor_wrapper(tensor))
    storage = storage_of(tensor)
    return (
        storage is not None
        and storage[1] == 0
        and own_part(tensor).numel() > 0
        and tensor.device.type != "meta"
    )


class _Waited(threading.local):
    """CUDA devices that this thread has waited for since it began to read."""

    def __init__(self) -> None:
        self.devices: set[torch.device] = set()
        self.is_reading = False


_waited: Final = _Waited()


@contextmanager
def waiting_once() -> Iterator[None]:
    """Let :func:`wait_until_written` wait once for each device; to be left before other code."""
    outer = _waited.devices, _waited.is_reading
    _waited.devices, _waited.is_reading = set(), True
    try:
        yield
    finally:
        _waited.devices, _waited.is_reading = outer


def wait_until_written(tensor: torch.Tensor) -> bool:
    """Wait until no stream writes the tensor; whether that was possible and its values can be read.

    The stream that writes a tensor need not be the current one, and a tensor does not know its
    streams, so the wait is for the device. It is not allowed while a CUDA graph is captured, nor
    while ``torch.cuda.set_sync_debug_mode`` reports waits.
    """
    if not tensor.is_cuda:
        return True
    device = tensor.device
    if device in _waited.devices:
        return True
    if torch.cuda.is_current_stream_capturing() or torch.cuda.get_sync_debug_mode():
        return False
    torch.cuda.synchronize(device)
    if _waited.is_reading:
        _waited.devices.add(device)
    return True
