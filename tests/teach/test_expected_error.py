"""``expect_error``: catches what autograd raises, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import gradviz


def leaf() -> torch.Tensor:
    return torch.ones(2, requires_grad=True)


def test_an_error_of_autograd_is_caught_and_explained() -> None:
    a = leaf()
    with gradviz.expect_error() as error:
        assert not error
        h = a.exp()
        h.add_(1)
        h.sum().backward()
    assert error
    assert (error.kind, error.raised) == ("saved tensor written", "RuntimeError")
    assert error.cause is not None
    assert error.cause.at is not None
    assert error.cause.at.text == "h.add_(1)"


def test_without_a_recording_it_says_what_can_be_known_and_what_a_recording_would_add() -> None:
    a = leaf()
    with gradviz.expect_error(record=False) as error:
        h = a.exp()
        h.add_(1)
        h.sum().backward()
    assert error.kind == "saved tensor written"
    assert error.variables[0] == "h"
    assert (error.saved_version, error.current_version) == (0, 1)
    assert error.line is None
    assert any("record" in words for words in error.unknown)


def test_inside_a_recording_both_explain_the_error() -> None:
    a = leaf()
    with gradviz.record() as recording:
        with gradviz.expect_error() as error:
            a.add_(1)
        b = a * 2
    assert error.kind == "leaf written"
    assert [one.kind for one in recording.explanations] == ["leaf written"]
    assert b.grad_fn is not None


def test_errors_that_are_not_autograds_pass_through() -> None:
    a = leaf()
    wrongs: list[tuple[Callable[[], object], type[BaseException]]] = [
        (lambda: dict[str, int]()["x"], KeyError),
        (lambda: getattr(a, "no_such_thing"), AttributeError),  # noqa: B009
        (lambda: int("x"), ValueError),
        (lambda: exec("raise KeyboardInterrupt"), KeyboardInterrupt),
        (lambda: gradviz.snapshot(torch.ones(1)), gradviz.NoGraphError),
    ]
    for wrong, kind in wrongs:
        with pytest.raises(kind), gradviz.expect_error():
            wrong()


def test_a_block_in_which_nothing_is_wrong_is_an_error_of_its_own() -> None:
    a = leaf()
    nothing = pytest.raises(gradviz.NothingRaisedError, match="nothing was raised")
    with nothing, gradviz.expect_error():
        (a * 2).sum().backward()
    assert a.grad is not None
    with pytest.raises(AssertionError, match="not recorded"), gradviz.expect_error(record=False):
        (a * 2).sum().backward()


def test_a_wrong_gradient_without_an_error_is_explained_too() -> None:
    a = leaf()
    with gradviz.expect_error() as error:
        b = a.exp()
        b.data.zero_()
        b.sum().backward()
    assert error.is_silent
    assert error.kind == "hidden write"
    assert error.raised is None


def test_what_the_block_did_before_it_failed_is_done() -> None:
    a = leaf()
    with gradviz.expect_error():
        done = a * 2
        done.backward()
    assert done.shape == (2,)


def test_nothing_of_the_program_is_kept_alive() -> None:
    import gc
    import weakref

    a = leaf()
    with gradviz.expect_error() as error:
        h = a.exp()
        h.add_(1)
        h.sum().backward()
    dies = weakref.ref(h)
    del h
    gc.collect()
    assert dies() is None
    assert error.variables == ("h",)


def test_functions_can_be_followed() -> None:
    def careless(h: torch.Tensor) -> None:
        h.add_(1)

    a = leaf()
    with gradviz.expect_error(into=careless) as error:
        h = a.exp()
        careless(h)
        h.sum().backward()
    assert error.cause is not None
    assert error.cause.at is not None
    assert error.cause.at.text == "h.add_(1)"
    assert error.cause.at.code.endswith("careless")
