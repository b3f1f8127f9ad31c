"""Nodes or tensors that are picked in the picture of the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from gradviz.model.errors import OptionError
from gradviz.model.forms.form import InPicture, Verdict

Of = Literal["nodes", "tensors"]
KINDS: Final[dict[str, tuple[Of, bool]]] = {
    "node": ("nodes", False),
    "nodes": ("nodes", True),
    "tensor": ("tensors", False),
    "tensors": ("tensors", True),
}
"""What is picked, and whether several are, by what a teacher types."""


@dataclass(frozen=True, slots=True)
class Click(InPicture):
    """Nodes or tensors, picked in the picture of the graph as it was before what is asked.

    Examples:
        >>> form = Click.of("node", {"a": "A leaf saves nothing."})
        >>> form.of_, form.many
        ('nodes', False)
        >>> Click(labels=("MulBackward0", "a")).judge(["MulBackward0"], ["a"])
        Verdict(is_right=False, wrong=('a',))
    """

    kind: ClassVar[str] = "click"

    of_: Of = "nodes"
    many: bool = False
    """Whether several may be picked."""

    @classmethod
    def of(cls, given: Any, wrong: Mapping[str, str]) -> Click:
        """``"node"``, ``"nodes"``, ``"tensor"`` or ``"tensors"``."""
        if not isinstance(given, str) or given not in KINDS:
            raise OptionError(
                f"click={given!r} must say what is picked in the picture: "
                f"{', '.join(map(repr, KINDS))}; 'nodes' and 'tensors' let a person pick several"
            )
        of_, many = KINDS[given]
        return cls(dict(wrong), of_=of_, many=many)

    def key_of(self, value: Any) -> list[str]:
        """Labels of what is to be picked."""
        return list(value)

    def is_answered(self, answer: Any) -> bool:
        """Whether at least one is picked, and not more than may be."""
        is_list = isinstance(answer, (list, tuple)) and len(answer) > 0
        return (
            is_list
            and (self.many or len(answer) == 1)
            and all(isinstance(one, str) and one in self.labels for one in answer)
        )

    def judge(self, key: Any, answer: Any) -> Verdict:
        """Exactly those of the key."""
        wrong = tuple(one for one in self.labels if one in answer and one not in key)
        return Verdict(set(answer) == set(key), wrong)

    def lines(self) -> list[str]:
        """What can be picked."""
        what = f"pick {self.of_}" if self.many else f"pick one {self.of_.removesuffix('s')}"
        return [f"{what} in the picture: {', '.join(self.labels)}"]

    def key_text(self, key: Any) -> str:
        """The labels."""
        return "\n".join(sorted(key))

    def key_lines(self, key: Any) -> list[str]:
        """The labels, each in a line."""
        return list(key)
