"""What the instructor guide says of the lessons is true: titles, minutes, cells, answers, steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import jupytext
import pytest

import gradviz
from gradviz.teach.predict.course import course_question
from gradviz.teach.repair.exercise import exercise_of_course
from notebooks import build
from tests.lessons.lesson_budget import of_source, table
from tests.lessons.lesson_files import LESSONS, NOTEBOOKS, ROOT, Kernel, code_cells, stored

GUIDE = (ROOT / "docs" / "instructor_guide.md").read_text("utf-8")
NUMBERED = {int(lesson[:2]): lesson for lesson in LESSONS if lesson != "00-start"}


def rows(text: str, columns: int) -> list[list[str]]:
    """The rows of the tables with so many columns, without their heads."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if line.startswith("|") and len(cells) == columns and set(line) - set("|-"):
            found.append(cells)
    return [row for row in found if row[0] not in ("minute", "question", "when")]


def chapter(number: int) -> str:
    """What the guide says of a lesson."""
    found = re.search(rf"^### {number}\. .*?(?=^### |\n\nIn the rows)", GUIDE, re.M | re.S)
    assert found is not None
    return found[0]


def plan_of(number: int) -> list[list[str]]:
    return [row for row in rows(chapter(number), 3) if row[0].isdecimal()]


def ids(words: str) -> list[str]:
    return re.findall(r"`([^`]+)`", words)


@dataclass(frozen=True)
class Cure:
    """A row of the table of confusions."""

    number: int
    lesson: str
    cell: str
    step: str
    look: str
    item: str


def cures() -> list[Cure]:
    found = []
    for number, _, link, cell, step, look, item in rows(GUIDE, 7):
        if number.isdecimal():
            lesson = re.search(r"/(\d\d-[\w-]+)\.ipynb", link)
            assert lesson is not None
            named = (cell.strip("`"), step, look.strip("`"), item.strip("`"))
            found.append(Cure(int(number), lesson[1], *named))
    return found


def tagged(source: str) -> dict[str, list[int]]:
    """The confusions that the cells of a source name."""
    cells = jupytext.read(build.SOURCE / f"{source}.py").cells
    named = ((cell.metadata["title"], cell.metadata.get("confusions", [])) for cell in cells)
    return {title: numbers for title, numbers in named if numbers}


@pytest.mark.parametrize("number", NUMBERED)
def test_the_chapter_of_a_lesson_says_what_is_in_it(number: int) -> None:
    lesson, text = NUMBERED[number], chapter(number)
    notebook = stored(lesson)
    heading = text.splitlines()[0].removeprefix("### ")
    assert notebook.cells[0].source.startswith(f"# {heading}")
    minutes = of_source(build.SOURCE / f"{lesson}.py").minutes
    assert f"Alone: {minutes:.0f} minutes." in text
    assert_plan_has_every_question_in_fifty_minutes(plan_of(number), notebook)
    assert_what_is_answered_wrongly_can_be_answered(number, notebook)


def assert_plan_has_every_question_in_fifty_minutes(plan: list[list[str]], notebook: Any) -> None:
    begins = [int(row[0]) for row in plan]
    assert begins[0] == 0
    assert begins == sorted(set(begins))
    assert begins[-1] < 50
    named = [cell for row in plan for cell in ids(row[2])]
    there = [cell.id for cell in notebook.cells]
    assert [cell for cell in there if cell in named] == named
    asked = [cell for cell in there if cell.endswith("-predict") or cell == "repair-try"]
    assert not set(asked) - set(named)


def assert_what_is_answered_wrongly_can_be_answered(number: int, notebook: Any) -> None:
    answered = [row for row in rows(chapter(number), 3) if not row[0].isdecimal()]
    questions = [row for row in answered if row[0] != "`repair-try`"]
    assert len(questions) >= 5
    for cell, answer, said in questions:
        question = course_question(f"{NUMBERED[number]}/{cell.strip('`')}")
        given: Any = question.given
        parts = [*question.wrong, *(given if isinstance(given, (dict, list)) else ())]
        assert answer.strip("`") in parts, cell
        assert said.endswith((".", "?", "!")), cell
    source = "\n".join(cell.source for cell in code_cells(notebook))
    exercise = exercise_of_course(re.findall(r'@gradviz\.repair\("([^"]+)"\)', source)[0])
    known = {wrong.program.__name__ for wrong in exercise.wrong}
    named = {answer.strip("`") for cell, answer, _ in answered if cell == "`repair-try`"}
    assert len(named) >= 3
    assert named <= known


def test_the_lessons_in_numbers_are_measured() -> None:
    assert f"\n\n{table()}\n\n" in GUIDE, table()


def test_each_confusion_is_cured_by_one_lesson_and_asked_for_once() -> None:
    found = cures()
    assert [cure.number for cure in found] == list(range(1, 14))
    in_lessons = {lesson: tagged(lesson) for lesson in LESSONS}
    items = tagged("inventory")
    for cure in found:
        having = {
            lesson
            for lesson, cells in in_lessons.items()
            for n in cells.values()
            if cure.number in n
        }
        assert having == {cure.lesson}, cure
        assert cure.number in in_lessons[cure.lesson][cure.cell], cure
        assert items[cure.item] == [cure.number], cure
        assert course_question(f"inventory/{cure.item}").see == cure.lesson, cure
    assert len(items) == 13


def steps(outline: str) -> dict[str, str]:
    """What an outline of a recording says of each step, by its number."""
    found: dict[str, str] = {}
    number = ""
    for line in outline.splitlines():
        if begins := re.match(r" *(\d+(?:\.\d+)*) +(.*)", line):
            number, line = begins[1], begins[2]
        elif re.match(r" *[|!]", line) or not number:
            continue
        found[number] = f"{found.get(number, '')} {line.strip()}".strip()
    return found


@pytest.mark.parametrize("cure", cures(), ids=lambda cure: str(cure.number))
def test_the_step_that_cures_a_confusion_shows_it(cure: Cure) -> None:
    kernel = Kernel()
    notebook = stored(cure.lesson)
    cells = {cell.id: cell for cell in code_cells(notebook)}
    if "@gradviz.predict" not in cells[cure.cell].source:
        outputs = cells[cure.cell].outputs
        outline = next(o.data["text/plain"] for o in outputs if "text/plain" in o.get("data", {}))
    else:
        kernel.run("setup-run", cells["setup-run"].source)
        before = set(kernel.names)
        kernel.run(cure.cell, cells[cure.cell].source)
        (widget,) = (kernel.names[name] for name in set(kernel.names) - before)
        outline = widget.question.recording.outline(full=True)
    assert cure.look in steps(outline)[cure.step]


def test_links_lead_somewhere() -> None:
    headings = [h.lower().replace(" ", "-") for h in re.findall(r"^#+ (.*)$", GUIDE, re.M)]
    lost = []
    for link in sorted(set(re.findall(r"\]\(([^)]+)\)", GUIDE))):
        if link.startswith("#"):
            leads = link[1:] in headings
        else:
            leads = link.startswith("https://") or (ROOT / "docs" / link).is_file()
        lost += [] if leads else [link]
    assert lost == []


def test_the_afternoon_fits_and_its_cells_exist() -> None:
    (text,) = re.findall(r"^## A whole afternoon$(.*?)^## ", GUIDE, re.M | re.S)
    plan = rows(text, 3)
    minutes = [int(row[0]) for row in plan]
    assert minutes == sorted(set(minutes))
    assert minutes[-1] < 240
    for _, what, where in plan:
        named = re.findall(r"/(\d\d-[\w-]+)\.ipynb", where)
        there = [cell.id for lesson in named for cell in stored(lesson).cells]
        assert set(ids(what)) <= set(there), what


def test_words_of_the_interface_are_those_that_it_has() -> None:
    written = "".join(path.read_text("utf-8") for path in ROOT.glob("widgets/src/question/*.ts"))
    for words in ("Show the score", "Save my answers (CSV)", "Forget my answers and begin again"):
        assert f"*{words}*" in GUIDE
        assert f'"{words}"' in written
    assert (NOTEBOOKS / "howto" / "one-cell-is-an-exercise.ipynb").is_file()
    assert callable(gradviz.predict.score)
