from __future__ import annotations

import pytest

from tests.each import each


@each(("left", "right"), [(1, 2), (3, 4), (4, 4)])
@each("times", [1, 0])
def same_times(left: int, right: int, times: int, tmp_path: str) -> None:
    assert tmp_path
    assert left * times == right * times


def test_each_case_that_fails_is_named_and_the_others_run_too() -> None:
    with pytest.raises(AssertionError) as raised:
        same_times(tmp_path="a fixture")
    said = str(raised.value)
    assert "(1, 2): AssertionError: 1: AssertionError: " in said
    assert "(3, 4): AssertionError: 1: AssertionError: " in said
    assert "(4, 4)" not in said
    assert "0: " not in said
