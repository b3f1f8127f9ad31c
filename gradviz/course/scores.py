"""Counts the answers to a test that learners have saved as CSV files and handed in.

A file has one row per question: what was answered, and what the browser judged by torch's key when
the score was asked for. It has no name in it; whoever collects the files names them. A learner can
edit a file, so this is for teaching, and no exam.

Examples:
    >>> from gradviz.course.scores import Row, summary
    >>> row = Row("inventory", "inventory/two-batches", "sha256-1", "wrong", '"12"', "05-add-up")
    >>> print(summary({"before": [[row]]}))
    inventory  before: 1 file
    question     before  most frequent wrong answer  lesson
    two-batches  0 of 1  12 (1)                      05-add-up
    right of 1     0.0
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FIELDS: Final = ("test", "question", "digest", "result", "answer", "see")
"""Columns of a file that are counted; ``widgets/src/question/score.ts`` writes them."""
RESULTS: Final = ("right", "wrong", "open")
SHOWN: Final = 44
"""Characters of a wrong answer."""


class ScoreError(Exception):
    """Files that cannot be counted; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one person answered to one question."""

    test: str
    question: str
    digest: str
    """Of the question and its key: only the same questions can be counted together."""
    result: str
    """One of :data:`RESULTS`."""
    answer: str
    """As JSON, nothing if there was none."""
    see: str
    """The lesson that helps."""


def score(given: Sequence[Path]) -> str:
    """How often each question was answered right, as a table with a column for each argument.

    Args:
        given: Files, or folders with files: those of before the course, those of after it.

    Raises:
        ScoreError: If there is no file, or one was not saved by the score of a test.
    """
    return summary({str(path): [read(file) for file in _files(path)] for path in given})


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not (found := sorted(path.glob("*.csv"))):
        why = "has no .csv file in it" if path.is_dir() else "does not exist"
        raise ScoreError(
            f"{path} {why}. Name a folder with the files that learners have saved below a test, "
            "with the button Save my answers (CSV)"
        )
    return found


def read(path: Path) -> list[Row]:
    """The rows of a file.

    Raises:
        ScoreError: If it was not saved by the score of a test.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [Row(**{name: row[name] for name in FIELDS}) for row in csv.DictReader(file)]
        if not rows or any(row.result not in RESULTS for row in rows):
            raise ValueError
        for row in rows:
            _words(row.answer)
    except (OSError, ValueError, KeyError, TypeError, csv.Error):
        raise ScoreError(
            f"{path} is no file that the score of a test has saved, or it was changed by another "
            "program: ask for it once more, or leave it out"
        ) from None
    return rows


def summary(groups: Mapping[str, Sequence[Sequence[Row]]]) -> str:
    """The table of several groups of files.

    Args:
        groups: The rows of each file, by the name of the group.

    Raises:
        ScoreError: If the files are of several tests.
    """
    all_rows = [row for files in groups.values() for rows in files for row in rows]
    if len(tests := sorted({row.test for row in all_rows})) != 1:
        raise ScoreError(f"these are files of several tests ({', '.join(tests)}): count one test")
    known = list(dict.fromkeys(row.question for row in all_rows))
    digests = {
        name: _most(row.digest for row in all_rows if row.question == name) for name in known
    }
    counted = {
        group: [row for rows in files for row in rows if row.digest == digests[row.question]]
        for group, files in groups.items()
    }
    last = list(counted)[-1]
    lines = [["question", *groups, "most frequent wrong answer", "lesson"]]
    for name in known:
        of_groups = {
            group: [r for r in rows if r.question == name] for group, rows in counted.items()
        }
        cells = [f"{_right(rows)} of {len(rows)}" for rows in of_groups.values()]
        see = next(row.see for row in all_rows if row.question == name)
        lines.append([name.removeprefix(f"{tests[0]}/"), *cells, _wrong(of_groups[last]), see])
    means = [
        f"{_right(counted[group]) / len(files):5.1f}" if files else ""
        for group, files in groups.items()
    ]
    lines.append([f"right of {len(known)}", *means, "", ""])
    said = ", ".join(
        f"{group}: {len(files)} file{'' if len(files) == 1 else 's'}"
        for group, files in groups.items()
    )
    left = len(all_rows) - sum(map(len, counted.values()))
    words = (
        "answer is to another edition of its question"
        if left == 1
        else ("answers are to other editions of their questions")
    )
    more = f"\n{left} {words}, and not counted." if left else ""
    return f"{tests[0]}  {said}\n{_columns(lines)}{more}"


def _right(rows: Sequence[Row]) -> int:
    return sum(row.result == "right" for row in rows)


def _wrong(rows: Sequence[Row]) -> str:
    wrong = [row.answer for row in rows if row.result == "wrong"]
    if not wrong:
        return ""
    words = _words(most := _most(wrong))
    words = words if len(words) <= SHOWN else f"{words[: SHOWN - 1]}…"
    return f"{words} ({wrong.count(most)})"


def _most(texts: Iterable[str]) -> str:
    """The most frequent one; of several the first in the alphabet."""
    counts = Counter(texts)
    return min(counts, key=lambda text: (-counts[text], text))


def _words(answer: str) -> str:
    """An answer in a line."""
    value = json.loads(answer) if answer else ""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _columns(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
