"""What the browser gets of the score of a test: its questions by name, and the keys sealed.

``widgets/src/documents/score.ts`` describes the same fields for the front end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradviz.model.question import Question
from gradviz.view.documents.graph import FORMAT
from gradviz.view.documents.question import SEALED, cleaned, sealed
from gradviz.view.text import clean

KIND = "test score"


def score_document(test: str, questions: Sequence[Question]) -> dict[str, Any]:
    """Everything that judges the answers to a test, without a kernel.

    Args:
        test: Its name.
        questions: In the order in which they are asked.
    """
    name = clean(test)
    count = f"{len(questions)} question{'' if len(questions) == 1 else 's'}"
    said = f"Test {name}: {count}, judged at the end, in the browser in which they are answered."
    return {
        "format": FORMAT,
        "kind": KIND,
        "title": f"score of {name}",
        "summary": said,
        "text": said,
        "test": name,
        "items": [
            {"id": clean(one.id), "digest": one.digest, "question": clean(one.text)}
            for one in questions
        ],
        SEALED: sealed({"items": [_judged(one) for one in questions]}),
    }


def _judged(question: Question) -> dict[str, Any]:
    """What an answer is judged by, and what is said when it is wrong."""
    form = question.form
    # Of a picture the names are enough, to judge what was picked in it.
    picture = {k: v for k, v in form.drawing().items() if k in ("of", "choices", "fields")}
    return {
        "form": {**cleaned(form.data()), **({"picture": picture} if picture else {})},
        "key": cleaned(question.key),
        "named": list(map(clean, form.sentences)),
        "about": clean(question.about),
        "see": clean(question.see),
    }
