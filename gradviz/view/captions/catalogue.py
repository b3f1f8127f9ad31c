"""The sentences of captions: every form that there is, in one language.

A form begins with what happens, has at most :data:`MOST` words, and places for names, numbers and
shapes. Another language is another table with the same keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gradviz.model.sentence import Sentence, listed, say

MOST: Final = 14
"""Words of a sentence; lists of names are shortened to it."""
NAMES: Final = 3
"""Names of one list; a count stands for more."""

SENTENCES: Final[Mapping[str, str]] = {
    # a line
    "start": "Starts before the first line.",
    "nothing": "Changes nothing in the graph.",
    "leaves": "Makes {names}, which {count|requires|require} grad.",
    "constants": "Makes {names}, which {count|needs|need} no gradient.",
    "nodes": "Makes {names}: {count} {count|node|nodes}.",
    "in place": "Changes {name} in place.",
    "in place, saved": "Changes {name} in place, after {node} saved it.",
    "in place, unseen": "Changes {name} in place; autograd cannot detect it.",
    "changes": "Changes {name}.",
    "buffers": "Updates {names} of {module}.",
    "cut": "Cuts {name} from the graph: no gradient passes.",
    "calls": "Calls {name}.",
    "rebound": "Gives the name {name} to a result, which is no leaf.",
    "hook added": "Registers {hook}.",
    "hook removed": "Removes {hook}.",
    "mode on": "Records again: operations make nodes.",
    "mode off": "Stops recording: operations make no nodes.",
    "turn": "Begins turn {number}.",
    "loop ends": "Ends the loop after {count} {count|turn|turns}.",
    "step": "Updates {count} {count|parameter from its gradient|parameters from their gradients}.",
    "zero": "Fills {count} {count|gradient|gradients} with 0.",
    "none": "Clears {count} {count|gradient|gradients}: .grad is None again.",
    "clips": "Limits the size of {count} {count|gradient|gradients}.",
    "gone": "Drops {what}, to which nothing refers any more.",
    "backward": "Sends the gradient back through {count} {count|node|nodes}.",
    "raises": "Raises {error}.",
    "stands for": "Stands for {count} {count|step|steps}.",
    # inside backward
    "starts": "Starts at {names} with {values|gradient|gradients} {values}.",
    "sends": "Sends {count|the gradient|gradients} to {names}.",
    "passes": "Passes the gradient unchanged to {names}.",
    "moves": "Passes the gradient, rearranged, to {names}.",
    "within": "Passes the gradient on within {name}.",
    "where": "Passes the gradient to {names} where {condition}.",
    "withholds": "Sends no gradient on.",
    "adds": "Adds the gradient to {name}.grad.",
    "becomes": "Adds the gradient to {name}.grad: {before} becomes {after}.",
    "hook runs": "Runs {hook}.",
    "frees": "Frees the saved {names}.",
    "receives": "Receives {count|a gradient|gradients}.",
    # only the player
    "ready": "{count} {count|node is|nodes are} ready. Press → to send the gradient back.",
}
LABELS: Final[Mapping[str, str]] = {
    "adds": "adds",
    "already": "freed",
    "arrives": "arrives",
    "frees": "frees",
    "gets": "gets",
    "is": "is",
    "cuts": "cuts",
    "keeps": "keeps",
    "makes": "makes",
    "packs": "packs",
    "runs": "runs",
    "skips": "skips",
    "reads": "reads",
    "saves": "saves",
    "sends": "sends",
    "waits": "waits",
    "was": "was",
}
"""What begins a row of the table beside a caption."""


def sentence(form: str, **slots: Any) -> Sentence:
    """A sentence of the catalogue.

    Args:
        form: Its key.
        slots: What is put in. A sequence of names is listed, as many of them as there is room for.
            ``{count|one|many}`` takes one of two words by the number.

    Examples:
        >>> sentence("nodes", names=["Linear", "ReLU"], count=5)
        'Makes Linear and ReLU: 5 nodes.'
        >>> sentence("none", count=1)
        'Clears 1 gradient: .grad is None again.'
    """
    template = SENTENCES[form]
    for most in range(NAMES, -1, -1):
        found = say(_one_or_many(template, slots), **_listed(slots, most))
        if len(found.split()) <= MOST:
            break
    return found


def _listed(slots: Mapping[str, Any], most: int) -> dict[str, Any]:
    is_list = (list, tuple)
    return {key: listed(v, most) if isinstance(v, is_list) else v for key, v in slots.items()}


def _one_or_many(template: str, slots: Mapping[str, Any]) -> str:
    """The template with the words for one, or for many."""
    parts = template.split("{")
    for at, part in enumerate(parts[1:], 1):
        field, _, rest = part.partition("}")
        key, *words = field.split("|")
        if words:
            count = slots[key] if isinstance(slots[key], (int, Sequence)) else 0
            number = count if isinstance(count, int) else len(count)
            parts[at] = words[number != 1] + rest
        else:
            parts[at] = f"{{{part}"
    return "".join(parts)
