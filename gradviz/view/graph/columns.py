"""Where parameters and data of boxes are: in a column beside each box, or inside of the boxes where
columns do not fit. It is decided once, for the finished graph: nothing moves from step to step."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from gradviz.view.graph.card_parts import EdgeGradient, LinkLook
from gradviz.view.graph.drawn_scenes import DrawnScenes, Variants
from gradviz.view.graph.extent import STAGE
from gradviz.view.graph.scene import ALL, WholeScenes
from gradviz.view.graph.step_pictures import StepPictures

WHOLE: Final = 0.8
"""The zoom at which text is still read where all of a picture is seen."""


def fit_columns(scenes: WholeScenes, apart: Collection[str]) -> None:
    """Put what is beside boxes inside of them, where a picture with columns is too wide to be seen
    as a whole.

    Args:
        scenes: The finished graph of a recording.
        apart: Nodes and tensors of which something is said alone.
    """
    if scenes.options.density not in ("auto", "compact") or not scenes.scene(ALL, "compact").beside:
        return
    if StepPictures(_WithGradients(scenes), "compact").size[0] * WHOLE > STAGE[0]:
        scenes.put_inside(apart)


class _WithGradients(DrawnScenes):
    """A graph with a gradient on each edge."""

    def link(self, own_id: str) -> Variants[LinkLook]:
        return _FLOW


_FLOW: Final = Variants.of(LinkLook("gv-flowed", EdgeGradient(None, arrived=True)))
