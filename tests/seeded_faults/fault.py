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


_GRAPHS: Final = ("tests/capture", "tests/model", "tests/truth")
_FINDINGS: Final = ("tests/analysis", "tests/check", "tests/ledger")
_PICTURES: Final = (
    "tests/teach",
    "tests/view",
    "tests/test_explaining.py",
    "tests/test_one_word.py",
)
_LESSONS: Final = ("tests/check", "tests/course", "tests/teach")
_COMMANDS: Final = ("tests/notebook_check", "tests/publish", "tests/run", "tests/test_cli.py")
_ENTRIES: Final = ("tests/test_api.py", "tests/test_magic.py", "tests/test_line_magic.py")

ROOMS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "model": _GRAPHS,
        "capture/autograd": _GRAPHS,
        "capture/recorder": _GRAPHS,
        "analysis/explain": _FINDINGS,
        "analysis/code": _FINDINGS,
        "analysis/audit": _FINDINGS,
        "analysis/memory": _FINDINGS,
        "analysis/diff": _FINDINGS,
        "analysis/fold": _FINDINGS,
        "analysis/gradient_flow": _FINDINGS,
        "analysis/dataflow": _FINDINGS,
        "view/graph": _PICTURES,
        "view/animation": _PICTURES,
        "view/captions": _PICTURES,
        "view/contents": _PICTURES,
        "view/explanations": _PICTURES,
        "view/documents": _PICTURES,
        "view/export": _PICTURES,
        "view/widgets": _PICTURES,
        "view/outlines": _PICTURES,
        "view/parts": _PICTURES,
        "teach": _LESSONS,
        "check": _LESSONS,
        "course": _LESSONS,
        "notebook_check": _COMMANDS,
        "publish": _COMMANDS,
        "api": _ENTRIES,
        "cli": _COMMANDS,
        "magic": _ENTRIES,
        "gradviz_run": _COMMANDS,
        "gradviz_pytest": _COMMANDS,
        "widgets": ("widgets/tests",),
    }
)
"""Parts of the product, and the tests that are asked where those of the fault notice nothing."""
