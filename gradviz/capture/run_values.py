"""Notes what nodes make in the forward and pass on in backward, while code runs.

It is for code that runs again and again while a slider is dragged: a recording knows more, and
takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode

from gradviz.capture import autograd
from gradviz.capture.autograd import BackwardCall
from gradviz.capture.deep_graphs import SMALL, make_safe_to_free
from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.torch_call import (
    LEAVES_TORCH,
    TorchCall,
    is_operation,
    name_of,
    tensors_in,
)
from gradviz.capture.roots import place
from gradviz.capture.traversal import walk
from gradviz.capture.values import MOST_VALUES, Budget, summarise_within
from gradviz.model import GradvizError, ValueSummary
from gradviz.model.run_values import RunValues

_NUMBERS: Final = frozenset({"item", "tolist", "__float__", "__complex__"})
"""Calls that make numbers of Python: they count where torch gets any later."""
_ROUNDED: Final = frozenset({"__bool__", "__int__", "__index__", "__contains__", "__format__"})
"""Calls whose result has no derivative but zero."""
_CUTS: Final = (LEAVES_TORCH | {"detach", "detach_", "data"}) - _NUMBERS - _ROUNDED
"""Calls whose result depends on a tensor without autograd knowing it."""


@dataclass(frozen=True, slots=True)
class _Backward:
    """A call of ``backward()``."""

    roots: tuple[tuple[Any, int], ...]
    """Node and number of the output of each root."""
    is_plain: bool
    """Whether it started with 1 at one number."""


class RunObserver:
    """Observes code in the block of :meth:`on`; outside of it, it only answers.

    Nothing is observed inside of a recording: two observers of one backward would see each other.
    """

    def __init__(self) -> None:
        self.is_on = False
        """Whether anything was observed."""
        self.is_cut = False
        """Whether a value went on without autograd: ``.grad`` need not be the derivative."""
        self._has_numbers = False
        """Whether the code has numbers of Python that depend on a tensor that requires grad."""
        self._made: dict[Any, dict[int, ValueSummary]] = {}
        self._passed_on: dict[Any, tuple[ValueSummary | None, ...]] = {}
        self._backwards: list[_Backward] = []
        self._budget = Budget(None)
        self._is_running = False

    @property
    def backwards(self) -> int:
        """How many were run by ``backward()``, those inside of others not counted."""
        return len(self._backwards)

    @contextmanager
    def on(self) -> Iterator[None]:
        """Observe this thread for the length of the block."""
        if autograd.in_recording():
            yield
            return
        self.is_on = True
        with autograd.backwards_observed(self._run, _nothing), autograd.mode_on(_Calls(self)):
            yield

    def look(self, look: Callable[[], None]) -> None:
        """Look at something; the code runs on where that fails, and less is known."""
        try:
            with autograd.unseen():
                look()
        except Exception:
            self.is_cut = True

    def called(self, function: Any, args: Any, kwargs: Any) -> None:
        """A function of torch is about to be called."""
        if self.is_cut:
            return
        if self._has_numbers and _has_number((*args, *kwargs.values())):
            self.is_cut = True
            return
        name, is_getter, is_setter = name_of(function)
        is_number = name in _NUMBERS
        if torch.is_grad_enabled() and not is_number and name not in _CUTS:
            return
        call = TorchCall(name, args, kwargs, is_getter=is_getter, is_setter=is_setter)
        given = (*tensors_in(args), *tensors_in(kwargs))
        if is_operation(call) and any(tensor.requires_grad for tensor in given):
            self._has_numbers |= is_number
            self.is_cut = not is_number

    def returned(self, result: Any) -> None:
        """It has returned: what it made has the value now that its node gave it."""
        if not torch.is_grad_enabled():
            return
        for tensor in tensors_in(result):
            if not tensor.requires_grad or tensor.is_leaf or tensor.numel() > MOST_VALUES:
                continue
            if len(self._made) >= SMALL:
                return
            root = _place(tensor)
            if root is not None and root[1] not in self._made.get(root[0], ()):
                with autograd.arithmetic():
                    summary, _ = summarise_within(tensor, self._budget)
                self._made.setdefault(root[0], {})[root[1]] = summary

    def _run(self, run: Callable[[], Any], call: BackwardCall) -> Any:
        """Run a backward with a hook on every node behind its roots."""
        if self._is_running:
            return run()
        self._is_running = True
        handles: list[Any] = []
        try:
            self.look(lambda: handles.extend(self._begin(call)))
            return run()
        finally:
            self._is_running = False
            for handle in handles:
                handle.remove()

    def _begin(self, call: BackwardCall) -> list[Any]:
        found = [root for one in call.roots if (root := _start(one)) is not None]
        if call.accumulates:
            self._backwards.append(_Backward(tuple(found), _is_plain(call)))
        elif not call.create_graph:  # autograd.grad() returns what has no graph
            self.is_cut = True
        nodes, entries, _ = walk([node for node, _ in found])
        make_safe_to_free(nodes, entries)
        self._passed_on = {}

        def hook(at: int) -> Callable[[Any, Any], None]:
            return lambda gradients, _: self.look(lambda: self._ran(nodes[at], gradients))

        return [node.register_hook(hook(at)) for at, node in enumerate(nodes)]

    def _ran(self, node: Any, gradients: Sequence[Any]) -> None:
        with autograd.arithmetic():
            self._passed_on[node] = tuple(
                summarise_within(one, self._budget)[0] if is_tensor(one) else None
                for one in gradients
            )

    def is_derivative_of(self, tensor: torch.Tensor) -> bool:
        """Whether ``.grad`` of the leaves is the derivative of a tensor with one number: one
        backward was run, from there, and nothing went around autograd."""
        if len(self._backwards) != 1 or self.is_cut:
            return False
        (backward,) = self._backwards
        return backward.is_plain and backward.roots == (_place(tensor),)

    def values(self, outputs: Sequence[torch.Tensor]) -> RunValues:
        """What was noted, with the ids that nodes have in the snapshot of these outputs."""
        with autograd.unseen():
            nodes, entries, index = walk([place("result", one).node for one in outputs])
            make_safe_to_free(nodes, entries)
        made = {
            (f"n{index[node]}", number): summary
            for node, rows in self._made.items()
            if node in index
            for number, summary in rows.items()
        }
        passed = {
            (f"n{index[node]}", slot): gradient
            for node, row in self._passed_on.items()
            if node in index
            for slot, gradient in enumerate(row)
            if gradient is not None
        }
        return RunValues(made, passed)


class _Calls(TorchFunctionMode):
    """A mode of torch that runs every function unchanged and tells the observer."""

    def __init__(self, observer: RunObserver) -> None:
        super().__init__()
        self._observer = observer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.compiler.is_compiling():  # the compiler follows calls into a mode
            return func(*args, **kwargs)
        self._observer.look(lambda: self._observer.called(func, args, kwargs))
        result = func(*args, **kwargs)
        self._observer.look(lambda: self._observer.returned(result))
        return result


def run_backward(
    output: torch.Tensor, named: Mapping[str, torch.Tensor], leaves: Mapping[str, Any]
) -> str:
    """Call ``backward()`` on a number, so that only these leaves accumulate.

    Args:
        output: The number.
        named: The leaves that accumulate, by their names.
        leaves: How these are typed, by the same or fewer names.

    Returns:
        The arguments of the call as they are typed: ``inputs=`` where the graph has other leaves.
    """
    with autograd.unseen():
        nodes, entries, _ = walk([place("result", output).node])
        make_safe_to_free(nodes, entries)
        found = [leaf for node in nodes if (leaf := getattr(node, "variable", None)) is not None]
    known = {id(tensor) for tensor in named.values()}
    output.backward(retain_graph=True, inputs=[*named.values()])
    if all(id(leaf) in known for leaf in found):
        return "retain_graph=True"
    return f"retain_graph=True, inputs=[{', '.join(leaves)}]"


def _has_number(values: Iterable[Any], depth: int = 3) -> bool:
    """Whether there are numbers of Python that are not whole among arguments."""
    return any(
        type(value) in (float, complex)
        or (depth > 0 and type(value) in (list, tuple) and _has_number(value, depth - 1))
        for value in values
    )


def _start(root: Any) -> tuple[Any, int] | None:
    """Node and number of the output at which a backward starts."""
    if isinstance(root, tuple):
        return (root[0], root[1]) if root[0] is not None else None
    return _place(root) if is_tensor(root) else None


def _place(tensor: torch.Tensor) -> tuple[Any, int] | None:
    """Node and number of the output of a tensor; ``None`` if it has no place in a graph."""
    try:
        found = place("result", tensor)
    except GradvizError:
        return None
    return found.node, found.output_nr


def _is_plain(call: BackwardCall) -> bool:
    if len(call.roots) != 1 or len(call.gradients) != 1:
        return False
    (given,) = call.gradients
    if not is_tensor(given) or given.numel() != 1:
        return False
    with autograd.arithmetic():
        return bool(given.item() == 1)


def _nothing() -> None:
    """A thread that nobody observes has run a backward."""
