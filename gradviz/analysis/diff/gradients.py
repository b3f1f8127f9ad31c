"""Which leaves had another gradient when an optimizer used it, though it was cleared afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.analysis.diff.pairing import NodePairs
from gradviz.analysis.diff.values import both, same
from gradviz.model.diff import Difference
from gradviz.model.events import OptimizerStepped
from gradviz.model.recording import Recording
from gradviz.model.records import ValueSummary


def gradient_differences(
    before: Recording, after: Recording, pairs: NodePairs
) -> Iterator[Difference]:
    """Per leaf the first optimizer step with another ``.grad``.

    What backward computed may be changed until then, as by the mean over all ranks of a job. What
    ``.grad`` is at the end is compared as a fact of the tensor; here are the leaves of which that
    is the same, because something cleared it.

    Args:
        before: The recording before.
        after: The recording after.
        pairs: Their graphs.
    """
    moments = list(zip(_stepped(before), _stepped(after)))
    for new_id, old_id in pairs.tensors.items():
        old, new = pairs.old.tensors[old_id], pairs.new.tensors[new_id]
        if not (old.is_leaf and new.is_leaf and same(old.grad, new.grad)):
            continue
        for number, (then, now) in enumerate(moments, 1):
            was, grad = _grad(before, old_id, then), _grad(after, new_id, now)
            if not same(was, grad):
                name, fact = pairs.new.name(new_id), f".grad at optimizer step {number}"
                words = both(was, grad)
                yield Difference("changed", "tensor", name, fact, *words, old_id, new_id)
                break


def _stepped(recording: Recording) -> list[int]:
    last = len(recording.records) - 1
    return [step for step, _ in recording.history.events(OptimizerStepped, last)]


def _grad(recording: Recording, key: str, step: int) -> ValueSummary | None:
    info = recording.history.tensor(key, step)
    return None if info is None else info.grad
