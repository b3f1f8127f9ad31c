"""The call that raised is read from its text and the variables, and nothing else."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

import torch

from gradviz.capture.direct_call import direct_call
from gradviz.capture.recorder.expressions import Expressions
from gradviz.capture.recorder.torch_call import TorchCall
from gradviz.model.recording import Code
from tests.each import each


def call_in(line: str, **values: Any) -> TorchCall | None:
    """The call in a line that raises."""
    code = compile(line, "line.py", "exec")
    try:
        exec(code, {"torch": torch, **values})
    except RuntimeError:
        entry = sys.exc_info()[2]
    assert isinstance(entry, TracebackType)
    while entry.tb_next is not None:
        entry = entry.tb_next
    position = Expressions().at(code, entry.tb_lasti)
    assert position is not None
    text = Code("line.py", 1, line)
    return direct_call(text, position, code, entry.tb_lasti, values)


@each(
    ("line", "name", "count"),
    [
        ("w.mul_(2)", "mul_", 2),
        ("w.mul_(w)", "mul_", 2),
        ("w -= 0.5", "sub_", 2),
        ("torch.mul(w, -2, out=w)", "mul", 3),
        ("w.numpy()", "numpy", 1),
        ("(w * 1).numpy()", "numpy", 0),
        ("(w * 1).requires_grad = False", "requires_grad", None),
        ("w.mul_(w.abs())", "mul_", None),
        ("w.mul_(*[2])", "mul_", None),
        ("w[0] = 1.0", "__setitem__", None),
    ],
)
def test_arguments_are_variables_and_constants_or_the_call_is_not_known(
    line: str, name: str, count: int | None
) -> None:
    found = call_in(line, w=torch.ones(2, requires_grad=True))
    if count is None:
        assert found is None
    else:
        assert found is not None
        assert found.name == name
        assert len([*found.args, *found.kwargs.values()]) == count
