"""Runs tests of a tree, and says which one fails first."""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import Final

# To import torch takes longer than most of the tests: each run begins as a fork that has it.
import pytest
import torch  # noqa: F401

_FRONT_END: Final = "widgets/"
_OF_PYTEST: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_OF_VITEST: Final = re.compile(r"^\s*FAIL\s+(\S.*?)\s*$", re.MULTILINE)
_OF_THE_TREE: Final = ("gradviz", "gradviz_pytest", "gradviz_run", "tests")
_PASSED, _NOTHING_COLLECTED = 0, 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of tests ended with.

    Args:
        failed: Ids of the tests that failed; empty if all passed.
        trouble: Why the run says nothing, else empty.
    """

    failed: tuple[str, ...] = ()
    trouble: str = ""


def run_tests(
    tree: Path,
    where: Sequence[str],
    limit: float,
    *,
    to_first: bool = True,
    marks: str | None = None,
) -> Outcome:
    """Run tests of a tree.

    Args:
        tree: The tree.
        where: Folders and files with tests, or ids of tests.
        limit: Seconds that this may take.
        to_first: Whether it ends with the first that fails.
        marks: Expression of marks for pytest; by default what the tree's settings say.
    """
    inside = [path for path in where if path.startswith(_FRONT_END)]
    others = [path for path in where if path not in inside]
    failed: list[str] = []
    if others:
        options = ["-x"] * to_first + ([] if marks is None else ["-m", marks])
        outcome = _run_pytest(tree, [*options, *others], limit)
        failed += outcome.failed
        if outcome.trouble or (failed and to_first):
            return outcome
    if inside and not marks:
        outcome = _run_vitest(tree, inside, limit, to_first)
        failed += outcome.failed
        if outcome.trouble:
            return Outcome(tuple(failed), outcome.trouble)
    return Outcome(tuple(failed))


def _run_pytest(tree: Path, asked: Sequence[str], limit: float) -> Outcome:
    words = ["-q", "-p", "no:cacheprovider", "-n", "0", "--tb=no", "-rfE", *asked]
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        run = multiprocessing.get_context("fork").Process(
            target=_pytest_in, args=(tree, words, output.fileno())
        )
        gc.freeze()  # what is forked is shared as long as nothing is written to it
        run.start()
        try:
            run.join(limit)
            code = run.exitcode
        finally:
            _end(run.pid)
        run.join()
        output.seek(0)
        return _outcome(code, output.read(), _OF_PYTEST, limit)


def _pytest_in(tree: Path, words: list[str], output: int) -> None:
    """What the forked process does: pytest in another tree, as if that had just been started."""
    os.setsid()
    for stream in (1, 2):
        os.dup2(output, stream)
    own = Path(__file__).resolve().parents[2]
    for name in [one for one in sys.modules if one.partition(".")[0] in _OF_THE_TREE]:
        del sys.modules[name]
    sys.modules["__main__"] = ModuleType("__main__")
    sys.path[:] = [str(tree), *(path for path in sys.path if Path(path).resolve() != own)]
    sys.argv[:] = ["pytest", *words]
    sys.dont_write_bytecode = False
    os.environ.update(_environment(tree))
    os.chdir(tree)
    sys.exit(pytest.main(words))


def _environment(folder: Path) -> dict[str, str]:
    # What tests start imports the copy too, and not the tree for which the package is installed.
    own = {"PYTHONPATH": str(folder), "PYTHONHASHSEED": "0", "NO_COLOR": "1", "COLUMNS": "400"}
    # To compile the package takes as long as many tests: the next runs find what is compiled.
    return {**own, "PYTHONDONTWRITEBYTECODE": ""}


def _end(process: int | None) -> None:
    """End a process that may have ended, with all that it has started."""
    if process is not None:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)


def _run_vitest(tree: Path, where: Sequence[str], limit: float, to_first: bool) -> Outcome:
    files = [path.removeprefix(_FRONT_END).partition(" > ")[0] for path in where]
    options = ["--bail", "1"] if to_first else []
    command = ["npm", "test", "--silent", "--", *options, *dict.fromkeys(files)]
    code, text = _output_of(command, tree / "widgets", limit)
    outcome = _outcome(code, text, _OF_VITEST, limit)
    return Outcome(tuple(_FRONT_END + name for name in outcome.failed), outcome.trouble)


def _outcome(code: int | None, text: str, pattern: re.Pattern[str], limit: float) -> Outcome:
    failed = tuple(dict.fromkeys(pattern.findall(text)))
    if code is None:
        return Outcome(trouble=f"did not end within {limit:.0f} s")
    if code in (_PASSED, _NOTHING_COLLECTED) or failed:
        return Outcome(failed)
    return Outcome(trouble=f"ended with {code}: {' / '.join(text.split(chr(10))[-4:])}")


def _output_of(command: Sequence[str], folder: Path, limit: float) -> tuple[int | None, str]:
    """Exit code and output; ``None`` if it did not end in time."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **_environment(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        _end(process.pid)
        process.wait()
    return process.returncode, text
