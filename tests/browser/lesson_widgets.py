"""The widgets that the lessons show, as the front end gets them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import ipywidgets

from gradviz.view.widgets.base import GraphWidget, widgets_in
from tests.browser.walk import Shown
from tests.lessons.lesson_files import code_cells, stored
from tests.lessons.lesson_shell import lesson_shell


@cache
def lesson_widgets(lesson: str) -> dict[str, Shown]:
    """Run a lesson as it is stored, once; its widgets by lesson, cell and, from 2, a number."""
    found: dict[str, Shown] = {}
    with TemporaryDirectory() as home, lesson_shell(Path(home)) as shell:
        for cell in code_cells(stored(lesson)):
            ran = shell.run(cell.source)
            shown = [one for one in ran.objects if isinstance(one, ipywidgets.Widget)]
            widgets = [inner for one in shown for inner in (one, *widgets_in(one))]
            graphs = [one for one in widgets if isinstance(one, GraphWidget)]
            for number, widget in enumerate(graphs, 1):
                name = f"{lesson[:2]}-{cell.id}" + (f"-{number}" if number > 1 else "")
                found[name] = Shown.of(widget)
    return found
