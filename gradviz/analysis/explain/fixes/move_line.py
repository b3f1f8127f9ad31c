"""A line taken to another place of its block."""

from __future__ import annotations

from typing import Literal

from gradviz.analysis.code.statements import Statement, same_block
from gradviz.model.explanation import Fix
from gradviz.model.sentence import Sentence


def moved(
    one: Statement | None, to: Statement | None, side: Literal["before", "after"], does: Sentence
) -> Fix | None:
    """The fix that takes a statement before or behind another one of the same block.

    Args:
        one: What is moved.
        to: Where to.
        side: On which side of it.
        does: What is gained.
    """
    if one is None or to is None or not (one.is_alone and to.is_alone):
        return None
    if one.is_compound or to.is_compound or one.line == to.line or not same_block(one, to):
        return None
    gone = Fix(Sentence(), "", "instead", one.at)
    return Fix(does, one.text, side, to.at, (gone,))
