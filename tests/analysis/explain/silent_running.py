"""Runs programs given as text: recorded, plain, and with a fix applied."""

from __future__ import annotations

import linecache
import textwrap
import warnings
from itertools import count
from typing import Any, Final

import numpy as np
import torch
from torch import nn

import gradviz

FIRST: int = 2
"""Number of a program's first line; the ``with`` stands before it."""
TRAINED_IN_PART: Final = """
    optimizer = optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
"""
"""The end of a program that has frozen parts of a model."""
_numbers = count()


def program(text: str) -> str:
    """A program without the indentation it has here."""
    return textwrap.dedent(text).strip("\n")


def two_layers(first: str, second: str) -> str:
    """The beginning of a program: a model whose layers have these names."""
    return f"""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.{first}, self.{second} = nn.Linear(3, 3), nn.Linear(3, 3)
            self.out = nn.Linear(3, 1)
        def forward(self, x):
            return self.out(torch.tanh(self.{second}(torch.tanh(self.{first}(x)))))
"""


def namespace() -> dict[str, Any]:
    """What programs may use."""
    return {
        "torch": torch,
        "nn": nn,
        "F": nn.functional,
        "optim": torch.optim,
        "np": np,
        "gradviz": gradviz,
    }


def run_plain(text: str, before: str = "") -> dict[str, Any]:
    """The variables of a program that ran without a recorder."""
    space = namespace()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(before, "<before>", "exec"), space)
        exec(compile(text, "<plain>", "exec"), space)
    return space


def run_recorded(text: str, before: str = "", **options: Any) -> gradviz.Recording:
    """The recording of a program; what it raised is in the recording.

    Args:
        text: The program.
        before: Code that runs before the recording begins.
        options: For ``gradviz.record()``.
    """
    block = "with gradviz.record(**options) as recording:\n" + textwrap.indent(text, "    ") + "\n"
    name = f"<silent {next(_numbers)}>"
    linecache.cache[name] = (len(block), None, block.splitlines(True), name)
    space = namespace() | {"options": options}
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(before, "<before>", "exec"), space)
        try:
            exec(compile(block, name, "exec"), space)
        except RuntimeError as error:  # torch's is in the recording
            if isinstance(error, gradviz.GradvizError):
                raise
        finally:
            del linecache.cache[name]
    recording: gradviz.Recording = space["recording"]
    return recording
