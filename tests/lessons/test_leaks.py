"""No answer is in the student's edition: not in a cell, not in an output, not in an exported page.

What counts as an answer that is given away says ``tests/lessons/leaks.py``; there is no list of
exceptions. Looked at is each lesson with its outputs, the same as JupyterLab and ``nbconvert``
export it, and each question as :meth:`QuestionWidget.save` writes it, in which only ``sealed`` is
encoded: the rest of it must be the same, whatever torch's answer is. Sentences that are shown after
an answer are in no page of the course at all.

A page that teaches how a question is written has it in its source, with the answers: there it is
the output that must not have them. A repair has neither hint, nor solution, nor a sentence on a
wrong fix in a notebook.
"""

from __future__ import annotations

import ast
import html
import inspect
import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from nbconvert import HTMLExporter

from gradviz.model.forms.choose import Choose
from gradviz.model.forms.numbers import read
from gradviz.model.question import Question
from gradviz.model.recording import Recording
from gradviz.teach.predict.course import QUESTIONS
from gradviz.teach.repair.exercise import exercise_of_course
from gradviz.view.contents.parts_of import html_of
from gradviz.view.documents.question import question_document
from gradviz.view.widgets.question import QuestionWidget
from tests.lessons.leaks import (
    is_in,
    keys,
    leaks,
    texts_of,
    told,
    told_in_passages,
    without_computed_return,
    without_question,
)
from tests.lessons.lesson_budget import FIFTEEN_MINUTES
from tests.lessons.lesson_files import PAGES, Kernel, code_cells, stored
from tests.teach.wrong_answers import wrong_answers

HOW_A_QUESTION_IS_WRITTEN = "howto/one-cell-is-an-exercise"


def decorated(source: str) -> tuple[str, str, list[ast.expr]]:
    """The name of the function that a cell decorates, the decorator and its arguments."""
    text = "\n".join("" if line.startswith("%") else line for line in source.splitlines())
    for one in ast.parse(text).body:
        if isinstance(one, ast.FunctionDef) and one.decorator_list:
            call = one.decorator_list[0]
            if isinstance(call, ast.Call):
                return one.name, ast.unparse(call.func), call.args
    return "", "", []


@cache
def widgets(page: str) -> dict[str, QuestionWidget]:
    """The questions of a page by the id of their cell, with torch's answers."""
    kernel = Kernel()
    found = {}
    for cell in code_cells(stored(page)):
        name, decorator, _ = decorated(cell.source)
        kernel.run(cell.id, cell.source)
        if decorator == "gradviz.predict" and isinstance(kernel.names[name], QuestionWidget):
            found[cell.id] = kernel.names[name]
    return found


@cache
def words_of(page: str) -> tuple[str, ...]:
    """Everything that a page says, as a reader sees it."""
    return tuple(
        html.unescape(re.sub(r"<[^>]*>", " ", text))
        for cell in stored(page).cells
        for _, text in texts_of(cell)
    )


def exported(page: str) -> str:
    text: str = HTMLExporter(embed_images=True).from_notebook_node(stored(page))[0]
    return re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.DOTALL)


LESSONS = [
    pytest.param(one, marks=[] if one == FIFTEEN_MINUTES[3] else pytest.mark.exhaustive)
    for one in FIFTEEN_MINUTES
]


@pytest.mark.parametrize("lesson", LESSONS)
def test_nothing_of_a_lesson_gives_an_answer_away(lesson: str) -> None:
    """No cell, output or exported page; what a saved question does not encode is as it would be
    with another answer."""
    questions = {cell: widget.question for cell, widget in widgets(lesson).items()}
    assert len(questions) == 4
    assert leaks(stored(lesson), questions, exported(lesson)) == []
    for widget in widgets(lesson).values():
        question = widget.question
        other = replace(question, key=key_of(question, wrong_answers(question)[0]))
        assert question.digest != other.digest
        assert plain_of(question, widget.wire) == plain_of(other, question_document(other))


def plain_of(question: Question, document: dict[str, Any]) -> str:
    """What is in a document as text, without the digest."""
    plain = {name: one for name, one in document.items() if name != "sealed"}
    assert len(plain) == len(document) - 1
    text = json.dumps(plain) + html_of(question)
    assert not any(is_in(one, text) for one in told(question))
    return text.replace(question.digest, "")


def key_of(question: Question, answer: Any) -> Any:
    """An answer as torch could have given it."""
    if isinstance(answer, str) and question.form.kind == "typed":
        return read(answer)
    if question.form.kind == "edges":
        return {label: read(text) for label, text in answer.items()}
    return answer


def sentences_after_answers() -> list[tuple[str, str, str]]:
    """Each sentence that is shown after an answer, with its lesson and cell."""
    told = []
    for lesson in FIFTEEN_MINUTES:
        for cell, entry in json.loads((QUESTIONS / f"{lesson}.json").read_text("utf-8")).items():
            given = entry["given"] if entry["form"] in ("choose", "tick") else {}
            sentences = [*given.values(), *entry.get("wrong", {}).values(), entry.get("why", "")]
            told += [(lesson, cell, sentence) for sentence in sentences if sentence]
    return told


def repair_secrets(page: str) -> list[tuple[str, str]]:
    """Hints, sentences and bodies of solutions of the repairs on a page, with their cells."""
    told = []
    for cell in code_cells(stored(page)):
        _, decorator, given = decorated(cell.source)
        if decorator != "gradviz.repair" or not given:
            continue
        exercise = exercise_of_course(ast.literal_eval(given[0]))
        bodies = [inspect.getsource(program).partition(":\n")[2] for program in exercise.solutions]
        secrets = [*exercise.hints, exercise.why, *bodies]
        secrets += [wrong.sentence for wrong in exercise.wrong]
        told += [(cell.id, secret) for secret in secrets if secret]
    return told


def test_no_page_has_what_is_shown_after_an_answer_or_solves_its_repair(
    subtests: pytest.Subtests,
) -> None:
    sentences = sentences_after_answers()
    for page in PAGES:
        with subtests.test(page):
            secrets = [*sentences, *repair_secrets(page)]
            words = words_of(page)
            assert not [one for one in secrets if any(is_in(one[-1], text) for text in words)]


@pytest.mark.exhaustive
def test_outputs_of_the_page_on_writing_questions_have_no_answers() -> None:
    page = stored(HOW_A_QUESTION_IS_WRITTEN)
    asked = widgets(HOW_A_QUESTION_IS_WRITTEN)
    assert asked
    for cell in code_cells(page):
        if cell.id in asked:
            question = asked[cell.id].question
            for where, text in texts_of(cell):
                said = without_question(text, question)
                secrets = [*told(question), *keys(question)]
                assert where == "source" or not [one for one in secrets if is_in(one, said)]


def test_a_key_of_one_word_tells_in_a_sentence_with_what_is_asked(
    subtests: pytest.Subtests,
) -> None:
    for text, tells in [
        ("Its value is `None`. Then `z.grad` was written.", False),
        ("After backward `z.grad` is `None`.", True),
        ("After backward `z.grad` is `None`, or it is [1, 1].", False),
        ("z.grad\nis None", True),
    ]:
        with subtests.test(text=text, tells=tells):
            form = Choose.of({"[1, 1]": "Kept.", "None": "Not kept."}, {})
            question = Question("What is `z.grad`?", form, "None", Recording.empty())
            assert told_in_passages(question, text) == (["None"] if tells else [])


def test_a_return_that_computes_names_cases_and_a_plain_one_tells() -> None:
    program = "@gradviz.predict('1/a')\ndef what():\n    z = f()\n    return "
    computed = without_computed_return(program + '"None" if z.grad is None else "[1, 1]"\n')
    assert computed.splitlines()[-1] == "    z = f()"
    assert without_computed_return(program + '"None"').endswith('return "None"')
