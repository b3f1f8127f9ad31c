"""What checks say, word by word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest
import torch

import gradviz
from tests.check.cases import FAILS, PASSES, UNKNOWN, Case


def said_by(case: Case) -> str:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        try:
            found = case()
        except gradviz.CheckFailed as error:
            return str(error)
        return "\n".join(map(str, found)) if isinstance(found, tuple) else str(found)


def told(cases: Mapping[str, Case]) -> Iterator[str]:
    for name, case in cases.items():
        text = said_by(case).replace("\n", "\n    ")
        yield f"{name.replace('_', ' ')}:\n    {text}\n"


@pytest.mark.parametrize(
    ("name", "cases"), [("passes", PASSES), ("fails", FAILS), ("unknown", UNKNOWN)]
)
def test_checks_say_what_the_golden_file_says(
    name: str, cases: Mapping[str, Case], check_golden: Callable[[str, str], None]
) -> None:
    check_golden(f"check/{name}.txt", "\n".join(told(cases)))


def test_a_check_that_holds_returns_something_true(subtests: pytest.Subtests) -> None:
    for name in PASSES:
        with subtests.test(name=name):
            assert PASSES[name]()


def test_a_check_that_does_not_hold_says_what_was_found_expected_and_why(
    subtests: pytest.Subtests,
) -> None:
    for name in [*FAILS, *UNKNOWN]:
        with subtests.test(name=name):
            with pytest.raises(gradviz.CheckFailed) as caught:
                (FAILS | UNKNOWN)[name]()
            error = caught.value
            assert error.found
            assert error.expected
            assert error.why
            assert ("not known" in error.found) == (name in UNKNOWN)
            assert "0x" not in str(error)
