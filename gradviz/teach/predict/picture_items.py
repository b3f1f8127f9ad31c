"""What a person names in a picture: nodes, tensors and names become ids of what can be picked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any, Final

from gradviz.capture import naming
from gradviz.capture.recorder.live_ids import LiveIds
from gradviz.model import Graph, Node, OptionError, Recording, TensorInfo
from gradviz.view.graph.question_picture import Choice

_AN_ID: Final = re.compile(r"[nt][0-9]+")
"""What the ids of a snapshot look like."""


class PictureItems:
    """Finds what is meant among the choices of a picture.

    Args:
        recording: The run.
        graph: The graph that the picture shows.
        choices: Everything in it that has a name.
        before: When the picture is, for errors: ``"before backward 1"``.
        offered: What can be picked, which errors list.
    """

    def __init__(
        self,
        recording: Recording,
        graph: Graph,
        choices: Sequence[Choice],
        before: str,
        offered: Sequence[Choice],
    ) -> None:
        self._choices = choices
        self._offered = offered
        self._before = before
        self._live = LiveIds(recording)
        self._all = {node.id: node.name for node in recording.graph.nodes}
        self._nodes = {node.id: node.name for node in graph.nodes}
        self._tensors = {info.id: info.names for info in graph.tensors}
        self._own: dict[str, str] = {c.id: c.id for c in choices}
        self._own |= {choice.tensor: choice.id for choice in choices if choice.tensor}

    def ids(self, value: Any) -> list[str]:
        """The choices that a value means, each once, in the order of the picture.

        Args:
            value: A tensor, a node, a name (``"b"``, ``"b.grad"``, ``"MulBackward0"``), or a
                collection of these. An id (``"n3"``) is refused: each snapshot counts its own, so
                one of another snapshot would mean another thing here.

        Raises:
            OptionError: If it means nothing in the picture, or several things.
        """
        found = {self._live_or_named(part) for part in _flat(value)}
        return [choice.id for choice in self._choices if choice.id in found]

    def one(self, value: Any) -> str:
        """The one choice that a value means.

        Raises:
            OptionError: If there is none, or there are several.
        """
        return self._one(value)

    def _live_or_named(self, value: Any) -> str:
        if isinstance(value, (Node, TensorInfo)):
            raise OptionError(self._of_a_snapshot(f"{value.id!r} of a snapshot"))
        if isinstance(value, str) and _AN_ID.fullmatch(value.strip()):
            by_name = {name for names in self._tensors.values() for name in names}
            if value.strip() not in by_name | {c.label for c in self._choices}:
                raise OptionError(self._of_a_snapshot(f"the id {value.strip()!r}"))
        return self._one(value)

    def _of_a_snapshot(self, what: str) -> str:
        return (
            f"the answer is {what}, and each snapshot counts its own ids: in this picture it may "
            f"be something else. Return the node itself (out.grad_fn), the tensor, or a name: "
            f"{self.listed}"
        )

    def _one(self, value: Any) -> str:
        if isinstance(value, str):
            return self._named(value.strip())
        if naming.is_tensor(value):
            known, what = self._live.of_tensor(value), "a tensor"
        elif hasattr(value, "next_functions"):
            known, what = self._live.of_node(value), f"the node {value.name()}"
        else:
            raise OptionError(
                f"the answer is {value!r}, which is nothing in the picture: give a tensor, a node, "
                f"or a name: {self.listed}"
            )
        if known is not None and known in self._own:
            return self._own[known]
        why = "is not in the picture" if known else "is not known to the recording of this run"
        raise OptionError(
            f"the answer is {what} that {why}, which shows the graph {self._before}. Give its "
            f"name, or another picture=. There are {self.listed}"
        )

    def _named(self, name: str) -> str:
        plain = name.removesuffix(".grad").strip("`")
        by_label = [c.id for c in self._choices if c.label == plain]
        by_tensor = [
            self._own[key] for key, names in self._tensors.items()
            if plain in names and key in self._own
        ]  # fmt: skip
        of_leaf = [c.id for c in self._choices if c.kind == "leaf" and plain in _leaf_words(c)]
        by_node = [key for key, one in self._nodes.items() if one == plain and key in self._own]
        for found in (by_label, by_tensor, of_leaf, by_node):
            if len(found) == 1:
                return found[0]
            if found:
                labels = [c.label for c in self._choices if c.id in found]
                raise OptionError(
                    f"{name!r} is the name of {len(found)} things in the picture: say which one: "
                    f"{', '.join(map(repr, labels))}"
                )
        if plain in self._own:
            return self._own[plain]
        if plain in self._all.values():
            raise OptionError(
                f"{plain} is not in the picture, which shows the graph {self._before}: say with "
                f"picture= at which step it is there. There are {self.listed}"
            )
        raise OptionError(
            f"{name!r} is nothing in the picture, which shows the graph {self._before}. "
            f"There are {self.listed}"
        )

    @property
    def listed(self) -> str:
        """What can be picked, for errors."""
        return ", ".join(repr(choice.label) for choice in self._offered)


def _leaf_words(leaf: Choice) -> tuple[str, ...]:
    return f"leaf {leaf.label}", f"AccumulateGrad of {leaf.label}"


def _flat(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [part for one in value.values() for part in _flat(one)]
    if isinstance(value, (list, tuple, Set)):
        return [part for one in value for part in _flat(one)]
    return [value]
