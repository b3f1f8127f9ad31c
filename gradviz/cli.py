"""The command ``gradviz``: lessons, checks, pages and slides of notebooks, answers to a test."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Final, Literal

from gradviz.course.copies import installed_lessons
from gradviz.course.delivery import RECORD, UP_TO_DATE, Delivery, deliver
from gradviz.course.lab import command as lab_command
from gradviz.course.lab import settings_for
from gradviz_run import run
from gradviz_run.commands import CELL_TIMEOUT, read

PACKAGE: Final = Path(__file__).parent
USAGE_ERROR: Final = 2


class CommandError(Exception):
    """The command cannot run; the message gives the reason and what to type."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``gradviz`` with command-line arguments.

    Args:
        arguments: Words after ``gradviz``; those of this process by default.

    Returns:
        Exit status: 0 for success, 1 if a notebook differs, 2 if the command cannot run or was
        interrupted.

    Examples:
        >>> main(["check", "no-such-file.ipynb"])
        FAILED  no-such-file.ipynb  0 cells
          not checked: the file no-such-file.ipynb does not exist
        2
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["run"]:  # all that follows the script belongs to the script
        return run(words[1:])
    return carry_out(*read(words))


def carry_out(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Do what was asked for.

    Args:
        options: What was typed, as :func:`gradviz_run.commands.read` returns it.
        rest: Words after ``--``.

    Returns:
        Exit status, as of :func:`main`.
    """
    try:
        if options.command == "lab":
            return lab(options.dir, options.no_browser, rest)
        if options.command == "score":
            return score([*options.file, *map(Path, rest)])
        notebooks = [*options.notebook, *map(Path, rest)]
        if options.command in ("page", "slides"):
            outputs = (options.stored, options.timeout, options.kernel)
            return publish(options.command, notebooks, options.output, *outputs)
        if options.figures or options.update:
            return figures(notebooks, options)
        return check(notebooks, options.lax, options.timeout, options.kernel, options.report)
    except CommandError as error:
        print(f"gradviz {options.command}: {error}", file=sys.stderr)
        return USAGE_ERROR


def lab(folder: Path | None, no_browser: bool, more: Sequence[str] = ()) -> int:
    """Open JupyterLab on the start page of the lessons.

    Args:
        folder: The folder of the learner; ``None`` for the working folder if lessons were copied
            into it, else ``gradviz-lessons`` in it.
        no_browser: Whether to start only the server, which prints its address.
        more: Arguments for JupyterLab.

    Returns:
        Exit status of JupyterLab.

    Raises:
        CommandError: If JupyterLab or the lessons are missing, or the folder cannot be used.
    """
    _need("jupyterlab", "JupyterLab")
    if (lessons := installed_lessons()) is None:
        raise CommandError(
            "this installation contains no lessons. Install gradviz from a wheel or a checkout: "
            "pip install 'gradviz-kit[lab]'"
        )
    here = Path() if Path(RECORD).exists() else Path("gradviz-lessons")
    folder = (folder or here).absolute()
    # Whoever writes lessons opens those of the checkout.
    if folder.resolve() != lessons.resolve():
        _print_delivery(_deliver(lessons, folder))
    print(f"The lessons are in {folder}. Stop with Ctrl+C, pressed twice.", flush=True)
    with settings_for(folder) as environment:
        return _run(lab_command(no_browser, more), folder, environment)


def check(
    notebooks: Sequence[Path],
    lax: bool = False,
    timeout: float = CELL_TIMEOUT,
    kernel: str = "",
    report: Path | None = None,
) -> int:
    """Run notebooks again and compare the outputs with the stored ones.

    Args:
        notebooks: The files.
        lax: Whether to compare only cells marked ``# NBVAL_CHECK_OUTPUT``.
        timeout: Seconds that a cell may take.
        kernel: The name of an installed kernel; if empty this Python.
        report: Where to write stored and fresh outputs side by side; if not given nowhere.

    Returns:
        Exit status, as of :func:`main`.

    Raises:
        CommandError: If a package that it needs is missing, or the report cannot be written.
    """
    for module in ("nbval", "nbclient", "ipykernel"):
        _need(module, module)
    from gradviz.notebook_check.check import Settings
    from gradviz.notebook_check.command import check_notebooks
    from gradviz.notebook_check.results import CheckError

    try:
        return check_notebooks(notebooks, Settings(lax, timeout, kernel), report)
    except CheckError as error:
        raise CommandError(str(error)) from None


def figures(pages: Sequence[Path], options: argparse.Namespace) -> int:
    """Draw the figures of a documentation again and compare.

    Args:
        pages: The files.
        options: What was typed: ``figures``, ``update``, ``lax``, ``kernel``, ``timeout`` and
            ``report``.

    Returns:
        Exit status, as of :func:`main`.

    Raises:
        CommandError: If options do not fit together, a page cannot be read, or the report cannot
            be written.
    """
    if not options.figures:
        raise CommandError("--update writes figures of a documentation: add --figures")
    if options.lax or options.kernel:
        raise CommandError("--lax and --kernel are for notebooks; --figures runs this Python")
    from gradviz.notebook_check.figures_command import check_documentation
    from gradviz.notebook_check.results import CheckError

    try:
        return check_documentation(pages, options.timeout, options.update, options.report)
    except CheckError as error:
        raise CommandError(str(error)) from None


def publish(
    kind: Literal["page", "slides"],
    notebooks: Sequence[Path],
    folder: Path | None = None,
    stored: bool = False,
    timeout: float = CELL_TIMEOUT,
    kernel: str = "",
) -> int:
    """Write notebooks as pages or as slides.

    Args:
        kind: Which of the two.
        notebooks: The files.
        folder: Where the files are written; if not given beside each notebook.
        stored: Whether to take the stored outputs; else the notebooks are run.
        timeout: Seconds that a cell may take.
        kernel: The name of an installed kernel; if empty this Python.

    Returns:
        Exit status: 0 if all were written, 1 if one was not, 2 if one could not be read or run.

    Raises:
        CommandError: If a package that it needs is missing, or no file can be written.
    """
    for module in ("nbconvert", "nbval", "nbclient", "ipykernel"):
        _need(module, module)
    from gradviz.publish.command import publish
    from gradviz.publish.source import PublishError, Settings

    try:
        return publish(notebooks, kind, Settings(stored, timeout, kernel), folder)
    except PublishError as error:
        raise CommandError(str(error)) from None


def score(files: Sequence[Path]) -> int:
    """Print how often each question of a test was answered right.

    Args:
        files: Folders with files that learners have handed in, or such files.

    Returns:
        Exit status, as of :func:`main`.

    Raises:
        CommandError: If something else is among them.
    """
    from gradviz.course.scores import ScoreError
    from gradviz.course.scores import score as counted

    try:
        print(counted(files))
    except ScoreError as error:
        raise CommandError(str(error)) from None
    return 0


def _deliver(lessons: Path, folder: Path) -> Delivery:
    try:
        return deliver(lessons, folder)
    except OSError as error:
        raise CommandError(
            f"cannot write the lessons to {folder}: {error.strerror}. "
            "Choose another folder: gradviz lab --dir PATH"
        ) from None


def _print_delivery(delivery: Delivery) -> None:
    if delivery.updated:
        print(f"Replaced by newer ones, as they are not edited: {', '.join(delivery.updated)}.")
    if delivery.removed:
        print(f"Removed, as the course no longer has them: {', '.join(delivery.removed)}.")
    if delivery.news != UP_TO_DATE:
        print(delivery.news)


def _need(module: str, name: str) -> None:
    if find_spec(module) is None:
        raise CommandError(f"{name} is not installed. Type: pip install 'gradviz-kit[lab]'")


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> int:
    with subprocess.Popen(command, cwd=folder, env=environment) as process, _ended_with(process):
        while True:
            # The program gets Ctrl+C too, and ends in its own way.
            with suppress(KeyboardInterrupt):
                return process.wait()


@contextmanager
def _ended_with(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Whoever ends this process ends the program that it runs."""

    def end(_number: int, _frame: FrameType | None) -> None:
        process.terminate()

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
