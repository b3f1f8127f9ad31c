"""Lessons run in this process, by IPython, as their kernel runs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

Formatter: Any = DisplayFormatter
NewShell: Any = InteractiveShell


class Watching(Formatter):
    """Keeps what is displayed, besides writing it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.objects: list[Any] = []

    def format(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        self.objects.append(obj)
        return super().format(obj, *args, **kwargs)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a cell has left: the objects that it displayed, and what it printed."""

    objects: list[Any]
    printed: str
    complaints: str


class Shell:
    """Runs cells one after the other; an error in one is an error of the test."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._watching = shell.display_formatter

    def run(self, source: str) -> Ran:
        self._watching.objects.clear()
        with capture_output() as said:
            self._shell.run_cell(source, store_history=True).raise_error()
        return Ran(list(self._watching.objects), said.stdout, said.stderr)


@contextmanager
def lesson_shell(home: Path) -> Iterator[Shell]:
    """A shell as a lesson's kernel has one."""
    config = Config()
    config.HistoryManager.enabled = False
    shell = NewShell(config=config, ipython_dir=str(home))
    shell.display_formatter = Watching(parent=shell)
    with patch.object(InteractiveShell, "_instance", shell):
        try:
            yield Shell(shell)
        finally:
            if "gradviz" in shell.extension_manager.loaded:
                shell.extension_manager.unload_extension("gradviz")
            torch.set_default_device(None)  # some pages choose one
