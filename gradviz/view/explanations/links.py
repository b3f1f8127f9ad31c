"""Terms for the names and lines of an explanation, linked to its recording."""

from __future__ import annotations

from gradviz.model.explanation import CodeLine, Explanation
from gradviz.model.sentence import Sentence, Term
from gradviz.view.text import clean, cleaned


class Links:
    """Makes terms of names and lines; without a recording they are plain text.

    Args:
        explanation: Whose facts they are.
    """

    def __init__(self, explanation: Explanation) -> None:
        self._explanation = explanation
        self._recording = explanation.recording

    def tensor(self, name: str) -> Sentence:
        """A variable: the tensor that has the name at the step of the explanation."""
        recording, step = self._recording, self._explanation.step
        if recording is None:
            return Sentence(clean(name))
        found = recording.history.named(name, len(recording.records) if step is None else step)
        return Sentence(Term(found[0], clean(name)) if found else clean(name))

    @property
    def node(self) -> Sentence:
        """The node of the explanation by torch's name, empty if it has none."""
        key, name = self._explanation.node, clean(self._explanation.node_name or "")
        is_known = self._recording is not None and key is not None and name
        return Sentence(Term(key or "", name) if is_known else name)

    def line(self, at: CodeLine) -> Sentence:
        """``line 4``, with the name of the code unless it is the first."""
        if self._recording is not None:
            return cleaned(self._recording.history.line_term(at))
        where = f" of {at.code}" if at.code not in ("", "cell") else ""
        words = "a line that is not known" if at.line is None else f"line {at.line}{where}"
        return cleaned(words)

    def place(self, at: CodeLine) -> int | None:
        """Number of the source text that a line belongs to."""
        recording = self._recording
        if recording is None or recording.kind == "post-mortem":
            return None
        return recording.history.code_place(at)

    def known_line(self, at: CodeLine) -> CodeLine:
        """A line with the step that the explanation gives it, if it is about that line too."""
        lines = [cause.at for cause in self._explanation.causes]
        for line in (*lines, self._explanation.noticed):
            if line is not None and (line.line, line.code) == (at.line, at.code):
                return line
        return at
