"""``pytest --gradviz``."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gradviz_pytest.failures import TITLE, _add
from tests.notebook_check.test_plugin import run_pytest

WITHOUT_TORCH = """
import sys
def test_what_is_imported():
    assert not {"torch", "gradviz"} & {*sys.modules}
def test_that_fails():
    raise RuntimeError("backward through the graph a second time")
"""
TESTS = """
import unittest
import pytest
import torch

def written():
    w = torch.ones(3, requires_grad=True)
    h = w.exp()
    h.add_(1)
    h.sum().backward()

@pytest.fixture
def before():
    written()

@pytest.fixture
def after():
    yield
    written()

def test_in_the_test():
    written()

def test_before_the_test(before):
    pass

def test_after_the_test(after):
    pass

def test_from_another_error():
    try:
        written()
    except RuntimeError as error:
        raise KeyError("x") from error

class TestCase(unittest.TestCase):
    def test_of_unittest(self):
        written()

def test_recorded():
    import gradviz
    with gradviz.record():
        written()

# --- without an explanation

def test_assertion():
    assert torch.ones(1).item() == 2

def test_caught_and_asserted():
    try:
        written()
    except RuntimeError as error:
        assert "no such words" in str(error)

def test_other_words():
    with pytest.raises(RuntimeError, match="no such words"):
        written()

def test_not_raised():
    with pytest.raises(RuntimeError):
        pass

def test_another_error():
    torch.ones(2) @ torch.ones(3)

@pytest.mark.xfail
def test_meant_to_fail():
    written()
"""
AT_IMPORT = """
import torch
torch.ones(3, requires_grad=True).add_(1)
"""
SECTION = re.compile(r"^-+ gradviz -+$", re.MULTILINE)


def explained(printed: str) -> set[str]:
    """Titles of the reports that have the section."""
    parts = re.split(r"^_+ (.+?) _+$", printed, flags=re.MULTILINE)
    return {title for title, text in zip(parts[1::2], parts[2::2]) if SECTION.search(text)}


def test_nothing_is_imported_before_a_test_has_imported_torch(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(WITHOUT_TORCH)
    done = run_pytest(tmp_path, "--gradviz")
    assert "1 failed, 1 passed" in done.stdout
    assert not SECTION.search(done.stdout)


def test_an_assertion_is_explained_if_an_error_of_autograd_has_caused_it() -> None:
    with pytest.raises(RuntimeError) as refused:
        torch.ones(2, requires_grad=True).add_(1)
    caused, later = AssertionError("the step fails"), AssertionError("no such words")
    caused.__cause__ = later.__context__ = refused.value
    for error, titles in ((caused, [TITLE]), (later, [])):
        report: Any = SimpleNamespace(failed=True, longrepr=None, sections=[])
        call: Any = SimpleNamespace(excinfo=SimpleNamespace(value=error))
        _add(report, call)
        assert [title for title, _ in report.sections] == titles


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "options",
    [
        ("--gradviz",),
        ("--gradviz", "--gradviz-notebooks", "--show-capture=no", "--tb=short"),
        ("--gradviz", "-p", "xdist", "-n", "1", "-W", "error"),
    ],
    ids=" ".join,
)
def test_reports_of_failed_tests_explain_errors_of_autograd(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "test_import.py").write_text(AT_IMPORT)
    done = run_pytest(tmp_path, "--continue-on-collection-errors", *options)
    assert explained(done.stdout) == {
        "test_in_the_test",
        "ERROR at setup of test_before_the_test",
        "ERROR at teardown of test_after_the_test",
        "test_from_another_error",
        "TestCase.test_of_unittest",
        "test_recorded",
        "ERROR collecting test_import.py",
    }
    assert "not known: which line wrote it; gradviz.record() around the code shows" in done.stdout
    assert re.search(r"^culprit: line \d+ of test_it.py: written: h.add_\(1\)$", done.stdout, re.M)
    assert "1 xfailed" in done.stdout


@pytest.mark.exhaustive
def test_without_the_flag_nothing_is_explained(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    done = run_pytest(tmp_path)
    assert "9 failed" in done.stdout
    assert not explained(done.stdout)
