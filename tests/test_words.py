"""Words that people read: terms that ``CONTRIBUTING.md`` rules out occur nowhere in them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"


class Text(NamedTuple):
    """A text that people read, where it is written, and the code that it may quote."""

    place: str
    text: str
    quoted: str = ""


@cache
def ruled_out() -> tuple[str, ...]:
    """The terms in the column "not" of the table of words."""
    lines = (ROOT / "CONTRIBUTING.md").read_text("utf-8").splitlines()
    first = lines.index("| say | not |") + 2
    terms: list[str] = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        terms += re.findall(r"`([^`]+)`", line.strip("|").split("|")[1])
    return tuple(terms)


@cache
def pattern() -> re.Pattern[str]:
    """Finds any of the terms, singular or plural, also where a line is broken inside it."""
    terms = sorted(ruled_out(), key=len, reverse=True)
    words = (r"[\s|]+".join(map(re.escape, term.split())) for term in terms)
    return re.compile(rf"(?<![\w.`])(?:{'|'.join(words)})s?(?!\w)", re.IGNORECASE)


def found_in(texts: Iterator[Text]) -> list[str]:
    found = []
    for place, text, quoted in texts:
        for match in pattern().finditer(text):
            around = text[max(0, match.start() - 40) : match.end() + 30]
            if with_neighbours(text, match) in only_words(quoted):
                continue
            found.append(f"{place}: {' '.join(match[0].split())}: … {' '.join(around.split())} …")
    return found


def with_neighbours(text: str, match: re.Match[str]) -> str:
    """What was found, with the words before and after it."""
    before, after = only_words(text[: match.start()]), only_words(text[match.end() :])
    return " ".join((*before.split()[-1:], only_words(match[0]).strip(), *after.split()[:1]))


def only_words(text: str) -> str:
    return re.sub(r"\W+", " ", text)


def goldens() -> Iterator[Text]:
    for path in sorted({*GOLDEN.rglob("*.txt")} - {GOLDEN / "said.txt"}):  # hashes and names
        yield Text(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))


def literals(source: str) -> Iterator[tuple[int, str]]:
    """Texts in the ``raise`` statements of a module; what fills an f-string is left out."""
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.Raise) and statement.exc is not None:
            parts = [
                part.value
                for part in ast.walk(statement.exc)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            yield statement.lineno, "\n".join(parts)


def errors() -> Iterator[Text]:
    for path in sorted((ROOT / "gradviz").rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        for line, text in literals(path.read_text("utf-8")):
            yield Text(f"{place}:{line}", text)


def outputs() -> Iterator[Text]:
    """The stored outputs of the lessons, as plain text; what the author asks is the author's."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                text = output.get("data", {}).get("text/plain", ())
                place = f"notebooks/{path.name} {cell['id']}"
                yield Text(place, "".join(text), "".join(cell["source"]))


def test_the_table_of_words_is_read() -> None:
    assert len(ruled_out()) > 15
    assert len(set(ruled_out())) == len(ruled_out())
    assert "cure" in ruled_out()


def test_the_check_for_words_sees(subtests: pytest.Subtests) -> None:
    for text in ["a cure", "two cures", "The Tape", "line 3\n    goes\n    on", "y | died", "told"]:
        with subtests.test(text=text):
            assert found_in(iter([Text("x", text)]))


def test_the_check_for_words_leaves_alone(subtests: pytest.Subtests) -> None:
    for text in ["secure", "curettes", "x.slot", "taped", "gestapo", "`slot`"]:
        with subtests.test(text=text):
            assert found_in(iter([Text("x", text)])) == []


def test_what_the_code_of_a_cell_says_is_not_found() -> None:
    question = 'predict("BatchNorm goes "\n  "on averaging")'
    assert found_in(iter([Text("x", "[ ] BatchNorm goes on averaging", question)])) == []
    assert found_in(iter([Text("x", "fix 1: goes on with a copy", question)]))


def test_the_check_for_errors_sees_every_text_of_a_raise() -> None:
    source = 'raise E(\n    f"a {x} cure" + "tape"\n)\nwords = "slot"\n'
    assert [text.split() for _, text in literals(source)] == [["tape", "a", "cure"]]


def test_goldens_use_the_words_of_the_table() -> None:
    assert any(goldens())
    assert found_in(goldens()) == []


def test_errors_use_the_words_of_the_table() -> None:
    assert sum(1 for _ in errors()) > 50
    assert found_in(errors()) == []


def test_outputs_of_lessons_use_the_words_of_the_table() -> None:
    assert any(outputs())
    assert found_in(outputs()) == []
