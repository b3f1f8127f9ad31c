"""A question as HTML without style or script, for readers without a kernel."""

from __future__ import annotations

from gradviz.model.question import Question
from gradviz.view.outlines.question import answer_lines, program
from gradviz.view.parts.html import with_code
from gradviz.view.parts.image import image_html
from gradviz.view.text import xml


def question_html(question: Question) -> str:
    """The question, its program and its options; the key only where it is to be shown."""
    lines = "\n".join(map(xml, program(question)))
    parts = [f"<p><b>{with_code(question.text)}</b></p>"]
    parts += [f"<pre>{lines}</pre>"] if lines else []
    if drawing := question.form.drawing():
        parts.append(f"<div>{image_html(drawing['svg'], 'the graph')}</div>")
    parts.append(f"<pre>{chr(10).join(map(xml, question.form.lines()))}</pre>")
    parts.append(f"<p>answer: <code>{question.digest}</code></p>")
    if question.is_answered:
        parts.append(f"<pre>{chr(10).join(map(xml, answer_lines(question)))}</pre>")
    return "\n".join(parts)
