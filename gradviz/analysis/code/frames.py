"""The lines that were running at a step: the line itself, and those that called its function."""

from __future__ import annotations

from gradviz.model.history import History
from gradviz.model.recording import StepRecord
from gradviz.model.turns import Turn


def frames_of(step: int, history: History) -> tuple[int, ...]:
    """Steps of the lines that were running, the outermost first.

    Args:
        step: The step.
        history: The recording.
    """
    containers = history.recording.numbers.containers
    found: list[int] = []
    at: int | None = step
    while at is not None:
        found.append(_end_of_line(at, history))
        at = containers[found[-1]]
    return tuple(reversed(found))


def _end_of_line(step: int, history: History) -> int:
    """The step with which a line ended that has called a function."""
    records = history.recording.records
    at = step
    while "calls a function" in history.notes(at):
        facts = records[at]
        later = range(at + 1, len(records))
        same = (n for n in later if _place(records[n]) == _place(facts))
        at = next((n for n in same if records[n].level < 2), step)
        if at == step:
            return step
    return at


def _place(facts: StepRecord) -> tuple[int, int, int | None]:
    return facts.depth, facts.code, facts.line


def parting(one: tuple[int, ...], other: tuple[int, ...]) -> int | None:
    """Place of the first frame in which two steps were at different lines or turns."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), None)


def same_lines(one: int, other: int, history: History) -> bool:
    """Whether the same lines were running at two steps, as far as that is known.

    Of lines that an error has left there is no step of their own.
    """
    records = history.recording.records
    ones, others = frames_of(one, history)[::-1], frames_of(other, history)[::-1]
    for a, b in ((records[x], records[y]) for x, y in zip(ones, others, strict=False)):
        if "error" in (a.kind, b.kind):
            return True
        if (a.code, a.line) != (b.code, b.line):
            return False
    return True


def turn_between(one: int, other: int, history: History) -> tuple[Turn, bool] | None:
    """The loop of which a later step is in another turn than an earlier one.

    Args:
        one: The earlier step.
        other: The later one.
        history: The recording.

    Returns:
        The turn of the later one, and whether the earlier one is in an earlier turn of the loop,
        not before the loop; ``None`` if no loop began a turn between them.
    """
    turns = [t for t in history.recording.turns if t.first <= other <= t.last and one < t.first]
    if not turns:
        return None
    turn = min(turns, key=lambda t: t.level)
    earlier = (
        t
        for t in history.recording.turns
        if (t.code, t.line, t.level) == (turn.code, turn.line, turn.level) and t.first < turn.first
    )
    return turn, any(t.first <= one <= t.last for t in earlier)
