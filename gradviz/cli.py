"""The command ``gradviz``: opens the lessons and checks notebooks."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent
SANITIZE: Final = PACKAGE / "sanitize.cfg"
START: Final = "00-start.ipynb"
CELL_TIMEOUT: Final = 120
"""Seconds a cell may take in ``gradviz check``."""

USAGE_ERROR: Final = 2


class CommandError(Exception):
    """The command cannot run; the message gives the reason and what to type."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``gradviz`` with command-line arguments.

    Args:
        arguments: Words after ``gradviz``; those of this process by default.

    Returns:
        Exit status: 0 for success, 1 if a notebook differs, 2 if the command cannot run.

    Examples:
        >>> main(["check", "no-such-file.ipynb"])
        2
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    # argparse would read the words after "--" as files.
    end = words.index("--") if "--" in words else len(words)
    words, rest = words[:end], words[end + 1 :]
    options, unknown = _parser().parse_known_args(words)
    if unknown:
        _parser().error(
            f"unknown option: {' '.join(unknown)}. Put options of JupyterLab or pytest after --"
        )
    try:
        if options.command == "lab":
            return lab(options.dir, options.no_browser, rest)
        return check(options.notebook, options.lax, rest)
    except CommandError as error:
        print(f"gradviz {options.command}: {error}", file=sys.stderr)
        return USAGE_ERROR


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gradviz",
        description="Show the autograd graphs that PyTorch builds.",
        epilog="examples:\n  gradviz lab\n  gradviz check notebooks/*.ipynb",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    lab_parser = commands.add_parser(
        "lab",
        help="open JupyterLab with the lessons",
        description="Open JupyterLab with the lessons. In a checkout they are opened in place; "
        "otherwise they are copied into a folder first. Existing files are kept.",
        epilog="examples:\n"
        "  gradviz lab\n"
        "  gradviz lab --dir my-lessons\n"
        "  gradviz lab --no-browser -- --port=9999",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    lab_parser.add_argument(
        "--dir", type=Path, metavar="PATH", help="copy the lessons into this folder"
    )
    lab_parser.add_argument(
        "--no-browser", action="store_true", help="only start the server and print its address"
    )
    check_parser = commands.add_parser(
        "check",
        help="run notebooks again and compare the outputs with the stored ones",
        description="Run notebooks again, in this Python, and compare every output with the stored "
        "one (pytest --nbval). Memory addresses, the index of the GPU and paths of the process "
        "are ignored.",
        epilog="examples:\n"
        "  gradviz check lecture.ipynb\n"
        "  gradviz check --lax week1/*.ipynb\n"
        "  gradviz check lecture.ipynb -- -x --nbval-cell-timeout 600\n\n"
        "exit status: 0 all outputs are the same, 1 some differ, 2 the check could not run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check_parser.add_argument("notebook", nargs="+", type=Path, help="an .ipynb file")
    check_parser.add_argument(
        "--lax",
        action="store_true",
        help="compare only cells marked # NBVAL_CHECK_OUTPUT; the others must run without error",
    )
    return parser


def lab(folder: Path | None, no_browser: bool, more: Sequence[str] = ()) -> int:
    """Open JupyterLab with the lessons.

    Args:
        folder: Folder for a copy of the lessons; ``None`` for the default.
        no_browser: Whether to start only the server.
        more: Arguments for JupyterLab.

    Raises:
        CommandError: If JupyterLab or the lessons are missing, or the folder cannot be used.
    """
    _need("jupyterlab", "JupyterLab")
    lessons = _lessons()
    if folder is None and lessons.parent != PACKAGE:
        folder = lessons
    else:
        folder = (folder or Path("gradviz-lessons")).absolute()
        _copy(lessons, folder)
    print(f"The lessons are in {folder}. Stop with Ctrl+C.", flush=True)
    command = [sys.executable, "-m", "jupyterlab", START]
    return _run(command + ["--no-browser"] * no_browser + list(more), folder)


def check(notebooks: Sequence[Path], lax: bool, more: Sequence[str] = ()) -> int:
    """Run notebooks again and compare the outputs with the stored ones.

    Args:
        notebooks: The files.
        lax: Whether to compare only cells marked ``# NBVAL_CHECK_OUTPUT``.
        more: Arguments for pytest.

    Returns:
        Exit status, as of :func:`main`.

    Raises:
        CommandError: If nbval is missing, a file is not a notebook, or one has never been run.
    """
    for path in notebooks:
        _check_readable(path, lax)
    _need("nbval", "nbval")
    command = [sys.executable, "-m", "pytest", "--nbval-lax" if lax else "--nbval"]
    command += ["--nbval-current-env", "--nbval-sanitize-with", str(SANITIZE)]
    command += ["--nbval-cell-timeout", str(CELL_TIMEOUT), "-p", "no:cacheprovider"]
    # Settings and fixtures of the project around a notebook must not apply here.
    top = os.path.commonpath([path.absolute().parent for path in notebooks])
    command += ["-c", os.devnull, "--rootdir", top, "--noconftest", *more]
    status = _run(command + [str(path.absolute()) for path in notebooks], Path.cwd())
    return status if status in (0, 1) else USAGE_ERROR


def _lessons() -> Path:
    for folder in (PACKAGE.parent / "notebooks", PACKAGE / "_lessons"):
        if (folder / START).is_file():
            return folder
    raise CommandError(
        "this installation contains no lessons. Install gradviz from a wheel or a checkout: "
        "pip install 'gradviz-kit[lab]'"
    )


def _copy(lessons: Path, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(lessons.iterdir()):
            is_lesson = path.suffix == ".ipynb" or path.name == "lesson_tools.py"
            if is_lesson and not (folder / path.name).exists():
                shutil.copy(path, folder / path.name)
    except OSError as error:
        raise CommandError(
            f"cannot write the lessons to {folder}: {error.strerror}. "
            "Choose another folder: gradviz lab --dir PATH"
        ) from None


def _check_readable(path: Path, lax: bool) -> None:
    if not path.is_file():
        raise CommandError(f"the file {path} does not exist")
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        written = [cell for cell in cells if "".join(cell["source"]).strip()]
    except (OSError, ValueError, KeyError, TypeError):
        raise CommandError(f"{path} is not a Jupyter notebook (format 4)") from None
    never_run = sum(cell.get("execution_count") is None for cell in written)
    if never_run and not lax:
        # nbval skips cells without an execution count, so the check would compare nothing.
        raise CommandError(
            f"{never_run} of {len(written)} code cells of {path} have never been run, so they have "
            "no stored output. Run all cells and save, or use --lax"
        )


def _need(module: str, name: str) -> None:
    if find_spec(module) is None:
        raise CommandError(f"{name} is not installed. Type: pip install 'gradviz-kit[lab]'")


def _run(command: Sequence[str], folder: Path) -> int:
    try:
        return subprocess.run(command, cwd=folder, check=False).returncode
    except KeyboardInterrupt:
        return 0
