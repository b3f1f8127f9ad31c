"""Compiles the stand-in for CUDA, once per source, Python and torch."""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("stand_in.cpp")
FOLDER: Final = Path(__file__).parents[2] / "build" / "accelerator"


def library() -> Path:
    """Where the compiled stand-in for this source, Python and torch lies, or will lie.

    torch is not imported: the stand-in has to be loaded before it.
    """
    key = hashlib.sha256(SOURCE.read_bytes())
    key.update(f"{sys.version_info[:2]} {importlib.metadata.version('torch')}".encode())
    return FOLDER / f"stand_in_{key.hexdigest()[:16]}.so"


def compiler() -> str | None:
    """The C++ compiler, if there is one."""
    return shutil.which("g++") or shutil.which("c++")


def build() -> Path:
    """Compile it unless that is done.

    Raises:
        FileNotFoundError: If there is no compiler.
        subprocess.CalledProcessError: If it does not compile.
    """
    made = library()
    if made.exists():
        return made
    found = compiler()
    if found is None:
        raise FileNotFoundError("no C++ compiler (g++ or c++) is on PATH")
    spec = find_spec("torch")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    torch = Path(spec.submodule_search_locations[0])
    made.parent.mkdir(parents=True, exist_ok=True)
    unfinished = made.with_suffix(".unfinished")
    arguments = ["-std=c++20", "-O1", "-g0", "-shared", "-fPIC", "-w", "-DAT_PER_OPERATOR_HEADERS"]
    headers = [f"-isystem{torch / 'include'}"]
    headers += [f"-isystem{torch / 'include' / 'torch' / 'csrc' / 'api' / 'include'}"]
    # The fallback and the allocator register themselves when the library is loaded.
    libraries = [f"-L{torch / 'lib'}", "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10"]
    run_time = f"-Wl,-rpath,{torch / 'lib'}"
    command = [found, *arguments, *headers, str(SOURCE), *libraries, run_time]
    subprocess.run([*command, "-o", str(unfinished)], check=True)
    unfinished.rename(made)
    return made


if __name__ == "__main__":
    build()
