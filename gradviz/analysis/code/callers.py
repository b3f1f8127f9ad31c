"""Which line of a function that calls others was running at a step."""

from __future__ import annotations

from gradviz.model.history import History


def caller_step(history: History, step: int) -> int | None:
    """A step of the line that called the function whose line ran at a step; ``None`` if that
    function was not called by recorded code."""
    depth = history.recording.records[step].depth
    return None if depth == 0 else _next_within(history, step, depth - 1)


def depth_of(history: History, step: int) -> int:
    """How many recorded calls the line of a step is inside of; that of an error, which is raised
    to the recorded code, is that of the line that raised it."""
    records = history.recording.records
    one = records[step]
    if one.kind == "error":
        for other in reversed(records[:step]):
            if (other.line, other.code) == (one.line, one.code):
                return other.depth
    return one.depth


def step_in_frame(history: History, step: int, of: int) -> int | None:
    """The line of a function that was running at a step, itself or in what it called.

    Args:
        history: The recording.
        step: The step.
        of: A later step of the function.

    Returns:
        A step of that line; ``None`` if that call of the function had not begun.
    """
    records = history.recording.records
    depth = depth_of(history, of)
    found = _next_within(history, step, depth)
    if found is None or found > of or depth_of(history, found) < depth:
        return None
    if any(one.depth < depth and one.level == 0 for one in records[found:of]):
        return None
    return _end_of_line(history, found, of)


def _end_of_line(history: History, step: int, until: int) -> int:
    """The last step of a line that calls functions: it has one after each of them."""
    records = history.recording.records
    place = records[step].line, records[step].code, records[step].depth
    end = step
    for at in range(step + 1, until + 1):
        one = records[at]
        if one.level == 0 and one.depth <= place[2]:
            if (one.line, one.code, one.depth) != place or at == end + 1:
                break
            end = at
    return end


def start_of_line(history: History, step: int) -> int:
    """The first step of a run of a line, with those of the functions that it called."""
    records = history.recording.records
    place = records[step].line, records[step].code, records[step].depth
    start = step
    while start > 0:
        one = records[start - 1]
        is_own = (one.line, one.code, one.depth) == place and records[start].depth > place[2]
        if one.level == 0 and one.depth <= place[2] and not is_own:
            break
        start -= 1
    return start


def is_inside(history: History, step: int, line: int) -> bool:
    """Whether a step is one of a function that a line called.

    Args:
        history: The recording.
        step: The step.
        line: An earlier step of the line: before it calls a function a line has one as well.
    """
    records = history.recording.records
    depth = records[line].depth
    if step <= line or records[step].depth <= depth:
        return False
    end = _next_within(history, step, depth)
    if end is None:
        return False
    place = records[line].line, records[line].code
    own = [one for one in records[line : end + 1] if one.level == 0 and one.depth <= depth]
    return all((one.line, one.code, one.depth) == (*place, depth) for one in own)


def _next_within(history: History, step: int, depth: int) -> int | None:
    """The first step from one on that is a line at a depth, or at a smaller one."""
    records = history.recording.records
    for at in range(step, len(records)):
        if records[at].level == 0 and depth_of(history, at) <= depth:
            return at if records[at].line is not None else None
    return None
