"""A name that was bound to a new parameter after an optimizer had taken the old one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import (
    expression_of,
    is_expression,
    names_bound,
    statement_of,
)
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.silent.sentences import few
from gradviz.analysis.explain.silent.training_steps import TrainingStep, training_steps
from gradviz.model.events import Accumulated, OptimizerStepped
from gradviz.model.explanation import Cause, Fix
from gradviz.model.history import History
from gradviz.model.sentence import Term, say


@dataclass(frozen=True)
class Replacement:
    """A name that moved from one parameter to another."""

    name: str
    old: str
    new: str
    step: int


@dataclass(frozen=True, kw_only=True)
class ReplacedParameter(Finding):
    """Names that moved to new parameters, and the step that moved the old ones."""

    one: TrainingStep
    swaps: tuple[Replacement, ...]


def replaced_parameters(history: History) -> Iterator[ReplacedParameter]:
    """Parameters that get gradients while the optimizer steps with those they replaced."""
    everywhere = {key for _, event in history.told(OptimizerStepped) for key in event.parameters}
    for one in training_steps(history):
        groups: dict[int, list[Replacement]] = defaultdict(list)
        for key in _strangers(one, everywhere, history):
            swap = _swap(key, one, history)
            if swap is not None:
                groups[swap.step].append(swap)
        for swaps in groups.values():
            swaps.sort(key=lambda swap: one.stepped.parameters.index(swap.old))
            yield _finding(one, swaps, history)


def _strangers(one: TrainingStep, everywhere: set[str], history: History) -> Iterator[str]:
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


def _swap(new: str, one: TrainingStep, history: History) -> Replacement | None:
    """The parameter of the optimizer that had the name before."""
    info = history.tensor_at(new, one.place[0])
    name = None if info is None else info.name
    step = history.born(new)
    if name is None or not step:
        return None
    first = history.tensor_at(new, step)
    if first is None or first.name != name:
        return None
    for old in one.stepped.parameters:
        before = history.tensor(old, step - 1)
        now = history.tensor(old, one.place[0])
        if before is not None and before.name == name and (now is None or now.name != name):
            return Replacement(name, old, new, step) if _binds(name, step, history) else None
    return None


def _binds(name: str, step: int, history: History) -> bool:
    """Whether the name is a path, or the line assigns it; a loop's variable is just the next."""
    if not name.isidentifier():
        return True
    statement = statement_of(history, step)
    return statement is not None and not statement.is_compound and name in names_bound(statement)


def _finding(one: TrainingStep, swaps: list[Replacement], history: History) -> ReplacedParameter:
    line = history.line(swaps[0].step)
    names = few([Term(swap.new, swap.name) for swap in swaps])
    outside = _where_both_are_known(swaps[0].step, one, history)
    called = outside is not None and history.line(outside) != line
    return ReplacedParameter(
        history=history,
        step=one.place[0],
        noticed=history.line(one.place),
        words={
            "names": names,
            "are_others": "are other tensors" if len(swaps) > 1 else "is another tensor",
            "tensors": "tensors" if len(swaps) > 1 else "tensor",
            "ones": "ones" if len(swaps) > 1 else "one",
            "line": history.line_term(line),
            "label": one.label,
        },
        variables=tuple(swap.name for swap in swaps),
        causes=(
            Cause(
                "other",
                say(
                    "bound {} to {}",
                    names,
                    "new parameters" if len(swaps) > 1 else "a new parameter",
                ),
                line,
            ),
            *(
                [
                    Cause(
                        "other",
                        say("called it, after the optimizer was made"),
                        history.line(outside),
                    )
                ]
                if called
                else []
            ),
        ),
        targets={"new": [swap.new for swap in swaps], "old": [swap.old for swap in swaps]},
        target_words={swap.new: swap.name for swap in swaps},
        one=one,
        swaps=tuple(swaps),
    )


def fixes(found: ReplacedParameter) -> Iterator[Fix]:
    """The optimizer gets the new parameter."""
    one, swaps, history = found.one, found.swaps, found.history
    line = history.line(swaps[0].step)
    typed = [expression_of(swap.name) for swap in swaps]
    optimizer = one.variable
    does = say("adds the new {} to the optimizer", "parameters" if len(swaps) > 1 else "parameter")
    if line is None or optimizer is None or not all(map(is_expression, typed)):
        yield Fix(does, "optimizer.add_param_group({'params': [parameter]})", "elsewhere")
        return
    place = _where_both_are_known(swaps[0].step, one, history)
    if place is None:
        return
    code = f'{optimizer}.add_param_group({{"params": [{", ".join(typed)}]}})'
    yield Fix(does, code, "after", history.line(place))


def _where_both_are_known(step: int, one: TrainingStep, history: History) -> int | None:
    """The step at which the code that steps replaced the parameters, or called what did."""
    facts = history.recording.records
    depth, code = facts[step].depth, facts[one.place[0]].code
    if facts[step].code == code:
        return step
    outer = (at for at in history.lines if at > step and facts[at].depth < depth)
    caller = next((at for at in outer if facts[at].code == code), None)
    is_around = caller is not None and facts[caller].depth == facts[one.place[0]].depth
    return caller if is_around else None
