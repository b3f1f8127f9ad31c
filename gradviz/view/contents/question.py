"""What a question consists of where it cannot be answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradviz.model.question import Question
from gradviz.model.sentence import Sentence, say
from gradviz.view.captions.details import details
from gradviz.view.parts.part import CodeBlock, Field, Image, Paragraph, Part, Parts
from gradviz.view.text import clean, cleaned


def question_parts(question: Question) -> Parts:
    """The question, its program and its options; the key only where it is to be shown."""
    return Parts((tuple(_parts(question)),), 0, "  ")


def _parts(question: Question) -> Iterator[Part]:
    form, code = question.form, question.code
    yield Paragraph(cleaned(question.text), look="asked")
    if code.text:
        lines = list(enumerate(plain(code.text), code.first_line))
        width = len(str(lines[-1][0]))
        yield CodeBlock([f"{number:>{width}}  {line}".rstrip() for number, line in lines])
    if drawing := form.drawing():
        yield Image(drawing["svg"], "the graph")
    yield _block(form.lines())
    yield Field("answer", (Sentence(question.digest),))
    if question.is_answered:
        yield from _answer(question)


def _answer(question: Question) -> Iterator[Part]:
    """torch's answer, and why the others are wrong."""
    form = question.form
    yield Paragraph(Sentence("torch's answer:"))
    yield _block([*form.key_lines(question.key), *([question.why] if question.why else ())])
    if question.step is not None:
        number = question.recording.numbers.number(question.step)
        words = cleaned(details(question.recording, question.step))
        yield Paragraph(say("step {}: {}", number, words))
    told = [f"{part}: {words}" for part, words in form.sentences.items() if words]
    for name, lines in (("printed:", question.printed.splitlines()), ("sentences:", told)):
        if lines:
            yield Paragraph(Sentence(name))
            yield _block(lines)


def _block(lines: Iterable[str]) -> CodeBlock:
    return CodeBlock([*map(clean, lines)])


def plain(text: str) -> list[str]:
    """Clean lines without their common indentation."""
    lines = [clean(line) if line.strip() else "" for line in text.expandtabs(4).split("\n")]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[indent:] for line in lines]
