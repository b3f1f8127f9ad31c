from __future__ import annotations

import contextlib
import gc
import random
import sys
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

import gradviz
from tests.modes import Functions, Kernels
from tests.programs import PROGRAMS, Built, Program, named, run_backward
from tests.truth.recorded import bits, let_go, without_collections
from tests.truth.walk import all_nodes, root_of

SMALL = [program for program in PROGRAMS if program.name != "deep_chain"]
"""Chains are looked at elsewhere; hooks on 20,000 nodes would take long."""


def flags(tensor: Tensor) -> Any:
    return (
        tensor.requires_grad,
        tensor.retains_grad,
        None if tensor.is_inference() else tensor._version,
        len(tensor._backward_hooks or {}),
        None if not (tensor.is_leaf or tensor.retains_grad) else bits(tensor.grad),
    )


def look(built: Built) -> gradviz.Graph:
    """Two snapshots, and what the first one could have changed compared with the second."""
    first = gradviz.snapshot(*built.outputs)
    assert first == gradviz.snapshot(*built.outputs)
    str(first)
    first.to_json()
    return first


def observe(program: Program, looking: bool) -> dict[str, Any]:
    """Run a program and its backward, with or without snapshots in between."""
    seen: dict[str, Any] = {}
    events: list[Any] = []
    start = torch._C._autograd._get_sequence_nr()
    built = program.build()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if looking:
            look(built)
        seen["warnings"] = [str(w.message) for w in caught]
    seen["sequence numbers"] = torch._C._autograd._get_sequence_nr() - start
    for name, tensor in built.names.items():
        if tensor.requires_grad and (tensor.is_leaf or not tensor._is_view()):
            tensor.register_hook(lambda grad, name=name: events.append((name, bits(grad))))
    if looking:
        look(built)
    try:
        run_backward(built)
        seen["error"] = None
    except RuntimeError as error:
        seen["error"] = str(error)
    if looking:
        look(built)
    try:
        run_backward(built)
        seen["second error"] = None
    except RuntimeError as error:
        seen["second error"] = str(error)
    seen["hooks"] = events
    seen["flags"] = {name: flags(tensor) for name, tensor in built.names.items()}
    tensors = {id(t): t for t in (*built.names.values(), *built.outputs)}.values()
    alive = [weakref.ref(t) for t in tensors]
    del built, tensors, tensor
    let_go()
    seen["alive"] = [reference() is not None for reference in alive]
    return seen


@contextmanager
def nothing_moves() -> Iterator[None]:
    """Global state of torch and Python is the same after the block as before."""

    def state() -> Any:
        return (
            torch.get_rng_state().tolist(),
            random.getstate(),
            torch._C._autograd._get_sequence_nr(),
            torch.is_grad_enabled(),
            torch.is_anomaly_enabled(),
            gc.isenabled(),
            sys.getswitchinterval(),
            sys.getrecursionlimit(),
            sys.gettrace(),
            warnings.filters[:],
        )

    before = state()
    yield
    assert state() == before


def use_count(tensor: Any) -> int:
    count: int = tensor._use_count()
    return count


@pytest.mark.parametrize("program", SMALL, ids=str)
def test_a_snapshot_changes_nothing(program: Program) -> None:
    with without_collections():
        observe(program, False)  # the first run of some programs imports and compiles
        assert observe(program, True) == observe(program, False)
    no_global_state_moves(program)
    every_node_and_edge_stays(program)
    built = program.build()
    no_reference_is_taken(built)
    the_users_modes_see_nothing(built)
    with contextlib.suppress(RuntimeError):
        run_backward(built)
    the_users_modes_see_nothing(built)


def no_global_state_moves(program: Program) -> None:
    built = program.build()
    with nothing_moves():
        gradviz.snapshot(*built.outputs)


def every_node_and_edge_stays(program: Program) -> None:
    built = program.build()
    nodes = all_nodes([root_of(output)[0] for output in built.outputs])
    before = {node: (node.next_functions, node._sequence_nr()) for node in nodes}
    gradviz.snapshot(*built.outputs)
    assert {node: (node.next_functions, node._sequence_nr()) for node in nodes} == before


def no_reference_is_taken(built: Built) -> None:
    tensors = [*built.names.values(), *built.outputs]
    gradviz.snapshot(*built.outputs)  # nodes have their wrappers now
    before = [(sys.getrefcount(t), use_count(t)) for t in tensors]
    graph = gradviz.snapshot(*built.outputs)
    assert [(sys.getrefcount(t), use_count(t)) for t in tensors] == before
    del graph


def test_a_snapshot_of_a_long_chain_moves_no_global_state() -> None:
    no_global_state_moves(named("deep_chain"))


# --- hooks and recomputation ----------------------------------------------------------------


def test_no_hook_is_called() -> None:
    calls: list[str] = []

    def noting(event: str, tensor: Tensor) -> Tensor:
        calls.append(event)
        return tensor

    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: noting("pack", t), lambda t: noting("unpack", t)
    ):
        y = x * x
        z = y[torch.tensor([0, 1])].exp().sum()
    x.register_hook(lambda g: calls.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda t: calls.append("accumulated"))
    assert z.grad_fn is not None
    z.grad_fn.register_prehook(lambda g: calls.append("before"))
    z.grad_fn.register_hook(lambda i, o: calls.append("after"))
    packed = len(calls)
    graph = gradviz.snapshot(z)
    assert len(calls) == packed
    assert {s.state for n in graph.nodes for s in n.saved} == {"packed"}
    z.backward()
    assert calls.count("unpack") == packed


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_no_checkpoint_is_recomputed(use_reentrant: bool) -> None:
    runs: list[int] = []

    def block(t: Tensor) -> Tensor:
        runs.append(1)
        return t.sin().exp()

    x = torch.ones(2, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=use_reentrant).sum()
    gradviz.snapshot(y)
    assert len(runs) == 1
    y.backward()
    gradviz.snapshot(y)
    assert len(runs) == 2


def test_tensors_that_are_cleared_on_access_are_still_there() -> None:
    built = named("custom_function_clears").build()
    gradviz.snapshot(*built.outputs)
    run_backward(built)
    assert built.names["x"].grad is not None


def test_hooks_run_in_the_same_order() -> None:
    def order(looking: bool) -> list[str]:
        called: list[str] = []
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: called.append("first"))
        if looking:
            gradviz.snapshot(y)
        y.retain_grad()
        y.register_hook(lambda g: called.append(f"second, grad is {y.grad}"))
        assert y.grad_fn is not None
        y.grad_fn.register_prehook(lambda g: called.append("before"))
        z = y.exp().sum()
        if looking:
            gradviz.snapshot(z)
        y.register_hook(lambda g: called.append("third"))
        y.grad_fn.register_hook(lambda i, o: called.append("after"))
        z.backward()
        return called

    assert order(True) == order(False)


# --- lifetimes ------------------------------------------------------------------------------


def test_a_graph_keeps_nothing_alive() -> None:
    x = torch.ones(2, requires_grad=True)
    hidden = x.exp()
    y = hidden.sin().sum()
    graph = gradviz.snapshot(y)
    watched = [weakref.ref(t) for t in (hidden, y, hidden.untyped_storage())]
    del hidden, y
    assert [reference() for reference in watched] == [None, None, None]
    assert graph.tensor("hidden").shape == (2,)


def test_a_saved_tensor_dies_in_its_nodes_backward() -> None:
    def deaths(looking: bool) -> list[str]:
        happened: list[str] = []
        x = torch.ones(2, requires_grad=True)
        first = x.exp()
        second = first.exp()
        y = second.sum()
        for name, tensor in (("first", first), ("second", second)):
            weakref.finalize(tensor.untyped_storage(), happened.append, f"{name} died")
        x.register_hook(lambda g: happened.append("gradient of x"))
        if looking:
            gradviz.snapshot(y)
        assert first.grad_fn is not None
        first.grad_fn.register_prehook(lambda g: happened.append("before first"))
        del first, second, tensor
        if looking:
            gradviz.snapshot(y)
        y.backward()
        happened.append("backward returned")
        return happened

    assert deaths(True) == deaths(False)


def test_a_variable_deleted_after_a_snapshot_dies_at_once() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    scratch = torch.ones(2)
    reference = weakref.ref(scratch)
    gradviz.snapshot(y)
    del scratch
    assert reference() is None


# --- modes and subclasses -------------------------------------------------------------------


def the_users_modes_see_nothing(built: Built) -> None:
    for kind in (Functions, Kernels):
        with kind() as mode:
            gradviz.snapshot(*built.outputs, names=built.names)
        assert mode.names == []


def test_a_tensor_subclass_sees_nothing() -> None:
    seen: list[str] = []

    class Loud(Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(func))
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]

    x = torch.ones(2).as_subclass(Loud).requires_grad_()
    y = (x * x).exp().sum()
    x.grad = torch.ones(2).as_subclass(Loud)
    seen.clear()
    graph = gradviz.snapshot(y)
    assert seen == []
    assert [n.name for n in graph.nodes][-1] == "AccumulateGrad"


def test_a_wrapper_subclass_sees_nothing() -> None:
    seen: list[str] = []

    class Wrapper(Tensor):
        inside: Tensor

        @staticmethod
        def __new__(cls, inner: Tensor) -> Any:
            made = torch.Tensor._make_wrapper_subclass(
                cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad
            )
            made.inside = inner
            return made

        @classmethod
        def __torch_dispatch__(  # type: ignore[override]
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(func))
            bare = tree_map(lambda v: v.inside if isinstance(v, Wrapper) else v, args)
            result = func(*bare, **(kwargs or {}))
            return tree_map(lambda v: Wrapper(v) if isinstance(v, Tensor) else v, result)

    x = Wrapper(torch.ones(2, requires_grad=True))
    y = (x * x).exp().sum()
    seen.clear()
    gradviz.snapshot(y)
    assert seen == []
