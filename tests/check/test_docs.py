"""The page for teachers lists every check, in the words of its docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gradviz
from gradviz import check

PAGE = Path(__file__).parents[2] / "docs" / "check.md"


def functions() -> dict[str, Callable[..., object]]:
    found = {name: getattr(check, name) for name in check.__all__}
    return {name: one for name, one in found.items() if inspect.isfunction(one)}


def arguments(one: Callable[..., object]) -> Iterator[str]:
    for parameter in inspect.signature(one).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            yield f"{parameter.name}="
        else:
            yield (
                f"*{parameter.name}"
                if parameter.kind is parameter.VAR_POSITIONAL
                else parameter.name
            )


def row(name: str, one: Callable[..., object]) -> str:
    summary = re.split(r"\n\n", inspect.getdoc(one) or "")[0].replace("\n", " ")
    summary = summary.replace("``", "`").removeprefix("Check ").rstrip(".")
    return f"| `{name}({', '.join(arguments(one))})` | {summary} |"


def test_the_table_has_every_check_in_the_words_of_its_docstring() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert rows == [row(*pair) for pair in functions().items()]


def test_every_docstring_says_what_is_read_or_run() -> None:
    for one in functions().values():
        assert re.search(r"\b(Only r|R|r)eads\b|\bRuns\b|\bblock runs\b", inspect.getdoc(one) or "")


def test_the_code_on_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    scope: dict[str, object] = {"__name__": "__main__"}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    for block in blocks:
        exec(block, scope)
    test = scope["test_step"]
    assert callable(test)
    test()


def test_the_module_is_found_from_the_package() -> None:
    assert gradviz.check is check
    assert "check" in gradviz.__all__
    assert issubclass(gradviz.CheckFailed, AssertionError)
    assert issubclass(gradviz.CheckFailed, gradviz.GradvizError)
