"""Two editions of a lesson from one source.

In the source a question stands inline: its options and sentences are arguments of
``gradviz.predict``. The build takes them out into a file of the package
(``gradviz/course/questions/LESSON.json``), so that the student's notebook has the id of the
question only, and no cell of it says what is right. The edition with the answers is the same
notebook after ``%gradviz answers``.
"""

from __future__ import annotations

import ast
import copy
import json
from pathlib import Path
from typing import Any

import nbformat

from gradviz.model.forms.table import FORMS
from gradviz.teach.predict.course import QUESTIONS

EDITION = "%load_ext gradviz\n%gradviz answers"
"""The first code cell of the edition with the answers."""
_WRITTEN = ("why", "wrong", "step", "picture", "hide", "player_hide", "test", "about", "see")


class SourceError(ValueError):
    """A question in a source that cannot be taken out."""


def has_questions(notebook: nbformat.NotebookNode) -> bool:
    """Whether a notebook has questions whose sentences stand in its cells."""
    return any(_decorators(cell) for cell in notebook.cells if cell.cell_type == "code")


def split(
    notebook: nbformat.NotebookNode, lesson: str
) -> tuple[nbformat.NotebookNode, nbformat.NotebookNode, dict[str, Any]]:
    """The student's notebook, the one with the answers, and the data of the questions by cell id.

    Args:
        notebook: The source, not yet run.
        lesson: Its name, the first half of the ids of its questions.

    Raises:
        SourceError: If a cell has two questions, or one is not written out as literals.
    """
    student, questions = copy.deepcopy(notebook), {}
    for cell in student.cells:
        found = _decorators(cell) if cell.cell_type == "code" else []
        if not found:
            continue
        if len(found) > 1:
            raise SourceError(f"{lesson}: cell {cell.id!r} has two questions; give each its own")
        (call,) = found
        questions[cell.id] = _question(call, f"{lesson}/{cell.id}")
        cell.source = _with_id(cell.source, call, f"{lesson}/{cell.id}")
    answers = copy.deepcopy(student)
    first = next(i for i, cell in enumerate(answers.cells) if cell.cell_type == "code")
    edition = nbformat.v4.new_code_cell(EDITION)
    edition["id"] = "edition-with-answers"
    answers.cells.insert(first, edition)
    return student, answers, questions


def data_text(questions: dict[str, Any]) -> str:
    """The file of the package, the same bytes for the same questions."""
    return json.dumps(questions, ensure_ascii=False, indent=1) + "\n"


def data_file(lesson: str) -> Path:
    """Where the questions of a lesson are."""
    return QUESTIONS / f"{lesson}.json"


def _decorators(cell: Any) -> list[ast.Call]:
    """The calls of ``gradviz.predict`` that decorate functions, with more than an id."""
    plain = "\n".join("" if line.startswith("%") else line for line in cell.source.split("\n"))
    try:
        tree = ast.parse(plain)
    except SyntaxError:
        return []
    return [
        one
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for one in function.decorator_list
        if isinstance(one, ast.Call)
        and one.keywords
        and ast.unparse(one.func) in ("gradviz.predict", "predict")
    ]


def _question(call: ast.Call, name: str) -> dict[str, Any]:
    """What stands in a call, as data."""
    try:
        (text,) = map(ast.literal_eval, call.args)
        given = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    except ValueError as error:
        raise SourceError(
            f"{name}: the question, its options and its sentences must be written out, without "
            f"variables, since they are taken out of the cell ({error})"
        ) from None
    forms = [keyword for keyword in given if keyword in FORMS]
    if len(forms) != 1 or (unknown := set(given) - {*forms, *_WRITTEN}):
        more = "" if len(forms) != 1 else f"; {', '.join(sorted(unknown))} cannot be taken out"
        raise SourceError(f"{name}: it has {len(forms)} forms and must have one{more}")
    written = {keyword: given[keyword] for keyword in _WRITTEN if given.get(keyword)}
    return {"question": text, "form": forms[0], "given": given[forms[0]], **written}


def _with_id(source: str, call: ast.Call, name: str) -> str:
    """The cell with the id in place of what the call says."""
    lines = source.split("\n")
    start, end = call.lineno - 1, (call.end_lineno or call.lineno) - 1
    before = lines[start][: call.col_offset]
    after = lines[end][call.end_col_offset or 0 :]
    lines[start : end + 1] = [f'{before}{ast.unparse(call.func)}("{name}"){after}']
    return "\n".join(lines)
