from __future__ import annotations

import re
from typing import Any

import pytest

from gradviz.publish.slide_types import with_slide_types
from notebooks import build, editions
from tests.lessons.lesson_files import BESIDE, LESSONS, NOTEBOOKS, PAGES, code_cells, stored, texts

ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
OF_ONE_RUN = re.compile(r"ipykernel_\d+|/tmp/|/home/|/root/|cuda|\bpid\b", re.IGNORECASE)


@pytest.mark.parametrize("lesson", PAGES)
def test_notebook_is_the_one_of_its_source_and_has_the_form_of_all(lesson: str) -> None:
    notebook = stored(lesson)
    assert_is_of_its_source(lesson, notebook)
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1)), "run in order"
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.language_info == {"name": "python"}
    for cell in code_cells(notebook):
        assert set(cell.metadata) <= {"claims", "refutes", "tags", "jupyter", "slideshow"}
        if "hide-input" not in cell.metadata.get("tags", ()):
            assert len(cell.source.splitlines()) <= 20, cell.id
        assert_outputs_are_of_any_run_and_can_be_read(cell)
    assert_headings_and_links(lesson, notebook)


def assert_is_of_its_source(lesson: str, notebook: Any) -> None:
    source = build.SOURCE / f"{lesson}.py"
    written = build.read(source)
    if lesson not in BESIDE and editions.has_questions(written):
        written, _, _ = editions.split(written, lesson)
    there = notebook.cells
    for mine, cell in zip(written.cells, there, strict=True):
        if cell.cell_type == "code":
            mine.outputs = cell.outputs  # a picture begins a slide
    cells = with_slide_types(written).cells
    expected = [(c.id, c.cell_type, c.source, c.metadata) for c in cells]
    assert [(c.id, c.cell_type, c.source, c.metadata) for c in there] == expected


def assert_outputs_are_of_any_run_and_can_be_read(cell: Any) -> None:
    """Nothing in them is of one run or one machine, and none needs a widget."""
    for output in cell.outputs:
        assert output.get("name") != "stderr", cell.id
        assert not any("widget" in kind for kind in output.get("data", {})), cell.id
        if output.output_type == "execute_result":
            text = output.data["text/plain"]
            assert "children=(" not in text, cell.id
            assert not text.startswith("<"), cell.id
    for text in texts(cell):
        assert not ADDRESS.search(text), cell.id
        if "base64" not in text:
            assert not OF_ONE_RUN.search(text), cell.id


def assert_headings_and_links(lesson: str, notebook: Any) -> None:
    """One title at the top, headings of one level below, and links that lead somewhere."""
    assert notebook.cells[0].cell_type == "markdown"
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    levels = [len(line) - len(line.lstrip("#")) for line in prose.splitlines() if line[:1] == "#"]
    assert levels[0] == 1
    assert set(levels[1:]) == {2}
    # Jupyter names a heading by its words, with dashes between them.
    headings = {line.replace(" ", "-") for line in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in headings, target
        else:
            assert ((NOTEBOOKS / lesson).parent / target).is_file(), target


def test_there_is_no_notebook_without_a_source() -> None:
    there = [*NOTEBOOKS.glob("*.ipynb"), *NOTEBOOKS.glob("howto/*.ipynb")]
    names = (path.relative_to(NOTEBOOKS).with_suffix("").as_posix() for path in there)
    assert sorted(names) == sorted(PAGES)


def test_the_start_page_names_every_lesson_by_its_title_in_order() -> None:
    (cell,) = (cell for cell in stored("00-start").cells if cell.id == "which")
    listed = re.findall(r"^ +\[(.+)\]\((.+)\.ipynb\)$", cell.source, re.MULTILINE)
    assert [lesson for _, lesson in listed] == LESSONS[1:]
    for title, lesson in listed:
        assert stored(lesson).cells[0].source.startswith(f"# {title}"), lesson


def test_built_cell_ids_must_be_new_and_speaking(tmp_path: Any) -> None:
    source = tmp_path / "09-x.py"
    for text in ("# %%\n1\n", "# %% a\n1\n\n# %% a\n2\n", "# %% Not An Id\n1\n"):
        source.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match="is no new cell id"):
            build.read(source)


@pytest.mark.exhaustive
@pytest.mark.parametrize("lesson", PAGES)
def test_building_again_gives_the_same_bytes(lesson: str) -> None:
    assert build.build(build.SOURCE / f"{lesson}.py") == (NOTEBOOKS / f"{lesson}.ipynb").read_text(
        encoding="utf-8"
    )
