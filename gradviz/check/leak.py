"""A check that a loop keeps no graph of earlier turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gradviz.check.frames import HIDDEN
from gradviz.check.verdict import Passed, not_known
from gradviz.model import CheckFailed, OptionError, Recording
from gradviz.model.formatting import a_kind
from gradviz.model.history import History
from gradviz.model.turns import Turn

__tracebackhide__ = HIDDEN

_LEAST: Final = 3
"""How many turns show whether the graph grows."""
_RECORD: Final = "with gradviz.record() as recording: ...  # a loop of at least 3 turns"


def no_leak(recording: Any) -> Passed:
    """Check that the graph does not grow with each turn of the recorded loops.

    Reads a recording; runs nothing. A loop keeps the graph of an earlier turn if nodes that were
    made in it still exist after a later one: ``total += loss``, ``losses.append(loss)``, a hidden
    state that is not detached. It leaks if there are graphs of ever more turns, of three at least
    at the end. Loops inside of others are part of their turns.

    Args:
        recording: A :class:`~gradviz.Recording` of a loop with at least three turns.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If nodes of ever more turns are kept, with the names that keep them; or if
            that is not known: no loop has three turns, or some of them were only counted.
        OptionError: If it is not a recording.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     total = 0.0
        ...     for i in range(3):
        ...         loss = (w * i).sum()
        ...         loss.backward()
        ...         total += loss.item()
        >>> gradviz.check.no_leak(recording)
        passed: after 3 turns the graph of 1 exists
    """
    if not isinstance(recording, Recording):
        raise OptionError(
            f"no_leak() takes a Recording, not {a_kind(recording)}: only a recording "
            f"knows which nodes still exist. Type: {_RECORD}"
        )
    loops = _loops(recording)
    if not loops:
        not_known(
            "whether the graph grows",
            "a recorded loop of at least 3 turns",
            "a graph that is kept once does not grow; that is seen from turn to turn",
            _RECORD,
        )
    words = []
    for turns in loops:
        kept = [_turns_kept(recording.history, turns, at) for at in range(len(turns))]
        last = len(kept[-1])
        if last >= _LEAST and last > min(len(kept[-2]), len(kept[-3])):
            _raise_leak(recording.history, turns, kept[-1])
        words.append(f"after {len(turns)} turns the graph{_of(last)}")
    return Passed("; ".join(words))


def _loops(recording: Recording) -> list[list[Turn]]:
    """The turns of each outermost loop that has enough of them."""
    found: list[list[Turn]] = []
    for turn in recording.turns:
        if turn.level:
            continue
        same = found and (found[-1][-1].code, found[-1][-1].line) == (turn.code, turn.line)
        if same and turn.number != 1:
            found[-1].append(turn)
        else:
            found.append([turn])
    for turns in found:
        if any(turn.times > 1 or turn.number is None for turn in turns):
            not_known(
                "whether the graph grows",
                "every turn to be recorded",
                "the loop is longer than the budget of the recording, and turns were only counted",
                "gradviz.record(budget=...), or a loop of fewer turns",
            )
    return [turns for turns in found if len(turns) >= _LEAST]


def _turns_kept(history: History, turns: Sequence[Turn], at: int) -> dict[int, list[str]]:
    """Nodes that exist at the end of a turn, by the turn in which they were made."""
    found: dict[int, list[str]] = {}
    for node in history.nodes_at(turns[at].last):
        if node.variable is not None:
            continue  # the node of a leaf belongs to no turn
        born = history.birth(node.id)[0]
        for number, turn in enumerate(turns[: at + 1]):
            if turn.first <= born <= turn.last:
                found.setdefault(number, []).append(node.id)
    return found


def _raise_leak(history: History, turns: Sequence[Turn], kept: dict[int, list[str]]) -> None:
    end = turns[-1].last
    early = {node for number, nodes in kept.items() if number < len(turns) - 1 for node in nodes}
    count = sum(map(len, kept.values()))
    holders = [
        row.name
        for row in history.tensors_at(end)
        if row.name is not None and row.node in early and not row.is_leaf
    ]
    rest = [
        row.name
        for row in history.tensors_at(end)
        if row.name is not None and row.node in {n for nodes in kept.values() for n in nodes}
    ]
    names = (holders or rest)[:3]
    more = len(holders or rest) - len(names)
    by = (
        f", among them what {', '.join(names)} {'leads' if len(names) == 1 else 'lead'} to"
        if names
        else ""
    )
    if more > 0:
        by = f", among them what {', '.join(names)} and {more} more lead to"
    raise CheckFailed(
        f"after {len(turns)} turns {count} nodes of {len(kept)} turns exist{by}",
        "the graph of earlier turns to be freed",
        "a tensor that requires grad keeps its grad_fn, and that the whole graph behind it",
        "keep loss.item() or loss.detach(), not loss; hidden = hidden.detach() between turns",
    )


def _of(count: int) -> str:
    return "s of none exist" if not count else f" of {count} exists" if count == 1 else (
        f"s of {count} exist"
    )  # fmt: skip
