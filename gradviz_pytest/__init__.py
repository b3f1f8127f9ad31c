"""What pytest finds of gradviz: ``pytest --gradviz`` explains failures, ``--gradviz-notebooks``
collects notebooks as ``gradviz check`` does.

pytest imports this module at every start, wherever gradviz is installed. So it imports nothing,
neither torch nor gradviz, before the flag is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

EXPLAIN = "--gradviz"
FLAG = "--gradviz-notebooks"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add both flags, and what says how notebooks are checked, as ``gradviz check`` calls it."""
    group = parser.getgroup("gradviz", "failures explained, and notebooks compared (gradviz)")
    group.addoption(
        EXPLAIN,
        action="store_true",
        help="explain errors of autograd in the reports of the tests that they have failed",
    )
    group.addoption(
        FLAG,
        action="store_true",
        help="run notebooks (*.ipynb) again and compare text, pictures and widgets with the stored "
        "outputs, cell by cell, as `gradviz check` does",
    )
    group.addoption(
        f"{FLAG}-lax",
        action="store_true",
        help="the same; compare only cells marked # NBVAL_CHECK_OUTPUT",
    )
    group.addoption(
        f"{FLAG}-timeout",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="how long a cell may run (default: 120)",
    )
    group.addoption(
        f"{FLAG}-kernel",
        default="",
        metavar="NAME",
        help="an installed kernel (default: this Python)",
    )
    group.addoption(
        f"{FLAG}-report",
        default="",
        metavar="FILE",
        help="write what differs to an HTML file, with pictures side by side",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Explain failures, and write the report of notebooks at the end, where asked for."""
    if config.getoption("gradviz", False):
        from gradviz_pytest.failures import Failures

        config.pluginmanager.register(Failures(), "gradviz-failures")
    is_worker = hasattr(config, "workerinput")
    if _is_asked(config) and config.getoption("gradviz_notebooks_report") and not is_worker:
        from gradviz.notebook_check.pytest_items import ReportWriter

        config.pluginmanager.register(ReportWriter(config), "gradviz-notebooks-report")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Any:
    """Collect a notebook, if the flag is given."""
    if file_path.suffix != ".ipynb" or not _is_asked(parent.config):
        return None
    from gradviz.notebook_check.pytest_items import NotebookFile

    return NotebookFile.from_parent(parent, path=file_path)


def _is_asked(config: pytest.Config) -> bool:
    # Without the options of this module, in a worker that did not load it, nothing is asked for.
    return any(config.getoption(f"gradviz_notebooks{end}", False) for end in ("", "_lax"))
