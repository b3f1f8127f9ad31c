"""The table of faults: one row per thing that can be explained.

To explain one more: a row here, a detector that yields what a recording shows of it, and a program
in ``tests/analysis/explain/scenarios.py`` (``silent_scenarios.py`` where torch raises nothing).
Rows are tried in their order; of an error, the first whose pattern fits and whose detector finds
something is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors import (
    bad_call,
    custom_function,
    freed_saved_read,
    graph_freed,
    inplace_refused,
    no_graph,
    saved_modified,
)
from gradviz.analysis.explain.fault import Fault, Finding
from gradviz.analysis.explain.silent import (
    broadcast,
    frozen_batchnorm,
    lost_gradient,
    replaced_parameter,
    stale_gradient,
    unrecorded_write,
    untracked_write,
)
from gradviz.model.sentence import say

_LEAF_WRITTEN: Final[Fault[Any]] = Fault(
    kind="leaf written",
    says=(("RuntimeError", r"^a leaf Variable that requires grad"),),
    find=inplace_refused.leaf,
    what="{by} would write {it}, a leaf that requires grad, in place",
    why="gradients are collected at leaves; a recorded write would make it the result of an "
    "operation, and no leaf any more",
    highlights={"it": ("written", "{by} was to write it")},
    fixes=(inplace_refused.without_record,),
)
_NOT_SCALAR: Final = r"grad can be (implicitly )?created only for (real )?scalar"
_ON_DEVICE: Final = ("TypeError", r"can't convert \S+ device type tensor to numpy")
"""On a GPU the device is looked at first; whether the tensor requires grad is asked later."""

LOUD: Final[tuple[Fault[Any], ...]] = (
    Fault(
        kind="saved tensor written",
        says=(
            ("RuntimeError", r"has been modified by an inplace operation"),
            ("RuntimeError", r"saved tensor that has been detached in-place"),
        ),
        find=saved_modified.saved_written,
        what={
            "": "{node} saved {saved} at version {then}, but {it} is at version {now} when "
            "backward needs it",
            "version not known": "{node} saved {saved}, which was written before backward needs it",
            "tensor not known": "a tensor{of_shape} was saved{versions} when backward needs it",
        },
        why={
            "": "the gradient of {operation} is computed from {source}; from changed values it "
            "would be wrong, so torch refuses",
            "the optimizer wrote": "backward goes on with the weights that this loss was computed "
            "with; the optimizer has overwritten them, so the gradient would be wrong and torch "
            "refuses",
            "tensor not known": "a gradient from changed values would be wrong, so torch refuses",
        },
        highlights={
            "node": ("refused", "it saved what was written afterwards"),
            "slot": ("written", "{by}"),
            "writer": ("culprit", "{by}"),
            "candidate": ("written", "it may have saved what was written"),
        },
        culprit="write",
        fixes=(saved_modified.fixes,),
    ),
    Fault(
        kind="saved tensor read after freeing",
        says=(
            ("RuntimeError", r"backward through the graph a second time"),
            ("RuntimeError", r"saved (tensors|variables).*already been freed"),
        ),
        find=freed_saved_read.saved_read,
        what="{node} has freed its saved {slot}{where}",
        why="backward() frees what the nodes it runs have saved, unless told retain_graph=True",
        highlights={
            "node": ("refused", "it needs what it has saved"),
            "slot": ("culprit", "{by}"),
        },
        fixes=(freed_saved_read.fixes,),
    ),
    Fault(
        kind="graph freed",
        says=(
            ("RuntimeError", r"backward through the graph a second time"),
            ("RuntimeError", r"saved (tensors|variables).*already been freed"),
        ),
        find=graph_freed.graph_freed,
        what={
            "": "{node} needs {saved}, but backward {number}{where} has freed {them}",
            "backward not known": "{node} needs {saved}, but {they_have} been freed",
            "node not known": "a node needs what it had saved, but an earlier backward has freed "
            "it",
        },
        why="backward() frees what the nodes it runs have saved, unless it is told "
        "retain_graph=True; without it the gradient cannot be computed a second time",
        highlights={
            "node": ("refused", "it needs what it has saved"),
            "slot": ("culprit", "{by}"),
            "candidate": ("refused", "it may be the node that refused"),
        },
        culprit="backward",
        fixes=(graph_freed.fixes,),
    ),
    _LEAF_WRITTEN,
    replace(
        _LEAF_WRITTEN,
        kind="view of a leaf written",
        says=(("RuntimeError", r"^a view of a leaf Variable"),),
    ),
    Fault(
        kind="output of a backward hook written",
        says=(("RuntimeError", r"[Oo]utput \d+ of BackwardHookFunction\w* is a view"),),
        find=inplace_refused.behind_hook,
        what="{by}{where} would write the output of a module that has a full backward hook",
        why="the hook's node stands behind that output, and a write in place would go around it",
        highlights={"it": ("written", "{by} was to write it")},
        fixes=(inplace_refused.out_of_place,),
    ),
    Fault(
        kind="one of several views written",
        says=(("RuntimeError", r"function that returns multiple views"),),
        find=inplace_refused.several_views,
        what="{by} would write {it}, one of several views that one call gave",
        why="they share one node, which cannot be changed for one of them alone",
        highlights={"it": ("written", "{by} was to write it")},
        fixes=(inplace_refused.one_by_one,),
    ),
    Fault(
        kind="inference tensor saved",
        says=(("RuntimeError", r"Inference tensors cannot be saved"),),
        find=inplace_refused.inference,
        what="{by} would save {it}{which}",
        why="tensors of inference mode have no version counter, so autograd could not notice "
        "that one was written after it was saved",
        highlights={"it": ("refused", "{it}")},
        fixes=(inplace_refused.ordinary_tensor,),
    ),
    Fault(
        kind="not a scalar",
        says=(("RuntimeError", _NOT_SCALAR),),
        find=bad_call.not_a_scalar,
        what="{it} {what}, and no gradient was given",
        why="backward starts with the gradient 1 of a single real number; of others it must be "
        "told how much each counts",
        highlights={"it": ("refused", "it {what}")},
        fixes=(bad_call.summed,),
    ),
    Fault(
        kind="no graph",
        says=(("RuntimeError", r"element \d+ of tensors does not require grad"),),
        find=no_graph.no_graph,
        what="{root} does not require grad and has no grad_fn: there is no graph behind it",
        why="{why}",
        highlights={"cut": ("cut", "{words}")},
        culprit="other",
        fixes=(no_graph.fixes,),
    ),
    Fault(
        kind="dtype cannot require grad",
        says=(
            (
                "RuntimeError",
                r"[Oo]nly Tensors of floating point( and complex)? dtype can require grad",
            ),
        ),
        find=bad_call.no_derivative,
        what="{it} {is_it}, and cannot require grad",
        why="a derivative tells what a small change does; only floating point and complex numbers "
        "can change a little",
        highlights={"it": ("refused", "it {is_it}")},
        fixes=(bad_call.as_floats,),
    ),
    Fault(
        kind="flag of a non-leaf",
        says=(("RuntimeError", r"only change requires_grad flags of leaf"),),
        find=bad_call.non_leaf,
        what="{it} is not a leaf{made}, so its requires_grad cannot be set",
        why="whether the result of an operation requires grad follows from what went in",
        highlights={"it": ("refused", "it is not a leaf")},
        fixes=(bad_call.without_flag,),
    ),
    Fault(
        kind="numpy of a tensor that requires grad",
        says=(
            ("RuntimeError", r"[Cc]an't call numpy\(\) on Tensor that requires grad"),
            _ON_DEVICE,
        ),
        find=bad_call.numpy,
        what="{it} requires grad, and an array of numpy cannot",
        why="numpy records nothing: the graph would end there without a word",
        highlights={"it": ("refused", "it requires grad")},
        fixes=(bad_call.detached,),
    ),
    Fault(
        kind="other",
        says=(_ON_DEVICE,),
        find=bad_call.numpy_of_device,
        what="{it} is not in the memory of the host, where arrays of numpy are",
        why="",
    ),
    Fault(
        kind="deepcopy of a non-leaf",
        says=(("RuntimeError", r"support the deepcopy protocol"),),
        find=bad_call.non_leaf,
        what="{it} is not a leaf{made}, so deepcopy cannot copy it",
        why="its graph would have to be copied too, up to the leaves",
        highlights={"it": ("refused", "it is not a leaf")},
        fixes=(bad_call.cloned,),
    ),
    Fault(
        kind="gradient of another shape",
        says=(("RuntimeError", r"Mismatch in shape: grad_output\[\d+\] has a shape"),),
        find=bad_call.other_shape,
        what={
            "": "the gradient given for {root} has shape {given}, but {root} has shape {wanted}",
            "shapes not known": "the gradient given for {root} has another shape than {root}",
        },
        why="each element of the root needs its own gradient to start with",
        highlights={"it": ("refused", "its gradient must have its shape")},
        fixes=(bad_call.gradient_of_its_shape,),
    ),
    Fault(
        kind="unused input",
        says=(
            ("RuntimeError", r"appears? to not have been used in the graph"),
            ("RuntimeError", r"differentiated Tensors does not require grad"),
        ),
        find=bad_call.unused,
        what={
            "": "{root} does not depend on {it}: no way leads there in the graph",
            "frozen": "{it} does not require grad, so it has no gradient",
        },
        why="grad() gives a gradient for every input it is asked for, unless told otherwise",
        highlights={"it": ("unreached", "no way leads here")},
        fixes=(bad_call.asked_for,),
    ),
    Fault(
        kind="wrong number of gradients",
        says=(("RuntimeError", r"returned an incorrect number of gradients"),),
        find=custom_function.wrong_number,
        what={
            "": "{function}.backward gave {gave}, but forward has {owed}",
            "numbers not known": "{function}.backward gave the wrong number of gradients",
        },
        why="backward owes one gradient for every argument of forward, in their order; None for "
        "those that need none",
        highlights={"node": ("refused", "{function}.backward gave {gave}, but forward has {owed}")},
        fixes=(custom_function.fixes,),
    ),
)
"""What torch refuses. A pattern is the part of torch's sentence that all releases share."""

SILENT: Final[tuple[Fault[Any], ...]] = (
    Fault(
        kind="hidden write",
        find=untracked_write.untracked_writes,
        what="{wrote} after {node} had saved it, and {stood} did not change, so backward did not "
        "notice",
        why="{node} keeps the memory of {it}, not a copy. Backward computed with the values that "
        "{line} had put there, so the gradient is not that of what forward computed",
        highlights={
            "slot": ("written", "{wrote} after it was saved"),
            "it": ("written", "{wrote}"),
        },
        fixes=(untracked_write.fixes,),
    ),
    Fault(
        kind="write without a node",
        find=unrecorded_write.unrecorded_writes,
        what="{wrote}{mode} without leaving a node, so the gradient ignores it",
        why="backward went through {it} as if it still were what {node} gave: {came} and went on "
        "to {node}, and no node tells it what {line} did",
        highlights={"edge": ("culprit", "{by} is missing here"), "it": ("written", "{wrote}")},
        fixes=(unrecorded_write.fixes,),
    ),
    Fault(
        kind="broadcast",
        find=broadcast.broadcasts,
        what="{call} got {operands}, and broadcast them to ({size}, {size}): {pairs} pairs where "
        "{size} were meant",
        why="broadcasting stretches both: each element is compared with every element of the "
        "other, so the gradient pulls every prediction towards all targets at once",
        highlights={"node": ("culprit", "{line}: {size} x {size} pairs")},
        fixes=(broadcast.fixes,),
    ),
    Fault(
        kind="parameter rebound",
        find=replaced_parameter.replaced_parameters,
        what="{names} {are_others} since {line}: backward fills the .grad of the new, {label} "
        "works on the old",
        why="an optimizer keeps the tensors it was made with, not their names. A name that is "
        "bound again means a new tensor, which this optimizer never updates",
        highlights={
            "new": ("culprit", "no optimizer has this {words}"),
            "old": ("unreached", "the optimizer has it, backward does not come here"),
        },
        fixes=(replaced_parameter.fixes,),
    ),
    Fault(
        kind="stale gradient",
        find=stale_gradient.stale_gradients,
        what="{label} moved {names} though frozen, {old}",
        why="requires_grad=False keeps backward from giving a new gradient; it does not take the "
        "old one away. An optimizer moves every parameter whose .grad is not None, and with "
        "momentum or weight decay also one whose .grad is 0",
        highlights={"moved": ("written", "{label} moved it though it is frozen")},
        fixes=(stale_gradient.fixes,),
    ),
    Fault(
        kind="frozen batch norm moves",
        find=frozen_batchnorm.frozen_batch_norms,
        what="{modules} {have} frozen parameters, and {their} forward still wrote {statistics}",
        why="requires_grad=False stops gradients only. Running statistics are buffers that a "
        "forward in training mode updates, under no_grad too; eval() stops that",
        highlights={"statistics": ("written", "the forward updated it")},
        fixes=(frozen_batchnorm.fixes,),
    ),
    Fault(
        kind="gradient thrown away",
        find=lost_gradient.thrown_away,
        what="the {gradients} of {names} that backward gave in {backward} {were} taken away before "
        "{label} used {them}",
        why="a step of an optimizer uses what .grad holds at that moment; taken away after "
        "backward, nothing is left of what backward computed",
        highlights={"thrown": ("unreached", "{line} took its gradient away")},
        fixes=(lost_gradient.after_the_step,),
    ),
    Fault(
        kind="clipped before backward",
        find=lost_gradient.clipped_early,
        what="{call} ran when {had}; {label} used the gradients of {names} that backward gave "
        "afterwards, not clipped",
        why="{call} changes the .grad that are there when it runs, once; it has to run between "
        "backward and the step",
        highlights={"stepped": ("written", "stepped with a gradient that was not clipped")},
        fixes=(lost_gradient.before_the_step,),
    ),
)
"""What torch passes over, and what makes a gradient or an update wrong all the same."""


def _raised(context: ErrorContext) -> Iterator[Finding]:
    by = "" if context.refused is None else f" by {context.refused.name}"
    yield Finding(
        history=context.history,
        step=context.step,
        words={"type": context.raised.type, "by": by},
        unknown=(say("why: gradviz has no explanation for this error"),),
    )


OTHER: Final[Fault[Any]] = Fault(
    kind="other", says=(("", ""),), find=_raised, what="{type} was raised{by}", why=""
)
"""An error that is not autograd's, or not known."""


def faults_of(raised: str, message: str) -> Iterator[Fault[Any]]:
    """Rows whose pattern fits an error, in the order in which they are tried.

    Args:
        raised: Class of the exception.
        message: Its text.

    Examples:
        >>> sentence = "a leaf Variable that requires grad is being used"
        >>> [fault.kind for fault in faults_of("RuntimeError", sentence)]
        ['leaf written', 'other']
    """
    for fault in LOUD:
        if any(
            kind == raised and re.search(words, message, re.DOTALL) for kind, words in fault.says
        ):
            yield fault
    yield OTHER
