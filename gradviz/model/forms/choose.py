"""One of several options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from gradviz.model.errors import OptionError
from gradviz.model.forms.form import Form, Verdict, listed, sentences_of, with_error


@dataclass(frozen=True, slots=True)
class Choose(Form):
    """Options of which one is right.

    Examples:
        >>> form = Choose.of({"2": "That is y.", "4": "That is y.grad."}, {})
        >>> form.judge(form.key_of(4), "2")
        Verdict(is_right=False, wrong=('2',))
    """

    kind: ClassVar[str] = "choose"

    @classmethod
    def of(cls, given: Any, wrong: Mapping[str, str]) -> Choose:
        """Each option with its sentence."""
        if wrong:
            raise OptionError("choose= has a sentence for each option; leave wrong= out")
        return cls(sentences_of(given, "choose"))

    def key_of(self, value: Any) -> str:
        """The option that has this text."""
        key = str(value)
        if key not in self.sentences:
            raise OptionError(
                f"the function returned {key!r}, which is none of the options: "
                f"{listed(self.sentences)}. Return one of them, or add it to choose="
            )
        return key

    def key_of_error(self, name: str) -> str | None:
        """The one option that names the type of the error."""
        return with_error(self.sentences, name)

    def is_answered(self, answer: Any) -> bool:
        """Whether it is one of the options."""
        return isinstance(answer, str) and answer in self.sentences

    def judge(self, key: Any, answer: Any) -> Verdict:
        """Only the key is right."""
        return Verdict(answer == key, () if answer == key else (answer,))

    def data(self) -> dict[str, Any]:
        """The options."""
        return {"kind": self.kind, "options": list(self.sentences)}

    def lines(self) -> list[str]:
        """A circle before each option."""
        return [f"( ) {one}" for one in self.sentences]

    def key_text(self, key: Any) -> str:
        """The option."""
        return str(key)

    def key_lines(self, key: Any) -> list[str]:
        """The option."""
        return [str(key)]
