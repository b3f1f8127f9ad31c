"""Parameters as a sentence names them: one by one, or by the modules that they are all of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gradviz.analysis.row_blocks import FEW as FEW_ROWS
from gradviz.analysis.row_blocks import ranges
from gradviz.model.formatting import plural
from gradviz.model.sentence import listed

FEW: Final = 3
"""Parameters, or modules, that a sentence lists by name."""


class Naming:
    """Names the parameters of one model.

    Few are listed by name. Of a model whose table has blocks more are named by modules: by the
    largest ones of which all parameters are meant. If these are many modules, and most of all
    parameters, they are counted.

    Args:
        names: The paths of all parameters.

    Examples:
        >>> rows = [f"h.{i}.{name}" for i in range(9) for name in ("weight", "bias", "scale")]
        >>> named = Naming([*rows, "wte.weight"])
        >>> named(rows), named(rows[3:5]), named([*rows[:3], *rows[6:9], "wte.weight"])
        ('h (27 parameters)', 'h.1.weight and h.1.bias', 'h.0, h.2 and wte.weight (7 parameters)')
        >>> named(rows[3:15])
        'h.1 … h.4 (12 parameters)'
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.has_blocks = len(names) > FEW_ROWS
        """Whether the table of the parameters has blocks."""
        self._count = len(names)
        above = [path for name in names for path in _modules(name)]
        self._sizes = Counter(above)
        self._places: dict[str, int] = {}
        """Each path by its place among those that are in the same module."""
        self._inside: dict[str, list[str]] = {}
        for path in dict.fromkeys((*above, *names)):
            siblings = self._inside.setdefault(path.rpartition(".")[0], [])
            self._places[path] = len(siblings)
            siblings.append(path)

    def __call__(self, names: Iterable[str]) -> str:
        """Some parameters, in the order of the model, as the subject of a sentence."""
        names = list(names)
        if not self.has_blocks or len(names) <= FEW + 1:
            return str(listed(names, FEW))
        if len(names) == self._count:
            return f"all {plural(len(names), 'parameter')}"
        parts = list(self._whole(names))
        if len(parts) > FEW + 1 and 2 * len(names) > self._count:
            return f"{len(names):,} of {plural(self._count, 'parameter')}"
        return f"{listed(parts, FEW)} ({plural(len(names), 'parameter')})"

    def _whole(self, names: Sequence[str]) -> Iterator[str]:
        """The largest modules that have no other parameters, and the parameters of no such one, the
        largest first; modules side by side by the first and the last of them."""
        counts = Counter(path for name in names for path in _modules(name))
        found = dict.fromkeys(
            next((path for path in _modules(name) if self._is_all(path, counts)), name)
            for name in names
        )
        together: dict[str, list[int]] = {}
        for path in found:
            together.setdefault(path.rpartition(".")[0], []).append(self._places[path])
        parts: list[tuple[int, str]] = []
        for above, places in together.items():
            siblings = self._inside[above]
            sizes = [max(1, counts[siblings[place]]) for place in places]
            if len(places) > FEW:
                parts.append((sum(sizes), ranges(sorted(places), siblings)))
            else:
                parts += [(n, siblings[place]) for n, place in zip(sizes, places)]
        yield from (words for _, words in sorted(parts, key=lambda part: -part[0]))

    def _is_all(self, module: str, counts: Counter[str]) -> bool:
        """Whether all parameters of a module are counted, and it has several."""
        return 1 < counts[module] == self._sizes[module]


def _modules(name: str) -> Iterator[str]:
    """Paths of the modules that a parameter is in, the outermost first."""
    at = name.find(".")
    while at >= 0:
        yield name[:at]
        at = name.find(".", at + 1)
