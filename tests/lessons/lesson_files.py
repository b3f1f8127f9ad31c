from __future__ import annotations

import ast
import contextlib
import io
import linecache
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat

from gradviz.notebook_check.check import check_notebook
from gradviz.notebook_check.results import NotebookResult
from notebooks import build

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
LESSONS = [source.stem for source in build.sources()]
LEDGER = "ledger"
BESIDE = [page.relative_to(build.SOURCE).with_suffix("").as_posix() for page in build.pages()]
TESTS = [source.stem for source in build.tests()]
PAGES = [*LESSONS, *TESTS, *BESIDE]
"""The lessons, the tests, the pages that answer short questions, and the ledger of statements."""


def stored(lesson: str) -> Any:
    return nbformat.read(NOTEBOOKS / f"{lesson}.ipynb", as_version=4)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell: Any) -> Iterator[str]:
    """Everything textual in the outputs of a cell."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.text
        yield from (one for one in output.get("data", {}).values() if isinstance(one, str))


class Kernel:
    """Runs cells in this process; what the last line gives is kept by cell id."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.shown: dict[str, Any] = {}
        self.printed: dict[str, str] = {}

    def run(self, cell_id: str, source: str) -> None:
        # A recorded cell does what it does without its first line; nbval runs it with it.
        source = re.sub("^%.*", "", source, flags=re.MULTILINE)
        tree = ast.parse(source)
        # As IPython does, so that explanations can name lines.
        linecache.cache[cell_id] = (len(source), None, source.splitlines(True), cell_id)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(tree, cell_id, "exec"), self.names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), cell_id, "eval"), self.names)
                self.shown[cell_id] = value
        self.printed[cell_id] = out.getvalue()


def check_strictly(notebook: Path) -> NotebookResult:
    """What ``gradviz check`` finds in a notebook that imports the modules of the lessons."""
    paths = os.pathsep.join([str(ROOT), str(NOTEBOOKS)])
    with patch.dict(os.environ, PYTHONPATH=paths):
        return check_notebook(notebook)
