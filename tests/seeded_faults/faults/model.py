from __future__ import annotations

from typing import Final

from tests.seeded_faults.fault import SeededFault

MODEL: Final = (
    SeededFault(
        room="model",
        file="gradviz/model/graph.py",
        old='f"n{numbers[entry[0]]}", slot, entry[1])',
        new='f"n{numbers[entry[0]]}", slot, 0)',
        shows="each edge of graph.edges leads to output 0 of its node",
        where=("tests/model/test_graph.py", "tests/truth/test_operators.py"),
    ),
    SeededFault(
        room="model",
        file="gradviz/model/graph.py",
        old="sizes[slot.storage] = slot.storage_nbytes",
        new="sizes[slot.storage] = slot.nbytes or 0",
        shows="saved_bytes counts a saved view with its own bytes, not with the storage it keeps",
        where=("tests/model/test_graph.py", "tests/analysis/memory/test_memory.py"),
    ),
    SeededFault(
        room="model",
        file="gradviz/model/graph.py",
        old="            and self._modules == other._modules\n",
        new="",
        shows="two graphs are equal although their modules differ",
        where=("tests/model/test_forward_order.py",),
    ),
    SeededFault(
        room="model",
        file="gradviz/model/serialization/graph.py",
        old="if (value := getattr(fact, f.name)) != f.default",
        new="if (value := getattr(fact, f.name))",
        shows="a document loses saved versions that are 0, and flags that are False",
        where=("tests/model/test_serialization.py",),
    ),
    SeededFault(
        room="model",
        file="gradviz/model/history.py",
        old="if place[0] > until:\n                break",
        new="if place[0] >= until:\n                break",
        shows="requires_grad that the line itself switched off is not named as the cut",
        where=("tests/model/test_history.py",),
    ),
    SeededFault(
        room="model",
        file="gradviz/model/step_numbers.py",
        old="return record.depth + (record.level >= PART)",
        new="return record.depth + (record.level > PART)",
        shows="what is part of a sub-step has a number as if it were one: 7.3 instead of 7.2.1",
        where=("tests/model/test_step_numbers.py",),
    ),
    SeededFault(
        room="model",
        file="gradviz/model/derivatives/elementwise.py",
        old='where(SELF.over_limit(named("min")), GRAD, 0)',
        new='where(SELF.above(named("min")), GRAD, 0)',
        shows="the formula of clamp(min=…) says what holds where a value is the minimum",
        where=(
            "tests/truth/test_gradients.py",
            "tests/capture/test_derivatives.py",
        ),
    ),
    SeededFault(
        room="model",
        file="gradviz/model/forms/numbers.py",
        old='is_list = len(values) > 1 or (tokens[-1] == ",")',
        new="is_list = len(values) > 1",
        shows="the answer 2.0, to a question for a list of one number is judged as a number",
        where=("tests/model/test_questions.py",),
    ),
)
