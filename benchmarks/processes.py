"""Run a function of this package in a process of its own, where it may crash."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[1]
LONGEST = 600.0
"""Seconds a process may take."""
LARGEST = 8 << 30
"""Bytes that a process may take, on Linux."""
Thing = TypeVar("Thing")
Made = TypeVar("Made")


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
        with Path(folder, "errors.txt").open("w+") as errors:
            process = subprocess.Popen(
                [*command, json.dumps(arguments)],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
            try:
                code = process.wait(longest)
            except subprocess.TimeoutExpired:
                return Crash(f"no answer within {longest:.0f} s")
            finally:
                _end(process)
            errors.seek(0)
            told = errors.read().strip().splitlines()
        if code == 0 and answer.is_file():
            return json.loads(answer.read_text())
    if code < 0:
        return Crash(f"crash ({signal.Signals(-code).name})")
    return Crash((told or [f"exit code {code}"])[-1])


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, and those that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def beside(work: Callable[[Thing], Made], things: Sequence[Thing], workers: int) -> list[Made]:
    """What a function makes of each thing, so many at a time, in their order."""
    if workers == 1:
        return list(map(work, things))
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, things))


def most_resident() -> int:
    """Bytes of the largest resident set that this process has had."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def abort() -> None:
    """Crash, so that a test can see what becomes of it."""
    os.abort()


def hang() -> None:
    """Wait for a program that does not end, so that a test can see what becomes of both."""
    subprocess.run(["sleep", "987"], check=True)


def fill() -> None:
    """Ask for more memory than there may be."""
    bytearray(2 * LARGEST)


def _limit_memory() -> None:
    """Let what takes more memory than there is fail by itself, not the machine."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (LARGEST, LARGEST))


def main() -> None:
    """The other side of :func:`in_process`."""
    _limit_memory()
    path, module, function, arguments = sys.argv[1:]
    work = getattr(importlib.import_module(f"benchmarks.{module}"), function)
    answer = work(*json.loads(arguments))
    Path(path).write_text(json.dumps(answer))
    os._exit(0)


if __name__ == "__main__":
    main()
