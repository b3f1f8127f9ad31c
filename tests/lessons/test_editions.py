"""Two editions from one source, and nothing of an answer in the student's."""

from __future__ import annotations

import contextlib
import copy
import io
import json
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest

from gradviz.model.forms.table import FORMS
from gradviz.teach.predict import course
from gradviz.teach.predict.edition import edition
from gradviz.view.widgets.question import QuestionWidget
from notebooks import build, editions
from tests.lessons.leaks import leaks
from tests.lessons.lesson_files import BESIDE, NOTEBOOKS, Kernel, check_strictly, code_cells

LESSON = """
# %% title [markdown]
# # A lesson

# %% setup
import torch

import gradviz

# %% second-call
@gradviz.predict(
    "Backward is called twice. What does the second call do?",
    choose={
        "it works": "The first call freed what is needed.",
        "it raises RuntimeError": "What `exp` saved was freed by the first call.",
        "it does nothing": "Every call runs the nodes.",
    },
    why="Saved tensors are freed as backward runs.",
)
def twice():
    out = torch.ones(2, requires_grad=True).exp().sum()
    out.backward()
    out.backward()

# %% prose [markdown]
# Now you know what a second call does.

# %% typed
@gradviz.predict(
    "What is `a.grad`?", typed="a.grad", wrong={"[1, 1]": "That is the gradient of out."}
)
def gradient():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    out = (a * a).sum()
    out.backward()
    return a.grad

# %% end
print("the end")
"""


def source(text: str = LESSON) -> nbformat.NotebookNode:
    notebook = jupytext.reads(text.lstrip(), fmt="py:percent")
    for cell in notebook.cells:
        cell["id"] = cell.metadata["title"]
    return notebook


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(course, "QUESTIONS", tmp_path)
    _, _, questions = editions.split(source(), "04-lesson")
    (tmp_path / "04-lesson.json").write_text(editions.data_text(questions))
    return tmp_path


def run(notebook: nbformat.NotebookNode, answers: bool = False) -> tuple[Any, dict[str, Any]]:
    """The notebook with outputs, and its questions by cell."""
    kernel, questions = Kernel(), {}
    edition.shows_answers = answers
    try:
        for cell in code_cells(notebook):
            before = set(kernel.names)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                kernel.run(cell.id, cell.source)
            made = [kernel.names[name] for name in set(kernel.names) - before]
            widgets = [one for one in made if isinstance(one, QuestionWidget)]
            cell.outputs = [nbformat.v4.new_output("stream", text=kernel.printed[cell.id])]
            for widget in widgets:
                questions[cell.id] = widget.question
                (bundle, _) = widget._repr_mimebundle_()
                bundle = {kind: text for kind, text in bundle.items() if "widget" not in kind}
                cell.outputs = [nbformat.v4.new_output("display_data", bundle)]
            assert out.getvalue() == ""
    finally:
        edition.shows_answers = False
    return notebook, questions


def test_the_students_cell_has_the_id_and_the_program_only() -> None:
    student, answers, questions = editions.split(source(), "04-lesson")
    cells = {cell.id: cell.source for cell in student.cells}
    assert cells["second-call"].split("\n")[:2] == [
        '@gradviz.predict("04-lesson/second-call")',
        "def twice():",
    ]
    assert questions["second-call"]["form"] == "choose"
    assert questions["typed"]["wrong"] == {"[1, 1]": "That is the gradient of out."}
    assert [cell.id for cell in answers.cells if cell.id not in cells] == ["edition-with-answers"]
    assert answers.cells[1].source == "%load_ext gradviz\n%gradviz answers"
    assert not editions.has_questions(student)
    assert json.loads(editions.data_text(questions)) == questions


def test_nothing_in_the_students_edition_gives_an_answer_away(data: Path) -> None:
    student, answers, _ = editions.split(source(), "04-lesson")
    notebook, questions = run(student)
    assert set(questions) == {"second-call", "typed"}
    assert questions["typed"].key == [2.0, 4.0]
    page = "<html>" + "".join(cell.source for cell in notebook.cells) + "</html>"
    assert leaks(notebook, questions, page) == []
    whole, same = run(answers, answers=True)
    assert {name: one.digest for name, one in same.items()} == {
        name: one.digest for name, one in questions.items()
    }
    assert {leak.question for leak in leaks(whole, questions)} == {"second-call", "typed"}
    assert {leak.question for leak in leaks(source(), questions)} == {"second-call", "typed"}


PLANTED = (
    ("prose", "As you saw,\nit  raises RuntimeError.", "it raises RuntimeError"),
    ("end", "assert grad == [2, 4]", "[2, 4]"),
    ("second-call", '    return "it raises RuntimeError"', "it raises RuntimeError"),
    ("title", "Saved tensors are freed as backward runs.", "Saved tensors are freed as"),
)


def test_an_answer_that_was_planted_is_found(data: Path, subtests: pytest.Subtests) -> None:
    student, _, _ = editions.split(source(), "04-lesson")
    clean, questions = run(student)
    page = "<p>The first call freed what is <b>needed</b>.</p>"
    assert "page" in {leak.where for leak in leaks(clean, questions, page)}
    for cell, text, found in PLANTED:
        with subtests.test(cell):
            notebook = copy.deepcopy(clean)
            (planted,) = (one for one in notebook.cells if one.id == cell)
            planted.source += f"\n{text}"
            assert any(leak.found.startswith(found) for leak in leaks(notebook, questions))
            planted.source = planted.source.removesuffix(text)
            (last,) = (one for one in code_cells(notebook) if one.id == "end")
            last.outputs[0].text += f"\n{text}\n"
            assert leaks(notebook, questions) != [] or cell == "second-call"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('"it works"', "option"), "must be written out"),
        (('why="Saved tensors are freed as backward runs."', "id='x'"), "id cannot be taken out"),
        (("choose={", "pick={"), "it has 0 forms"),
    ],
)
def test_a_question_that_cannot_be_taken_out_is_refused(change: tuple[str, str], says: str) -> None:
    with pytest.raises(editions.SourceError, match=says):
        editions.split(source(LESSON.replace(*change)), "04-lesson")


def test_the_page_on_exercises_of_ones_own_shows_every_form() -> None:
    written = (build.SOURCE / "howto" / "one-cell-is-an-exercise.py").read_text("utf-8")
    for form in FORMS:
        assert f"\n    {form}=" in written, form
    assert "\n@gradviz.repair(\n" in written
    assert "gradviz.check." in written


def test_questions_of_the_package_are_those_of_the_sources() -> None:
    stored = {path.name: path.read_text("utf-8") for path in course.QUESTIONS.glob("*.json")}
    made = {}
    for lesson in (*build.sources(), *build.tests()):
        notebook = build.read(lesson)
        if editions.has_questions(notebook):
            questions = editions.split(notebook, lesson.stem)[2]
            made[f"{lesson.stem}.json"] = editions.data_text(questions)
    assert stored == made


@pytest.mark.exhaustive
def test_both_editions_pass_nbval_strictly_twice(tmp_path: Path) -> None:
    questions = tmp_path / "questions"
    questions.mkdir()
    lines = (
        f"from pathlib import Path\nfrom gradviz.teach.predict import course\n"
        f"course.QUESTIONS = Path({str(questions)!r})\n\nimport torch"
    )
    text = LESSON.replace("import torch", lines, 1)
    student, answers, data = editions.split(source(text), "04-lesson")
    (questions / "04-lesson.json").write_text(editions.data_text(data))
    for name, notebook in (("student", student), ("answers", answers)):
        path = tmp_path / f"{name}.ipynb"
        path.write_text(build.executed(notebook))
        for _ in range(2):
            done = check_strictly(path)
            assert done.status == 0, done
    kept = (tmp_path / "student.ipynb").read_text()
    assert "torch's answer" not in kept
    assert "torch's answer" in (tmp_path / "answers.ipynb").read_text()


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", BESIDE)
def test_a_page_passes_nbval_strictly_twice(page: str) -> None:
    for _ in range(2):
        done = check_strictly(NOTEBOOKS / f"{page}.ipynb")
        assert done.status == 0, done
