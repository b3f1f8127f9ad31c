"""The program in which the code of a page runs; it is started by its path, and imports nothing of
gradviz, so that nothing is there but what the page imports."""

from __future__ import annotations

import json
import linecache
import sys
import traceback
from typing import Any, Final

RAN: Final = 75
"""Exit status of a process that has run all blocks."""


def main() -> None:
    """Run the blocks that standard input tells; what was raised goes to standard error."""
    told = json.loads(sys.stdin.buffer.read())
    name, blocks = told["name"], told["blocks"]
    sys.path.insert(0, told["folder"])
    lines = _lines(blocks)
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for line, source in blocks:
        try:
            exec(compile("\n" * (line - 1) + source, name, "exec"), namespace)
        except BaseException as error:  # an exit leaves the blocks after it out, too
            sys.stderr.write(_shown(error, name, line))
            sys.exit(1)
    sys.exit(RAN)


def _lines(blocks: list[tuple[int, str]]) -> list[str]:
    """The page as Python: lines that are no code are empty."""
    found: dict[int, str] = {}
    for line, source in blocks:
        found |= enumerate(source.split("\n"), line)
    return [f"{found.get(number, '')}\n" for number in range(1, max(found, default=0) + 1)]


def _shown(error: BaseException, name: str, line: int) -> str:
    """An error with the lines of the page that led to it."""
    own = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == name]
    told = [f"  line {one.lineno}: {one.line}" for one in own]
    if not told:
        wrong = error.lineno if isinstance(error, SyntaxError) and error.lineno else line
        told = [f"  line {wrong}"]
    end = "".join(traceback.format_exception_only(error)).strip().split("\n")[-1]
    return "\n".join((f"the block in line {line} raised {end}", *told))


if __name__ == "__main__":
    main()
