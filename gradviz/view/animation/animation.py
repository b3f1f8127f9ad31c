"""Steps of a recording, drawn in each density; the recording is played once."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from gradviz.model.in_pieces import completed
from gradviz.model.recording import Recording
from gradviz.view.animation.played_scenes import CARDS, PlayedScenes, most_at_once
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.drawing import Drawing
from gradviz.view.graph.extent import STAGE
from gradviz.view.graph.options import DEFAULT, DrawOptions, offered
from gradviz.view.graph.step_pictures import StepPictures


class Animations(Drawing):
    """The pictures of steps of a recording in each density.

    Args:
        recording: What is shown; with many nodes it is folded.
        options: How it is drawn.
        steps: Which steps; if not given all. Of a few there is only the density in which they open,
            and the insides of the folds that are open at first.
        room: How many cards there may be in the insides of other folds.

    Raises:
        GraphvizNotFoundError: If no layout engine is installed.
    """

    scenes: PlayedScenes

    def __init__(
        self,
        recording: Recording,
        options: DrawOptions = DEFAULT,
        steps: Sequence[int] | None = None,
        room: int = CARDS,
    ) -> None:
        room = room if steps is None else 0
        self._take(completed(_played(recording, options, steps, room)), options, None)

    @classmethod
    def in_pieces(
        cls,
        recording: Recording,
        options: DrawOptions,
        opening: Animations,
        shown: Sequence[str] | int,
    ) -> Generator[None, None, Animations]:
        """All steps, piece by piece.

        Args:
            recording: What is shown.
            options: How it is drawn.
            opening: Some of the steps; the others open like these.
            shown: The folds of which there is an inside; or how many cards there may be in those
                that are closed at first.
        """
        made = cls.__new__(cls)
        made._take((yield from _played(recording, options, None, shown)), options, opening)
        return made

    def _take(self, scenes: PlayedScenes, options: DrawOptions, like: Animations | None) -> None:
        folding = scenes.source.folding
        if like is not None:
            opening, folding = like.opening, like.folding
        elif folding is not None:
            opening = _opening_of(options)
        else:
            opening = opening_of(scenes, options)
        densities = offered(opening) if scenes.is_whole else (opening,)
        super().__init__(scenes, densities, opening, folding, like is None)
        if self.folding is not None and like is None:
            self._open_around_marks()

    def _open_around_marks(self) -> None:
        """What explanations point at is to be seen."""
        assert self.folding is not None
        folding = self.folding
        for key in self.scenes.marked:
            if self.scenes.around(key):
                folding = folding.opened_around(key)
        self.open(folding)


def _played(
    recording: Recording,
    options: DrawOptions,
    drawn: Sequence[int] | None,
    shown: Sequence[str] | int,
) -> Generator[None, None, PlayedScenes]:
    """The scenes of a recording at these steps, or at all, in the densities that are needed."""
    folded = None if options.focus else recording.folded_steps
    needed: list[Density] = [_opening_of(options)]
    if folded is None:
        # Cards that are not of nodes can come on top: with more of them it opens compact.
        needed = [options.density_of(most_at_once(recording, options.focus)), *needed]
    if drawn is None:
        needed += offered(needed[0])
    densities = dict.fromkeys(needed)
    scenes = PlayedScenes(recording, options, densities, folded, drawn, shown)
    yield from scenes.play()
    return scenes


def opening_of(scenes: PlayedScenes, options: DrawOptions) -> Density:
    """The density in which a recording opens that is drawn whole: compact where a picture of larger
    cards is not seen at once.

    Args:
        scenes: What was played.
        options: How it is drawn.
    """
    opening = options.density_of(scenes.seen)
    if opening != "normal" or options.density != "auto":
        return opening
    if opening not in scenes.cards:  # at another step there are more cards
        return "compact"
    width, height = StepPictures(scenes, opening).size
    return opening if width <= STAGE[0] and height <= STAGE[1] else "compact"


def _opening_of(options: DrawOptions) -> Density:
    """The density in which a folded recording opens, as its boxes say the same in any; and one of
    many cards."""
    return "compact" if options.density == "auto" else options.density
