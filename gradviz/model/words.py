"""Words that every room writes the same way."""

from __future__ import annotations


def size(nbytes: int) -> str:
    """Bytes for a reader.

    Examples:
        >>> size(24), size(50_000), size(3 << 20)
        ('24 B', '48.8 KiB', '3.0 MiB')
    """
    amount, units = float(nbytes), iter(("KiB", "MiB", "GiB"))
    if nbytes < 10_000:
        return f"{nbytes} B"
    unit = ""
    while amount >= 1024 and (following := next(units, "")):
        amount, unit = amount / 1024, following
    return f"{amount:.1f} {unit}"


def plural(count: int, thing: str) -> str:
    """``1 node``, ``2 nodes``, ``2 leaves``."""
    if count != 1:
        thing = thing[:-1] + "ves" if thing.endswith("f") else thing + "s"
    return f"{count} {thing}"
