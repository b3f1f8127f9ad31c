"""What a learner reads of a check that fails: the line that asked, and the message."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

import gradviz
from gradviz import check
from gradviz.check.frames import HIDDEN

PROGRAM = """
import torch, gradviz
def asked(tensor):
    gradviz.check.is_leaf(tensor)
asked(torch.ones(2, requires_grad=True) * 2)
"""


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def test_ipython_shows_the_lines_of_the_learner_and_then_the_message(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("colors", "nocolor")
    shell.run_cell(PROGRAM)  # type: ignore[no-untyped-call]
    shown = capsys.readouterr().out
    assert "gradviz.check.is_leaf(tensor)" in shown
    assert "asked(torch.ones(2" in shown
    assert "gradviz/check" not in shown
    assert shown.rstrip().splitlines()[-1].startswith("Type: ")
    assert "CheckFailed: " in shown


def test_frames_of_gradviz_between_those_of_the_learner_are_shown() -> None:
    def step(_: torch.nn.Module) -> None:
        check.is_leaf(torch.ones(1, requires_grad=True) * 2)

    with pytest.raises(gradviz.CheckFailed) as caught:
        check.learns(torch.nn.Linear(1, 1), step)
    shown = "".join(caught.value._render_traceback_())
    assert "check.learns(torch" in shown
    assert "check.is_leaf(torch" in shown
    assert "CheckFailed: " in shown


def test_pytest_ends_at_the_line_that_asked() -> None:
    with pytest.raises(gradviz.CheckFailed) as caught:
        check.is_leaf(torch.ones(1, requires_grad=True) * 2)
    shown = [entry.path for entry in caught.traceback.filter(caught)]
    assert len(caught.traceback) > len(shown)
    assert list(map(str, shown)) == [__file__]


def test_each_module_of_the_checks_is_hidden_when_a_check_fails_and_not_else() -> None:
    names = [one.name for one in pkgutil.iter_modules(check.__path__)]
    modules = [importlib.import_module(f"gradviz.check.{name}") for name in names]
    seen = [m.__name__ for m in modules if getattr(m, "__tracebackhide__", None) is not HIDDEN]
    assert seen == ["gradviz.check.frames"]
    with pytest.raises(ZeroDivisionError) as other:
        print(1 / 0)
    assert not HIDDEN(other)
