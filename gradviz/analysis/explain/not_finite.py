"""Where the first nan or inf of a recording was made: among values, or among gradients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

from gradviz.model.events import (
    Accumulated,
    BackwardStarted,
    HookFired,
    NodeRan,
    Operation,
    OptimizerStepped,
    ZeroedGrad,
)
from gradviz.model.history import ALIASES, EventPlace, History
from gradviz.model.records import Node, ValueSummary

Word: TypeAlias = Literal["nan", "inf"]
_MASKS: Final = ("-inf", "inf")
"""Texts of a number that is given to a call which fills it in."""


@dataclass(frozen=True)
class FirstValue:
    """A call whose result has nan or inf although nothing that it read had any; or one that read
    what no recorded call had made.

    Args:
        place: When it ran.
        call: The call.
        word: What its result has.
        source: Key of the tensor that had it before any recorded call; ``None`` if the call
            itself made it.
        infinite: The first call that made the inf of which this one has made nan.
    """

    place: EventPlace
    call: Operation
    word: Word
    source: str | None = None
    infinite: FirstValue | None = None

    @property
    def is_filled_in(self) -> bool:
        """Whether the call was given the inf as a number, or made it of nothing: a mask."""
        call = self.call
        return not call.reads or any(o.shape is None and o.text in _MASKS for o in call.inputs)

    @property
    def read(self) -> Iterator[tuple[str, ValueSummary]]:
        """What it read, and the numbers."""
        for key, values in zip(self.call.reads, self.call.read_values):
            if values is not None and key not in self.call.made:
                yield key, values


@dataclass(frozen=True)
class FirstGradient:
    """A node that got finite gradients and returned one that is not.

    Args:
        place: When it ran.
        node: The node.
        ran: What it got, returned and had saved.
        word: What the first gradient that is not finite has.
    """

    place: EventPlace
    node: Node
    ran: NodeRan
    word: Word


@dataclass(frozen=True)
class FirstGiven:
    """A gradient that was not finite when it came from outside: given to backward, or returned by a
    hook.

    Args:
        place: When.
        event: The backward, or the hook.
        word: What it has.
    """

    place: EventPlace
    event: BackwardStarted | HookFired
    word: Word


First: TypeAlias = "FirstValue | FirstGradient | FirstGiven"


def word_of(values: ValueSummary | None) -> Word | None:
    """``"nan"`` or ``"inf"``; ``None`` for finite numbers and for those that are not known."""
    if values is None:
        return None
    return "nan" if values.has_nan else "inf" if values.has_inf else None


def is_finite(values: ValueSummary | None) -> bool:
    """Whether numbers are known to be finite; no gradient at all is."""
    return values is None or (values.has_nan is False and values.has_inf is False)


class NotFinite:
    """The values and gradients of a recording that have nan or inf.

    Args:
        history: The recording.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._made: dict[str, list[tuple[EventPlace, Operation, ValueSummary]]] = defaultdict(list)
        for place, call in history.told(Operation):
            for key, values in zip(call.made, call.made_values):
                if values is not None and word_of(values) is not None:
                    self._made[key].append((place, call, values))

    # ----------------------------------------------------------------- values

    def root(self, started: BackwardStarted, place: EventPlace) -> tuple[str, Word] | None:
        """The first root of a backward that has nan or inf, by its key."""
        for node, output in started.roots:
            for _, call in self._calls_of(node, place):
                key = call.made[output] if output < len(call.made) else None
                found = None if key is None else self._last(key, place)
                if key is not None and found is not None:
                    word = word_of(found[2])
                    if word is not None:
                        return key, word
        return None

    def _calls_of(self, node: str, before: EventPlace) -> Iterator[tuple[EventPlace, Operation]]:
        born = self._history.birth(node)[0]
        for step, call in self._history.events(Operation, before[0], born):
            if call.node == node:
                yield (step, 0), call

    def _last(
        self, key: str, before: EventPlace
    ) -> tuple[EventPlace, Operation, ValueSummary] | None:
        """The last call before a place that gave a tensor numbers which are not finite."""
        for _ in range(len(self._history.makers) + 1):
            found = [one for one in self._made.get(key, ()) if one[0] < before]
            if found:
                return found[-1]
            made = self._history.makers.get(key)
            if made is None or made[1].name not in ALIASES or not made[1].reads:
                return None
            key = made[1].reads[0]
        return None

    def first_value(self, key: str, before: EventPlace, word: Word) -> FirstValue | None:
        """The first call from which a tensor has its nan or inf; ``None`` if it is not known."""
        last = self._last(key, before)
        while last is not None:
            place, call, _ = last
            bad = [
                one
                for one, values in zip(call.reads, call.read_values)
                if values is not None and _has(values, word)
            ]
            own = [one for one in bad if one in call.made]
            bad = [one for one in bad if one not in call.made]
            earlier = [found for one in (*bad, *own) if (found := self._last(one, place))]
            earlier = [one for one in earlier if _has(one[2], word)]
            if earlier:
                last = earlier[0]
                continue
            if bad:
                return FirstValue(place, call, word, source=bad[0])
            if any(one not in self._history.makers for one in own):
                return None  # it was there before, and what numbers it had is not known
            return FirstValue(place, call, word, infinite=self._infinite(place, call, word))
        return None

    def _infinite(self, place: EventPlace, call: Operation, word: Word) -> FirstValue | None:
        if word != "nan":
            return None
        for key, values in zip(call.reads, call.read_values):
            if values is not None and values.has_inf:
                return self.first_value(key, place, "inf")
        return None

    # -------------------------------------------------------------- gradients

    def first_of(self, number: int) -> First | None:
        """The first nan or inf of a backward or of what it was computed from, whether it raised or
        not."""
        history = self._history
        started = next((p for p in history.placed(BackwardStarted) if p[1].number == number), None)
        if started is None:
            return None
        root = self.root(started[1], started[0])
        if root is not None:
            return self.first_value(root[0], started[0], root[1])
        given: Word | None = next(filter(None, map(word_of, started[1].gradients)), None)
        if given is not None:
            return FirstGiven(started[0], started[1], given)
        return self._first_gradient(number)

    def _first_gradient(self, number: int) -> First | None:
        history = self._history
        hooks = [(place, e) for place, e in history.told(HookFired) if e.backward == number]
        for place, ran in history.told(NodeRan):
            if ran.backward != number:
                continue
            word: Word | None = next(filter(None, map(word_of, ran.grad_inputs)), None)
            if not all(map(is_finite, ran.grad_outputs)):
                fired = next(((p, e) for p, e in hooks if word_of(e.returned)), None)
                if fired is None or fired[0] > place:
                    return None
                return FirstGiven(*fired, word_of(fired[1].returned) or "nan")
            if word is not None:
                node = history.node(ran.node, place[0])
                if node is None:
                    return None
                return self._of_forward(node) or FirstGradient(place, node, ran, word)
        return None

    def _of_forward(self, node: Node) -> FirstValue | None:
        """The call that made an inf which the operation of a node read: from finite gradients it
        makes nan. What a program has filled in is meant."""
        made = call_that_made(node, self._history)
        for key, values in () if made is None else zip(made[1].reads, made[1].read_values):
            if made is None or values is None or not values.has_inf:
                continue
            found = self.first_value(key, made[0], "inf")
            if found is not None and found.source is None and not found.is_filled_in:
                return found
        return None

    # ------------------------------------------------------------------ harm

    def first_harm(self) -> tuple[EventPlace, int, str | None, Word] | None:
        """The first backward whose root is not finite, or that gave a leaf such a gradient; those
        left out of which all such gradients were cleared and nothing was updated with them.

        Returns:
            When, the number of the backward, the tensor that has it, and what it has.
        """
        history = self._history
        found: list[tuple[EventPlace, int, str | None, Word]] = []
        for number, (place, started) in history.started.items():
            root = self.root(started, place)
            if root is not None:
                found.append((place, number, root[0], root[1]))
        for number, leaves in self._leaves.items():
            place, event = leaves[0]
            word = word_of(event.gradient)
            if word is not None and number in history.started:
                found.append((place, number, event.tensor, word))
        found = [one for one in found if not self._is_discarded(one[1])]
        return min(found, key=lambda one: one[0]) if found else None

    @cached_property
    def _leaves(self) -> dict[int, list[tuple[EventPlace, Accumulated]]]:
        """Leaves that got a gradient which is not finite, by the number of the backward."""
        found: dict[int, list[tuple[EventPlace, Accumulated]]] = defaultdict(list)
        for place, event in self._history.told(Accumulated):
            if word_of(event.gradient) is not None and event.tensor is not None:
                found[event.backward].append((place, event))
        return found

    def _is_discarded(self, number: int) -> bool:
        """Whether the code has cleared all such gradients and has updated nothing with them."""
        leaves = self._leaves.get(number, [])
        return bool(leaves) and all(
            self._was_cleared(event.tensor, place) for place, event in leaves if event.tensor
        )

    def _was_cleared(self, key: str, since: EventPlace) -> bool:
        history = self._history
        for step, event in history.in_order(OptimizerStepped, ZeroedGrad, Operation):
            if step <= since[0]:
                continue
            if isinstance(event, ZeroedGrad) and key in event.tensors:
                return True
            if isinstance(event, OptimizerStepped) and key in event.updated:
                return False
            if isinstance(event, Operation) and key in event.made and event.made_values:
                return False
        row = history.tensor(key, len(history.recording.records))
        return row is not None and word_of(row.grad) is None


def call_that_made(node: Node, history: History) -> tuple[EventPlace, Operation] | None:
    """The call that made a node."""
    found = [(place, call) for place, call in history.told(Operation) if call.node == node.id]
    return found[0] if found else None


def shown(pairs: Sequence[tuple[str, ValueSummary]]) -> Iterator[tuple[str, ValueSummary]]:
    """Those operands that tell why, each once: of many, the first two."""
    yield from list(dict(pairs).items())[:2]


def _has(values: ValueSummary, word: Word) -> bool:
    return bool(values.has_nan if word == "nan" else values.has_inf)
