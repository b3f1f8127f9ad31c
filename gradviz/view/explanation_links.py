"""Names in the sentences of an explanation, led back to what they name in its recording."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from gradviz.model.explanation import CodeLine, Explanation
from gradviz.model.recording import Recording
from gradviz.view import phrases
from gradviz.view.story import Term, Words
from gradviz.view.text import clean

MOST: Final = 300
"""Tensors whose names are looked for in sentences."""
ENGLISH: Final = re.compile(
    "a|all|an|and|as|at|backward|before|by|code|data|do|for|from|grad|gradient|graph|has|i|if|in|"
    "input|is|it|its|leaf|line|new|no|node|not|of|on|one|or|out|output|result|root|saved|so|step|"
    "tensor|that|the|this|to|two|value|version|view|was|what|with",
    re.IGNORECASE,
)
"""Names that a sentence may use as words of its own; they are led back only as ``a.grad``."""


class Links:
    """Leads names to ids; of a program that was not recorded, to nothing.

    Args:
        explanation: Whose names they are.
    """

    def __init__(self, explanation: Explanation) -> None:
        self._explanation = explanation
        self._recording = explanation.recording
        self._tensors: dict[str, str] = {}
        self._nodes: dict[str, str] = {}
        if self._recording is not None:
            self._read(self._recording)
        self._pattern = self._words()

    def tensor(self, name: str) -> Words:
        """A variable."""
        name = clean(name)
        known = self._tensors.get(name)
        return (Term(known, name) if known else name,)

    def node(self, name: str) -> Words:
        """A node by torch's name."""
        name = clean(name)
        known = self._nodes.get(name)
        return (Term(known, name) if known else name,)

    def line(self, at: CodeLine) -> Words:
        """``line 4``, with the name of the code unless it is the first."""
        if at.line is None:
            return ("a line that is not known",)
        place = self.place(at)
        first = self._recording.codes[0].name if self._recording and self._recording.codes else ""
        where = f" of {clean(at.code)}" if at.code not in ("", "cell", first) else ""
        name = f"line {at.line}"
        word: str | Term = name if place is None else line_term(place, at, name)
        return (word, where) if where else (word,)

    def place(self, at: CodeLine) -> int | None:
        """Number of the source text that a line belongs to."""
        recording = self._recording
        if recording is None or at.line is None or recording.kind == "post-mortem":
            return None
        if at.step is not None and 0 <= at.step < len(recording):
            facts = recording.facts[at.step]
            if facts.line == at.line:
                return facts.code
        for place, code in enumerate(recording.codes):
            last = code.first_line + code.text.count("\n")
            if at.code in ("", code.name) and code.first_line <= at.line <= last:
                return place
        return None

    def prose(self, sentence: str) -> Words:
        """A sentence in which names, nodes and lines are led back."""
        text, end = clean(sentence), 0
        found: list[str | Term] = []
        for match in self._pattern.finditer(text):
            word = self._word(match[0], text[match.end() :])
            if word is not None:
                found += [text[end : match.start()], word]
                end = match.end()
        return tuple(part for part in (*found, text[end:]) if part)

    def _word(self, name: str, rest: str) -> Term | None:
        if name.startswith("line "):
            known = self.known_line(int(name[5:]))
            place = self.place(known)
            return None if place is None else line_term(place, known, name)
        if ENGLISH.fullmatch(name) and not re.match(r"\.\w", rest):
            return None
        known_id = self._nodes.get(name) or self._tensors.get(name)
        return None if known_id is None else Term(known_id, name)

    def known_line(self, number: int) -> CodeLine:
        """The line with this number that the explanation is about, else of the first code."""
        lines = [cause.at for cause in self._explanation.causes]
        for line in (*lines, self._explanation.noticed):
            if line is not None and line.line == number:
                return line
        return CodeLine(number)

    def _read(self, recording: Recording) -> None:
        index = self._explanation.step
        steps = range(len(recording))
        graph = recording.graph if index not in steps else recording.graph_at(index or 0)
        for info in graph.tensors[:MOST]:
            if info.name:
                self._tensors.setdefault(phrases.tensor_name(info), info.id)
        names = Counter(node.name for node in graph.nodes)
        self._nodes = {clean(n.name): n.id for n in graph.nodes if names[n.name] == 1}
        self._nodes.pop("AccumulateGrad", None)
        if (node := self._explanation.node) is not None and self._explanation.node_name:
            self._nodes[clean(self._explanation.node_name)] = node

    def _words(self) -> re.Pattern[str]:
        names = sorted({*self._tensors, *self._nodes}, key=lambda name: (-len(name), name))
        choices = "|".join(("line [0-9]{1,9}", *map(re.escape, names)))
        return re.compile(rf"(?<![\w.])(?:{choices})(?!\w)")


def line_term(place: int, at: CodeLine, text: str) -> Term:
    """A line that lights up; with the step at which it had run."""
    return Term(f"line:{place}:{at.line}", text, at.step)
