from __future__ import annotations

from typing import Final

from tests.seeded_faults.fault import SeededFault

ANALYSIS: Final = (
    SeededFault(
        room="analysis/memory",
        file="gradviz/analysis/memory/holders.py",
        old="shared += one.nbytes if 1 + len(others) < len(one.saves) else 0",
        new="shared += one.nbytes if len(one.saves) > 1 else 0",
        shows="a module that saves one tensor twice is said to share it with other modules",
        where=(
            "tests/analysis/memory/test_memory.py",
            "tests/analysis/memory/test_blocks.py",
        ),
    ),
    SeededFault(
        room="analysis/memory",
        file="gradviz/analysis/memory/holders.py",
        old=" for one in self._of.get(node, ()) if one.owner == node}",
        new=" for one in self._of.get(node, ())}",
        shows="the column counted adds up to more than the total: shared storages count twice",
        where=(
            "tests/analysis/memory/test_memory.py",
            "tests/analysis/memory/test_blocks.py",
        ),
    ),
    SeededFault(
        room="analysis/audit",
        file="gradviz/analysis/audit/grad_history.py",
        old='        self.left_out = self.taken = ""\n',
        new='        self.left_out = ""\n',
        shows="a parameter without .grad is said to be cleared by a zero_grad() of long ago",
        where=("tests/analysis/audit/test_grad_history.py",),
    ),
    SeededFault(
        room="analysis/audit",
        file="gradviz/analysis/audit/reasons_live.py",
        old="row.storage is None or self._sharing[row.storage] > 1:",
        new="row.storage is None:",
        shows="one of two tied parameters is called frozen because the other is saved",
        where=("tests/analysis/audit/test_reasons.py",),
    ),
    SeededFault(
        room="analysis/audit",
        file="gradviz/analysis/audit/gradient_reach.py",
        old="(0 in sure and node.name.startswith(FIRST_DECIDES))",
        new="0 in sure",
        shows="the audit promises gradients that a node with several outputs may not give",
        where=(
            "tests/analysis/audit/test_reasons.py",
            "tests/analysis/audit/test_truth.py",
        ),
    ),
    SeededFault(
        room="analysis/diff",
        file="gradviz/analysis/diff/values.py",
        old="<= max(CLOSE * max(abs(a), abs(b)), SCALE * largest)",
        new="<= CLOSE * max(abs(a), abs(b), largest)",
        shows="a small number beside a large one is called equal although it differs",
        where=(
            "tests/analysis/diff/test_pairs.py",
            "tests/analysis/diff/test_sentences.py",
        ),
    ),
    SeededFault(
        room="analysis/diff",
        file="gradviz/analysis/diff/facts.py",
        old='    "retains_grad",\n',
        new="",
        shows="two runs of which only one calls retain_grad() are said to be the same",
        where=("tests/analysis/diff/test_pairs.py",),
    ),
    SeededFault(
        room="analysis/diff",
        file="gradviz/analysis/diff/saved.py",
        old="return old_id in pairs.after or new_id in pairs.tensors",
        new="return old_id is not None or new_id is not None",
        shows="a saved tensor that only one graph knows is reported beside the tensor itself",
        where=(
            "tests/analysis/diff/test_pairs.py",
            "tests/analysis/diff/test_sentences.py",
        ),
    ),
    SeededFault(
        room="analysis/fold",
        file="gradviz/analysis/fold/structure.py",
        old="            tuple(inner),\n",
        new="",
        shows="parts with the same nodes and other links are folded as one repeat",
        where=("tests/analysis/fold/test_repeats.py",),
    ),
    SeededFault(
        room="analysis/fold",
        file="gradviz/analysis/fold/totals.py",
        old="        self.hooks += other.hooks\n",
        new="",
        shows="the header of a fold does not count the hooks of the folds inside it",
        where=("tests/analysis/fold/test_tree.py",),
    ),
    SeededFault(
        room="analysis/gradient_flow",
        file="gradviz/analysis/gradient_flow/sentences.py",
        old="bool(row.zeros) and row.zeros == sum(row.given)",
        new="bool(row.zeros)",
        shows="a parameter with zeros in one backward is said to get zeros in every one",
        where=("tests/analysis/gradient_flow",),
    ),
    SeededFault(
        room="analysis/dataflow",
        file="gradviz/analysis/cuts.py",
        old="not event.accumulates and not event.create_graph",
        new="not event.accumulates",
        shows="grad(create_graph=True) is named as the call that gave a gradient without a graph",
        where=("tests/analysis/explain/test_fixes.py",),
    ),
)
