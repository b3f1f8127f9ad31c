"""A notebook as it is stored: its cells, and what a person calls them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import nbformat

from gradviz.notebook_check.results import CellName, CheckError


def read(path: Path) -> Any:
    """The notebook of a file, in the newest format.

    Raises:
        CheckError: If there is none.

    Examples:
        >>> read(Path("no-such-file.ipynb"))
        Traceback (most recent call last):
        gradviz.notebook_check.results.CheckError: the file no-such-file.ipynb does not exist
    """
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise CheckError(f"the file {path} does not exist") from None
    except IsADirectoryError:
        raise CheckError(f"{path} is a folder; name the notebooks in it: {path}/*.ipynb") from None
    except OSError as error:
        raise CheckError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CheckError(f"{path} is not a Jupyter notebook: it is no text in UTF-8") from None
    try:
        document = json.loads(text)
    except ValueError as error:
        raise CheckError(f"{path} is not a Jupyter notebook: {_json_words(text, error)}") from None
    if not isinstance(document, dict) or "nbformat" not in document:
        raise CheckError(f"{path} is not a Jupyter notebook: it has no field nbformat")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cells without ids, which older files have
            notebook = nbformat.reads(text, as_version=4)
            nbformat.validate(notebook, relax_add_props=True)
    except Exception as error:  # nbformat's own errors, and what damaged cells lead to
        reason = str(error).strip().split("\n")[0]
        raise CheckError(f"{path} is not a Jupyter notebook of format 4: {reason}") from None
    return notebook


def _json_words(text: str, error: ValueError) -> str:
    if not text.strip():
        return "it is empty"
    if "<<<<<<<" in text:
        return "it has marks of a merge conflict (<<<<<<<)"
    return f"it is no JSON ({error})"


def code_cells(notebook: Any) -> list[tuple[int, Any]]:
    """The code cells, each with its place among all cells."""
    return [(at, cell) for at, cell in enumerate(notebook.cells) if cell.cell_type == "code"]


def name_of(cell: Any, place: int) -> CellName:
    """How a person finds a cell.

    Args:
        cell: The cell, as it is stored.
        place: Which of the code cells it is, from 1.
    """
    written = [line.strip() for line in cell.source.splitlines() if line.strip()]
    code = [line for line in written if not line.startswith("#")]
    first = next(iter(code or written), "")
    return CellName(cell.get("execution_count"), cell.get("id", ""), first, place)
