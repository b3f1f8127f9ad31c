"""What ``gradviz.show`` returns for an explanation."""

from __future__ import annotations

from collections.abc import Callable

from gradviz.model.errors import OptionError
from gradviz.model.explanation import Explanation
from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.widgets.explained_picture import ExplainedPicture
from gradviz.view.widgets.picture import Picture
from gradviz.view.widgets.player import Player


def explanation_view(
    explanation: Explanation,
    options: DrawOptions = DEFAULT,
    height: int = 0,
    fold: Callable[[Graph], Folding | None] | None = None,
) -> Player | Picture:
    """The player at the step at which it was noticed; of a program that was not recorded the
    picture of its graph.

    Args:
        explanation: What is shown.
        options: How to draw it.
        height: Height in CSS pixels, 0 for automatic.
        fold: How the picture of a graph is folded, ``None`` if it is not.

    Raises:
        OptionError: If nothing was explained, or it does not belong to a recording.
    """
    recording = explanation.recording
    if not explanation or recording is None:
        raise OptionError(
            "nothing to show: no error was explained"
            if not explanation
            else "this explanation has no graph to show; print(explanation) gives its text"
        )
    if recording.kind != "post-mortem":
        step = None if explanation.step is None else recording.all_steps[explanation.step].number
        return Player(recording, options, step, height=height)
    last = len(recording.records) - 1
    place = last if explanation.step is None else explanation.step
    return ExplainedPicture(recording.graph_at(place), explanation, options, height, fold)
