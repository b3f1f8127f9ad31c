"""Runs the code of a page in a fresh process and an empty folder."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from gradviz.notebook_check import documentation_process
from gradviz.notebook_check.documentation import Page

_LINES: Final = 12
"""Lines of a traceback that are shown."""


def run_page(page: Page, folder: Path, timeout: float) -> str:
    """Run all blocks of a page, in order, in one process.

    Args:
        page: The page.
        folder: Where its files are written.
        timeout: Seconds that it may take.

    Returns:
        What went wrong, ``""`` if nothing did.
    """
    for path in _paths_in(page):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
    told = {
        "name": page.path.name,
        "folder": str(page.path.parent.resolve()),
        "blocks": [[block.line, block.source] for block in page.blocks],
    }
    try:
        done = subprocess.run(
            [sys.executable, "-P", documentation_process.__file__],
            input=json.dumps(told),
            cwd=folder,
            timeout=timeout,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"its code has not ended after {timeout:g} seconds: --timeout gives it more"
    if done.returncode == documentation_process.RAN:
        return ""
    last = "\n".join(done.stderr.strip().split("\n")[-_LINES:])
    return last or f"its process ended with status {done.returncode}"


def _paths_in(page: Page) -> Iterator[PurePosixPath]:
    """Relative paths in the code, whose folders are there before it runs as beside the page."""
    for block in page.blocks:
        try:
            tree = ast.parse(block.source)
        except SyntaxError:
            continue
        for item in ast.walk(tree):
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                path = PurePosixPath(item.value.strip())
                is_file = path.suffix and "/" in item.value and "\n" not in item.value
                if is_file and not path.is_absolute() and ".." not in path.parts:
                    yield path
