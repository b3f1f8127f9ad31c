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


def test_what_is_too_much_is_named() -> None:
    assert Budget(26, 451, 51, 3, 4, 0, 0, 5, 3).too_much() == [
        "cells: 26, at most 25",
        "words: 451, at most 450",
        "lines: 51, at most 50",
        "players: 3, at most 2",
        "predictions: 4, exactly 3",
        "bets: 0, exactly 1",
        "repairs: 0, exactly 1",
        "first picture: cell 5, at most 4",
    ]
    without_picture = Budget(9, 1, 1, 0, 3, 1, 1, 0, 3)
    assert without_picture.too_much() == ["first picture: cell 0, at most 4"]


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


def test_a_mark_is_seen_in_a_drawing_unless_it_is_hidden(subtests: pytest.Subtests) -> None:
    for part in MARKS:
        with subtests.test(part=part):
            first, _ = MARKS[part]
            told = f"{part}, from lesson {first}"
            assert told in marks_too_early(drawing(), first - 1)
            assert told not in marks_too_early(drawing(), first)
            assert told not in marks_too_early(drawing(hide=[part]), first - 1)


@pytest.mark.parametrize("lesson", FIFTEEN_MINUTES)
def test_a_lesson_keeps_to_fifteen_minutes_and_to_what_was_introduced(lesson: str) -> None:
    source = build.SOURCE / f"{lesson}.py"
    budget = of_source(source)
    assert budget.too_much() == []
    assert of_notebook(NOTEBOOKS / f"{lesson}.ipynb") == budget
    assert budget.first_question >= 3
    notebook = stored(lesson)
    assert parts_out_of_order(cell.id for cell in notebook.cells) == []
    assert_first_and_last_cells(notebook)
    assert_outputs_have_nothing_of_later_lessons(notebook, int(lesson[:2]))
    assert_players_have_no_mark_of_later_lessons(lesson, source.read_text("utf-8"))
    assert "Torch's answer" not in source.read_text("utf-8")
    assert lesson in lesson_budget.MAY_NAME_A_DEVICE or "device" not in source.read_text("utf-8")


def assert_first_and_last_cells(notebook: Any) -> None:
    """A riddle first; last two sentences and one thing to try."""
    first = notebook.cells[0].source
    assert "?" in first or "riddle" in first.lower()
    remember, attempt = notebook.cells[-2:]
    assert remember.source.startswith("## Remember\n")
    sentences = re.findall(r"[.!?](?=\s|$)", re.sub("`[^`]*`", "x", remember.source))
    assert len(sentences) == 2, remember.source
    assert attempt.source.startswith("## Try it in your own code\n")


def assert_outputs_have_nothing_of_later_lessons(notebook: Any, number: int) -> None:
    """No mark in a drawing, and no caption of a changed version."""
    outputs = [(cell.id, output) for cell in code_cells(notebook) for output in cell.outputs]
    data = [(cell, output.get("data", {})) for cell, output in outputs]
    drawn = [(cell, kinds["image/svg+xml"]) for cell, kinds in data if kinds.get("image/svg+xml")]
    assert drawn
    for cell, svg in drawn:
        assert marks_too_early(svg, number) == [], cell
    outlines = [kinds.get("text/plain", "") for _, kinds in data]
    recorded = [outline for outline in outlines if outline.startswith("recording of")]
    # The player comes with the third lesson.
    assert recorded or number < 3
    for outline in recorded:
        assert versions_too_early(outline, number) == []


def assert_players_have_no_mark_of_later_lessons(lesson: str, source: str) -> None:
    """Neither that of a question nor that of the repair."""
    later = {part for part, (introduced, _) in MARKS.items() if introduced > int(lesson[:2])}
    questions = json.loads((QUESTIONS / f"{lesson}.json").read_text("utf-8"))
    assert questions
    for name, question in questions.items():
        assert later <= set(question.get("player_hide", ())), name
    (name,) = re.findall(r'^@gradviz\.repair\("(.+)"\)$', source, re.MULTILINE)
    assert later <= set(exercise_of_course(name).player_hide)
