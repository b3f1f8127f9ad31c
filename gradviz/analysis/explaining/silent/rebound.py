"""A name that was bound to a new parameter after an optimizer had taken the old one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.explaining.silent.rounds import Round, rounds
from gradviz.analysis.explaining.silent.trail import Trail
from gradviz.analysis.explaining.silent.words import at, few, marked
from gradviz.analysis.explaining.statements import expression_of, is_expression, names_bound
from gradviz.model.events import Accumulated, OptimizerStepped
from gradviz.model.explanation import Cause, Cure, Explanation
from gradviz.model.marks import Mark


@dataclass(frozen=True)
class Swap:
    """A name that moved from one parameter to another."""

    name: str
    old: str
    new: str
    step: int


def rebound_parameters(trail: Trail) -> Iterator[Explanation]:
    """Parameters that get gradients while the optimizer steps with those they replaced."""
    everywhere = {
        key
        for _, event in trail.events[OptimizerStepped]
        if isinstance(event, OptimizerStepped)
        for key in event.parameters
    }
    for one in rounds(trail):
        groups: dict[int, list[Swap]] = defaultdict(list)
        for key in _strangers(one, everywhere, trail):
            swap = _swap(key, one, trail)
            if swap is not None:
                groups[swap.step].append(swap)
        for swaps in groups.values():
            swaps.sort(key=lambda swap: one.stepped.parameters.index(swap.old))
            yield _explanation(one, swaps, trail)


def _strangers(one: Round, everywhere: set[str], trail: Trail) -> Iterator[str]:
    """Leaves that got a gradient in a round and that nothing ever updates."""
    seen = set()
    for place, event in trail.events[Accumulated]:
        if not isinstance(event, Accumulated) or event.tensor is None or event.retained:
            continue
        key, is_new = event.tensor, one.start is None or place > one.start
        if key in everywhere or key in seen or not is_new or place > one.place:
            continue
        seen.add(key)
        info = trail.tensor(key, one.place[0])
        if info is not None and not any(a.place > place for a in trail.acts[info.storage]):
            yield key


def _swap(new: str, one: Round, trail: Trail) -> Swap | None:
    """The parameter of the optimizer that had the name before."""
    info = trail.tensor(new, one.place[0])
    name = None if info is None else info.name
    step = trail.past.born(new)
    if name is None or not step:
        return None
    rows = trail.recording.facts[step].changes.tensors
    if not any(key == new and row is not None and row.name == name for key, row in rows):
        return None
    for old in one.stepped.parameters:
        before = trail.past.tensor(old, step - 1)
        now = trail.past.tensor(old, one.place[0])
        if before is not None and before.name == name and (now is None or now.name != name):
            return Swap(name, old, new, step) if _binds(name, step, trail) else None
    return None


def _binds(name: str, step: int, trail: Trail) -> bool:
    """Whether the name is a path, or the line assigns it; a loop's variable is just the next."""
    if not name.isidentifier():
        return True
    statement = trail.statement(step)
    return statement is not None and not statement.is_compound and name in names_bound(statement)


def _explanation(one: Round, swaps: list[Swap], trail: Trail) -> Explanation:
    step = one.place[0]
    names = [swap.name for swap in swaps]
    line = trail.line(swaps[0].step)
    many = len(swaps) > 1
    what = (
        f"{few(names)} {'are other tensors' if many else 'is another tensor'} since "
        f"{at(line, trail)}: backward fills the .grad of the new, {one.label} works on the old"
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
        noticed=trail.line(one.place),
        cures=tuple(_cures(one, swaps, trail)),
        marks=marked(marks, trail, step),
        step=step,
        recording=trail.recording,
    )


def _cures(one: Round, swaps: list[Swap], trail: Trail) -> Iterator[Cure]:
    line = trail.line(swaps[0].step)
    typed = [expression_of(swap.name) for swap in swaps]
    optimizer = one.variable
    does = "the optimizer learns of the new parameter"
    if line is None or optimizer is None or not all(map(is_expression, typed)):
        yield Cure(does, "optimizer.add_param_group({'params': [parameter]})", "elsewhere")
        return
    code = f'{optimizer}.add_param_group({{"params": [{", ".join(typed)}]}})'
    yield Cure(does, code, "after", line.line)
