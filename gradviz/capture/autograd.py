"""The only file that touches torch's private attributes: one function per fact.

Numbers such as F3.04 name the experiment that shows a fact. What differs between torch versions
ends here. Every function here only reads, except the three whose docstring says what
they do to the graph: :func:`accumulator_of`, :func:`keep_with_node` and the reads that create
Python wrappers (all reads of nodes do, since torch 2.13).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Final

import torch
from torch.autograd import graph as _graph
from torch.utils._python_dispatch import _disable_current_modes

from gradviz.model import UnsupportedTorchError
from gradviz.model.facts import Attribute

OLDEST: Final = (2, 10)


def _release(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


RELEASE: Final = _release(torch.__version__)
if RELEASE < OLDEST:
    raise UnsupportedTorchError(
        f"gradviz needs torch 2.10 or newer, and this is torch {torch.__version__}: older "
        "releases cannot show a saved tensor without unpacking it, which would run hooks and "
        "recompute checkpoints. Type: pip install 'torch>=2.10'"
    )

WRAPPERS_LIVE_AS_LONG_AS_NODES: Final = RELEASE >= (2, 13)
"""F1.02: from 2.13 on, a node keeps its Python wrapper; before, wrappers are transient."""

NO_SEQUENCE_NR: Final = 2**64 - 1
"""F1.08: what AccumulateGrad answers."""

RUN_BACKWARD_CODE: Final[CodeType] = _graph._engine_run_backward.__code__
"""The Python function through which every backward starts."""


# --- looking unseen -------------------------------------------------------------------------


@contextmanager
def unseen() -> Iterator[None]:
    """Hide reads from the user's TorchFunctionModes and tensor subclasses (F2.12)."""
    with torch._C.DisableTorchFunction():
        yield


# --- nodes ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a class of nodes keeps one saved tensor (or a list of them)."""

    name: str
    raw: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be read from nodes of one class; made once per class (F3.02, F9.01)."""

    name: str | None
    slots: tuple[Slot, ...]
    scalars: tuple[tuple[str, str], ...]
    has_attributes: bool
    is_opaque: bool
    is_function: bool
    is_accumulator: bool


_plans: dict[type, Plan] = {}


def plan_of(kind: type) -> Plan:
    """The reading plan for a class of nodes."""
    plan = _plans.get(kind)
    if plan is None:
        plan = _make_plan(kind)
        # Classes of the user's own Functions come and go; they are not kept alive for a plan.
        if not plan.is_function:
            _plans[kind] = plan
    return plan


def _make_plan(kind: type) -> Plan:
    is_function = issubclass(kind, torch._C._FunctionBase)
    names = dir(kind)
    slots = tuple(
        Slot(n[len("_raw_saved_") :], n, None if is_function else n[len("_raw") :])
        for n in names
        if n.startswith("_raw_saved_")
    )
    raw = {slot.value for slot in slots}
    scalars = tuple(
        (n[len("_saved_") :], n) for n in names if n.startswith("_saved_") and n not in raw
    )
    return Plan(
        # F1.26: nodes without a Python class are all CppFunction and have names of their own.
        name=None if kind.__name__ == "CppFunction" else kind.__name__,
        slots=slots,
        scalars=() if is_function else scalars,
        has_attributes=is_function or bool(scalars),
        is_opaque=kind.__name__ in ("CppFunction", "CopySlices"),
        is_function=is_function,
        is_accumulator=kind.__name__ == "AccumulateGrad",
    )


def name_of(node: Any) -> str:
    """torch's name for the node without its C++ namespace (F1.07)."""
    head, angle, rest = str(node.name()).partition("<")
    return head.rpartition("::")[2] + angle + rest


def sequence_nr(node: Any) -> int:
    """Creation number within the thread that made the node (F1.08)."""
    number: int = node._sequence_nr()
    return number


def variable_of(node: Any) -> torch.Tensor | None:
    """The leaf tensor of an AccumulateGrad (F1.12)."""
    variable: torch.Tensor | None = node.variable
    return variable


_Shapes = tuple[tuple[int, ...] | None, ...]
_shapes: dict[tuple[int, ...], _Shapes] = {}


def output_shapes(node: Any) -> _Shapes:
    """Shape of each differentiable forward output (F1.09)."""
    metadata = node._input_metadata
    if len(metadata) == 1:
        try:
            return _shapes[tuple(metadata[0].shape)]
        except (KeyError, RuntimeError, TypeError):
            pass
    found = tuple([_output_shape(entry) for entry in metadata])
    if len(found) == 1 and found[0] is not None and -1 not in found[0]:
        _shapes[found[0]] = found
    return found


def _output_shape(entry: Any) -> tuple[int, ...] | None:
    try:
        shape = tuple(entry.shape)
    except RuntimeError:  # nested tensors of the strided layout have no shape
        return None
    return tuple(n if type(n) is int else -1 for n in shape)


def attributes_of(node: Any, plan: Plan) -> tuple[tuple[str, Attribute], ...]:
    """Saved scalars and sizes, and what a custom Function keeps on ``ctx`` (F1.16, F3.02)."""
    if plan.is_function:
        kept = sorted((k, v) for k, v in vars(node).items() if isinstance(k, str))
        return tuple((name, _as_data(value)) for name, value in kept if not name.startswith("_"))
    return tuple([(name, _as_data(getattr(node, full))) for name, full in plan.scalars])


def _as_data(value: Any) -> Attribute:
    kind = type(value)
    if kind is bool or value is None or kind is str:
        data: Attribute = value
        return data
    if kind is int:
        # F3.03: a negative dim is shown as an unsigned 64-bit number.
        return int(value) - 2**64 if value >= 2**63 else int(value)
    if kind is float or kind is complex:
        return as_number(value)
    if kind is tuple or kind is list:
        return tuple(_as_data(item) for item in value[:64])
    if issubclass(kind, torch.Tensor):
        return f"{kind.__name__} {list(shape_of(value))}"
    if kind in (torch.dtype, torch.layout, torch.memory_format, torch.device):
        return str(value)
    return kind.__name__


def as_number(value: float | complex) -> bool | int | float | str:
    """A Python number as data that JSON and ``==`` can carry."""
    if isinstance(value, complex):
        return str(value).strip("()")
    if value != value or value in (float("inf"), float("-inf")):
        return str(float(value))
    return value


def forward_traceback(node: Any) -> list[str] | None:
    """Formatted frames of the forward, if anomaly mode was on then (F6.01)."""
    frames = node.metadata.get("traceback_")
    return frames if isinstance(frames, list) else None


def anomaly_mode_is_on() -> bool:
    """Whether nodes made now get a traceback."""
    return bool(torch.is_anomaly_enabled())


def keep_with_node(node: Any, key: str, kind: Any, value: Any) -> None:
    """Put ``kind(value)`` into the node's own dictionary, to die with it (F1.04).

    Changes ``node.metadata``, torch's place for such things; nothing else. A key that is
    already there is left alone.
    """
    metadata = node.metadata
    if key not in metadata:
        metadata[key] = kind(value)


def roots_of_backward(frame: FrameType) -> list[Any]:
    """Nodes at which a running backward started, from the frame that runs it."""
    outputs = frame.f_locals.get("t_outputs", ())
    # A GradientEdge is a pair of a node and an output number.
    return [
        node
        for output in outputs
        if (node := output[0] if isinstance(output, tuple) else output.grad_fn) is not None
    ]


def accumulator_of(leaf: torch.Tensor) -> Any:
    """The AccumulateGrad of a leaf; made if no graph uses the leaf now.

    torch makes it when an operation uses the leaf. That operation is run in a thread of its
    own, so that it takes no sequence number of the caller's (F1.08) and no mode of the caller's
    sees it. The node dies with the last reference, as it would after any operation.
    """
    found: list[Any] = []

    def use() -> None:
        with torch.enable_grad(), unseen():
            node = leaf.view_as(leaf).grad_fn
            assert node is not None
            found.append(node.next_functions[0][0])

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    return found.pop()


# --- saved tensors --------------------------------------------------------------------------

_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
_FREED = re.compile(r"second time|already been freed")


def saved_of(node: Any, plan: Plan) -> list[tuple[str, str, Any, int | None]]:
    """All saved slots of a node, without running a hook or keeping a SavedTensor (F3.04).

    Returns:
        ``(name, state, detail, saved version)`` per slot. The detail is the tensor for the
        states held and modified, the unpack hook for packed, else ``None``. It must be
        dropped soon: it keeps the memory alive.
    """
    rows: list[tuple[str, str, Any, int | None]] = []
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


def _saved_one(node: Any, slot: Slot, raw: Any) -> tuple[str, str, Any, int | None]:
    hook = raw.unpack_hook
    if hook is not None:
        return slot.name, "packed", hook, None
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


def _saved_list(node: Any, slot: Slot, raws: Sequence[Any]) -> list[tuple[str, str, Any, int | None]]:
    """Slots of a list-valued getter: tensor lists and custom Functions."""
    rows: list[tuple[str, str, Any, int | None]] = []
    doubtful: list[int] = []
    for i, raw in enumerate(raws):
        name = f"{slot.name}[{i}]"
        hook, tensor = raw.unpack_hook, raw.data
        if hook is not None:
            rows.append((name, "packed", hook, None))
            continue
        state, saved_version = _check_item(raw, tensor)
        if state == "doubtful":
            doubtful.append(i)
            state = "held"
        rows.append((name, state, tensor, saved_version))
    if len(doubtful) and not any(row[1] == "packed" for row in rows):
        _settle(node, slot, rows, doubtful)
    return rows


def _check_item(raw: Any, tensor: Any) -> tuple[str, int | None]:
    """State of one list item, as far as ``SavedTensor.unpack`` tells.

    F3.01: unpack raises for a differentiable output of the node itself before it looks at
    versions, and does not exist before 2.12; both leave the item in doubt.
    """
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


def _settle(
    node: Any, slot: Slot, rows: list[tuple[str, str, Any, int | None]], doubtful: list[int]
) -> None:
    """Decide doubtful items by reading the whole list, where that is harmless (F3.16)."""
    name = slot.value
    if name is None:
        if getattr(getattr(type(node), "_forward_cls", None), "clear_saved_tensors_on_access", True):
            return
        name = "saved_tensors"
    try:
        getattr(node, name)
    except RuntimeError as error:
        versions = _VERSIONS.search(str(error))
        others_fine = all(row[1] != "modified" for row in rows)
        if versions and others_fine and len(doubtful) == 1:
            at = doubtful[0]
            rows[at] = (rows[at][0], "modified", rows[at][2], int(versions[2]))
        return
    for at in doubtful:
        rows[at] = (rows[at][0], "held", rows[at][2], version_of(rows[at][2]))


def describe_hook(hook: Any) -> str:
    """Name of a function as data: no address, no repr of the user's (F2.06, F3.12)."""
    while hasattr(hook, "func") and type(hook).__name__ == "partial":
        hook = hook.func
    name = getattr(hook, "__qualname__", None)
    if isinstance(name, str):
        return name.replace("<locals>.", "")
    return type(hook).__qualname__


# --- tensors --------------------------------------------------------------------------------

_DTYPES: dict[torch.dtype, str] = {}
_DEVICES: dict[torch.device, str] = {}


def dtype_of(tensor: torch.Tensor) -> str:
    """``"float32"``."""
    dtype = tensor.dtype
    name = _DTYPES.get(dtype)
    if name is None:
        name = _DTYPES[dtype] = str(dtype).removeprefix("torch.")
    return name


def device_of(tensor: torch.Tensor) -> str:
    """``"cpu"`` or ``"cuda:0"``."""
    device = tensor.device
    name = _DEVICES.get(device)
    if name is None:
        name = _DEVICES[device] = str(device)
    return name


def shape_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Shape; -1 stands for a ragged dimension of a nested tensor."""
    try:
        shape = tuple(tensor.shape)
    except RuntimeError:
        return tuple(_size(tensor, dim) for dim in range(tensor.dim()))
    return shape if all(type(n) is int for n in shape) else tuple(
        n if type(n) is int else -1 for n in shape
    )


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

    The key is good only while the tensor lives.
    """
    try:
        storage = tensor.untyped_storage()
        return storage._cdata, storage.nbytes()
    except (RuntimeError, NotImplementedError):
        return None


def nbytes_of(tensor: torch.Tensor) -> int | None:
    """``Tensor.nbytes`` where torch can tell without running an operation."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return None
    return tensor.numel() * tensor.element_size()


def is_view(tensor: torch.Tensor) -> bool:
    """Whether autograd knows the tensor as a view."""
    return bool(tensor._is_view())


def output_nr(tensor: torch.Tensor) -> int:
    """Which output of its node the tensor is; always passive (F1.14)."""
    return tensor.output_nr


def place_may_be_stale(tensor: torch.Tensor) -> bool:
    """Whether reading ``grad_fn`` could make a node (F1.14).

    A view is regenerated on reading when its base was written in place after it was made. torch
    does not tell whether that is so; a counter that never moved shows that it is not.
    """
    return tensor.requires_grad and bool(tensor._is_view()) and bool(tensor._version)


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
    """Whether values can be read with ordinary kernels and without running code of others."""
    functorch = torch._C._functorch
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout is torch.strided
        and not tensor.is_nested
        and tensor.device.type != "meta"
        and not tensor.is_quantized
        and not functorch.is_functorch_wrapped_tensor(tensor)
        and (storage := storage_of(tensor)) is not None
        and storage[1] >= (tensor.element_size() if tensor.numel() else 0)
    )


def is_dead(tensor: torch.Tensor) -> bool:
    """Whether there is nothing left to read: memory given back, or a transform that ended."""
    functorch = torch._C._functorch
    if functorch.is_functorch_wrapped_tensor(tensor):
        return bool(functorch.is_dead_tensor_wrapper(tensor))
    storage = storage_of(tensor)
    return (
        storage is not None and storage[1] == 0 and tensor.numel() > 0
        and tensor.device.type != "meta"
    )


@contextmanager
def arithmetic() -> Iterator[None]:
    """Compute on the user's tensors unseen by their modes and unrecorded by autograd."""
    with unseen(), torch.no_grad(), _disable_current_modes():
        yield


def may_copy_to_host(tensor: torch.Tensor) -> bool:
    """Reading a value synchronises a GPU, which is not allowed while a CUDA graph is captured."""
    return tensor.device.type != "cuda" or not torch.cuda.is_current_stream_capturing()
