from __future__ import annotations

from typing import Final

from tests.seeded_faults.fault import SeededFault

LESSONS: Final = (
    SeededFault(
        room="teach",
        file="gradviz/teach/repair/judge.py",
        old="return [BY_HAND] if is_by_hand and not self._exercise.by_hand else []",
        new="return []",
        shows="a learner who writes the gradient into .grad by hand has repaired the program",
        where=("tests/teach/test_repair.py",),
    ),
    SeededFault(
        room="teach",
        file="gradviz/teach/expected_error.py",
        old='return found.kind != "other" or isinstance(error, RuntimeError)',
        new="return True",
        shows="expect_error() keeps an AttributeError or TypeError that is not autograd's",
        where=("tests/teach/test_expected_error.py",),
    ),
    SeededFault(
        room="check",
        file="gradviz/check/leak.py",
        old="if last >= _LEAST and last > min(len(kept[-2]), len(kept[-3])):",
        new="if last > _LEAST and last > min(len(kept[-2]), len(kept[-3])):",
        shows="no_leak() passes for a loop of three turns that keeps all their graphs",
        where=(
            "tests/check/test_messages.py",
            "tests/check/test_truth.py",
        ),
    ),
    SeededFault(
        room="check",
        file="gradviz/check/slots.py",
        old='if "freed" in read.state:',
        new='if read.state == "freed":',
        shows="held() passes although backward has freed a part of the graph",
        where=(
            "tests/check/test_messages.py",
            "tests/check/test_truth.py",
        ),
    ),
    SeededFault(
        room="course",
        file="gradviz/course/delivery.py",
        old="        if name not in names and is_former(path, name):\n",
        new="        if name not in names:\n",
        shows="gradviz lab deletes notebooks of the learner that no lesson is",
        where=("tests/course/test_delivery.py",),
    ),
    SeededFault(
        room="course",
        file="gradviz/course/scores.py",
        old="rows in files for row in rows if row.digest == digests[row.question]]",
        new="rows in files for row in rows]",
        shows="gradviz score counts answers to another edition of a question as if to this one",
        where=("tests/course/test_scores.py",),
    ),
)
