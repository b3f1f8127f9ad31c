"""The notebook that is published: run again, or as it is stored, with the state of its widgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gradviz.notebook_check.check import check_language
from gradviz.notebook_check.notebook_file import code_cells, name_of, read
from gradviz.notebook_check.results import CellName, CheckError, Raised
from gradviz.notebook_check.rules import WIDGET, options_of
from gradviz.notebook_check.run import THIS_PYTHON, CellStoppedError, running
from gradviz.notebook_check.stored_widgets import States, states_in
from gradviz.view.documents.digest import MIME

TIMEOUT: Final = 120.0
"""Seconds a cell may take if nothing else is asked for."""


class PublishError(Exception):
    """A notebook cannot be published; the message gives the reason and what to type."""


class UnreadableError(PublishError):
    """There is no such notebook, or it cannot be run here."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the outputs come from.

    Attributes:
        stored: Whether the outputs of the file are taken; else it is run.
        timeout: Seconds a cell may take.
        kernel: The name of an installed kernel; if empty this Python.
    """

    stored: bool = False
    timeout: float = TIMEOUT
    kernel: str = THIS_PYTHON


def notebook_of(
    path: Path,
    settings: Settings = Settings(),
    begins: Callable[[CellName, int], None] = lambda name, many: None,
) -> tuple[Any, States]:
    """The notebook of a file with its outputs, and the traits of its widgets.

    The file is only read.

    Args:
        path: The file.
        settings: Where the outputs come from.
        begins: Called before each cell is run, with the cell and how many there are.

    Raises:
        UnreadableError: If there is no such notebook, or it cannot be run here.
        PublishError: If a cell raises, or it has no outputs.

    Examples:
        >>> notebook_of(Path("no-such-file.ipynb"))
        Traceback (most recent call last):
        gradviz.publish.source.UnreadableError: the file no-such-file.ipynb does not exist
    """
    try:
        notebook = read(path)
        if settings.stored:
            return notebook, _stored(path, notebook)
        check_language(path, notebook, settings.kernel)
        return notebook, _run(path, notebook, settings, begins)
    except CheckError as error:
        raise UnreadableError(str(error)) from None


def _stored(path: Path, notebook: Any) -> States:
    """The states in a notebook as it is.

    Raises:
        PublishError: If it has not been run, or stores no widget that it shows.
    """
    cells = [cell for _, cell in code_cells(notebook) if cell.source.strip()]
    if cells and not any(cell.outputs or cell.execution_count for cell in cells):
        raise PublishError(
            f"{path} has not been run: it stores no output. Leave out --stored, and it is run "
            "here; or run all cells in Jupyter and save it"
        )
    states = states_in(notebook)
    for _, cell in code_cells(notebook):
        for output in cell.outputs:
            data = output.get("data", {})
            is_widget = WIDGET in data or MIME in data
            if is_widget and data.get(WIDGET, {}).get("model_id") not in states:
                name = name_of(cell, 0)
                raise PublishError(
                    f"{path} does not store the widget of cell {name.number} {name.first_line!r}. "
                    "Leave out --stored, and the notebook is run here; or choose Settings > Save "
                    "Widget State Automatically in JupyterLab, run all cells and save it"
                )
    return states


def _run(
    path: Path, notebook: Any, settings: Settings, begins: Callable[[CellName, int], None]
) -> States:
    cells = code_cells(notebook)
    folder = path.absolute().parent
    with running(notebook, folder, settings.timeout, settings.kernel) as kernel:
        for number, (at, cell) in enumerate(cells, 1):
            options, name = options_of(cell), name_of(cell, number)
            if options.get("skip"):
                _forget_widgets(cell)
            elif cell.source.strip():
                begins(name, len(cells))
                try:
                    raised = kernel.run(cell, at)
                except CellStoppedError as error:
                    raise PublishError(f"{path}, {_where(name)}: {error}") from None
                if raised is not None and not options.get("check_exception"):
                    raise PublishError(f"{path}, {_where(name)}: {_advice(raised)}")
        return kernel.states


def _forget_widgets(cell: Any) -> None:
    """A cell that is not run has widgets of a kernel that ended."""
    for output in cell.outputs:
        output.get("data", {}).pop(WIDGET, None)


def _where(name: CellName) -> str:
    return f"cell {name.place} ({name.first_line!r})"


def _advice(raised: Raised) -> str:
    return (
        f"{raised.title.splitlines()[0]}. Correct the cell; if the error is meant, give the cell "
        "the tag raises-exception; if it needs other data or time, run it in Jupyter and use "
        "--stored"
    )
