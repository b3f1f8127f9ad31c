from __future__ import annotations

from typing import Final

from tests.seeded_faults.fault import SeededFault

CAPTURE: Final = (
    SeededFault(
        room="capture/autograd",
        file="gradviz/capture/autograd/saved.py",
        old='return "modified", int(versions[2])',
        new='return "modified", int(versions[1])',
        shows="a modified tensor of a custom Function is said to be saved at its current version",
        where=(
            "tests/capture/test_saved_values.py",
            "tests/truth/test_programs.py",
        ),
    ),
    SeededFault(
        room="capture/autograd",
        file="gradviz/capture/autograd/tensors.py",
        old="return places * (sparse * _INDEX + numbers",
        new="return places * (_INDEX + numbers",
        shows="a sparse matrix is counted with one index per number instead of two",
        where=("tests/capture/autograd/test_bytes.py",),
    ),
    SeededFault(
        room="capture/autograd",
        file="gradviz/capture/autograd/refs.py",
        old="    else:\n        holder[MARK] = covers\n",
        new="    else:\n        del holder[MARK]\n",
        shows="a snapshot inside a recording makes the recording lose the numbers of its nodes",
        where=(
            "tests/capture/recorder/test_context_manager.py",
            "tests/truth/test_looking_changes_nothing.py",
        ),
    ),
    SeededFault(
        room="capture/autograd",
        file="gradviz/capture/tensors.py",
        old='(one.node == node or slot.startswith("result"))',
        new="one.node is not None",
        shows="a saved tensor that detach() cut off is named as the tensor it was detached from",
        where=(
            "tests/capture/test_saved_values.py",
            "tests/truth/test_programs.py",
        ),
    ),
    SeededFault(
        room="capture/autograd",
        file="gradviz/capture/tensors.py",
        old="and (one.is_leaf or one.tensor.retains_grad)",
        new="and (one.is_leaf or one.tensor.requires_grad)",
        shows="a snapshot makes torch warn that .grad of a tensor is read that is no leaf",
        where=("tests/capture/test_roots.py", "tests/capture/test_values.py"),
    ),
    SeededFault(
        room="capture/autograd",
        file="gradviz/capture/traversal.py",
        old="return order if len(set(numbers)) == len(numbers) else None",
        new="return order",
        shows="nodes that several threads made are shown in an order in which none was made",
        where=("tests/capture/test_threads.py", "tests/model/test_forward_order.py"),
    ),
    SeededFault(
        room="capture/recorder",
        file="gradviz/capture/recorder/observers/backward.py",
        old="        for handle in laid:\n            handle.remove()",
        new="        for handle in laid[1:]:\n            handle.remove()",
        shows="a recorded backward leaves a pre-hook on each node",
        where=("tests/truth/test_recording_neutral.py",),
    ),
    SeededFault(
        room="capture/recorder",
        file="gradviz/capture/recorder/observers/operations.py",
        old="changed = [tensor] if base is None else [tensor, base]",
        new="changed = [tensor]",
        shows="a write into a view is not known as a write to its base",
        where=("tests/analysis/audit/test_reasons.py",),
    ),
    SeededFault(
        room="capture/recorder",
        file="gradviz/capture/recorder/observers/operations.py",
        old='    if torch.is_inference_mode_enabled():\n        return "inference mode"\n',
        new="",
        shows="what was computed in inference mode is said to be computed under no_grad",
        where=("tests/capture/recorder/test_context_manager.py",),
    ),
    SeededFault(
        room="capture/recorder",
        file="gradviz/capture/recorder/observers/operations.py",
        old="results = list(tensors_in(call.result))\n",
        new="results = self._last = list(tensors_in(call.result))\n",
        shows="a recording keeps the results of the last call alive",
        where=("tests/truth/test_recording_neutral.py",),
    ),
    SeededFault(
        room="capture/recorder",
        file="gradviz/capture/recorder/observers/hooks.py",
        old="code.co_argcount - inspect.ismethod(function)",
        new="code.co_argcount",
        shows="a bound method that is a pre-hook of a node is called a post-hook",
        where=(
            "tests/capture/recorder/test_user_code.py",
            "tests/truth/test_recording_steps.py",
        ),
    ),
    SeededFault(
        room="capture/recorder",
        file="gradviz/capture/recorder/observers/optimizers.py",
        old="if _is_fused(owner):",
        new="if not _is_fused(owner):",
        shows="a fused optimizer's step is not known to have written its parameters",
        where=("tests/truth/test_uncounted_writes.py",),
    ),
)
