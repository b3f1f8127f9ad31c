"""Steps to be put in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar, Final

from gradviz.model.errors import OptionError
from gradviz.model.forms.form import Form, Verdict

_TURNS: Final = 20
"""How many shuffles are looked at; of three items, one in three is the key or its reverse."""


@dataclass(frozen=True, slots=True)
class Order(Form):
    """Items that are moved up and down.

    Examples:
        >>> form = Order.of(["first forward", "then backward"][::-1], {})
        >>> key = form.key_of(["first forward", "then backward"])
        >>> form.judge(key, ["then backward", "first forward"])
        Verdict(is_right=False, wrong=('then backward',))
    """

    kind: ClassVar[str] = "order"

    items: tuple[str, ...] = ()
    """As they are listed; :meth:`asked` has them in the order in which they are shown at first."""

    @classmethod
    def of(cls, given: Any, wrong: Mapping[str, str]) -> Order:
        """The items, or each item with the sentence for when it is at the wrong place."""
        is_list = isinstance(given, (list, tuple, Mapping)) and len(given) > 1
        if not is_list or not all(isinstance(one, str) and one.strip() for one in given):
            raise OptionError(
                'order= lists two or more texts: order=["backward runs Mul", "backward runs Sum"]'
            )
        if len(set(given)) < len(given):
            raise OptionError(
                "order= has the same text twice, and nobody could take them apart: say which is "
                'which, such as "AccumulateGrad of a" and "AccumulateGrad of b"'
            )
        sentences = {**(given if isinstance(given, Mapping) else {}), **wrong}
        if unknown := set(sentences) - set(given):
            raise OptionError(f"wrong= has {min(unknown)!r}, which is not in order=")
        return cls(sentences, tuple(given))

    def key_of(self, value: Any) -> list[str]:
        """All items in the right order."""
        if not isinstance(value, list) or sorted(map(str, value)) != sorted(self.items):
            raise OptionError(
                f"the function returned {value!r}; for order= it must return all of the texts, in "
                f"the right order: {', '.join(map(repr, self.items))}"
            )
        if value == list(self.items):
            raise OptionError(
                "order= lists the texts in the right order already, and whoever reads the cell "
                "reads the answer: list them in another order"
            )
        return value

    def asked(self, key: Any) -> Order:
        """The items shuffled, always in the same way, and neither as the key nor as its reverse.

        Examples:
            >>> Order.of(["c", "b", "a"], {}).asked(["a", "b", "c"]).items
            ('a', 'c', 'b')
        """
        forbidden = [list(key), list(key)[::-1]]
        for turn in range(_TURNS):
            items = sorted(self.items, key=lambda item: _digest(turn, item, self.items))
            if items not in forbidden:
                return replace(self, items=tuple(items))
        return replace(self, items=tuple(forbidden[-1]))  # two items have no third order

    def is_answered(self, answer: Any) -> bool:
        """Whether it has all items."""
        return isinstance(answer, (list, tuple)) and sorted(map(str, answer)) == sorted(self.items)

    def judge(self, key: Any, answer: Any) -> Verdict:
        """The first item that is not at its place is wrong."""
        wrong = [given for right, given in zip(key, answer) if right != given]
        return Verdict(not wrong, tuple(wrong[:1]))

    def data(self) -> dict[str, Any]:
        """The items as they are shown at first."""
        return {"kind": self.kind, "items": list(self.items)}

    def lines(self) -> list[str]:
        """An empty number before each item."""
        return [f"_. {one}" for one in self.items]

    def key_text(self, key: Any) -> str:
        """The items in order."""
        return "\n".join(key)

    def key_lines(self, key: Any) -> list[str]:
        """The items, numbered."""
        return [f"{number}. {one}" for number, one in enumerate(key, 1)]


def _digest(turn: int, item: str, items: tuple[str, ...]) -> bytes:
    text = "\n".join((str(turn), item, *sorted(items)))
    return sha256(text.encode("utf-8", "backslashreplace")).digest()
