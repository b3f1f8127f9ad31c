from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededFault:
    """A change of the product as carelessness would make it.

    Args:
        room: Which of :data:`ROOMS` the file is in.
        file: Path from the root of the tree.
        old: Text that is in the file once.
        new: What is there instead.
        shows: What a user sees wrong.
        where: Test folders or files that ought to notice it.
    """

    room: str
    file: str
    old: str
    new: str
    shows: str
    where: tuple[str, ...]


ROOMS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "model": ("tests/model", "tests/truth", "gradviz/model"),
        "capture/autograd": ("tests/capture", "tests/truth"),
        "capture/recorder": ("tests/capture", "tests/truth"),
        "analysis/explain": ("tests/analysis/explain", "tests/ledger"),
        "analysis/code": ("tests/analysis/explain", "tests/analysis/audit", "tests/ledger"),
        "analysis/audit": ("tests/analysis/audit", "tests/check"),
        "analysis/memory": ("tests/analysis/memory", "tests/view", "tests/check"),
        "analysis/diff": ("tests/analysis/diff", "tests/teach"),
        "analysis/fold": ("tests/analysis/fold", "tests/models", "tests/view"),
        "analysis/gradient_flow": ("tests/analysis/gradient_flow", "tests/view"),
        "analysis/dataflow": ("tests/analysis", "tests/ledger"),
        "view/graph": ("tests/view",),
        "view/animation": ("tests/view",),
        "view/captions": ("tests/view", "tests/truth"),
        "view/explanations": ("tests/view", "tests/test_explaining.py"),
        "view/documents": ("tests/view", "tests/test_one_word.py"),
        "view/export": ("tests/view", "tests/test_cli.py"),
        "view/html": ("tests/view", "tests/teach"),
        "view/widgets": ("tests/view", "tests/teach"),
        "view/outlines": ("tests/view", "tests/teach"),
        "teach": ("tests/teach", "tests/lessons"),
        "check": ("tests/check", "tests/lessons"),
        "course": ("tests/course", "tests/lessons"),
        "notebook_check": ("tests/notebook_check",),
        "publish": ("tests/publish",),
        "api": ("tests/test_api.py", "tests/test_explaining.py", "tests/test_make_dot.py"),
        "cli": ("tests/test_cli.py", "tests/test_explaining.py"),
        "magic": ("tests/test_magic.py", "tests/test_line_magic.py"),
        "gradviz_run": ("tests/run",),
        "gradviz_pytest": ("tests/run", "tests/notebook_check"),
        "widgets": ("widgets/tests",),
    }
)
"""Parts of the product, and the tests that are asked where those of the fault notice nothing."""
