"""What a lesson asks of a learner: counted in a source file or in a notebook, and what it may be.

A lesson has one idea and takes fifteen minutes. ``python -m tests.lessons.lesson_budget`` prints
the table of ``docs/instructor_guide.md``; with ``--write`` it is put there.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat

from notebooks import build

FIFTEEN_MINUTES = tuple(one.stem for one in build.sources() if one.stem != "00-start")
"""The lessons: all but the start page."""

WORDS_A_MINUTE = 180
SECONDS_A_LINE = 3
SECONDS_A_QUESTION = 36
MINUTES_A_PLAYER = 2.0
MINUTES_A_REPAIR = 3.5

ORDER = ("riddle", "predict", "watch", "explain", "repair", "bet", "remember", "own")
"""Words in the ids of cells, in the order in which each comes for the first time."""

ASKS = {"predict"}
REPAIRS = {"repair"}
PLAYERS = {"explore"}
PICTURES = {"show", "what_if", *PLAYERS}
PROSE = re.compile(r"\]\([^)]*\)|[*`#|>]|<[^>]+>|-{3,}")
"""What of Markdown is no word, or the address of a link."""

MARKS: dict[str, tuple[int, str]] = {
    "formula": (3, r'class="gv-formula'),
    "source": (3, r">line \d+: "),
    "hooks": (3, r">hook "),
    "saved": (4, r'class="gv-pocket'),
    "versions": (10, r">[^<]*(?<!@)\bv\d+\b"),
}
"""A part of a picture that can be hidden, the lesson that introduces it, and its sign in a drawing.

Parts that are not here are those of the first lesson. Looked at are the cards. Captions are
sentences about a cause, and name what a node used whatever is hidden, ``self = b @v0``: see
``versions_too_early``. Tooltips say everything. The player that follows the answer to a question
hides nothing.
"""
MAY_NAME_A_DEVICE: tuple[str, ...] = ("09-taking-a-value-out",)
"""Lessons about devices, or about NumPy, which reads the memory of the CPU. All others are the same
on each, and say so once at most."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What is in a lesson.

    Args:
        cells: Cells, of text and of code.
        words: Words of prose; those of a question belong to the question.
        lines: Lines of code that are read: not empty, no comment, and of a question the program.
            The program of a repair belongs to the minutes of the repair.
        players: Recordings that are stepped through outside a question.
        predictions: Questions about a program that are not a bet.
        bets: Statements from the wild that a program refutes.
        repairs: Programs that the learner repairs.
        first_picture: The cell, from 1, with the first picture or player; 0 where there is none.
        first_question: The cell, from 1, with the first question; 0 where there is none.
    """

    cells: int
    words: int
    lines: int
    players: int
    predictions: int
    bets: int
    repairs: int
    first_picture: int
    first_question: int

    @property
    def questions(self) -> int:
        return self.predictions + self.bets

    @property
    def minutes(self) -> float:
        """How long a learner needs."""
        return (
            self.words / WORDS_A_MINUTE
            + self.lines * SECONDS_A_LINE / 60
            + self.questions * SECONDS_A_QUESTION / 60
            + self.players * MINUTES_A_PLAYER
            + self.repairs * MINUTES_A_REPAIR
        )

    def too_much(self) -> list[str]:
        """What is more, or less, than fifteen minutes allow."""
        most = {"cells": 25, "words": 450, "lines": 50, "players": 2, "minutes": 15.0}
        exactly = {"predictions": 3, "bets": 1, "repairs": 1}
        found = [
            f"{name}: {getattr(self, name):g}, at most {limit:g}"
            for name, limit in most.items()
            if getattr(self, name) > limit
        ]
        found += [
            f"{name}: {getattr(self, name)}, exactly {wanted}"
            for name, wanted in exactly.items()
            if getattr(self, name) != wanted
        ]
        if not 1 <= self.first_picture <= 4:
            found.append(f"first picture: cell {self.first_picture}, at most 4")
        return found


def of_source(source: Path) -> Budget:
    """The budget of a percent source."""
    return of_cells(build.read(source).cells)


def of_notebook(notebook: Path) -> Budget:
    """The budget of a notebook, of whichever edition."""
    return of_cells(nbformat.read(notebook, as_version=4).cells)


def of_cells(cells: Iterable[Any]) -> Budget:
    """The budget of cells that have an id."""
    cells = list(cells)
    words = sum(len(prose(cell.source)) for cell in cells if cell.cell_type == "markdown")
    code = [cell.source if cell.cell_type == "code" else "" for cell in cells]
    trees = [ast.parse(without_magics(source)) for source in code]
    recorded = {name for tree in trees for name in recordings(tree)}
    asked = [asks(tree) for tree in trees]
    players = [is_recorded(source) + shown(tree, recorded) for source, tree in zip(code, trees)]
    pictured = [
        bool(player or named(tree, PICTURES) or programs(tree, ASKS | REPAIRS))
        for player, tree in zip(players, trees)
    ]
    bets = [number if "bet" in cell.id.split("-") else 0 for cell, number in zip(cells, asked)]
    return Budget(
        cells=len(cells),
        words=words,
        lines=sum(lines(tree, source) for tree, source in zip(trees, code)),
        players=sum(players),
        predictions=sum(asked) - sum(bets),
        bets=sum(bets),
        repairs=sum(len(programs(tree, REPAIRS)) for tree in trees),
        first_picture=place(pictured),
        first_question=place([bool(number) for number in asked]),
    )


def place(found: list[bool]) -> int:
    return found.index(True) + 1 if True in found else 0


def prose(text: str) -> list[str]:
    """The words of a Markdown text."""
    return [word for word in PROSE.sub(" ", text).split() if re.search(r"\w", word)]


def without_magics(source: str) -> str:
    return re.sub(r"^[ \t]*[%!].*", "", source, flags=re.MULTILINE)


def is_recorded(source: str) -> int:
    """Whether IPython records the cell."""
    return int(source.startswith("%%gradviz"))


def called(node: ast.AST) -> str:
    """The last word of what is called."""
    function = node.func if isinstance(node, ast.Call) else node
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def programs(tree: ast.AST, by: set[str]) -> list[ast.FunctionDef]:
    """Functions that one of these decorates."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(called(d) in by for d in node.decorator_list)
    ]


def asks(tree: ast.AST) -> int:
    """How many questions there are."""
    return len(programs(tree, ASKS))


def recordings(tree: ast.AST) -> Iterator[str]:
    """Variables that are recordings."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.withitem)
            and called(node.context_expr) == "record"
            and isinstance(node.optional_vars, ast.Name)
        ):
            yield node.optional_vars.id


def named(tree: ast.AST, wanted: set[str]) -> list[ast.Call]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and called(n) in wanted]


def shown(tree: ast.AST, recorded: set[str]) -> int:
    """How many recordings are shown, or played with."""
    return sum(
        called(call) in PLAYERS
        or any(isinstance(one, ast.Name) and one.id in recorded for one in call.args)
        for call in named(tree, PICTURES)
    )


def lines(tree: ast.Module, source: str) -> int:
    """Lines of code that a learner reads."""
    written = without_magics(source).splitlines()
    unread: set[int] = set()
    for program in programs(tree, REPAIRS):
        unread |= {line for d in program.decorator_list for line in span(d)} | span(program)
    for program in programs(tree, ASKS):
        decorators = {line for d in program.decorator_list for line in span(d)}
        answer = program.body[-1]
        unread |= decorators | set(range(program.lineno, program.body[0].lineno))
        if isinstance(answer, ast.Return):
            unread |= span(answer)
    return sum(
        number not in unread and bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in enumerate(written, 1)
    )


def span(node: Any) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def marks_too_early(drawing: str, lesson: int) -> list[str]:
    """Parts of a drawing that a later lesson introduces.

    Examples:
        >>> marks_too_early("<text>x (3,) v0</text>", 9)
        ['versions, from lesson 10']
    """
    cards = re.sub(r"<title>.*?</title>", "", drawing, flags=re.DOTALL)
    return [
        f"{part}, from lesson {first}"
        for part, (first, seen) in MARKS.items()
        if lesson < first and re.search(seen, cards)
    ]


def versions_too_early(outline: str, lesson: int) -> list[str]:
    """What captions of a recording say of versions before the lesson that introduces them.

    That a tensor was saved ``@v0`` can be read over; that a version has changed cannot.

    Examples:
        >>> versions_too_early("MulBackward0 used saved self = b @v0", 4)
        []
        >>> versions_too_early("saved self = b @v0, now @v1", 4)
        ['@v1']
    """
    first, _ = MARKS["versions"]
    return re.findall(r"@v(?!0\b)\d+", outline) if lesson < first else []


def parts_out_of_order(ids: Iterable[str]) -> list[str]:
    """What a lesson lacks of ``ORDER``, or has before what belongs before it.

    Examples:
        >>> parts_out_of_order("riddle predict watch repair explain my-bet remember".split())
        ['no own', 'repair before explain']
    """
    words = [cell_id.split("-") for cell_id in ids]
    first = {part: place([part in each for each in words]) for part in ORDER}
    there = [part for part in ORDER if first[part]]
    return [
        *(f"no {part}" for part in ORDER if not first[part]),
        *(f"{b} before {a}" for a, b in pairwise(there) if first[b] < first[a]),
    ]


def table() -> str:
    """What each lesson asks of a learner, as the instructor guide shows it."""
    heads = "lesson", "cells", "words", "lines of code", "players", "questions", "first picture"
    rows = [f"| {' | '.join(heads)} | minutes |", "|---" * (len(heads) + 1) + "|"]
    for lesson in FIFTEEN_MINUTES:
        one = of_source(build.SOURCE / f"{lesson}.py")
        counted = (one.cells, one.words, one.lines, one.players, one.questions)
        found = " | ".join(map(str, counted))
        rows.append(
            f"| {int(lesson[:2])} | {found} | cell {one.first_picture} | {one.minutes:.1f} |"
        )
    return "\n".join(rows)


def write(page: Path) -> None:
    """Put the table into a page in place of the one that is there."""
    text = page.read_text("utf-8")
    heads = re.escape(table().partition("\n")[0])
    page.write_text(re.sub(rf"{heads}\n(\|.*\n)+", f"{table()}\n", text), "utf-8", newline="\n")


if __name__ == "__main__":
    print(table())
    if sys.argv[1:] == ["--write"]:
        write(build.HERE.parent / "docs" / "instructor_guide.md")
