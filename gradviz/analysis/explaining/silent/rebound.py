"""A name that was bound to a new parameter after an optimizer had taken the old one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.explaining.silent.rounds import Round, rounds
from gradviz.analysis.explaining.silent.words import at, few, marked
from gradviz.analysis.explaining.statements import (
    expression_of,
    is_expression,
    names_bound,
    statement_of,
)
from gradviz.model.events import Accumulated, OptimizerStepped
from gradviz.model.explanation import Cause, Cure, Explanation
from gradviz.model.history import History
from gradviz.model.marks import Mark


@dataclass(frozen=True)
class Swap:
    """A name that moved from one parameter to another."""

    name: str
    old: str
    new: str
    step: int


def rebound_parameters(history: History) -> Iterator[Explanation]:
    """Parameters that get gradients while the optimizer steps with those they replaced."""
    everywhere = {key for _, event in history.told(OptimizerStepped) for key in event.parameters}
    for one in rounds(history):
        groups: dict[int, list[Swap]] = defaultdict(list)
        for key in _strangers(one, everywhere, history):
            swap = _swap(key, one, history)
            if swap is not None:
                groups[swap.step].append(swap)
        for swaps in groups.values():
            swaps.sort(key=lambda swap: one.stepped.parameters.index(swap.old))
            yield _explanation(one, swaps, history)


def _strangers(one: Round, everywhere: set[str], history: History) -> Iterator[str]:
    """Leaves that got a gradient in a round and that nothing ever updates."""
    seen = set()
    for place, event in history.told(Accumulated):
        if event.tensor is None or event.retained:
            continue
        key, is_new = event.tensor, one.start is None or place > one.start
        if key in everywhere or key in seen or not is_new or place > one.place:
            continue
        seen.add(key)
        info = history.tensor_at(key, one.place[0])
        if info is not None and not any(a.place > place for a in history.acts[info.storage]):
            yield key


def _swap(new: str, one: Round, history: History) -> Swap | None:
    """The parameter of the optimizer that had the name before."""
    info = history.tensor_at(new, one.place[0])
    name = None if info is None else info.name
    step = history.born(new)
    if name is None or not step:
        return None
    rows = history.recording.facts[step].changes.tensors
    if not any(key == new and row is not None and row.name == name for key, row in rows):
        return None
    for old in one.stepped.parameters:
        before = history.tensor(old, step - 1)
        now = history.tensor(old, one.place[0])
        if before is not None and before.name == name and (now is None or now.name != name):
            return Swap(name, old, new, step) if _binds(name, step, history) else None
    return None


def _binds(name: str, step: int, history: History) -> bool:
    """Whether the name is a path, or the line assigns it; a loop's variable is just the next."""
    if not name.isidentifier():
        return True
    statement = statement_of(history, step)
    return statement is not None and not statement.is_compound and name in names_bound(statement)


def _explanation(one: Round, swaps: list[Swap], history: History) -> Explanation:
    step = one.place[0]
    names = [swap.name for swap in swaps]
    line = history.line(swaps[0].step)
    many = len(swaps) > 1
    what = (
        f"{few(names)} {'are other tensors' if many else 'is another tensor'} since "
        f"{at(line, history)}: backward fills the .grad of the new, {one.label} works on the old"
    )
    marks = [
        *(Mark(s.new, "culprit", f"no optimizer has this {s.name}") for s in swaps),
        *(Mark(s.old, "unreached", "the optimizer has it, backward does not come here")
          for s in swaps),
    ]  # fmt: skip
    return Explanation(
        kind="parameter rebound",
        what=what,
        why=(
            "an optimizer keeps the tensors it was made with, not their names. A name that is "
            "bound again means a new tensor, which this optimizer never updates"
        ),
        variables=tuple(names),
        causes=(Cause("other", f"bound {few(names)} to a new parameter", line),),
        noticed=history.line(one.place),
        cures=tuple(_cures(one, swaps, history)),
        marks=marked(marks, history, step),
        step=step,
        recording=history.recording,
    )


def _cures(one: Round, swaps: list[Swap], history: History) -> Iterator[Cure]:
    line = history.line(swaps[0].step)
    typed = [expression_of(swap.name) for swap in swaps]
    optimizer = one.variable
    does = "the optimizer learns of the new parameter"
    if line is None or optimizer is None or not all(map(is_expression, typed)):
        yield Cure(does, "optimizer.add_param_group({'params': [parameter]})", "elsewhere")
        return
    code = f'{optimizer}.add_param_group({{"params": [{", ".join(typed)}]}})'
    yield Cure(does, code, "after", line.line)
