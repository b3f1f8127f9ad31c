from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradviz.notebook_check.check import Settings, check_notebook
from gradviz.notebook_check.notebook_file import code_cells, name_of, read
from gradviz.notebook_check.results import CheckError
from tests.notebook_check.notebooks import cell, write


def test_what_is_no_notebook_is_refused_with_the_reason(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for content, message in [
        (b"", "is not a Jupyter notebook: it is empty"),
        (b"{'a'", "it is no JSON"),
        (b"<<<<<<< HEAD\n{}", "marks of a merge conflict"),
        (b"[]", "it has no field nbformat"),
        (b'{"worksheets": []}', "it has no field nbformat"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{}]}', "of format 4"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}', "of format 4"),
        (b'{"nbformat": "x", "cells": []}', "of format 4"),
        (b"\xff\xfe", "it is no text in UTF-8"),
    ]:
        with subtests.test(content=content, message=message):
            path = tmp_path / "a b.ipynb"
            path.write_bytes(content)
            with pytest.raises(CheckError) as refused:
                read(path)
            assert str(path) in str(refused.value)
            assert message in str(refused.value)
            result = check_notebook(path)
            assert (result.status, result.problem) == (2, str(refused.value))


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="is a folder; name the notebooks in it"):
        read(tmp_path)
    with pytest.raises(CheckError, match="does not exist"):
        read(tmp_path / "none.ipynb")


def test_a_notebook_of_another_language_names_its_kernel(tmp_path: Path) -> None:
    language = {"language_info": {"name": "R"}, "kernelspec": {"name": "ir", "display_name": "R"}}
    result = check_notebook(write(tmp_path / "a.ipynb", cell("1"), **language))
    assert result.status == 2
    assert "is a notebook in R" in result.problem
    assert "--kernel ir" in result.problem


def test_a_kernel_that_is_not_installed_is_refused_with_those_that_are(tmp_path: Path) -> None:
    result = check_notebook(write(tmp_path / "a.ipynb", cell("1")), Settings(kernel="no-such"))
    assert result.status == 2
    assert "there is no kernel 'no-such'; installed: " in result.problem


def test_a_notebook_without_code_starts_no_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradviz.notebook_check.check.running", None)
    assert check_notebook(write(tmp_path / "a.ipynb")).status == 0
    result = check_notebook(write(tmp_path / "b.ipynb", cell("\n", count=None)))
    assert (result.status, result.cells[0].reason) == (0, "no code")


def test_cells_of_old_files_have_no_id(tmp_path: Path) -> None:
    path = write(tmp_path / "old.ipynb", cell("# why\nx = 1", count=8))
    document = json.loads(path.read_text())
    document["nbformat_minor"] = 4
    for one in document["cells"]:
        del one["id"]
    path.write_text(json.dumps(document))
    ((_, first),) = code_cells(read(path))
    name = name_of(first, 1)
    assert (name.number, name.id, name.first_line, name.place) == ("[8]", "", "x = 1", 1)
