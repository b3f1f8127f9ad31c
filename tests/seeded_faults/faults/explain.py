from __future__ import annotations

from typing import Final

from tests.seeded_faults.fault import SeededFault

EXPLAIN: Final = (
    SeededFault(
        room="analysis/explain",
        file="gradviz/analysis/explain/fixes/around_backward.py",
        old="if first is None or call is None or was_written(since, root_nodes(context), context):",
        new="if first is None or call is None:",
        shows="retain_graph=True is offered although a saved tensor was written: it raises again",
        where=("tests/analysis/explain/test_fixes.py",),
    ),
    SeededFault(
        room="analysis/explain",
        file="gradviz/analysis/explain/fixes/around_backward.py",
        old="    changed = (ZeroedGrad, OptimizerStepped)\n",
        new="    changed = (OptimizerStepped,)\n",
        shows="one backward of the sum is offered although zero_grad() ran between the two",
        where=("tests/analysis/explain/test_fixes.py",),
    ),
    SeededFault(
        room="analysis/explain",
        file="gradviz/analysis/explain/rerun_safety.py",
        old="if len(steps) != 1 or draws(statement) or _has_effects",
        new="if len(steps) != 1 or _has_effects",
        shows="running a line again is offered although it draws other random numbers",
        where=("tests/analysis/explain/test_fixes.py",),
    ),
    SeededFault(
        room="analysis/explain",
        file="gradviz/analysis/explain/fixes/kept_results.py",
        old="    if function is None or _is_read_elsewhere(target.attr, function, context):\n",
        new="    if function is None:\n",
        shows="detach() of an attribute is offered although other code reads it for its loss",
        where=("tests/analysis/explain/test_fixes.py",),
    ),
    SeededFault(
        room="analysis/explain",
        file="gradviz/analysis/explain/errors/saved_modified.py",
        old='if operation_of(n) + "_" == first.by',
        new="if operation_of(n) == first.by",
        shows="the node of the line that wrote in place is not marked in the picture",
        where=("tests/analysis/explain/test_errors.py", "tests/analysis/explain/test_explain.py"),
    ),
    SeededFault(
        room="analysis/explain",
        file="gradviz/analysis/explain/errors/saved_modified.py",
        old='"then": slot.saved_version,\n            "now": slot.current_version,',
        new='"then": slot.current_version,\n            "now": slot.saved_version,',
        shows="the explanation of a modified saved tensor has its two versions the wrong way round",
        where=("tests/analysis/explain/test_errors.py",),
    ),
    SeededFault(
        room="analysis/explain",
        file="gradviz/analysis/explain/silent/stale_gradient.py",
        old="info is None or info.requires_grad or info.is_leaf is False:",
        new="info is None or info.is_leaf is False:",
        shows="a parameter that requires grad is reported as frozen and updated all the same",
        where=("tests/analysis/explain/test_silent.py",),
    ),
    SeededFault(
        room="analysis/code",
        file="gradviz/analysis/code/partial_paths.py",
        old="calls = [call for call in self._calls if call.place > since]",
        new="calls = list(self._calls)",
        shows="the audit names a detach() of an earlier step as a cut on the way of this loss",
        where=("tests/analysis/audit/test_partial_paths.py",),
    ),
)
