"""Tensors that are not on the way from any loss to the leaves, so that no backward reaches them."""

from __future__ import annotations

from gradviz.analysis.code.python_values import PythonValues
from gradviz.analysis.cuts import cut_words, tensors_of
from gradviz.analysis.dataflow import Dataflow, Uses
from gradviz.model.events import BackwardStarted
from gradviz.model.explanation import Cause
from gradviz.model.history import History
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import say


def backwards_until(step: int, history: History) -> list[BackwardStarted]:
    """The backwards that have run by then and raised nothing."""
    return [event for place, event in history.started.values() if place[0] <= step]


def may_be_reached(tensor: TensorInfo, until: int, history: History) -> bool:
    """Whether a backward brought a gradient to a tensor, or it is not known."""
    ran = {number for number, _ in history.ran_in.get(tensor.node or "", ())}
    numbers = ran.intersection(one.number for one in backwards_until(until, history))
    runs = [history.node_runs.get((number, tensor.node or "")) for number in numbers]
    came = [() if run is None else run[1].grad_outputs for run in runs]
    is_known = tensor.node is not None and not history.counted
    return not is_known or any(not one or one[tensor.output_nr] is not None for one in came)


def beside_the_way(tensor: TensorInfo, until: int, history: History) -> Uses | None:
    """What was computed from a tensor to which no backward brought a gradient.

    Args:
        tensor: A leaf or a result that requires grad.
        until: The last step that counts.
        history: The recording.

    Returns:
        ``None`` if one did, or if it is not known.
    """
    if may_be_reached(tensor, until, history):
        return None
    roots = {node for one in backwards_until(until, history) for node, _ in one.roots}
    flow = Dataflow(history, PythonValues(history), until)
    calls = [one for one in flow.calls if one.operation and one.operation.node in roots]
    uses = flow.on(tensor.id, [key for call in calls for key in call.made])
    return None if uses.is_live or flow.missing is not None else uses


def causes_of(tensor: TensorInfo, uses: Uses, until: int, history: History) -> list[Cause]:
    """The cuts between a tensor and the losses, else the line that made it."""
    found = [
        Cause("cut", cut_words(cut, tensors_of(cut, history, until)), cut.at) for cut in uses.cuts
    ]
    born = history.born(tensor.id)
    if found or not born:
        return found
    made = say("{} was made here, beside the way", history.tensor_term(tensor.id, until))
    return [Cause("other", made, history.line(born))]
