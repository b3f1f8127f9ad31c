"""All options that hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from gradviz.model.errors import OptionError
from gradviz.model.forms.form import Form, Verdict, listed, sentences_of, with_error

NONE: Final = "none of these"
"""The last row, so that nothing can be an answer too."""


@dataclass(frozen=True, slots=True)
class Tick(Form):
    """Options of which any number is right.

    Examples:
        >>> form = Tick.of({"a": "a is a leaf.", "b": "b is not."}, {})
        >>> form.judge(form.key_of(["a"]), ["a", "b"])
        Verdict(is_right=False, wrong=('b',))
    """

    kind: ClassVar[str] = "tick"

    @classmethod
    def of(cls, given: Any, wrong: Mapping[str, str]) -> Tick:
        """Each option with its sentence."""
        if wrong:
            raise OptionError("tick= has a sentence for each option; leave wrong= out")
        return cls(sentences_of(given, "tick"))

    def key_of(self, value: Any) -> list[str]:
        """The options that hold, in the order of the options."""
        if not isinstance(value, (list, Mapping)):
            raise OptionError(
                f"the function returned {value!r}; for tick= it must return a list or set of "
                f'the options that hold: return ["{next(iter(self.sentences))}"]'
            )
        if unknown := [one for one in value if one not in self.sentences]:
            raise OptionError(
                f"the function returned {unknown[0]!r}, which is none of the options: "
                f"{listed(self.sentences)}. Return some of them, or add it to tick="
            )
        return [one for one in self.sentences if one in value]

    def key_of_error(self, name: str) -> list[str] | None:
        """The one option that names the type of the error."""
        found = with_error(self.sentences, name)
        return None if found is None else [found]

    def is_answered(self, answer: Any) -> bool:
        """Whether it is a list of options, which may be empty."""
        is_list = isinstance(answer, (list, tuple, set, frozenset))
        return is_list and all(one in self.sentences for one in answer)

    def judge(self, key: Any, answer: Any) -> Verdict:
        """Each option that is ticked and does not hold, or holds and is not ticked, is wrong."""
        wrong = tuple(one for one in self.sentences if (one in answer) != (one in key))
        return Verdict(not wrong, wrong)

    def data(self) -> dict[str, Any]:
        """The options."""
        return {"kind": self.kind, "options": list(self.sentences), "none": NONE}

    def lines(self) -> list[str]:
        """A box before each option."""
        return [f"[ ] {one}" for one in (*self.sentences, NONE)]

    def key_text(self, key: Any) -> str:
        """The options that hold."""
        return "\n".join(key)

    def key_lines(self, key: Any) -> list[str]:
        """The options that hold."""
        return list(key) or [NONE]
