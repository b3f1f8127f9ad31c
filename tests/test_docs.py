from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
FACT = re.compile(r"\bF\d\.\d{2}\b")
CITING = ("gradviz", "tests", "widgets/src", "notebooks", "benchmarks")


class Row(NamedTuple):
    """A row of the table of facts."""

    id: str
    fact: str
    used_by: str
    shown_by: str

    @property
    def modules(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.used_by)

    @property
    def tests(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.shown_by)

    @property
    def is_background(self) -> bool:
        return self.used_by.startswith("*background*")


@cache
def rows() -> list[Row]:
    lines = (ROOT / "docs" / "torch_facts.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| F")]
    return [Row(*row) for row in cells]


@cache
def cited() -> dict[str, set[str]]:
    """The files that point to each fact."""
    found: dict[str, set[str]] = {}
    for folder in CITING:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".ts"):
                for fact in FACT.findall(path.read_text(encoding="utf-8")):
                    found.setdefault(fact, set()).add(path.relative_to(ROOT).as_posix())
    return found


@cache
def functions_of(file: str) -> set[str]:
    path = ROOT / file
    if not path.is_file():
        return set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}


def test_every_fact_stands_once() -> None:
    ids = [row.id for row in rows()]
    assert len(ids) > 50
    assert all(FACT.fullmatch(one) for one in ids)
    assert ids == sorted(set(ids))


def test_every_fact_that_code_points_to_has_a_row_that_names_the_code() -> None:
    named = {row.id: {*row.modules} for row in rows()}
    assert cited()
    missing = {
        fact: files - named.get(fact, set())
        for fact, files in cited().items()
        if not files <= named.get(fact, set())
    }
    assert missing == {}


def test_every_fact_is_pointed_to_or_is_background() -> None:
    wrong = [row.id for row in rows() if (row.id in cited()) == row.is_background]
    assert wrong == []


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.id)
def test_a_fact_names_code_and_tests_that_exist(row: Row) -> None:
    assert row.modules
    assert [name for name in row.modules if not (ROOT / name).is_file()] == []
    assert row.tests
    tests = [name.partition("::") for name in row.tests]
    unknown = [f"{file}::{test}" for file, _, test in tests if test not in functions_of(file)]
    assert unknown == []
    assert all(test.startswith("test_") for _, _, test in tests)


def test_every_test_of_a_fact_is_in_the_table() -> None:
    file = "tests/capture/autograd/test_torch_facts.py"
    tests = {f"{file}::{name}" for name in functions_of(file) if name.startswith("test_")}
    assert tests - {name for row in rows() for name in row.tests} == set()
