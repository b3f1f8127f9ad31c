"""Golden files that hold, under the name of each program, all that is said of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from gradviz.model.explanation import Explanation

GOLDEN: Final = Path(__file__).parents[2] / "golden"
_HEAD: Final = "== "
_DECIMAL: Final = re.compile(r"-?\d+\.\d+(e[-+]?\d+)?")


class Stored:
    """The texts of one file.

    Args:
        name: Of the file.
        programs: Names of all programs, in the order in which the file has them.
        is_updating: Whether texts are written and not compared.
    """

    def __init__(self, name: str, programs: Iterable[str], is_updating: bool = False) -> None:
        self.file = GOLDEN / name
        self.programs = list(programs)
        self.is_updating = is_updating
        self.texts: dict[str, str] = {}
        parts = self.file.read_text("utf-8").split(f"\n{_HEAD}") if self.file.exists() else []
        for part in parts:
            program, _, text = part.removeprefix(_HEAD).partition("\n")
            self.texts[program] = text.rstrip("\n")

    def of(self, program: str, text: str, device: str) -> str:
        """What is stored of a program; all programs are stored as they run on the CPU."""
        if self.is_updating and device == "cpu":
            self.texts[program] = text
            self.file.write_text(self.whole(), "utf-8")
        return self.texts.get(program, "")

    def whole(self) -> str:
        """The text of the file, which has no program but these."""
        return "\n".join(
            f"{_HEAD}{program}\n{self.texts[program]}\n"
            for program in self.programs
            if program in self.texts
        )


def said(found: Explanation) -> str:
    """All that an explanation says: its card, then what it marks in the picture of the graph."""
    return "\n".join((str(found), *_marks(found)))


def _marks(found: Explanation) -> Iterable[str]:
    if found.recording is None or found.step is None:
        assert not found.marks
        return
    graph = found.recording.all_steps[found.step].graph
    for mark in found.marks:
        marked = mark.id.partition(".")[0]
        name = graph[marked].name if marked.startswith("n") else graph.tensor(marked).name
        yield f"marked {mark.kind}: {name or 'a tensor'} {mark.id}: {mark.words}"


def fields_of(text: str) -> dict[str, str]:
    """The first line of each field of a card."""
    lines = (line.partition(": ") for line in text.split("\n") if not line.startswith(" "))
    return {name: value for name, _, value in lines}


def on_device(text: str, device: str) -> list[str]:
    """The fields that are compared: elsewhere random numbers, exceptions and fixes are others."""
    if device == "cpu":
        return text.split("\n")
    fields = [" ".join(field.split()) for field in re.split(r"\n(?! )", _DECIMAL.sub("#", text))]
    labels = [field.partition(": ")[0] for field in fields]
    return [
        label if label == "raised" or "fix" in label else field
        for label, field in zip(labels, fields, strict=True)
    ]
