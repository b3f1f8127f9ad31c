"""From calls of torch to events: operations, writes in place, values that left the graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.frames import clean_texts
from gradviz.capture.recorder.observers.custom_functions import CustomFunctions
from gradviz.capture.recorder.observers.modules import ModuleCalls
from gradviz.capture.recorder.registry import Registry, RegistryEntry
from gradviz.capture.recorder.tensor_keys import TensorKeys
from gradviz.capture.recorder.torch_call import LEAVES_TORCH, TorchCall, tensors_in
from gradviz.capture.stacks import traceback_entries
from gradviz.capture.statistics import is_finite
from gradviz.capture.values import summarise
from gradviz.model.events import NotRecorded, Operand, Operation, Refused, Write
from gradviz.model.history import ALIASES
from gradviz.model.records import ValueSummary

_SHORT: Final = 40
_MOST_OPERANDS: Final = 8
_NOT_WRITTEN: Final = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
    | {"__new__", "resize_", "resize_as_"}
)
"""Calls that give memory with whatever happens to be in it."""
_MOST_NOT_FINITE: Final = 1_000
"""Calls whose numbers are read since a result has nan or inf; the first show where it began."""


class Operations:
    """Describes calls.

    Args:
        registry: The known tensors.
        modules: Tells of which running module a tensor is a buffer; not needed where only a call
            that raised is described.
        functions: Tells whether a custom Function runs; not needed there either.
        values: Whether numbers are read.
    """

    def __init__(
        self,
        registry: Registry,
        modules: ModuleCalls | None = None,
        functions: CustomFunctions | None = None,
        values: bool = False,
    ) -> None:
        self._registry = registry
        self._modules = modules
        self._functions = functions
        self.tensor_keys = TensorKeys(registry)
        self._refusing = autograd.variables_that_are_refused()
        self._left = _MOST_NOT_FINITE if values else 0
        self._ways: dict[int, tuple[str, autograd.TensorRef]] = {}
        """How a tensor that shares memory was made: ``detach`` or ``.data``, by ``id()``."""

    def swapped(self, one: torch.Tensor, other: torch.Tensor) -> None:
        """Two tensors have got each other's content."""
        ways = [self._ways.pop(id(tensor), None) for tensor in (one, other)]
        for tensor, known in zip((other, one), ways, strict=True):
            if known is not None and known[1]() is not None:
                self._ways[id(tensor)] = known[0], autograd.TensorRef(tensor)

    def forget(self) -> None:
        """Drop all references."""
        self.tensor_keys.forget()
        self._ways.clear()

    def event(self, call: TorchCall, module: str | None, recomputed: bool) -> Operation | None:
        """The operation that a call was, or ``None`` if it was none."""
        results = list(tensors_in(call.result))
        if not results and call.name not in LEAVES_TORCH:
            return None
        if call.name in LEAVES_TORCH and not call.tensors:
            return None
        if call.name in ("data", "detach") and results and not call.is_setter:
            self._ways[id(results[0])] = (
                ".data" if call.name == "data" else "detach",
                autograd.TensorRef(results[0]),
            )
        for tensor in results:
            if torch.is_grad_enabled() or not any(tensor is one for one in call.tensors):
                self._registry.is_fresh(tensor)
        recorded = any(t.requires_grad and not self._is_leaf(t) for t in results)
        node = None
        if recorded and not recomputed:
            node = self._node(results)
        reads = self.tensor_keys.keys(call.tensors)
        read_values, made_values = self._numbers_of(call, results)
        return Operation(
            call.name,
            tuple(self._operands(call)),
            tuple(map(self.operand, results[:_MOST_OPERANDS])),
            node,
            recorded,
            "" if recorded else _reason(call, results, self._in_function),
            recomputed,
            module,
            reads,
            self.tensor_keys.keys(results),
            tuple(dict.fromkeys(key for key, r in zip(reads, call.required) if r)),
            call.position,
            read_values,
            made_values,
        )

    def _numbers_of(
        self, call: TorchCall, results: list[torch.Tensor]
    ) -> tuple[tuple[ValueSummary | None, ...], tuple[ValueSummary | None, ...]]:
        """Numbers of what went in and came out, if a result has nan or inf."""
        if not self._left or call.name in ALIASES or call.name in _NOT_WRITTEN:
            return (), ()
        if all(map(is_finite, results[:_MOST_OPERANDS])):
            return (), ()
        self._left -= 1
        with autograd.arithmetic():
            both = (call.tensors, results)
            read, made = (tuple([summarise(one) for one in tensors]) for tensors in both)
        return read, made

    def refused(self, call: TorchCall, error: BaseException, module: str | None = None) -> Refused:
        """The call as one that raised; of lists of tensors, each tensor is an operand."""
        values: list[Any] = []
        for value in (*call.args, *call.kwargs.values()):
            inside = list(tensors_in(value))
            values += inside or [value]
        operands = map(self.operand, values[:_MOST_OPERANDS])
        reads = self.tensor_keys.keys([*tensors_in(call.args), *tensors_in(call.kwargs)])
        kind = type(error).__name__
        return Refused(call.name, tuple(operands), kind, reads, module, call.position)

    def refused_inside(self, error: BaseException) -> Refused | None:
        """The function of torch that raised and makes no call that could be observed."""
        entry = next(reversed([*traceback_entries(error.__traceback__)]), None)
        name = None if entry is None else self._refusing.get(entry.tb_frame.f_code)
        if entry is None or name is None:
            return None
        value = dict(naming.local_variables(entry.tb_frame)).get(name)
        return self.refused(TorchCall(entry.tb_frame.f_code.co_name, (value,), {}), error)

    def clean_tracebacks(self, call: TorchCall) -> None:
        """Take the recorder out of what anomaly mode has noted in the nodes of a call."""
        nodes = [
            _node_of(tensor)
            for tensor in tensors_in(call.result)
            if tensor.requires_grad and not self._registry.may_be_stale(tensor)
        ]
        while nodes:
            node = nodes.pop()
            frames = None if node is None else autograd.forward_traceback(node)
            if node is None or frames is None:
                continue
            cleaned = clean_texts(frames)
            if len(cleaned) != len(frames):
                frames[:] = cleaned
                nodes += [following for following, _ in node.next_functions]

    def references(self, call: TorchCall) -> list[autograd.TensorRef]:
        """Weak references to the results of a call."""
        return [autograd.TensorRef(t) for t in list(tensors_in(call.result))[:_MOST_OPERANDS]]

    def with_results(self, event: Operation, refs: list[autograd.TensorRef]) -> Operation:
        """The operation with the names that its results have by now."""
        outputs = []
        for operand, ref in zip(event.outputs, refs):
            tensor = ref()
            entry = None if tensor is None else self._registry.entries.get(id(tensor))
            if entry is not None:
                operand = replace(operand, text=entry.name or operand.text, tensor=entry.id)
            outputs.append(operand)
        return replace(event, outputs=tuple(outputs))

    @property
    def _in_function(self) -> bool:
        return self._functions is not None and self._functions.hides_calls

    def _node(self, results: list[torch.Tensor]) -> str | None:
        for tensor in results:
            if tensor.requires_grad and not self._registry.may_be_stale(tensor):
                node = _node_of(tensor)
                if node is not None:
                    return f"n{self._registry.node_number(node)}"
        return None

    def _is_leaf(self, tensor: torch.Tensor) -> bool:
        return not self._registry.may_be_stale(tensor) and _node_of(tensor) is None

    def _operands(self, call: TorchCall) -> list[Operand]:
        values = [*call.args, *call.kwargs.values()]
        return [self.operand(value) for value in values[:_MOST_OPERANDS]]

    def operand(self, value: Any) -> Operand:
        """A value as it went in or came out."""
        if not is_tensor(value):
            is_sequence = isinstance(value, (list, tuple)) and not isinstance(value, torch.Size)
            return Operand(_text(value), is_sequence=is_sequence)
        entry = self._registry.find(value)
        shape, dtype = autograd.shape_of(value), autograd.dtype_of(value)
        text = entry.name if entry is not None and entry.name else f"{dtype} {shape}"
        return Operand(text, None if entry is None else entry.id, shape, dtype)

    def writes(self, call: TorchCall) -> list[Write]:
        """Tensors whose version the call has raised."""
        found: dict[int, Write] = {}
        for tensor, before in zip(call.tensors, call.versions):
            after = autograd.version_of(tensor)
            if before is None or after is None or after == before:
                continue
            storage = self._registry.storage(tensor)
            key = id(tensor) if storage is None else storage
            if key not in found:
                write = self._write(call.name, tensor, storage, before, after)
                base = autograd.base_of(tensor)
                changed = [tensor] if base is None else [tensor, base]
                keys = self.tensor_keys.keys
                found[key] = replace(write, reads=keys(call.tensors), made=keys(changed))
        if call.is_setter and call.name == "data" and call.tensors:
            tensor = call.tensors[0]
            version = autograd.version_of(tensor)
            if version is not None:
                storage = self._registry.storage(tensor)
                write = self._write("an assignment to .data", tensor, storage, version, version)
                found[id(tensor)] = replace(
                    write, before=version, after=version, agent="assignment"
                )
        return [replace(write, position=call.position) for write in found.values()]

    def _write(
        self, by: str, tensor: torch.Tensor, storage: int | None, before: int, after: int
    ) -> Write:
        entry = self._registry.find(tensor)
        on_it = self._registry.on_storage(storage)
        way, reference = self._ways.get(id(tensor), ("", None))
        if reference is None or reference() is not tensor:
            way = ""
        buffer = None if self._modules is None else self._modules.buffer(tensor)
        name = entry.name if entry is not None else None
        if name is None and buffer is not None:
            name = buffer.name
        if name is None and on_it:
            name = on_it[0][0].name
        grad_of = self._grad_of(tensor) if entry is None and not on_it else None
        if grad_of is not None:
            name = f"{grad_of.name or grad_of.id}.grad"
        if way == ".data" and not any(t is tensor for _, t in on_it):
            # It has its own version counter; that of the tensors on this memory does not change.
            untouched = next((autograd.version_of(t) for _, t in on_it), None)
            before = after = untouched if untouched is not None else after
        elif not way and autograd.is_view(tensor):
            way = "view"
        return Write(
            by,
            tuple(other.id for other, _ in on_it),
            name or f"{autograd.dtype_of(tensor)} {autograd.shape_of(tensor)}",
            None if storage is None else f"s{storage}",
            before,
            after,
            way,
            buffer_of=None if buffer is None else buffer.module,
            grad_of=None if grad_of is None else grad_of.id,
            is_described=not name,
        )

    def _grad_of(self, tensor: torch.Tensor) -> RegistryEntry | None:
        """The tensor whose ``.grad`` this is, or is a view of."""
        base = autograd.base_of(tensor)
        whole = tensor if base is None else base
        known = self._registry.with_grad_on(self._registry.storage(whole))
        known = [(entry, one) for entry, one in known if self._may_have_grad(one)]
        grads = autograd.grads_of([one for _, one in known])
        return next((e for (e, _), grad in zip(known, grads) if grad is whole), None)

    def _may_have_grad(self, tensor: torch.Tensor) -> bool:
        """Whether ``.grad`` can be read without a warning."""
        is_up_to_date = not self._registry.may_be_stale(tensor)
        return is_up_to_date and (tensor.is_leaf or tensor.retains_grad)


def _node_of(tensor: torch.Tensor) -> Any:
    """The node of a tensor; a view made under no_grad whose memory was written has none."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def _reason(call: TorchCall, results: list[torch.Tensor], in_function: bool) -> NotRecorded:
    inputs = any(call.required)
    if any(map(autograd.is_hidden_by_vmap, results)):
        return "inside vmap"
    if call.name in LEAVES_TORCH or call.name in ("tensor", "as_tensor", "asarray"):
        return "left torch" if inputs else "no input requires grad"
    if not inputs:
        return "no input requires grad"
    if call.name == "data":
        return ".data"
    if call.name in ("detach", "detach_"):
        return "detach"
    if torch.is_inference_mode_enabled():
        return "inference mode"
    if not torch.is_grad_enabled():
        return "custom Function" if in_function else "no_grad"
    if all(not (t.is_floating_point() or t.is_complex()) for t in results):
        return "not differentiable"
    return "unknown"


def _text(value: Any) -> str:
    """A short text for an argument, without running the user's code."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if type(value) in (int, float, complex, str):
        text = repr(value)
        return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"
    if isinstance(value, (torch.dtype, torch.device, torch.Size, slice, type(...))):
        return str(value)[:_SHORT]
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__
