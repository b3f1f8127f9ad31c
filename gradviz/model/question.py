"""A question about code that has run, with the answer that torch gave."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from gradviz.model.errors import OptionError
from gradviz.model.forms.form import Form, Verdict
from gradviz.model.presentation import Printed
from gradviz.model.recording import Code, Recording

TURNS: Final = 100_000
"""How often the digest is hashed: slow for who wants to try many answers."""
SHOWN: Final = 16
"""Hexadecimal digits of the digest."""


@dataclass(frozen=True, slots=True, eq=False)
class Question(Printed):
    """A question, its form, and its key, which torch computed.

    Examples:
        >>> from gradviz.model.forms.choose import Choose
        >>> form = Choose.of({"2": "That is y.", "4": "That is y.grad."}, {})
        >>> question = Question("What is y.grad?", form, "4", Recording.empty())
        >>> question.judge("4").is_right
        True
    """

    text: str
    """What is asked; code is between backticks."""
    form: Form
    key: Any
    """torch's answer, as plain data."""
    recording: Recording
    """The run that gave it."""
    step: int | None = None
    """Place of the step that shows it."""
    id: str = ""
    """Of a question of the course, ``"04-twice/second-call"``."""
    hide: tuple[str, ...] = ()
    """Parts that the pictures of its player do not have, as of :func:`gradviz.show`."""
    why: str = ""
    """A sentence that is shown with the key."""
    printed: str = ""
    """What the program printed."""
    is_answered: bool = False
    """Whether the text shows the key: in the edition with the answers."""
    test: str = ""
    """The test it belongs to: nothing is shown after an answer, and the score of the test is."""
    about: str = ""
    """What the score of the test says of a wrong answer."""
    see: str = ""
    """Where the score of the test sends a person who answered it wrong: the file of a lesson."""

    @property
    def code(self) -> Code:
        """The program."""
        codes = self.recording.codes
        return codes[0] if codes else Code("program", 1, "")

    @property
    def digest(self) -> str:
        """A slow hash of the key, salted by the question; the same on every device."""
        salt = f"{self.id}\n{self.text}".encode("utf-8", "backslashreplace")
        key = self.form.key_text(self.key).encode("utf-8", "backslashreplace")
        made = hashlib.pbkdf2_hmac("sha256", key, salt, TURNS)
        return f"sha256-{made.hex()[:SHOWN]}"

    def judge(self, answer: Any) -> Verdict:
        """Compare an answer with torch's.

        Args:
            answer: As plain data: an option; a list of options; of a table a mapping from rows to
                mappings from columns; a number, a list or ``None``, or what was typed for it.

        Raises:
            OptionError: If the answer is not complete, or does not fit the question.
        """
        if not self.form.is_answered(answer):
            raise OptionError(
                f"{answer!r} is no answer to this question: {'; '.join(self.form.lines())}"
            )
        return self.form.judge(self.key, answer)
