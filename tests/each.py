"""Many quick cases in one test: each is a subtest of pytest's, so that all that fail are named."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

SUBTESTS: Final = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[..., Callable[..., None]]:
    """As ``pytest.mark.parametrize``, but all cases are one test; fixtures are shared by them."""
    parts = (names,) if isinstance(names, str) else names
    listed = list(cases)

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(check)
        asked = {name: p for name, p in signature.parameters.items() if name not in parts}

        @functools.wraps(check)
        def test(*, subtests: pytest.Subtests, **given: Any) -> None:
            if SUBTESTS.name in asked:
                given[SUBTESTS.name] = subtests
            for case in listed:
                values = (case,) if isinstance(names, str) else case
                with subtests.test(str(case)):
                    check(**dict(zip(parts, values, strict=True)), **given)

        fixtures = [*asked.values(), *([] if SUBTESTS.name in asked else [SUBTESTS])]
        vars(test)["__signature__"] = inspect.Signature(fixtures)
        return test

    return decorate
