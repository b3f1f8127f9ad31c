from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.seeded_faults.fault import SeededFault

_LINKED: Final = (".venv", "widgets/node_modules")
_LEFT_OUT: Final = (
    ".git", ".venv*", "node_modules", "build", "dist", "__pycache__", ".*_cache", ".hypothesis",
)  # fmt: skip


@contextmanager
def copy_of(tree: Path) -> Iterator[Path]:
    """A copy of a tree for as long as the block runs, with links to its environments."""
    with tempfile.TemporaryDirectory(prefix="seeded_faults_") as folder:
        copy = Path(folder).resolve() / "tree"
        shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        for name in _LINKED:
            (copy / name).symlink_to((tree / name).resolve())
        yield copy


@contextmanager
def fault_in(copy: Path, fault: SeededFault) -> Iterator[None]:
    """A fault is in the copy for as long as the block runs.

    The file gets its old time back, so that Python does not take what it compiled of the fault.

    Raises:
        ValueError: If the old text is not in the file once.
    """
    file = copy / fault.file
    text = file.read_text("utf-8") if file.is_file() else ""
    if text.count(fault.old) != 1:
        raise ValueError(f"the old text is {text.count(fault.old)} times in {fault.file}")
    times = file.stat()
    file.write_text(text.replace(fault.old, fault.new), "utf-8")
    try:
        yield
    finally:
        file.write_text(text, "utf-8")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
