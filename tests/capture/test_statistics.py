"""Numbers of tensors do not depend on how a tensor lies in memory, and take little of it."""

from __future__ import annotations

import gc
import math
import sys
import weakref
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import gradviz
from gradviz.capture import autograd, cuda_memory, statistics
from gradviz.capture.gradients import gradient_of
from gradviz.capture.statistics import CHUNK, Statistics, readable, statistics_of
from gradviz.capture.values import Budget, few_values, summarise
from tests.each import each


def found_in(tensor: Tensor) -> Statistics:
    with autograd.arithmetic():
        own = readable(tensor)
        assert own is not None
        found = statistics_of(own)
    assert found is not None
    return found


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    kind = dtype if dtype.is_complex else torch.float32
    return (torch.randn(shape, generator=generator, dtype=kind) * 30).to(dtype)


ORDERS: dict[str, Callable[[torch.dtype], Tensor]] = {
    "transposed": lambda d: numbers(300, 700, dtype=d).t(),
    "permuted": lambda d: numbers(3, 7, 100, 100, dtype=d).permute(3, 1, 0, 2),
    "channels last": lambda d: numbers(8, 16, 40, 40, dtype=d).to(
        memory_format=torch.channels_last
    ),
    "rows repeated": lambda d: numbers(300, 1, dtype=d).expand(300, 900),
    "one number repeated": lambda d: numbers(1, dtype=d).expand(3 * CHUNK + 5),
    "every third": lambda d: numbers(400_000, dtype=d)[::3],
    "a part": lambda d: numbers(900, 900, dtype=d)[5:800:2, 3:],
    "a column": lambda d: numbers(2 * CHUNK, 3, dtype=d)[:, 1:2],
    "overlapping": lambda d: numbers(70_000, dtype=d).as_strided((300, 300), (1, 2)),
    "sixteen dimensions": lambda d: numbers(*[2] * 17, dtype=d).permute(*reversed(range(17))),
    "one chunk": lambda d: numbers(256, 256, dtype=d).t(),
}


@each("order", ORDERS)
@each("dtype", [torch.float32, torch.float64, torch.complex64])
def test_digits_are_the_same_in_every_memory_order(order: str, dtype: torch.dtype) -> None:
    tensor = ORDERS[order](dtype)
    assert found_in(tensor) == found_in(tensor.clone(memory_format=torch.contiguous_format))


@each("order", ORDERS)
def test_statistics_are_those_of_a_whole_copy(order: str) -> None:
    tensor = ORDERS[order](torch.float32)
    copy = tensor.double()
    expected = Statistics(
        int((copy == 0).sum()),
        0,
        0,
        copy.min().item(),
        copy.mean().item(),
        copy.max().item(),
        copy.norm().item(),
    )
    assert found_in(tensor) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_conjugated_and_negated_views_are_read_as_they_are() -> None:
    tensor = numbers(300, 400, dtype=torch.complex64).t()
    assert found_in(tensor.conj()) == found_in(tensor.conj().resolve_conj())
    imaginary = tensor.conj().imag
    assert imaginary.is_neg()
    assert found_in(imaginary) == found_in(imaginary.resolve_neg())


@each(
    "dtype",
    [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float8_e4m3fn],
)
def test_every_dtype_is_read(dtype: torch.dtype) -> None:
    tensor = torch.tensor([[0.0, 1.0], [1.0, 1.0]]).to(dtype).t()
    assert found_in(tensor) == (1, 0, 0, 0.0, 0.75, 1.0, math.sqrt(3))
    assert found_in(torch.tensor(1.0).to(dtype)) == (0, 0, 0, 1.0, 1.0, 1.0, 1.0)


def test_a_dtype_without_arithmetic_has_no_numbers() -> None:
    with autograd.arithmetic():
        assert summarise(torch.empty(4, dtype=torch.float4_e2m1fn_x2)).norm is None


@each("place", [0, CHUNK - 1, CHUNK, 2 * CHUNK + 1])
def test_nan_and_inf_are_counted_in_every_chunk(place: int) -> None:
    tensor = torch.ones(2 * CHUNK + 3)
    tensor[place], tensor[place + 1] = math.inf, math.nan
    found = found_in(tensor)
    assert (found.nan, found.inf, found.zeros) == (1, 1, 0)
    assert all(map(math.isnan, (found.minimum, found.mean, found.maximum, found.norm)))


def test_a_complex_number_can_be_nan_and_inf() -> None:
    tensor = torch.tensor([complex(math.inf, math.nan), complex(1, math.inf), 1j, 0j])
    found = found_in(tensor)
    assert (found.nan, found.inf, found.zeros) == (1, 2, 1)


def test_a_gradient_of_many_chunks_is_counted_as_a_whole() -> None:
    tensor = torch.zeros(700, 200).t()
    tensor[0], tensor[1, 0], tensor[2, 0] = 2.0, math.nan, math.inf
    with autograd.arithmetic():
        found = gradient_of(tensor)
    assert (found.numbers, found.zeros, found.nan, found.inf) == (140_000, 139_298, 1, 1)


@pytest.mark.parametrize("view", [lambda t: t, Tensor.t], ids=["contiguous", "transposed"])
def test_no_tensor_that_is_read_is_copied_as_a_whole(view: Callable[[Tensor], Tensor]) -> None:
    class Largest(torch.utils._python_dispatch.TorchDispatchMode):
        found = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            made = func(*args, **(kwargs or {}))
            old = {a.untyped_storage().data_ptr() for a in args if isinstance(a, Tensor)}
            if isinstance(made, Tensor) and made.untyped_storage().data_ptr() not in old:
                self.found = max(self.found, made.untyped_storage().nbytes())
            return made

    tensor = view(torch.ones(1000, 500))
    with Largest() as largest:  # type: ignore[no-untyped-call]
        assert statistics_of(tensor) is not None
    assert 0 < largest.found <= CHUNK * 8


# --- what cannot be read --------------------------------------------------------------------


ERRORS: dict[str, Callable[[], Exception]] = {
    "torch": lambda: torch.OutOfMemoryError("CUDA out of memory."),
    "CPU allocator": lambda: RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    "Python": MemoryError,
}


class Held(list[int]):
    """Something that a failed read has in memory."""


@pytest.fixture(params=sorted(ERRORS))
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """No chunk can be reduced; weak references to what the reads had in memory."""
    references: list[object] = []

    def fail(*_: object) -> Tensor:
        in_memory = Held()
        references.append(weakref.ref(in_memory))
        raise ERRORS[request.param]()

    monkeypatch.setattr(statistics, "_reduced", fail)
    return references


def test_without_memory_there_are_no_numbers(held: list[object]) -> None:
    with autograd.arithmetic():
        assert summarise(torch.ones(9)) == gradviz.ValueSummary((9,), "float32")
        assert gradient_of(torch.ones(9)).zeros is None
    assert held


def test_a_recording_without_memory_for_numbers_is_whole(held: list[object]) -> None:
    gc.disable()
    try:
        w = torch.ones(9, requires_grad=True)
        kept, around = None, sys.exc_info()[1]
        with gradviz.record() as recording:
            try:
                (w * 2).sum().backward()
                raise ValueError("the program's own")
            except ValueError as error:
                kept = error
        assert isinstance(kept, ValueError)
        assert kept.__context__ is around
        assert held
        assert [r() for r in held if isinstance(r, weakref.ref)] == [None] * len(held)
        assert w.grad is not None
        assert [s.kind for s in recording.all_steps].count("node") == 3
    finally:
        gc.enable()


def test_a_stack_that_is_used_up_is_not_taken_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Tensor:
        raise RecursionError

    monkeypatch.setattr(statistics, "_reduced", fail)
    with autograd.arithmetic(), pytest.raises(RecursionError):
        statistics_of(torch.ones(9))


# --- waits ----------------------------------------------------------------------------------


class OnGpu:
    """Stands for a tensor of which only the device is asked for."""

    def __init__(self, name: str) -> None:
        self.device = torch.device(name)
        self.is_cuda = self.device.type == "cuda"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Devices that were waited for."""
    found: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: found.append(str(device)))
    return found


def wait(name: str) -> bool:
    return autograd.wait_until_written(OnGpu(name))  # type: ignore[arg-type]


def test_each_gpu_is_waited_for_once_per_batch_of_reads(waits: list[str]) -> None:
    for _ in range(2):
        with autograd.arithmetic():
            assert [wait(name) for name in ("cuda:0", "cuda:1", "cuda:0", "cpu")] == [True] * 4
    assert waits == ["cuda:0", "cuda:1"] * 2


def test_outside_a_batch_every_read_waits(waits: list[str]) -> None:
    assert wait("cuda:0")
    assert wait("cuda:0")
    assert waits == ["cuda:0"] * 2


@pytest.mark.parametrize("reason", ["is_current_stream_capturing", "get_sync_debug_mode"])
def test_nothing_is_waited_for_where_that_is_not_allowed(
    reason: str, waits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, reason, lambda: 1)
    with autograd.arithmetic():
        assert not wait("cuda:0")
        assert wait("cpu")
    assert waits == []


def test_few_values_on_a_device_that_may_not_be_waited_for_are_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(autograd, "wait_until_written", lambda tensor: False)
    with autograd.arithmetic():
        assert few_values(torch.ones(3), Budget(True)) == (None, False)
        assert summarise(torch.ones(3)).values is None
        assert gradient_of(torch.ones(3)).norm is None
        assert gradient_of(torch.ones(3).to_sparse()).norm is None


# --- what GPUs have given out ---------------------------------------------------------------


def test_bytes_of_all_gpus_in_use_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    given_out = {"cuda:0": 100, "cuda:1": 20, "cuda:2": 3}
    monkeypatch.setattr(torch.cuda, "memory_allocated", given_out.__getitem__)
    assert cuda_memory.allocated_bytes(["cuda:1", "cpu", "cuda:0", "cuda:1"]) == 120
    assert cuda_memory.allocated_bytes(["cpu", "meta"]) is None
