"""What the browser gets of the picture of a question.

``widgets/src/documents/question_picture.ts`` describes the same fields.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from gradviz.view.element import write
from gradviz.view.graph.question_picture import Choice, QuestionPicture

Of: TypeAlias = Literal["nodes", "tensors"]
"""What can be picked: cards of nodes and leaves; or leaves and other tensors."""


def can_be_picked(choice: Choice, of: Of) -> bool:
    """Whether something is among what a question asks for.

    Examples:
        >>> can_be_picked(Choice("t0", "tag", "y", "y, tensor", "t0"), "nodes")
        False
    """
    if of == "nodes":
        return choice.kind in ("node", "leaf")
    return choice.kind != "node"


def picture_document(picture: QuestionPicture, of: Of, *, many: bool) -> dict[str, Any]:
    """The picture, what can be picked in it, and where gradients are typed.

    Args:
        picture: The picture.
        of: What can be picked; nothing where gradients are typed.
        many: Whether several can be picked.
    """
    pickable = [c for c in picture.choices if can_be_picked(c, of) and not picture.blanks]
    ids = {choice.id for choice in pickable}
    owners = {c.id: c.next[0] for c in picture.choices if c.kind == "tag" and c.next}
    return {
        "svg": write(picture.element),
        "size": list(picture.size),
        "of": of,
        "many": many,
        "choices": [
            {
                "id": choice.id,
                "label": choice.label,
                "aria": choice.said,
                "boxes": [list(box) for box in choice.boxes],
                "next": [key for key in choice.next if key in ids],
                "prev": [key for key in choice.prev if key in ids],
            }
            for choice in sorted(pickable, key=lambda one: one.id in owners)
        ],
        "fields": [
            {"id": blank.id, "label": blank.label.replace("->", "→"), "box": list(blank.box)}
            for blank in picture.blanks
        ],
    }
