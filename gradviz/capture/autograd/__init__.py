"""The only room that touches torch's private attributes: one function per fact.

Numbers such as F3.04 name the experiment that shows a fact. What differs between torch versions
ends here. Every function only reads, except two whose docstrings say what they do:
:func:`accumulator_of` and :func:`keep_with_node`.
"""

from gradviz.capture.autograd.attributes import as_number, as_text, attributes_of
from gradviz.capture.autograd.backward import (
    backwards_wait,
    other_frames,
    roots_of_running_backwards,
)
from gradviz.capture.autograd.nodes import (
    Plan,
    Slot,
    accumulator_of,
    anomaly_mode_is_on,
    forward_traceback,
    keep_with_node,
    name_of,
    output_shapes,
    plan_of,
    sequence_nr,
    variable_of,
)
from gradviz.capture.autograd.release import (
    NO_SEQUENCE_NR,
    WRAPPERS_LIVE_AS_LONG_AS_NODES,
)
from gradviz.capture.autograd.saved import describe_hook, saved_of, untouched
from gradviz.capture.autograd.tensors import (
    TensorFacts,
    base_of,
    device_of,
    dtype_of,
    facts_of,
    is_dead,
    is_plain,
    is_view,
    may_copy_to_host,
    output_nr,
    place_may_be_stale,
    same_layout,
    shape_of,
    storage_of,
    tensor_hooks,
    version_of,
)
from gradviz.capture.autograd.unseen import arithmetic, unseen

__all__ = [
    "NO_SEQUENCE_NR",
    "WRAPPERS_LIVE_AS_LONG_AS_NODES",
    "Plan",
    "Slot",
    "TensorFacts",
    "accumulator_of",
    "anomaly_mode_is_on",
    "arithmetic",
    "as_number",
    "as_text",
    "attributes_of",
    "backwards_wait",
    "base_of",
    "describe_hook",
    "device_of",
    "dtype_of",
    "facts_of",
    "forward_traceback",
    "is_dead",
    "is_plain",
    "is_view",
    "keep_with_node",
    "may_copy_to_host",
    "name_of",
    "other_frames",
    "output_nr",
    "output_shapes",
    "place_may_be_stale",
    "plan_of",
    "roots_of_running_backwards",
    "same_layout",
    "saved_of",
    "sequence_nr",
    "shape_of",
    "storage_of",
    "tensor_hooks",
    "unseen",
    "untouched",
    "variable_of",
    "version_of",
]
