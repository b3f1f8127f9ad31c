"""A question as text: what a notebook stores, and what a script prints."""

from __future__ import annotations

from gradviz.model.question import Question
from gradviz.view.captions.caption import caption
from gradviz.view.text import clean


def question_text(question: Question) -> str:
    """The question, its program and its options; the key only where it is to be shown."""
    lines = [clean(question.text), *(f"  {line}" for line in program(question))]
    lines += [f"  {clean(line)}" for line in question.form.lines()]
    lines.append(f"answer: {question.digest}")
    if question.is_answered:
        lines += answer_lines(question)
    return "\n".join(lines)


def program(question: Question) -> list[str]:
    """The lines of the program with their numbers, without common indentation."""
    code = question.code
    if not code.text:
        return []
    numbers = range(code.first_line, code.first_line + code.text.count("\n") + 1)
    width = len(str(numbers[-1]))
    return [
        f"{number:>{width}}  {line}".rstrip() for number, line in zip(numbers, plain(code.text))
    ]


def plain(text: str) -> list[str]:
    """Clean lines without their common indentation."""
    lines = [clean(line) if line.strip() else "" for line in text.expandtabs(4).split("\n")]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[indent:] for line in lines]


def answer_lines(question: Question) -> list[str]:
    """torch's answer, and why the others are wrong."""
    form = question.form
    lines = ["torch's answer:", *(f"  {clean(line)}" for line in form.key_lines(question.key))]
    lines += [f"  {clean(question.why)}"] if question.why else []
    if question.step is not None:
        number = question.recording.numbers.number(question.step)
        lines.append(f"step {number}: {clean(caption(question.recording, question.step))}")
    if question.printed:
        lines += ["printed:", *(f"  {clean(line)}" for line in question.printed.splitlines())]
    told = [f"  {clean(part)}: {clean(words)}" for part, words in form.sentences.items() if words]
    return [*lines, "sentences:", *told] if told else lines
