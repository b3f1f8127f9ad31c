"""The table of faults: one row per fault that can be explained.

To add one: a row here, a detector that yields findings from a recording, and a program in
 ``tests/analysis/explain/scenarios.py`` (``silent_scenarios.py`` where torch raises nothing).
Rows are tried in their order; of an error, the first whose pattern fits and whose detector finds
something is used.
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
    differentiated_twice,
    freed_saved_read,
    graph_freed,
    hook_size,
    inplace_refused,
    needs_leaf,
    no_graph,
    none_grad,
    not_differentiable,
    not_recomputed,
    saved_modified,
    under_vmap,
)
from gradviz.analysis.explain.fault import Fault, Finding
from gradviz.analysis.explain.silent import (
    broadcast,
    frozen_batchnorm,
    lost_gradient,
    lost_update,
    replaced_parameter,
    stale_gradient,
    unregistered,
    used_gradient,
    write_without_node,
    write_without_version,
)
from gradviz.model.sentence import say

_LEAF_WRITTEN: Final[Fault[Any]] = Fault(
    kind="leaf written",
    says=(("RuntimeError", r"^a leaf Variable that requires grad"),),
    find=inplace_refused.leaf,
    what="{by} would write {it}, {leaf} that requires grad, in place",
    why="backward accumulates gradients in leaves; a recorded write would make this tensor the "
    "result of an operation, no longer a leaf",
    highlights={"it": ("refused", "{by} would write it")},
    fixes=(inplace_refused.of_leaf,),
)
_NOT_SCALAR: Final = r"grad can be (implicitly )?created only for (real )?scalar"
_ONCE: Final = (
    "with create_graph=True autograd records what backward computes; the decorator runs the "
    "backward of a custom Function without recording it"
)
_ON_DEVICE: Final = ("TypeError", r"can't convert \S+ device type tensor to numpy")
"""On a GPU torch checks the device first, and whether the tensor requires grad afterwards."""

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
            "version not known": "{node} saved {saved}, which was modified before backward needed "
            "it",
            "tensor not known": "a saved tensor{of_shape} was modified before backward needed it"
            "{versions}",
        },
        why={
            "": "the gradient of {operation} is computed from {source}; from modified values it "
            "would be wrong, so torch raises an error",
            "the optimizer wrote": "backward needs the weights with which this loss was computed; "
            "the optimizer has overwritten them, so the gradient would be wrong and torch raises "
            "an error",
            "tensor not known": "a gradient computed from modified values would be wrong, so torch "
            "raises an error",
        },
        highlights={
            "node": ("refused", "it saved a tensor that was modified afterwards"),
            "slot": ("written", "{by}"),
            "writer": ("culprit", "{by}"),
            "candidate": ("written", "it may have saved the tensor that was modified"),
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
        what="the saved {slot} of {node} was freed{where}",
        why="backward() frees the saved tensors of the nodes it runs, unless called with "
        "retain_graph=True",
        highlights={
            "node": ("refused", "its saved tensor was read"),
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
            "freed before": "{node} needs {saved}, but an earlier backward has freed "
            "{them}{before}",
            "one was freed before": "a node needs its saved tensors, but an earlier backward has "
            "freed them{before}",
            "node not known": "a node needs its saved tensors, but an earlier backward has freed "
            "them",
        },
        why="backward() frees the saved tensors of the nodes it runs, unless called with "
        "retain_graph=True; without them the gradient cannot be computed a second time",
        highlights={
            "node": ("refused", "it needs its saved tensors"),
            "slot": ("culprit", "{by}"),
            "candidate": ("refused", "it may be the node that raised the error"),
        },
        culprit="backward",
        fixes=(graph_freed.fixes,),
    ),
    _LEAF_WRITTEN,
    replace(
        _LEAF_WRITTEN,
        kind="view of a leaf written",
        says=(("RuntimeError", r"^a view of a leaf Variable"),),
        find=inplace_refused.view_of_leaf,
    ),
    Fault(
        kind="output of a backward hook written",
        says=(("RuntimeError", r"[Oo]utput \d+ of BackwardHookFunction\w* is a view"),),
        find=inplace_refused.behind_hook,
        what="{by}{where} would write the output of a module that has a full backward hook",
        why="the grad_fn of that output is the hook's node; a write in place would bypass it",
        highlights={"it": ("refused", "{by} would write it")},
        fixes=(inplace_refused.out_of_place,),
    ),
    Fault(
        kind="one of several views written",
        says=(("RuntimeError", r"function that returns multiple views"),),
        find=inplace_refused.several_views,
        what="{by} would write {it}, one of several views that one call returned",
        why="these views share one node, so autograd cannot record a write to one of them alone",
        highlights={"it": ("refused", "{by} would write it")},
        fixes=(inplace_refused.one_by_one,),
    ),
    Fault(
        kind="inference tensor saved",
        says=(("RuntimeError", r"Inference tensors cannot be saved"),),
        find=inplace_refused.inference,
        what="{by} would save {it}{which}",
        why="inference tensors have no version counter, so autograd could not detect that one was "
        "modified after it was saved",
        highlights={"it": ("refused", "{it}")},
        fixes=(inplace_refused.ordinary_tensor,),
    ),
    Fault(
        kind="inference tensor written",
        says=(("RuntimeError", r"Inplace update to inference tensor outside InferenceMode"),),
        find=inplace_refused.inference_written,
        what="{by} would write {it}{which}",
        why="a write outside inference mode has to increase the version counter, and an inference "
        "tensor has none",
        highlights={"it": ("refused", "{by} would write it")},
        fixes=(inplace_refused.ordinary_written,),
    ),
    Fault(
        kind="not a scalar",
        says=(("RuntimeError", _NOT_SCALAR),),
        find=bad_call.not_a_scalar,
        what="{it} {what}, and no gradient was given",
        why="backward starts with gradient 1 if the root is a single real number; for any other "
        "root, pass the gradient to start with",
        highlights={"it": ("refused", "it {what}")},
        fixes=(bad_call.summed,),
    ),
    Fault(
        kind="differentiated twice",
        says=(("RuntimeError", r"element \d+ of tensors does not require grad"),),
        find=differentiated_twice.without_graph,
        what="{root} does not require grad: backward of {function}, which computed it, is marked "
        "with @once_differentiable",
        why=_ONCE,
        highlights={"node": ("refused", "its backward is not recorded")},
        culprit="other",
        fixes=(differentiated_twice.unmarked,),
    ),
    Fault(
        kind="no graph",
        says=(("RuntimeError", r"element \d+ of tensors does not require grad"),),
        find=no_graph.no_graph,
        what="{root} does not require grad and has no grad_fn, so it has no graph",
        why="{why}",
        highlights={"cut": ("cut", "{words}")},
        culprit="other",
        fixes=(no_graph.fixes,),
    ),
    Fault(
        kind="grad is None",
        says=(
            ("TypeError", r"NoneType"),
            ("AttributeError", r"^'NoneType' object has no attribute"),
        ),
        find=none_grad.none_grad,
        what={
            "result": "{it}.grad is None: {it} is not a leaf",
            "constant": "{it}.grad is None: {it} does not require grad",
            "cleared": "{it}.grad is None: it was set to None after the last backward",
            "no backward": "{it}.grad is None: no backward has run yet",
            "not known": "{it}.grad is None",
            "": "{it}.grad is None: no backward has reached {it}",
        },
        why="backward accumulates into .grad of the leaves that require grad and that the root is "
        "computed from; all others keep None",
        highlights={"it": ("unreached", "its .grad is None")},
        culprit="other",
        fixes=(none_grad.fixes,),
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
        what="{it} {is_it}, so it cannot require grad",
        why="a derivative describes the effect of a small change; only floating point and complex "
        "values can change by a small amount",
        highlights={"it": ("refused", "it {is_it}")},
        fixes=(bad_call.as_floats,),
    ),
    Fault(
        kind="flag of a non-leaf",
        says=(("RuntimeError", r"only change requires_grad flags of leaf"),),
        find=needs_leaf.flag,
        what="{it} is not a leaf{made}, so its requires_grad cannot be set",
        why="whether a result requires grad follows from the inputs of its operation",
        highlights={"it": ("refused", "it is not a leaf")},
        fixes=(needs_leaf.without_flag,),
    ),
    Fault(
        kind="numpy of a tensor that requires grad",
        says=(
            ("RuntimeError", r"[Cc]an't call numpy\(\) on Tensor that requires grad"),
            _ON_DEVICE,
        ),
        find=bad_call.numpy,
        what="{it} requires grad, and a NumPy array cannot",
        why="NumPy operations are not recorded: the graph would end there silently",
        highlights={"it": ("refused", "it requires grad")},
        fixes=(bad_call.detached,),
    ),
    Fault(
        kind="other",
        says=(_ON_DEVICE,),
        find=bad_call.numpy_of_device,
        what="{it} is not in host memory, where NumPy arrays are",
        why="",
    ),
    Fault(
        kind="deepcopy of a non-leaf",
        says=(("RuntimeError", r"support the deepcopy protocol"),),
        find=needs_leaf.non_leaf,
        what="{it} is not a leaf{made}, so deepcopy cannot copy it",
        why="its graph would have to be copied too, including the leaves",
        highlights={"it": ("refused", "it is not a leaf")},
        fixes=(needs_leaf.cloned,),
    ),
    Fault(
        kind="non-leaf given to an optimizer",
        says=(("ValueError", r"can't optimize a non-leaf Tensor"),),
        find=needs_leaf.non_leaf,
        what="{it} is not a leaf{made}, so an optimizer cannot update it",
        why="backward accumulates gradients in leaves; the result of an operation has none, and a "
        "step could only change a value that is computed from other tensors",
        highlights={"it": ("refused", "it is not a leaf")},
        fixes=(needs_leaf.made_leaf,),
    ),
    Fault(
        kind="gradient of another shape",
        says=(("RuntimeError", r"Mismatch in shape: grad_output\[\d+\] has a shape"),),
        find=bad_call.other_shape,
        what={
            "": "the gradient given for {root} has shape {given}, but {root} has shape {wanted}",
            "shapes not known": "the gradient given for {root} does not have the shape of {root}",
        },
        why="backward starts with one gradient per element of the root",
        highlights={"it": ("refused", "its gradient must have its shape")},
        fixes=(bad_call.gradient_of_its_shape,),
    ),
    Fault(
        kind="gradient of another shape",
        says=(("RuntimeError", r"returned an invalid gradient at index \d+ - got \["),),
        find=custom_function.other_shape,
        what={
            "": "{function}.backward returned a gradient of shape {given} for {root}, which has "
            "shape {wanted}",
        },
        why="the gradient of a tensor has one element for each element of the tensor",
        highlights={"it": ("refused", "its gradient for {root} has shape {given}")},
        fixes=(custom_function.in_shape,),
    ),
    Fault(
        kind="gradient of another shape",
        says=(("RuntimeError", r"hook '.*' has changed the size of value"),),
        find=hook_size.hook_size,
        what="the hook {hook} returned a gradient of another shape than {it}",
        why="what a hook returns takes the place of the gradient, and the gradient of a tensor "
        "has one element for each element of the tensor",
        highlights={"it": ("refused", "its hook returned a gradient of another shape")},
    ),
    Fault(
        kind="unused input",
        says=(
            ("RuntimeError", r"appears? to not have been used in the graph"),
            ("RuntimeError", r"differentiated Tensors does not require grad"),
        ),
        find=bad_call.unused,
        what={
            "": "{root} does not depend on {it}: no path in the graph leads to it",
            "frozen": "{it} does not require grad, so it has no gradient",
        },
        why={
            "": "every tensor in inputs must be in the graph, unless allow_unused=True",
            "frozen": "grad() accepts only inputs that require grad",
        },
        highlights={"it": ("unreached", "no path leads here")},
        fixes=(bad_call.asked_for,),
    ),
    Fault(
        kind="wrong number of gradients",
        says=(("RuntimeError", r"returned an incorrect number of gradients"),),
        find=custom_function.wrong_number,
        what={
            "": "{function}.backward returned {gave}, but forward has {owed}",
            "numbers not known": "{function}.backward returned the wrong number of gradients",
        },
        why="backward must return one gradient per argument of forward, in order; None for "
        "arguments that need no gradient",
        highlights={
            "node": ("refused", "{function}.backward returned {gave}, but forward has {owed}")
        },
        fixes=(custom_function.fixes,),
    ),
    Fault(
        kind="gradient of no tensor",
        says=(("RuntimeError", r"returned a gradient different than None at position \d+"),),
        find=custom_function.for_no_tensor,
        what="{function}.backward returned a gradient for {it}, which is no tensor",
        why="backward must return one gradient per argument of forward, in order; None for "
        "arguments that are no tensors",
        highlights={"node": ("refused", "{function}.backward returned a gradient for {it}")},
        fixes=(custom_function.none_there,),
    ),
    Fault(
        kind="gradient of no tensor",
        says=(("RuntimeError", r"expected Variable or None \(got"),),
        find=custom_function.no_gradient,
        what="{function}.backward returned a value that is neither a tensor nor None",
        why="the gradient of a tensor is a tensor",
        highlights={"node": ("refused", "{function}.backward returned no tensor")},
    ),
    Fault(
        kind="differentiated twice",
        says=(("RuntimeError", r"differentiate twice a function .*once_differentiable"),),
        find=differentiated_twice.differentiated_twice,
        what="backward needs the derivative of {function}.backward, which is marked with "
        "@once_differentiable",
        why=_ONCE,
        highlights={"node": ("refused", "its backward is not recorded")},
        culprit="other",
        fixes=(differentiated_twice.unmarked,),
    ),
    Fault(
        kind="recomputation differs",
        says=(
            ("CheckpointError", r"A different number of tensors was saved"),
            ("CheckpointError", r"different metadata than during the forward pass"),
            ("CheckpointError", r"trying to save more tensors during recomputation"),
        ),
        find=not_recomputed.not_recomputed,
        what="the recomputation of the checkpointed function{where} differs from its forward",
        why="checkpoint saves no tensors in forward; backward calls the function a second time, "
        "which must save the same tensors again",
        highlights={"node": ("refused", "it needs the recomputed tensors")},
        culprit="other",
    ),
    Fault(
        kind="no derivative",
        says=(
            ("NotImplementedError", r"the derivative for '.*' is not implemented"),
            ("RuntimeError", r"the derivative for '.*' is not implemented"),
        ),
        find=not_differentiable.not_implemented,
        what="{operator} has no derivative in torch, and {it} requires grad",
        why="autograd records an operation only if torch has a formula for its gradient",
        highlights={"it": ("refused", "{operator} has no derivative")},
    ),
    Fault(
        kind="does not require grad",
        says=(
            ("RuntimeError", r"can't retain_grad on Tensor that has requires_grad=False"),
            ("RuntimeError", r"cannot register a hook on a tensor that doesn't require grad"),
        ),
        find=not_differentiable.without_gradient,
        what="{it} does not require grad, so it gets no gradient",
        why="{why}",
        highlights={"it": ("refused", "it does not require grad")},
        culprit="other",
        fixes=(not_differentiable.on_the_graph,),
    ),
    Fault(
        kind="out= is not recorded",
        says=(("RuntimeError", r"functions with out=\.\.\. arguments don't support"),),
        find=not_differentiable.written_out,
        what="{by} would write its result into out=, and {it} requires grad",
        why="autograd does not record operations with out=, so the result would have no graph",
        highlights={"it": ("refused", "it requires grad")},
        fixes=(not_differentiable.without_out,),
    ),
    Fault(
        kind="value read under vmap",
        says=(
            ("RuntimeError", r"vmap: It looks like you're calling \.item\(\)"),
            ("RuntimeError", r"vmap: It looks like you're attempting to use a Tensor in some data"),
        ),
        find=under_vmap.value_read,
        what="{by} would read {it} as one Python number, but under vmap it has one per sample",
        why="vmap calls the function once for all samples; a Python number or a branch would be "
        "the same for all of them",
        highlights={"it": ("refused", "it has one value per sample")},
        fixes=(under_vmap.as_tensor,),
    ),
    Fault(
        kind="write under vmap",
        says=(("RuntimeError", r"vmap: inplace arithmetic\(self"),),
        find=under_vmap.write,
        what="{by} would write values of all samples into {it}, which is one tensor for all of "
        "them",
        why="a tensor that the function makes itself has no dimension of samples, so it has no "
        "room for them",
        highlights={"it": ("refused", "{by} would write it")},
        culprit="other",
        fixes=(under_vmap.with_samples,),
    ),
    Fault(
        kind="random numbers under vmap",
        says=(("RuntimeError", r"vmap: called random operation while in randomness error mode"),),
        find=under_vmap.random,
        what="{by} makes random numbers under vmap, which does not know whether all samples "
        "get the same",
        why="a loop over the samples would make new ones for each; vmap(randomness=...) says "
        'which is meant: "different" or "same"',
        fixes=(under_vmap.different,),
    ),
)
"""Faults for which torch raises an error. A pattern is the part of torch's message that all
releases share."""

SILENT: Final[tuple[Fault[Any], ...]] = (
    Fault(
        kind="hidden write",
        find=write_without_version.untracked_writes,
        what="{wrote} after {node} had saved it; {stood}, so backward did not detect it",
        why="{node} saved {it} without copying it. Backward used the values that {line} wrote, "
        "so the gradient is wrong for the values of forward",
        highlights={
            "slot": ("written", "{wrote} after it was saved"),
            "it": ("written", "{wrote}"),
        },
        fixes=(write_without_version.fixes,),
    ),
    Fault(
        kind="write without a node",
        find=write_without_node.unrecorded_writes,
        what="{wrote}{mode} and was not recorded, so the gradient ignores it",
        why="backward {came} {node}, as if {line} had not changed {it}",
        highlights={"edge": ("culprit", "{by} is missing here"), "it": ("written", "{wrote}")},
        fixes=(write_without_node.fixes,),
    ),
    Fault(
        kind="broadcast",
        find=broadcast.broadcasts,
        what="{call} got {operands}, and broadcast them to ({size}, {size}): {pairs} pairs "
        "instead of {size}",
        why="broadcasting expands both: each element is compared with every element of the other, "
        "so the gradient of each prediction comes from all targets",
        highlights={"node": ("culprit", "{line}: {size} x {size} pairs")},
        fixes=(broadcast.fixes,),
    ),
    Fault(
        kind="parameter rebound",
        find=replaced_parameter.replaced_parameters,
        what="{names} {are_others} since {line}: backward fills the .grad of the new {tensors}, "
        "but {label} still has the old {ones}",
        why="an optimizer keeps the tensors it was created with, not their names. A name that is "
        "bound again refers to a new tensor, which this optimizer never updates",
        highlights={
            "new": ("culprit", "no optimizer has this {words}"),
            "old": ("unreached", "the optimizer has it, but backward does not reach it"),
        },
        fixes=(replaced_parameter.fixes,),
    ),
    Fault(
        kind="stale gradient",
        find=stale_gradient.stale_gradients,
        what="{label} updated {names} although frozen, {old}",
        why="requires_grad=False stops new gradients; it does not clear .grad. An optimizer "
        "updates every parameter whose .grad is not None; with momentum or weight decay even if "
        "it is 0",
        highlights={"moved": ("written", "{label} updated it although it is frozen")},
        fixes=(stale_gradient.fixes,),
    ),
    Fault(
        kind="frozen batch norm moves",
        find=frozen_batchnorm.frozen_batch_norms,
        what="{modules} {have} frozen parameters, but {their} forward still updated {statistics}",
        why="requires_grad=False only stops gradients. Running statistics are buffers that a "
        "forward in training mode updates, also under no_grad; eval() prevents that",
        highlights={"statistics": ("written", "the forward updated it")},
        fixes=(frozen_batchnorm.fixes,),
    ),
    Fault(
        kind="gradient thrown away",
        find=lost_gradient.thrown_away,
        what="the {gradients} of {names} from the backward in {backward} {were} cleared before "
        "{label} used {them}",
        why="an optimizer step uses .grad as it is at that moment; once .grad is cleared, what "
        "backward computed is lost",
        highlights={"thrown": ("unreached", "{line} cleared its .grad")},
        fixes=(lost_gradient.after_the_step,),
    ),
    Fault(
        kind="clipped before backward",
        find=lost_gradient.clipped_early,
        what="{call} ran when {had}; {label} used the gradients of {names} that backward computed "
        "afterwards, not clipped",
        why="{call} only clips the gradients that exist when it runs; it must run between "
        "backward and the step",
        highlights={"stepped": ("written", "updated with a gradient that was not clipped")},
        fixes=(lost_gradient.before_the_step,),
    ),
    Fault(
        kind="gradient added to a used one",
        find=used_gradient.added_to_used,
        what="backward in {backward} added the {gradients} of {names} to what {label} had used "
        "before; nothing clears it",
        why="backward adds to .grad, and a step leaves .grad as it is: each step repeats what all "
        "steps before it did",
        highlights={"added": ("written", "its .grad is a sum over steps")},
        fixes=(used_gradient.cleared_after_the_step,),
    ),
    Fault(
        kind="update of a loop variable",
        find=lost_update.lost_updates,
        what="{line} computes a new tensor from {it} and binds it to {name}, which the loop binds "
        "again: {it} does not change",
        why="an assignment to a name changes no tensor; only a write in place changes the one that "
        "the module has",
        highlights={"it": ("unreached", "{line} does not change it")},
        fixes=(lost_update.in_place,),
    ),
    Fault(
        kind="parameter not registered",
        find=unregistered.unregistered,
        what={
            "": "{it} of {module} got gradients, but {label} does not have it: it is a tensor, "
            "not a parameter of {module}",
            "list": "{it} got gradients, but {label} does not have it: {attribute} of {module} "
            "has {tensors} that {are} no {parameters} of {module}",
        },
        why="a module registers parameters, buffers and modules that are assigned to its "
        "attributes; it does not look into lists, and a tensor is no parameter",
        highlights={"left": ("unreached", "no optimizer has it")},
        fixes=(unregistered.registered,),
    ),
)
"""Faults for which torch raises no error, although a gradient or an update is wrong."""


def _raised(context: ErrorContext) -> Iterator[Finding]:
    by = "" if context.refused is None else f" by {context.refused.name}"
    yield Finding(
        history=context.history,
        step=context.step,
        words={"type": context.raised.type, "by": by},
        unknown=(
            say(
                "why: gradviz has no explanation for this error; "
                "gradviz.show(recording) shows the steps before"
            ),
        ),
    )


OTHER: Final[Fault[Any]] = Fault(
    kind="other", says=(("", ""),), find=_raised, what="{type} was raised{by}", why=""
)
"""An error that autograd did not raise, or that has no row."""


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
