"""Finds a step by what a person types: its number, a line, a backward, the error, or a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from gradviz.model.errors import UnknownNodeError
from gradviz.model.formatting import plural

if TYPE_CHECKING:
    from gradviz.model.recording import Recording

LISTED: Final = 12
"""Lines and nodes that an error lists; the others are counted."""
RAN: Final = ("line", "error")
"""Kinds of steps at which a line has run, or raised."""


def place_of(recording: Recording, address: object) -> int:
    """The place among all steps and sub-steps of the one that an address means.

    Args:
        recording: Where it is looked for.
        address: As :meth:`gradviz.model.recording.Recording.__getitem__` takes it.

    Raises:
        UnknownNodeError: If there is no such step; the message lists what there is.
    """
    place = None
    if isinstance(address, int) and not isinstance(address, bool):
        place = _numbered(recording, address)
    elif isinstance(address, str):
        place = _named(recording, address.strip())
    if place is None:
        why = _how_often(recording, address.strip()) if isinstance(address, str) else ""
        raise UnknownNodeError(
            f"this recording has no step {address!r}; {why}{known_steps(recording)}"
        )
    return place


def _how_often(recording: Recording, address: str) -> str:
    """How often there is what an address counts: ``"backward ran once; "``."""
    name, _, times = address.rpartition(":")
    if not name or name == "line" or not (times.isascii() and times.isdecimal()):
        return ""
    count = len(_at(recording, name))
    often = {0: "", 1: "once", 2: "twice"}.get(count, f"{count} times")
    is_there = "ran" if name == "backward" or name.startswith("line:") else "is there"
    return f"{name} {is_there} {often}; " if count else ""


def known_steps(recording: Recording) -> str:
    """The addresses that exist, in words.

    Examples:
        >>> from gradviz.model.recording import Recording
        >>> known_steps(Recording.empty())
        'it has the steps 0 to 0'
    """
    numbers = recording.numbers
    last = f"the steps 0 to {numbers.count}"
    if numbers.inside:
        first = next(path for path in numbers.paths if len(path) > 1)
        last += f" (and {plural(numbers.inside, 'sub-step')}, such as {'.'.join(map(str, first))})"
    lines = [f"line:{line}" for line in _lines(recording)]
    backwards = _backwards(recording)
    if backwards:
        more = f" to backward:{len(backwards)}" if len(backwards) > 1 else ""
        last += f", backward{more}"
    if recording.at_error is not None:
        last += ", error"
    parts = [last, *_some(lines), *_some(_counted(list(_node_names(recording))))]
    return "it has " + ", ".join(parts)


def _counted(names: Sequence[str]) -> list[str]:
    found = dict.fromkeys(names, 0)
    for name in names:
        found[name] += 1
    return [f"{name} ({count})" if count > 1 else name for name, count in found.items()]


def _some(words: Sequence[str]) -> list[str]:
    more = len(words) - LISTED
    return list(words) if more <= 1 else [*words[:LISTED], f"{more} more"]


def _numbered(recording: Recording, number: int) -> int | None:
    numbers = recording.numbers
    if number < 0:
        number += numbers.count + 1
    return numbers.places.get((number,))


def _named(recording: Recording, address: str) -> int | None:
    pieces = address.removeprefix("-").split(".")
    if all(piece.isascii() and piece.isdecimal() for piece in pieces):
        if len(pieces) == 1:
            return _numbered(recording, int(address))
        return recording.numbers.places.get(tuple(map(int, pieces)))
    found, count = _at(recording, address), 1
    if not found and ":" in address:
        name, _, times = address.rpartition(":")
        if times.isascii() and times.isdecimal():
            found, count = _at(recording, name), int(times)
    return found[count - 1] if 0 < count <= len(found) else None


def _at(recording: Recording, name: str) -> list[int]:
    """All steps that a name means."""
    if name.startswith("line:"):
        line = name.removeprefix("line:")
        return _at_line(recording, int(line)) if line.isascii() and line.isdecimal() else []
    if name == "backward":
        return _backwards(recording)
    if name == "error":
        error = recording.at_error
        return [] if error is None else [error.index]
    return _at_node(recording, name)


def _at_line(recording: Recording, line: int) -> list[int]:
    """Steps at which a line has run or raised: of the recorded code itself, else of a function."""
    ran = [i for i, facts in enumerate(recording.records)
           if facts.line == line and facts.kind in RAN]  # fmt: skip
    first = [i for i in ran if recording.records[i].code == 0]
    return first or ran


def _lines(recording: Recording) -> list[int]:
    """Each line that has run or raised, in the order of the code."""
    ran = {facts.line for facts in recording.records if facts.kind in RAN}
    return sorted(line for line in ran if line is not None)


def _backwards(recording: Recording) -> list[int]:
    """The first step of each backward."""
    found: dict[int, int] = {}
    for index, facts in enumerate(recording.records):
        if facts.backward is not None:
            found.setdefault(facts.backward, index)
    return list(found.values())


def _at_node(recording: Recording, name: str) -> list[int]:
    """Steps at which backward ran nodes with this name or id; if it ran none, those that made
    them."""
    history, last = recording.history, len(recording.records)
    keys = {key for key in history.node_ids
            if name == key or ((row := history.node(key, last)) and row.name == name)}  # fmt: skip
    records = enumerate(recording.records)
    ran = [i for i, facts in records if facts.kind == "node" and facts.node in keys]
    made = sorted(history.born(key) or 0 for key in keys)
    return ran or made


def _node_names(recording: Recording) -> Iterator[str]:
    """Names of nodes, as often as :func:`_at_node` finds one."""
    history, last = recording.history, len(recording.records)
    ran = [facts.node for facts in recording.records if facts.kind == "node"]
    names = [row.name for key in ran if key is not None and (row := history.node(key, last))]
    yield from names
    for key in history.node_ids:
        row = history.node(key, last)
        if row is not None and row.name not in names:
            yield row.name
