from __future__ import annotations

import re
from typing import Any

import nbformat
import pytest

from gradviz.publish.slide_types import slide_types, slides
from tests.lessons.lesson_files import LESSONS, stored
from tests.publish.notebooks import ran

MOST_WORDS = 90


def types(*cells: tuple[str, str]) -> list[str]:
    made: dict[str, Any] = {
        "text": nbformat.v4.new_markdown_cell,
        "code": nbformat.v4.new_code_cell,
        "raw": nbformat.v4.new_raw_cell,
    }
    return slide_types([made[kind](source) for kind, source in cells])


def test_a_lecture_is_cut_into_one_idea_a_slide() -> None:
    cells = ran()[0].cells
    found = [[cell.id for cell in slide] for slide in slides(cells, slide_types(cells))]
    assert found == [["title"], ["watch"], ["steps", "caption"], ["slope"], ["numbers", "print"]]


def test_what_a_cell_says_of_itself_counts() -> None:
    cell = nbformat.v4.new_code_cell(
        "import torch", metadata={"slideshow": {"slide_type": "notes"}}
    )
    assert slide_types([cell]) == ["notes"]


def test_empty_raw_and_importing_cells_are_on_no_slide() -> None:
    assert (
        types(("raw", "x"), ("text", ""), ("code", "import a\n%load_ext gradviz")) == ["skip"] * 3
    )


def test_code_that_does_more_than_import_is_on_a_slide() -> None:
    assert types(("code", "import torch\ntorch.manual_seed(1)")) == ["subslide"]


def test_long_code_gets_a_slide_of_its_own() -> None:
    assert types(("text", "Words."), ("code", "x = 1\n" * 17)) == ["subslide", "subslide"]


def test_slides_of_lessons_have_every_cell_once_one_picture_or_question_and_few_words(
    subtests: pytest.Subtests,
) -> None:
    for lesson in LESSONS:
        with subtests.test(lesson):
            cells = stored(lesson).cells
            kinds = [cell.metadata["slideshow"]["slide_type"] for cell in cells]
            cut = slides(cells, kinds)
            shown = [cell.id for slide in cut for cell in slide]
            left_out = [cell for cell, kind in zip(cells, kinds, strict=True) if kind == "skip"]
            placed = [*shown, *(cell.id for cell in left_out)]
            assert sorted(placed) == sorted(cell.id for cell in cells)
            for cell in left_out:
                lines = cell.source.splitlines()
                assert all(re.match("import |from |%|$", line) for line in lines)
                assert not cell.outputs
            for slide in cut if lesson != LESSONS[0] else ():
                assert_one_picture_or_question_and_few_words(slide)


def assert_one_picture_or_question_and_few_words(slide: Any) -> None:
    rich = [cell.id for cell in slide if any("data" in out for out in cell.get("outputs", ()))]
    words = sum(len(cell.source.split()) for cell in slide if cell.cell_type == "markdown")
    assert len(rich) <= 1, rich
    assert words <= MOST_WORDS, [cell.id for cell in slide]
