"""A stored traceback that is not of its cell is noticed, whatever machine has written it."""

from __future__ import annotations

from typing import Any

import pytest
from nbformat import from_dict

from gradviz.notebook_check.stored_tracebacks import differences_of_tracebacks
from tests.notebook_check.notebooks import cell

SOURCE = "x = 1\nx / 0"
ENTRY = [
    "\x1b[0;31mZeroDivisionError\x1b[0m  Traceback (most recent call last)",
    "Cell In[5], line 2\n      1 x = 1\n----> 2 x / 0\n",
    "File ~/packages/other.py:3, in f()\n----> 3 raise error\n",
    "\x1b[0;31mZeroDivisionError\x1b[0m: division by zero",
]


def stored(*traceback: str, name: str = "ZeroDivisionError", said: str = "division by zero") -> Any:
    output = {"output_type": "error", "ename": name, "evalue": said, "traceback": [*traceback]}
    return from_dict(cell(SOURCE, output, count=5))


@pytest.mark.parametrize(
    "right",
    [
        stored(*ENTRY),
        stored(),
        stored(
            "SyntaxError: invalid syntax", name="SyntaxError", said="invalid syntax (a.py, line 1)"
        ),
    ],
)
def test_what_a_kernel_writes_is_right(right: Any) -> None:
    assert list(differences_of_tracebacks(right)) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("division by zero", "float division", "does not end with the error"),
        ("ZeroDivisionError\x1b[0m:", "ValueError:", "does not end with the error"),
        ("----> 2 x / 0", "----> 2 x / y", "a line that is not in the cell"),
    ],
)
def test_what_was_changed_in_it_is_noticed(before: str, after: str, said: str) -> None:
    changed = stored(*(part.replace(before, after) for part in ENTRY))
    (difference,) = differences_of_tracebacks(changed)
    assert said in difference.note
