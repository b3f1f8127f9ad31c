"""How JupyterLab opens the lessons: settings of our own, which leave the user's as they are.

Examples:
    >>> from pathlib import Path
    >>> from gradviz.course.lab import write_settings
    >>> write_settings(Path("settings"), Path("learn"))
    >>> sorted(path.name for path in Path("settings").iterdir())
    ['jupyter_lab_config.json', 'jupyter_server_config.json', 'labconfig']
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

from gradviz.course.copies import START

LANDING: Final = f"/lab/tree/{quote(START)}"
DEFAULTS: Final = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/filebrowser-extension:browser": {"showLastModifiedColumn": False},
}
"""Of JupyterLab's own settings: it neither fetches news nor asks whether it may, and the list of
files has room for the names of the lessons. What the user has set there stays."""


def write_settings(place: Path, folder: Path, workspaces: Path | None = None) -> None:
    """Write a folder of Jupyter settings with which JupyterLab opens the start page.

    Args:
        place: The folder of settings, as one in ``JUPYTER_CONFIG_PATH``.
        folder: The folder of the lessons, the root of what the file browser shows.
        workspaces: Where JupyterLab keeps which tabs are open; by default where it always does.
    """
    # The address that the server prints leads to the start page too, so the page is no argument.
    # A folder that the user prefers may be outside the root, and then the server does not start.
    settings: dict[str, dict[str, str]] = {
        "ServerApp": {"root_dir": str(folder), "default_url": LANDING},
        "LabApp": {"default_url": LANDING},
        "FileContentsManager": {"preferred_dir": ""},
    }
    if workspaces is not None:
        settings["LabApp"]["workspaces_dir"] = str(workspaces)
    # Jupyter reads all of the one before all of the other, the user's too.
    for name in ("jupyter_server_config", "jupyter_lab_config"):
        _write(place / f"{name}.json", settings)
    _write(place / "labconfig" / "default_setting_overrides.json", DEFAULTS)


@contextmanager
def settings_for(folder: Path) -> Iterator[dict[str, str]]:
    """The environment in which JupyterLab opens the lessons of a folder.

    Its settings come before the user's and after the command line. Which tabs were open in an
    earlier session is not known to it, and the user's own workspaces do not change.
    """
    with TemporaryDirectory(prefix="gradviz-lab-", ignore_cleanup_errors=True) as made:
        place = Path(made)
        write_settings(place / "settings", folder, place / "workspaces")
        paths = [str(place / "settings"), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
        yield {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(paths)}


def command(no_browser: bool, more: Sequence[str]) -> list[str]:
    """The command that starts JupyterLab in this Python."""
    return [sys.executable, "-m", "jupyterlab", *["--no-browser"] * no_browser, *more]


def _write(path: Path, settings: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
