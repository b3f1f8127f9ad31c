"""Gradients that are typed on the edges of the picture of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from gradviz.model.errors import OptionError
from gradviz.model.forms.form import InPicture, Verdict
from gradviz.model.forms.numbers import HINT, NotANumberError, Value, read, same, words

DIGITS: Final = 4
"""Significant digits of a key in its digest: devices differ in the last ones."""


@dataclass(frozen=True, slots=True)
class Edges(InPicture):
    """A gradient for each of some edges, typed in the picture from which gradients are left out.

    Examples:
        >>> form = Edges(labels=("MulBackward0 -> a",))
        >>> form.judge({"MulBackward0 -> a": 3.0}, {"MulBackward0 -> a": "3"})
        Verdict(is_right=True, wrong=())
    """

    kind: ClassVar[str] = "edges"

    names: str | tuple[str, ...] = "all"
    """The edges as the teacher names them."""

    @classmethod
    def of(cls, given: Any, wrong: Mapping[str, str]) -> Edges:
        """``"all"``, the name of an edge, or several."""
        names: Any = given
        if not isinstance(given, str):
            names = tuple(given) if isinstance(given, Iterable) else ()
        if not names or not all(isinstance(one, str) for one in names):
            raise OptionError(
                f"edges={given!r} must name edges of the graph, each as the node that passes the "
                "gradient on and where it goes: edges=['MulBackward0 -> a'], or edges='all'"
            )
        return cls(dict(wrong), names=names)

    def key_of(self, value: Any) -> dict[str, Any]:
        """The gradients by label."""
        return dict(value)

    def is_answered(self, answer: Any) -> bool:
        """Whether each field has a number, a list or None."""
        return (
            isinstance(answer, Mapping)
            and set(answer) == set(self.labels)
            and all(_is_typed(text) for text in answer.values())
        )

    def judge(self, key: Any, answer: Any) -> Verdict:
        """Every gradient, within the tolerances of ``torch.testing``."""
        wrong = tuple(one for one in self.labels if not same(key[one], _read(answer[one])))
        return Verdict(not wrong, wrong)

    def lines(self) -> list[str]:
        """An empty field for each edge, and what can be typed."""
        return [*(f"[____] gradient on {one}" for one in self.labels), f"each is {HINT}"]

    def key_text(self, key: Any) -> str:
        """Edges with their gradients in four digits."""
        return "\n".join(f"{one}: {words(key[one], DIGITS)}" for one in self.labels)

    def key_lines(self, key: Any) -> list[str]:
        """An edge in each line, with its gradient."""
        return [f"{one}: {words(key[one])}" for one in self.labels]


def _read(typed: Any) -> Value:
    return read(typed) if isinstance(typed, str) else typed


def _is_typed(typed: Any) -> bool:
    try:
        _read(typed)
    except NotANumberError:
        return False
    return True
