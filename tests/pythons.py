"""Other Pythons of this machine."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")


@cache
def python(version: str) -> str | None:
    """Path of a Python of this version that starts: on the path, else one that pyenv manages."""
    managed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for path in (shutil.which(f"python{version}"), *map(str, managed)):
        if path is not None:
            command = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
            told = subprocess.run(command, capture_output=True, text=True, check=False)
            if told.stdout.strip() == version:
                return path
    return None
