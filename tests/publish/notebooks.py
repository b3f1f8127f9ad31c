"""A small notebook with a text, a picture and a question, and what it is when it has run."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat

from gradviz.notebook_check.stored_widgets import States
from gradviz.publish.source import notebook_of

QUESTION = """\
@gradviz.predict(
    "What is `w.grad`?",
    choose={"six": "It was not doubled.", "twelve": "The square doubles it."},
    why="The derivative of a square is twice the number.",
)
def slope():
    w = torch.tensor(6.0, requires_grad=True)
    (w * w).backward()
    return {6.0: "six", 12.0: "twelve"}[w.grad.item()]
"""
CELLS = (
    ("title", "# A lecture\n\nWhat does backward do?"),
    ("setup", "import torch\nimport gradviz"),
    ("watch", "Watch what happens. See [the next](next.ipynb)."),
    ("player", "%load_ext gradviz"),
    ("steps", "%%gradviz\na = torch.tensor(2.0, requires_grad=True)\n(a * a).backward()"),
    ("caption", "Each node gets its gradient."),
    ("slope", QUESTION),
    ("numbers", "## Numbers\n\nThey are small."),
    ("print", "print(1 + 1)"),
)
TEXTS = ("title", "watch", "caption", "numbers")


def lecture(more: tuple[tuple[str, str], ...] = ()) -> Any:
    """The notebook, not yet run."""
    notebook = nbformat.v4.new_notebook()
    for name, source in (*CELLS, *more):
        is_text = name in TEXTS or not source.strip()
        make: Any = nbformat.v4.new_markdown_cell if is_text else nbformat.v4.new_code_cell
        cell = make(source)
        cell["id"] = name
        if name == "slope":
            cell.metadata["tags"] = ["hide-input"]
        notebook.cells.append(cell)
    return notebook


def written(folder: Path, notebook: Any, name: str = "lecture.ipynb") -> Path:
    path = folder / name
    path.write_text(nbformat.writes(notebook), "utf-8")
    return path


@cache
def _ran() -> str:
    with TemporaryDirectory() as folder:
        notebook, states = notebook_of(written(Path(folder), lecture()))
    return json.dumps([notebook, states])


def ran() -> tuple[Any, States]:
    """The notebook after a run, which is made once, and its widgets."""
    notebook, states = json.loads(_ran())
    return nbformat.from_dict(notebook), states


def stored() -> Any:
    """The notebook after a run, saved with the state of its widgets."""
    notebook, states = ran()
    state = {key: {"state": traits} for key, traits in states.items()}
    kept = {"state": state, "version_major": 2, "version_minor": 0}
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": kept}
    return notebook
