"""Which of several processes of one job this is, as launchers say it in the environment."""

from __future__ import annotations

import os


def rank() -> tuple[int, int] | None:
    """The rank of this process, and how many there are; ``None`` if it is the only one."""
    number, count = (os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE"))
    if not (number.isdecimal() and count.isdecimal()) or int(count) < 2:
        return None
    return int(number), int(count)


def labelled(name: str) -> str:
    """``"train.py, rank 1 of 2"``; the name alone if this process is the only one."""
    found = rank()
    return name if found is None else f"{name}, rank {found[0]} of {found[1]}"


def with_rank(file: str) -> str:
    """The name of a file that each rank writes for itself: ``player.rank1.html``."""
    found = rank()
    if found is None:
        return file
    stem, ending = os.path.splitext(file)
    return f"{stem}.rank{found[0]}{ending}"
