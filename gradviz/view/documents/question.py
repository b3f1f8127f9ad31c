"""What the browser gets of a question: what is asked, and the key and the player sealed.

``widgets/src/documents/question.ts`` describes the same fields for the front end. Sealed is
encoded, not secret: the browser judges without a kernel, so it must be able to read the key.

Every document may have something sealed in it; what only questions need is imported when there is
one.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any, Final

from gradviz.view.documents.graph import FORMAT
from gradviz.view.graph.options import DrawOptions
from gradviz.view.text import clean

if TYPE_CHECKING:
    from gradviz.model.question import Question

SEALED: Final = "sealed"
"""The field of a document that has what is shown after an answer."""


def question_document(question: Question) -> dict[str, Any]:
    """Everything a widget or an HTML page shows of a question, without a kernel."""
    from gradviz.view.contents.question import plain
    from gradviz.view.outlines.text_of import text_of

    code = question.code
    return {
        "format": FORMAT,
        "kind": "question",
        "title": "Question",
        "summary": clean(question.text),
        "text": text_of(question),
        "question": clean(question.text),
        "program": {"first": code.first_line, "lines": plain(code.text) if code.text else []},
        "form": {**cleaned(question.form.data()), **_drawing(question)},
        "id": clean(question.id),
        "digest": question.digest,
        # The key of a test is in its score only: nothing is shown after an answer.
        **(
            {"test": clean(question.test), SEALED: ""}
            if question.test
            else {SEALED: sealed(_answer(question))}
        ),
    }


def _drawing(question: Question) -> dict[str, Any]:
    """The picture in which a question is answered; its texts are clean where it is drawn."""
    drawing = question.form.drawing()
    return {"picture": dict(drawing)} if drawing else {}


def sealed(answer: dict[str, Any]) -> str:
    """An answer as text that nobody reads by chance."""
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    packed = zlib.compress(text.encode("utf-8", "backslashreplace"), 9)
    return base64.b64encode(packed).decode("ascii")


def unsealed(text: str) -> dict[str, Any]:
    """What :func:`sealed` was given."""
    answer: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text)))
    return answer


def _answer(question: Question) -> dict[str, Any]:
    """What is shown once the question was answered."""
    from gradviz.view.documents.recording import recording_document

    form, recording = question.form, question.recording
    step = None if question.step is None else recording.numbers.number(question.step)
    return {
        "key": cleaned(question.key),
        "key_lines": list(map(clean, form.key_lines(question.key))),
        "sentences": cleaned(dict(form.sentences)),
        "why": clean(question.why),
        "printed": question.printed,
        "player": recording_document(recording, step, options=DrawOptions.of(hide=question.hide)),
    }


def cleaned(data: Any) -> Any:
    """Plain data with clean texts, so that options and keys stay equal."""
    if isinstance(data, str):
        return clean(data)
    if isinstance(data, dict):
        return {clean(name): cleaned(value) for name, value in data.items()}
    return list(map(cleaned, data)) if isinstance(data, (list, tuple)) else data
