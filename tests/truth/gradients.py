"""Compare the trees of gradients with torch's backward, for operators of torch's own database.

``python -m tests.truth.gradients SAMPLES NAME...`` prints a JSON line for each operator or module,
in a process of its own for the reasons that :mod:`tests.truth.operators` gives; with ``--every N``
for names, of each N-th of all.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from tests.truth import operators
from tests.truth.trees import Seen, compare_with_backward


def compared(names: Sequence[str], samples: int) -> Iterator[dict[str, Any]]:
    """What was found for each operator; a sample that torch cannot run backward is left out."""
    operators.SAMPLES = samples
    known = operators.operators() | operators.modules()
    seen = Seen()

    def look(where: str, run: Any, arguments: Any, tally: operators.Tally) -> None:
        try:
            outputs = operators.with_graph(run(operators.fresh(arguments)))
        except Exception:
            return
        if outputs:
            before = len(seen.problems)
            try:
                compare_with_backward(outputs, seen)
            except (RuntimeError, NotImplementedError, AssertionError) as error:
                tally.problems.append(f"{type(error).__name__}: {error}"[:200])
            found = seen.problems[before:]
            seen.problems[before:] = [f"{where}: {problem}" for problem in found]

    operators.look = look
    for name in names:
        torch.manual_seed(0)
        seen, tally = Seen(), operators.Tally()
        if name.startswith(operators.MODULE_PREFIX):
            operators.look_at_module(known[name], tally)
        else:
            operators.look_at_operator(known[name], tally)
        found = {**vars(seen), "texts": sorted(seen.texts)}
        yield {"name": name, **found, "not run": tally.problems}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    names: Sequence[str] = sys.argv[2:]
    if names[:1] == ["--every"]:
        names = [*operators.operators(), *operators.modules()][:: int(names[1])]
    for line in compared(names, int(sys.argv[1])):
        print(json.dumps(line), flush=True)
