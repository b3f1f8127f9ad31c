"""Under which of its names a tensor was written in place."""

from __future__ import annotations

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import expression_of
from gradviz.analysis.explain.fixes.out_of_place import target_of, way_to
from gradviz.model.events import Refused, Write
from gradviz.model.history import EventPlace, History
from gradviz.model.sentence import Sentence, say


def other_name(history: History, place: EventPlace, event: Write | Refused, key: str | None) -> str:
    """The other name through which a call writes a tensor: ``params["w"]`` of ``w``.

    Empty if that is the name that sentences call it by, if the text of the call shows none of its
    names, or if it has one only.

    Args:
        history: The recording.
        place: Where the call is.
        event: The call.
        key: Id of the tensor that it writes.
    """
    found = [history.tensor_at(key, step) for step in (place[0] - 1, place[0])]
    rows = [row for row in found if row is not None]
    aliases = dict.fromkeys(name for row in rows for name in row.aliases)
    site = site_of(history, place, event) if aliases else None
    by = event.by if isinstance(event, Write) else event.name
    target = None if site is None else target_of(site, by)
    if target is None:
        return ""
    best = {row.name: None for row in rows if row.name is not None}
    names = (name for name in (*best, *aliases) if way_to(target, expression_of(name)))
    written = next(names, "")
    return "" if written in best else written


def through_other_name(
    history: History, place: EventPlace, event: Write | Refused, key: str | None
) -> Sentence:
    """`` through its other name params["w"]``, after the name of what a call writes; or nothing."""
    name = other_name(history, place, event, key)
    return say(" through its other name {}", name) if name else Sentence()
