"""``pytest --gradviz``: the report of a test that an error of autograd has failed explains it."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any, Final

import pytest

TITLE: Final = "gradviz"


class Failures:
    """Adds the explanation to reports: of tests, of their fixtures, and of files."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A test, or a fixture before or after it, has ended."""
        report = yield
        _add(report, call)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """A file was imported."""
        report = yield
        _add(report, getattr(report, "call", None))
        return report


def _add(
    report: pytest.TestReport | pytest.CollectReport, call: pytest.CallInfo[Any] | None
) -> None:
    if not report.failed or call is None or call.excinfo is None or "torch" not in sys.modules:
        return
    error = call.excinfo.value
    # What an assertion says is what failed, also where an error was caught before it.
    if isinstance(error, AssertionError) and error.__cause__ is None:
        return
    from gradviz.programs import text_about

    text = text_about(error, is_program=False)
    if not text:
        return
    add = getattr(report.longrepr, "addsection", None)
    if add is not None:  # shown with the traceback, whatever of the output is shown
        add(TITLE, text)
    else:
        report.sections.append((TITLE, text))
