from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz
from gradviz.teach.predict.course import QUESTIONS
from gradviz.teach.repair.exercise import exercise_of_course
from notebooks import build
from tests.lessons import lesson_budget
from tests.lessons.lesson_budget import (
    FIFTEEN_MINUTES,
    MARKS,
    Budget,
    marks_too_early,
    of_notebook,
    of_source,
    parts_out_of_order,
    versions_too_early,
)
from tests.lessons.lesson_files import NOTEBOOKS, code_cells, stored

every_lesson = pytest.mark.parametrize("lesson", FIFTEEN_MINUTES)
WRITTEN = """\
# %% title [markdown]
# # 1. Title of four
#
# See [this page](far/away.ipynb), `x.grad` **now**. 1 + 1 --- 2.

# %% setup-run
# a comment

import torch

# %load_ext gradviz

# %% first-predict
@gradviz.predict(
    "What?",
    choose={"1": "No.", "2": "Yes."},
)
def program():
    x = 1

    y = (
        x
    )
    return "1"

# %% one-bet-run
@gradviz.predict("01/a", tick={"1": "No."})
def statement():
    return ["1"]

# %% player
# %%gradviz --step 3
a = 1

# %% other-player
with gradviz.record() as recording:
    b = 1
gradviz.show(recording, step=2)

# %% picture
gradviz.show(b)
gradviz.explore(f, a=1)

# %% repair
@gradviz.repair("01/r")
def broken():
    c = 1
    return c
"""


def test_cells_words_lines_players_and_questions_are_counted(tmp_path: Path) -> None:
    source = tmp_path / "01-x.py"
    source.write_text(WRITTEN, encoding="utf-8")
    assert of_source(source) == Budget(
        cells=8,
        words=4 + 8,
        # import; x, y = (, x, ); a; with, b, show; show, explore
        lines=1 + 4 + 1 + 3 + 2,
        players=3,
        predictions=1,
        bets=1,
        repairs=1,
        first_picture=3,
        first_question=3,
    )


def test_minutes_are_those_of_the_formula() -> None:
    budget = Budget(25, 450, 50, 2, 3, 1, 1, 4, 3)
    assert budget.minutes == pytest.approx(450 / 180 + 50 * 3 / 60 + 4 * 36 / 60 + 2 * 2 + 3.5)
    assert budget.too_much() == []


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(26, 1, 1, 0, 3, 1, 1, 4, 3), ["cells: 26, at most 25"]),
        (Budget(9, 451, 1, 0, 3, 1, 1, 4, 3), ["words: 451, at most 450"]),
        (Budget(9, 1, 51, 0, 3, 1, 1, 4, 3), ["lines: 51, at most 50"]),
        (Budget(9, 1, 1, 3, 3, 1, 1, 4, 3), ["players: 3, at most 2"]),
        (Budget(9, 1, 1, 0, 4, 1, 1, 4, 3), ["predictions: 4, exactly 3"]),
        (Budget(9, 1, 1, 0, 3, 0, 1, 4, 3), ["bets: 0, exactly 1"]),
        (Budget(9, 1, 1, 0, 3, 1, 0, 4, 3), ["repairs: 0, exactly 1"]),
        (Budget(9, 1, 1, 0, 3, 1, 1, 5, 3), ["first picture: cell 5, at most 4"]),
        (Budget(9, 1, 1, 0, 3, 1, 1, 0, 3), ["first picture: cell 0, at most 4"]),
    ],
)
def test_what_is_too_much_is_named(budget: Budget, said: list[str]) -> None:
    assert budget.too_much() == said


def test_more_than_fifteen_minutes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_budget, "SECONDS_A_QUESTION", 60)
    assert Budget(25, 450, 50, 2, 3, 1, 1, 4, 3).too_much() == ["minutes: 16.5, at most 15"]


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ("riddle a-predict watch explain repair my-bet remember own", []),
        ("a-predict riddle watch explain repair bet remember own", ["predict before riddle"]),
        ("riddle predict watch repair explain bet remember", ["no own", "repair before explain"]),
    ],
)
def test_parts_that_lack_or_come_too_early_are_named(ids: str, said: list[str]) -> None:
    assert parts_out_of_order(ids.split()) == said


def drawing(**options: Any) -> str:
    with gradviz.record() as recording:
        x = torch.ones(3, requires_grad=True)
        y = x * x
        y.register_hook(abs)
        out = y.sum()
    del out
    bundle: Any = gradviz.show(recording, step=-1, density="full", **options)._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    return str(data["image/svg+xml"])


@pytest.mark.parametrize("part", MARKS)
def test_a_mark_is_seen_in_a_drawing_unless_it_is_hidden(part: str) -> None:
    first, _ = MARKS[part]
    told = f"{part}, from lesson {first}"
    assert told in marks_too_early(drawing(), first - 1)
    assert told not in marks_too_early(drawing(), first)
    assert told not in marks_too_early(drawing(hide=[part]), first - 1)


@every_lesson
def test_a_lesson_takes_fifteen_minutes(lesson: str) -> None:
    assert of_source(build.SOURCE / f"{lesson}.py").too_much() == []


@every_lesson
def test_the_notebook_of_a_lesson_is_as_long_as_its_source(lesson: str) -> None:
    assert of_notebook(NOTEBOOKS / f"{lesson}.ipynb") == of_source(build.SOURCE / f"{lesson}.py")


@every_lesson
def test_the_parts_of_a_lesson_are_in_their_order(lesson: str) -> None:
    assert parts_out_of_order(cell.id for cell in stored(lesson).cells) == []


@every_lesson
def test_a_lesson_begins_with_a_riddle_and_not_with_a_question(lesson: str) -> None:
    first = stored(lesson).cells[0].source
    assert "?" in first or "riddle" in first.lower()
    assert of_source(build.SOURCE / f"{lesson}.py").first_question >= 3


@every_lesson
def test_a_lesson_ends_with_two_sentences_and_one_thing_to_try(lesson: str) -> None:
    remember, attempt = stored(lesson).cells[-2:]
    assert remember.source.startswith("## Remember\n")
    sentences = re.findall(r"[.!?](?=\s|$)", re.sub("`[^`]*`", "x", remember.source))
    assert len(sentences) == 2, remember.source
    assert attempt.source.startswith("## Try it in your own code\n")


@every_lesson
def test_no_mark_is_drawn_before_the_lesson_that_introduces_it(lesson: str) -> None:
    drawn = 0
    for cell in code_cells(stored(lesson)):
        for output in cell.outputs:
            if svg := output.get("data", {}).get("image/svg+xml"):
                drawn += 1
                assert marks_too_early(svg, int(lesson[:2])) == [], cell.id
    assert drawn


@every_lesson
def test_no_caption_tells_of_a_changed_version_before_lesson_ten(lesson: str) -> None:
    outlines = [
        output.get("data", {}).get("text/plain", "")
        for cell in code_cells(stored(lesson))
        for output in cell.outputs
    ]
    recorded = [outline for outline in outlines if outline.startswith("recording of")]
    # The player comes with the third lesson.
    assert recorded or int(lesson[:2]) < 3
    for outline in recorded:
        assert versions_too_early(outline, int(lesson[:2])) == []


@every_lesson
def test_no_player_of_a_question_has_a_mark_before_the_lesson_that_introduces_it(
    lesson: str,
) -> None:
    later = marks_of_later_lessons(lesson)
    questions = json.loads((QUESTIONS / f"{lesson}.json").read_text("utf-8"))
    assert questions
    for name, one in questions.items():
        assert later <= set(one.get("player_hide", ())), name


@every_lesson
def test_no_player_of_a_repair_has_a_mark_before_the_lesson_that_introduces_it(lesson: str) -> None:
    source = (build.SOURCE / f"{lesson}.py").read_text(encoding="utf-8")
    (name,) = re.findall(r'^@gradviz\.repair\("(.+)"\)$', source, re.MULTILINE)
    assert marks_of_later_lessons(lesson) <= set(exercise_of_course(name).player_hide)


def marks_of_later_lessons(lesson: str) -> set[str]:
    return {part for part, (introduced, _) in MARKS.items() if introduced > int(lesson[:2])}


@every_lesson
def test_a_lesson_has_no_scaffolding(lesson: str) -> None:
    source = (build.SOURCE / f"{lesson}.py").read_text(encoding="utf-8")
    assert "Torch's answer" not in source
    assert lesson in lesson_budget.MAY_NAME_A_DEVICE or "device" not in source
