from __future__ import annotations

import sys
import traceback
from typing import Any

import torch

from gradviz.capture.recorder.frames import NAME, BorrowedFrame, clean


def failing(_: int) -> None:
    raise ValueError("no")


def caught(call: Any) -> BaseException:
    try:
        call()
    except ValueError as error:
        return error
    raise AssertionError("nothing was raised")


def test_a_call_in_disguise_has_file_line_and_globals_of_the_caller() -> None:
    def probe() -> tuple[str, int, bool]:
        frame = sys._getframe(1)
        return frame.f_code.co_filename, frame.f_lineno, frame.f_globals is globals()

    here = sys._getframe()
    assert BorrowedFrame().call(here, probe, (), {}) == (__file__, here.f_lineno, True)


def test_clean_takes_out_the_disguise_and_keeps_the_rest() -> None:
    here = sys._getframe()
    error = caught(lambda: BorrowedFrame().call(here, failing, (1,), {}))
    assert NAME in [f.name for f in traceback.extract_tb(error.__traceback__)]
    clean(error.__traceback__)
    names = [f.name for f in traceback.extract_tb(error.__traceback__)]
    assert NAME not in names
    assert names[-1] == "failing"
    assert names[0] == "caught"


def test_clean_leaves_other_tracebacks_alone() -> None:
    error = caught(lambda: failing(2))
    before = traceback.format_tb(error.__traceback__)
    clean(error.__traceback__)
    assert traceback.format_tb(error.__traceback__) == before
    clean(None)
    assert torch.is_grad_enabled()
