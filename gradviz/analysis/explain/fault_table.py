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
    array_operator,
    bad_call,
    checkpoint_rules,
    custom_function,
    differentiated_twice,
    freed_saved_read,
    function_rules,
    given_gradients,
    gradcheck_failed,
    graph_freed,
    hook_rules,
    hook_size,
    inplace_refused,
    nan_in_backward,
    needs_leaf,
    no_graph,
    none_grad,
    not_a_tensor,
    not_differentiable,
    not_recomputed,
    optimizer_given,
    parameter_assigned,
    replicated,
    saved_modified,
    under_func,
    under_vmap,
    view_refused,
)
from gradviz.analysis.explain.fault import Fault, Finding
from gradviz.analysis.explain.fixes import stay_finite
from gradviz.analysis.explain.silent import (
    advantage_gradient,
    broadcast,
    early_scheduler,
    empty_step,
    first_nan_or_inf,
    frozen_batchnorm,
    frozen_by_name,
    hook_beside,
    kept_evaluations,
    kept_graphs,
    loss_inputs,
    lost_gradient,
    lost_in_a_node,
    lost_update,
    mixed_gradient,
    module_modes,
    partial_gradient,
    replaced_parameter,
    similarity_gradient,
    stale_gradient,
    target_gradient,
    unregistered,
    unused_gradient,
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
        says=(("RuntimeError", r"being modified inplace.*function that returns multiple views"),),
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
            "frozen": "{it}.grad is None: {it} does not require grad any more",
            "cleared": "{it}.grad is None: it was set to None after the last backward",
            "no backward": "{it}.grad is None: no backward has run yet",
            "not known": "{it}.grad is None",
            "beside": "{it}.grad is None: {it} is off the way to the loss, which was not computed "
            "from it",
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
        what={
            "": "{it} {is_it}, so it cannot require grad",
            "ids": "{it} {is_it} and holds ids, so it cannot require grad",
        },
        why={
            "": "a derivative describes the effect of a small change; only floating point and "
            "complex values can change by a small amount",
            "ids": "an id selects a row and cannot change by a small amount; an embedding turns "
            "ids into floating point rows, which have gradients",
        },
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
        fixes=(custom_function.from_numpy,),
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
        kind="nan in backward",
        says=(("RuntimeError", r"Function '\w+' returned nan values in its \d+th output"),),
        find=nan_in_backward.nan_in_backward,
        what={"": "{harm}: {first}", "itself": "{first}", "not known": "{harm}"},
        why="{why}",
        highlights={"node": ("culprit", "it made the first nan or inf")},
        culprit="other",
        fixes=(stay_finite.fixes,),
    ),
    Fault(
        kind="gradient of another shape",
        says=(
            ("RuntimeError", r"assign a gradient of size"),
            ("RuntimeError", r"assigned grad has data of a different size"),
        ),
        find=given_gradients.assigned,
        what="the gradient{given} that is assigned does not have the shape of {it}{wanted}",
        why="the gradient of a tensor has one element for each element of the tensor",
        highlights={"it": ("refused", "its gradient must have its shape")},
        fixes=(given_gradients.of_its_size,),
    ),
    Fault(
        kind="gradient of another shape",
        says=(("RuntimeError", r"The size of tensor a .* must match the size of tensor b"),),
        find=given_gradients.accumulated,
        what="backward adds a gradient of the shape of {it}{wanted} to {it}.grad, which has "
        "another shape{given}",
        why="an assignment to .data can change the shape of a leaf; its .grad stays as it was",
        highlights={"it": ("refused", "its .grad has another shape")},
        culprit="other",
        fixes=(given_gradients.cleared_with_it,),
    ),
    Fault(
        kind="gradient of another shape",
        says=(("RuntimeError", r"If `is_grads_batched=True`"),),
        find=given_gradients.passed,
        what="the gradients given for {it} are not a batch of its shape",
        why="with is_grads_batched=True the first dimension counts the gradients, and the others "
        "are those of the root",
        highlights={"it": ("refused", "its gradients must be a batch of its shape")},
    ),
    Fault(
        kind="gradient of another shape",
        says=(
            ("RuntimeError", r"^v has invalid size"),
            ("RuntimeError", r"Trying to set a forward gradient that has a different size"),
        ),
        find=given_gradients.vector,
        what="the vector that is given does not have the shape of the tensor it belongs to",
        why="a product with a Jacobian takes one number per element: vjp per element of the "
        "output, jvp and make_dual per element of the input",
        highlights={"it": ("refused", "the vector must have its shape")},
    ),
    Fault(
        kind="gradient of another dtype or device",
        says=(
            ("RuntimeError", r"assign a gradient with (dtype|device type|device index)"),
            ("RuntimeError", r"assigned grad has data (of a different type|located on)"),
        ),
        find=given_gradients.assigned,
        what="the gradient{given} that is assigned does not fit {it}{wanted}",
        why="the gradient of a tensor has its dtype and is on its device",
        highlights={"it": ("refused", "its gradient must have its dtype and device")},
        fixes=(given_gradients.as_the_tensor,),
    ),
    Fault(
        kind="gradient of another dtype or device",
        says=(("RuntimeError", r"grad_output and output are required to have the same dtype"),),
        find=given_gradients.passed,
        what="the gradient given for {it} has another dtype than {it}",
        why="the gradient of a complex tensor is complex",
        highlights={"it": ("refused", "its gradient must have its dtype")},
        fixes=(given_gradients.in_its_dtype,),
    ),
    Fault(
        kind="gradient of another dtype or device",
        says=(("RuntimeError", r"hook '.*' has changed the type of value"),),
        find=given_gradients.hook_type,
        what="{it} got a gradient of {wanted} and returned one of {given}",
        why="what a hook returns takes the place of the gradient, which has the dtype and the "
        "device of its tensor",
        highlights={"node": ("refused", "its hook returned another dtype or device")},
        culprit="other",
        fixes=(given_gradients.in_the_dtype_before,),
    ),
    Fault(
        kind="gradient of another dtype or device",
        says=(
            ("RuntimeError", r"returned an invalid gradient at index \d+ - expected device"),
            ("RuntimeError", r"returned an invalid gradient at index \d+ - expected (type|layout)"),
        ),
        find=function_rules.other_device,
        what={
            "": "{it} returned a gradient that does not fit its input",
            "device": "{it} returned a gradient on {given} for an input on {wanted}",
        },
        why="the gradient of a tensor has its dtype and is on its device",
        highlights={"it": ("refused", "its gradient is on another device")},
    ),
    Fault(
        kind="gradient of no tensor",
        says=(("TypeError", r"assigned grad expected to be a Tensor or None"),),
        find=given_gradients.assigned,
        what="what is assigned to {it}.grad is neither a tensor nor None",
        why="the gradient of a tensor is a tensor; None says that there is none",
        highlights={"it": ("refused", "its .grad is a tensor or None")},
        fixes=(given_gradients.none_or_tensor,),
    ),
    Fault(
        kind="gradient of no tensor",
        says=(
            ("TypeError", r"gradients can be either Tensors or None"),
            ("TypeError", r"^'(float|int)' object is not iterable"),
        ),
        find=given_gradients.passed,
        what="the gradient given for {it} is no tensor",
        why="backward starts with one gradient per element of the root, which is a tensor of its "
        "shape",
        highlights={"it": ("refused", "its gradient must be a tensor")},
        fixes=(given_gradients.as_a_tensor,),
    ),
    Fault(
        kind="gradient of no tensor",
        says=(
            ("TypeError", r"expected (Variable|tuple), but hook returned"),
            ("TypeError", r"hook.* should return .*Tensor"),
        ),
        find=given_gradients.hook_of_no_tensor,
        what={
            "": "{it} returned a value of type {given}, which is neither a tensor nor None",
            "node hook": "{it} returned a value of type {given}, which is no tuple of tensors",
        },
        why="what a hook returns takes the place of the gradient; None keeps the gradient as it is",
        highlights={"node": ("refused", "its hook returned no tensor")},
        culprit="other",
        fixes=(given_gradients.hook_from_numpy,),
    ),
    Fault(
        kind="gradient of no tensor",
        says=(("RuntimeError", r"Backward hook for Modules where no input requires gradient"),),
        find=hook_rules.of_a_module,
        what="{it} returned a gradient, but no input of the module requires grad",
        why="what the hook returns takes the place of the gradients of the inputs, and there are "
        "none",
        highlights={"node": ("refused", "{it} returned a gradient")},
        culprit="other",
    ),
    Fault(
        kind="gradient of no tensor",
        says=(("TypeError", r"^The outputs of the user-provided function given to"),),
        find=not_a_tensor.inside_transform,
        what="the function that is differentiated returned a value that is no tensor",
        why="its gradient is computed from the graph of what it returns, and only tensors have one",
        highlights={"it": ("refused", "the function returned no tensor")},
    ),
    Fault(
        kind="gradient of no tensor",
        says=(("RuntimeError", r"^all inputs have to be Tensors or GradientEdges"),),
        find=not_a_tensor.without_inputs,
        what="{it} has a value that is no tensor",
        why="only tensors have a gradient; inputs takes the tensors themselves, not their names",
        highlights={"it": ("refused", "its inputs must be tensors")},
    ),
    Fault(
        kind="wrong number of gradients",
        says=(("RuntimeError", r"got \d+ tensors and \d+ gradients"),),
        find=given_gradients.passed,
        what="{gave} given for {wanted} roots",
        why="backward starts with one gradient per root; None for a root that is a single number",
        highlights={"it": ("refused", "{gave} given")},
    ),
    Fault(
        kind="wrong number of gradients",
        says=(
            ("RuntimeError", r"Backward (pre )?hook returned an invalid number of grad_"),
            ("RuntimeError", r"hook '.*' has returned an incorrect number of values"),
        ),
        find=hook_rules.of_a_module,
        what={
            "": "{it} returned {gave}, but the module has {owed}",
            "node": "{it} returned {gave}, but {needed} belong there",
        },
        why="what the hook returns takes the place of all gradients of the {of}, one each",
        highlights={"node": ("refused", "{it} returned {gave}")},
        culprit="other",
    ),
    Fault(
        kind="tensor as its own gradient",
        says=(("RuntimeError", r"can't assign Variable as its own grad"),),
        find=given_gradients.assigned,
        what="{it} is assigned as its own gradient",
        why="a gradient is a tensor of its own, which backward adds to and zero_grad clears",
        highlights={"it": ("refused", "it would be its own gradient")},
        fixes=(given_gradients.copied,),
    ),
    Fault(
        kind="hook cannot be registered",
        says=(("RuntimeError", r"post accumulate grad hooks cannot be registered on non-leaf"),),
        find=hook_rules.of_a_leaf_only,
        what="{it} is not a leaf, so no gradient is accumulated in it",
        why="this hook runs after backward has accumulated into .grad; only leaves get one",
        highlights={"it": ("refused", "it is not a leaf")},
        fixes=(hook_rules.on_what_it_gets,),
    ),
    Fault(
        kind="hook cannot be registered",
        says=(("RuntimeError", r"Cannot use both regular backward hooks and full backward hooks"),),
        find=hook_rules.two_kinds,
        what="the module has a backward hook of each kind",
        why="register_backward_hook is the older kind, which does not know the gradients of all "
        "inputs; a module can have hooks of one kind",
        fixes=(hook_rules.on_what_it_gets,),
    ),
    Fault(
        kind="hook of saved tensors",
        says=(
            ("RuntimeError", r"saved tensor pack hook is modifying its input in place"),
            ("TypeError", r"[Oo]utput of saved tensor unpack_hook expected to be a Tensor"),
        ),
        find=hook_rules.of_saved_tensors,
        what={
            "": "the unpack hook gave back a value that is no tensor",
            "pack": "the pack hook wrote the tensor that it was given",
        },
        why="pack gets each tensor that a node saves, and unpack must give backward a tensor with "
        "the same values; the tensor itself still belongs to the code",
        highlights={"node": ("refused", "its saved tensor was packed")},
        culprit="other",
        fixes=(hook_rules.unpacked_array,),
    ),
    Fault(
        kind="invalid custom Function",
        says=(
            ("TypeError", r"save_for_(backward|forward) .*(can only save|tensors)"),
            ("RuntimeError", r"Legacy autograd function with non-static forward"),
            ("NotImplementedError", r"implement either the backward or vjp"),
            ("NotImplementedError", r"must implement the forward function"),
            ("RuntimeError", r"both 'backward' and 'vjp'"),
            ("RuntimeError", r"marked as dirty during the forward"),
            ("RuntimeError", r"must override the setup_context"),
            ("RuntimeError", r"(override|implement) the vmap static"),
        ),
        find=function_rules.invalid,
        what="{function} cannot be used: {wrong}",
        why="{why}",
        highlights={"node": ("refused", "{function} cannot be used")},
        culprit="other",
        fixes=(function_rules.fixes,),
    ),
    Fault(
        kind="wrong number of arguments",
        says=(
            ("TypeError", r"\(\) takes .*positional arguments? but"),
            ("TypeError", r"\(\) missing \d+ required positional argument"),
        ),
        find=function_rules.wrong_arguments,
        what={
            "": "torch calls {function} with other arguments than it takes",
            "forward": "{function} takes other arguments than apply was called with",
            "no ctx": "{function} does not take ctx, which torch passes first",
            "called directly": "{function} is called without ctx",
        },
        why={
            "": "a hook gets the gradient and nothing else",
            "forward": "apply passes ctx, then its own arguments",
            "no ctx": "apply calls forward with ctx, in which it can save tensors, and then its "
            "own arguments",
            "called directly": "apply makes ctx, calls forward and records the node; a direct "
            "call does neither",
            "backward": "backward gets ctx, then one gradient per output of forward",
            "setup_context": "setup_context gets ctx, the inputs as a tuple, and the output",
            "leaf hook": "this hook gets the leaf, whose .grad is complete by then",
            "module hook": "a backward hook of a module gets the module, the gradients of its "
            "inputs and those of its outputs",
            "module pre hook": "a backward pre hook of a module gets the module and the gradients "
            "of its outputs",
        },
        highlights={"node": ("refused", "{function} takes other arguments")},
        culprit="other",
        fixes=(function_rules.other_arguments,),
    ),
    Fault(
        kind="reentrant checkpoint",
        says=(
            ("RuntimeError", r"use_reentrant=True, torch.utils.checkpoint is incompatible"),
            ("ValueError", r"^Passing `context_fn`.* only supported when use_reentrant=False"),
            ("ValueError", r"^Unexpected keyword arguments:"),
        ),
        find=checkpoint_rules.reentrant,
        what="{what}",
        why="{why}",
        highlights={"node": ("refused", "a reentrant checkpoint")},
        culprit="other",
        fixes=(checkpoint_rules.not_reentrant,),
    ),
    Fault(
        kind="saved tensors unpacked twice",
        says=(("CheckpointError", r"already unpacked once"),),
        find=checkpoint_rules.unpacked_twice,
        what="a saved tensor of a checkpointed region was unpacked a second time",
        why="checkpoint gives a recomputed tensor away once, so that its memory is free then; "
        "backward must read ctx.saved_tensors once and keep the result",
        highlights={"node": ("refused", "it unpacked a saved tensor twice")},
        culprit="other",
        fixes=(checkpoint_rules.unpacked_once,),
    ),
    Fault(
        kind="gradcheck failed",
        says=(
            ("GradcheckError", r""),
            ("ValueError", r"gradcheck expects at least one input tensor to require gradient"),
        ),
        find=gradcheck_failed.failed,
        what={
            "": "{function}: for entry {row} of {it} (input {input}) and entry {column} of the "
            "output, backward gives {analytical} and differences give {numerical}",
            "other": "{function}: {what}",
        },
        why="{why}",
        highlights={"it": ("refused", "its gradient was checked")},
        culprit="other",
        fixes=(
            gradcheck_failed.in_double,
            gradcheck_failed.multiplied,
            gradcheck_failed.requiring,
        ),
    ),
    Fault(
        kind="no inputs",
        says=(("RuntimeError", r"`inputs` argument to `(backward|grad)\(\)` cannot be empty"),),
        find=not_a_tensor.without_inputs,
        what="{it} is empty, so no gradient is asked for",
        why="inputs names the tensors that get a gradient; without it, backward fills the .grad "
        "of all leaves that require grad",
        culprit="other",
    ),
    Fault(
        kind="outside a dual level",
        says=(("RuntimeError", r"dual Tensor for forward AD but no level exists"),),
        find=not_a_tensor.inside_transform,
        what="make_dual is called outside dual_level()",
        why="forward mode keeps the derivatives of a dual tensor as long as its level is open: "
        "with forward_ad.dual_level():",
    ),
    Fault(
        kind="backward under torch.func",
        says=(("RuntimeError", r"backward\(\) called inside a functorch transform"),),
        find=not_a_tensor.inside_transform,
        what="backward() is called in a function that torch.func transforms",
        why="grad, vjp and vmap call the function with tensors of their own and differentiate it "
        "themselves; it has to return the value and no gradient",
    ),
    Fault(
        kind="number has no graph",
        says=(
            ("AttributeError", r"^'(float|int|complex|numpy\.\w+)' object has no .* 'backward'"),
            ("TypeError", r"^'(float|int)' object is not iterable"),
        ),
        find=not_a_tensor.number,
        what="{it} is a number of type {type}, which has no graph",
        why="item() and float() give the value of a tensor as a Python number; what led to it is "
        "not in it",
        culprit="other",
        fixes=(not_a_tensor.as_tensor,),
    ),
    Fault(
        kind="no derivative",
        says=(
            ("NotImplementedError", r"the derivative for '.*' is not implemented"),
            ("RuntimeError", r"the derivative for '.*' is not implemented"),
            ("RuntimeError", r"derivative for aten::\w+ is not implemented"),
            ("RuntimeError", r"QR decomposition is not differentiable when"),
            ("RuntimeError", r"derivative of linalg\.qr depends on Q"),
            ("RuntimeError", r"is not differentiable with respect to argument"),
            ("RuntimeError", r"does not have a derivative implemented is forbidden"),
        ),
        find=not_differentiable.not_implemented,
        what="{operator} has no derivative in torch, and {it} requires grad",
        why="autograd records an operation only if torch has a formula for its gradient",
        highlights={"it": ("refused", "{operator} has no derivative")},
        fixes=(not_differentiable.reduced,),
    ),
    Fault(
        kind="does not require grad",
        says=(
            ("RuntimeError", r"can't retain_grad on Tensor that has requires_grad=False"),
            ("RuntimeError", r"cannot register a hook on a tensor that doesn't require grad"),
            ("RuntimeError", r"gradient edge for a Tensor that does not require gradients"),
            ("AssertionError", r"^Expected gradient function to be set"),
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
        kind="view made without recording written",
        says=(
            (
                "RuntimeError",
                r"[Aa] view (of a view )?(which )?was created in (no_grad|inference) mode.*and is "
                r"being modified inplace",
            ),
        ),
        find=view_refused.made_unrecorded,
        what="{by} would write {it}, a view that was made {mode}",
        why="autograd did not record how the view was made, so it cannot record a write to it: "
        "make and write the view both with recording, or both without",
        highlights={"it": ("refused", "{by} would write it")},
        fixes=(view_refused.where_recorded,),
    ),
    Fault(
        kind="view from a custom Function written",
        says=(("RuntimeError", r"is being modified inplace.*created inside a custom Function"),),
        find=view_refused.of_function,
        what="{by} would write {it}, a view that a custom Function returned",
        why="recording the write would replace the node of the custom Function, so that its "
        "backward would not run",
        highlights={"it": ("refused", "{by} would write it")},
        fixes=(view_refused.own_memory,),
    ),
    Fault(
        kind="view of a written base used",
        says=(("RuntimeError", r"its base or another view of its base has been modified inplace"),),
        find=view_refused.base_written,
        what="{use} needs the grad_fn of {it}, whose memory was written after it was made",
        why="a write to the memory of a view changes its grad_fn too; autograd cannot compute the "
        "new one of a view that shares its node with others, or was made without recording",
        highlights={"it": ("refused", "its memory was written")},
        culprit="write",
        fixes=(view_refused.again_after_write,),
    ),
    Fault(
        kind="expanded tensor written",
        says=(
            (
                "RuntimeError",
                r"more than one element of the written-to tensor refers to a single memory",
            ),
        ),
        find=view_refused.expanded,
        what={
            "": "{by} would write {it}, of which several elements have one place in memory",
            "in backward": "backward of a write to {it} would write a gradient of which several "
            "elements have one place in memory",
        },
        why="expand() repeats values without copying them; a write would have to put several "
        "values into one place",
        highlights={"it": ("refused", "{by} would write it")},
        fixes=(view_refused.own_memory,),
    ),
    Fault(
        kind="resized in place",
        says=(("RuntimeError", r"cannot resize variables that require grad"),),
        find=view_refused.resized,
        what="{by} would change the size of {it}, which requires grad",
        why="a gradient has the shape of its tensor; autograd does not record that a shape is "
        "changed in place",
        highlights={"it": ("refused", "{by} would change its size")},
        fixes=(view_refused.another_shape,),
    ),
    Fault(
        kind="view detached in place",
        says=(("RuntimeError", r"Can't detach views in-place"),),
        find=view_refused.detached_in_place,
        what="detach_ would detach {it}, a view, in place",
        why="a view follows the graph of its base, so it cannot leave it alone; detach() makes a "
        "tensor outside the graph",
        highlights={"it": ("refused", "it is a view")},
        fixes=(view_refused.new_detached,),
    ),
    Fault(
        kind="optimizer without parameters",
        says=(("ValueError", r"optimizer got an empty parameter list"),),
        find=optimizer_given.without_parameters,
        what={
            "": "{optimizer} got no parameters",
            "used up": "{optimizer} got no parameters: {given} is an iterator that is used up",
            "frozen": "{optimizer} got no parameters: none that {given} goes through requires grad",
        },
        why={
            "": "an optimizer updates the tensors that it got when it was made; a module has as "
            "parameters only what is an nn.Parameter or a module among its attributes",
            "used up": "an iterator gives its items once; an optimizer updates the tensors that it "
            "got when it was made",
            "frozen": "an optimizer updates the tensors that it got when it was made",
        },
        highlights={"it": ("unreached", "it does not require grad")},
        culprit="other",
        fixes=(optimizer_given.with_parameters,),
    ),
    Fault(
        kind="optimizer given no tensors",
        says=(
            ("TypeError", r"optimizer can only optimize Tensors"),
            ("TypeError", r"params argument given to the optimizer should be an iterable"),
            ("TypeError", r"object is not iterable$"),
        ),
        find=optimizer_given.no_tensors,
        what={
            "": "{optimizer} got a {type} where it needs a tensor",
            "tensor": "{optimizer} got {given}, a tensor, where it needs a list of tensors",
            "module": "{optimizer} got {given}, a module, where it needs its parameters",
            "dict": "{optimizer} got {given}, a dict, and went through its keys",
        },
        why="an optimizer takes an iterable of tensors that require grad, or of dicts that have "
        'one under "params"',
        highlights={"it": ("refused", "it is given where a list is needed")},
        fixes=(optimizer_given.tensors_of_it,),
    ),
    Fault(
        kind="parameter in two groups",
        says=(("ValueError", r"some parameters appear in more than one parameter group"),),
        find=optimizer_given.given_twice,
        what="{optimizer} got a parameter in two of its groups",
        why="a step updates the parameters of each group with the options of that group; one in "
        "two groups would be updated twice",
        highlights={"it": ("refused", "it is in two groups")},
        fixes=(optimizer_given.each_once,),
    ),
    Fault(
        kind="tensor in place of a parameter",
        says=(
            ("TypeError", r"cannot assign '[\w.]*(Tensor|Parameter)' (as|object to) parameter '"),
            ("ValueError", r"Cannot assign non-leaf Tensor to parameter"),
        ),
        find=parameter_assigned.not_a_parameter,
        what={
            "": "{it} is a parameter of its module, and the new value is a tensor",
            "registered": "{name} would be registered as a parameter, and the value is a tensor",
        },
        why="a parameter is a leaf that backward gives a gradient and an optimizer updates; the "
        "result of an operation is none. To compute with a result in its place, call the module "
        "with torch.func.functional_call",
        highlights={"it": ("refused", "a tensor cannot take its place")},
        fixes=(parameter_assigned.as_parameter,),
    ),
    Fault(
        kind="data of another kind",
        says=(
            ("RuntimeError", r"data set to a tensor that requires gradients must be floating"),
            ("RuntimeError", r"`variable` and `tensor` have incompatible tensor type"),
            ("TypeError", r"Variable data has to be a tensor"),
        ),
        find=parameter_assigned.other_data,
        what="{it} requires grad, and {new} cannot take the place of its data",
        why="its gradients have the form of its data: floating point or complex, and laid out in "
        "memory in the same way",
        highlights={"it": ("refused", "its data cannot be set to this")},
        fixes=(parameter_assigned.as_its_dtype,),
    ),
    Fault(
        kind="inference tensor cannot require grad",
        says=(("RuntimeError", r"Setting requires_grad=True on inference tensor"),),
        find=inplace_refused.inference_asked,
        what="{it}{which}, so it cannot require grad",
        why="an inference tensor has no version counter and no place for a graph",
        highlights={"it": ("refused", "it was made in inference mode")},
        fixes=(inplace_refused.ordinary_tensor,),
    ),
    Fault(
        kind="non-leaf sent to another process",
        says=(("RuntimeError", r"refusing to serialize non-leaf tensor which requires_grad"),),
        find=needs_leaf.sent,
        what="{it} is not a leaf{made}, so it cannot be sent to another process",
        why="its graph is in the memory of this process; another one could not run its backward",
        highlights={"it": ("refused", "it is not a leaf")},
        fixes=(needs_leaf.without_graph,),
    ),
    Fault(
        kind="gradient depends on a free choice",
        says=(
            ("RuntimeError", r"(singular vectors|eigenvectors) in the complex case are specified"),
        ),
        find=not_differentiable.not_defined,
        what="the gradient of {operator} depends on a choice that the loss must not depend on",
        why="singular vectors and eigenvectors keep their meaning when each is multiplied by a "
        "number of absolute value 1; the gradient exists only of what does not change with it",
        highlights={"it": ("refused", "its vectors are not unique")},
    ),
    Fault(
        kind="Python function of each number",
        says=(("RuntimeError", r"Can't call (apply_|map_|map2_)\(\) on Variable that requires"),),
        find=not_differentiable.per_number,
        what="{by} would call a Python function with each number of {it}, which requires grad",
        why="autograd records operations of torch, not what Python computes from numbers",
        highlights={"it": ("refused", "{by} would write it")},
        fixes=(not_differentiable.as_operations,),
    ),
    Fault(
        kind="not possible under torch.func",
        says=(
            ("RuntimeError", r"attempting to call Tensor\.(requires_grad_|retain_grad)\(\)"),
            ("RuntimeError", r"backward\(\) called inside a functorch transform"),
        ),
        find=under_func.not_possible,
        what="{by} was called on {it} inside a function that is being transformed",
        why="torch.func differentiates with respect to the arguments and returns the gradients; "
        "it knows no leaves and no .grad",
        highlights={"it": ("refused", "{by} was called on it")},
        fixes=(under_func.without_call,),
    ),
    Fault(
        kind="not a scalar",
        says=(
            ("RuntimeError", r"Expected f\(\*args\) to return a scalar Tensor"),
            ("RuntimeError", r"function given to \w+ should contain a single element"),
        ),
        find=under_func.not_a_scalar,
        what="{it} {what}, and a gradient belongs to one number",
        why="grad() and hessian() start with gradient 1 at a single number; jacrev() and "
        "jacobian() take functions that return several",
        highlights={"it": ("refused", "it {what}")},
        fixes=(under_func.summed,),
    ),
    Fault(
        kind="function returns no tensor",
        says=(
            ("RuntimeError", r"Expected f\(\*args\) to return a Tensor, got"),
            ("RuntimeError", r"expected f\(\*primals\) to return only tensors"),
            ("RuntimeError", r"Expected output of f to be a Tensor or Tensors"),
            ("TypeError", r"outputs of the user-provided function given to \w+ must be either a"),
        ),
        find=under_func.no_tensor,
        what="{function}, which is differentiated here, returns a value that is no tensor",
        why="the gradient is found through the graph behind the returned tensor; a number has none",
        highlights={"it": ("refused", "it is no tensor")},
        fixes=(under_func.as_tensor,),
    ),
    Fault(
        kind="numpy of a tensor that requires grad",
        says=(
            (
                "TypeError",
                r"operand type\(s\) for .*: 'numpy\.\w+' and '(Tensor|Param)",
            ),
        ),
        find=array_operator.of_array,
        what="{it} requires grad, and a NumPy array cannot",
        why="the operator is that of the array on its left, which would make an array of the "
        "tensor; NumPy operations are not recorded",
        highlights={"it": ("refused", "it requires grad")},
        fixes=(array_operator.as_tensor,),
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
    Fault(
        kind="parameter unused under DDP",
        says=(("RuntimeError", r"Expected to have finished reduction in the prior iteration"),),
        find=replicated.unused,
        what={
            "": "{names} got no gradient in the last backward, and DistributedDataParallel waits "
            "for the gradients of all parameters",
            "searched": "{names} got no gradient in the last backward: an output of forward "
            "depends on them, and the loss does not",
            "raised": "{names} got no gradient in the last backward, which raised an error",
            "static": "other parameters got a gradient than in the first backward, and "
            "static_graph=True says that they are always the same",
        },
        why={
            "": "it reduces the gradients of all ranks to their mean and ends that when each "
            "parameter has one; with find_unused_parameters=True it does not wait for those that "
            "the outputs of forward do not depend on",
            "searched": "with find_unused_parameters=True it waits for the parameters that the "
            "outputs of forward depend on",
            "raised": "DistributedDataParallel still waits for them when the next forward begins; "
            "after an error in backward the job has to end",
            "static": "it remembers from the first backward which gradients it has to wait for",
        },
        culprit="backward",
        fixes=(replicated.searching,),
    ),
    Fault(
        kind="parameter ready twice under DDP",
        says=(("RuntimeError", r"Expected to mark a variable ready only once"),),
        find=replicated.ready_twice,
        what={
            "": "a gradient of {name} came after DistributedDataParallel had counted the parameter "
            "as ready",
            "checkpoint": "a gradient of {name} came from a checkpoint after "
            "DistributedDataParallel had counted the parameter as ready",
        },
        why={
            "": "a parameter is ready when its gradient comes, or before backward if "
            "find_unused_parameters=True finds that no output of forward depends on it; its "
            "gradient is reduced then, and one that comes later would be lost",
            "checkpoint": "with use_reentrant=True each checkpoint runs a backward of its own: "
            "weights that two of them share get a gradient in each, and "
            "find_unused_parameters=True does not see weights inside of one",
        },
        highlights={"node": ("refused", "it runs a backward of its own")},
        culprit="other",
        fixes=(replicated.not_reentrant,),
    ),
    Fault(
        kind="nothing to reduce under DDP",
        says=(("RuntimeError", r"DistributedDataParallel is not needed when a module"),),
        find=replicated.nothing,
        what="DistributedDataParallel got a module in which no parameter requires grad",
        why="it reduces the gradients of all ranks to their mean, and here are none",
        fixes=(replicated.unwrapped,),
    ),
)
"""Faults for which torch raises an error. A pattern is the part of torch's message that all
releases share."""
_DRAWN: Final = (
    "torch takes a random number for a constant: the derivative of {operation} is 0 by what it was "
    "drawn with. rsample() of a distribution and the logarithm of a probability have gradients"
)

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
        what="{call} got {operands}, and broadcast them to {whole}: {pairs} pairs instead of "
        "{size}",
        why="broadcasting expands both: each element is compared with every element of the other, "
        "so the gradient of each prediction comes from all targets",
        highlights={"node": ("culprit", "{line}: {sides} pairs")},
        rank={"": "fault", "pairs": "worth a look"},
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
        rank="worth a look",
        fixes=(frozen_batchnorm.fixes,),
    ),
    Fault(
        kind="gradient thrown away",
        find=lost_gradient.thrown_away,
        what={
            "": "the {gradients} of {names} from the backward in {backward} {were} cleared before "
            "{label} used {them}",
            "part": "the {gradients} of {names} from the backward in {backward} {were} cleared "
            "before {label}, which used only those of later backwards",
        },
        why="an optimizer step uses .grad as it is at that moment; once .grad is cleared, what "
        "backward computed is lost",
        highlights={"thrown": ("unreached", "{line} cleared its .grad")},
        rank={"": "fault", "part": "worth a look"},
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
        "before; nothing cleared it",
        why="backward adds to .grad, and a step leaves .grad as it is: the gradients that one step "
        "used are also in the sum that the next one uses",
        rank="worth a look",
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
            **dict.fromkeys(
                ("list", "given"),
                "{it} got gradients, but {label} does not have it: {attribute} of {module} has "
                "{tensors} that {are} no {parameters} of {module}",
            ),
        },
        rank={"": "fault", "given": "worth a look"},
        why="a module registers parameters, buffers and modules that are assigned to its "
        "attributes; it does not look into lists, and a tensor is no parameter",
        highlights={"left": ("unreached", "no optimizer has it")},
        fixes=(unregistered.registered,),
    ),
    Fault(
        kind="first nan or inf",
        find=first_nan_or_inf.first_nan_or_inf,
        what={"": "{harm}: {first}", "not known": "{harm}"},
        why="{why}",
        highlights={
            "node": ("culprit", "it made the first nan or inf"),
            "it": ("refused", "{harm}"),
        },
        fixes=(stay_finite.fixes,),
    ),
    Fault(
        kind="partial gradient",
        rank="worth a look",
        find=partial_gradient.partial_gradients,
        what={
            "": "part of the way from {names} to the loss is cut: {cut} in {at}, and {call} in "
            "{line} used it; the gradient leaves this part out",
            "copied": "part of the way from {names} to the loss is cut: {cut} in {at}; the "
            "gradient leaves this part out",
            "gradient": "part of the way from {names} to the loss is cut: {cut} in {at}; the "
            "gradient leaves this part out",
        },
        why={
            "": "a Python number, a NumPy array and a copy made of values have no graph: to "
            "backward they are constants. That is right where a constant is meant, as for a "
            "baseline",
            "gradient": "without create_graph=True a gradient has no graph: to backward it is a "
            "constant, and a penalty on it changes no parameter",
        },
        fixes=(partial_gradient.kept_in_torch,),
    ),
    Fault(
        kind="clipped after the step",
        find=lost_gradient.clipped_late,
        what="{call} ran after {label} had used the gradients; the gradients of {names} that the "
        "next {label} used were not clipped",
        why="{call} changes .grad, and a step uses .grad as it is at that moment; it must run "
        "between backward and the step",
        highlights={"stepped": ("written", "updated with a gradient that was not clipped")},
        fixes=(lost_gradient.before_the_step,),
    ),
    Fault(
        kind="clipped while scaled",
        find=lost_gradient.clipped_while_scaled,
        what="{call} clipped the gradients of {names} while they were multiplied by the scale of "
        "GradScaler",
        why="the scale is divided out afterwards, so what is left is the limit divided by the "
        "scale; scaler.unscale_(optimizer) before {call} divides it out first",
        highlights={"stepped": ("written", "clipped before it was unscaled")},
        fixes=(lost_gradient.unscaled_first,),
    ),
    Fault(
        kind="step without gradients",
        find=empty_step.steps_without_gradients,
        what={
            "": "{label} left {names} {as}: no backward ran, so {their} .grad is None",
            "leaf": "{label} left {names} {as}: backward started at {it}, which {line} made as a "
            "leaf, so it came to no other tensor",
            "others": "{label} left {names} {as}: backward fills the .grad of {others}, which are "
            "other tensors than those of the optimizer",
            "cut": "{label} left {names} {as}: backward does not come to them{cut}",
        },
        why={
            "": "an optimizer passes over each parameter whose .grad is None",
            "leaf": "a tensor that is made of a number, or detached, has no graph; with "
            "requires_grad it is a new leaf, and backward ends where it starts",
            "others": "an optimizer keeps the tensors it was created with; a copy of a model has "
            "tensors of its own",
            "cut": "an optimizer passes over each parameter whose .grad is None; behind a cut "
            "backward fills none",
        },
        highlights={"parameters": ("unreached", "its .grad is None at each step")},
        fixes=(empty_step.with_backward,),
    ),
    Fault(
        kind="loss of one class",
        find=loss_inputs.of_one_class,
        what={
            "": "{call} got {it} of shape {shape}, which is one class: the gradient is 0",
            "softmax": "{call} got {it}, the result of {where} over one value, which is 1 whatever "
            "the value: the gradient is 0",
        },
        why={
            "": "softmax over one class is 1 for each sample, so the loss is the same for all "
            "parameters; binary_cross_entropy_with_logits takes one score for two classes",
            "softmax": "the probabilities of one class add up to 1; sigmoid gives the probability "
            "of one of two classes",
        },
        highlights={"node": ("culprit", "its gradient is 0")},
    ),
    Fault(
        kind="gradient withheld by a Function",
        find=lost_in_a_node.withheld,
        what="{function}.backward returns None for {what}, though it requires grad, so {label} has "
        "no gradient for {names} after {steps}",
        why={
            "": "None means that an input needs no gradient. The result of forward depends on this "
            "one, so a gradient is missing; torch.autograd.gradcheck compares a backward with "
            "finite differences",
            "look": "None means that an input needs no gradient: that the result of forward does "
            "not depend on it, or that it is meant to stay as it is",
        },
        highlights={
            "node": ("culprit", "its backward returns None for an input"),
            "parameters": ("unreached", "it gets no gradient"),
        },
        rank={"": "fault", "look": "worth a look"},
    ),
    Fault(
        kind="derivative of 0",
        find=lost_in_a_node.zero_everywhere,
        what="{names} {has} a gradient of 0 after {steps}: {operation} in {line} hands on 0 for "
        "each gradient, and none comes by another way",
        why={
            "": "the result of {operation} changes in jumps only, so its derivative is 0 wherever "
            "it has one: no value before it can be trained by this loss",
            "look": "the result of {operation} changes in jumps only, so its derivative is 0 "
            "wherever it has one: this loss trains no value before it. What is meant to stay as it "
            "is can have requires_grad=False",
            "drawn": _DRAWN,
            "drawn look": _DRAWN,
        },
        highlights={
            "node": ("culprit", "it hands on 0 for each gradient"),
            "parameters": ("unreached", "its gradient is 0"),
        },
        rank={"": "fault", "look": "worth a look", "drawn look": "worth a look"},
        fixes=(lost_in_a_node.without_rounding,),
    ),
    Fault(
        kind="softmax before a loss",
        find=loss_inputs.applied_twice,
        what={
            "": "{call} got {it}, the result of {where}, and applies {applies} itself",
            "log_softmax": "{call} got {it}, the result of {where}, and applies log_softmax "
            "again, which changes nothing",
        },
        why={
            "": "scores between 0 and 1 differ by 1 at most: the second {applies} is nearly flat, "
            "the loss keeps away from 0, and gradients are small",
            "log_softmax": "log_softmax of log-probabilities gives the same log-probabilities",
        },
        rank="worth a look",
        fixes=(loss_inputs.without_it,),
    ),
    Fault(
        kind="no logarithm before a loss",
        find=loss_inputs.without_logarithm,
        what={
            "": "{call} takes log-probabilities, and got {it}, the result of {where}: "
            "probabilities",
            "scores": "{call} takes log-probabilities, and got {it}, the result of {where}: any "
            "numbers",
        },
        why={
            "": "{call} computes no logarithm itself; of probabilities it is linear in them, "
            "not their logarithm",
            "scores": "{call} computes no logarithm itself; of numbers without limit the loss has "
            "no limit, and can be negative",
        },
        rank="worth a look",
    ),
    Fault(
        kind="graph kept in each pass",
        find=kept_graphs.kept_graphs,
        what={
            "": "{it} is computed from the {it} of the pass before, so it keeps the graphs of "
            "all passes: {nodes} more nodes in each",
            "list": "{it} has a tensor of each pass, which keeps the graph of that pass: {nodes} "
            "more nodes in each",
        },
        why="a tensor keeps the graph from which it was computed, also when backward has run; "
        "detach() or item() gives the value without it",
        rank="worth a look",
        fixes=(kept_graphs.detached,),
    ),
    Fault(
        kind="graph kept in each pass",
        find=kept_evaluations.kept_evaluations,
        what={
            "unreached": "{it} is computed from the {it} of the turn before in the loop in {loop}, "
            "so it keeps the graphs of all turns: {nodes} more nodes in each, and no backward came "
            "to them",
            "unreached list": "{it} has a tensor of each turn of the loop in {loop}, which keeps "
            "the graph of that turn: {nodes} more nodes in each, and no backward came to them",
            "": "{it} is computed from a tensor of each turn of the loop in {loop}, and keeps the "
            "graphs of all: {nodes} more nodes in each, and no backward came to them",
        },
        why="a tensor keeps the graph from which it was computed, for a backward that may follow; "
        "under no_grad there is none, and detach() gives the value without it",
        rank="worth a look",
        fixes=(kept_graphs.detached,),
    ),
    Fault(
        kind="target with a gradient",
        find=target_gradient.targets_with_gradient,
        what={
            "": "{call} sends a gradient into {it}, too, which is its target and which {line} "
            "computed with a graph",
            "estimate": "both sides of the difference get a gradient: {it}, which {line} computed, "
            "depends on the same parameters as the other side",
        },
        why="backward moves both towards each other; a target that is given, as of a teacher or "
        "of a later state, is computed under no_grad or detached",
        rank="worth a look",
    ),
    Fault(
        kind="target with a gradient",
        find=similarity_gradient.similarities,
        what="{call} sends a gradient into {it}, too, which {line} computed from some of the "
        "parameters of the other side, and all terms of the loss only make such sides similar",
        why="backward moves both towards each other, and nothing keeps them apart: the same "
        "constant for every input makes this loss the least; a target is detached",
        rank="worth a look",
    ),
    Fault(
        kind="advantage with a gradient",
        find=advantage_gradient.advantages,
        what="{product} multiplies a log-probability with {it}, which {line} computed with a "
        "graph: backward also changes the values in it, which a regression makes more exact",
        why="the gradient of a policy takes the advantage as a constant; with a graph, the loss "
        "becomes smaller, too, when the values become wrong",
        rank="worth a look",
        fixes=(advantage_gradient.constant_weight,),
    ),
    Fault(
        kind="gradient that nothing uses",
        find=unused_gradient.unused_gradients,
        what={
            "": "backward in {backward} computes gradients of {names}, but no optimizer has "
            "{them}: {labels} updates others",
            "others": "backward in {backward} runs through {it}, too, and computes gradients "
            "of {names}, which {labels} does not update",
        },
        why={
            "": "backward fills the .grad of each leaf that it comes to; only what an optimizer "
            "was given is updated",
            "others": "what is behind {it} is not needed for the gradients that are used; "
            "backward ends at a tensor that is detached",
        },
        rank="worth a look",
    ),
    Fault(
        kind="gradient of another loss",
        find=mixed_gradient.mixed_gradients,
        what="{label} used the {gradients} of {names} that the backward in {backward} left, with "
        "which {other} stepped, together with those of a later backward",
        why="backward fills the .grad of each leaf that it comes to, and adds to what is there; "
        "zero_grad() before the next backward clears what another loss left",
        rank="worth a look",
    ),
    Fault(
        kind="layer made in each pass",
        find=unused_gradient.layers_of_each_pass,
        what="{line} makes {names} in each pass: {labels} does not update {parameters} that "
        "{are} made after the optimizer",
        why="each pass has new parameters with new random values; what backward computes for "
        "them is lost with them. A layer that is made in __init__ stays the same",
        rank="worth a look",
    ),
    Fault(
        kind="parameter without a gradient",
        find=empty_step.left_out,
        what={
            "": "{label} passed over {names} in each of {steps} steps: the forward uses "
            "{them}, but backward does not come to {them}",
            "cut": "{label} passed over {names} in each of {steps} steps: {cut}",
            "frozen": "{label} has {names}, which {do} not require grad, and passed over {them} "
            "in each of {steps} steps",
        },
        why="an optimizer passes over each parameter whose .grad is None, so these stay as they "
        "are; to freeze some can be meant",
        rank="worth a look",
    ),
    Fault(
        kind="frozen by a part of a name",
        find=frozen_by_name.frozen_by_name,
        what={
            "": "{line} froze {names} too: {text} is a part of a name in them, and the name of a "
            "module in others",
            "start": "{line} froze {names}: no {variable} begins with {text}, which is further "
            "back in theirs",
        },
        why="names of parameters begin with that of the outermost module; a comparison of texts "
        "does not know where the name of a module ends",
        rank="worth a look",
    ),
    Fault(
        kind="trained in eval mode",
        find=module_modes.trained_in_eval,
        what={
            "": "{line} ran {modules} in eval mode in {times} forwards whose gradients were used: "
            "{off}",
            "stopped": "{line} ran {modules} in eval mode in the last {times} forwards whose "
            "gradients were used, in training mode before: {off}",
        },
        why="eval() holds until train() is called; in eval mode dropout passes values on, and "
        "batch norm uses its running statistics",
        rank="worth a look",
    ),
    Fault(
        kind="evaluated in training mode",
        find=module_modes.evaluated_in_training,
        what="{line} ran {modules} in training mode under no_grad, in a forward that leads to no "
        "loss: {on}",
        why="no_grad does not change the mode of modules; eval() does, until train() is called",
        rank="worth a look",
    ),
    Fault(
        kind="scheduler before the optimizer",
        find=early_scheduler.early_schedulers,
        what="{scheduler} in {line} ran before the first {label}, so no step uses the first "
        "learning rate",
        why="a scheduler sets the first learning rate when it is made, and the next one with each "
        "of its steps; it steps after the optimizer",
        rank="worth a look",
    ),
    Fault(
        kind="off the way to the loss",
        find=hook_beside.hooks_beside,
        what={
            "": "retain_grad of {it} keeps no gradient: backward did not reach {it}",
            "hook": "the hook of {it} did not run: backward did not reach {it}",
        },
        why="backward visits what the root was computed from; {it} is off that way, even if it "
        "shows a part of what is on it",
        rank="worth a look",
    ),
    Fault(
        kind="step without backward",
        find=lost_gradient.stepped_again,
        what="{label} used the {gradients} of {names} again that the step in {before} had used; "
        "no backward ran between",
        why="a step leaves .grad as it is; without a backward between, the next step repeats it",
        rank="worth a look",
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
