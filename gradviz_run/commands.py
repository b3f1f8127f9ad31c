"""What is typed after ``gradviz``: read, and explained by ``--help``, without importing torch."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from gradviz import __version__

CELL_TIMEOUT: Final = 120.0
"""Seconds a cell may take in ``gradviz check``."""


def read(words: Sequence[str]) -> tuple[argparse.Namespace, Sequence[str]]:
    """The options, and the words after ``--``; ends the process for ``--help`` and wrong options.

    Args:
        words: Words after ``gradviz``, but those of ``gradviz run``.
    """
    # argparse would read the words after "--" as files.
    end = words.index("--") if "--" in words else len(words)
    parser = _parser()
    options, unknown = parser.parse_known_args(words[:end])
    if unknown:
        parser.error(
            f"unknown option: {' '.join(unknown)}. Put options of JupyterLab after --: "
            "gradviz lab -- --port=9999"
        )
    return options, words[end + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gradviz",
        description="Show the autograd graphs that PyTorch builds.",
        epilog="examples:\n  gradviz lab\n  gradviz run train.py\n"
        "  gradviz check notebooks/*.ipynb\n  gradviz slides lecture.ipynb",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gradviz-kit {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    lab_parser = commands.add_parser(
        "lab",
        help="open JupyterLab with the lessons",
        description="Open JupyterLab on the start page of the lessons. They are copied into a "
        "folder first: gradviz-lessons, or the current one if they are there already. Edited "
        "lessons stay as they are, and newer ones are put beside them.",
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
    commands.add_parser("run", help="run a script, and explain the autograd error that ends it")
    check_parser = commands.add_parser(
        "check",
        help="run notebooks again and compare the outputs with the stored ones",
        description="Run notebooks again, each in a fresh kernel and its own folder, and compare "
        "every output with the stored one: text, pictures and widgets. Memory addresses, the index "
        "of the GPU and paths of the process are ignored. The files are only read. Cells are "
        "called as in Jupyter: [5] is the number beside the stored cell.",
        epilog="A cell says by a tag, or by a comment, how it is checked:\n"
        "  nbval-skip            # NBVAL_SKIP             it is not run\n"
        "  nbval-ignore-output   # NBVAL_IGNORE_OUTPUT    it is run, its outputs may differ\n"
        "  raises-exception      # NBVAL_RAISES_EXCEPTION the error is meant, and compared\n"
        "  nbval-check-output    # NBVAL_CHECK_OUTPUT     compared with --lax, too\n\n"
        "examples:\n"
        "  gradviz check lecture.ipynb\n"
        "  gradviz check --lax week1/*.ipynb\n"
        "  gradviz check --timeout 600 --report build/check.html lecture.ipynb\n"
        "  gradviz check --figures README.md docs/*.rst\n\n"
        "exit status: 0 all outputs are the same, 1 some differ or a cell raised an error,\n"
        "2 a notebook could not be checked, or Ctrl+C. pytest does the same: pytest "
        "--gradviz-notebooks",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check_parser.add_argument(
        "notebook", nargs="+", type=Path, help="an .ipynb file; with --figures .md or .rst"
    )
    check_parser.add_argument(
        "--figures",
        action="store_true",
        help="the files are pages of a documentation: run the Python in each, in an empty folder, "
        "and compare the files that it writes with those beside the page",
    )
    check_parser.add_argument(
        "--update",
        action="store_true",
        help="with --figures: write the figures that differ or are missing",
    )
    check_parser.add_argument(
        "--lax",
        action="store_true",
        help="compare only cells marked # NBVAL_CHECK_OUTPUT; the others must run without error",
    )
    _add_run_options(check_parser)
    check_parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write everything that differs to an HTML file, with stored and fresh pictures side "
        "by side",
    )
    _add_publisher(
        commands,
        "page",
        "write notebooks as HTML pages that need no kernel and no network",
        "Write each notebook as one HTML file, NAME.html: prose, code, and widgets that are alive, "
        "without a kernel and without a network. It is run first, in a fresh kernel; the notebook "
        "itself is only read.",
        "examples:\n"
        "  gradviz page lecture.ipynb\n"
        "  gradviz page --output site notebooks/*.ipynb\n"
        "  gradviz page --stored training.ipynb",
    )
    _add_publisher(
        commands,
        "slides",
        "write notebooks as slides that need no kernel and no network",
        "Write each notebook as a deck of slides, NAME.slides.html: one idea a slide, with widgets "
        "that are alive. It is run first, in a fresh kernel; the notebook itself is only read. "
        "Which cell begins a slide is said by its metadata slideshow.slide_type, as in Jupyter; "
        "where a cell has none, it follows from what the cell is.",
        "keys of a deck:\n"
        "  Space, Right         the next slide\n"
        "  Shift+Space, Left    the slide before\n"
        "  O                    all slides\n"
        "  Page Down, Page Up   next and before, also while a widget has the focus\n"
        "  Escape               leaves a widget; its keys are its own while it has the focus\n\n"
        "examples:\n"
        "  gradviz slides lecture.ipynb\n"
        "  gradviz slides --output decks notebooks/*.ipynb",
    )
    score_parser = commands.add_parser(
        "score",
        help="count the answers to a test that learners have handed in",
        description="Count the answers to a test. A learner saves a CSV file below the test and "
        "hands it in; this prints how often each question was answered right, with a column for "
        "each folder or file that is named.",
        epilog="examples:\n  gradviz score answers\n  gradviz score before after",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    score_parser.add_argument(
        "file", nargs="+", type=Path, help="a folder with .csv files, or one such file"
    )
    return parser


def _add_publisher(commands: Any, name: str, words: str, about: str, more: str) -> None:
    parser = commands.add_parser(
        name,
        help=words,
        description=about,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("notebook", nargs="+", type=Path, help="an .ipynb file")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="the folder for the files (default: that of each notebook)",
    )
    parser.add_argument(
        "--stored",
        action="store_true",
        help="run nothing: take the outputs and widgets that the file stores",
    )
    _add_run_options(parser)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=CELL_TIMEOUT,
        metavar="SECONDS",
        help=f"how long a cell may run (default: {CELL_TIMEOUT:g})",
    )
    parser.add_argument(
        "--kernel",
        default="",
        metavar="NAME",
        help="an installed kernel, as `jupyter kernelspec list` names it (default: this Python)",
    )


def _seconds(written: str) -> float:
    try:
        seconds = float(written)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{written!r} is no number of seconds: --timeout 120")
    return seconds
