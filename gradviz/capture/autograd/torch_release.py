"""Which torch this is, and what follows from it."""

from __future__ import annotations

import re
from typing import Final

import torch

from gradviz.model import UnsupportedTorchError

OLDEST: Final = (2, 10)


def _release(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


RELEASE: Final = _release(torch.__version__)
if RELEASE < OLDEST:
    raise UnsupportedTorchError(
        f"gradviz needs torch 2.10 or newer, and this is torch {torch.__version__}: older "
        "releases cannot show a saved tensor without unpacking it, which would run hooks and "
        "recompute checkpoints. Type: pip install 'torch>=2.10'"
    )

WRAPPERS_LIVE_AS_LONG_AS_NODES: Final = RELEASE >= (2, 13)
"""F1.02: from 2.13 on, a node keeps its Python wrapper; before, wrappers are transient."""

NO_SEQUENCE_NR: Final = 2**64 - 1
"""F1.08: what AccumulateGrad answers."""
