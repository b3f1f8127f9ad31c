"""Many quick cases in one test, which names all that fail."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[..., Callable[..., None]]:
    """As ``pytest.mark.parametrize``, but all cases are one test; fixtures are shared by them."""
    parts = (names,) if isinstance(names, str) else names
    listed = list(cases)

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(check)
        fixtures = [p for name, p in signature.parameters.items() if name not in parts]

        @functools.wraps(check)
        def test(**given: Any) -> None:
            failures = []
            for case in listed:
                values = (case,) if isinstance(names, str) else case
                try:
                    check(**dict(zip(parts, values, strict=True)), **given)
                except (Exception, pytest.fail.Exception) as error:
                    failures.append(f"{case}: {type(error).__name__}: {error}")
            assert not failures, "\n\n".join(failures)

        vars(test)["__signature__"] = signature.replace(parameters=fixtures)
        return test

    return decorate
