"""What of a question's answer can be found in a notebook that is not to have it.

A key that is an option is in its question in any case, among the others: that tells nothing. What
must not be there is anything that tells *which*:

- A sentence that is shown after an answer, anywhere.
- In the output of its question: the key beside the question as it is stored before an answer.
- In its program: the key and no other option. The last ``return`` does not count if it computes
  something: it has to name the cases (``"None" if z.grad is None else ...``), and which of them
  holds only the run says.
- After the question, source or output: the key, wherever it is, unless it is ``None``, ``True`` or
  ``False``, which other programs have: then as before the question.
- Before the question: the key, if it has several words. A key of one word (``scores``, ``None``, a
  name of a node) is in many texts that say nothing of the question. It tells in a sentence or line
  that also has what the question asks about (code of its words: ``z.grad``) and no other option.

A key of one or two characters ("6") is looked for with its name only ("a.grad = 6"): alone it would
be found everywhere.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gradviz.model.forms.numbers import HINT
from gradviz.model.question import Question
from gradviz.view.contents.parts_of import html_of
from gradviz.view.outlines.text_of import text_of

SHORT = 2
"""A key of so many characters is looked for with its name only."""
WORDS = ("None", "True", "False")
"""Programs are full of them: as keys they tell beside what is asked about only."""


@dataclass(frozen=True)
class Leak:
    question: str
    """Id of the cell with the question."""
    where: str
    """Id of the cell, and ``source`` or ``output``; or ``page``."""
    found: str


def leaks(notebook: Any, questions: Mapping[str, Question], page: str = "") -> list[Leak]:
    """Every place that gives an answer away.

    Args:
        notebook: The student's edition, with its outputs.
        questions: Its questions with their keys, by the id of their cells.
        page: The notebook exported as HTML.
    """
    found: list[Leak] = []
    for name, question in questions.items():
        is_after = False
        for cell in notebook.cells:
            is_own = cell.id == name
            is_after |= is_own
            for where, text in texts_of(cell):
                secrets = [*told(question)]
                if is_own and where == "output":
                    text = without_question(text, question)
                    secrets += keys(question)
                elif is_own:
                    text = without_computed_return(text)
                    secrets += keys(question) if is_alone(question, text) else []
                elif is_after:
                    secrets += [one for one in keys(question) if one.strip("`") not in WORDS]
                    secrets += told_in_passages(question, text)
                else:
                    secrets += [one for one in keys(question) if len(one.split()) > 1]
                    secrets += told_in_passages(question, text)
                found += [Leak(name, f"{cell.id} {where}", s) for s in secrets if is_in(s, text)]
        plain = html.unescape(re.sub(r"<[^>]*>", "", page))
        found += [Leak(name, "page", s) for s in told(question) if is_in(s, plain)]
    return found


def texts_of(cell: Any) -> Iterator[tuple[str, str]]:
    yield "source", cell.source
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        assert not any("widget" in kind for kind in data), "the state of a widget holds the key"
        for text in (output.get("text", ""), *map(str, data.values())):
            yield "output", text


def without_question(text: str, question: Question) -> str:
    """An output without the question as it is stored before an answer."""
    for own in (text_of(question), html_of(question)):
        text = text.replace(own, "")
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def told(question: Question) -> list[str]:
    """Sentences that are shown after an answer only."""
    return [one for one in (*question.form.sentences.values(), question.why) if one]


def keys(question: Question) -> list[str]:
    """Texts of the key, without those that are too short to be looked for."""
    return [one for one in question.form.secrets(question.key) if len(one.strip("`")) > SHORT]


def told_in_passages(question: Question, text: str) -> list[str]:
    """Keys of one word that a sentence or a line gives together with what is asked."""
    text = text.replace(HINT, "")  # fields of other questions say it too
    one_word = [one for one in keys(question) if len(one.split()) == 1]
    asked = re.findall(r"`([^`]+)`", question.text)
    return [
        one
        for passage in re.split(r"[.!?:;]\s+|\n\s*\n", text)
        if any(is_in(name, passage) for name in asked) and is_alone(question, passage)
        for one in one_word
        if is_in(one, passage)
    ]


def is_alone(question: Question, text: str) -> bool:
    """Whether no option but the key is in a text."""
    data = question.form.data()
    options = [*data.get("options", ()), *data.get("items", ())]
    secrets = question.form.secrets(question.key)
    return not any(is_in(one, text) for one in options if one not in secrets)


def without_computed_return(source: str) -> str:
    """A program without its last line, if that is no plain value."""
    text = "\n".join("" if line.startswith("%") else line for line in source.splitlines())
    for program in ast.parse(text).body:
        last = program.body[-1] if isinstance(program, ast.FunctionDef) else None
        if isinstance(last, ast.Return) and last.value and not is_plain(last.value):
            lines = text.splitlines()
            text = "\n".join([*lines[: last.lineno - 1], *lines[last.end_lineno :]])
    return text


def is_plain(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except ValueError:
        return False
    return True


def is_in(words: str, text: str) -> bool:
    """Whether words are in a text as whole words, however they are wrapped and set."""
    parts, pattern = looked_for(words)
    text = text.replace("`", "")
    # Nearly all texts lack one of the words, which is found out sooner than where all of them are.
    return bool(parts) and all(part in text for part in parts) and bool(pattern.search(text))


@cache
def looked_for(words: str) -> tuple[list[str], re.Pattern[str]]:
    parts = words.replace("`", "").split()
    joined = r"\s+".join(map(re.escape, parts))
    return parts, re.compile(rf"(?<!\w){joined}(?!\w)")
