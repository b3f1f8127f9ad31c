from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, cast

from tests.each import each


@each(("left", "right"), [(1, 2), (3, 4), (4, 4)])
@each("times", [1, 0])
def same_times(left: int, right: int, times: int, tmp_path: str) -> None:
    assert tmp_path
    assert left * times == right * times


class Failures:
    """Stands in for the fixture `subtests`."""

    def __init__(self) -> None:
        self.names: list[str] = []

    @contextlib.contextmanager
    def test(self, name: str) -> Iterator[None]:
        try:
            yield
        except AssertionError:
            self.names.append(name)


def test_each_case_that_fails_is_named_and_the_others_run_too() -> None:
    failures = Failures()
    same_times(tmp_path="a fixture", subtests=cast(Any, failures))
    assert failures.names == ["1", "1"]
