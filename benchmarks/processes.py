"""Run a function of this package in a process of its own, where it may crash."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LONGEST = 900.0
"""Seconds a process may take."""


@dataclass(frozen=True)
class Crash:
    """How a process ended instead of answering."""

    text: str


def in_process(module: str, function: str, *arguments: Any, longest: float = LONGEST) -> Any:
    """Call ``benchmarks.<module>.<function>(*arguments)`` in a new process.

    Arguments and result must be JSON. Nothing is freed at its end but by the system.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        command = [sys.executable, "-m", "benchmarks.processes", str(answer), module, function]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": ""}
        try:
            ended = subprocess.run(
                [*command, json.dumps(arguments)],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                timeout=longest,
            )
        except subprocess.TimeoutExpired:
            return Crash(f"no answer within {longest:.0f} s")
        if ended.returncode == 0 and answer.is_file():
            return json.loads(answer.read_text())
    if ended.returncode < 0:
        return Crash(f"crash ({signal.Signals(-ended.returncode).name})")
    return Crash((ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1])


def most_resident() -> int:
    """Bytes of the largest resident set that this process has had."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def abort() -> None:
    """Crash, so that a test can see what becomes of it."""
    os.abort()


def main() -> None:
    """The other side of :func:`in_process`."""
    path, module, function, arguments = sys.argv[1:]
    work = getattr(importlib.import_module(f"benchmarks.{module}"), function)
    answer = work(*json.loads(arguments))
    Path(path).write_text(json.dumps(answer))
    os._exit(0)


if __name__ == "__main__":
    main()
