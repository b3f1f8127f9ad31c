"""Runs code twice, plain and recorded, and writes down everything in which the runs could differ.

A *story* is a function that runs some code in a block it is given: ``gradviz.record()`` or
nothing. What it has seen is data that can be compared bit for bit.
"""

from __future__ import annotations

import gc
import io
import json
import os
import random
import subprocess
import sys
import threading
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.modules import module as nn_module
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

import gradviz
from tests.truth.walk import slots_of

ROOT = Path(__file__).parents[2]

Seen: TypeAlias = "dict[str, Any]"
Story: TypeAlias = "Callable[[Any, Seen], None]"
"""``story(block, seen)`` runs its code in ``with block:`` and may add to ``seen``."""


def plain(*_: Any, **__: Any) -> Any:
    """A block that does nothing."""
    return nullcontext()


# --- global state ---------------------------------------------------------------------------


def world() -> Seen:
    """Global state of Python and torch."""
    monitoring = getattr(sys, "monitoring", None)
    return {
        "rng": hash(bytes(torch.get_rng_state().tolist())),
        "random": hash(random.getstate()),
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "anomaly": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "function modes": list(map(id, _get_current_function_mode_stack())),
        "dispatch modes": list(map(id, _get_current_dispatch_mode_stack())),
        "module hooks": [len(v) for n, v in sorted(vars(nn_module).items()) if is_hook_dict(n, v)],
        "trace": sys.gettrace(),
        "profile": sys.getprofile(),
        "tools": [monitoring.get_tool(i) for i in range(6)] if monitoring else None,
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "gc": gc.isenabled(),
        "engine": [
            vars(torch.autograd)["_engine_run_backward"],
            torch.autograd.graph._engine_run_backward,
        ],
        "saved tensors hooks": torch._C._autograd._top_saved_tensors_default_hooks(True),
        "filters": warnings.filters[:],
        "excepthook": (sys.excepthook, threading.excepthook),
        "path": sys.path[:],
    }


def is_hook_dict(name: str, value: Any) -> bool:
    return name.startswith("_global_") and hasattr(value, "__len__")


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What is another thing in ``after``."""
    keys = [*before, *(key for key in after if key not in before)]
    missing = object()
    return {
        key: (before.get(key, missing), after.get(key, missing))
        for key in keys
        if before.get(key, missing) != after.get(key, missing)
    }


# --- one run --------------------------------------------------------------------------------


def observe(story: Story, block: Any) -> Seen:
    """Run a story with a block, and write down everything it did."""
    seen: Seen = {}
    torch.manual_seed(0)
    random.seed(0)
    before = world()
    start = torch._C._autograd._get_sequence_nr()
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with redirect_stdout(out), redirect_stderr(err):
            seen["error"] = error_of(lambda: story(block, seen))
        seen["warnings"] = [
            warnings.formatwarning(w.message, w.category, w.filename, w.lineno) for w in caught
        ]
    seen["sequence numbers"] = torch._C._autograd._get_sequence_nr() - start
    seen["printed"] = out.getvalue(), err.getvalue()
    after = world()
    seen["world"] = {key: after[key] for key in ("rng", "random")}
    del before["rng"], before["random"], after["rng"], after["random"]
    seen["world changed"] = sorted(differences(before, after))
    return seen


def error_of(run: Callable[..., Any], *args: Any) -> Any:
    """Class, text and whole traceback of what ``run`` raises."""
    try:
        run(*args)
    except BaseException as error:
        return trace_of(error)
    return None


def trace_of(error: BaseException) -> Any:
    """An error with its causes, as Python would print it."""
    return type(error).__name__, str(error), "".join(traceback.format_exception(error))


@contextmanager
def without_collections() -> Iterator[None]:
    """What is not freed at once must not be hidden by a collection at random."""
    gc.collect(1)  # what the test before has left; all of torch takes a quarter of a second
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def assert_same(
    story: Story,
    *,
    warm_up: bool = True,
    into: Sequence[Any] = (),
    values: Sequence[bool] = (True, False),
) -> list[gradviz.Recording]:
    """Assert that a story runs the same plain and recorded, with and without values.

    Returns:
        The recordings.
    """
    with without_collections():
        if warm_up:
            observe(story, plain())  # the first run of some code imports and compiles
        expected = observe(story, plain())
        assert not expected["world changed"]
        blocks = [gradviz.record(into, values=reads) for reads in values]
        for block in blocks:
            found = observe(story, block)
            wrong = differences(expected, found)
            assert not wrong, wrong
            assert_recorder_is_well(block)
    return [recording_of(block) for block in blocks]


def recording_of(block: Any) -> gradviz.Recording:
    """What a block has recorded, also if it has raised."""
    found: gradviz.Recording = block._recording
    return found


def problems_of(name: str, story: Story) -> Iterator[str]:
    """What differs when a story is recorded, and what the recorder says went wrong in it."""
    observe(story, plain())
    expected, block = observe(story, plain()), gradviz.record()
    wrong = differences(expected, observe(story, block))
    if wrong:
        yield f"{name}: {wrong}"[:600]
    try:
        assert_recorder_is_well(block)
    except AssertionError as error:
        yield f"{name}: {error}"[:600]


def run_alone(module: str, *arguments: str) -> Any:
    """What a module prints as JSON in its last line, run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def assert_recorder_is_well(block: Any) -> None:
    """A failure of the recorder does not hide behind an error of the code."""
    problem = block._recorder.problem
    assert problem is None, "".join(traceback.format_exception(problem))


# --- tensors and nodes ----------------------------------------------------------------------


def bits(tensor: Tensor | None) -> Any:
    """Everything about the values of a tensor, nan included."""
    if tensor is None:
        return None
    if tensor.is_nested:
        return [bits(part) for part in tensor.unbind()]
    if tensor.layout is not torch.strided:
        tensor = tensor.coalesce()
        return bits(tensor.indices()), bits(tensor.values())
    dense = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return tuple(tensor.shape), str(dense.dtype), bytes(dense.view(torch.uint8).tolist())


def facts(tensor: Tensor) -> Any:
    """Flags, version, hooks, values and gradient of a tensor."""
    with torch.no_grad():
        return (
            tensor.requires_grad,
            tensor.retains_grad,
            None if tensor.is_inference() else tensor._version,
            len(tensor._backward_hooks or {}),
            len(getattr(tensor, "_post_accumulate_grad_hooks", None) or {}),
            sorted(vars(tensor)),
            bits(tensor),
            bits(tensor.grad) if tensor.is_leaf or tensor.retains_grad else None,
        )


def in_order(roots: Sequence[Any]) -> list[Any]:
    """Nodes by first visit, depth first, entries in torch's order."""
    found: dict[Any, None] = {}
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = None
            stack.extend(n for n, _ in reversed(node.next_functions) if n is not None)
    return list(found)


def roots_of(outputs: Sequence[Tensor]) -> list[Any]:
    return [t.grad_fn for t in outputs if t.grad_fn is not None]


def nodes_now(outputs: Sequence[Tensor]) -> Any:
    """Names, entries, what is freed, and what the recorder must not have left."""
    nodes = in_order(roots_of(outputs))
    place = {node: i for i, node in enumerate(nodes)}
    return [
        (
            node.name(),
            [(place.get(n), nr) for n, nr in node.next_functions],
            [(s.name, s.state, s.saved_version) for s in slots_of(node)],
            sorted(key for key in node.metadata if key != DEPTH),
            hook_counts(node),
        )
        for node in nodes
    ]


DEPTH = "gradviz"
"""Entry that may stay in nodes of deep graphs."""


def hook_counts(node: Any) -> tuple[int, int]:
    """How many hooks a node has before and after it; asked by registering one more."""
    counts = []
    for register in (node.register_prehook, node.register_hook):
        handle = register(nothing)
        counts.append(len(handle.hooks_dict_ref() or {}) - 1)
        handle.remove()
    return counts[0], counts[1]


def nothing(*_: Any) -> None:
    pass


class Spy(TorchFunctionMode):
    """A mode of the user's, which notes all calls and keeps weak references to all results."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self._tensors: list[Any] = []
        self._storages: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(torch.overrides.resolve_name(func) or str(func))
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self._tensors.append(weakref.ref(result))
            self._storages.append(storage_ref(result))
        return result

    def alive(self) -> list[tuple[bool, bool]]:
        """Of each result so far: is the tensor alive, is its memory."""
        let_go()
        return [
            (tensor() is not None, storage is not None and not storage.expired())
            for tensor, storage in zip(self._tensors, self._storages)
        ]


def storage_ref(tensor: Tensor) -> Any:
    try:
        return StorageWeakRef(tensor.untyped_storage())
    except (RuntimeError, NotImplementedError):
        return None


def let_go() -> None:
    """Wait until a thread of the engine has dropped the node that it ran last.

    It does so after backward has returned, without a recording too, so that lifetimes can be
    compared only a little later.
    """
    if torch.get_default_device().type != "cpu":
        time.sleep(0.02)
