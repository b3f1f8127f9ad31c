"""The graph in each frame: its elements, and which part of it is in the window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradviz.model.recording import Recording
from gradviz.view.animation.still import bare
from gradviz.view.captions.details import details
from gradviz.view.element import Element, all_of
from gradviz.view.export.animated.camera import Box
from gradviz.view.export.animated.parts import Part, Shown, Signal
from gradviz.view.graph.step_pictures import StepPictures


def graph_parts(animation: StepPictures, steps: Sequence[int]) -> Iterator[Shown]:
    """Each element in each of its variants, and a dot for each gradient that is passed on."""
    states = [animation.at(step) for step in steps]
    parts: list[Part] = []
    signals: dict[str, set[int]] = {}
    for key, looks in animation.elements.items():
        for number, look in enumerate(looks):
            frames = frozenset(i for i, at in enumerate(states) if at[key] == number)
            if look is None or not frames:
                continue
            parts.append(Part(bare(look), frames))
            if "gv-flow" in look.classes:
                line = next(element.text("d") for element in look.inside if element.tag == "path")
                signals.setdefault(line, set()).update(frames)
    # Under the rest: a dot leaves the number of its gradient and covers no word.
    for line, flowing in signals.items():
        yield Signal(line, frozenset(i for i in flowing if i - 1 not in flowing))
    yield from parts


def extent(animation: StepPictures, steps: Sequence[int]) -> Box:
    """What is drawn at any of the steps."""
    return Box(*(animation.extent(*steps) or (0.0, 0.0, *animation.size)))


def subjects(
    recording: Recording, animation: StepPictures, steps: Sequence[int]
) -> list[list[Box]]:
    """What each step is about, as boxes in the picture, the most important first."""
    return [list(_subjects(recording, animation, step)) for step in steps]


def _subjects(recording: Recording, animation: StepPictures, step: int) -> Iterator[Box]:
    """The node that ran, what the caption names, and what else changed; while nothing is joined,
    everything that is there."""
    homes = _homes(animation.drawn(step))
    node = recording.records[step].node
    named = [term.id for term in details(recording, step).terms]
    changed = [key.removeprefix("gv-") for key in animation.changes[step]]
    joined = any("data-source" in look.attributes for look in animation.there(step).values())
    others = () if joined else homes
    for key in dict.fromkeys(homes.get(key or "", "") for key in (node, *named, *changed, *others)):
        if (place := animation.box(key, step)) is not None:
            yield Box(*place[0], *place[1])


def _homes(drawn: Iterator[Element]) -> dict[str, str]:
    """The card on which each node and tensor is."""
    found: dict[str, str] = {}
    for card in drawn:
        if key := card.text("data-id"):
            for element in all_of((card,)):
                for name in ("data-id", "data-tensor", "data-others"):
                    for one in element.text(name).split():
                        found.setdefault(one, key)
    return found
