"""What was not followed is named with the words to type."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import gradviz
from gradviz.model.explanation import Explanation
from tests.analysis.explain.running import run

CELL = """
import lossy
w = torch.ones(2, requires_grad=True)
h = w.exp()
out = lossy.shrink(h)
out.sum().backward()
"""
METHOD = CELL.replace("lossy.shrink(h)", "head.shrink(h)").replace(
    "h = ", "head = lossy.Head()\nh = "
)


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package that writes in place."""
    site = tmp_path / "site-packages"
    (site / "lossy-1.0.dist-info").mkdir(parents=True)
    (site / "lossy.py").write_text(
        "class Head:\n    def shrink(self, x):\n        return shrink(x)\n\n"
        "def shrink(x):\n    x.mul_(0.5)\n    return x\n"
    )
    (site / "lossy-1.0.dist-info" / "METADATA").write_text("Name: lossy\nVersion: 1.0\n")
    (site / "lossy-1.0.dist-info" / "RECORD").write_text("lossy.py,,\n")
    monkeypatch.syspath_prepend(str(site))
    yield
    sys.modules.pop("lossy", None)


def explained(text: str = CELL, **options: object) -> Explanation:
    found = run(text, lambda: gradviz.expect_error(**options))["found"]  # type: ignore[arg-type]
    assert isinstance(found, Explanation)
    return found


def test_the_lines_of_a_library_are_not_followed_and_its_name_is_what_to_type() -> None:
    found = explained()
    assert found.cause is not None
    assert found.cause.at is not None
    assert found.cause.at.text == "out = lossy.shrink(h)"
    assert "into=lossy" in str(found)


def test_a_method_is_named_as_the_line_calls_it() -> None:
    assert "into=head.shrink" in str(explained(METHOD))


def test_with_these_words_the_line_inside_is_known() -> None:
    __import__("lossy")
    found = explained(into=sys.modules["lossy"])
    assert found.cause is not None
    assert found.cause.at is not None
    assert (found.cause.at.text, found.cause.at.code) == ("x.mul_(0.5)", "lossy.py: shrink")


def test_where_only_was_given_the_words_are_to_leave_it_out() -> None:
    def half(x: torch.Tensor) -> torch.Tensor:
        return x.mul_(0.5)

    w = torch.ones(2, requires_grad=True)
    with gradviz.expect_error(only=()) as error:
        h = w.exp()
        out = half(h)
        out.sum().backward()
    assert any("without only=" in str(words) for words in error.unknown)
