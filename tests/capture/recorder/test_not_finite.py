"""Numbers of calls whose results have nan or inf are recorded, and of no others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import gradviz
from gradviz.model import Recording
from gradviz.model.events import Operation


def calls(recording: Recording) -> list[Operation]:
    return [call for _, call in recording.history.placed(Operation) if call.made_values]


def test_what_such_a_call_read_and_returned_is_recorded() -> None:
    x = torch.arange(20.0)
    with gradviz.record() as recording:
        y = x.log()
        (y * 0).sum()
    log, mul, _ = calls(recording)
    (read,), (made,) = log.read_values, log.made_values
    assert read is not None
    assert made is not None
    assert (read.min, read.has_nan, read.has_inf) == (0.0, False, False)
    assert (made.has_nan, made.has_inf) == (False, True)
    assert [one is not None and one.has_nan for one in mul.made_values] == [True]
    assert Recording.from_json(recording.to_json()) == recording


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.complex64])
def test_of_finite_results_nothing_is_even_if_their_sum_is_not(dtype: torch.dtype) -> None:
    most = torch.finfo(dtype).max
    x = torch.full((4,), most, dtype=dtype)
    with gradviz.record() as recording:
        y = x * 1
        y.roll(1)
    assert calls(recording) == []


def test_without_values_nothing_is() -> None:
    x = torch.zeros(2)
    with gradviz.record(values=False) as recording:
        x.log()
    assert calls(recording) == []


@pytest.fixture
def filled_with_nan() -> Iterator[None]:
    """Memory that nobody has written has nan."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("filled_with_nan")
def test_memory_that_nobody_has_written_says_nothing() -> None:
    with gradviz.record() as recording:
        x = torch.empty(3)
        torch.empty_like(x)
    assert bool(x.isnan().all())
    assert calls(recording) == []
