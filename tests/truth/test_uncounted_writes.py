"""What torch writes without counting it is in the family that the recording compares.

``python -m tests.truth.test_uncounted_writes FIRST LAST`` runs some entries of torch's operator
databases in a process of its own, since torch's test code sets global flags of torch.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

import gradviz
from gradviz.capture import autograd
from gradviz.model.events import Event, OptimizerStepped, Write
from tests.truth import operators, recorded

BATCH = 120
SAMPLES = 4
DTYPES = (torch.float64, torch.float32, torch.complex128, torch.int64, torch.bool)


# --- every operator of torch ----------------------------------------------------------------


class Writes(TorchFunctionMode):
    """Compares the memory of all arguments of each call, as the recording does of a family."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.written: set[str] = set()
        """Functions that wrote memory whose version did not change."""
        self.missed: set[str] = set()
        """Those among them that are not in the family."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunction():
            tensors = operators.tensors_in((args, kwargs))
            before = [(autograd.version_of(t), checksum(t)) for t in tensors]
            expected = autograd.uncounted_writes(func, args, kwargs)
            storages = {autograd.storage_of(t) for t in operators.tensors_in(expected)}
        result = func(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            self.calls += 1
            for tensor, (version, memory) in zip(tensors, before):
                if checksum(tensor) == memory or autograd.version_of(tensor) != version:
                    continue
                name = autograd_name(func)
                if name != "data.__set__":  # is an assignment, and recorded as one
                    self.written.add(name)
                    if autograd.storage_of(tensor) not in storages:
                        self.missed.add(name)
        return result


def autograd_name(func: Any) -> str:
    whole = torch.overrides.resolve_name(func) or str(func)
    return whole.removeprefix("torch.").removeprefix("Tensor.")


def checksum(tensor: Tensor) -> int | None:
    try:
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
    except (RuntimeError, NotImplementedError):
        return None
    if not address or not tensor.is_cpu:
        return None
    return zlib.crc32((ctypes.c_char * storage.nbytes()).from_address(address))


def entries() -> list[tuple[str, Any]]:
    from torch.testing._internal import common_methods_invocations as known

    lists = (
        known.op_db,
        known.foreach_unary_op_db,
        known.foreach_binary_op_db,
        known.foreach_pointwise_op_db,
        known.foreach_reduce_op_db,
        known.foreach_other_op_db,
    )
    found = [(op.full_name, op) for ops in lists for op in ops]
    return [*found, *operators.modules().items()]


def runs(name: str, entry: Any) -> Iterator[Callable[[], object]]:
    if name.startswith(operators.MODULE_PREFIX):
        yield from module_runs(entry)
        return
    supported = entry.supported_dtypes("cpu")
    dtype = next((d for d in DTYPES if d in supported), None)
    if dtype is None:
        return
    variants = [entry.op, entry.get_method(), entry.get_inplace()]
    for sample in islice(entry.sample_inputs("cpu", dtype, requires_grad=False), SAMPLES):
        for variant in filter(None, variants):
            yield run_of(variant, (sample.input, sample.args, sample.kwargs))
        if getattr(entry, "supports_out", False):
            yield with_out(entry.op, (sample.input, sample.args, sample.kwargs))


def run_of(variant: Any, arguments: Any) -> Callable[[], object]:
    first, rest, keywords = tree_map(operators.copied, arguments)
    return lambda: variant(first, *rest, **keywords)


def with_out(op: Any, arguments: Any) -> Callable[[], object]:
    def run() -> object:
        first, rest, keywords = arguments
        with torch._C.DisableTorchFunction():
            out = tree_map(torch.zeros_like, op(first, *rest, **keywords))
        return op(first, *rest, **keywords, out=out)

    return run


def module_runs(info: Any) -> Iterator[Callable[[], object]]:
    for training in (True, False):
        inputs = info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=True, training=training
        )
        for one in islice(inputs, SAMPLES):
            if one.forward_input is not None:
                made, given = one.constructor_input, one.forward_input
                module = info.module_cls(*made.args, **made.kwargs).train(training)
                yield run_of(module, (given.args[0], given.args[1:], given.kwargs))


def main(first: int, last: int) -> dict[str, Any]:
    if first == last:
        return {"count": len(entries())}
    mode, ran = Writes(), 0
    for name, entry in entries()[first:last]:
        torch.manual_seed(0)
        # Not every sample of an operator is one for each variant of it.
        with contextlib.suppress(Exception):
            for run in runs(name, entry):
                with contextlib.suppress(Exception), mode:
                    ran += 1
                    run()
    return {
        "ran": ran,
        "calls": mode.calls,
        "written": sorted(mode.written),
        "missed": sorted(mode.missed),
    }


def in_a_process(first: int, last: int) -> Any:
    return recorded.run_alone("tests.truth.test_uncounted_writes", str(first), str(last))


@pytest.mark.exhaustive
def test_whatever_torch_writes_without_counting_is_in_the_family() -> None:
    count = in_a_process(0, 0)["count"]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        starts = range(0, count, BATCH)
        found = list(pool.map(lambda first: in_a_process(first, first + BATCH), starts))
    assert sum(one["ran"] for one in found) > 2_000
    assert {name for one in found for name in one["missed"]} == set()
    written = {name for one in found for name in one["written"]}
    assert {"native_batch_norm", "nn.functional.batch_norm"} <= written


# --- kinds of such writes, recorded ---------------------------------------------------------


Told: TypeAlias = "set[tuple[str, str, str]]"


def unseen(recording: gradviz.Recording) -> Told:
    """Text of the line, tensor and agent of every write that no version shows."""
    found: Told = set()
    for step in recording.all_steps:
        for event in step.events:
            if isinstance(event, Write) and event.before == event.after:
                assert step.line is not None
                assert step.code is not None
                lines = step.code.text.splitlines()
                text = lines[step.line - step.code.first_line].strip()
                found.add((text, event.name, event.agent))
    return found


def events(recording: gradviz.Recording, kind: type[Event]) -> list[Any]:
    return [e for step in recording.all_steps for e in step.events if isinstance(e, kind)]


def values(recording: gradviz.Recording, name: str) -> Any:
    return recording.all_steps[-1].graph.tensor(name).values


STATISTICS = ("running_mean", "running_var")


def test_statistics_are_written_by_their_module_in_training_only() -> None:
    batch, x = nn.BatchNorm1d(3), torch.arange(12.0).reshape(4, 3)
    with gradviz.record() as recording:
        batch(x)
        batch.eval()
        batch(x)
    assert unseen(recording) == {("batch(x)", f"batch.{name}", "module") for name in STATISTICS}
    written = [e for e in events(recording, Write) if e.before == e.after]
    assert {e.buffer_of for e in written} == {"batch"}
    assert values(recording, "batch.running_mean") == pytest.approx(
        vars(batch)["_buffers"]["running_mean"].tolist()
    )


def test_a_function_of_torch_that_writes_statistics_is_recorded_without_a_module() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    mean, var = torch.zeros(3), torch.ones(3)
    with gradviz.record() as recording:
        torch.native_batch_norm(x, None, None, mean, var, True, 0.1, 1e-5)
        torch.ops.aten.native_batch_norm(x, None, None, mean, var, True, 0.1, 1e-5)
        nn.functional.batch_norm(x, running_var=var, running_mean=mean, training=True)
    assert {(text.split("(")[0], name) for text, name, _ in unseen(recording)} == {
        (function, name)
        for function in (
            "torch.native_batch_norm",
            "torch.ops.aten.native_batch_norm",
            "nn.functional.batch_norm",
        )
        for name in ("mean", "var")
    }


def test_statistics_of_an_instance_norm_are_written() -> None:
    norm = nn.InstanceNorm1d(3, track_running_stats=True)
    with gradviz.record() as recording:
        norm(torch.arange(24.0).reshape(2, 3, 4))
    writes = [e for e in events(recording, Write) if e.name.startswith("norm.running")]
    assert {(e.name, e.buffer_of) for e in writes} == {(f"norm.{n}", "norm") for n in STATISTICS}
    assert values(recording, "norm.running_mean") == pytest.approx(
        vars(norm)["_buffers"]["running_mean"].tolist()
    )


def test_an_observer_inside_a_module_is_written_by_the_module_that_ran() -> None:
    fake = torch.ao.quantization.FusedMovingAvgObsFakeQuantize()
    with gradviz.record() as recording:
        fake(torch.arange(12.0))
    names = ("scale", "zero_point")
    ranges = ("activation_post_process.min_val", "activation_post_process.max_val")
    expected = {("fake(torch.arange(12.0))", f"fake.{n}", "module") for n in (*names, *ranges)}
    assert expected - unseen(recording) <= {
        ("fake(torch.arange(12.0))", "fake.zero_point", "module")
    }


def test_a_scripted_module_writes_its_statistics() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        norm = torch.jit.script(nn.BatchNorm1d(3))
    with gradviz.record() as recording:
        norm(torch.arange(12.0).reshape(4, 3))
    line = "norm(torch.arange(12.0).reshape(4, 3))"
    assert unseen(recording) == {(line, f"norm.{name}", "module") for name in STATISTICS}


@torch.library.custom_op("gradviz_tests::writes_in_secret", mutates_args=())
def writes_in_secret(x: Tensor, many: list[Tensor]) -> Tensor:
    x.detach().numpy()[0] = 9.0
    many[1].data.add_(1)
    return x.clone()


_library = torch.library.Library("gradviz_tests", "FRAGMENT")
_library.define("says_that_it_writes(Tensor(a!) x) -> ()")


def add_one(x: Tensor) -> None:
    x.data.add_(1)


_library.impl("says_that_it_writes", add_one, "CPU")


def test_an_operator_of_another_library_is_seen_to_write_what_it_does_not_count() -> None:
    x, one, two, other = (torch.zeros(3) for _ in range(4))
    with gradviz.record(only=()) as recording:
        writes_in_secret(x, [one, two])
        torch.ops.gradviz_tests.says_that_it_writes(x[1:])
        other + 1
    assert x._version == 0
    assert unseen(recording) == {
        ("writes_in_secret(x, [one, two])", "x", "unseen"),
        ("writes_in_secret(x, [one, two])", "two", "unseen"),
        ("torch.ops.gradviz_tests.says_that_it_writes(x[1:])", "x", "unseen"),
    }
    assert values(recording, "x") == (9.0, 1.0, 1.0)
    with gradviz.record() as recording:
        writes_in_secret(x + 1, [one, two])
        torch.ops.gradviz_tests.says_that_it_writes(x[1:])
    assert unseen(recording) >= {
        ("many[1].data.add_(1)", "two", "unseen"),
        ("x.data.add_(1)", "x", "unseen"),
    }
    assert values(recording, "x") == (9.0, 2.0, 2.0)


def test_what_an_operator_writes_after_lines_of_its_own_is_seen() -> None:
    def slowly(x: Tensor) -> Tensor:
        y = x.clone()
        y = y + 1
        x.detach().numpy()[0] = 9.0
        return y

    slow = torch.library.custom_op("gradviz_tests::slow", slowly, mutates_args=())
    x = torch.zeros(3)
    with gradviz.record(into=[slowly]) as recording:
        slow(x)
    assert unseen(recording) == {("x.detach().numpy()[0] = 9.0", "x", "unseen")}


def test_methods_in_place_that_are_no_operators_are_seen() -> None:
    x, y = torch.zeros(3), torch.zeros(3)
    with gradviz.record() as recording:
        x.apply_(lambda number: number + 1)
        y.map_(x, lambda own, other: own + other)
    assert (x._version, y._version) == (0, 0)
    assert {name for _, name, _ in unseen(recording)} == {"x", "y"}


def test_memory_that_numpy_shares_is_seen_from_whichever_side() -> None:
    before = np.zeros(3)
    old = torch.from_numpy(before)
    with gradviz.record() as recording:
        array = np.zeros(3)
        new = torch.from_numpy(array)
        array[0] = 1
        before[1] = 2
        new.numpy()[2] = 3
        old + new
    assert unseen(recording) == {
        ("array[0] = 1", "new", "unseen"),
        ("before[1] = 2", "old", "unseen"),
        ("new.numpy()[2] = 3", "new", "unseen"),
    }
    assert old._version == new._version == 0


def test_memory_is_seen_through_addresses_and_storages() -> None:
    x, y, z = torch.zeros(3), torch.zeros(3), torch.zeros(3)
    with gradviz.record() as recording:
        address = x.data_ptr()
        ctypes.memset(address, 1, 4)
        storage = y.untyped_storage()
        storage[0] = 7
        np.from_dlpack(z)
        torch.utils.dlpack.from_dlpack(z.__dlpack__()).add_(1)
    assert unseen(recording) == {
        ("ctypes.memset(address, 1, 4)", "x", "unseen"),
        ("storage[0] = 7", "y", "unseen"),
        ("torch.utils.dlpack.from_dlpack(z.__dlpack__()).add_(1)", "z", "unseen"),
    }


def test_writes_through_data_name_the_line_and_the_tensor() -> None:
    x = torch.ones(3, requires_grad=True)
    with gradviz.record() as recording:
        x.data.add_(1)
        x.data[0] = 5.0
        alias = x.data
        alias[1:].mul_(3)
    assert {(text, name) for text, name, _ in unseen(recording)} == {
        ("x.data.add_(1)", "x"),
        ("x.data[0] = 5.0", "x"),
    }
    last = events(recording, Write)[-1]
    assert (last.before, last.after) == (0, 1)  # alias has a counter of its own
    assert {recording.graph.tensor(name).id for name in ("x", "alias")} <= set(last.tensors)
    assert values(recording, "x") == (5.0, 6.0, 6.0)


class Descent(torch.optim.Optimizer):
    """Writes as code of before ``torch.no_grad`` does."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {"lr": 0.5})

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                rate = group["lr"]
                parameter.data.sub_(rate * parameter.grad)


def test_parameters_that_an_optimizer_of_the_users_writes_are_seen_in_its_lines() -> None:
    w = torch.ones(3, requires_grad=True)
    optimizer = Descent([w])
    for only, line in (([], "optimizer.step()"), (None, "parameter.data.sub_")):
        w.grad = None
        with gradviz.record(only=only) as recording:
            (w * 2).sum().backward()
            optimizer.step()
        ((text, name, _),) = unseen(recording)
        assert (text.startswith(line), name) == (True, "w")


@pytest.mark.parametrize(
    "options", [{"fused": True}, {"foreach": True}, {"foreach": False}], ids=str
)
def test_parameters_that_an_optimizer_of_torch_writes_are_updated_in_its_line(
    options: dict[str, Any],
) -> None:
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.AdamW([w], lr=0.5, **options)
    with gradviz.record() as recording:
        (w * 2).sum().backward()
        optimizer.step()
    key = recording.graph.tensor("w").id
    written = [("w", "optimizer")] if options.get("fused") else []
    assert [(name, agent) for _, name, agent in unseen(recording)] == written
    assert written or [key in e.updated for e in events(recording, OptimizerStepped)] == [True]
    assert values(recording, "w") == tuple(w.tolist())


def test_a_call_of_fused_operators_is_seen_without_an_optimizer() -> None:
    w, mean, square, step = (torch.ones(3) for _ in range(4))
    grad = torch.full((3,), 2.0)
    options: dict[str, Any] = {"lr": 0.5, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0}
    options |= {"eps": 1e-8, "amsgrad": False, "maximize": False}
    with gradviz.record() as recording:
        torch._fused_adam_([w], [grad], [mean], [square], [], [step[0]], **options)
    assert {name for _, name, _ in unseen(recording)} == {"w", "mean", "square"}


def run(thread: threading.Thread) -> None:
    thread.start()
    thread.join()


def work(x: Tensor, counted: bool) -> None:
    (x if counted else x.data).add_(1)


@pytest.mark.parametrize("counted", [True, False])
def test_what_a_thread_writes_is_seen_in_the_line_that_waits_for_it(counted: bool) -> None:
    x = torch.zeros(3)
    with gradviz.record(only=()) as recording:
        y = x + 1
        thread = threading.Thread(target=work, args=(x, counted))
        run(thread)
        z = y + 1
    line = ("run(thread)", "x", "unseen")
    assert unseen(recording) == (set() if counted else {line})
    assert (values(recording, "x"), recording.graph.tensor("x").version) == ((1.0,) * 3, counted)
    assert z.tolist() == [2.0] * 3


@pytest.mark.parametrize("counted", [True, False])
def test_what_a_thread_from_before_the_recording_writes_is_seen(counted: bool) -> None:
    x = torch.zeros(3)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        with gradviz.record() as recording:
            y = x + 1
            pool.submit(work, x, counted).result()
            z = y + 1
    line = ("pool.submit(work, x, counted).result()", "x", "unseen")
    assert unseen(recording) == (set() if counted else {line})
    assert (values(recording, "x"), recording.graph.tensor("x").version) == ((1.0,) * 3, counted)
    assert z.tolist() == [2.0] * 3


def test_batches_that_threads_load_into_known_memory_are_seen() -> None:
    from queue import Queue

    wanted: Queue[int | None] = Queue()
    ready: Queue[int] = Queue()
    batch = torch.zeros(2)

    def load_in_turn() -> None:
        while (number := wanted.get()) is not None:
            batch.data.fill_(number)
            ready.put(number)

    def load(number: int) -> None:
        wanted.put(number)
        ready.get()

    loader = threading.Thread(target=load_in_turn)
    loader.start()
    try:
        with gradviz.record(only=()) as recording:
            first = batch + 0
            load(1)
            second = batch + 0
            load(2)
            third = batch + 0
    finally:
        wanted.put(None)
        loader.join()
    assert {(text, name) for text, name, _ in unseen(recording)} == {
        ("load(1)", "batch"),
        ("load(2)", "batch"),
    }
    assert [t.tolist()[0] for t in (first, second, third)] == [0.0, 1.0, 2.0]


def test_an_ordinary_call_writes_nothing_without_counting_it() -> None:
    x, index = torch.ones(3), torch.tensor([0])
    for function, args in (
        (torch.add, (x, x)),
        (Tensor.add_, (x, x)),
        (torch.embedding, (x, index)),
        (Tensor.index_put_, (x, (index,), x)),
        (nn.functional.layer_norm, (x, (3,))),
        (nn.functional.rrelu, (x,)),
        (nn.functional.dropout, (x,)),
        (torch._foreach_add_, ([x], 1)),
        (Tensor.__setitem__, (x, 0, 1)),
        (Tensor.retain_grad, (x,)),
        (Tensor.share_memory_, (x,)),
        (torch.ops.aten.add.Tensor, (x, x)),
        (Tensor.sort, (x,)),
    ):
        assert autograd.uncounted_writes(function, args, {}) == [], function


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(json.dumps(main(*map(int, sys.argv[1:]))))
