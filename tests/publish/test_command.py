"""What `gradviz page` and `gradviz slides` write, and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from gradviz import cli
from tests.publish.notebooks import lecture, stored, written


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return written(tmp_path, stored())


def test_slides_are_written_beside_the_notebook_and_what_is_on_none_is_said(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = saved.read_bytes()
    assert cli.main(["slides", "--stored", str(saved)]) == 0
    assert capsys.readouterr().out == (
        f"{saved.with_suffix('.slides.html')}: 5 slides\n"
        "  on no slide, as they show nothing: 'import torch', '%load_ext gradviz'\n"
        "  links to notebooks that are not among those named: next.ipynb\n"
    )
    assert "<title>A lecture</title>" in saved.with_suffix(".slides.html").read_text("utf-8")
    assert saved.read_bytes() == before


def test_pages_that_are_written_together_link_to_each_other(saved: Path, tmp_path: Path) -> None:
    after = written(tmp_path, stored(), "next.ipynb")
    folder = tmp_path / "site"
    command = ["page", "--stored", "--output", str(folder), str(saved), str(after)]
    assert cli.main(command) == 0
    assert 'href="next.html"' in (folder / "lecture.html").read_text("utf-8")


def test_a_notebook_is_run_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(6 * 7)")])
    path = written(tmp_path, notebook)
    assert cli.main(["page", str(path)]) == 0
    assert "42" in (tmp_path / "lecture.html").read_text("utf-8")
    assert capsys.readouterr().out == f"{tmp_path / 'lecture.html'}\n"


def failing(source: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])


def test_a_cell_that_raises_is_named_with_what_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, failing("1 / 0"))
    assert cli.main(["page", str(path)]) == 1
    said = capsys.readouterr().out
    assert "cell 1 ('1 / 0'): ZeroDivisionError: division by zero" in said
    assert "the tag raises-exception" in said
    assert not (tmp_path / "lecture.html").exists()


def test_a_missing_file_is_said_and_the_others_are_written(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["page", "--stored", str(tmp_path / "gone.ipynb"), str(saved)]) == 2
    assert "not written: the file" in capsys.readouterr().out
    assert saved.with_suffix(".html").exists()


def test_a_notebook_without_outputs_is_not_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["page", "--stored", str(written(tmp_path, lecture()))]) == 1
    said = capsys.readouterr().out
    assert "has not been run: it stores no output. Leave out --stored" in said


def test_a_widget_without_its_state_is_named_with_what_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = stored()
    del notebook.metadata["widgets"]
    assert cli.main(["page", "--stored", str(written(tmp_path, notebook))]) == 1
    said = capsys.readouterr().out
    assert "does not store the widget of cell [" in said
    assert "Save Widget State Automatically" in said


def test_two_notebooks_of_one_name_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(tmp_path / name / "one.ipynb") for name in "ab"]
    assert cli.main(["slides", "--output", str(tmp_path / "out"), *paths]) == 2
    assert "would both be written to" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_said_before_anything_runs(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert cli.main(["page", "--output", str(tmp_path / "file"), str(saved)]) == 2
    said = capsys.readouterr().err
    assert "cannot be written" in said
    assert "--output DIR" in said


def test_formulas_and_pictures_from_the_network_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "$a^2 + b^2$\n\n![a cat](https://example.org/cat.png)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    assert cli.main(["page", "--stored", str(written(tmp_path, notebook))]) == 0
    said = capsys.readouterr().out
    assert "formulas stay as LaTeX" in said
    assert "loads nothing from the network: https://example.org/cat.png" in said
