"""Reading values on a device takes little memory and few waits; where it fails, only it does."""

from __future__ import annotations

from tests.accelerator import device  # isort: skip  # before torch

import gc
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor

import gradviz
from gradviz.capture import autograd
from gradviz.capture.statistics import CHUNK, readable, statistics_of
from gradviz.capture.values import summarise
from gradviz.model.events import Accumulated

pytestmark = pytest.mark.skipif(device.IS_REAL, reason="only the stand-in counts waits and bytes")
if not device.IS_REAL:
    from tests.accelerator import stand_in

SIDE = 1000
PARAMETER = 4 * 3 * SIDE * SIDE
"""Bytes of the parameter of the program."""


def program() -> Tensor:
    w = torch.full((3, SIDE, SIDE), 0.5, device="cuda", requires_grad=True)
    (w * 2).sum().backward()
    return w


def cost(block: Any, run: Callable[[], object] = program) -> tuple[int, int]:
    """The most bytes that were in use, and how often the host waited."""
    stand_in.forget_most_bytes()
    before = stand_in.waits()
    with block:
        run()
    return stand_in.most_bytes(), stand_in.waits() - before


@pytest.fixture
def allowed() -> Iterator[Callable[[int], None]]:
    """Limits the device to so many bytes above what is in use."""
    gc.collect()
    yield lambda more: stand_in.allow_bytes(stand_in.bytes_in_use() + more)
    stand_in.allow_bytes(0)


def test_a_recording_takes_little_memory_on_the_device() -> None:
    cost(gradviz.record())
    plain, _ = cost(nullcontext())
    recorded, _ = cost(gradviz.record())
    assert plain >= 2 * PARAMETER
    assert recorded - plain < 4 * 8 * CHUNK


def test_without_values_nothing_waits() -> None:
    cost(gradviz.record())
    plain = cost(nullcontext())
    assert plain[1] == 0
    assert cost(gradviz.record(values=False)) == plain


@pytest.mark.parametrize("size", [3, CHUNK, 20 * CHUNK])
def test_reading_a_tensor_waits_for_the_device_and_for_one_copy(size: int) -> None:
    tensor = torch.ones(size, device="cuda")

    def read() -> None:
        with autograd.arithmetic():
            found = summarise(tensor)
        assert found.max == 1.0

    assert cost(nullcontext(), read)[1] == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.randn(300, 700),
        lambda: torch.randn(300, 700).t(),
        lambda: torch.randn(300, 700, dtype=torch.complex64).t().conj(),
        lambda: torch.randn(1).expand(3 * CHUNK),
        lambda: torch.tensor([0.1, float("nan"), float("inf")]),
    ],
    ids=["contiguous", "transposed", "conjugated", "repeated", "not finite"],
)
def test_digits_are_those_of_the_cpu(make: Callable[[], Tensor]) -> None:
    torch.manual_seed(0)
    on_cpu = make()
    with autograd.arithmetic():
        assert summarise(on_cpu.to("cuda")) == summarise(on_cpu)


def test_a_program_that_fits_exactly_fits_with_a_recording(allowed: Callable[[int], None]) -> None:
    expected = program().grad
    assert expected is not None
    allowed(2 * PARAMETER + 8 * 512)
    with gradviz.record() as recording:
        w = program()
    stand_in.allow_bytes(0)
    assert w.grad is not None
    assert w.grad.equal(expected)
    assert [step.kind for step in recording.all_steps].count("node") == 3
    (accumulated,) = (
        e for s in recording.all_steps for e in s.events if isinstance(e, Accumulated)
    )
    assert accumulated.after == gradviz.ValueSummary((3, SIDE, SIDE), "float32")


def test_a_read_without_memory_leaves_nothing_on_the_device(allowed: Callable[[int], None]) -> None:
    tensor = torch.ones(3 * CHUNK, device="cuda")
    before = stand_in.bytes_in_use()
    allowed(1024)
    try:
        raise ValueError("the program's own")
    except ValueError as error:
        kept = error
        with autograd.arithmetic():
            own = readable(tensor)
            assert own is not None
            assert statistics_of(own) is None
            assert summarise(tensor).norm is None
    del own
    assert kept.__context__ is None
    assert stand_in.bytes_in_use() == before


def test_the_users_own_lack_of_memory_stays_the_users(allowed: Callable[[int], None]) -> None:
    def run(block: Any) -> str:
        with block, pytest.raises(torch.OutOfMemoryError) as caught:
            program()
        return str(caught.value)

    allowed(PARAMETER + 4096)
    assert run(gradviz.record()) == run(nullcontext())


def test_steps_have_what_the_device_has_given_out() -> None:
    with gradviz.record() as recording:
        w = program()
    assert recording.all_steps[-1].memory == torch.cuda.memory_allocated()
    del w
