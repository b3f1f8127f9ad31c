"""The picture that belongs to a run, and torch's answer in it: what is picked, what is typed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gradviz.model import Graph, OptionError, Recording
from gradviz.model.events import NodeRan
from gradviz.model.records import ValueSummary
from gradviz.teach.predict.picture_items import PictureItems
from gradviz.teach.predict.picture_moment import Moment, moment_of
from gradviz.view.documents.question_picture import Of, can_be_picked, picture_document
from gradviz.view.formatting import plural
from gradviz.view.graph.question_picture import (
    Blank,
    Choice,
    blanks_of,
    choices_of,
    question_picture,
)

HIDDEN: Final = {"click": ("grad", "saved", "versions"), "edges": ("grad", "versions")}
"""Parts that give answers away, which the picture of a form does not have."""
FIELDS: Final = 12
"""Edges on which a gradient is asked for, at most."""
_ENDS: Final = re.compile(r"^(.+?)\s*(?:\[(\d+)\])?\s*(?:->|→)\s*(.+)$")


@dataclass(frozen=True, slots=True)
class RunPicture:
    """The graph of a run at a moment, and what can be named in it.

    Args:
        recording: The run.
        address: The step after which the graph is shown; see :func:`moment_of`.
    """

    recording: Recording
    moment: Moment

    @classmethod
    def of(cls, recording: Recording, address: int | str | None) -> RunPicture:
        """The picture at a step, or before what is asked happens."""
        return cls(recording, moment_of(recording, address))

    @property
    def graph(self) -> Graph:
        """The graph at that moment."""
        return self.recording.graph_at(self.moment.step)

    @property
    def names(self) -> dict[str, str]:
        """What its nodes are called."""
        found = ((node.id, self.recording.history.node_name(node.id)) for node in self.graph.nodes)
        return {key: name.words for key, name in found if name is not None}

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Everything in it that has a name."""
        return choices_of(self.graph, self.names)

    def offered(self, of: Of) -> tuple[Choice, ...]:
        """What can be picked in it."""
        return tuple(choice for choice in self.choices if can_be_picked(choice, of))

    def _items(self, choices: Sequence[Choice], of: Of = "nodes") -> PictureItems:
        moment = self.moment.words
        return PictureItems(self.recording, self.graph, choices, moment, self.offered(of))

    # ------------------------------------------------------------------ click

    def click(self, of: Of, many: bool, hide: Collection[str] | None) -> dict[str, Any]:
        """The picture in which something is picked."""
        hidden = HIDDEN["click"] if hide is None else hide
        drawn = question_picture(self.graph, self.names, hidden)
        return picture_document(drawn, of, many=many)

    def picked(self, of: Of, many: bool, value: Any, *, is_id: bool = False) -> list[str]:
        """The labels of the choices that a value means, in the order of the picture.

        Args:
            of: Whether nodes or tensors are picked.
            many: Whether several may be.
            value: What the function returned.
            is_id: Whether it is an id of this recording instead.

        Raises:
            OptionError: If they cannot be picked.
        """
        items = self._items(self.choices, of)
        found = [items.one(value)] if is_id else items.ids(value)
        chosen = [choice for choice in self.choices if choice.id in found]
        noun = of.removesuffix("s")
        other = next((choice for choice in chosen if not can_be_picked(choice, of)), None)
        if other is not None:
            instead = "tensors" if of == "nodes" else "nodes"
            raise OptionError(
                f"the function returned {other.label}, which is not among the {of} of the picture: "
                f"click={instead.removesuffix('s')!r} or click={instead!r} asks for it"
            )
        labels = [choice.label for choice in chosen]
        if not labels:
            raise OptionError(
                f"the function returned {value!r}, and a person picks at least one {noun}: return "
                f"one or more of {items.listed}"
            )
        if len(labels) > 1 and not many:
            raise OptionError(
                f"the function returned {len(labels)} {of}, {', '.join(labels)}, and "
                f"click={noun!r} asks for one: click={of!r} asks for all of them"
            )
        return labels

    def label(self, of: Of, name: str) -> str:
        """What the choice is called that a name means."""
        offered = self.offered(of)
        found = self._items(offered, of).one(name)
        return next(choice.label for choice in offered if choice.id == found)

    def raised(self) -> str | None:
        """The id of the node that raised the error, ``None`` if no node did."""
        error = self.recording.at_error
        found = [] if error is None else [getattr(event, "node", None) for event in error.events]
        return next((key for key in found[::-1] if key is not None), None)

    # ------------------------------------------------------------------ edges

    def edges(self, names: str | Iterable[str]) -> tuple[Blank, ...]:
        """The edges that names mean: ``"MulBackward0 -> a"``, or ``"all"``.

        Raises:
            OptionError: If there is no such edge, or no gradient is passed along it.
        """
        graph, gradients = self.graph, self.gradients
        if isinstance(names, str) and names != "all":
            names = [names]
        keys = (
            list(gradients)
            if isinstance(names, str)
            else list(dict.fromkeys(key for one in names for key in self._edges(one)))
        )
        if not keys:
            raise OptionError(
                f"no gradient is passed along an edge after the moment {self.moment.words}: edges= "
                "asks for those of a backward, so call backward() in the function"
            )
        if len(keys) > FIELDS:
            raise OptionError(
                f"edges= asks for {len(keys)} gradients, and {FIELDS} are the most that can be "
                f"read at once: name some of {self._edges_listed(gradients)}"
            )
        if missing := [key for key in keys if key not in gradients]:
            raise OptionError(
                f"no gradient is passed along {self._edges_listed(missing)} in this run. There are "
                f"{self._edges_listed(gradients)}"
            )
        return blanks_of(graph, self.names, keys)

    def typing(self, blanks: Sequence[Blank], hide: Collection[str] | None) -> dict[str, Any]:
        """The picture in which gradients are typed."""
        hidden = HIDDEN["edges"] if hide is None else {"grad", *hide}
        drawn = question_picture(self.graph, self.names, hidden, [blank.id for blank in blanks])
        return picture_document(drawn, "nodes", many=True)

    def typed(self, blanks: Sequence[Blank]) -> dict[str, Any]:
        """torch's gradient on each of these edges, by its label.

        Raises:
            OptionError: If a gradient has more numbers than a recording keeps.
        """
        gradients = self.gradients
        return {blank.label: _plain(gradients[blank.id], blank.label) for blank in blanks}

    def last_step(self, blanks: Sequence[Blank]) -> int:
        """The place of the step at which all these gradients are seen."""
        nodes = {blank.ends[0] for blank in blanks}
        runs = self.recording.history.node_runs
        return max(step for (number, node), ((step, _), _) in runs.items()
                   if number == self.moment.backward and node in nodes)  # fmt: skip

    @property
    def gradients(self) -> Mapping[str, ValueSummary]:
        """The gradients that the backward passes along the edges of the picture, by their ids, in
        the order in which it does."""
        there = {node.id: node for node in self.graph.nodes}
        ran: list[NodeRan] = [
            event
            for _, event in self.recording.history.node_order
            if event.backward == self.moment.backward and event.node in there
        ]
        return {
            f"{event.node}.{slot}": gradient
            for event in ran
            for slot, (entry, gradient) in enumerate(
                zip(there[event.node].next_functions, event.grad_inputs)
            )
            if entry is not None and gradient is not None
        }

    def _edges(self, name: str) -> list[str]:
        """The one edge that a name means, in a list."""
        found = _ENDS.match(name.strip()) if isinstance(name, str) else None
        if found is None:
            raise OptionError(
                f"{name!r} is no edge: name the node that passes the gradient on and where it "
                f"goes, as in {self._edges_listed(self.gradients)}"
            )
        source, slot, target = found.groups()
        items = self._items([c for c in self.choices if c.kind in ("node", "leaf")])
        start, end = items.one(source), items.one(target)
        entries = enumerate(self.graph[start].next_functions)
        slots = [at for at, entry in entries if entry is not None and entry[0] == end]
        if slot is not None:
            slots = [at for at in slots if at == int(slot)]
        keys = [f"{start}.{at}" for at in slots]
        if len(keys) == 1:
            return keys
        what = f"{len(keys)} edges have the name" if keys else "no edge has the name"
        there = self._edges_listed(keys or self.gradients)
        raise OptionError(f"{what} {name!r}: there are {there}")

    def _edges_listed(self, keys: Iterable[str]) -> str:
        blanks = blanks_of(self.graph, self.names, list(keys))
        return ", ".join(repr(blank.label) for blank in blanks) or "no edges with a gradient"


def _plain(gradient: ValueSummary, label: str) -> Any:
    """The numbers of a gradient, nested as its shape says."""
    values = gradient.values
    if values is None:
        count = 1
        for size in gradient.shape:
            count *= size
        raise OptionError(
            f"the gradient on {label!r} has {plural(count, 'number')}, more than a recording keeps "
            "and than anybody types: make the tensor smaller, or ask another edge"
        )
    nested: list[Any] = list(values)
    for size in gradient.shape[:0:-1]:
        nested = [nested[at : at + size] for at in range(0, len(nested), size)]
    return nested if gradient.shape else nested[0]
