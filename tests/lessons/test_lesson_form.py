from __future__ import annotations

import re
from typing import Any

import pytest

from notebooks import build
from tests.lessons.lesson_files import LESSONS, NOTEBOOKS, code_cells, stored, texts

ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
OF_ONE_RUN = re.compile(r"ipykernel_\d+|/tmp/|/home/|/root/|cuda|\bpid\b", re.IGNORECASE)
FOLDED = "outputs_hidden"
ANNOUNCED = "Torch's answer:\n"


@pytest.mark.parametrize("lesson", LESSONS)
def test_notebook_is_the_one_of_its_source(lesson: str) -> None:
    written = build.read(build.SOURCE / f"{lesson}.py")
    mine = [(c.id, c.cell_type, c.source, c.metadata) for c in written.cells]
    assert [(c.id, c.cell_type, c.source, c.metadata) for c in stored(lesson).cells] == mine


def test_there_is_no_notebook_without_a_source() -> None:
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == LESSONS


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_code_cell_was_run_in_order(lesson: str) -> None:
    counts = [cell.execution_count for cell in code_cells(stored(lesson))]
    assert counts == list(range(1, len(counts) + 1))


@pytest.mark.parametrize("lesson", LESSONS)
def test_notebook_holds_no_widget_and_little_metadata(lesson: str) -> None:
    notebook = stored(lesson)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.language_info == {"name": "python"}
    for cell in code_cells(notebook):
        assert set(cell.metadata) <= {"claims", "refutes", "tags", "jupyter"}
        for output in cell.outputs:
            assert not any("widget" in kind for kind in output.get("data", {})), cell.id


@pytest.mark.parametrize("lesson", LESSONS)
def test_outputs_hold_nothing_of_one_run_or_machine(lesson: str) -> None:
    for cell in code_cells(stored(lesson)):
        assert all(output.get("name") != "stderr" for output in cell.outputs), cell.id
        for text in texts(cell):
            assert not ADDRESS.search(text), cell.id
            if "base64" not in text:
                assert not OF_ONE_RUN.search(text), cell.id


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_output_can_be_read_without_widgets(lesson: str) -> None:
    for cell in code_cells(stored(lesson)):
        for output in cell.outputs:
            if output.output_type == "execute_result":
                text = output.data["text/plain"]
                assert "children=(" not in text, cell.id
                assert not text.startswith("<"), cell.id


@pytest.mark.parametrize("lesson", LESSONS)
def test_lesson_has_one_title_and_headings_in_order(lesson: str) -> None:
    lines = [
        line
        for cell in stored(lesson).cells
        if cell.cell_type == "markdown"
        for line in re.sub(r"```.*?```", "", cell.source, flags=re.DOTALL).splitlines()
    ]
    levels = [len(line) - len(line.lstrip("#")) for line in lines if line.startswith("#")]
    assert levels[0] == 1
    assert set(levels[1:]) == {2}


@pytest.mark.parametrize("lesson", LESSONS)
def test_links_between_lessons_lead_somewhere(lesson: str) -> None:
    text = " ".join(c.source for c in stored(lesson).cells if c.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (NOTEBOOKS / target).is_file(), target


@pytest.mark.parametrize("lesson", [lesson for lesson in LESSONS if lesson != "00-start"])
def test_lesson_has_the_usual_parts(lesson: str) -> None:
    ids = [cell.id for cell in stored(lesson).cells]
    parts = ("recall", "predict", "show", "explain", "what-if", "repair", "summary")
    places = {part: [i for i, name in enumerate(ids) if part in name] for part in parts}
    assert all(places.values()), places
    assert places["recall"][0] < places["predict"][0] < places["repair"][0] < places["summary"][0]
    assert len(places["predict"]) >= 3


@pytest.mark.parametrize("lesson", LESSONS)
def test_code_cells_are_short_and_have_text_before_the_first_of_a_row(lesson: str) -> None:
    cells = stored(lesson).cells
    assert cells[0].cell_type == "markdown"
    for cell in code_cells(stored(lesson)):
        if "hide-input" not in cell.metadata.get("tags", ()):
            assert len(cell.source.splitlines()) <= 20, cell.id


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_stored_output_does_not_give_a_prediction_away(lesson: str) -> None:
    cells = code_cells(stored(lesson))
    asked = False
    for cell in cells:
        if "predict" in cell.id:
            asked = True
        elif asked and "program" not in cell.id:
            is_folded = cell.metadata.get("jupyter", {}).get(FOLDED, False)
            assert is_folded or cell.id == "repair-try", cell.id
            asked = False


@pytest.mark.parametrize("lesson", [lesson for lesson in LESSONS if lesson != "00-start"])
def test_a_folded_output_begins_with_a_line_that_gives_nothing_away(lesson: str) -> None:
    # JupyterLab shows the first line of the first output in place of a folded one.
    folded = [c for c in code_cells(stored(lesson)) if c.metadata.get("jupyter", {}).get(FOLDED)]
    assert folded
    for cell in folded:
        first, *more = cell.outputs
        assert first.get("text", "").startswith(ANNOUNCED), cell.id
        assert more or first.text != ANNOUNCED, cell.id


def test_built_cell_ids_must_be_new_and_speaking(tmp_path: Any) -> None:
    source = tmp_path / "09-x.py"
    for text in ("# %%\n1\n", "# %% a\n1\n\n# %% a\n2\n", "# %% Not An Id\n1\n"):
        source.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match="is no new cell id"):
            build.read(source)


@pytest.mark.exhaustive
@pytest.mark.parametrize("lesson", LESSONS)
def test_building_again_gives_the_same_bytes(lesson: str) -> None:
    assert build.build(build.SOURCE / f"{lesson}.py") == (NOTEBOOKS / f"{lesson}.ipynb").read_text(
        encoding="utf-8"
    )
