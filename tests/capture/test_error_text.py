"""What an exception says is read without running code of the user's, and has a limit."""

from __future__ import annotations

from typing import Any

import pytest

import gradviz
from gradviz.capture.error_text import MOST, error_text
from gradviz.model.events import Raised
from tests.each import each


class Hostile:
    def __repr__(self) -> str:
        raise AssertionError("code of the user's ran")

    __str__ = __repr__


class HostileError(Hostile, Exception):
    pass


class HostileText(Hostile, str):
    pass


def raised(code: str) -> BaseException:
    with pytest.raises((Exception, SystemExit)) as caught:
        exec(compile(code, "a file", "exec"), {})
    return caught.value


PLAIN: list[BaseException] = [
    ValueError(),
    RuntimeError("x", 2, None),
    KeyError(("w", 1)),
    *map(raised, ("open('/no file')", "import no_module", "None.w", "w", "'\xff'.encode('ascii')")),
    raised("exec('a b')"),
]


@each("error", PLAIN)
def test_the_text_of_plain_arguments_is_what_python_writes(error: BaseException) -> None:
    assert error_text(error) == str(error)


OTHERS: list[Any] = [HostileError("x"), KeyError(Hostile()), KeyError(["w"]), ValueError(10**5000)]


def test_there_is_none_where_it_would_run_code_of_the_users() -> None:
    found = [error_text(one) for one in (*OTHERS, ValueError(HostileText("x")), ValueError)]
    assert found == [""] * 6


@each("kind", [ValueError, KeyError])
def test_it_is_cut_to_a_length(kind: Any) -> None:
    text = error_text(kind("x" * 3_000_000))
    assert len(text) == MOST + 1
    assert text.endswith("…")


def test_an_error_that_the_program_catches_stays_the_programs_own() -> None:
    with gradviz.record() as recording:
        for error in OTHERS:
            try:
                raise error
            except Exception:
                pass
    caught = [e for step in recording.all_steps for e in step.events if isinstance(e, Raised)]
    assert [(one.type, one.message) for one in caught] == [(type(e).__name__, "") for e in OTHERS]
